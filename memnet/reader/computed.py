"""Answers that are computed from all rows of a table: comparisons, extremes, counts and sums.

Nothing is computed where an operation, a column or a row that is asked for is not found, where a
cell is of another unit than the others, or where the question says more: "the cheapest in winter".
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import chain, pairwise
from typing import NamedTuple

from memnet.reader.answers import asks_whether
from memnet.reader.cells import HEADERS, doer
from memnet.reader.rows import TIMES, Cell, Row, Table, look_alikes, stem, stems, unit_in
from memnet.reader.values import HOW_MANY, LIMIT_UNIT, ticks_of, unit_of, value_of, with_unit
from memnet.text.english import NUMBER_WORDS, listed, query_terms, word_lists
from memnet.text.names import has_digit

_TOKEN = re.compile(r"\d[\d.,]{0,30}\d|[^\W_]+")
_LIMIT = re.compile(
    r"\b(?:(?P<degree>\w{1,20}) than|(?P<more>over|above|after|since|exceeding|at least)"
    r"|under|below|before|at most|up to|(?P<just>exactly))"
    r" (?:[$€£] ?)?(?P<number>\d[\d.,]{0,20})" + LIMIT_UNIT,
    re.IGNORECASE,
)
_LIST = re.compile(
    r"(?:which|what|(?:please )?(?:list|show(?: me)?|name)(?: all)?(?: the)?)"
    r" (?P<counted>(?!(?:does|has|was|this)\b)\w{2,30}s)\b(?= )",
    re.IGNORECASE,
)
_ONE = re.compile(  # "Which book has no rating?"
    r"(?:which|what) (?P<counted>\w{2,30}) (?:has|is|was|did|does)\b", re.IGNORECASE
)
_MANY_OF = re.compile(
    r"\bhow many of (?:all )?(?:the|our|my|your|these|those)(?: \w{2,30})?? "
    r"(?P<counted>\w{2,30}s)\b",
    re.IGNORECASE,
)
_MEAN = re.compile(r"\baverage\b|(?<=the )mean(?= \w)", re.IGNORECASE)
_FOLD = re.compile(
    r"\b(?:total|sum|altogether|combined|together|in all|overall|add(?:s|ed)? up to"
    r"|(?:in|over) the whole(?: of)?"
    r"|(?:how much|what)\b(?=.{1,40}\b(?:we|I|they|you) (?P<spent>spend|spent|pay|paid)\b)"
    r"|how much(?=.{1,40}\bdid (?:we|I|they|you)\b)"
    rf"|{_MEAN.pattern})\b",
    re.IGNORECASE,
)
_FROM_OR_TO = frozenset("since before after until till from".split())  # Not in that month alone
_IMPLIED = ("how much", "what")  # Of "did we spend": it may also be the cell of one row
_PAID = re.compile(
    r"\bhow much (?:do|does|did|has|have|had|is|was|were)\b.{1,80}\b(?:pay|paid|spend|spent|costs?|"
    r"given?|gave|donated?|raised?|collected|contributed?)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_HOW = re.compile(r"(?:how|when)\b", re.IGNORECASE)
_THE_VALUE = re.compile(r"(?:what(?: is| was| do(?:es)?| did|['’]s)|how|when)\b", re.IGNORECASE)
_DOES = re.compile(r"(?:what|how much) (?:does|do|did)\b|when\b", re.IGNORECASE)  # "cost?"
_WHO_DOES = re.compile(r"who(?! (?:is|was|are|were)\b|['’]s\b)", re.IGNORECASE)
# What is not computed: denials, the second highest, the three highest, what lies between two.
_NOT_COMPUTED = re.compile(
    r"(?:n['’]t|\b(?:not|never|without|except|second|third|\d(?:nd|rd|th)|top|between \d{1,9}"
    r"|no(?= \w{1,20} than)))\b(?= |-)(?! (?:run|row|half|round|shift|floor|class))|\bwhy\b",
    re.IGNORECASE,
)
_OPEN_LATE = re.compile(r"\b(?:stays?|is|are) open(?= (?:the )?(?:latest|longer|later)\b)", re.I)
_FIRST = re.compile(r"\b(?:first|last)(?=\W*$|[,:]? [^,]{1,60} or )", re.IGNORECASE)
_IN_TIME = {"first": "earliest", "last": "latest"}
_CONTRACTED, _WHOLE = re.compile(r"\b(\w{2,5})n['’]t\b"), {"ca": "can", "wo": "will"}
# "Which jobs have not been paid?"
_DENIED = re.compile(
    r"\b(?:not|never)(?: (?:yet been|been yet|yet|been))?(?: (?:on|in|at))? "
    r"(?P<denied>[^\W\d_]{3,20})\b",
    re.IGNORECASE,
)
# Between the first and the last of several rows that follow each other: "May to July"
_TO = frozenset("to through until till".split())
_WHO = re.compile(r"who(?:se)? (?:has|have|had|is|are|was|were|did|do|does|will)\b", re.IGNORECASE)
_HAS_NO = re.compile(r"\b(?:has|have|had|with|paid|made|got|gave) no\b", re.IGNORECASE)
_PEOPLE = stems("people person")
# What the last word of a header ends with that is said of people
_OF_PEOPLE = re.compile(
    r"\b(?:name|who|person|people|member|friend|student|pupil|child|guest|resident|patient|"
    r"volunteer|\w{2,}(?:ist|yer|ant|ler|ver|mer|ger|ser|cher|cker|oner|wner|lder|eper|tor))"
    r"s?$",
    re.IGNORECASE,
)
# More than one thing is asked, or not of all that is named
_SEVERAL = re.compile(
    r"\b(?:and|or|other|each|per|before|after|next|will|would|could|can|than|neither|nor|if|only|"
    r"except|without|not|no)\b",
    re.IGNORECASE,
)
_MOST_OF = re.compile(r"\bthe (?:most|fewest|least) of\b", re.IGNORECASE)  # "do we have"
_KIND = re.compile(  # "Which is the cheapest ferry?"
    r"(?:which|what)(?: (?:is|was) the (?:most \w{2,20}|\w{2,20}st))? (\w{1,40})", re.IGNORECASE
)
# Headers of what rows are called
_TITLED = frozenset(map(stem, ("name", "title", "description", "designation")))
_WORTH = stems("value worth amount money")  # What is in a column of prices
# Headers of columns that say how many
QUANTITIES = stems("pieces quantity qty number amount count units ordered stock")
_NEGATING = frozenset("not never yet been".split())
_NUMBERED = frozenset(map(stem, "name no nr number id code".split()))  # They do not say of what
_ROWS = frozenset(map(stem, "row entry item record line".split()))
_PREPOSITIONS = frozenset("in on at during for of from with by per since until near".split())
_WITH = _PREPOSITIONS.union(("that", "which", "has", "have", "had"))
_PERIODS = frozenset("annual yearly quarterly monthly weekly daily hourly".split())
_BETWEEN = frozenset("the a an all any this that its our their".split())
# Words that say nothing of which rows or column are meant.
_FILLING = stems(" ".join(listed("filling")))
_OF_SUMS = stems(" ".join(listed("filling of sums")))
_MIN_EXPLAINED = 0.6  # Share of a question's words
_MOST_NAMED, _MOST_TIED = 20, 3  # Rows that are named; those of a tie
_VERDICTS = frozenset(("yes", "no"))  # "Who has no room?" names no cell
_OF_FILLING = 0.02  # What a word counts less that says nothing, and no header
_COMPOUND = 4  # Letters of a part of a compound
# Words that ask for more (1) or less (-1) of something.
_AMOUNTS = {"more": 1, "most": 1, "fewer": -1, "less": -1, "fewest": -1, "least": -1}
# Words of the header of a column, its unit or its kind of values: what has more of it: what less.
MEASURES = [
    tuple(frozenset(words.split()) for words in " ".join(line).split(":"))
    for _, line in word_lists("measures.txt")
]
# What more or less of anything is called: "the highest price".
_MORE = frozenset("high big large great long late".split())
_LESS = frozenset("low small short little early".split())
_ADJECTIVES = _MORE.union(_LESS, *(more | less for _, more, less in MEASURES))
_OTHERWISE = {"maximum": "highest", "minimum": "lowest", "further": "farer", "furthest": "farest"}


def headers_of(word: str) -> list[str]:
    """What the header of a column says of which "how tall" is asked, or what it weighs or costs."""
    found = (one for one in MEASURES if word in one[1] or word in one[0])
    return [
        name for one, *_ in found for name in sorted(one) if "day" not in one and name.isalpha()
    ]


class Computed(NamedTuple):
    """What was computed."""

    short: str
    said: str  # What was computed, as a person reads it: "Brelle: Beds 60, the most of 5 rows"
    rows: tuple[Row, ...]  # That it was computed from, those that decide first
    cell: tuple[Row, Cell] | None  # The cell that is the short answer, if one is
    explained: float  # Share of the question's words that the table and the operation explain


class _Token(NamedTuple):
    word: str  # In lower case
    stem: str
    content: bool
    name: bool  # Whether it is written like a name, a number or a code


class _Degree(NamedTuple):
    tokens: frozenset[int]
    sign: int  # 1 of more or of an adjective, -1 of less
    adjective: str  # Its base form; empty of "more" and "fewest"
    superlative: bool


class _Column(NamedTuple):
    header: str
    tokens: frozenset[int] = frozenset()  # That name it
    sign: int = 1  # -1 where less of it is asked for


def operation_of(question: str) -> frozenset[str] | None:
    """Stems of the words that ask to compute; none of "how many", None where nothing does."""
    asked = _Asked(question)
    computes = asked.degree or asked.fold or asked.counted or asked.who
    if _NOT_COMPUTED.search(_DENIED.sub(r"\g<denied>", asked.question, 1)) or not computes:
        return None
    if asked.degree is not None:
        return frozenset(asked.tokens[number].stem for number in asked.degree.tokens)
    said = (found[0].casefold() for found in _FOLD.finditer(question))
    return frozenset(stem(one) for one in said if one not in _IMPLIED)


def compute(question: str, tables: Sequence[Table]) -> Computed | None:
    """The answer from the one table that explains a question best; None if two differ."""
    whole = _Asked(question)
    found: list[Computed] = []
    for table in tables:
        asked = whole
        if whole.limit is not None and any(_says(one, whole.limit[0]) for one in table.headers):
            asked = _Asked(question, limited=False)  # "for dogs over 20 kg", the header of a column
        ways = (
            one
            for one in (table, table.turned_over(table.headers[1:]))
            if one and len(one.rows) > 1
        )
        found += list(filter(None, (_Computation(asked, one).result() for one in ways)))[:1]
    most = max((one.explained for one in found), default=0.0)
    best = [one for one in found if one.explained == most]
    return best[0] if len({one.short for one in best}) == 1 else None


class _Asked:
    """What the words of a question ask to compute."""

    def __init__(self, question: str, limited: bool = True) -> None:
        question = _OPEN_LATE.sub("closes", question)
        # By the column that the rest of the question names: "Which member joined first?"
        self.in_order = _FIRST.search(question) is not None
        question = _FIRST.sub(lambda one: _IN_TIME[one[0].casefold()], question)
        question = _CONTRACTED.sub(lambda one: f"{_WHOLE.get(one[1], one[1])} not", question)
        self.question = question
        content = frozenset(query_terms(question))
        words = list(_TOKEN.finditer(question))
        self.tokens = [
            _Token(
                match[0].casefold(),
                stem(match[0].casefold()),
                match[0].casefold() in content or has_digit(match[0]),
                has_digit(match[0]) or (match.start() > 0 and match[0][0].isupper()),
            )
            for match in words
        ]
        self.limit = limit = _LIMIT.search(question) if limited else None
        within = range(*limit.span()) if limit else ()
        self.limited = frozenset(n for n, match in enumerate(words) if match.start() in within)
        denied = _DENIED.search(question)
        # The token of what is not so, which a column of yes and no says, or empty cells
        self.denied = next(
            (n for n, one in enumerate(words) if denied and one.start() == denied.start("denied")),
            None,
        )
        degrees = list(self._degrees())
        self.degree = degrees[0] if len(degrees) == 1 else None
        # Words that say no cell, and those that say what rows or columns are meant
        self.degrees = frozenset[int]().union(*(one.tokens for one in degrees))
        self.content = [n for n, token in enumerate(self.tokens) if token.content]
        self.fold = _FOLD.search(question)
        self.mean = _MEAN.search(question) is not None
        # "Who has not paid?", "Who has no room?", "Who has fewer than 10 shifts?"
        chosen = denied is not None or limit is not None or _HAS_NO.search(question) is not None
        self.who = chosen and _WHO.match(question) is not None
        listed = _LIST.match(question) or (_ONE.match(question) if chosen else None)
        self.lists = self.who or listed is not None
        counted = listed or _MANY_OF.search(question) or HOW_MANY.search(question)
        self.counted = stem((counted["counted"] or "").casefold()) if counted else ""

    def _degrees(self) -> Iterator[_Degree]:
        words = [token.word for token in self.tokens]
        for number, word in enumerate(words):
            if word in _AMOUNTS and words[max(0, number - 1)] != "at":
                after = words[number + 1 : number + 2]
                adjective = "".join(after) if _ADJECTIVES.issuperset(after) else ""
                tokens = frozenset((number, number + bool(adjective)))
                yield _Degree(tokens, _AMOUNTS[word], adjective, word.endswith("st"))
            elif base := _base(word):
                yield _Degree(frozenset((number,)), 1, *base)

    def naming(self, header: str) -> frozenset[int]:
        """The tokens that say a header, also in other words: "own" of "Owner"."""
        said = (
            {one.stem, doer(one.stem), *stems(HEADERS.get(one.word, ""))} for one in self.tokens
        )
        return frozenset(n for n, words in enumerate(said) if words & stems(header))

    def saying(self, words: Collection[str]) -> frozenset[int]:
        """The tokens with one of some stems."""
        return frozenset(n for n, token in enumerate(self.tokens) if token.stem in words)


def _base(word: str) -> tuple[str, bool] | None:
    """The adjective that a word is the comparative or superlative of, and whether the latter."""
    word = _OTHERWISE.get(word, word)
    for ending in ("er", "est"):
        root = word.removesuffix(ending)
        for base in (root, root + "e", root[:-1] + "y", root[:-1]):
            if root != word and base in _ADJECTIVES:
                return base, ending == "est"
    return None


class _Computation:
    """One way to answer a question from one table."""

    def __init__(self, asked: _Asked, table: Table) -> None:
        self.asked = asked
        self.table = table
        self._used = set[int]()  # Tokens that are explained
        self._sums = False  # Whether a sum or mean is calculated
        self._negated = False  # Whether what the question denies was taken into account
        self._cells = set[tuple[str, str]]()  # That the question names
        self._empty = 0  # Cells that say neither yes nor no
        self._kinds = dict[str, tuple[str, str]]()  # And units, by header
        counts = re.search(r"\bhow many\b", asked.question, re.IGNORECASE) is not None
        # A price is none of "how many tickets", whatever its header says.
        self._prices = [one for one in table.measured if counts and self._sign("expensive", one)]

    def result(self) -> Computed | None:
        """The answer, if the table gives one."""
        asked = self.asked
        if asked.limit is None and asked.degree is None and asked.fold:
            return self._folded()
        if asked.counted and any(
            asked.counted in stems(unit_in(one.values())) for one in self.table.rows
        ):
            return None  # "How many tubes of grease are there?" is said in the row of grease.
        if (asked.counted or asked.who) and not (asked.degree and asked.degree.superlative):
            selected = self._selected() or _Computation(asked, self.table)._folded()
            if selected or not asked.lists:  # "Which costs more, ...?"
                return selected
        return None if asked.degree is None else self._compared(asked.degree)

    def _column(self, taken: Collection[int] = ()) -> _Column | None:
        """The column that is compared; None where two fit equally."""
        degree = self.asked.degree or _Degree(frozenset(), 1, "", False)
        named = self._named_column({*taken, *degree.tokens})
        kind = _KIND.match(self.asked.question)
        names = stems(self.table.key) | self.table.titles
        if self.asked.in_order and (named is None or not self._orders(named.header)):
            return None
        of_rows = kind is not None and stem(kind[1].casefold()) in names
        of_key = named is None or named.header == self.table.key
        if of_key and of_rows and _MOST_OF.search(self.asked.question):
            named = self._of_amounts()
        if not degree.adjective:
            return named and named._replace(sign=degree.sign)
        fits = {
            one: sign for one in self.table.measured if (sign := self._sign(degree.adjective, one))
        }
        # "The highest price"
        after = named is not None and max(degree.tokens) + 1 in named.tokens
        if named and (after or not fits or named.header in fits):
            general = (degree.adjective in _MORE) - (degree.adjective in _LESS)
            if not general and self._kind(named.header) == ("number", ""):
                # Of a price list without a currency
                general = self._sign(degree.adjective, "price", titled=True)
            sign = fits.get(named.header, general)
            return named._replace(sign=sign * degree.sign) if sign else None
        # "Older" is said of a column "Born" before one of days on which something else happened.
        titled = [one for one in fits if self._sign(degree.adjective, one, titled=True)] or [*fits]
        column = _only(titled)
        return column and column._replace(sign=fits[column.header] * degree.sign)

    def _orders(self, header: str) -> bool:
        """Whether a column of days puts rows in order, or one of times where there are no days."""
        kinds = {one: self._kind(one)[0] for one in self.table.measured}
        if self._has_years(header) or kinds[header] == "day":
            return True
        return kinds[header] == "time" and "day" not in kinds.values()

    def _named_column(self, taken: Collection[int]) -> _Column | None:
        """The measured column that the question's words name best; None where two fit equally."""
        columns: list[tuple[int, int, bool, int, str, frozenset[int]]] = []
        asked = {n: self.asked.tokens[n] for n in self.asked.content if n not in taken}
        for header in self.table.measured:
            if header in self._prices:
                continue
            words, written = stems(header), _words(header)
            alike = frozenset[str]().union(*(one for one, *_ in MEASURES if one & written))
            named = {n for n, one in asked.items() if one.stem in words or one.word in alike}
            hits = {asked[n].stem for n in named} & words
            if named:
                whole = _says(self.asked.question, header)  # "over 20 kg", not "up to 20 kg"
                order = len(hits), len(named), whole, -len(words - hits)
                columns.append((*order, header, frozenset(named)))
        columns.sort(reverse=True)
        tied = len(columns) > 1 and columns[0][:4] == columns[1][:4]
        return None if not columns or tied else _Column(*columns[0][4:])

    def _sign(self, adjective: str, header: str, titled: bool = False) -> int:
        """Whether an adjective means more (1) or less (-1) of a column; 0 if it is not about it.

        That is by its header and, unless only that is asked for (``titled``), its units and the
        kind of its values: "longer" is said of "Length (km)" before "Interval (min)".
        """
        words = _words(with_unit(header, "1")[0] if titled else header)
        if not titled:
            kind, unit = self._kind(header)
            words |= {kind, unit.casefold()} - {"year"}  # which is the unit of days
        found = (
            (adjective in more) - (adjective in less)
            for headers, more, less in MEASURES
            if words & headers
        )
        return next(filter(None, found), 0)

    def _kind(self, header: str) -> tuple[str, str]:
        """The kind and the unit of the values of a column; empty where they can't be compared."""
        if header not in self._kinds:
            values = self.table.values(header, self.table.counted) or {}
            kinds = ((one.kind, one.unit) for one in values.values())
            self._kinds[header] = next(kinds, ("", ""))
        return self._kinds[header]

    def _has_years(self, header: str) -> bool:
        """Whether all cells of a column are years."""
        return all(map(_YEAR.fullmatch, self.table.texts[header].values()))

    def _of_amounts(self) -> _Column | None:
        """The one measured column that says how many."""
        return _only([one for one in self.table.measured if stems(one) & QUANTITIES])

    def _mentioned(self, header: str) -> dict[int, frozenset[int]]:
        """The rows whose cell in a column the question says, with the words that say it.

        A text that is a part of another one that is said does not count. Of one that is not said
        entirely, words count that no other row has.
        """
        asked, table = self.asked, self.table
        free = set(range(len(asked.tokens))) - asked.degrees - asked.limited
        said = {asked.tokens[n].stem for n in free.intersection(asked.content)} - _VERDICTS
        texts = ((row, table.rows[row][header]) for row in self._with(header))
        cells = {
            n: one.value
            for n, one in texts
            if not look_alikes(asked.question, one.text, table.above)
        }
        counts = Counter(chain.from_iterable(cells.values()))
        known = frozenset[str]().union(*map(stems, table.headers), table.titles)
        found = [frozenset[int]()] * len(table.rows)
        for row, value in cells.items():
            alone = {word for word in value & said - known if counts[word] == 1}
            found[row] = asked.saying(value if value <= said else alone) & free
        part = [own for own in found if any(own < other for other in found)]
        return {row: own for row, own in enumerate(found) if own and own not in part}

    def _with(self, header: str) -> list[int]:
        """The rows that count and have a cell in a column."""
        return [row for row in self.table.counted if header in self.table.rows[row]]

    def _compared(self, degree: _Degree) -> Computed | None:
        """The row with the most or least of a column, of all or of those that are named."""
        asked, table = self.asked, self.table
        names = (one for one in table.headers if one == table.key or one not in table.measured)
        found = {one: self._mentioned(one) for one in names}
        apart = [n for n, own in found.items() if len({table.texts[n][m] for m in own}) == len(own)]
        header = next((one for one in apart if len(found[one]) > 1), table.key)
        named = found[header]
        taken = frozenset[int]().union(*named.values())
        column = self._column(taken) or (self._column() if named else None)
        if column is None or column.header == header or header not in apart:
            return None
        self._used |= degree.tokens | taken | column.tokens
        rows = list(named)
        if len(named) < 2 and degree.superlative:
            rows = self._filtered({header, column.header})
        values = table.values(column.header, rows) or {}
        if len(values) < 2 or (len(named) > 1 and len(values) < len(rows)):
            return None
        ordered = sorted(values, key=lambda row: -column.sign * values[row].amount)
        first = [row for row in ordered if values[row].amount == values[ordered[0]].amount]
        of_two = " than " in asked.question or len(named) == 1
        if named and of_two and asks_whether(asked.question):
            shared = frozenset.intersection(*named.values())
            subject = min(named, key=lambda row: min(named[row] - shared, default=0))
            both = dict.fromkeys(rows if len(named) > 1 else [*first, subject])
            said = "; ".join(self._said(row, column.header) for row in both)
            right = "yes" if first == [subject] else "no"
            return None if len(named) > 2 else self._answer(right, said, column.header, both)
        if len(first) > 1 and (len(first) == len(values) or not degree.superlative):
            return None  # none of them has more
        output = self._output(header, column, degree)
        if output is None or not table.texts[output].keys() >= set(first):
            return None
        texts = list(dict.fromkeys(with_unit(output, table.texts[output][row])[1] for row in first))
        some = ordered if len(ordered) == 2 else first
        said = "; ".join(self._said(row, column.header) for row in some)
        if some is first:
            is_number = values[first[0]].kind == "number"
            most = "most least" if is_number else "latest earliest"
            said += f", the {most.split()[column.sign < 0]} of {len(values)} rows"
        shown = first if degree.superlative else ordered
        answer = self._answer(_listed(texts, " and ", _MOST_TIED), said, column.header, shown)
        if answer is None or len(texts) > 1 or (table.turned and output == table.key):
            return answer
        row, cell = table.line(first[0], column.header), table.rows[first[0]][output]
        # Of a row that is cut, the other parts have offsets of their own.
        if row.item.slot.text[cell.start : cell.end] != cell.text:
            return answer
        return answer._replace(cell=(row, cell))

    def _output(self, header: str, column: _Column, degree: _Degree) -> str | None:
        """The header of what is asked for: that of the names of rows, of values, or another."""
        asked = self.asked
        self._used |= asked.saying(stems(header))
        wanted = {asked.tokens[n].stem for n in asked.content if n not in self._used}
        for one in self.table.headers:
            if one not in (column.header, header) and wanted & stems(one):
                self._used |= asked.saying(stems(one))
                return one
        kind = _KIND.match(asked.question)
        of_key = kind and stem(kind[1].casefold()) in stems(header)
        coded = all(map(has_digit, self.table.texts[header].values()))
        if header == self.table.key and ((kind and not of_key) or coded):
            # "Which book has the most pages?" where the months stand first, or numbers
            header = next((one for one in self._titles() if one != column.header), header)
        # "What is the highest price?", "What is the price of the cheapest?", "What does it cost?"
        content = [n for n in asked.content if n > 1 and n not in degree.tokens] or [0]
        value = {content[0], content[-1] if _DOES.match(asked.question) else 0} & column.tokens
        after = max(degree.tokens) + 1 in column.tokens  # Not the price of the largest
        before = {one.word for one in asked.tokens[: min(degree.tokens)]}
        own = after and before.isdisjoint(_WITH)  # "The club's highest fee"
        if (value or own) and degree.superlative and _THE_VALUE.match(asked.question):
            return column.header if after or self._sign(degree.adjective, column.header) else None
        if _WHO_DOES.match(asked.question) and asked.saying(stems(header)):
            others = (one for one in self.table.headers if one not in self.table.measured)
            # "Who caught the heaviest fish?" is asked of no fish.
            return next(filter(_OF_PEOPLE.search, (header, *others)), None)
        return None if _HOW.match(asked.question) else header

    def _titles(self) -> Iterator[str]:
        """The headers of what rows are called."""
        return (one for one in self.table.headers if stems(one) & _TITLED)

    def _filtered(self, without: Collection[str]) -> list[int]:
        """The rows with the cells that the question says whole, of each column that it says one of.

        That of a column of values has a unit, or the question says its header: "10 frames".
        """
        asked, table = self.asked, self.table
        rows = table.counted
        names = {n: one for n, one in enumerate(asked.tokens) if one.name and n not in self._used}
        period = {
            n for n, one in names.items() if one.stem in TIMES[0] or _YEAR.fullmatch(one.word)
        }
        period -= {n - 1 for n, one in names.items() if one.word.isalpha()}  # "Jan" of "Jan Roth"
        if any(asked.tokens[n - 1].word in _FROM_OR_TO for n in period if n):
            period = set()
        said = {names[n].stem for n in period}
        for header in (one for one in table.headers if one not in without):
            days = table.values(header, rows) or {}
            if period and days and all(value.kind == "day" for value in days.values()):
                rows = [row for row in days if said <= table.rows[row][header].value]
                self._used |= period
                continue
            titled = asked.naming(header)
            full = {
                row: own
                for row, own in self._mentioned(header).items()
                if table.rows[row][header].value <= {asked.tokens[n].stem for n in own}
                and not own & self._used
                and (header not in table.measured or len(own) > 1 or max(own) + 1 in titled)
            }
            between = self._between(header, full)
            if between is None:
                continue  # Its names stay unexplained.
            if full:
                tokens = titled.union(*full.values())
                chosen: Collection[int] = between or full
                self._cells |= {(header, table.texts[header][row]) for row in chosen}
                if asked.denied in tokens:  # "How many are not done?"
                    self._negated = True
                    chosen = [row for row in self._with(header) if row not in chosen]
                rows = [row for row in rows if row in chosen]
                self._used |= tokens
        return rows

    def _between(self, header: str, named: Mapping[int, frozenset[int]]) -> range | None:
        """The rows from the first to the last of two that are named; empty where no more are meant.

        None where that is not clear: rows in no order, or several of one name.
        """
        tokens, places = self.asked.tokens, sorted({min(own) for own in named.values()})
        if not any(
            tokens[last - 1].word in _TO
            or (tokens[last - 1].word == "and" and tokens[first - 1].word == "between" and first)
            or last == first + 1  # "May-July"
            for first, last in pairwise(places)
        ):
            return range(0)
        rows = sorted(named, key=lambda row: min(named[row]))
        cells = [self.table.rows[row][header].value for row in rows]
        ordered = any(all(one <= times for one in cells) for times in TIMES) or all(
            any(map(has_digit, one)) for one in cells
        )
        joined = tokens[places[-1] - 1].word in {*_TO, "and"}
        if len(places) != 2 or len(rows) != 2 or not (ordered and joined) or rows[0] > rows[1]:
            return None
        return range(rows[0], rows[1] + 1)

    def _selected(self) -> Computed | None:
        """How many rows there are, or which, with what the question says of them."""
        asked, table = self.asked, self.table
        unmeasured = [one for one in table.headers if one not in table.measured]
        # The column of what is counted, in which each row has a cell
        own = (one for one in unmeasured if asked.counted in stems(one))
        key = next((one for one in own if len(table.texts[one]) == len(table.rows)), table.key)
        if asked.counted in table.titles and asked.counted not in stems(key):
            key = next(self._titles(), key)  # "Which book has no rating?" of a list of books
        if asked.who:
            key = next(filter(_OF_PEOPLE.search, unmeasured), "")
        meant = stems(key)
        texts = list(table.texts.get(key, {}).values())
        # The rows of "concerts.csv" are concerts; numbers and codes say nothing of what they are.
        numbered = table.key != table.headers[0] or all(map(has_digit, texts))
        of_them = numbered or table.titles == {asked.counted}
        if meant & (_NUMBERED | _TITLED) or len(set(texts)) < len(table.rows) or of_them:
            meant |= table.titles  # They say of what.
        if _OF_PEOPLE.search(key):
            meant |= _PEOPLE
            self._used |= asked.saying(stems("work"))  # "How many people work here?"
        # "How many joiners are there?"
        cells = (cell for row in table.rows for cell in row.values() if cell.header != key)
        # A column says how many, if not the numbers of the rows: "Member no."
        first = table.texts[table.headers[0]].values()
        plain = [table.headers[0]] if all(map(str.isdigit, first)) else []
        counts = [one for one in (*plain, *table.measured) if asked.counted in stems(one)]
        if any(self._kind(one)[0] == "number" and not self._numbers_rows(one) for one in counts):
            return None
        known = asked.counted in _ROWS | meant
        called = not known and any(cell.value == {asked.counted} for cell in cells)
        if asked.who:
            known = bool(key)
        if not (known or called) or table.turned or (asked.degree and not asked.limit):
            return None
        self._used |= asked.degrees | asked.saying(stems(key))
        if not called:
            self._used |= asked.saying({asked.counted})
        rows, header, what = table.counted, key, ""
        if asked.limit is not None:
            if asked.limit["degree"] and asked.degree is None:
                return None  # more or less of what?
            column = self._column(asked.limited - asked.degrees) or self._of_unit()
            number = value_of(asked.limit["number"].rstrip(".,"))
            if column is None or number is None or self._kind(column.header)[0] != number.kind:
                return None  # a year is none of several days
            units = self._units(column.header)
            if asked.limit["unit"] and units and unit_of(asked.limit["unit"]) not in units:
                return None
            self._used |= asked.limited | column.tokens
            header = column.header
            what = f": {with_unit(header, '1')[0]} {asked.limit[0].strip()}"
            values = table.values(header, rows) or {}
            above = {row: value.amount - number.amount for row, value in values.items()}
            rows = [row for row in above if _within(asked.limit, column.sign, above[row])]
        rows = [row for row in self._ticked(self._filtered({key, header})) if row in rows]
        if self._stands_elsewhere():
            return None
        if asked.who:  # "Who has not returned a book?"
            whole = (one for one in table.headers if len(self._with(one)) == len(table.rows))
            self._used |= asked.saying(stems(" ".join(whole)))
        of = f" of {len(table.counted)}" if what or len(rows) < len(table.counted) else ""
        said = f"{len(rows)}{of} rows{what}" if of else _rows(len(rows))
        said += f", {self._empty} without a value" if self._empty else ""
        named = [table.texts[key][row] for row in rows if row in table.texts[key]]
        names = list(dict.fromkeys(named))
        if not asked.lists:
            several = key != table.key and len(names) < len(named)  # Rows, or what they name?
            answer = self._answer(str(len(rows)), said, header, rows or table.counted)
            return None if several else answer
        if not of or not names or len(named) < len(rows):
            return None
        short = _listed(names, ", ", _MOST_NAMED)
        return self._answer(short, f"{short} ({said})", header, rows)

    def _stands_elsewhere(self) -> bool:
        """Whether a name by which rows are chosen also stands in another column than that one."""
        return any(
            text in self.table.texts[other].values()
            for header, text in self._cells
            if not has_digit(text) and ticks_of([text]).get(text) is None
            for other in self.table.headers
            if other != header
        )

    def _numbers_rows(self, header: str) -> bool:
        """Whether a column of numbers is that of the rows: "Member no.", or one by one."""
        words = _TOKEN.findall(header.casefold())
        if len(words) > 1 and stem(words[-1]) in _NUMBERED:
            return True
        values = (self.table.values(header, self.table.counted) or {}).values()
        return all(two.amount == one.amount + 1 for one, two in pairwise(values))

    def _of_unit(self) -> _Column | None:
        """The one measured column of the unit of a limit, or of years, which the limit may be."""
        degree, limit, table = self.asked.degree, self.asked.limit, self.table
        year = limit is not None and _YEAR.fullmatch(limit["number"]) and not limit["degree"]
        if limit is None or not (limit["unit"] or year) or (degree and degree.adjective):
            return None
        unit = unit_of(limit["unit"] or "")
        found = [
            one
            for one in table.measured
            if unit in self._units(one) or (year and self._has_years(one))
        ]
        column = _only(found)
        return column and column._replace(sign=degree.sign if degree else 1)

    def _units(self, header: str) -> set[str]:
        """The units that a column says, in its header or its cells."""
        found = with_unit(header, "1")[1].removeprefix("1").strip(), self._kind(header)[1]
        return {unit_of(one) for one in found if one}

    def _ticked(self, rows: list[int]) -> list[int]:
        """Those of some rows with a yes in the columns of yes and no that the question names."""
        for header, texts in self.table.texts.items():
            named = self.asked.saying(stems(header)) - self._used
            if not named:
                continue
            denied = self._is_denied(named)
            ticks = ticks_of(texts.values())
            said = {row: ticks[text] for row, text in texts.items() if text in ticks}
            values = {*said.values()}
            if True in values and None not in values:
                empty = None if False in values else False  # Beside "no", "" is not given
                wanted = not denied
                unknown = texts.keys() - said.keys()
                lacks = [row for row in rows if row not in said]
                self._empty += len(lacks if wanted in values else unknown.intersection(lacks))
                said |= dict.fromkeys(unknown)
                rows = [row for row in rows if said.get(row, empty) == wanted]
            elif denied and len(texts) < len(self.table.rows):
                rows = [row for row in rows if row not in texts]  # "Returned on" of what was not
            else:
                continue
            self._used |= named
            if denied and self.asked.denied is not None:
                self._negated = True
                self._used.add(self.asked.denied)
            if denied and (number := min(named) - 1) > 0 and self.asked.tokens[number].word == "no":
                done = self.asked.tokens[number - 1].stem in _OF_SUMS  # "paid no fee"
                self._used |= {number, number - done}
        return rows

    def _is_denied(self, named: Collection[int]) -> bool:
        """Whether what a column says is denied: "not returned", "no room", "not paid a fee"."""
        tokens, denied = self.asked.tokens, self.asked.denied
        if denied in named or tokens[min(named) - 1].word == "no":
            return True
        if denied is None or denied > min(named) or tokens[denied].stem not in _OF_SUMS:
            return False
        return all(one.word in _BETWEEN for one in tokens[denied + 1 : min(named)])

    def _folded(self) -> Computed | None:
        """The sum or the mean of a column; how many there are by it, of some rows, is its sum."""
        table, fold, column = self.table, self.asked.fold, self._named_column(())
        if fold is None and (
            self.asked.lists
            or self.asked.counted not in stems(column.header if column else "")
            or _SEVERAL.search(self.asked.question)
        ):
            return None
        self._sums = True
        if column is None and self.asked.counted:  # "How many croissants were ordered in all?"
            cells = (cell for row in table.rows for cell in row.values())
            called = any(cell.value == {self.asked.counted} for cell in cells)
            column = self._of_amounts() if called else None
        own = fold is None or fold[0].casefold() in _IMPLIED
        numbers = [one for one in table.measured if self._kind(one)[0] == "number"]
        prices = [one for one in numbers if self._sign("expensive", one)]
        if column is None and (own or self.asked.saying(stems(table.key))):  # "of all orders"
            spent = len(numbers) > 1 and fold is not None and fold["spent"]
            column = _only(prices if spent else numbers)
        if column is None and fold is not None and _PAID.search(self.asked.question):
            # Beside hours or pieces a price is that of one.
            column = _only(prices) if prices == numbers else None
        if column is None:
            return None
        header = column.header
        self._used |= column.tokens
        rows = self._filtered({header})
        if len(rows) == len(table.counted) < len(table.rows) and not self.asked.mean:
            return None  # a row says its sum
        found = list((table.values(header, rows) or {}).items())
        of_one = len(rows) < len(table.counted) and not self.asked.mean
        least = 1 if fold is not None and (own or of_one) else 2
        if len(found) < least or found[0][1].kind != "number":
            return None
        if own and len(rows) == len(table.rows):
            return None  # of which?
        if fold is None and len(self._cells) != 1:
            return None
        result, name = sum((value.amount for _, value in found), Decimal(0)), "sum"
        if self.asked.mean:
            mean = (result / len(found)).quantize(Decimal("0.01"), ROUND_HALF_UP)
            result, name = mean.normalize(), "mean"
        short = table.written(header, [row for row, _ in found], result)
        empty = len(rows) - len(found)
        without = f" ({empty} without a value)" if empty else ""
        named = with_unit(header, short)[0]
        said = f"{named}: {short}, the {name} of {_rows(len(found))}{without}"
        return self._answer(short, said, header, [row for row, _ in found])

    def _said(self, row: int, header: str) -> str:
        key = self.table.texts[self.table.key].get(row, f"row {row + 1}")
        return f"{key}: {' '.join(with_unit(header, self.table.texts[header][row]))}"

    def _answer(self, short: str, said: str, header: str, rows: Iterable[int]) -> Computed | None:
        """An answer, unless the question says more than the table and the operation.

        A count of rows needs every word explained: "How many orders are open?" is not how
        many orders there are.
        """
        asked, table = self.asked, self.table
        if asked.denied is not None and not self._negated:
            return None
        keys = [table.rows[row][table.key].value for row in self._with(table.key)]
        about = stems(table.key) | stems(header) | table.titles
        about |= frozenset.intersection(*keys) if keys else frozenset()
        about = about.union(*map(stems, self._prices))
        if header and self._sign("expensive", header):
            about |= _WORTH
        known = {*self._used, *asked.saying(about)}
        many = [
            n for n in asked.content if n and asked.tokens[n - 1].word in ("all", "both", "the")
        ]
        known |= {n for n in many if NUMBER_WORDS.get(asked.tokens[n].word) == len(table.counted)}
        for number in asked.content:  # "rain" and "rainfall"
            word = asked.tokens[number].stem
            if len(word) >= _COMPOUND and any(one.startswith(word) for one in about):
                known.add(number)
        # Of what the operation is, and not only that there is one
        literal = known.intersection(asked.content) - asked.degrees - asked.limited
        filled = asked.saying(_FILLING).intersection(asked.content) - known
        known |= filled
        of_rows = not asked.degrees and not self._sums
        if not of_rows:  # "How many have been paid?" is not how many there are.
            known |= asked.saying(_OF_SUMS)
        if self._negated:
            known |= {n for n, one in enumerate(asked.tokens) if one.word in _NEGATING}
        unknown = set(asked.content) - known
        if unknown and of_rows:
            return None
        for number in unknown:
            before = ["", *(one.word for one in asked.tokens[max(0, number - 2) : number])]
            # "The cheapest vegetarian dish", "the total value of the stock"
            within = number - 1 in asked.degrees and number + 1 in asked.content
            of_sum = before[-1] in ("total", "average", "mean")
            if within or (of_sum and asked.tokens[number].word not in _PERIODS):
                return None
            if before[-1] in _BETWEEN:
                before.pop()
            names_column = before[-1] in ("which", "what", "many") and table.key
            if asked.tokens[number].name or before[-1] in _PREPOSITIONS or names_column:
                return None
        # "July" of a column "Month" explains a question for a month better than any other word.
        explained = len(known.intersection(asked.content)) - _OF_FILLING * len(filled)
        share = explained / max(1, len(asked.content))
        if not literal or share < _MIN_EXPLAINED:
            return None
        lines = dict.fromkeys(table.line(row, header) for row in rows)
        return Computed(short, said, tuple(lines), None, share)


def _only(headers: Sequence[str]) -> _Column | None:
    """The column of one header; None of several."""
    return _Column(headers[0]) if len(headers) == 1 else None


def _says(text: str, phrase: str) -> bool:
    """Whether a text has all words of a phrase in their order."""
    words, said = (" ".join(_TOKEN.findall(one.casefold())) for one in (phrase, text))
    return f" {words} " in f" {said} "


def _listed(texts: Sequence[str], joint: str, most: int) -> str:
    """Texts in a row, the first ones if there are many."""
    more = len(texts) - most
    return joint.join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"


def _words(header: str) -> frozenset[str]:
    """The words and signs of currency of a header, as they are written."""
    return frozenset(re.findall(r"[^\W_]+|[$€£]", header.casefold()))


def _within(limit: re.Match[str], sign: int, above: Decimal) -> bool:
    """Whether what is so much above the number of a limit is within it; ``sign`` of a column."""
    if above == 0:
        return bool(limit["just"]) or limit[0][:3].casefold() in ("at ", "up ", "sin")
    more = sign > 0 if limit["degree"] else bool(limit["more"])
    return not limit["just"] and (above > 0) == more
