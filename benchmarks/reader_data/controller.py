"""Passages as documents of one memory, and questions that one passage answers.

``benchmarks.prepare_multihop`` teaches a controller of hops with them, and confidence is fitted to
answers out of such a memory.
"""

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.reader_data.files import Example, lines
from benchmarks.reader_data.passages import passage

_SINGLE = {"squad": 170, "nq_oracle": 150, "popqa": 80}
"""Questions that teach a controller of hops when one passage is enough."""


def single_passage_questions(
    data: Path, held_out: Iterable[Example]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Documents, and some questions with the id of the one that answers each.

    Args:
        data: folder of the sets.
        held_out: examples that are not to be learned from; their passages are documents too.
    """
    chance = random.Random(0)
    held_out = list(held_out)
    left_out = {one["question"] for one in held_out}
    ids: dict[tuple[str, str], str] = {}
    chosen: list[dict[str, Any]] = []
    paragraphs = {one["id"]: one for one in lines(data / "squad" / "corpus.jsonl")}
    for name, number in _SINGLE.items():
        asked = [one for one in lines(data / name / "train.jsonl") if one.get("answerable", True)]
        usable = [one for one in asked if one["question"] not in left_out]
        taken = {one["question"] for one in chance.sample(usable, min(number, len(usable)))}
        for one in asked:
            place = _place(passage(paragraphs[one["gold"][0]] if name == "squad" else one))
            source = ids.setdefault(place, f"{name}-{len(ids)}")
            if one["question"] in taken:
                chosen.append({**one, "gold": [source]})
    for example in held_out:
        for one in (*example["passages"], *example.get("others", ())):
            ids.setdefault(_place(one), f"{example['set']}-{len(ids)}")
    documents = [
        {"id": source, "title": title, "text": text} for (title, text), source in ids.items()
    ]
    return documents, chosen


def _place(one: dict[str, str]) -> tuple[str, str]:
    return one["title"], one["text"]
