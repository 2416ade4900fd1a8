"""Multi-hop sets: questions that several passages answer together."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.reader_data.files import Example, lines
from benchmarks.reader_data.held_out import Part, part_of
from benchmarks.reader_data.passages import MAX_ANSWERS, passage

_OWN_FOLDER = ("hotpot", "musique", "2wiki")
_MAX_RIGHT, _MAX_OTHERS = 4, 6
"""Passages of an example."""
_MAX_CHARACTERS = 1500
"""Of a passage."""


def multi_hop_examples(data: Path) -> Iterator[tuple[Part, Example]]:
    """Examples with their part.

    Args:
        data: folder with ``multihop_train`` and ``reader_more/multihop2.jsonl.gz``.
    """
    files = {name: data / "multihop_train" / f"{name}.jsonl" for name in _OWN_FOLDER}
    files["multihop2"] = data / "reader_more" / "multihop2.jsonl.gz"
    for name, file in files.items():
        for row in lines(file):
            example = _example(row, name)
            if example is not None:
                yield part_of(name, row["question"]), example


def _example(row: dict[str, Any], name: str) -> Example | None:
    """The example, or None where the source tells no right passage and none holds the answer."""
    answers = [one for one in row["answers"] if one.strip()]
    titles = set(row["supporting"] or ())
    right = [one for one in row["passages"] if one.get("supporting", one["title"] in titles)]
    if not right:
        right = [one for one in row["passages"] if _mentions(one["text"], answers)][:2]
    if not right:
        return None
    others = [
        one for one in row["passages"] if one not in right and not _holds(one["text"], answers)
    ]
    return {
        "question": row["question"],
        "answers": answers[:MAX_ANSWERS],
        "passages": [_cut(one) for one in right[:_MAX_RIGHT]],
        "others": [_cut(one) for one in others[:_MAX_OTHERS]],
        "set": name,
    }


def _mentions(text: str, answers: Iterable[str]) -> bool:
    return any(answer.lower() in text.lower() for answer in answers)


def _holds(text: str, answers: Iterable[str]) -> bool:
    """Whether an answer stands in a text as whole words."""
    return any(
        re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) for answer in answers
    )


def _cut(one: dict[str, Any]) -> dict[str, str]:
    return {**passage(one), "text": one["text"][:_MAX_CHARACTERS]}
