"""Cells that a question refers to, and asks something of: the phone number of "Ann's manager"."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memnet.reader.passages import RankedSlot, may_hold_rows
from memnet.reader.quotes import Quotation
from memnet.reader.rows import Row, Table, by_source, refers_to, stems, tables_of
from memnet.storage.lexical import words_of
from memnet.text.english import STOP_WORDS

# What is asked of a cell itself: "the name of Ann's manager".
_ITSELF = stems("name names named called call")
_MAX_LENGTH = 60  # Characters of a cell that a question may say in full
_LETTERS = re.compile(r"[^\W\d_]{2}[^\d\n]*")  # Of what may be asked about; no number or code


class Reference(NamedTuple):
    """A cell by its row and column in the words of a question."""

    row: Row
    name: str  # The text of the cell; empty if the cell is
    question: str  # With that in the place of what refers to it


def whole_row(row: Row) -> Quotation:
    """A row from the beginning of its line on, with its first label."""
    start = row.item.slot.text.rfind("\n", 0, row.cells[0].start) + 1
    return Quotation(row.item, start, row.cells[-1].end, 0.0)


def reference_in(question: str, passages: Sequence[RankedSlot]) -> Reference | None:
    """The cell that a question refers to and asks something else of; None without one.

    "Ann's manager" and "the manager of Ann" refer to the cell of the column "Manager" in the row
    that is named "Ann Velde", if no other row is. Where rows differ none is meant.
    """
    found = {one.name.casefold(): one for one in _references(question, passages)}
    return found.popitem()[1] if len(found) == 1 else None


def _references(question: str, passages: Sequence[RankedSlot]) -> Iterator[Reference]:
    folded = question.casefold()
    for items in by_source(item for item in passages if may_hold_rows(item.slot.text)):
        for table in tables_of(items):
            headers = [one for one in table.headers if one and one.casefold() in folded]
            for number, name in _named_rows(table, folded):
                for header in headers:
                    if header != table.key and (span := refers_to(question, name, header)):
                        cell = table.rows[number].get(header)
                        text = cell.text if cell is not None else ""
                        if _asks_further(question, span, text):
                            further = f"{question[: span[0]]}{text}{question[span[1] :]}"
                            yield Reference(table.lines[number], text, further)


def _named_rows(table: Table, question: str) -> Iterator[tuple[int, str]]:
    """Rows that a question names in full or by a first word that is no other's, with that name."""
    names = {
        number: row[table.key].text.strip()
        for number, row in enumerate(table.rows)
        if table.key in row and len(row[table.key].text) <= _MAX_LENGTH
    }
    first = [name.split(maxsplit=1)[0] for name in names.values() if name]
    for number, name in names.items():
        word = name.partition(" ")[0]
        if name and name.casefold() in question:
            yield number, name
        elif word.istitle() and word.casefold() in question and first.count(word) == 1:
            yield number, word


def _asks_further(question: str, span: tuple[int, int], text: str) -> bool:
    """Whether a question says more than what refers to a cell, and not what stands in it."""
    if text and not (_LETTERS.fullmatch(text) and len(text) <= _MAX_LENGTH):
        return False
    rest = [
        word
        for word in words_of(f"{question[: span[0]]} {question[span[1] :]}".lower())
        if word not in STOP_WORDS
    ]
    said = stems(" ".join(rest)) if rest else frozenset()
    return bool(said - _ITSELF) and (not text or said.isdisjoint(stems(text)))
