"""Programs over a table, such as "the sum of Fee where Group is ...", and which of them is asked.

All programs of one step are listed: cells, lists, counts, sums, means, extremes and differences of
the rows that are named, or like what is said. A log-linear model, learned from questions with their
answers alone, says which is likely to be meant.

Source: Pasupat and Liang 2015, "Compositional semantic parsing on semi-structured tables":
candidate programs, a log-linear model, and training by the answers alone.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from itertools import chain, combinations, islice
from math import log
from pathlib import Path
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import probability_of, softmax, weighted
from memnet.checkpoints import check_tensors, load_checkpoint
from memnet.encoders.minilm import TokenTable
from memnet.reader.cells import CELL_CONFIDENCE, Asked
from memnet.reader.rows import ANY_TIME, Cell, Row, Table, labelled, stems
from memnet.reader.spans import MASKED_LOGIT, Passage, Reader
from memnet.reader.values import (
    NOT_GIVEN,
    UNIT_NAMES,
    Value,
    measures_in,
    ticks_of,
    value_of,
    with_unit,
)
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
_Given = Literal["given", "not given"]
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
_OF_TIMES = {"most": "latest", "least": "earliest"}  # As extremes of days and times are said
_EXTREMES: tuple[Operation, ...] = ("most", "least", "highest", "lowest")
_NAMING: tuple[ColumnType, ...] = ("name", "text", "code", "day", "time")  # Say what rows are
_NONE = len(_OPERATIONS)  # Number of the operation of a question that the tables don't answer
MOST_ROWS = 300  # Of a table that programs are listed of
_YEARS = range(1400, 2100)  # Of numbers without a unit
_MOST_VALUES, _MOST_CONDITIONS, _MOST_SELECTIONS = 4, 14, 8
_MOST_LISTED, _MOST_SHOWN = 12, 150  # Values of a list; characters of an answer
_MOST_TIED = 2  # Names of rows that have the most together
_MOST_COLUMNS = 12  # That are compared, those nearest to the question
_ALIKE = 12  # Cells of a table that are like what a question says
_ALIKE_BESIDE = 3  # Of these, beside other conditions
_FEW_VALUES = 6  # Of a column that is named: each may be meant
_TURNED = 3  # Columns of one type that may be what others have as rows
_MOST_TOGETHER = 3  # Conditions of one selection; values of a column of which two are compared
_MOST_TABLES = 4  # Of a question, by attention
_MOST_READ = 8  # Programs that the network reads together
_MOST_SAID = 160  # Characters of each
_MOST_NUMBERS = 3  # Of a question, as limits
_MOST_SELECTED = 80  # Selections of rows of a table
_LEAST_ATTENTION = 0.02  # To a table, as a share of the one with most
_MONEY = re.compile(
    r"[$€£]|\b(?:EUR|USD|GBP|CHF|prices?|costs?|fees?|paid|rent|amount)\b", re.IGNORECASE
)
_CODED = re.compile(r"\b(?:no|nr|number|id|code)\b", re.IGNORECASE)
_MANY = 0.7  # Share of the cells of a column that make its type
_SHORT_NAME = 3  # Words of a name, on average
_INCLUSIVE = re.compile(
    r"\b(?:at least|at most|up to|no (?:more|less|fewer) than|minimum|maximum|from|since)\b"
    r"|\bor (?:more|less|fewer|over|under|above|below|later|earlier|before|after(?:wards)?)\b",
    re.IGNORECASE,
)  # A limit that belongs to what is asked for
_LONG = re.compile(r"\d{5,}")  # Number
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
        r"(?:most|(?!earliest|latest|soonest|newest)\w{3,12}(?<!w)est|maximum|best|top)\b",
        r"(?:least|lowest|smallest|cheapest|fewest|minimum|shortest|youngest)\b",
        r"(?:first|earliest|soonest)\b", r"(?:last|latest|newest|recent(?:ly)?)\b",
        r"(?:not|no|without|still|yet|missing|nobody)\b|\w{2,6}n['’]t\b", r"what\b",
        r"(?:over|above|at least|after|more than)\b", r"(?:under|below|at most|before|less than)\b",
    )
]  # fmt: skip


class Condition(NamedTuple):
    """What the cells of a column have to be."""

    header: str
    value: str  # Their text, a word in it, or "given", "not given", "over 20"
    way: Literal["is", "has", "over", "under"] | _Given = "is"
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
    def plain(self) -> str:
        """By which its answer is the same as another one's: with its unit, in small letters."""
        short = with_unit(self.header, self.short)[1] if self.operation == "cell" else self.short
        return f"{short.casefold()}{' (empty)' * (self.operation == 'empty')}"

    @property
    def passage(self) -> Passage:
        """What the network reads of it; a long one is cut in the middle."""
        said = self.computed
        if len(said) > _MOST_SAID:
            said = f"{said[: _MOST_SAID // 2]} … {said[-_MOST_SAID // 2 :]}"
        return Passage(self.lines[0].title, said)

    @property
    def lines(self) -> tuple[Row, ...]:
        """The rows that it is computed from, as they stand in the text."""
        table = self.table
        if not table.turned:
            return tuple(table.lines[row] for row in self.rows)
        # A column is a row of the text, but for that of the names
        headers = (self.header, self.by, *(one.header for one in self.where))
        own = dict.fromkeys(one for one in headers if one is not None and one != table.headers[0])
        return tuple(table.line(0, one) for one in own or table.headers[1:2])


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
        for place in np.argsort(-logits[:-1], kind="stable"):
            program = listed.programs[place]
            found.setdefault(program.plain, (program, []))[1].append(logits[place])
        answers = [(one, float(np.logaddexp.reduce(own))) for one, own in found.values()]
        answers.sort(key=lambda one: -one[1])
        return answers[:count], float(logits[-1])


class AttendedProgram(NamedTuple):
    """A program that may be meant, with what speaks for its answer."""

    program: Program
    share: float  # Probability of the answer, by attention over the programs


class ProgramReader(NamedTuple):
    """The network that attends to the programs that are likeliest. Thread-safe."""

    model: ProgramModel
    reader: Reader

    def attend(self, asked: Asked, tables: Sequence[Table]) -> tuple[list[AttendedProgram], float]:
        """The likeliest answers, best first, and the probability that there is none.

        The network reads a question with all of them, and attends to what answers it, or to
        nothing.
        """
        likely, nothing = self.model.likeliest(asked, tables, _MOST_READ)
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
        found = [
            AttendedProgram(one, share) for (one, _), share in zip(likely, shares, strict=False)
        ]
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


# By a grid on the questions about the held-out tables
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
    named: float  # Share of the words of its conditions that the question says, of the least said
    headed: float  # Whether the question says or means the header
    unsaid: float  # Share of the question's words that conditions, header and title have not
    read: float  # Whether it is what was read in passages
    sure: float  # Confidence in what was read, negative if that is another answer
    codes: float  # Whether conditions, header and title have all its codes and numbers
    ignored: float  # Whether the question names a cell of a column that none of its rows has


# By logistic regression on the likeliest program for each question about the held-out tables and
# about a quarter of the everyday collections of part "fit", from which no network has learned
# (``benchmarks.fit_programs --decision``). Cross-validated, from a half on 151 of 179 are right for
# tables in other words than theirs, 127 of 144 in their own, and 109 of 128 in collections.
_WEIGHTS = ProgramSignals(
    bias=-2.065, share=0.239, rows=0.114, nothing=-0.089, same=1.123, other=-1.468, lacking=-0.405,
    computed=0.175, named=0.447, headed=-0.148, unsaid=-0.561, read=0.87, sure=0.073, codes=0.836,
    ignored=-1.13,
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
            common = max((one for one in types if one), key=types.count, default="")
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
        in_words = (NUMBER_WORDS.get(one.casefold()) for one in _WORD.findall(asked.question))
        written = (*_NUMBER.findall(asked.question), *(str(one) for one in in_words if one))
        self.numbers = list(dict.fromkeys(written))[:_MOST_NUMBERS]
        # The unit of each, if it is known
        self.units = {
            text: unit
            for start, end, unit in measures_in(asked.question)
            for text in self.numbers
            if unit in UNIT_NAMES and text in asked.question[start:end]
        }
        self.inclusive = _INCLUSIVE.search(asked.question) is not None
        words = _WORD.findall(asked.question)[1:]
        named = (one for one in words if one[0].isupper() or has_digit(one))
        self.names = frozenset[str]().union(*map(stems, named)) & asked.own
        spelled = ((own, word) for word in _WORD.findall(asked.question) for own in stems(word))
        # Each stem that says something with the word of the question
        self.words = {own: word for own, word in spelled if own in asked.content}
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
        self._given = dict(chain.from_iterable(map(self._rows_given, table.headers)))
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
        read = {table.key, *self._near}
        self._read = [one for one in table.headers if one in read]

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
        timed = bool(days) or not own.isdisjoint(ANY_TIME)
        for text in dict.fromkeys(self._table.texts[header].values()):
            value = stems(text)
            said, share = value & own, len(value & own) / max(1, len(value))
            if timed:
                said, share = self._said_of_time(header, text) or (said, share)
            if said and len(text) <= _MOST_SHOWN:
                found[text] = Condition(header, text, said=said, share=share)
        return sorted(found.values(), key=lambda one: (-one.share, -len(one.said)))[:_MOST_VALUES]

    def _said_of_time(self, header: str, text: str) -> tuple[frozenset[str], float] | None:
        """Stems of the question that say a day, or the times, of a cell, and the share of it."""
        own = self._asked.own
        given = [one.day for one in date_spans(text)]
        if any(_same_day(one, two) for one in given for two in self._question.days):
            return frozenset(one for one in own if has_digit(one) or one in ANY_TIME), 1.0
        if times := Cell(header, text, 0, 0).times & own:
            return times, 1.0
        if len(given) == 1 and (named := stems(MONTH_NAMES[given[0].month - 1]) & own):
            return named, 0.5
        return None

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
        for where in islice(dict.fromkeys(some), _MOST_SELECTED):
            if rows := self._left(where):
                yield where, rows
        for header in self._read:  # Two rows that are compared
            for pair in combinations(self._named.get(header, [])[:_MOST_TOGETHER], 2):
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
        for header in self._read:
            if self.types[header] in ("name", "text"):
                texts = [stems(one) for one in self._table.texts[header].values()]
                for stem, word in self._question.words.items():
                    if len({one for one in texts if stem in one}) > 1:
                        yield Condition(header, word, "has", frozenset((stem,)), 1.0)

    def _alike(self) -> Iterator[Condition]:
        """The cells that are most like the question, of those that it doesn't name.

        Each value of a column that the question means is among them, if it has few.
        """
        named = {(one.header, one.value) for one in chain.from_iterable(self._named.values())}
        cells = [
            (header, text)
            for header in self._table.headers
            if self.types[header] in ("name", "text", "code", "ticks")
            for text in dict.fromkeys(self._table.texts[header].values())
            if len(text) <= _MOST_SHOWN and (header, text) not in named
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
            ticks = self.types[header] == "ticks"
            shown_as: dict[_Given, str] = {"given": "yes", "not given": "no"}
            for way, shown in shown_as.items():
                if 0 < len(self._given[header, way].intersection(self._rows)) < len(self._rows):
                    yield Condition(header, shown if ticks else way, way)
            kinds = {one.kind for one in self._values(header, self._rows).values()}
            for text in self._question.numbers:
                number = value_of(text, self._table.points[header])
                if number is None or number.kind not in kinds:
                    continue
                if self._has_unit(header, self._question.units.get(text)):
                    codes, limit = self._asked.codes, number.amount
                    yield Condition(header, f"over {text}", "over", codes, 1.0, limit=limit)
                    yield Condition(header, f"under {text}", "under", codes, 1.0, limit=limit)

    def _has_unit(self, header: str, unit: str | None) -> bool:
        """Whether a column may be in a unit: it gives it, or none that is known."""
        if unit is None:
            return True
        texts = [with_unit(header, one)[1] for one in self._table.texts[header].values()]
        own = {each for one in texts for *_, each in measures_in(one)} & UNIT_NAMES
        return not own or unit in own

    def _text(self, header: str, row: int) -> str:
        return self._table.texts[header].get(row, "")

    def _rows_given(self, header: str) -> Iterator[tuple[tuple[str, str], frozenset[int]]]:
        """The rows with and without a value in a column, of yes and no those with each.

        Where a column has marks for yes alone, all others are a no.
        """
        texts, rows = self._table.texts[header], frozenset(range(len(self._table.rows)))
        if self.types[header] == "ticks":
            ticks = ticks_of(texts.values())
            given = frozenset(row for row, text in texts.items() if ticks.get(text))
            denied = frozenset(row for row, text in texts.items() if ticks.get(text) is False)
        else:
            given = frozenset(row for row, text in texts.items() if not _is_not_given(text))
            denied = frozenset[int]()
        yield (header, "given"), given
        yield (header, "not given"), denied or rows - given

    def _fits(self, one: Condition, row: int) -> bool:
        if one.way == "is":
            return self._text(one.header, row) == one.value
        if one.way == "has":
            return one.said <= stems(self._text(one.header, row))
        if one.way in ("given", "not given"):
            return row in self._given[one.header, one.way]
        for value in self._values(one.header, (row,)).values():
            if self._question.inclusive and value.amount == one.limit:
                return True
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
        for header in self._read:
            texts = [self._text(header, row) for row in rows]
            distinct = list(dict.fromkeys(filter(None, texts)))
            if self.types[header] != "ticks":  # where "-" may mean no
                distinct = [one for one in distinct if not _is_not_given(one)]
            if where and header not in fixed and not pair and distinct:
                short = ", ".join(distinct[:_MOST_LISTED])
                said = f"{header}: {short}{of}"
                if table.turned and [(one.header, one.way) for one in where] == [(key, "is")]:
                    # "Seats: 40 where Ferry is Torrin", whichever is at the side
                    said = f"{where[0].value}: {short} where {key} is {header}"
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

        def program(
            operation: Operation, other: str, short: str, said: str, first: Sequence[int] = ()
        ) -> Program:
            order = (*first, *(one for one in rows if one not in first))
            return Program(table, operation, other, header, where, order, short, said)

        ordered = sorted(values, key=lambda row: values[row].amount)
        ends: list[tuple[Operation, Operation, int]] = [
            ("most", "highest", ordered[-1]),
            ("least", "lowest", ordered[0]),
        ]
        kind = values[ordered[0]].kind
        years = self.types[header] == "number" and with_unit(header, "1")[0] == header
        in_time = kind != "number" or (years and _are_years(values.values()))
        for operation, whole, row in ends:
            name, text = with_unit(header, table.texts[header][row])
            best = [one for one in values if values[one].amount == values[row].amount]
            end = _OF_TIMES[operation] if in_time else operation
            said = f"{name} {text}, the {end} of {len(values)} rows{of}"
            yield program(whole, header, text, said, best)
            for other in dict.fromkeys((table.key, *self._near)):
                names = list(dict.fromkeys(self._text(other, one) for one in best))
                named = other == table.key or self.types[other] in _NAMING
                short = " and ".join(names)
                told = len(names) <= _MOST_TIED and not any(map(_is_not_given, names))
                if other != header and named and told and len(short) <= _MOST_SHOWN:
                    yield program(operation, other, short, f"{short}: {said}", best)
        name = with_unit(header, table.texts[header][ordered[0]])[0]
        if kind == "number":
            amounts = [one.amount for one in values.values()]
            total = sum(amounts, Decimal(0))
            digits = max(1, *(-int(one.as_tuple().exponent) for one in amounts)) + 1
            mean = (total / len(amounts)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
            results: list[tuple[Operation, Decimal]] = [("sum", total), ("mean", mean.normalize())]
            for operation, result in results:
                short = table.written(header, ordered, result)
                said = f"{name}: {short}, the {operation} of {len(amounts)} rows{of}"
                yield program(operation, header, short, said)
        if len(values) == 2 and kind != "day":
            between = values[ordered[1]].amount - values[ordered[0]].amount
            minutes, seconds = divmod(int(between), 60)
            short = f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
            if kind == "number":
                short = table.written(header, ordered, between)
            yield program("difference", header, short, f"{name}: {short}, the difference{of}")

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


def _is_not_given(text: str) -> bool:
    return not text or NOT_GIVEN.fullmatch(text.strip()) is not None


def _are_years(values: Iterable[Value]) -> bool:
    return all(
        one.amount == int(one.amount) and int(one.amount) in _YEARS and not one.unit
        for one in values
    )


def _are_long(texts: Collection[str]) -> bool:
    """Whether numbers in the place of names are codes: digits alone, all of one length."""
    return len({*map(len, texts)}) == 1 and all(_LONG.fullmatch(one) for one in texts)


def _same_day(one: WrittenDay, two: WrittenDay) -> bool:
    same = (one.month, one.day) == (two.month, two.day)
    return same and (None in (one.year, two.year) or one.year == two.year)


def _type_of(table: Table, header: str) -> ColumnType:
    """What most cells of a column are; empty where none has a value."""
    texts = [one for one in table.texts[header].values() if not _is_not_given(one)]
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
        distinct = len({one.amount for one in values}) == len(values)
        named = header in (table.headers[0], table.key) and _are_long(texts)
        if whole and distinct and (_CODED.search(header) or named):
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
