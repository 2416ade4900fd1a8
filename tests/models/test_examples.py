"""Files of other kinds in the example: each answers a question, with the place of its answer."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

from memnet import Engine
from tests.conftest import EXAMPLES

_ASKED = [
    json.loads(line)
    for line in (EXAMPLES / "files_questions.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("asked", _ASKED, ids=lambda asked: Path(asked["file"]).name)
def test_each_kind_of_file_answers_its_question(saltmere: Engine, asked: dict[str, Any]) -> None:
    answer = saltmere.ask(asked["question"])
    assert any(one in (answer.answer or "") for one in asked["answers"])
    assert answer.short in (asked["answers"] if answer.shown == "answer" else [None])
    (read,) = [item for item in answer.evidence if item.id == answer.candidates[0].evidence]
    assert read.source == str(EXAMPLES / "memory" / asked["file"])
    assert (read.place or "").endswith(asked["place"])


def test_the_demo_asks_these_questions() -> None:
    makefile = (EXAMPLES.parents[1] / "Makefile").read_text(encoding="utf-8")
    for asked in _ASKED:
        assert f'"{asked["question"]}"' in makefile


def test_a_hop_follows_a_link_of_the_vault(saltmere: Engine) -> None:
    """The note that answers is not named by the question: the one about the whistle links to it."""
    vault = EXAMPLES / "memory" / "vault"
    answer = saltmere.ask(_ASKED[-1]["question"])
    hops = [weight for hop in answer.hops for weight in hop.weights]
    (link,) = {weight.via for weight in hops if weight.via and "pellow" in weight.via}
    assert {w.via_source for w in hops if w.via == link} == {str(vault / "Steam whistle.md")}


def test_the_page_of_the_web_is_read_without_its_navigation(saltmere: Engine) -> None:
    page = saltmere.get(str(EXAMPLES / "memory" / "web" / "travelling-by-ferry.html"))
    assert page is not None
    assert "Two pieces of luggage for each passenger" in page.text
    for word in ("Timetable", "Contact", "whistle", "className"):
        assert word not in page.text


def test_the_files_that_are_not_text_are_made_the_same_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = EXAMPLES / "make_files.py"
    copy = tmp_path / script.name
    copy.write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "memory").mkdir()
    runpy.run_path(str(copy), run_name="__main__")
    made = sorted((tmp_path / "memory" / "board").iterdir())
    assert [path.suffix for path in made] == [".pdf", ".docx"]
    for path in made:
        assert path.read_bytes() == (EXAMPLES / "memory" / "board" / path.name).read_bytes()
