"""Answers that are computed from all rows of a table: comparisons, extremes, counts and sums.

A question names an operation, a column and perhaps rows. Nothing is computed where one of them is
not found, where a cell that counts is of another unit than the others, or where the question says
something that neither the table nor the operation does: "the cheapest hut in winter".
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cached_property
from itertools import chain
from operator import lt
from typing import Literal, NamedTuple

from memnet.reader.answers import asks_whether
from memnet.reader.rows import Cell, Row, Table, has_digit, stem, stems
from memnet.reader.values import (
    LIMIT_UNIT,
    Value,
    decimal_point,
    unit_of,
    value_of,
    values_of,
    with_unit,
    written,
)
from memnet.text.english import query_terms

_TOKEN = re.compile(r"\d[\d.,]{0,30}\d|[^\W_]+")
_MANY = ("more", "most")
_FEW = ("fewer", "fewest", "less", "least")
_LIMIT = re.compile(
    r"\b(?:(?P<degree>\w{1,20}) than|(?P<more>over|above|after|exceeding|at least)"
    r"|(?P<less>under|below|before|at most|up to)|(?P<just>exactly))"
    r" (?:[$€£] ?)?(?P<number>\d[\d.,]{0,20})" + LIMIT_UNIT,
    re.IGNORECASE,
)
_SUM = re.compile(r"\b(?:total|sum|altogether|combined|together|in all|overall)\b", re.IGNORECASE)
_MEAN = re.compile(r"\b(?:average|(?<=the )mean(?= \w))\b", re.IGNORECASE)
_COUNT = re.compile(r"\bhow many ((?:different )?\w+)", re.IGNORECASE)
_LIST = re.compile(
    r"(?:which|what|(?:please )?(?:list|show(?: me)?|name)(?: all)?(?: the)?) (\w{2,30}s)\b(?= )",
    re.IGNORECASE,
)
_HOW = re.compile(r"(?:how|when)\b", re.IGNORECASE)
_THE_VALUE = re.compile(r"(?:what(?: is| was|['’]s)|how|when)\b", re.IGNORECASE)
# What is not computed: denials, the second highest, the three highest.
_NOT_COMPUTED = re.compile(
    r"\b(?:not|n['’]t|never|without|except|second|third|\d(?:nd|rd|th)|top)\b"
    r"(?= |-)(?! (?:run|row|half|round|shift|floor|class))|\bwhy\b",
    re.IGNORECASE,
)
_ROWS = frozenset(map(stem, "row entry item record line".split()))
_OVERALL = stems("total sum average mean subtotal overall") | {"all"}
_PREPOSITIONS = frozenset("in on at during for of from with by per since until near".split())
_BETWEEN = frozenset("the a an all any this that its our their".split())
# Words that say nothing of which rows or column are meant.
_FILLING = frozenset(
    map(
        stem,
        "all altogether amount any are average combined come cost different do does each every "
        "exactly get give given gives gave got had has have how is list listed make many maximum "
        "mean minimum month much number of one or out overall paid pay row rows sold sum table "
        "take takes than there these together took total two up was were what when where which who "
        "whose year".split(),
    )
)
_MIN_EXPLAINED = 0.6  # Share of a question's words
_MOST_NAMED = 20  # Rows that are named
_YES = frozenset("yes y x true ✓ ✔ ja".split())
_NO = frozenset("no n - – false ✗ ✘ nein".split()) | {""}
_COMPOUND = 4  # Letters of a part of a compound
_Sign = Literal[-1, 1]


class _Measure(NamedTuple):
    headers: frozenset[str]  # Words of the header of a column of it, or of its unit
    more: frozenset[str]  # What has more of it
    less: frozenset[str]


_MEASURES = tuple(
    _Measure(*(frozenset(words.split()) for words in one))
    for one in (
        ("height altitude elevation high tall", "high tall", "low short"),
        ("length distance long km", "long far", "short near close"),
        ("price cost costs fee rent fare rate charge eur usd gbp chf € $ £", "expensive dear",
         "cheap"),
        ("weight mass weigh weighs weighed kg", "heavy", "light"),
        ("speed velocity kmh mph kn knots", "fast quick", "slow"),
        ("time duration run lap s sec seconds min minutes", "slow long", "fast quick short"),
        ("age", "old", "young new"),
        ("born built founded established since year opened made bought launched birth day",
         "young new recent late", "old early"),
        ("time departure arrival start opens closes date day", "late", "early"),
        ("size area population capacity volume", "big large", "small"),
        ("width wide breadth", "wide broad", "narrow"),
        ("depth deep", "deep", "shallow"),
        ("thickness", "thick", "thin"),
        ("temperature warmth °c °f", "warm hot", "cold cool"),
        ("power strength w kw watt watts", "strong powerful", "weak"),
    )
)  # fmt: skip
# What more or less of anything is called: "the highest price".
_MORE = frozenset("high big large great long late".split())
_LESS = frozenset("low small short little early".split())
_ADJECTIVES = frozenset[str]().union(_MORE, _LESS, *(one.more | one.less for one in _MEASURES))


class Computed(NamedTuple):
    """What was computed."""

    short: str
    said: str  # What was computed, as a person reads it: "Brelle: Beds 60, the most of 5 rows"
    rows: tuple[Row, ...]  # That it was computed from, those that decide first
    cell: tuple[Row, Cell] | None  # The cell that is the short answer, if one is
    explained: float  # Share of the question's words that the table and the operation explain
    verdict: bool = False  # Whether it answers with yes or no


class _Token(NamedTuple):
    word: str  # In lower case
    stem: str
    content: bool
    name: bool  # Whether it is written like a name, a number or a code


class _Degree(NamedTuple):
    tokens: tuple[int, ...]
    sign: _Sign  # Of more or less, or of the adjective where it has one
    adjective: str  # Its base form; empty of "more" and "fewest"
    superlative: bool


class _Column(NamedTuple):
    header: str
    tokens: frozenset[int]  # That name it


def operation_of(question: str) -> frozenset[str] | None:
    """Stems of the words that ask to compute; none of "how many", None where nothing does."""
    asked = _Asked(question)
    if _NOT_COMPUTED.search(question):
        return None
    if asked.degree is not None:
        return frozenset(asked.tokens[number].stem for number in asked.degree.tokens)
    words = [*_SUM.finditer(question), *_MEAN.finditer(question)]
    if words or asked.counted:
        return frozenset(stem(one[0].casefold()) for one in words)
    return None


def compute(question: str, tables: Sequence[Table]) -> Computed | None:
    """The answer from the one table that explains a question best; None if two differ."""
    asked = _Asked(question)
    found: list[Computed] = []
    for table in tables:
        for one in (table, table.turned_over()):
            result = None if one is None or len(one.rows) < 2 else _Computation(asked, one).result()
            if result is not None:
                found.append(result)
                break
    found.sort(key=lambda one: -one.explained)
    if not found:
        return None
    best = [one for one in found if one.explained == found[0].explained]
    return best[0] if len({one.short for one in best}) == 1 else None


class _Asked:
    """What the words of a question ask to compute."""

    def __init__(self, question: str) -> None:
        self.question = question
        content = frozenset(query_terms(question))
        self.tokens = [
            _Token(
                match[0].casefold(),
                stem(match[0].casefold()),
                match[0].casefold() in content or has_digit(match[0]),
                has_digit(match[0]) or (match.start() > 0 and match[0][0].isupper()),
            )
            for match in _TOKEN.finditer(question)
        ]
        limit = _LIMIT.search(question)
        self.limit = limit
        self.limited = frozenset[int]()
        if limit is not None:
            starts = [match.start() for match in _TOKEN.finditer(question)]
            self.limited = frozenset(
                number for number, at in enumerate(starts) if limit.start() <= at < limit.end()
            )
        self.degrees = list(self._degrees())
        self.degree = self.degrees[0] if len(self.degrees) == 1 else None
        lists = _LIST.match(question)
        self.lists = lists is not None
        counted = lists or _COUNT.search(question)
        self.counted = stem(counted[1].split()[-1].casefold()) if counted else ""
        self.whether = asks_whether(question)

    def _degrees(self) -> Iterator[_Degree]:
        number = 0
        words = [token.word for token in self.tokens]
        while number < len(words):
            word, after = words[number], words[number + 1 : number + 2]
            before = words[number - 1 : number]
            if word in (*_MANY, *_FEW) and before != ["at"]:
                sign: _Sign = 1 if word in _MANY else -1
                adjective = after[0] if after and after[0] in _ADJECTIVES else ""
                tokens = (number, number + 1) if adjective else (number,)
                yield _Degree(tokens, sign, adjective, word in ("most", "fewest", "least"))
                number += len(tokens)
                continue
            if word in ("maximum", "minimum"):
                yield _Degree((number,), 1, "high" if word == "maximum" else "low", True)
            base, superlative = _base(word)
            if base:
                yield _Degree((number,), 1, base, superlative)
            number += 1


def _words(header: str) -> frozenset[str]:
    """The words and signs of currency of a header, as they are written."""
    return frozenset(re.findall(r"[^\W_]+|[$€£]", header.casefold()))


def _base(word: str) -> tuple[str, bool]:
    """The adjective that a word is the comparative or superlative of, and whether the latter."""
    word = word.replace("further", "farer").replace("furthest", "farest")
    for ending in ("er", "est"):
        if word.endswith(ending):
            root = word.removesuffix(ending)
            for base in (root, root + "e", root[:-1] + "y", root[:-1]):
                if base in _ADJECTIVES:
                    return base, ending == "est"
    return "", False


class _Computation:
    """One way to answer a question from one table."""

    def __init__(self, asked: _Asked, table: Table) -> None:
        self._asked = asked
        self._table = table
        self._used: set[int] = set(asked.limited)

    def result(self) -> Computed | None:
        """The answer, if the table gives one."""
        asked = self._asked
        mean, total = _MEAN.search(asked.question), _SUM.search(asked.question)
        if asked.limit is None and asked.degree is None and (mean or total):
            return self._folded(mean=mean is not None)
        if (asked.counted or asked.lists) and not (asked.degree and asked.degree.superlative):
            return self._selected()
        return self._compared() if asked.degree is not None else None

    @cached_property
    def _points(self) -> dict[str, str]:
        """What stands before decimals in each column, or else in the table."""
        columns = {
            header: [row[header].text for row in self._table.rows if header in row]
            for header in self._table.headers
        }
        otherwise = decimal_point(chain.from_iterable(columns.values())) or "."
        return {header: decimal_point(texts) or otherwise for header, texts in columns.items()}

    @cached_property
    def _key(self) -> str:
        """The header of the names of rows: the first one, or what comes after their numbers."""
        first, *others = self._table.headers
        values = self._values(first, range(len(self._table.rows)))
        if first and values and not self._table.turned:
            amounts = [value.amount for value in values.values()]
            if all(map(lt, amounts, amounts[1:])):
                for header in others:
                    texts = [row[header].text for row in self._table.rows if header in row]
                    are_values = any(value_of(text, self._points[header]) for text in texts)
                    if len(set(texts)) == len(self._table.rows) and not are_values:
                        return header
        return first

    @cached_property
    def _rows(self) -> list[int]:
        """The rows but for those that sum others up."""
        return [
            number
            for number, row in enumerate(self._table.rows)
            if self._key not in row or not row[self._key].value <= _OVERALL
        ]

    @cached_property
    def _measured(self) -> list[str]:
        """The headers of the columns whose cells have values, without the numbers of rows."""
        found: list[str] = []
        for header in self._table.headers:
            if header == self._table.headers[0] != self._key:
                continue
            cells = [row[header].text for row in self._table.rows if header in row]
            values = sum(value_of(text, self._points[header]) is not None for text in cells)
            if header == self._key and any(text[0].isalpha() for text in cells):
                continue  # codes
            if header and cells and 2 * values > len(cells):
                found.append(header)
        return found

    def _values(self, header: str, rows: Iterable[int]) -> dict[int, Value] | None:
        rows = [row for row in rows if header in self._table.rows[row]]
        return values_of(
            {row: self._table.rows[row][header].text for row in rows}, self._points[header]
        )

    def _named_column(self, taken: Iterable[int] = ()) -> _Column | None:
        """The measured column that the question's words name best; None where two fit equally."""
        columns: list[tuple[tuple[int, int, int], _Column]] = []
        asked = {n: one for n, one in enumerate(self._asked.tokens) if one.content}
        for header in self._measured:
            words, written = stems(header), _words(header)
            alike = frozenset[str]().union(
                *(one.headers for one in _MEASURES if one.headers & written)
            )
            literal = {n: one.stem for n, one in asked.items() if one.stem in words}
            tokens = {n for n, one in asked.items() if n in literal or one.word in alike}
            tokens -= {*taken}
            hits = {literal[n] for n in tokens if n in literal}
            if tokens:
                order = (len(hits), len(tokens), -len(words - hits))
                columns.append((order, _Column(header, frozenset(tokens))))
        columns.sort(key=lambda one: one[0], reverse=True)
        if not columns or (len(columns) > 1 and columns[0][0] == columns[1][0]):
            return None
        return columns[0][1]

    def _of_unit(self, unit: str) -> _Column | None:
        """The one measured column of a unit, which its header or its cells say."""
        found = []
        for header in self._measured if unit else ():
            shown = with_unit(header, "1")[1].removeprefix("1").strip()
            cells = self._values(header, self._rows) or {}
            units = {shown, *(value.unit for value in cells.values())}
            if unit_of(unit) in map(unit_of, units):
                found.append(_Column(header, frozenset()))
        return found[0] if len(found) == 1 else None

    def _column(self, taken: Iterable[int] = ()) -> tuple[_Column, _Sign] | None:
        """The column that is compared, and whether more or less of it is asked for."""
        degree = self._asked.degree
        column = self._named_column({*taken, *(degree.tokens if degree else ())})
        if degree is None or not degree.adjective:
            sign = degree.sign if degree else 1
            return None if column is None else (column, sign)
        own = [column.header] if column is not None else []
        for headers in (own, self._measured):
            for by_kind in (False, True):
                signs = {one: self._sign(degree.adjective, one, by_kind) for one in headers}
                found = [(header, sign) for header, sign in signs.items() if sign is not None]
                if len(found) > 1:
                    return None
                for header, sign in found:
                    if column is None or column.header != header:
                        column = _Column(header, frozenset())
                    return column, 1 if sign == degree.sign else -1
            if column is not None and degree.tokens[-1] + 1 in column.tokens:
                break  # "the highest price"
        if column is None or degree.adjective not in _MORE | _LESS:
            return None
        return column, 1 if (degree.adjective in _MORE) == (degree.sign > 0) else -1

    def _sign(self, adjective: str, header: str, by_kind: bool) -> _Sign | None:
        """Whether an adjective means more (1) or less (-1) of a column, if it is about it.

        That is by its header and units, or else by the kind of its values.
        """
        values = (self._values(header, self._rows) or {}).values()
        words = {one.kind if by_kind else one.unit.casefold() for one in values}
        words -= frozenset() if by_kind else {"year"}  # of days
        if not by_kind:
            words |= _words(header)
        for measure in _MEASURES:
            if words & measure.headers and adjective in measure.more | measure.less:
                return 1 if adjective in measure.more else -1
        return None

    def _mentioned(self, header: str) -> dict[int, frozenset[int]]:
        """The rows whose cell in a column the question says, with the words that say it.

        A longer text goes before a shorter one that is a part of it. Of one that is not said
        entirely, words count that no other row has.
        """
        tokens = self._asked.tokens
        cells = {
            number: self._table.rows[number][header].value
            for number in self._rows
            if header in self._table.rows[number]
        }
        said = {token.stem for token in tokens if token.content}
        free = set(range(len(tokens))) - set(self._degree_tokens) - self._asked.limited
        found: dict[int, frozenset[int]] = {}
        texts: dict[frozenset[str], frozenset[int]] = {}
        whole = {value for value in cells.values() if value and value <= said}
        for value in sorted(whole, key=len, reverse=True):
            longer = [used for other, used in texts.items() if value < other]
            used = self._closest(value, free.difference(*longer))
            if used:
                texts[value] = used
                found |= {row: used for row, own in cells.items() if own == value}
        counts: dict[str, int] = {}
        for value in cells.values():
            for word in value & said:
                counts[word] = counts.get(word, 0) + 1
        known = frozenset[str]().union(*map(stems, self._table.headers), self._table.titles)
        for row, value in cells.items():
            if row not in found and len(value) > 1:
                own = {word for word in value & said if counts[word] == 1} - known
                used = frozenset(number for number in free if tokens[number].stem in own)
                if used:
                    found[row] = used
        return found

    def _closest(self, value: frozenset[str], free: Iterable[int]) -> frozenset[int]:
        """The tokens that say all stems of a value in the fewest words; none if they don't."""
        best: list[int] = []
        last: dict[str, int] = {}
        for number in sorted(free):
            word = self._asked.tokens[number].stem
            if word not in value:
                continue
            last[word] = number
            places = sorted(last.values())
            if len(last) == len(value) and (
                not best or places[-1] - places[0] < best[-1] - best[0]
            ):
                best = places
        return frozenset(best)

    @property
    def _degree_tokens(self) -> tuple[int, ...]:
        return tuple(number for one in self._asked.degrees for number in one.tokens)

    def _compared(self) -> Computed | None:
        """The row with the most or least of a column, of all or of those that are named."""
        asked, degree = self._asked, self._asked.degree
        if degree is None:
            return None
        self._used |= set(degree.tokens)
        for header in self._table.headers:
            named = self._mentioned(header)
            distinct = {self._table.rows[row][header].value for row in named}
            if len(distinct) == len(named) > 1 and header not in self._measured[1:]:
                break
        else:
            header, named = self._key, self._mentioned(self._key)
        taken = frozenset[int]().union(*named.values())
        chosen = self._column(taken) or (self._column() if named else None)
        if chosen is None or chosen[0].header == header:
            return None
        column, sign = chosen
        self._used |= taken | column.tokens
        texts = {self._table.rows[row][header].value for row in named}
        if len(named) > 1 and (len(texts) != len(named) or not degree.superlative or asked.whether):
            rows = list(named)
        elif degree.superlative and len(named) < 2:
            rows = self._filtered({header, column.header})
        else:
            rows = list(named)
        if len(texts) != len(named) or len(rows) < 2:
            return None
        if not degree.superlative and len(named) < 2:
            return None
        values = self._values(column.header, rows)
        if values is None or len(values) < 2 or (len(named) > 1 and len(values) < len(rows)):
            return None
        ordered = sorted(values, key=lambda row: (-sign * values[row].amount, row))
        first = [row for row in ordered if values[row].amount == values[ordered[0]].amount]
        if asked.whether and " than " in asked.question:
            if len(rows) != 2:
                return None
            one, other = rows
            shared = named[one] & named[other]
            subject = min(rows, key=lambda row: min(named[row] - shared))
            return self._verdict(first == [subject], column, rows)
        if asked.whether and len(named) == 1 and degree.superlative:
            [subject] = named
            return self._verdict(first == [subject], column, [*first, subject])
        if len(first) > 1 and (len(first) == len(values) or not degree.superlative):
            return None  # none of them has more
        kind = values[first[0]].kind
        most = ("most", "least") if kind == "number" else ("latest", "earliest")
        place = f"the {most[sign < 0]} of {len(values)} rows"
        return self._row_found(header, column, first, ordered, place)

    def _filtered(self, without: set[str]) -> list[int]:
        """The rows whose cells the question says, of each column that it says cells of."""
        rows = self._rows
        for header in self._table.headers:
            if header in without or header in self._measured:
                continue
            full = {
                row: tokens
                for row, tokens in self._mentioned(header).items()
                if self._table.rows[row][header].value
                <= {self._asked.tokens[number].stem for number in tokens}
                and not tokens & self._used
            }
            if full:
                rows = [row for row in rows if row in full]
                self._used |= frozenset[int]().union(*full.values())
                self._explain(header)
        return rows

    def _explain(self, header: str) -> None:
        words = stems(header)
        self._used |= {n for n, token in enumerate(self._asked.tokens) if token.stem in words}

    def _verdict(self, right: bool, column: _Column, rows: Sequence[int]) -> Computed | None:
        distinct = list(dict.fromkeys(rows))
        said = "; ".join(self._said(row, column.header) for row in distinct)
        return self._answer("yes" if right else "no", said, column, distinct, verdict=True)

    def _said(self, row: int, header: str) -> str:
        cells = self._table.rows[row]
        key = cells[self._key].text if self._key in cells else f"row {row + 1}"
        return f"{key}: {' '.join(with_unit(header, cells[header].text))}"

    def _row_found(
        self,
        header: str,
        column: _Column,
        first: list[int],
        ordered: list[int],
        place: str,
    ) -> Computed | None:
        """The name of the row, or its value where that is asked for: "the highest price"."""
        asked, table = self._asked, self._table
        degree = asked.degree
        key = self._output(header, column)
        if key is None:
            return None
        if any(key not in table.rows[row] for row in first):
            return None
        names = list(dict.fromkeys(with_unit(key, table.rows[row][key].text)[1] for row in first))
        said = "; ".join(self._said(row, column.header) for row in first)
        if len(ordered) == 2:
            said = "; ".join(self._said(row, column.header) for row in ordered)
        else:
            said += f", {place}"
        shown = first if degree is not None and degree.superlative else ordered
        cell = table.rows[first[0]][key]
        placed = len(names) == 1 and (not table.turned or key != self._key)
        found = self._answer(" and ".join(names[:3]), said, column, shown)
        if found is None or not placed:
            return found
        return found._replace(cell=(table.line(first[0], column.header), cell))

    def _output(self, header: str, column: _Column) -> str | None:
        """The header of what is asked for: that of the names of rows, of values, or another."""
        asked, degree = self._asked, self._asked.degree
        self._explain(header)
        for number in range(len(asked.tokens)):
            wanted = asked.tokens[number].stem
            if asked.tokens[number].content and number not in self._used:
                for one in self._table.headers:
                    if one not in (column.header, header) and wanted in stems(one or "-"):
                        self._explain(one)
                        return one
        value = degree is not None and degree.superlative and degree.tokens[-1] + 1 in column.tokens
        if value and _THE_VALUE.match(asked.question):
            return column.header
        return None if _HOW.match(asked.question) else header

    def _selected(self) -> Computed | None:
        """How many rows there are, or which, with what the question says of them."""
        asked, table = self._asked, self._table
        self._used |= set(self._degree_tokens)
        rows_meant = _ROWS | stems(self._key or "-")
        if "name" in rows_meant - _ROWS:  # of what, the title says
            rows_meant |= table.titles
        # "How many joiners are there?"
        called = any(
            {asked.counted} == cell.value
            for row in table.rows
            for header, cell in row.items()
            if header != self._key
        )
        if (asked.counted not in rows_meant and not called) or table.turned:
            return None
        self._explain(self._key)
        if asked.counted in rows_meant:
            self._used |= {n for n, one in enumerate(asked.tokens) if one.stem == asked.counted}
        rows, what = self._rows, ""
        column = None
        if asked.limit is not None:
            chosen = self._column(asked.limited - set(self._degree_tokens))
            if chosen is None and not (asked.degree and asked.degree.adjective):
                named = self._named_column() or self._of_unit(asked.limit["unit"] or "")
                sign: _Sign = asked.degree.sign if asked.degree else 1
                chosen = None if named is None else (named, sign)
            value = value_of(asked.limit["number"].rstrip(".,"), ".")
            values = None if chosen is None else self._values(chosen[0].header, rows)
            if chosen is None or value is None or not values:
                return None
            column, sign = chosen
            rows = self._within(asked.limit, sign, values, value.amount)
            what = f"{with_unit(column.header, '1')[0]} {asked.limit[0].strip()}"
            self._used |= column.tokens
        elif asked.degree is not None:
            return None
        else:
            column, rows, what = self._equal(rows)
        rows = [row for row in self._ticked(self._filtered({self._key})) if row in rows]
        plain = not what and len(rows) == len(self._rows)
        said = f"{len(rows)} rows" if plain else f"{len(rows)} of {len(self._rows)} rows"
        if what:
            said += f": {what}"
        if not asked.lists:
            return self._answer(str(len(rows)), said, column, rows or self._rows)
        names = [table.rows[row][self._key].text for row in rows if self._key in table.rows[row]]
        if plain or not rows or len(names) < len(rows):
            return None
        short = ", ".join(names[:_MOST_NAMED])
        return self._answer(short, f"{short} ({said})", column, rows)

    def _ticked(self, rows: list[int]) -> list[int]:
        """Those of some rows with a yes in the columns of yes and no that the question names."""
        for header in self._table.headers:
            texts = {one[header].text.casefold() for one in self._table.rows if header in one}
            words = stems(header or "-")
            named = {n for n, one in enumerate(self._asked.tokens) if one.stem in words}
            if texts <= _YES | _NO and texts & _YES and named - self._used:
                wanted = _NO if self._asked.tokens[min(named) - 1].word == "no" else _YES
                held = {n for n in rows if header in self._table.rows[n]}
                rows = [n for n in held if self._table.rows[n][header].text.casefold() in wanted]
                self._used |= named
        return sorted(rows)

    def _equal(self, rows: list[int]) -> tuple[_Column | None, list[int], str]:
        """Those of some rows with a number that the question says before a header: "10 frames"."""
        tokens = self._asked.tokens
        for number, token in enumerate(tokens[:-1]):
            wanted = value_of(token.word) if token.word[0].isdigit() else None
            if wanted is None:
                continue
            pair = {token.stem, tokens[number + 1].stem}
            for header in self._measured:  # "12 months"
                found = [
                    row
                    for row in rows
                    if header in self._table.rows[row]
                    and self._table.rows[row][header].value == pair
                ]
                if found:
                    self._used |= {number, number + 1}
                    text = self._table.rows[found[0]][header].text
                    self._explain(header)
                    return _Column(header, frozenset()), found, f"{header} {text}"
            for header in self._measured:  # "10 frames"
                if tokens[number + 1].stem in stems(header):
                    values = self._values(header, rows) or {}
                    self._used |= {number, number + 1}
                    found = [row for row, one in values.items() if one.amount == wanted.amount]
                    return _Column(header, frozenset()), found, f"{header} {token.word}"
        return None, rows, ""

    def _within(
        self, limit: re.Match[str], sign: _Sign, values: dict[int, Value], number: Decimal
    ) -> list[int]:
        if limit["just"]:
            return [row for row, value in values.items() if value.amount == number]
        least, most = "at least" in limit[0].lower(), re.match("at most|up to", limit[0].lower())
        if not limit["degree"]:
            sign = 1 if limit["more"] else -1
        return [
            row
            for row, value in values.items()
            if sign * value.amount > sign * number or ((least or most) and value.amount == number)
        ]

    def _is_number(self, header: str) -> bool:
        values = self._values(header, self._rows) or {}
        return any(value.kind == "number" for value in values.values())

    def _folded(self, mean: bool) -> Computed | None:
        """The sum or the mean of a column."""
        column = self._named_column()
        if column is None and stems(self._key or "-") & {one.stem for one in self._asked.tokens}:
            numbers = [one for one in self._measured if self._is_number(one)]  # "of all orders"
            column = _Column(numbers[0], frozenset()) if len(numbers) == 1 else None
        if column is None or len(self._rows) < len(self._table.rows):
            return None  # a row says its sum
        self._used |= column.tokens
        rows = self._filtered({column.header})
        values = self._values(column.header, rows)
        if not values or len(values) < 2 or next(iter(values.values())).kind != "number":
            return None
        amounts = [value.amount for value in values.values()]
        result = sum(amounts, Decimal(0))
        if mean:
            result = (result / len(amounts)).quantize(Decimal("0.01"), ROUND_HALF_UP).normalize()
        grouped = any("," in self._table.rows[row][column.header].text for row in values)
        around = next(iter(values.values())).around
        short = written(result, around, grouped and self._points[column.header] == ".")
        empty = len(rows) - len(values)
        without = f" ({empty} without a value)" if empty else ""
        name = "mean" if mean else "sum"
        named, short = with_unit(column.header, short)
        said = f"{named}: {short}, the {name} of {len(values)} rows{without}"
        return self._answer(short, said, column, list(values))

    def _answer(
        self,
        short: str,
        said: str,
        column: _Column | None,
        rows: Sequence[int],
        verdict: bool = False,
    ) -> Computed | None:
        """An answer, unless the question says more than the table and the operation."""
        explained = self._explained(column)
        if explained is None:
            return None
        header = self._key if column is None else column.header
        lines = dict.fromkeys(self._table.line(row, header) for row in rows)
        return Computed(short, said, tuple(lines), None, explained, verdict)

    def _explained(self, column: _Column | None) -> float | None:
        """The share of the question's words that are explained; None where too few are."""
        asked, table = self._asked, self._table
        keys = [
            table.rows[row][self._key].value for row in self._rows if self._key in table.rows[row]
        ]
        common = frozenset.intersection(*keys) if keys else frozenset()
        about = stems(self._key or "-") | table.titles | common
        if column is not None:
            about |= stems(column.header)
        content = [n for n, token in enumerate(asked.tokens) if token.content]
        literal = {n for n in content if _is_among(asked.tokens[n].stem, about) or n in self._used}
        literal -= {*self._degree_tokens, *asked.limited}
        known = literal | {
            n for n in content if n in self._used or asked.tokens[n].stem in _FILLING
        }
        if not literal:
            return None
        for number in content:
            if number in known:
                continue
            before = [one.word for one in asked.tokens[max(0, number - 2) : number]]
            if before[-1:] and before[-1] in _BETWEEN:
                before = before[:-1]
            asks_for = before[-1:] in (["which"], ["what"], ["many"]) and self._key
            if (
                asked.tokens[number].name
                or (before[-1:] and before[-1] in _PREPOSITIONS)
                or asks_for
            ):
                return None
        share = len(known) / len(content)
        return share if share >= _MIN_EXPLAINED else None


def _is_among(word: str, others: Iterable[str]) -> bool:
    """Whether a stem is one of others, or of the same compound: "rain" and "rainfall"."""
    return any(
        word == one or (len(word) >= _COMPOUND <= len(one) and one.startswith(word))
        for one in others
    )
