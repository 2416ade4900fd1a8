"""Tables of data, in sheets and in delimited text: where their headers are, and their rows."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice, zip_longest
from operator import eq
from typing import Literal, TypeAlias

from memnet.errors import InputError
from memnet.loaders.document import DocumentBuilder, one_line

SAMPLE = 50  # rows at the top of a table that show where its headers are
_MAX_HEADER = 80  # characters of a header
_MAX_KEYS = 30  # rows of a list of keys and values in two columns, which has no headers
# Rows of one cell each that are text between tables; more of them are a table of one column.
_MAX_LINES = 3
_MOST = 0.8  # share of a column's values that says what kind it is of

_NUMBER = re.compile(r"[-+(]?[\s$€£¥]*[-+]?\d[\d.,' ]*(?:[eE][-+]?\d+)?[\s%$€£¥)]*(?:[A-Z]{3})?")
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?([T ].*)?|\d{1,2}:\d{2}(:\d{2})?.*")
_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d")

Kind: TypeAlias = Literal["", "text", "number", "date"]
Row: TypeAlias = tuple[int, Sequence[str]]  # the number of a row, and its cells
# What a reader finds a row and its columns from the first to the last by; all from 0.
Places: TypeAlias = Callable[[int, int, int], str]


def kind_of(text: str) -> Kind:
    """What kind of value the text of a cell is."""
    if not text:
        return ""
    if text[0].isalpha() or len(text) > _MAX_HEADER:
        return "text"
    if _NUMBER.fullmatch(text):
        return "number"
    return "date" if _DATE.fullmatch(text) else "text"


def header_rows(rows: Sequence[Sequence[str]]) -> int:
    """Rows at the top of a table that name its columns: 0, 1, or 2 where one groups the other."""
    # Under the names of groups years may stand again: those of the harvest, and of the price.
    grouped = len(rows) > 2 and _groups(rows[0], rows[1])
    if grouped and _is_header(names_of(rows[:2], len(rows[0])), rows[2:]):
        return 2
    if not _is_header(rows[0], rows[1:]):
        return 0
    return 1 + (len(rows) > 2 and _goes_on(rows[1], rows[2:]))


def _goes_on(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a row continues the headers above it: text only, over nothing but numbers."""
    columns = [column for column, text in enumerate(row) if text]
    return len(columns) > 1 and all(
        kind_of(row[column]) == "text" and _kind_of_column(below, column) in ("number", "date")
        for column in columns
    )


def _values(rows: Sequence[Sequence[str]], column: int) -> list[str]:
    """What stands in the filled cells of a column."""
    return [row[column] for row in rows if column < len(row) and row[column]]


def _kind_of_column(rows: Sequence[Sequence[str]], column: int) -> Kind:
    """What kind most of its values are of; empty if no kind prevails."""
    kinds = Counter[Kind](map(kind_of, _values(rows, column)))
    for kind, count in kinds.most_common(1):
        if count >= _MOST * kinds.total():
            return kind
    return ""


def _groups(upper: Sequence[str], lower: Sequence[str]) -> bool:
    """Whether a row of headers leaves gaps, or repeats itself, where headers below it differ."""
    gaps = any(below and not above for above, below in zip_longest(upper[1:], lower[1:]))
    years = [text for text in lower if _YEAR.fullmatch(text)]
    if lower and lower[0] in ("", upper[0]):
        gaps = gaps or any(map(eq, upper, upper[1:]))
    else:  # a row of data begins, unless the same years stand below each group
        gaps = gaps or (not upper[0] and any(map(eq, upper[1:], upper[2:])))
        if upper[0] or len({*years}) == len(years) or len(years) < len(lower) - 1:
            years = []
    named = all(
        len(text) <= _MAX_HEADER and (kind_of(text) in ("", "text") or _YEAR.fullmatch(text))
        for text in upper
    )
    texts = all(
        kind_of(text) in ("", "text") or (len(years) > 1 and text in years) for text in lower
    )
    return gaps and _filled(upper) >= 2 and named and texts


def _is_header(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether a row names the columns of those below it."""
    filled = [text for text in row if text]
    columns = [_values(below, column) for column in range(max(map(len, below), default=0))]
    used = sum(1 for values in columns if values)
    if len(filled) < 2 or len(filled) < used / 2 or max(map(len, filled)) > _MAX_HEADER:
        return False
    if below and not any(text and values for text, values in zip(row, columns, strict=False)):
        return False  # it stands over nothing
    if len({text.lower() for text in filled}) <= len(filled) / 2:
        return False
    periods = [text for text in filled if kind_of(text) != "text"]
    if periods:  # a series of years or dates, after a column of names
        series = all(_YEAR.fullmatch(text) or kind_of(text) == "date" for text in periods)
        if not series or len(set(periods)) < len(periods) or kind_of(row[0]) not in ("", "text"):
            return False
        corner = not row[0] and any(columns) and kind_of(next(iter(columns[0]), "")) == "text"
        if (len(filled) == len(periods) and not corner) or len(periods) < 2:
            return False
    if used == 2 and len(below) < _MAX_KEYS and _keys_and_values(row, below):
        return False
    # A name that is also a value below it does not name the column.
    return not any(text in values for text, values in zip(row, columns, strict=False))


def _keys_and_values(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether rows of two cells are a list: "Founded: | 1999", values of several kinds."""
    pairs = [[text for text in other if text] for other in (row, *below)]
    keys = [pair[0] for pair in pairs if len(pair) == 2]
    if sum(key.endswith(":") for key in keys) > len(keys) / 2:
        return True
    kinds = Counter(kind_of(pair[1]) for pair in pairs[1:] if len(pair) == 2)
    return bool(kinds) and max(kinds.values()) < _MOST * kinds.total()


def names_of(headers: Sequence[Sequence[str]], width: int) -> list[str]:
    """The name of each column; of two rows, the upper one goes on over the gaps in it."""
    names = [""] * max([width, *map(len, headers)])
    for number, row in enumerate(headers):
        above = ""
        for column in range(len(names)):
            text = row[column] if column < len(row) else ""
            if number < len(headers) - 1:
                above = text or above
                below = headers[number + 1]
                text = text or (above if column < len(below) and below[column] else "")
            if text and text != names[column]:
                names[column] = f"{names[column]} {text}".strip()
    return [one_line(name) for name in names]


class TableWriter:
    """Writes tables as labelled rows: "Plan: Basic; Price: $4"."""

    def __init__(self, builder: DocumentBuilder, places: Places, max_characters: int) -> None:
        self._builder = builder
        self._places = places
        self._max_characters = max_characters
        self._names: list[str] = []
        self._numbers: set[int] = set()  # columns of numbers of the table with the last headers

    def table(
        self, rows: Iterable[Row], first_column: int = 0, *, cells_placed: bool = True
    ) -> None:
        """Add a table, with the titles above it as paragraphs.

        Args:
            rows: of which only the first ``SAMPLE`` are held at once.
            first_column: of the sheet, that the cells begin with.
            cells_placed: whether a cell has a place of its own.
        """
        source = iter(rows)
        self._cells_placed = cells_placed
        sample = list(islice(source, SAMPLE))
        if not sample:
            return
        while len(sample) > 1 and _is_title(sample):
            self._text(sample.pop(0), first_column)
        texts = [row for _, row in sample]
        if len(texts) <= _MAX_LINES and max(map(_filled, texts)) <= 1:  # text, in a sheet
            for line in sample:
                self._text(line, first_column)
            return
        count = header_rows(texts)
        if count == len(texts):  # that name the columns of nothing
            count = 0
        names = names_of(texts[:count], max(map(len, texts)))
        numbers = {
            first_column + column
            for column in range(len(names))
            if _kind_of_column(texts[count:], column) == "number"
        }
        if count:
            self._names, self._numbers = [""] * first_column + names, numbers
        elif numbers and numbers <= self._numbers:  # goes on after an empty row
            names = self._names[first_column:]
        if count and not all(
            _values(texts[count:], column) for column, name in enumerate(names) if name
        ):  # a name over empty cells stands in no row
            place = self._place(sample[0], first_column)
            self._builder.add("paragraph", " | ".join(filter(None, names)), place=place)
        for number, row in chain(sample[count:], source):
            self._row(number, row, names, first_column)

    def _place(self, row: Row, first_column: int) -> str:
        filled = [first_column + column for column, text in enumerate(row[1]) if text]
        return self._places(row[0], filled[0], filled[-1])

    def _text(self, row: Row, first_column: int) -> None:
        place = self._place(row, first_column)
        self._builder.add("paragraph", " ".join(filter(None, row[1])), place=place)

    def _row(self, number: int, row: Sequence[str], names: list[str], first_column: int) -> None:
        cells = []
        for at, (text, name) in enumerate(zip_longest(row, names, fillvalue=""), first_column):
            if text:
                place = self._places(number, at, at) if self._cells_placed else ""
                cells.append((name, text, place))
        if not cells:
            return
        place = self._place((number, row), first_column)
        self._builder.add_row(cells, labelled=any(names), place=place)
        if self._builder.length > self._max_characters:
            raise InputError(
                f"holds more than {self._max_characters:,} characters of text, the limit of one "
                "document; split it into several files"
            )


def _is_title(rows: Sequence[Row]) -> bool:
    """Whether the first row is a title: one text alone or a long one, above rows of more cells."""
    first = rows[0][1]
    below = max(_filled(row) for _, row in rows[1:])
    return below > 1 and (
        _filled(first) == 1
        or (max(map(len, first), default=0) > _MAX_HEADER and 2 * _filled(first) <= below)
    )


def _filled(row: Sequence[str]) -> int:
    return sum(1 for text in row if text)
