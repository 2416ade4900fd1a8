"""Cells of tables: the row that a question names, and the column that it asks for.

Attention within the rows that hops found, over words: a row is addressed by the values that it
shares with the question, a cell by its header.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from memnet.reader.answers import Prediction
from memnet.reader.passages import RankedSlot, slot_candidate
from memnet.reader.quotes import quote_around
from memnet.text.english import query_terms

_LABELLED = re.compile(r"; (?=[^;:\n]{1,60}: )")
_BETWEEN = " | "
# Share of the question's words, by IDF, that headers and values of a row must hold.
_MIN_COVERED = 0.7
_STEM_LETTERS = 5
_QUANTITY = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)


class _Cell(NamedTuple):
    header: frozenset[str]  # Stems of its column's header
    value: frozenset[str]  # Stems of its text
    start: int
    end: int


class _Found(NamedTuple):
    values: float  # Weight of the question's words that the other cells of its row hold
    item: RankedSlot
    cell: _Cell


def read_cells(
    question: str, terms: Mapping[str, float], passages: Sequence[RankedSlot]
) -> Prediction:
    """The cell that a question asks for; nothing where no row or no column stands out.

    ``terms`` are its words that the memory has, with weights that sum to one.
    """
    asked: dict[str, float] = {}
    for term, weight in terms.items():
        asked[term[:_STEM_LETTERS]] = asked.get(term[:_STEM_LETTERS], 0.0) + weight
    quantity_of = _stems(_QUANTITY.sub("", question)) if _QUANTITY.search(question) else frozenset()
    found = [
        one
        for item in passages
        for row in _rows(item.slot.text, item.slot.title)
        if (one := _read_row(asked, row, item) or _read_quantity(quantity_of, row, item))
        is not None
    ]
    found.sort(key=lambda one: -one.values)
    if not found or (len(found) > 1 and found[1].values == found[0].values):
        return Prediction()
    best = found[0]
    item, start, end = best.item, best.cell.start, best.cell.end
    candidate = slot_candidate(item.slot, start, end, best.values)
    shown = quote_around(item, start, end)
    return Prediction((candidate,), (item,), "table", quotes=shown, short=candidate.text)


def _read_row(asked: Mapping[str, float], row: Sequence[_Cell], item: RankedSlot) -> _Found | None:
    """The asked cell of a row, if the row covers the question."""

    def weight(stems: frozenset[str]) -> float:
        return sum(asked.get(stem, 0.0) for stem in stems)

    def preference(cell: _Cell) -> tuple[float, float, bool]:
        # What matches already is not asked for, and the header of the first column often says
        # what a row is: "the price of the 4 TB plan".
        return -weight(cell.header - cell.value), weight(cell.value), cell is row[0]

    first, second, *_ = sorted(row, key=preference)
    header = weight(first.header - first.value)
    values = weight(frozenset().union(*(cell.value for cell in row if cell is not first)))
    covered = weight(frozenset().union(*(cell.header | cell.value for cell in row)))
    stands_out = preference(first) < preference(second)
    if header and values and covered >= _MIN_COVERED and stands_out:
        return _Found(values, item, first)
    return None


def _read_quantity(asked: frozenset[str], row: Sequence[_Cell], item: RankedSlot) -> _Found | None:
    """The number in a row of two cells whose first one names what "how many" is asked of.

    What the title says, "How many apples are in the apple cake?", names no row. All words of the
    question count, also those that the memory does not have: "How many eggs does a hen lay?"
    """
    if len(row) != 2 or not asked:
        return None
    label, value = row
    title = _stems(item.slot.title)
    named = label.value - title
    known = asked & (label.value | title | label.header | value.header)
    is_number = any(stem[0].isdigit() for stem in value.value)
    if named and named <= asked and is_number and len(known) >= _MIN_COVERED * len(asked):
        return _Found(len(named) / len(asked), item, value)
    return None


def _rows(text: str, title: str) -> Iterator[list[_Cell]]:
    """The rows of tables in the text of a slot, without those of headers."""
    labelled = list(_labelled_cells(text))
    if len(labelled) > 1:
        yield labelled
        return
    headers = title.rpartition(" — ")[2].split(_BETWEEN)
    offset = 0
    for line in text.split("\n"):
        parts = line.split(_BETWEEN)
        if len(parts) < 2:
            headers = []
        elif len(headers) != len(parts):
            headers = parts
        else:
            row, start = [], offset
            for header, part in zip(headers, parts, strict=True):
                row.append(_cell(header, part, start))
                start += len(part) + len(_BETWEEN)
            yield row
        offset += len(line) + 1


def _labelled_cells(text: str) -> Iterator[_Cell]:
    """The cells of "Size: 4 TB; Price: $10"."""
    if "\n" in text:
        return
    start = 0
    for part in _LABELLED.split(text):
        header, colon, value = part.partition(": ")
        if colon and value:
            yield _cell(header, value, start + len(header) + len(colon))
        start += len(part) + len("; ")


def _cell(header: str, value: str, start: int) -> _Cell:
    return _Cell(_stems(header), _stems(value), start, start + len(value))


def _stems(text: str) -> frozenset[str]:
    return frozenset(term[:_STEM_LETTERS] for term in query_terms(text))
