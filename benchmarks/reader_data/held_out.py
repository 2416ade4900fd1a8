"""What is kept from training: dev examples, which choose the weights, and those for confidence.

Whether a passage or a question is held out depends on its text alone, so that sets that share it
agree, and so do runs with other shares or seeds.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from typing import Literal

from benchmarks.reader_data.files import Example

Part = Literal["train", "dev", "held_out"]
DEV_COLLECTIONS = frozenset({"nist-800-63", "svelte", "team-records", "rutherford-nj"})
HELD_OUT_COLLECTIONS = frozenset({"valkey-docs", "cairn", "hackathon-guide", "cryptomator"})
_DEV_SET = "squadshifts_wiki"
"""Whose paragraphs choose the weights: of all sets most like what users ask, and whole."""
_HELD_OUT_SETS = frozenset(
    {
        "squad_train_parts", "squadshifts_wiki", "squadshifts_reddit", "squadshifts_amazon",
        "qed_nq", "multihop2",
    }
)  # fmt: skip
_DEV_SHARE, _HELD_OUT_SHARE = 60, 83
"""Of 1,000 passages."""
_ONE_IN = {"squad": 10, "nq_oracle": 12, "popqa": 12, "hotpot": 8, "musique": 8, "2wiki": 8}
"""Of so many questions one is held out in sets that the shipped controller has learned from, by a
hash of their own: what it has not seen stays the same."""


def part_of(name: str, text: str) -> Part:
    """The part that a passage, or the question of a multi-hop set, belongs to.

    Args:
        name: of the set; of mined examples the one that they are mined from.
        text: of the passage, the question, or in "squad" the id of the paragraph.
    """
    if name in _ONE_IN:
        return "train" if zlib.crc32(f"{name}:{text}".encode()) % _ONE_IN[name] else "held_out"
    place = int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(), 16) % 1000
    if name == _DEV_SET and place < _DEV_SHARE:
        return "dev"
    held_out = name in _HELD_OUT_SETS and _DEV_SHARE <= place < _DEV_SHARE + _HELD_OUT_SHARE
    return "held_out" if held_out else "train"


def part_of_collection(name: str) -> Part:
    """The part that all questions about a collection of documents belong to."""
    if name in DEV_COLLECTIONS:
        return "dev"
    return "held_out" if name in HELD_OUT_COLLECTIONS else "train"


def without_held_out(train: Iterable[Example], kept: Iterable[Example]) -> Iterator[Example]:
    """Training examples that share no question and no passage with what is kept.

    Of an example's distractors those that are kept are left out. A passage is kept too if it is a
    sentence of one.

    Args:
        train: examples to choose from.
        kept: dev examples and those for confidence.
    """
    questions: set[str] = set()
    passages: set[str] = set()
    for one in kept:
        questions.add(_plain(one["question"]))
        passages.update(_plain(passage["text"]) for passage in one["passages"])
    joined = "\n".join(sorted(passages))
    for one in train:
        texts = [_plain(passage["text"]) for passage in one["passages"]]
        if _plain(one["question"]) in questions or not passages.isdisjoint(texts):
            continue
        if one.pop("sentence", False) and any(text in joined for text in texts):
            continue
        others = [other for other in one.get("others", ()) if _plain(other["text"]) not in passages]
        yield {**one, "others": others} if others else _without_others(one)


def _without_others(example: Example) -> Example:
    return {name: value for name, value in example.items() if name != "others"}


def _plain(text: str) -> str:
    """Letters and digits of a text, whatever spaces and marks are between them."""
    return "".join(char for char in text.casefold() if char.isalnum())
