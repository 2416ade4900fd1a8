"""What a question asks of tables, attention over their rows, and how likely a cell is right.

A row is addressed by the words of a question that its cells hold; the reader's network reads it
with each cell behind its header.
"""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from memnet.attention.arrays import log_odds, probability_of, softmax, weighted
from memnet.reader.rows import ANY_TIME, Cell, Row, labelled, refers_to, stem, stems
from memnet.reader.spans import Passage, Reader, answered_by
from memnet.reader.values import HOW_MANY, is_other_quantity
from memnet.text.dates import date_spans
from memnet.text.english import ASKS_WHO
from memnet.text.names import has_digit, is_code

CELL_CONFIDENCE = 0.99  # What was right of cells that words alone explain: nothing is surer
_WHEN = re.compile(r"(?:until |since |from )?when\b", re.IGNORECASE)
_HOURS = re.compile(r"\(\d{1,2}(?:[:.]\d\d)? ?[-–] ?\d{1,2}(?:[:.]\d\d)?\)")
_PAID = re.compile(
    r"\b(?:how much|what)\b(?! (?:day|date|time|month|year))[^?]{1,80}\b"
    r"(?:costs?|pays?|paid|earn(?:s|ed)?|owes?|owed|charged?)\b",
    re.IGNORECASE,
)
_YEAR_OR_HOUR = re.compile(
    r"\b(?:1[5-9]|20)\d\d\b|\d{1,2}:\d\d|\d ?[ap]\.?m\b|noon\b|\bmidnight|\bevery\b|"
    r"\b(?:dai|hour|week|month|year)ly\b",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"\d{1,9}[.,]\d{1,9}")
# What the header of a column says where a question says it with another word.
HEADERS = {
    **dict.fromkeys(("made", "make", "makes"), "maker manufacturer"),
    **dict.fromkeys(("leave", "leaves", "fährt", "fahren"), "departure abfahrt"),
    **dict.fromkeys(("telephone", "phone", "tel", "ring", "reach"), "phone telephone tel mobile"),
    **dict.fromkeys(
        ("job", "role", "position", "profession"), "role job position function occupation"
    ),
    **dict.fromkeys(("born", "birthday", "bday"), "birthday birth born"),
    **dict.fromkeys(("expire", "expires", "expiry"), "expiry expires valid until"),
}
_LEAST_WEIGHT = 1e-3  # Of a row, for its logarithm
_UNKNOWN = 0.02  # Weight of a word of the question that the memory does not have
_MOST_NAMED = 3  # Cells of a row that are named: more say no more


class Asked(NamedTuple):
    """The words of a question that is asked of tables."""

    weights: dict[str, float]  # Of the stems of the question that the memory has
    order: dict[str, int]  # Its stems and those of headers that it may mean, each with its place
    own: frozenset[str]  # Those of its words
    content: frozenset[str]  # Those that say more than that something is asked
    codes: frozenset[str]  # Those with a digit
    question: str
    kind: str  # Stem of what "which" stands before

    def weight(self, words: frozenset[str], unknown: float = 0.0) -> float:
        """The weight of some stems, by IDF, as a share of all that the memory has.

        Each that it has not counts as ``unknown``.
        """
        return sum(self.weights.get(word, unknown) for word in words)

    def share(self, row: Row) -> float:
        """The share of the question's words that a row explains, with what stands above it."""
        times = frozenset[str]().union(*(cell.times for cell in row.cells))
        unknown = self.content - row.said - times - stems(row.title)
        return 1 - len(unknown) / max(1, len(self.own))

    def names(self, cell: Cell) -> bool:
        """Whether the question says all of a cell, and not to ask for the row of "Per's mentor".

        The hours that a cell adds need not be said: "Late (22-24)"; of "Mon-Fri" one day is.
        """
        value = stems(_HOURS.sub("", cell.text)) or cell.value
        said = bool(value) and value <= self.own
        if times := cell.times:  # "Daily except Sunday" is not named by "Sunday".
            said = bool(times & self.own) or (said and value & ANY_TIME <= times)
        # The words of "2.1" are those of "1.2".
        said = said and _decimals(cell.text) <= _decimals(self.question)
        return said and not (cell.header and refers_to(self.question, cell.text, cell.header))

    def is_of_kind(self, text: str) -> bool:
        """Whether a text can be what is asked for: a day or time, a name, or an amount."""
        if _WHEN.match(self.question):
            dated = any(date_spans(text)) or not ANY_TIME.isdisjoint(stems(text))
            return dated or _YEAR_OR_HOUR.search(text) is not None
        if is_other_quantity(self.question, text):
            return False
        if _PAID.search(self.question) and any(date_spans(text)):
            return False  # "Paid on" is no answer to what somebody was paid.
        if HOW_MANY.search(self.question):
            return has_digit(text)
        numbered = text[:1].isdigit() or (" " not in text and is_code(text))
        return not (numbered and ASKS_WHO.search(self.question))


def doer(verb: str) -> str:
    """The stem of whoever does something: of "holder" for "hold"."""
    return stem(f"{verb.removesuffix('e')}er")


def _decimals(text: str) -> set[str]:
    return {one.replace(",", ".") for one in _DECIMAL.findall(text)}


class RowSignals(NamedTuple):
    """What speaks for a row as the one that is asked about, or the weights of these."""

    cells: float  # Share of the question, by the weights of its words, that its cells hold
    headers: float  # That only its headers hold
    title: float  # That stands above it
    named: float  # Cells that the question says all of
    first: float  # Share of its first cell, the name of the row, that the question says
    nearest: float  # The largest such share of a cell
    codes: float  # Share of the question's codes and numbers that it holds
    margin: float  # By how much its cells hold more than those of any other row of its source


class CellSignals(NamedTuple):
    """What speaks for a cell as the right one, or the weights of these."""

    bias: float
    first: float  # Whether the question says the name of the row
    row: float  # Logarithm of the attention to its row
    answers: float  # Log-odds that the row alone answers, by the network
    cell: float  # That it does with this cell
    stated: float  # The same, by the network for verdicts


# By conditional logistic regression on the questions about everyday files, from which nothing else
# was learned, that one cell answers (``benchmarks.fit_signals --attention``): 344 of 376 rows are
# right.
_ROW_WEIGHTS = RowSignals(
    cells=1.072, headers=8.643, title=10.514, named=0.561, first=2.185, nearest=0.821, codes=0.801,
    margin=4.708,
)  # fmt: skip
# By logistic regression on cells for questions about tables of everyday files, from which nothing
# else was learned, where words say which row and column are meant (``benchmarks.fit_signals``): 104
# of 151 are right. They are fitted to an earlier network: fitted again to the one after that, 434
# of 500 cells held out were shown in place of 441.
_CELL_WEIGHTS = CellSignals(
    bias=0.155, first=1.348, row=0.408, answers=0.423, cell=0.294, stated=0.43
)


class RowRead(NamedTuple):
    """What the network reads in a row alone."""

    answers: float  # Probability that the row answers
    cells: tuple[float, ...]  # Of each cell, that it is the answer


def row_signals(asked: Asked, rows: Sequence[Row]) -> list[RowSignals]:
    """The signals of rows, some of which are of one table if they are of one source."""
    sought = asked.content or asked.own
    total = asked.weight(sought, _UNKNOWN) or 1.0
    titles = [stems(row.title) for row in rows]
    held = [
        asked.weight(sought & (row.values - title), _UNKNOWN) / total
        for row, title in zip(rows, titles, strict=True)
    ]
    best: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])  # Two of each source
    for row, share in zip(rows, held, strict=True):
        two = best[row.item.slot.source]
        two[:] = sorted((*two, share))[1:]
    found: list[RowSignals] = []
    for row, title, share in zip(rows, titles, held, strict=True):
        second, first = best[row.item.slot.source]
        shares = [len(one.value & asked.own) / max(1, len(one.value)) for one in row.cells]
        known = row.said | title
        headers = row.said - row.values - title
        found.append(
            RowSignals(
                cells=share,
                headers=asked.weight(sought & headers, _UNKNOWN) / total,
                title=asked.weight(sought & title, _UNKNOWN) / total,
                named=min(shares.count(1.0), _MOST_NAMED),
                first=shares[0],
                nearest=max(shares),
                codes=len(asked.codes & known) / len(asked.codes) if asked.codes else 1.0,
                margin=share - (second if share == first else first),
            )
        )
    return found


def cell_signals(
    asked: Asked, rows: Sequence[Row], row: Row, cell: Cell, read: RowRead, judge: Reader | None
) -> CellSignals:
    """What speaks for a cell as the right one.

    Args:
        asked: the question.
        rows: all that were attended to, ``row`` among them.
        row: that the cell stands in.
        cell: of the row.
        read: what the network reads in the row.
        judge: the network for verdicts, if it is there.
    """
    stated = 0.5
    if judge is not None:
        passage = Passage(row.title, labelled(row.cells)[0])
        stated = judge.read(answered_by(asked.question, cell.text), [passage]).answerable
    logits = [weighted(_ROW_WEIGHTS, one) for one in row_signals(asked, rows)]
    [place] = (n for n, one in enumerate(rows) if one is row)
    column = row.cells.index(cell)
    return CellSignals(
        bias=1.0,
        first=float(asked.names(row.cells[0])),
        row=math.log(float(softmax(np.array(logits, np.float32))[place]) + _LEAST_WEIGHT),
        answers=log_odds(read.answers),
        cell=log_odds(read.cells[column]),
        stated=log_odds(stated),
    )


def probability_of_cell(signals: CellSignals) -> float:
    """How likely a cell is what a question asks for, 0..1."""
    return min(CELL_CONFIDENCE, probability_of(weighted(_CELL_WEIGHTS, signals)))


def read_row(question: str, row: Row, reader: Reader) -> RowRead:
    """What the network reads in a row, with its headers and what stands above it."""
    text, spans = labelled(row.cells)
    reading = reader.read(question, [Passage(row.title, text)])
    cells = [
        sum(
            one.probability * (min(end, one.end) - max(start, one.start)) / (one.end - one.start)
            for one in reading.spans
            if one.start < end and start < one.end
        )
        for start, end in spans
    ]
    return RowRead(reading.answerable, tuple(cells))
