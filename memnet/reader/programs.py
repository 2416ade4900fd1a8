"""Programs over a table, such as "the sum of Fee where Group is ...", and which of them is asked.

All programs of one step are listed: cells, lists, counts, sums, means, extremes and differences of
the rows that are named, or like what is said. A log-linear model, learned from questions with their
answers alone, says which is likely to be meant.

Source: Pasupat and Liang 2015, "Compositional semantic parsing on semi-structured tables":
candidate programs, a log-linear model, and training by the answers alone.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from itertools import chain, combinations
from math import log
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import probability_of, softmax, weighted
from memnet.checkpoints import check_tensors, load_checkpoint
from memnet.encoders.minilm import TokenTable
from memnet.reader.cells import CELL_CONFIDENCE, Asked, labelled
from memnet.reader.rows import ANY_TIME, Cell, Row, Table, stems
from memnet.reader.spans import MASKED_LOGIT, Passage, Reader
from memnet.reader.values import NOT_GIVEN, Value, ticks_of, value_of, with_unit
from memnet.text.dates import MONTH_NAMES, WrittenDay, date_spans
from memnet.text.english import NUMBER_WORDS, query_terms
from memnet.text.names import has_digit

PROGRAMS: Final = "programs"  # Name of the checkpoint, and of the folder that ships
NOTHING_GIVEN: Final = "not given"  # Answer of a program that leads to empty cells

Operation = Literal[
    "cell", "list", "count", "sum", "mean", "most", "least", "highest", "lowest", "difference",
    "empty",
]  # fmt: skip
ColumnType = Literal[
    "number", "amount", "money", "day", "time", "name", "code", "text", "ticks", ""
]
_OPERATIONS: tuple[Operation, ...] = get_args(Operation)
_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)
FEATURES: Final = (
    "conditions", "conditions explain", "least share", "all said", "two of a column", "by values",
    "not given", "over", "under", "key named", "similar", "similarity", "without conditions",
    "title said", "has", "header said", "header meant", "header like", "header like the question",
    "compared said", "compared meant", "compared like", "unexplained", "unknown names", "ignored",
    "log rows", "one row", "is key", "answer said", "first column", "extreme of some",
    "nothing stands there", "turned",
)  # fmt: skip
_EXTREMES: tuple[Operation, ...] = ("most", "least", "highest", "lowest")
_NAMING: tuple[ColumnType, ...] = ("name", "text", "code", "day", "time")  # Say what rows are
_NONE = len(_OPERATIONS)  # Number of the operation of a question that the tables don't answer
MOST_ROWS = 300  # Of a table that programs are listed of
_MOST_VALUES, _MOST_CONDITIONS, _MOST_SELECTIONS = 4, 14, 8
_MOST_LISTED, _MOST_SHOWN = 12, 150  # Values of a list; characters of an answer
_MOST_TIED = 2  # Rows of which several have the most
_MOST_COLUMNS = 12  # That are compared, those nearest to the question
_ALIKE = 12  # Cells of a table that are like what a question says
_ALIKE_BESIDE = 3  # Of these, beside other conditions
_FEW_VALUES = 6  # Of a column that is named: each may be meant
_TURNED = 3  # Columns of one type that may be what others have as rows
_MOST_TOGETHER = 3  # Conditions of one selection; values of a column of which two are compared
_MOST_TABLES = 4  # Of a question, by attention
MOST_READ = 12  # Programs that the network reads together
_MOST_SAID = 160  # Characters of each
_LEAST_ATTENTION = 0.02  # To a table, as a share of the one with most
_MONEY = re.compile(
    r"[$€£]|\b(?:EUR|USD|GBP|CHF|prices?|costs?|fees?|paid|rent|amount)\b", re.IGNORECASE
)
_CODED = re.compile(r"\b(?:no|nr|number|id|code)\b", re.IGNORECASE)
_MANY = 0.7  # Share of the cells of a column that make its type
_SHORT_NAME = 3  # Words of a name, on average
_NUMBER = re.compile(r"(?<![\w.,:/-])\d[\d.,]{0,12}(?<=\d)(?![\w:/-]\d)")
_WORD = re.compile(r"[\w'’-]+")
# Words of questions that say which operation is meant; the vectors of all words say it, too.
_CUES = [
    re.compile(rf"\b(?:{one})", re.IGNORECASE)
    for one in (
        r"how many\b", r"how much\b", r"how often\b|how many times\b",
        r"(?:altogether|in all|in total|total|overall|combined|sum|together)\b",
        r"(?:average|mean)\b", r"who(?:se)?\b", r"when\b|(?:what|which) da(?:y|te)s?\b",
        r"(?:what time|until when|how late|opens?|closes?)\b", r"where\b", r"which\b",
        r"how long\b", r"(?:than|difference|between|more|less|fewer|\w{3,12}er)\b",
        r"(?:list|all the|every(?:one|body)|names)\b",
        r"(?:most|\w{3,12}(?<!w)est|maximum|best|top|first|latest)\b",
        r"(?:least|lowest|smallest|cheapest|fewest|minimum|shortest|youngest|last|earliest)\b",
        r"(?:not|no|without|still|yet|missing|nobody)\b|\w{2,6}n['’]t\b", r"what\b",
        r"(?:over|above|at least|after|more than)\b", r"(?:under|below|at most|before|less than)\b",
    )
]  # fmt: skip


class Condition(NamedTuple):
    """What the cells of a column have to be."""

    header: str
    value: str  # Their text, the stem of a word in it, or "given", "not given", "over 20"
    way: Literal["is", "has", "given", "not given", "over", "under"] = "is"
    said: frozenset[str] = frozenset()  # Stems of the question that name the value
    share: float = 0.0  # Of the words of the value that the question says
    similarity: float = 0.0  # Cosine with the question, where it says none of them
    limit: Decimal = Decimal(0)  # Of "over" and "under"

    def __str__(self) -> str:
        verb = "has" if self.way == "has" else "is"
        return f"{self.header} {verb} {self.value}" if self.header else self.value


class Program(NamedTuple):
    """One way to compute an answer from a table."""

    table: Table
    operation: Operation
    header: str  # Of the column that the answer is of
    by: str | None  # Of the column that is compared, or has to have a value; None of none
    where: tuple[Condition, ...]
    rows: tuple[int, ...]  # That it is computed from
    short: str  # The answer
    computed: str  # What it is

    @property
    def said(self) -> str:
        """What it is, as a person reads it: the row of a cell, or what is computed."""
        if self.operation == "cell" and len(self.rows) == 1:
            return labelled(tuple(self.table.rows[self.rows[0]].values()))[0]
        return self.computed

    @property
    def passage(self) -> Passage:
        """What the network reads of it."""
        return Passage(self.lines[0].title, self.computed[:_MOST_SAID])

    @property
    def lines(self) -> tuple[Row, ...]:
        """The rows that it is computed from, as they stand in the text."""
        table = self.table
        headers = (self.by, self.header, *(one.header for one in self.where), *table.headers[1:])
        # A column of a table that is turned over is a row of the text, but for the names.
        header = next(one for one in headers if one is not None and one != table.headers[0])
        return tuple(dict.fromkeys(table.line(row, header) for row in self.rows))


class ProgramWeights(NamedTuple):
    """Weights of the log-linear model, float32: C cues and words' vectors, F features."""

    operation: NDArray[np.float32]  # [operations and none, C]
    column: NDArray[np.float32]  # [types, C], of the column of the answer
    compared: NDArray[np.float32]  # [types, C], of the column that is compared
    features: NDArray[np.float32]  # [operations and none, F]
    shared: NDArray[np.float32]  # [F], of all operations


def empty_weights(width: int) -> ProgramWeights:
    """Weights of zero, for vectors of words of a ``width``."""
    cues = 1 + len(_CUES) + width
    shapes = (
        (_NONE + 1, cues), (len(_TYPES), cues), (len(_TYPES), cues),
        (_NONE + 1, len(FEATURES)), (len(FEATURES),),
    )  # fmt: skip
    return ProgramWeights(*(np.zeros(shape, np.float32) for shape in shapes))


def load_programs(folder: Path, width: int) -> ProgramWeights:
    """Saved weights, for vectors of words of a ``width``; ModelError if they are damaged."""
    tensors, _ = load_checkpoint(folder, PROGRAMS)
    empty = empty_weights(width)._asdict()
    check_tensors(tensors, {name: (one.shape, one.dtype) for name, one in empty.items()}, folder)
    return ProgramWeights(**tensors)


def cues_of(question: str, vectors: TokenTable) -> NDArray[np.float32]:
    """[C] float32: one, whether each cue stands in a question, and the vector of its words."""
    [words] = vectors.sums([question])
    cues = [1.0, *(float(one.search(question) is not None) for one in _CUES)]
    return np.array([*cues, *(words / (np.linalg.norm(words) or 1.0))], np.float32)


class Listed(NamedTuple):
    """N programs that a question may mean, with the inputs of the model."""

    programs: list[Program]
    kinds: NDArray[np.int64]  # [N, 3]: operation, type of the column, of the one compared
    features: NDArray[np.float32]  # [N, F], as ``FEATURES`` says

    def scores(self, cues: NDArray[np.float32], weights: ProgramWeights) -> NDArray[np.float32]:
        """[N + 1] float32: logits of the programs, and the last one that none is meant."""
        operation, column, compared = self.kinds.T
        by_cues = weights.operation @ cues
        found = by_cues[operation] + (weights.column @ cues)[column]
        found += (weights.compared @ cues)[compared]
        found += (self.features * weights.features[operation]).sum(1)
        found += self.features @ weights.shared
        nothing = by_cues[_NONE] + self.nothing() @ weights.features[_NONE]
        return np.append(found, nothing).astype(np.float32)

    def nothing(self) -> NDArray[np.float32]:
        """[F] float32: the best of each feature, for the answer that there is none."""
        if not self.programs:
            return np.zeros(len(FEATURES), np.float32)
        least = ("unexplained", "unknown names", "ignored")
        return np.array(
            [
                values.min() if name in least else values.max()
                for name, values in zip(FEATURES, self.features.T, strict=True)
            ],
            np.float32,
        )


class ProgramModel(NamedTuple):
    """The log-linear model with the vectors of words that it has learned from. Thread-safe."""

    weights: ProgramWeights
    vectors: TokenTable

    def likeliest(
        self, asked: Asked, tables: Sequence[Table], count: int
    ) -> tuple[list[tuple[Program, float]], float]:
        """The likeliest answers by the log-linear model: a program and the log-probability of each.

        Beside them the log-probability that there is none.
        """
        read = _attended_tables(tables)
        attended = {id(one.lines): share for one, share in read}
        listed = list_programs(asked, [one for one, _ in read], self.vectors)
        logits = listed.scores(cues_of(asked.question, self.vectors), self.weights)
        logits[:-1] += [log(attended[id(one.table.lines)]) for one in listed.programs]
        logits -= logits.max()
        logits -= np.log(np.exp(logits).sum())
        found: dict[str, tuple[Program, list[float]]] = {}
        for place in np.argsort(-logits[:-1]):
            program = listed.programs[place]
            found.setdefault(program.short.casefold(), (program, []))[1].append(logits[place])
        answers = [(one, float(np.logaddexp.reduce(own))) for one, own in found.values()]
        answers.sort(key=lambda one: -one[1])
        return answers[:count], float(logits[-1])


class Proposal(NamedTuple):
    """A program that may be meant, with what speaks for its answer."""

    program: Program
    share: float  # Probability of the answer, by attention over the programs


class ProgramReader(NamedTuple):
    """The network that attends to the programs that are likeliest. Thread-safe."""

    model: ProgramModel
    reader: Reader

    def proposals(self, asked: Asked, tables: Sequence[Table]) -> tuple[list[Proposal], float]:
        """The likeliest answers, best first, and the probability that there is none.

        The network reads a question with all of them, and attends to what answers it, or to
        nothing.
        """
        likely, nothing = self.model.likeliest(asked, tables, MOST_READ)
        # As it has learned to: those of each table one after the other
        order = list(dict.fromkeys(id(one.table.lines) for one, _ in likely))
        likely.sort(key=lambda one: order.index(id(one[0].table.lines)))
        passages = [one.passage for one, _ in likely]
        reading = self.reader.read(asked.question, titled_once(passages))
        logits = np.full(len(likely) + 1, MASKED_LOGIT, np.float32)
        for unit in reading.units:
            logits[unit.passage] = max(logits[unit.passage], unit.logit * _SCALES.network)
        logits[:-1] += [_SCALES.model * score for _, score in likely]
        logits[-1] = _SCALES.model * nothing + _SCALES.none
        shares = softmax(logits).tolist()
        found = [Proposal(one, share) for (one, _), share in zip(likely, shares, strict=False)]
        return sorted(found, key=lambda one: -one.share), shares[-1]


def _attended_tables(tables: Sequence[Table]) -> list[tuple[Table, float]]:
    """The tables that are read, most attended to first, with their share of the most attention."""
    attended = [(one, max(row.item.attention for row in one.lines)) for one in tables]
    read = sorted((one for one in attended if may_be_read(one[0])), key=lambda one: -one[1])
    most = max((share for _, share in attended), default=1.0) or 1.0
    return [(one, max(share / most, _LEAST_ATTENTION)) for one, share in read[:_MOST_TABLES]]


def titled_once(passages: Sequence[Passage]) -> list[Passage]:
    """Passages of which those that follow others with their title have none."""
    titles = [None, *(one.title for one in passages)]
    return [
        one._replace(title="") if one.title == before else one
        for one, before in zip(passages, titles, strict=False)
    ]


class _Scales(NamedTuple):
    """How much each speaks for a program."""

    network: float
    model: float
    none: float  # For that there is none


_SCALES = _Scales(network=0.6, model=0.8, none=-0.5)


class ProgramSignals(NamedTuple):
    """What speaks for the answer of a program as the right one, or the weights of these."""

    bias: float
    share: float  # Log-odds of it, by attention
    rows: float  # Log-odds of all answers that its rows give by what is compared
    nothing: float  # Log-odds of that nothing is attended to
    same: float  # Confidence of what the words of the question say, if it is this answer
    other: float  # The same if it is another
    lacking: float  # Whether they say that the table lacks it
    computed: float  # Whether it is no cell


# By logistic regression on the likeliest program for each question about the held-out tables and
# about a quarter of the everyday collections of part "fit", from which no network has learned
# (``benchmarks.fit_programs --decision``). Cross-validated, from a half on 142 of 176 are right for
# tables alone and 104 of 123 in collections.
_WEIGHTS = ProgramSignals(
    bias=-0.982, share=0.3, rows=0.132, nothing=-0.076, same=1.356, other=-0.26, lacking=-0.215,
    computed=-0.532,
)  # fmt: skip


def probability_of_program(signals: ProgramSignals) -> float:
    """How likely the answer of a program is right, 0..1."""
    return min(CELL_CONFIDENCE, probability_of(weighted(_WEIGHTS, signals)))


def list_programs(asked: Asked, tables: Sequence[Table], vectors: TokenTable) -> Listed:
    """The programs of some tables that a question may mean, with their features."""
    question = _Question(asked, vectors)
    found: list[Program] = []
    kinds: list[tuple[int, int, int]] = []
    features: list[list[float]] = []
    for own in _programs_of(question, tables):
        for program, inputs in own.programs():
            found.append(program)
            column = own.types[program.header]
            compared = own.types[program.by] if program.by is not None else ""
            operation = _OPERATIONS.index(program.operation)
            kinds.append((operation, _TYPES.index(column), _TYPES.index(compared)))
            features.append(inputs)
    return Listed(
        found,
        np.array(kinds, np.int64).reshape(len(found), 3),
        np.array(features, np.float32).reshape(len(found), len(FEATURES)),
    )


def _programs_of(question: "_Question", tables: Sequence[Table]) -> Iterator["_Programs"]:
    """Each table; also with its columns of one type as rows, or all if the first has no header."""
    for table in tables:
        if may_be_read(table):
            own = _Programs(question, table)
            yield own
            columns = list(table.headers[1:])
            types = [own.types[one] for one in columns]
            common = max(types, key=types.count)
            alike = [one for one in columns if own.types[one] == common]
            named = common in _NAMING and len(alike) < len(columns)  # They are of one row
            if named or len(alike) < min(_TURNED, len(columns)):
                alike = [] if table.headers[0] else columns
            turned = table.turned_over(alike)
            if turned is not None and may_be_read(turned):
                yield _Programs(question, turned)


def may_be_read(table: Table) -> bool:
    """Whether programs are listed of a table: it has several rows, and not too many."""
    return len(table.rows) <= MOST_ROWS and len(table.counted) > 1 and len(table.headers) > 1


class _Question:
    """What a question says, for all tables."""

    def __init__(self, asked: Asked, vectors: TokenTable) -> None:
        self.asked = asked
        self.days = [one.day for one in date_spans(asked.question)]
        written = [NUMBER_WORDS.get(one.casefold(), one) for one in _WORD.findall(asked.question)]
        digits = [one for one in map(str, written) if one.isdigit()]
        found = dict.fromkeys((*_NUMBER.findall(asked.question), *digits))
        numbers = ((text, value_of(text)) for text in found)
        self.numbers = [(text, value) for text, value in numbers if value is not None]
        words = _WORD.findall(asked.question)[1:]
        named = (one for one in words if one[0].isupper() or has_digit(one))
        self.names = frozenset[str]().union(*map(stems, named)) & asked.own
        self._vectors = vectors
        self._words = query_terms(asked.question)

    @cached_property
    def _own(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """[D] of the question, [W, D] of its words."""
        whole, *words = self._vectors.encode_quick([self.asked.question, *self._words])
        return whole, np.array([whole, *words])

    def likeness(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """[N], [N] float32: cosines of texts with the question, and with its nearest word."""
        whole, words = self._own
        keys = self._vectors.encode_quick([text or "-" for text in texts])
        return keys @ whole, (keys @ words.T).max(axis=1)


class _Programs:
    """The programs of one table."""

    def __init__(self, question: _Question, table: Table) -> None:
        self._question = question
        self._asked = question.asked
        self._table = table
        self._rows = table.counted
        self.types = {one: _type_of(table, one) for one in table.headers}
        likeness = zip(*question.likeness(table.headers), strict=True)
        self._like = dict(zip(table.headers, likeness, strict=True))
        self._compare = dict[str, dict[int, Value]]()
        self._given = {one: self._rows_given(one) for one in table.headers}
        self._named = {
            header: conditions for header in table.headers if (conditions := self._said(header))
        }
        # Cells of which the question says all
        self._whole = {name: some[0] for name, some in self._named.items() if some[0].share == 1}
        self._total = max(1, len(question.asked.content))
        self._fulfilling = dict[Condition, frozenset[int]]()
        self._headers = {one: self._of_header(one) for one in table.headers}
        near_first = sorted(self._headers, key=lambda one: -self._headers[one].importance)
        self._near = near_first[:_MOST_COLUMNS]

    def programs(self) -> Iterator[tuple[Program, list[float]]]:
        """Every program of every selection of rows, with its features."""
        for where, rows in self._selections():
            selected = self._selected(where, rows)
            for program in self._of_rows(where, rows):
                yield program, self._features(program, selected)

    def _said(self, header: str) -> list[Condition]:
        """The values of a column that a question says, or some words of, best first."""
        found: dict[str, Condition] = {}
        own, days = self._asked.own, self._question.days
        for text in dict.fromkeys(self._table.texts[header].values()):
            value = stems(text)
            said, share = value & own, len(value & own) / max(1, len(value))
            given = [one.day for one in date_spans(text)]
            cell = Cell(header, text, 0, 0)
            if any(_same_day(one, two) for one in given for two in days):
                said, share = (
                    frozenset(one for one in own if has_digit(one) or one in ANY_TIME),
                    1.0,
                )
            elif times := cell.times & own:
                said, share = times, 1.0
            elif len(given) == 1:
                named = stems(MONTH_NAMES[given[0].month - 1]) & own
                said, share = (named, 0.5) if named else (said, share)
            if said:
                found[text] = Condition(header, text, said=said, share=share)
        return sorted(found.values(), key=lambda one: (-one.share, -len(one.said)))[:_MOST_VALUES]

    def _selections(self) -> Iterator[tuple[tuple[Condition, ...], tuple[int, ...]]]:
        """Conditions, and the rows that they leave."""
        yield (), tuple(self._rows)
        every = chain.from_iterable(self._named.values())
        said = sorted(every, key=lambda one: (-one.share, -len(one.said)))[:_MOST_CONDITIONS]
        found = [where for where in self._together(said) if self._left(where)]
        found = sorted(found, key=_explained)[:_MOST_SELECTIONS]
        shared = [(one,) for one in self._shared()]
        alike = [(one,) for one in self._alike()]
        beyond = [(one,) for one in self._beyond()]
        beside = [*shared, *alike[:_ALIKE_BESIDE], *beyond]
        both = self._beside([*shared[:2], *alike[:_ALIKE_BESIDE]], beyond)
        some = (*found, *shared, *alike, *beyond, *self._beside(found[:2], beside), *both)
        for where in dict.fromkeys(some):
            if rows := self._left(where):
                yield where, rows
        for own in self._named.values():  # Two rows that are compared
            for pair in combinations(own[:_MOST_TOGETHER], 2):
                rows = tuple(sorted((*self._left(pair[:1]), *self._left(pair[1:]))))
                if len(rows) == len(pair):
                    yield pair, rows

    def _left(self, where: tuple[Condition, ...]) -> tuple[int, ...]:
        """The rows that fulfil all of some conditions."""
        for one in where:
            if one not in self._fulfilling:
                self._fulfilling[one] = frozenset(row for row in self._rows if self._fits(one, row))
        return tuple(sorted(frozenset.intersection(*(self._fulfilling[one] for one in where))))

    @staticmethod
    def _together(said: Sequence[Condition]) -> Iterator[tuple[Condition, ...]]:
        for count in range(1, _MOST_TOGETHER + 1):
            for some in combinations(said, count):
                if len({one.header for one in some}) == count:
                    yield some

    @staticmethod
    def _beside(
        found: Sequence[tuple[Condition, ...]], others: Sequence[tuple[Condition, ...]]
    ) -> Iterator[tuple[Condition, ...]]:
        for some in found:
            for other in others:
                if other[0].header not in {one.header for one in some}:
                    yield (*some, *other)

    def _shared(self) -> Iterator[Condition]:
        """Words of the question that several cells of a column have among others."""
        for header in self._table.headers:
            if self.types[header] in ("name", "text"):
                texts = [stems(one) for one in self._table.texts[header].values()]
                for word in sorted(self._asked.content):
                    having = [one for one in texts if word in one]
                    if len({*having}) > 1:
                        yield Condition(header, word, "has", frozenset((word,)), 1.0)

    def _alike(self) -> Iterator[Condition]:
        """The cells that are most like the question, of those that it doesn't name.

        Each value of a column that the question means is among them, if it has few.
        """
        cells = [
            (header, text)
            for header in self._table.headers
            if self.types[header] in ("name", "text", "code", "ticks")
            for text in dict.fromkeys(self._table.texts[header].values())
            if text not in {one.value for one in self._named.get(header, ())}
        ]
        if not cells:
            return
        _, nearest = self._question.likeness([text for _, text in cells])
        order = np.argsort(-nearest, kind="stable")
        chosen = [*order[:_ALIKE]]
        for header, own in self._headers.items():
            each = [place for place in order if cells[place][0] == header]
            if own.meant and len(each) <= _FEW_VALUES:
                chosen += each
        for place in dict.fromkeys(chosen):
            header, text = cells[place]
            yield Condition(header, text, similarity=max(0.01, float(nearest[place])))

    def _beyond(self) -> Iterator[Condition]:
        """Columns with and without a value, with a yes or no, over and under a number."""
        for header in self._near:
            given = self._given[header].intersection(self._rows)
            if 0 < len(given) < len(self._rows):
                ticks = self.types[header] == "ticks"
                yield Condition(header, "yes" if ticks else "given", "given")
                yield Condition(header, "no" if ticks else "not given", "not given")
            kinds = {one.kind for one in self._values(header, self._rows).values()}
            for text, number in self._question.numbers:
                if number.kind in kinds:
                    codes, limit = self._asked.codes, number.amount
                    yield Condition(header, f"over {text}", "over", codes, 1.0, limit=limit)
                    yield Condition(header, f"under {text}", "under", codes, 1.0, limit=limit)

    def _text(self, header: str, row: int) -> str:
        return self._table.texts[header].get(row, "")

    def _rows_given(self, header: str) -> frozenset[int]:
        """The rows with a value in a column, of yes and no those with a yes."""
        texts = self._table.texts[header]
        if self.types[header] == "ticks":
            ticks = ticks_of(texts.values())
            return frozenset(row for row, text in texts.items() if ticks.get(text))
        return frozenset(
            row for row, text in texts.items() if NOT_GIVEN.fullmatch(text.strip()) is None
        )

    def _fits(self, one: Condition, row: int) -> bool:
        if one.way == "is":
            return self._text(one.header, row) == one.value
        if one.way == "has":
            return one.value in stems(self._text(one.header, row))
        if one.way in ("given", "not given"):
            return (row in self._given[one.header]) == (one.way == "given")
        for value in self._values(one.header, (row,)).values():
            return value.amount > one.limit if one.way == "over" else value.amount < one.limit
        return False

    def _values(self, header: str, rows: Collection[int]) -> dict[int, Value]:
        """The values of a column that compare; none of one that numbers the rows."""
        if header not in self._compare:
            compares = self.types[header] not in ("code", "ticks", "name", "text")
            self._compare[header] = (compares and self._table.values(header, self._rows)) or {}
        own = self._compare[header]
        return {row: own[row] for row in rows if row in own}

    def _of_rows(self, where: tuple[Condition, ...], rows: tuple[int, ...]) -> Iterator[Program]:
        table, key = self._table, self._table.key
        by = where[-1].header if where and where[-1].way in ("given", "not given") else None
        fixed = {one.header for one in where}
        pair = len(where) > len(fixed)
        of = f" where {' and '.join(map(str, where))}" if where else ""
        if pair:
            of = f" of {' and '.join(one.value for one in where)}"
        if not pair:
            said = f"{len(rows)} of {len(self._rows)} rows{of}"
            yield Program(table, "count", key, by, where, rows, str(len(rows)), said)
        for header in table.headers:
            texts = [self._text(header, row) for row in rows]
            distinct = list(dict.fromkeys(filter(None, texts)))
            if self.types[header] != "ticks":  # where "-" may mean no
                distinct = [one for one in distinct if not NOT_GIVEN.fullmatch(one)]
            if where and header not in fixed and not pair and distinct:
                short = ", ".join(distinct[:_MOST_LISTED])
                said = f"{header}: {short}{of}"
                whole = len(distinct) <= _MOST_LISTED and len(short) <= _MOST_SHOWN
                if whole and (len(distinct) == 1 or len(rows) < len(self._rows)):
                    operation: Operation = "cell" if len(distinct) == 1 else "list"
                    yield Program(table, operation, header, by, where, rows, short, said)
            elif where and header not in fixed and not pair and not distinct:
                said = f"{header}: {NOTHING_GIVEN}{of}"
                yield Program(table, "empty", header, by, where, rows, NOTHING_GIVEN, said)
        for header in self._near:
            values = self._values(header, rows)
            if len(values) > 1 and (pair or header not in fixed):
                yield from self._computed(where, rows, header, values, of)

    def _computed(
        self,
        where: tuple[Condition, ...],
        rows: tuple[int, ...],
        header: str,
        values: Mapping[int, Value],
        of: str,
    ) -> Iterator[Program]:
        """What is computed from the values of a column."""
        table = self._table

        def program(operation: Operation, other: str, short: str, said: str) -> Program:
            return Program(table, operation, other, header, where, rows, short, said)

        ordered = sorted(values, key=lambda row: values[row].amount)
        ends: list[tuple[Operation, Operation, int]] = [
            ("most", "highest", ordered[-1]),
            ("least", "lowest", ordered[0]),
        ]
        for operation, whole, row in ends:
            text = with_unit(header, table.texts[header][row])[1]
            best = [one for one in values if values[one].amount == values[row].amount]
            said = f"{header} {text}, the {operation} of {len(values)} rows{of}"
            yield program(whole, header, text, said)
            for other in dict.fromkeys((table.key, *self._near)):
                names = list(dict.fromkeys(filter(None, (self._text(other, one) for one in best))))
                named = other == table.key or self.types[other] in _NAMING
                if other != header and named and 0 < len(names) <= _MOST_TIED:
                    short = " and ".join(names)
                    yield program(operation, other, short, f"{short}: {said}")
        kind = values[ordered[0]].kind
        if kind == "number":
            amounts = [one.amount for one in values.values()]
            total = sum(amounts, Decimal(0))
            mean = (total / len(amounts)).quantize(Decimal("0.01"), ROUND_HALF_UP).normalize()
            results: list[tuple[Operation, Decimal]] = [("sum", total), ("mean", mean)]
            for name, result in results:
                short = table.written(header, ordered, result)
                yield program(
                    name, header, short, f"{header}: {short}, the {name} of {len(amounts)} rows{of}"
                )
        if len(values) == 2 and kind != "day":
            between = values[ordered[1]].amount - values[ordered[0]].amount
            hours, seconds = divmod(int(between), 3600)
            short = f"{hours}:{seconds // 60:02}"
            if kind == "number":
                short = table.written(header, ordered, between)
            yield program("difference", header, short, f"{header}: {short}, the difference{of}")

    def _features(self, program: Program, selected: "_Selected") -> list[float]:
        """The features of a program, in the order of ``FEATURES``."""
        own = self._asked.own
        header = self._headers[program.header]
        by = _NO_HEADER if program.by is None else self._headers[program.by]
        short = stems(program.short)
        unexplained = len(selected.unexplained - header.words - by.words) / self._total
        unknown = len(selected.unknown - header.words - by.words) if selected.unknown else 0
        ignored = len(selected.ignored) - (program.header in selected.ignored)
        return [
            *selected.features, header.said, header.meant, header.nearest, header.near,
            by.said, by.meant, by.nearest, unexplained, min(2, unknown), min(2, ignored),
            log(len(program.rows)), float(len(program.rows) == 1),
            float(program.header == self._table.key), len(short & own) / max(1, len(short)),
            float(program.header == self._table.headers[0]),
            float(bool(program.where) and program.operation in _EXTREMES),
            float(program.operation == "empty"), float(self._table.turned),
        ]  # fmt: skip

    def _selected(self, where: tuple[Condition, ...], rows: tuple[int, ...]) -> "_Selected":
        said = frozenset[str]().union(*(one.said for one in where))
        shares = [one.share for one in where if one.said]
        fixed = frozenset(one.header for one in where)
        similar = max((one.similarity for one in where), default=0.0)
        ways = {one.way for one in where}
        content, titles = self._asked.content, self._table.titles
        ignored = frozenset(
            name
            for name, one in self._whole.items()
            if name not in fixed and not one.said <= said
            and any(self._text(name, row) != one.value for row in rows)
        )  # fmt: skip
        features = [
            len(where), len(said & content) / self._total,
            min(shares, default=0.0), float(bool(shares) and min(shares) == 1),
            float(len(where) > len(fixed)), float(bool(ways & {"given", "not given"})),
            float("not given" in ways),
            float("over" in ways), float("under" in ways), float(self._table.key in fixed),
            float(similar > 0), similar, float(not where),
            len(titles & content) / self._total, float("has" in ways),
        ]  # fmt: skip
        unknown = self._question.names - said - titles
        return _Selected(features, content - said - titles, unknown, ignored)

    def _of_header(self, header: str) -> "_Header":
        words, (near, nearest) = stems(header or "-"), self._like[header]
        said = len(words & self._asked.own) / max(1, len(words))
        meant = not words.isdisjoint(self._asked.order)
        return _Header(words, said, float(meant), float(near), float(nearest))


class _Selected(NamedTuple):
    """Rows under some conditions."""

    features: list[float]  # The first ones of each program over them
    unexplained: frozenset[str]  # Stems of the question that neither they nor the title say
    unknown: frozenset[str]  # Those of names
    ignored: frozenset[str]  # Columns of which it names a cell that the rows don't have


class _Header(NamedTuple):
    words: frozenset[str]  # Stems
    said: float  # Share of them that the question says
    meant: float  # Whether it says or means any
    near: float  # Cosine with the question
    nearest: float  # The same with its nearest word

    @property
    def importance(self) -> float:
        """By which columns are chosen, where there are many."""
        return self.meant + self.nearest


_NO_HEADER = _Header(frozenset(), 0.0, 0.0, 0.0, 0.0)  # Where no column is compared


def _explained(where: tuple[Condition, ...]) -> tuple[float, float, int]:
    """First of all conditions those that explain most words, of these the fewest."""
    said = frozenset[str]().union(*(one.said for one in where))
    return -len(said), -sum(one.share for one in where) / len(where), len(where)


def _same_day(one: WrittenDay, two: WrittenDay) -> bool:
    same = (one.month, one.day) == (two.month, two.day)
    return same and (None in (one.year, two.year) or one.year == two.year)


def _type_of(table: Table, header: str) -> ColumnType:
    """What most cells of a column are; empty where none has a value."""
    texts = [one for one in table.texts[header].values() if not NOT_GIVEN.fullmatch(one.strip())]
    if not texts:
        return ""
    values = [one for text in texts if (one := value_of(text, table.points[header]))]
    if len(values) >= _MANY * len(texts):
        kinds: list[ColumnType] = [one.kind for one in values]
        kind = max(_TYPES, key=kinds.count)
        if kind != "number":
            return kind
        if _MONEY.search(f"{header} {values[0].unit}"):
            return "money"
        if values[0].around[0].isalpha():  # "K4"
            return "code"
        whole = all(one.amount == int(one.amount) for one in values)
        if whole and _CODED.search(header) and len({one.amount for one in values}) == len(values):
            return "code"
        return "amount" if values[0].unit else "number"
    ticks = ticks_of(texts)
    if all(ticks.get(one) is not None for one in texts):
        return "ticks"
    if sum(map(has_digit, texts)) > len(texts) / 2:
        return "code"
    names = sum(one[:1].isupper() for one in texts)
    short = sum(len(one.split()) for one in texts) <= _SHORT_NAME * len(texts)
    return "name" if names >= _MANY * len(texts) and short else "text"
