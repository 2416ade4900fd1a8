"""Verdicts by what a text says in a question's own words: right, contradicting, without ground.

    python -m benchmarks.verdicts

The pairs are those of ``questions/verdicts.jsonl.gz``, written for this by subject ("train" was
looked at for the rules, "held_out" was not), and of ``questions/contrast.jsonl.gz`` a question with
its quotation, or without one with its passage (looked at too).
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from memnet.reader.answers import asks_whether
from memnet.text.restated import restates

_QUESTIONS = Path(__file__).parent / "questions"


def main() -> None:
    """Print a line for each part."""
    counts: dict[str, Counter[str]] = {}
    for part, question, text, right in _pairs():
        restated = restates(question, text)
        said = ("yes" if restated.yes else "no") if restated is not None and restated.sure else ""
        counted = counts.setdefault(part, Counter())
        counted["pairs"] += 1
        counted["with a verdict"] += bool(right)
        if said:
            counted["right" if said == right else "contradicts" if right else "no ground"] += 1
    for part, counted in counts.items():
        print(f"{part:20}", *(f"{name} {count}" for name, count in counted.items()), sep="  ")


def _pairs() -> Iterator[tuple[str, str, str, str]]:
    """Part, question, text and verdict; "" where the text gives none."""
    for name in ("verdicts", "contrast"):
        with gzip.open(_QUESTIONS / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for one in map(json.loads, lines):
                right = "".join(one["answers"])
                if right in ("yes", "no", "") and asks_whether(one["question"]):
                    text = "\n".join(one.get("quotes") or (one["passages"][0]["text"],))
                    yield f"{name} {one.get('part', '')}", one["question"], text, right


if __name__ == "__main__":
    main()
