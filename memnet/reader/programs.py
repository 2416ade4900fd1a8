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

from memnet.attention.arrays import probability_of, weighted
from memnet.checkpoints import check_tensors, load_checkpoint
from memnet.encoders.minilm import TokenTable
from memnet.reader.cells import CELL_CONFIDENCE, Asked, labelled
from memnet.reader.rows import ANY_TIME, Cell, Row, Table, stems
from memnet.reader.values import NOT_GIVEN, Value, ticks_of, value_of, with_unit
from memnet.text.dates import MONTH_NAMES, WrittenDay, date_spans
from memnet.text.english import query_terms
from memnet.text.names import has_digit

PROGRAMS: Final = "programs"  # Name of the checkpoint, and of the folder that ships

Operation = Literal[
    "cell", "list", "count", "sum", "mean", "most", "least", "highest", "lowest", "difference",
]  # fmt: skip
ColumnType = Literal[
    "number", "amount", "money", "day", "time", "name", "code", "text", "ticks", ""
]
_OPERATIONS: tuple[Operation, ...] = get_args(Operation)
_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)
FEATURES: Final = (
    "conditions", "conditions explain", "least share", "all said", "two of a column", "by values",
    "not given", "over", "under", "key named", "similar", "similarity", "without conditions",
    "title said", "header said", "header meant", "header like", "header like the question",
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
_ALIKE = 3  # Rows that are like what a question says, if none is named
_MOST_TOGETHER = 3  # Conditions of one selection; values of a column of which two are compared
_MOST_TABLES = 4  # Of a question, by attention
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
    value: str  # Their text, or what they are: "given", "not given", "over 20"
    way: Literal["is", "given", "not given", "over", "under"] = "is"
    said: frozenset[str] = frozenset()  # Stems of the question that name the value
    share: float = 0.0  # Of the words of the value that the question says
    similarity: float = 0.0  # Cosine with the question, where it says none of them
    limit: Decimal = Decimal(0)  # Of "over" and "under"

    def __str__(self) -> str:
        return f"{self.header}: {self.value}" if self.header else self.value


class Program(NamedTuple):
    """One way to compute an answer from a table."""

    table: Table
    operation: Operation
    header: str  # Of the column that the answer is of
    by: str | None  # Of the column that is compared, or has to have a value; None of none
    where: tuple[Condition, ...]
    rows: tuple[int, ...]  # That it is computed from
    short: str  # The answer
    said: str  # What it is, as a person reads it

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
    """The model with the vectors of words that it has learned from. Thread-safe."""

    weights: ProgramWeights
    vectors: TokenTable

    def likeliest(
        self, asked: Asked, tables: Sequence[Table], count: int
    ) -> tuple[list[tuple[Program, float]], float]:
        """The likeliest answers, each with one program and its log-probability.

        Beside them the log-probability that there is none.
        """
        attended = {id(one.lines): max(row.item.attention for row in one.lines) for one in tables}
        read = filter(may_be_read, tables)
        tables = sorted(read, key=lambda one: -attended[id(one.lines)])[:_MOST_TABLES]
        listed = list_programs(asked, tables, self.vectors)
        logits = listed.scores(cues_of(asked.question, self.vectors), self.weights)
        most = max(attended.values(), default=1.0) or 1.0
        logits[:-1] += [
            log(max(attended[id(one.table.lines)] / most, _LEAST_ATTENTION))
            for one in listed.programs
        ]
        logits -= logits.max()
        logits -= np.log(np.exp(logits).sum())
        found: dict[str, tuple[Program, list[float]]] = {}
        for place in np.argsort(-logits[:-1]):
            program = listed.programs[place]
            found.setdefault(program.short.casefold(), (program, []))[1].append(logits[place])
        answers = [(one, float(np.logaddexp.reduce(own))) for one, own in found.values()]
        answers.sort(key=lambda one: -one[1])
        return answers[:count], float(logits[-1])


class ProgramSignals(NamedTuple):
    """What speaks for the answer of a program as the right one, or the weights of these."""

    bias: float
    share: float  # Its probability, by the model
    likely: float  # The logarithm of that
    nothing: float  # The same of that no program is meant
    stated: float  # Log-odds that the program says so, by the network for verdicts
    same: float  # Whether the words of the question say that it is this cell or computation
    other: float  # Whether they say that it is another
    computed: float  # Whether it is no cell


# By logistic regression on the answers that are proposed for 2,160 questions about tables and about
# everyday collections, each by a model that did not learn from it (``benchmarks.fit_programs
# --decision``); the network had learned from proposals about the same tables. Cross-validated, of
# those from a half on 382 of 453 and 182 of 243 are right (without the share 314 of 373 and 191
# of 238).
_WEIGHTS = ProgramSignals(
    bias=-1.884, share=3.031, likely=0.298, nothing=-0.036, stated=0.335, same=1.037,
    other=-0.453, computed=0.037,
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
        for program in own.programs():
            found.append(program)
            column = own.types[program.header]
            compared = own.types[program.by] if program.by is not None else ""
            operation = _OPERATIONS.index(program.operation)
            kinds.append((operation, _TYPES.index(column), _TYPES.index(compared)))
            features.append(own.features(program))
    return Listed(
        found,
        np.array(kinds, np.int64).reshape(len(found), 3),
        np.array(features, np.float32).reshape(len(found), len(FEATURES)),
    )


def _programs_of(question: "_Question", tables: Sequence[Table]) -> Iterator["_Programs"]:
    """Each table; also transposed, if its columns are of one type or its first header is empty."""
    for table in tables:
        if may_be_read(table):
            own = _Programs(question, table)
            yield own
            alike = len({own.types[one] for one in table.headers[1:]}) == 1
            turned = table.turned_over() if alike or not table.headers[0] else None
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
        numbers = ((found, value_of(found)) for found in _NUMBER.findall(asked.question))
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
        self._conditions = dict[tuple[Condition, ...], tuple[frozenset[str], list[float]]]()
        self._headers = {one: self._of_header(one) for one in table.headers}
        near_first = sorted(self._headers, key=lambda one: -self._headers[one].importance)
        self._near = near_first[:_MOST_COLUMNS]

    def programs(self) -> Iterator[Program]:
        """Every program of every selection of rows."""
        for where, rows in self._selections():
            yield from self._of_rows(where, rows)

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
        alike = [(one,) for one in self._alike()]
        beyond = [(one,) for one in self._beyond()]
        for where in (*found, *alike, *beyond, *self._beside(found[:2], [*alike[:2], *beyond])):
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

    def _alike(self) -> Iterator[Condition]:
        """The names of rows that are most like the question, where it says none of them."""
        for header in dict.fromkeys((self._table.key, self._table.headers[0])):
            if any(one.share == 1 for one in self._named.get(header, ())):
                continue
            texts = list(dict.fromkeys(self._table.texts[header].values()))
            known = {one.value for one in self._named.get(header, ())}
            _, nearest = self._question.likeness(texts)
            for place in np.argsort(-nearest)[:_ALIKE]:
                if texts[place] not in known and not has_digit(texts[place]):
                    yield Condition(header, texts[place], similarity=float(nearest[place]))

    def _beyond(self) -> Iterator[Condition]:
        """Columns with and without a value, with a yes or no, over and under a number."""
        for header in self._near:
            given = self._given[header].intersection(self._rows)
            if 0 < len(given) < len(self._rows):
                yield Condition(header, "given", "given")
                yield Condition(header, "not given", "not given")
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
        of = f" of those with {'; '.join(map(str, where))}" if where else ""
        fixed = {one.header for one in where}
        pair = len(where) > len(fixed)
        if not pair:
            said = f"{len(rows)} of {len(self._rows)} rows{of}"
            yield Program(table, "count", key, by, where, rows, str(len(rows)), said)
        for header in table.headers:
            texts = [self._text(header, row) for row in rows]
            distinct = list(dict.fromkeys(filter(None, texts)))
            if where and header not in fixed and not pair and distinct:
                short = ", ".join(distinct[:_MOST_LISTED])
                said = f"{Condition(header, short)}{of}"
                if len(rows) == 1:
                    said, _ = labelled(tuple(table.rows[rows[0]].values()))
                whole = len(distinct) <= _MOST_LISTED and len(short) <= _MOST_SHOWN
                if whole and (len(distinct) == 1 or len(rows) < len(self._rows)):
                    operation: Operation = "cell" if len(distinct) == 1 else "list"
                    yield Program(table, operation, header, by, where, rows, short, said)
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

    def features(self, program: Program) -> list[float]:
        """The features of a program, in the order of ``FEATURES``."""
        where, own = program.where, self._asked.own
        said, of_where = self._of_where(where)
        header = self._headers[program.header]
        by = _NO_HEADER if program.by is None else self._headers[program.by]
        known = said | header.words | by.words | self._table.titles
        fixed = {one.header for one in where}
        ignored = sum(
            1
            for name, one in self._whole.items()
            if name not in fixed and name != program.header and not one.said <= said
            and any(self._text(name, row) != one.value for row in program.rows)
        )  # fmt: skip
        short = stems(program.short)
        unexplained = len(self._asked.content - known) / self._total
        return [
            *of_where, header.said, header.meant, header.nearest, header.near,
            by.said, by.meant, by.nearest, unexplained,
            min(2, len(self._question.names - known)), min(2, ignored),
            log(len(program.rows)), float(len(program.rows) == 1),
            float(program.header == self._table.key), len(short & own) / max(1, len(short)),
            float(program.header == self._table.headers[0]),
            float(bool(where) and program.operation in _EXTREMES),
            float(NOT_GIVEN.fullmatch(program.short) is not None), float(self._table.turned),
        ]  # fmt: skip

    def _of_where(self, where: tuple[Condition, ...]) -> tuple[frozenset[str], list[float]]:
        """What some conditions say of the question, and their features."""
        if where not in self._conditions:
            said = frozenset[str]().union(*(one.said for one in where))
            shares = [one.share for one in where if one.said]
            fixed = {one.header for one in where}
            similar = max((one.similarity for one in where), default=0.0)
            ways = {one.way for one in where}
            self._conditions[where] = said, [
                len(where), len(said & self._asked.content) / self._total,
                min(shares, default=0.0), float(bool(shares) and min(shares) == 1),
                float(len(where) > len(fixed)), float(bool(ways & {"given", "not given"})),
                float("not given" in ways),
                float("over" in ways), float("under" in ways), float(self._table.key in fixed),
                float(similar > 0), similar, float(not where),
                len(self._table.titles & self._asked.content) / self._total,
            ]  # fmt: skip
        return self._conditions[where]

    def _of_header(self, header: str) -> "_Header":
        words, (near, nearest) = stems(header or "-"), self._like[header]
        said = len(words & self._asked.own) / max(1, len(words))
        meant = not words.isdisjoint(self._asked.order)
        return _Header(words, said, float(meant), float(near), float(nearest))


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
