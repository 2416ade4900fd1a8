"""Scenarios: what is told over time with its structure, and questions; the statement network's."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.statements.format import Scenario, read_scenarios

FOLDER = Path(__file__).parent
FILE = FOLDER / "scenarios.jsonl.gz"
_HELD_OUT = 12
"""One scenario in so many is never learned from."""


def scenarios() -> tuple[list[Scenario], list[Scenario]]:
    """Those to learn from, and those held out, by a hash of their ids."""
    learned: list[Scenario] = []
    held_out: list[Scenario] = []
    for one in read_scenarios(FILE):
        digest = int(hashlib.md5(one.id.encode(), usedforsecurity=False).hexdigest(), 16)
        (learned if digest % _HELD_OUT else held_out).append(one)
    return learned, held_out


def problems(scenario: Scenario) -> Iterator[str]:
    """What is wrong with a scenario, a line each."""
    tells = scenario.tells
    if [one.at for one in tells] != sorted(one.at for one in tells):
        yield "its texts are not in the order of their time"
    for number, tell in enumerate(tells):
        for part, one in enumerate(tell.statements):
            pieces = (one.text, one.subject, *one.values)
            yield from (
                f"{piece!r} is not in {tell.text!r}" for piece in pieces if piece not in tell.text
            )
            if not one.names:
                yield f"nothing says what {one.text!r} is about"
            for change in one.changes:
                earlier = (change.tell, change.statement) < (number, part)
                if not earlier or change.statement >= len(tells[change.tell].statements):
                    yield f"{one.text!r} changes what is not told before"
    for question in scenario.questions:
        if bool(question.answers) == (question.type in ("negated", "unknown", "conflict")):
            yield f"{question.question!r} has {len(question.answers)} answers"
        for index, piece in question.spans:
            if piece not in tells[index].text:
                yield f"{piece!r} is not in {tells[index].text!r}"
        if any(index >= len(tells) for index in question.evidence):
            yield f"{question.question!r} needs what is not told"


def counts(found: Sequence[Scenario]) -> str:
    """The table of the card."""
    types = Counter(question.type for one in found for question in one.questions)
    changes = Counter(
        change.action
        for one in found
        for tell in one.tells
        for statement in tell.statements
        for change in statement.changes
    )
    rows = ["| | number |", "|---|---|", f"| scenarios | {len(found):,} |"]
    rows.append(f"| texts | {sum(len(one.tells) for one in found):,} |")
    statements = sum(len(tell.statements) for one in found for tell in one.tells)
    rows.append(f"| statements | {statements:,} |")
    rows += [f"| changes: {name} | {count:,} |" for name, count in sorted(changes.items())]
    rows.append(f"| questions | {types.total():,} |")
    rows += [f"| questions: {name} | {count:,} |" for name, count in sorted(types.items())]
    return "\n".join(rows)
