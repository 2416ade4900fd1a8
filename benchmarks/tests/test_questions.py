import re
from pathlib import Path
from typing import Any, Literal

import pytest

from benchmarks.questions import (
    FILE,
    FOLDER,
    KINDS,
    collapsed,
    counts,
    problems,
    read_questions,
    unpack_everyday,
)

MEASURED = {"obsidian", "rustbook", "cockpit", "gutenprint"}
"""Collections that answers about documents are measured on."""


@pytest.fixture(scope="module")
def written() -> list[dict[str, Any]]:
    return read_questions()


def _between(page: str, name: str) -> str:
    text = (FOLDER / page).read_text(encoding="utf-8")
    return text.split(f"<!-- {name} -->\n")[1].split(f"\n<!-- /{name} -->")[0]


def test_each_question_has_its_answer_in_its_passage(written: list[dict[str, Any]]) -> None:
    assert [(one["id"], wrong) for one in written for wrong in problems(one)] == []


def test_none_is_asked_twice_or_about_what_is_measured(written: list[dict[str, Any]]) -> None:
    ids = [one["id"] for one in written]
    assert ids == sorted(set(ids))
    asked = [one["question"].casefold() for one in written]
    assert len(asked) == len(set(asked))
    assert not MEASURED & {one["collection"] for one in written}


def test_the_card_counts_what_is_there(written: list[dict[str, Any]]) -> None:
    assert _between("README.md", "counts") == counts(written)
    assert {one["type"] for one in written} == set(KINDS)
    assert FILE.stat().st_size < 3_000_000


def test_every_collection_has_a_source_that_may_be_copied(written: list[dict[str, Any]]) -> None:
    rows = [
        re.split(r" (?<!\\)\| ", row[2:-2]) for row in _between("SOURCES.md", "sources").split("\n")
    ]
    named = {cells[0]: int(cells[-1]) for cells in rows[2:]}
    found = [one["collection"] for one in written]
    assert named == {name: found.count(name) for name in set(found)}
    texts = (FOLDER / "LICENCES.md").read_text(encoding="utf-8")
    for cells in rows[2:]:
        licence = re.sub(r" \d\.\d$", "", cells[4])
        assert licence == "public domain" or licence in texts


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"answers": ["11 May"]}, "stands in no quotation: 11 May"),
        ({"best": ["Orre built it"]}, "stands in no passage: Orre built it"),
        ({"evidence": [{"source": "b.md", "quote": "in 1912"}]}, "stands in no passage: in 1912"),
        ({"type": "unanswerable"}, "has an answer"),
        ({"type": "yesno"}, "answers ['1912']"),
        ({"type": "riddle"}, "kind riddle"),
        ({"answers": []}, "has no answer, quotation or evidence"),
        ({"note": "?"}, "fields: none missing, ['note'] unknown"),
    ],
)
def test_a_wrong_question_is_told(changed: dict[str, Any], problem: str) -> None:
    right = {
        "id": "a-001",
        "collection": "a",
        "repo": "a/a",
        "source": "a.md",
        "question": "When was it raised?",
        "type": "value",
        "answers": ["1912"],
        "evidence": [{"source": "a.md", "quote": "was raised in 1912."}],
        "best": ["was raised in 1912."],
        "passage": "The Orre Light was\n  raised in 1912.",
    }
    assert list(problems(right)) == []
    assert problem in list(problems({**right, **changed}))


@pytest.mark.parametrize("part", ["train", "fit", "test"])
def test_everyday_files_hold_what_is_quoted_of_them(
    part: Literal["train", "fit", "test"], tmp_path: Path
) -> None:
    found = list(unpack_everyday(part, tmp_path))
    assert len(found) > 20
    for folder, asked in found:
        files = {
            file.relative_to(folder / "files").as_posix(): collapsed(file.read_text("utf-8"))
            for file in (folder / "files").rglob("*")
            if file.is_file()
        }
        for one in asked:
            assert one["type"] in KINDS
            assert bool(one["answers"]) == (one["type"] != "unanswerable")
            quotes = [(quote["source"], collapsed(quote["quote"])) for quote in one["evidence"]]
            assert [quote for quote in quotes if quote[1] not in files[quote[0]]] == []
