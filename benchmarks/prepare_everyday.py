"""Examples about everyday collections alone, for a reader that has learned from all sets.

    python -m benchmarks.prepare_reader --data DIR --out PREPARED
    python -m benchmarks.prepare_everyday PREPARED --out OUT
    python -m benchmarks.train_reader OUT --set everyday --seconds 3000 --general 3000 --frozen 3 \
        --rate 1e-4 --batch-tokens 4096 --device cpu --workers 1 --out READER

Written are answered questions with the windows that are found, a share of those without an answer,
quotations read alone, and contrasts, of which the pairs of a text and a question for yes or no are
there twice. With ``--plain`` they are those of the collections that are written as people ask, half
of the quotations read alone and no contrasts, and excerpts of conversations (all that
``prepare_reader`` wrote). The same seed and examples give the same file.
"""

import argparse
import json
import random
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.reader_data.contrast import alone, unanswering, written
from benchmarks.reader_data.files import Example, lines, write_lines

_ONE, _TOGETHER = 0.3, 0.5  # Shares of windows without an answer, read by themselves or together
_UNANSWERING, _CONTRASTS = 4_200, 1_500
_PAIRS_TIMES = 2
_SET = "everyday"
_PLAIN = frozenset("uvw")  # What names of collections that are written as people ask begin with
_UNANSWERING_PLAIN = 1_200


def main() -> None:
    """Write the examples, beside those of the other sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("prepared", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    prepared = lines(options.prepared / "train.jsonl")
    if options.plain:
        conversations = lines(options.prepared / "conversations.jsonl")
        found = plain_examples(prepared, conversations, options.seed)
    else:
        found = everyday_examples(prepared, options.seed)
    write_lines(options.out / "train.jsonl", found)
    shutil.copyfile(options.prepared / "general.jsonl", options.out / "general.jsonl")
    print(len(found), "examples")


def everyday_examples(prepared: Iterable[Example], seed: int) -> list[Example]:
    """The mixture, in a random order, all of it of the set "everyday"."""
    chance = random.Random(seed)
    everyday = [one for one in _once(prepared) if one["set"] == _SET]
    first = list({one["question"]: one for one in reversed(everyday)}.values())
    tempting = list(unanswering(first))
    groups = written()
    pairs = [one for one in groups if one.get("part") == "train"]
    contrasts = [one for one in groups if one.get("part") is None]
    mixed = [
        *(one for one in everyday if chance.random() < _share(one)),
        *alone(one for one in first if _answered(one)),
        *chance.sample(tempting, min(_UNANSWERING, len(tempting))),
        *chance.sample(contrasts, min(_CONTRASTS, len(contrasts))),
        *(_PAIRS_TIMES * pairs),
    ]
    chance.shuffle(mixed)
    return [{**one, "set": _SET} for one in mixed]


def plain_examples(
    prepared: Iterable[Example], conversations: Iterable[Example], seed: int
) -> list[Example]:
    """The same of the collections that are written as people ask, with excerpts beside them."""
    chance = random.Random(seed)
    everyday = (one for one in _once(prepared) if one["set"] == _SET)
    plain = [one for one in everyday if one["collection"][:1] in _PLAIN]
    first = list({one["question"]: one for one in reversed(plain)}.values())
    quoted, tempting = (
        list(each) for each in (alone(one for one in first if _answered(one)), unanswering(first))
    )
    mixed = [
        *(one for one in plain if chance.random() < _share(one)),
        *chance.sample(quoted, len(quoted) // 2),
        *chance.sample(tempting, min(_UNANSWERING_PLAIN, len(tempting))),
        *(one for one in conversations if one["set"] == "conversations"),
    ]
    chance.shuffle(mixed)
    return [{**one, "set": _SET} for one in mixed]


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
