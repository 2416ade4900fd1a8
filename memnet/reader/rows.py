"""Rows of tables in the text of slots, and the words of their cells."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import chain, groupby, product, takewhile
from operator import lt
from typing import NamedTuple

from memnet.reader.passages import RankedSlot, may_hold_rows
from memnet.reader.values import NOT_GIVEN, Value, decimal_point, value_of, with_unit
from memnet.text.dates import MONTH_NAMES
from memnet.text.english import IRREGULAR_VERBS, is_foreign, query_terms, uninflected
from memnet.text.names import STEM_LETTERS, has_digit
from memnet.text.relative import WEEKDAYS

_LABELLED = re.compile(r"; (?=[^;:\n]{1,60}: )")
# "Fee: 20 francs", and the lines of menus: "Rice pudding ....... 5.40"
_BEGINS_WITH_LABEL = re.compile(r"(?P<label>[^\W\d_][^:;|.!?]{0,39}?)(?:: | ?\.{4,200} ?)")
_LABEL = re.compile(_BEGINS_WITH_LABEL.pattern + r"(?P<value>(?:(?!\.{4})[^|]){1,79}(?<![.!?,;:]))")
_NUMBERED = re.compile(
    r"(?:^|(?<=[,;:–—-] ))(?P<label>(?:[^\W\d_]{2,20} ){0,2}[^\W\d_]{2,20}) "
    r"(?:(?:no\.?|nr\.?|number|№) ?)?(?P<code>(?!(?:1[5-9]|20)\d\d\b)(?=[^\s,;]{0,20}\d)"
    r"[\w/.-]{1,20}(?: \d{1,6}){0,4})(?=[,;]|$| [–—-] )"
)
_SENTENCES = re.compile(r"[^\W_]{4}[.!?](?:\s|$)|[.!?]$", re.MULTILINE)
_BAR = re.compile(r"(?:^|(?<= ))\|(?= |$)")
_CONTEXT = " — "  # Before the header of a table in the title of its later parts
_LINE = re.compile(r"[^\n]+")
_OTHER_MARKS = str.maketrans(",.", ".,")
_MAX_CAPTION = 80  # Characters of a heading or a sentence above a table
_OVERALL = frozenset(("total", "sum", "avera", "mean", "subto", "overa", "all"))  # Stems
_DATE = re.compile(r"\b\d{4}-(\d\d)-(\d\d)\b")
_MOST_TURNED = 50  # Rows of a table whose columns are taken for its rows
_IN_FULL = {name[:3].lower(): name.lower() for name in (*WEEKDAYS, *MONTH_NAMES)}
# No form of "sit", no "Sat nav" or "SAT score"; "Sat and Sun" are days
SATURDAY = re.compile(
    r"\bS(?:at|AT)\b(?! (?!(?:and|or|to|till|until|through|in|at|from|only|is|the|mornings?|"
    r"afternoons?|evenings?|nights?)\b)[a-z])|^sat$"
)
# "Mon-Fri", "April to June", and what ranges of days are called
_TIME = "|".join(dict.fromkeys((*_IN_FULL, *_IN_FULL.values(), "thur", "sept")))
_RANGE = re.compile(rf"\b({_TIME})s?\.?(?: ?[-–—] ?| (?:to|until|till|through) )({_TIME})s?\b")
_BETWEEN = {  # "Friday to Monday" goes over the end
    (one[:3].lower(), two[:3].lower()): (*names, *names)[n : n + (m - n) % len(names) + 1]
    for names in (MONTH_NAMES, WEEKDAYS)
    for (n, one), (m, two) in product(enumerate(names), repeat=2)
}
_CALLED = {"daily": "mon-sun", "every day": "mon-sun", "weekday": "mon-fri", "weekend": "sat-sun"}
_EXCEPT = re.compile(r"\b(?:except|excluding|but|apart from|not|closed)\b", re.IGNORECASE)
# Endings of "Mexican" and "Mexico", by which names differ that are of one place
_OF_PLACE, _PLACE = re.compile(r"[ie]?an|u?ese|ish|ic"), re.compile(r"i?[aeoy]|um|us|on|al|")
_LONG = re.compile(rf"(?<=\W)\w{{{STEM_LETTERS + 1},40}}")  # A word, but the first one
_OF_UNITS = frozenset(("unit", "units", "uom", "einheit"))
# Share of the headers of a row that those of a table have if it is one of its rows: in a sheet
# empty cells have none.
_OF_TABLE = 0.5


class Cell(NamedTuple):
    """A cell of a row; its text is ``text[start:end]`` of its slot."""

    header: str  # Of its column; empty without one
    text: str
    start: int
    end: int

    @property
    def named(self) -> frozenset[str]:
        """Stems of its header."""
        return stems(self.header)

    @property
    def value(self) -> frozenset[str]:
        """Stems of its text."""
        return stems(self.text)

    @property
    def times(self) -> frozenset[str]:
        """Stems of a text of days or months alone, each one in its ranges; empty without any."""
        return _times_of(self.text)


def unit_in(cells: Iterable[Cell]) -> str:
    """What the numbers of a row are of, by its column "Unit"; empty without one."""
    units = (one.text for one in cells if one.header.casefold() in _OF_UNITS)
    return next((one for one in units if not has_digit(one)), "")


class Row(NamedTuple):
    """A row of a table."""

    item: RankedSlot  # That it stands in
    cells: tuple[Cell, ...]  # Where cells are labelled, without the empty ones
    above: str = ""  # The heading, or short line, above its table in the slot

    @property
    def title(self) -> str:
        """Of its slot, with what stands above its table."""
        title = self.item.slot.title
        return f"{title} > {self.above}" if self.above and self.above not in title else title

    @property
    def values(self) -> frozenset[str]:
        """Stems of its cells."""
        return frozenset[str]().union(*(cell.value for cell in self.cells))

    @property
    def said(self) -> frozenset[str]:
        """Stems of its headers and cells."""
        return frozenset().union(*(cell.named | cell.value for cell in self.cells))


@dataclass(frozen=True)
class Table:
    """Rows under the same headers."""

    headers: tuple[str, ...]
    rows: tuple[dict[str, Cell], ...]  # By their headers, without the empty ones
    lines: tuple[Row, ...]  # The rows as they stand in the text, in the same order
    titles: frozenset[str]  # Stems of what stands above it
    turned: bool = False  # Whether its columns are taken for its rows

    @cached_property
    def above(self) -> str:
        """Its headers, and the title of its rows."""
        return " ".join((*self.headers, *(one.title for one in self.lines[:1])))

    @cached_property
    def texts(self) -> dict[str, dict[int, str]]:
        """The texts of the cells of each column, by row."""
        rows = list(enumerate(self.rows))
        return {
            header: {number: row[header].text for number, row in rows if header in row}
            for header in self.headers
        }

    @cached_property
    def points(self) -> dict[str, str]:
        """What stands before decimals in each column, or else in the table."""
        of_all = decimal_point(chain.from_iterable(map(dict.values, self.texts.values()))) or "."
        return {
            header: decimal_point(texts.values()) or of_all for header, texts in self.texts.items()
        }

    @cached_property
    def key(self) -> str:
        """The header of the names of rows: the first one, or what comes after their numbers."""
        first, *others = self.headers
        amounts = [one.amount for one in (self.values(first, self.texts[first]) or {}).values()]
        if first and amounts and not self.turned and all(map(lt, amounts, amounts[1:])):
            for header in others:
                if len({*self.texts[header].values()}) == len(self.rows) and not self._share(
                    header
                ):
                    return header
        return first

    @cached_property
    def counted(self) -> list[int]:
        """The rows but for those that sum others up."""
        keys = ((row, key.casefold()) for row, key in self.texts[self.key].items())
        named = ((row, stems(key.removeprefix("grand "))) for row, key in keys)
        sums = {row for row, own in named if own and own <= _OVERALL}
        return [row for row in range(len(self.rows)) if row not in sums]

    @cached_property
    def measured(self) -> list[str]:
        """The headers of the columns whose cells have values, without numbers and codes of rows."""
        coded = any(text[:1].isalpha() for text in self.texts[self.key].values())
        names = self.headers[1:] if coded else (self.key, *self.headers[1:])
        return [header for header in self.headers if header in names and self._share(header) > 0.5]

    def _share(self, header: str) -> float:
        """The share of the cells of a column that have values; 0 without a header."""
        texts, point = self.texts[header].values(), self.points[header]
        found = sum(value_of(text, point) is not None for text in texts)
        return found / len(texts) if header and texts else 0.0

    def values(self, header: str, rows: Iterable[int]) -> dict[int, Value] | None:
        """The values of a column, by those of some rows whose cells give any.

        None where one is of another kind or unit than the others: they can't be compared.
        """
        texts, point = self.texts[header], self.points[header]
        given = [row for row in rows if row in texts and not NOT_GIVEN.fullmatch(texts[row])]
        found = {row: value_of(texts[row], point) for row in given}
        values = {row: value for row, value in found.items() if value is not None}
        kinds = {(value.kind, value.unit) for value in values.values()}
        return values if len(values) == len(found) and len(kinds) == 1 else None

    def written(self, header: str, rows: Iterable[int], number: Decimal) -> str:
        """A number as some cells of a column write theirs, with their unit."""
        texts, point = [self.texts[header][row] for row in rows], self.points[header]
        grouped = any(("," if point == "." else ".") in one for one in texts)
        digits = f"{number:{',' * grouped}f}"
        if point == ",":
            digits = digits.translate(_OTHER_MARKS)
        value = value_of(texts[0], point)
        before, after = value.around if value is not None else ("", "")
        return with_unit(header, f"{before}{digits}{after}")[1]

    def line(self, row: int, header: str) -> Row:
        """Where the cell of a row and a column stands."""
        return self.lines[self.headers.index(header) - 1 if self.turned else row]

    def turned_over(self, columns: Sequence[str]) -> "Table | None":
        """The table with some columns as rows; None where its rows have no names of their own."""
        first = self.headers[0]
        names = [row[first].text for row in self.rows if first in row]
        if not columns or len(self.rows) > _MOST_TURNED or len({*names, first}) <= len(self.rows):
            return None
        rows = tuple(
            {first: Cell(first, header, 0, 0)}
            | {
                row[first].text: row[header]._replace(header=row[first].text)
                for row in self.rows
                if header in row
            }
            for header in columns
        )
        return Table((first, *names), rows, self.lines, self.titles, turned=True)


def by_source(passages: Iterable[RankedSlot]) -> Iterator[list[RankedSlot]]:
    """The passages of each source, in their order in it."""

    def place(item: RankedSlot) -> tuple[str, str, int]:
        return item.slot.namespace, item.slot.source, item.slot.start

    for _, items in groupby(sorted(passages, key=place), lambda item: place(item)[:2]):
        yield list(items)


def tables_of(items: Iterable[RankedSlot]) -> list[Table]:
    """The tables of a source from all of its slots, in order."""
    found: list[tuple[dict[str, None], list[Row], frozenset[str]]] = []
    rest: defaultdict[tuple[int, int], list[Cell]] = defaultdict(list)  # Of rows that are cut
    section, caption = None, frozenset[str]()
    for item in items:
        text, title = item.slot.text, item.slot.title
        said, end = titles_of(item), 0
        # Tables of two sections are two, with the same headers too.
        other, section = section != title.partition(_CONTEXT)[0], title.partition(_CONTEXT)[0]
        alone = len(text) <= _MAX_CAPTION and not may_hold_rows(text)
        caption = said if other or alone else caption
        said |= caption  # A line of its own above the rows of a sheet
        header = " | ".join(found[-1][0]).strip() if found else ""
        if header.startswith(title.rpartition(_CONTEXT)[2]):  # which cuts a long one
            title = f"{_CONTEXT}{header}"
        for cells in rows_of(text, title):
            headers = dict.fromkeys(cell.header for cell in cells)
            if len(headers) < len(cells):
                continue  # columns that nothing tells apart
            if found and found[-1][1] and _goes_on(title, found[-1][1][-1]):
                found[-1][0].update(headers)
                rest[len(found) - 1, len(found[-1][1]) - 1] += cells
                continue
            known = found[-1][0] if found else {}
            above, end = text[end : cells[0].start], cells[-1].end
            again = [*headers] in ([name for name, _ in _parts(one)] for one in above.split("\n"))
            if other or again or len(headers.keys() & known.keys()) < _OF_TABLE * len(headers):
                if again and found and found[-1][1] and found[-1][1][-1].item is item:
                    # What stands between two tables is said of the second.
                    between = stems(above)
                    found[-1] = (*found[-1][:2], found[-1][2] - (between - stems(title)))
                    said = between | stems(title)
                found.append((headers, [], said))
            other = False
            found[-1][0].update(headers)
            found[-1][1].append(Row(item, tuple(cells)))
    return [
        Table(
            tuple(headers),
            tuple(
                {one.header: one for one in (*row.cells, *rest[table, number]) if one.text}
                for number, row in enumerate(rows)
            ),
            tuple(rows),
            titles,
        )
        for table, (headers, rows, titles) in enumerate(found)
    ]


def _goes_on(title: str, row: Row) -> bool:
    """Whether the first cell of a row, which is cut, is the context of a later part of it."""
    first = row.cells[0]
    return bool(first.header) and title.endswith(f"{_CONTEXT}{first.header}: {first.text}")


def titles_of(item: RankedSlot) -> frozenset[str]:
    """Stems of the title of a slot, and of the lines above and below its tables.

    A sentence below a table may speak of something else.
    """
    captions: list[str] = []
    below = False
    for line in item.slot.text.split("\n"):
        rows = may_hold_rows(line)
        below |= rows
        if len(line) <= _MAX_CAPTION and not (rows or (below and _SENTENCES.search(line))):
            captions.append(line)
    return stems("\n".join([item.slot.title, *captions]))


def under_headings(asked: frozenset[str], rows: Sequence[Row]) -> list[Row]:
    """Rows of tables but for those whose heading has fewer words that are asked for than another's.

    Of two tables of a source with the same headers: "Winter" is not "Summer". What a row is named
    by is asked of no heading: "fish sauce" under "Sides" is not under "Fish".
    """
    found: list[tuple[Row, tuple[str, tuple[str, ...]], frozenset[str]]] = []
    for _, of_item in groupby(rows, lambda row: row.item.slot.id):
        end, above, last, own = 0, frozenset[str](), "", list(of_item)
        slot = own[0].item.slot
        for row in own:
            line = slot.text.rfind("\n", 0, row.cells[0].start) + 1
            between = slot.text[end:line]
            if "\n\n" in between or not end:
                lines = [one for one in between.split("\n") if one and not may_hold_rows(one)]
                short = [one for one in lines if len(one) <= _MAX_CAPTION and one[-1] not in ".!"]
                above = stems("\n".join([slot.title, *short]))
                last = "".join(short[-1:])
            end = row.cells[-1].end
            table = f"{slot.namespace}/{slot.source}", tuple(cell.header for cell in row.cells)
            found.append((row._replace(above=last), table, above & asked))
    named: dict[tuple[str, tuple[str, ...]], set[str]] = defaultdict(set)
    for row, table, _ in found:
        named[table].update(*(cell.value for cell in row.cells if cell.value <= asked))
    found = [(row, table, words - named[table]) for row, table, words in found]
    said: dict[tuple[str, tuple[str, ...]], set[frozenset[str]]] = defaultdict(set)
    for _, table, words in found:
        said[table].add(words)
    return [row for row, table, words in found if not any(words < other for other in said[table])]


def rows_of(text: str, title: str) -> Iterator[list[Cell]]:
    """The rows of tables in the text of a slot, without those of headers."""
    if labelled := labelled_row(text, 0, len(text)):
        yield labelled
        return
    headers = [text for text, _ in _parts(title.rpartition(_CONTEXT)[2])]
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
                Cell(header, text, offset + start, offset + start + len(text))
                for header, (text, start) in zip(headers, parts, strict=True)
            ]
        offset += len(line) + 1


def forms_of(text: str) -> Iterator[list[Cell]]:
    """The forms in a text: lines such as "Fee: 20 francs", with what stands above and between them.

    A label that stands again begins another form: the first one, as on the sheets of several
    months, or one below another heading than before. A number behind a name, "account no. 7-33",
    has a label of its own.
    """
    cells: list[Cell] = []
    offset = start = 0  # The first one belongs to the last cell with a label
    for block in text.split("\n\n"):
        lines = block.split("\n")
        if _SENTENCES.search(block):  # Text, or a form of which a value is some: "Note: Bring it."
            labelled = len(lines) > 1 and all(map(_BEGINS_WITH_LABEL.match, lines))
            lines = [one for one in lines if labelled and _LABEL.fullmatch(one)]
        for line in (one for one in lines if not may_hold_rows(one)):
            found = _LABEL.fullmatch(line)
            own = [Cell(found["label"], found["value"], *found.span("value"))] if found else []
            own = own or [Cell("", line, 0, len(line))][: 0 < len(line) <= _MAX_CAPTION]
            for code in _NUMBERED.finditer(line, own[0].start) if own else ():
                own.append(Cell(f"{code['label']} number", code["code"], *code.span("code")))
            place = text.index(line, offset)
            own = [one._replace(start=one.start + place, end=one.end + place) for one in own]
            offset = place + len(line)
            labels = [one.header for one in cells]
            again = {one.header for one in own} & {*filter(None, labels)}
            if again:
                heading = max((n for n, label in enumerate(labels) if not label), default=0)
                if again.isdisjoint((*labels[heading:], *[*filter(None, labels)][:1])):
                    start = heading
                yield cells[:start]
                cells = cells[start:]
            cells += own
            start = len(cells) if own and own[-1].header else start
    yield cells


class Piece(NamedTuple):
    """A part of the text of a slot: rows of one table, or text without rows."""

    start: int
    end: int
    headers: tuple[str, ...]  # Of the table; none of text
    rows: tuple[tuple[Cell, ...], ...] = ()


def pieces_of(text: str, title: str, start: int, end: int) -> list[Piece]:
    """The lines of a part of a text, those of one table together; cells are cut where they are."""
    rows = [row for row in rows_of(text, title) if row[0].start < end and start < row[-1].end]
    found: list[Piece] = []
    for line in _LINE.finditer(text, start, end):
        first, last = line.span()
        row = next((one for one in rows if one[0].start <= last and first <= one[-1].end), [])
        below = row or next((one for one in rows if last < one[0].start), [])
        headers = tuple(cell.header for cell in below)
        if not row and headers != tuple(name for name, _ in _parts(line[0])):
            headers = ()
        spans = [(cell, max(cell.start, first), min(cell.end, last)) for cell in row]
        cells = tuple(Cell(one.header, text[a:b], a, b) for one, a, b in spans if a <= b)
        distinct = len({one.header for one in cells}) == len(cells) > 1
        new = Piece(first, last, headers, (cells,) if distinct else ())
        if found and found[-1].headers == headers:
            new = Piece(found[-1].start, last, headers, found[-1].rows + new.rows)
            found.pop()
        found.append(new)
    return found


def with_headers(text: str, title: str, start: int, end: int) -> str:
    """A part of the text of a slot, its rows with each cell behind its header."""
    if not may_hold_rows(text):
        return text[start:end]
    rows = [row for row in rows_of(text, title) if row[0].start < end and start < row[-1].end]
    found: list[str] = []
    for line in _LINE.finditer(text, start, end):
        first, last = line.span()
        row = next((one for one in rows if one[0].start < last and first < one[-1].end), [])
        given = [one for one in row if one.text]
        found.append(labelled(given)[0] if len(row) > 1 else line[0])
    return "\n".join(found)


def labelled(cells: Sequence[Cell]) -> tuple[str, list[tuple[int, int]]]:
    """A row with each cell behind its header, and where each cell stands there."""
    text, spans = "", list[tuple[int, int]]()
    for one in cells:
        text += f"{'; ' if text else ''}{f'{one.header}: ' if one.header else ''}"
        spans.append((len(text), len(text) + len(one.text)))
        text += one.text
    return text, spans


def _parts(line: str) -> list[tuple[str, int]]:
    """The cells of a line, also an empty one at its start or end, each with its place in it."""
    found: list[tuple[str, int]] = []
    start = 0
    for part in _BAR.split(line):
        found.append((part.strip(), start + len(part) - len(part.lstrip())))
        start += len(part) + 1
    return found


def labelled_row(text: str, start: int, end: int) -> list[Cell]:
    """The cells of "Size: 4 TB; Price: $10", a part of a text; the first one may have no header.

    Empty where the part is not a row of two cells or more.
    """
    row = text[start:end]
    parts = [] if "\n" in row else _LABELLED.split(row)
    found: list[Cell] = []
    for number, part in enumerate(parts):
        header, colon, value = part.partition(": ")
        if colon and value:
            place = start + len(header) + len(colon)
            found.append(Cell(header, value, place, place + len(value)))
        elif not number and len(parts) > 2:
            found.append(Cell("", part, start, start + len(part)))
        start += len(part) + len("; ")
    return found if len(found) > 1 else []


def refers_to(question: str, name: str, header: str) -> tuple[int, int] | None:
    """Where a question says "NAME's HEADER" or "the HEADER of NAME", not of something of it."""
    name, header = re.escape(name), re.escape(header)
    found = re.search(
        rf"\b(?:(?:the )?{name}(?:['’]s|(?<=s)['’]) {header}(?![\w-])"
        rf"|the {header} of (?:the )?{name}(?![\w'’-]))",
        question,
        re.IGNORECASE,
    )
    return found and found.span()


@lru_cache(10_000)  # One column of a large table says few things
def stems(text: str) -> frozenset[str]:
    """What the words of a text begin with; of 2024-07-03 also the name of its month."""
    words = query_terms(SATURDAY.sub("Saturday", text))
    found = {stem(part) for word in words for part in word.split("_") if part}
    for month, day in _DATE.findall(text):
        if 1 <= int(month) <= 12:
            found |= {stem(MONTH_NAMES[int(month) - 1].lower()), str(int(day))}
    return frozenset(found)


def stem(word: str) -> str:
    """The start of a word without its ending, of "Tue" of Tuesday; a number or a code as it is."""
    word = IRREGULAR_VERBS.get(word, word)
    return word if has_digit(word) else uninflected(_IN_FULL.get(word, word))[:STEM_LETTERS]


TIMES = tuple(  # Stems of the names of months, and of days
    frozenset(stem(name.lower()) for name in names) for names in (MONTH_NAMES, WEEKDAYS)
)


ANY_TIME = frozenset[str]().union(*TIMES)
_OF_RANGES = ANY_TIME | stems("daily every day weekday weekend until till through except excluding")
_OF_RANGES |= stems("but apart from not closed and to")


def look_alikes(question: str, text: str, beside: str = "") -> frozenset[str]:
    """Stems of names in a question of which a text has others, but not them: "Austria".

    They may also stand ``beside`` it.
    """
    found = set[str]()
    for name in _long_names(question):
        same, more = (
            [one for one in _LONG.findall(f" {each}") if one.startswith(name[:STEM_LETTERS])]
            for each in (text, beside)
        )
        if same and not any(_agree(name, one) for one in same + more):
            found.add(stem(name.lower()))
    return frozenset(found)


@lru_cache(100)
def _long_names(question: str) -> tuple[str, ...]:
    """What is written like names in a question; none where nouns have capitals, too."""
    found = tuple(filter(str.istitle, _LONG.findall(question)))
    return () if found and is_foreign(question) else found


def _agree(one: str, two: str) -> bool:
    """Whether two words are one, that goes on or has the ending of what is of a place."""
    pair = uninflected(one.lower()), uninflected(two.lower())
    shared = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(*pair, strict=False)))
    rest = [word[shared:] for word in pair]
    return "" in rest or any(
        _OF_PLACE.fullmatch(a) and _PLACE.fullmatch(b) for a, b in (rest, rest[::-1])
    )


@lru_cache(10_000)
def _times_of(text: str) -> frozenset[str]:
    said, *without = _EXCEPT.split(text.lower()) if stems(text) <= _OF_RANGES else ("",)
    days = _days_in(said)
    return days - _days_in(", ".join(without)) if days - stems(said) else frozenset()


def _days_in(text: str) -> frozenset[str]:
    """Stems of the days or months that a text says, with those in its ranges."""
    called = (days for name, days in _CALLED.items() if name in text)
    ranges = _RANGE.findall(", ".join((text, *called)))
    times = chain.from_iterable(_BETWEEN.get((one[:3], two[:3]), ()) for one, two in ranges)
    return (ANY_TIME & set(map(stem, re.findall(r"[a-z]{3,9}", text)))) | stems(" ".join(times))
