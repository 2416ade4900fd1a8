"""Examples of everyday collections and conversations, for a reader that has learned from all sets.

    python -m benchmarks.prepare_reader --data DIR --out PREPARED
    python -m benchmarks.prepare_everyday PREPARED --out OUT
    python -m benchmarks.train_reader OUT --seconds 4300 --general 24000 --rate 1e-4 \
        --batch-tokens 4096 --device cpu --workers 1 --bfloat16 --out READER

train.jsonl has those that are in each pass: of the collections that were written last the
answered questions with the windows that are found, a share of those without an answer, a third of
the quotations read alone, some of what tempts to answer, and the excerpts of conversations.
general.jsonl has those that a part of each pass is drawn from, so that nothing is forgotten:
questions about documents, several times, other everyday collections, of those that are written as
people ask all, contrasts and passages. The same seed and examples give the same files.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.reader_data.contrast import alone, unanswering, written
from benchmarks.reader_data.files import Example, drawn_of, lines, write_lines

_ONE, _TOGETHER = 0.3, 0.5  # Shares of windows without an answer, read by themselves or together
# What names of collections begin with that are written as people ask, and of those written last
_PLAIN, _LAST = frozenset("uvwx"), frozenset("yz")
_TEMPTING = 400
_DOCUMENTS_TIMES = 5
_OLDER, _CONTRASTS, _BESIDE, _PASSAGES = 5_000, 6_000, 6_000, 16_000  # That others are drawn from
# Left out: made here of the last collections alone, or drawn apart.
_MADE_ANEW = ("everyday-alone", "unanswering", "written")


class Mixture(NamedTuple):
    """What a reader learns from."""

    each: list[Example]  # In each pass
    drawn: list[Example]  # A part of them in each pass


def main() -> None:
    """Write the examples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    about, conversations, general = (
        lines(options.prepared / f"{one}.jsonl") for one in ("train", "conversations", "general")
    )
    found = mixture(about, conversations, general, options.seed)
    write_lines(options.out / "train.jsonl", found.each)
    write_lines(options.out / "general.jsonl", found.drawn)
    print(len(found.each), "and", len(found.drawn), "examples")


def mixture(
    about: Iterable[Example], conversations: Iterable[Example], general: Iterable[Example],
    seed: int,
) -> Mixture:  # fmt: skip
    """The examples of both files, in a random order.

    Args:
        about: those of ``prepare_reader`` about documents, in which answered ones are repeated.
        conversations: its excerpts.
        general: its examples of other sets.
        seed: of what is drawn.
    """
    chance = random.Random(seed)
    sets: defaultdict[str, list[Example]] = defaultdict(list)
    for one in _once(about):
        sets[one["set"]].append(one)
    everyday = sets.pop("everyday", [])
    last, plain, older = list[Example](), list[Example](), list[Example]()
    for one in everyday:
        named = one["collection"][:1]
        (last if named in _LAST else plain if named in _PLAIN else older).append(one)
    documents = sets.pop("documents", [])
    for name in _MADE_ANEW:
        sets.pop(name, None)
    first = list({one["question"]: one for one in reversed(last)}.values())
    quoted = list(alone(one for one in first if _answered(one)))
    each = [
        *(one for one in last if chance.random() < _share(one)),
        *chance.sample(quoted, len(quoted) // 3),
        *drawn_of(list(unanswering(first)), _TEMPTING, chance),
        *conversations,
    ]
    drawn = [
        *(_DOCUMENTS_TIMES * [one for one in documents if _answered(one)]),
        *(one for one in documents if not _answered(one) and chance.random() < _share(one)),
        *(one for one in plain if chance.random() < _share(one)),
        *drawn_of([one for one in older if chance.random() < _share(one)], _OLDER, chance),
        *drawn_of(written(), _CONTRASTS, chance),
        *drawn_of([one for some in sets.values() for one in some], _BESIDE, chance),
        *drawn_of(list(general), _PASSAGES, chance),
    ]
    for some in (each, drawn):
        chance.shuffle(some)
    return Mixture(each, drawn)


def _once(examples: Iterable[Example]) -> Iterator[Example]:
    """Each example once, where answered ones are repeated."""
    seen: set[str] = set()
    for one in examples:
        key = json.dumps(one, sort_keys=True)
        if key not in seen:
            seen.add(key)
            yield one


def _share(one: Example) -> float:
    if _answered(one):
        return 1.0
    return _ONE if len(one["passages"]) == 1 else _TOGETHER


def _answered(one: Example) -> bool:
    return bool(one["answers"] or one.get("quotes"))


if __name__ == "__main__":
    main()
