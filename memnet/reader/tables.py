"""Cells of tables: the row that a question names, and the column that it asks for.

Attention within the rows that hops found, over words: a row is addressed by the values that it
shares with the question, a cell by its header.
"""

import re
from calendar import month_name
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from memnet.reader.answers import Prediction
from memnet.reader.passages import RankedSlot, may_hold_rows, slot_candidate
from memnet.reader.quotes import quote_around
from memnet.text.english import query_terms

_LABELLED = re.compile(r"; (?=[^;:\n]{1,60}: )")
_BAR = re.compile(r"(?:^|(?<= ))\|(?= |$)")
# Share of the question's words, by IDF, that headers and values of a row must hold.
_MIN_COVERED = 0.7
_MAX_CAPTION = 80  # Characters of a heading or a sentence above a table
_STEM_LETTERS = 5
_INFLECTION = re.compile(r"(?<=[^\W\d_]{3})(?:ing|ed|(?<=[sxzh])es|(?<!s)s)$")
_QUANTITY = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
_WHO = re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE)
_DATE = re.compile(r"\b\d{4}-(\d\d)-(\d\d)\b")
# What the header of a column says where a question says it with another word.
_HEADERS = {
    **dict.fromkeys(("cost", "costs", "expensive", "cheap"), "price"),
    **dict.fromkeys(("high", "tall"), "height"),
    "deep": "depth",
    "heavy": "weight",
    "long": "length",
    "old": "age",
    "wide": "width",
}


class _Cell(NamedTuple):
    header: frozenset[str]  # Stems of its column's header
    value: frozenset[str]  # Stems of its text
    start: int
    end: int


class _Asked(NamedTuple):
    weights: dict[str, float]  # Of the stems of the question that the memory has
    order: dict[str, int]  # All stems of the question, each with its place in it
    codes: frozenset[str]  # Those with a digit: all of them have to be those of a row

    def weight(self, stems: frozenset[str]) -> float:
        return sum(self.weights.get(stem, 0.0) for stem in stems)

    def names(self, cell: _Cell) -> bool:
        """Whether the question says all of a cell."""
        return bool(cell.value) and cell.value <= self.order.keys()


class _Found(NamedTuple):
    named: int  # Other cells of its row that the question says all of
    values: float  # Weight of the question's words that they hold
    item: RankedSlot
    cell: _Cell
    row: Sequence[_Cell]


def read_cells(
    question: str, terms: Mapping[str, float], passages: Sequence[RankedSlot]
) -> Prediction:
    """The cell that a question asks for; nothing where no row or no column stands out.

    ``terms`` are its words that the memory has, with weights that sum to one.
    """
    asked = _asked(question, terms)
    quantity_of = _stems(_QUANTITY.sub("", question)) if _QUANTITY.search(question) else frozenset()
    rows: list[Sequence[_Cell]] = []
    found: list[_Found] = []
    for item in passages:
        titles = _stems("\n".join([item.slot.title, *_captions(item.slot.text)]))
        for row in _rows(item.slot.text, item.slot.title):
            rows.append(row)
            one = _read_row(asked, row, titles, item) or _read_quantity(quantity_of, row, item)
            if one is not None:
                found.append(one)
    found.sort(key=lambda one: (-one.named, -one.values))
    if not found or (len(found) > 1 and found[1][:2] == found[0][:2]):
        return Prediction()
    best = found[0]
    if any(_contradicts(asked, row, best) for row in rows):
        return Prediction()
    item, start, end = best.item, best.cell.start, best.cell.end
    candidate = slot_candidate(item.slot, start, end, best.values)
    shown = quote_around(item, start, end)
    return Prediction((candidate,), (item,), "table", quotes=shown, short=candidate.text)


def _asked(question: str, terms: Mapping[str, float]) -> _Asked:
    order: dict[str, int] = {}
    for word in query_terms(question):
        for stem in _stems(word):
            order.setdefault(stem, len(order))
        if word in _HEADERS:
            order.setdefault(_stem(_HEADERS[word]), len(order))
    if _WHO.search(question):
        order.setdefault("name", len(order))
    weights: dict[str, float] = {}
    for term, weight in terms.items():
        for stem in _stems(term):
            weights[stem] = weights.get(stem, 0.0) + weight
    return _Asked(weights, order, frozenset(filter(_has_digit, order)))


def _read_row(
    asked: _Asked, row: Sequence[_Cell], titles: frozenset[str], item: RankedSlot
) -> _Found | None:
    """The asked cell of a row, if the row covers the question; ``titles`` are those above it."""

    def preference(cell: _Cell) -> tuple[int, int]:
        # What matches already is not asked for; of two headers, the one named first is:
        # "Which variety of pears was planted?"
        header = [asked.order[stem] for stem in cell.header - cell.value if stem in asked.order]
        return -len(header), min(header, default=0)

    cell = min((cell for cell in row if not asked.names(cell)), key=preference, default=None)
    if cell is None or not cell.value or not preference(cell)[0]:
        return None
    others = [other for other in row if other is not cell]
    values = frozenset().union(*(other.value for other in others))
    named = [other for other in others if asked.names(other)]
    said = values | cell.header | titles
    about = said.union(*(other.header for other in others))
    needed = asked.weight(frozenset(asked.weights) - (_ASKING - about))
    covered = asked.weight(about) >= _MIN_COVERED * needed
    # "The price in 2024" is not that of a row which has another column for 2024.
    codes_fit = asked.codes <= said.union(*(other.header for other in named))
    if asked.weight(values) and covered and codes_fit:
        return _Found(len(named), asked.weight(values), item, cell, row)
    return None


def _contradicts(asked: _Asked, row: Sequence[_Cell], best: _Found) -> bool:
    """Whether the question says all of a cell of another row of the same table as the best one.

    "The power of the red pump 417302" is not that of the pump 417302 if that one is blue.
    """
    if [cell.header for cell in row] != [cell.header for cell in best.row]:
        return False
    said = _stems(best.item.slot.title).union(*(cell.header | cell.value for cell in best.row))
    return any(asked.names(cell) and not cell.value <= said for cell in row)


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
        return _Found(0, len(named) / len(asked), item, value, row)
    return None


def _captions(text: str) -> Iterator[str]:
    """The lines of a text that may say what a table in it is about."""
    for line in text.split("\n"):
        if len(line) <= _MAX_CAPTION and not may_hold_rows(line):
            yield line


def _rows(text: str, title: str) -> Iterator[list[_Cell]]:
    """The rows of tables in the text of a slot, without those of headers."""
    labelled = list(_labelled_cells(text))
    if len(labelled) > 1:
        yield labelled
        return
    headers = [text for text, _ in _parts(title.rpartition(" — ")[2])]
    offset = 0
    for line in text.split("\n"):
        parts = _parts(line)
        if not line:
            headers = []
        elif len(parts) < 2:
            pass  # a title of the rows below it
        elif len(headers) != len(parts):
            headers = [text for text, _ in parts]
        else:
            yield [
                _cell(header, text, offset + start)
                for header, (text, start) in zip(headers, parts, strict=True)
            ]
        offset += len(line) + 1


def _parts(line: str) -> list[tuple[str, int]]:
    """The cells of a line, also an empty one at its start or end, each with its place in it."""
    found: list[tuple[str, int]] = []
    start = 0
    for part in _BAR.split(line):
        found.append((part.strip(), start + len(part) - len(part.lstrip())))
        start += len(part) + 1
    return found


def _labelled_cells(text: str) -> Iterator[_Cell]:
    """The cells of "Size: 4 TB; Price: $10"; the first one may have no header."""
    if "\n" in text:
        return
    start = 0
    parts = _LABELLED.split(text)
    for number, part in enumerate(parts):
        header, colon, value = part.partition(": ")
        if colon and value:
            yield _cell(header, value, start + len(header) + len(colon))
        elif not number and len(parts) > 2:
            yield _cell("", part, start)
        start += len(part) + len("; ")


def _cell(header: str, value: str, start: int) -> _Cell:
    return _Cell(
        _stems(header) if header else frozenset(), _stems(value), start, start + len(value)
    )


def _stems(text: str) -> frozenset[str]:
    """What the words of a text begin with; of 2024-07-03 also the name of its month."""
    stems = {_stem(part) for word in query_terms(text) for part in word.split("_") if part}
    for month, day in _DATE.findall(text):
        if 1 <= int(month) <= 12:
            stems |= {_stem(month_name[int(month)].lower()), str(int(day))}
    return frozenset(stems)


def _stem(word: str) -> str:
    """A word without its ending; one with a digit, such as a number or a code, as it is."""
    if _has_digit(word):
        return word
    return _INFLECTION.sub("", word)[:_STEM_LETTERS]


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


# Words that ask, and need not stand in a table.
_ASKING = _stems(
    "amount can could date day give have i kind list many me much my please shall should show "
    "tell time value we year"
).union(map(_stem, _HEADERS))
