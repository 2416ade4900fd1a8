"""Questions about the columns of tables that measure something, with words for more and less of it.

"Which ferry is the oldest?", of a column "Built", "Is Torrin or Hebe faster?", of one in knots:
made for tables whose questions are written, as these have few of each. What a column measures, and
what has more of it, is said by ``memnet/text/measures.txt``.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

from memnet.reader.computed import MEASURES
from memnet.reader.rows import Table
from memnet.reader.values import Value, unit_of, with_unit
from memnet.text.english import query_terms

_IRREGULAR = {
    "far": ("farther", "farthest"), "expensive": ("more expensive", "most expensive"),
    "recent": ("more recent", "most recent"), "powerful": ("more powerful", "most powerful"),
}  # fmt: skip
_DOUBLED = frozenset("big hot thin".split())
_OF_ROWS = (
    "Which {key} is the {most}?", "What is the {most} {key}?", "{most} {key}",
    "which {key} has the {most} {header}", "the {most} of the {key}s is?",
    "Which one is {most}?", "Do you know the {most} {key}?",
)  # fmt: skip
_OF_TWO = (
    "Which is {more}, {one} or {two}?", "Is {one} or {two} {more}?", "{more}: {one} or {two}?",
    "Which of {one} and {two} is {more}?", "what's {more}, {one} or {two}",
)  # fmt: skip
_LONGEST_NAME = 40


class Made(NamedTuple):
    """A question with its answers."""

    text: str
    answers: list[str]


def made_questions(table: Table, chance: random.Random, most: int = 8) -> list[Made]:
    """Some questions about a table."""
    found = [one for header in table.measured for one in _of_column(table, header, chance)]
    return chance.sample(found, min(most, len(found)))


def _of_column(table: Table, header: str, chance: random.Random) -> Iterator[Made]:
    names, values = table.texts[table.key], table.values(header, table.counted)
    if header == table.key or not values or len(values) < 2:
        return
    first = next(iter(values.values()))
    words = {*query_terms(header), *header.casefold().split(), first.kind, unit_of(first.unit)}
    ordered = sorted(values, key=lambda row: values[row].amount)
    named = [row for row in ordered if 0 < len(names.get(row, "")) <= _LONGEST_NAME]
    key = table.key.casefold().rstrip(".") or "one"
    name = with_unit(header, table.texts[header][ordered[0]])[0].casefold()
    for measured, *ends in MEASURES:
        if words.isdisjoint(measured):
            continue
        for adjectives, last in zip(ends, (-1, 0), strict=True):
            for adjective in sorted(adjectives):
                more, end = _compared(adjective)
                said = {"key": key, "header": name, "more": more, "most": end}
                row = ordered[last]
                if row in named and _alone(values, row):
                    yield Made(chance.choice(_OF_ROWS).format(**said), [names[row]])
                    text = table.texts[header][row]
                    asked = f"{name} of the {end} {key}?"
                    yield Made(asked, [text, with_unit(header, text)[1]])
                if len(named) > 1:
                    two = chance.sample(named, 2)
                    best = max(two, key=lambda one: values[one].amount * (-1 if last == 0 else 1))
                    if values[two[0]].amount != values[two[1]].amount:
                        said |= {"one": names[two[0]], "two": names[two[1]]}
                        yield Made(chance.choice(_OF_TWO).format(**said), [names[best]])


def _alone(values: dict[int, Value], row: int) -> bool:
    return sum(one.amount == values[row].amount for one in values.values()) == 1


def _compared(adjective: str) -> tuple[str, str]:
    """Comparative and superlative."""
    if adjective in _IRREGULAR:
        return _IRREGULAR[adjective]
    root = adjective.removesuffix("e")
    if adjective.endswith("y"):
        root = adjective.removesuffix("y") + "i"
    elif adjective in _DOUBLED:
        root = adjective + adjective[-1]
    return f"{root}er", f"{root}est"
