"""Statements told over time: answers to questions, and decisions of the write controller.

    python -m benchmarks.told                                  # scenarios held out from training
    python -m benchmarks.told --scenarios FILE [--decisions FILE]

FILE has scenarios as ``benchmarks/statements`` has them; their statements, and ``--decisions``
({id: [[{"tell", "action"}] of each text]}), say which earlier texts each text changes. An answer
is right as a person would see it: a value or the short answer of at most 160 characters that holds
one of the right forms, three fifths of the items of a list, "yes" or "no" as the first word,
silence where nothing is known, both sides where statements contradict each other. A text is judged
rightly where it changes the same earlier texts in the same way: "supersede" and "correct" are one.
"""

import argparse
import gzip
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.documents import holds, plain
from benchmarks.statements import FILE, scenarios
from memnet import Answer, Engine, TellReport

_SHORT = 160
_SHARE = 0.6
_SAME = {"correct": "supersede", "erase": "end"}


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines, which may be compressed."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [json.loads(line) for line in file if line.strip()]


def is_right(question: dict[str, Any], answer: Answer) -> bool:
    """Whether an answer is right."""
    gold, text = question["answers"], answer.answer or ""
    if question["type"] == "conflict":
        return answer.contradiction
    if not gold:
        return answer.abstained
    if answer.abstained:
        return False
    if question["type"] == "yesno":
        return plain(text).split(" ")[0].strip(",.:;") == plain(gold[0])
    if isinstance(gold[0], list):
        found = sum(any(holds(text, form) for form in item) for item in gold)
        return found >= _SHARE * len(gold)
    shown = answer.short or text
    return len(shown) <= _SHORT and any(holds(shown, form) for form in gold)


def told_changes(reports: Sequence[TellReport]) -> list[set[tuple[int, str]]]:
    """Which earlier texts each text changed, and how."""
    text_of: dict[int, int] = {}
    changes: list[set[tuple[int, str]]] = []
    for number, report in enumerate(reports):
        found = set[tuple[int, str]]()
        for one in report.decisions:
            earlier = -1 if one.other is None else text_of.get(one.other, -1)
            if one.other is not None and one.action not in ("add", "evict") and earlier != number:
                found.add((earlier, _SAME.get(one.action, one.action)))
            if one.slot is not None:
                text_of.setdefault(one.slot, number)
        changes.append(found)
    return changes


def wanted_changes(scenario: dict[str, Any]) -> list[set[tuple[int, str]]]:
    """As ``told_changes``, by the labels of a scenario."""
    return [
        {
            (change["tell"], _SAME.get(change["action"], change["action"]))
            for statement in tell.get("statements", ())
            for change in statement["changes"]
            if change["tell"] != number
        }
        for number, tell in enumerate(scenario["tells"])
    ]


def main() -> None:
    """Read the arguments, tell and ask, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenarios", type=Path)
    parser.add_argument("--decisions", type=Path)
    parser.add_argument("--show", action="store_true", help="what is wrong")
    parser.add_argument("--out", type=Path, help="results as JSON")
    given = parser.parse_args()
    held_out = {one.id for one in scenarios()[1]}
    told = [
        one
        for one in read_lines(given.scenarios or FILE)
        if given.scenarios or one["id"] in held_out
    ]
    labels = json.loads(given.decisions.read_text()) if given.decisions else {}
    right: dict[str, list[bool]] = defaultdict(list)
    confidences: list[tuple[float, bool, bool]] = []
    for scenario in told:
        with (
            tempfile.TemporaryDirectory() as folder,
            Engine.open(Path(folder) / "memory", create=True) as memory,
        ):
            reports = [memory.tell(one["text"], at=one["at"]) for one in scenario["tells"]]
            for question in scenario["questions"]:
                answer = memory.ask(question["question"], as_of=question.get("as_of"))
                good = is_right(question, answer)
                for name in ("all", question["type"]):
                    right[name].append(good)
                confidences.append((answer.confidence or 0, good, bool(question["answers"])))
                if given.show and not good:
                    shown = answer.short or answer.answer
                    print(f"{scenario['id']} {question['type']}: {question['question']}")
                    print(f"    {shown!r}, not {question['answers']}")
        wanted = (
            [{(one["tell"], _SAME.get(one["action"], one["action"])) for one in tell}
             for tell in labels[scenario["id"]]]
            if labels else wanted_changes(scenario)
        )  # fmt: skip
        for number, (mine, theirs) in enumerate(zip(told_changes(reports), wanted, strict=True)):
            right["decisions"].append(mine == theirs)
            kinds = {action for _, action in theirs} or {"add"}
            for kind in kinds:
                right[f"decisions: {kind}"].append(mine == theirs)
            if given.show and mine != theirs:
                text = scenario["tells"][number]["text"]
                print(f"{scenario['id']} {text!r}: {sorted(mine)}, not {sorted(theirs)}")
    for name, results in right.items():
        print(f"{name:24} {100 * sum(results) / len(results):5.1f} of {len(results)}")
    if given.out:
        table = {name: [round(sum(r) / len(r), 4), len(r)] for name, r in right.items()}
        given.out.write_text(json.dumps({"right": table, "confidences": confidences}) + "\n")


if __name__ == "__main__":
    main()
