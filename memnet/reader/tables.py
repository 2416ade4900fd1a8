"""Cells of tables: the row that a question names, and the column that it asks for.

Attention within the rows that hops found, over words: a row is addressed by the values that it
shares with the question, a cell by its header; where these leave it open, by what was learned.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain, groupby, product
from typing import NamedTuple, cast

from memnet.attention.arrays import log_odds, probability_of, weighted
from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.cells import (
    CELL_CONFIDENCE,
    HEADERS,
    Asked,
    cell_signals,
    doer,
    probability_of_cell,
    read_row,
)
from memnet.reader.computed import QUANTITIES, Computed, compute, headers_of, operation_of
from memnet.reader.contrasts import shape_of
from memnet.reader.passages import PassagesOf, RankedSlot, may_hold_rows, slot_candidate
from memnet.reader.programs import (
    MOST_ROWS,
    Program,
    ProgramReader,
    ProgramSignals,
    probability_of_program,
)
from memnet.reader.quotes import Quotation, quote_around
from memnet.reader.references import whole_row
from memnet.reader.rows import (
    SATURDAY,
    TIMES,
    Cell,
    Row,
    Table,
    by_source,
    forms_of,
    look_alikes,
    rows_of,
    stem,
    stems,
    tables_of,
    titles_of,
    under_headings,
    unit_in,
)
from memnet.reader.spans import Reader
from memnet.reader.values import HOW_MANY, UNIT_NAMES, ticks_of, unit_of, value_of, with_unit
from memnet.text.english import ASKS_WHO, is_foreign, query_terms
from memnet.text.names import has_digit, is_code, normalise
from memnet.types import AnswerKind, Candidate

# Share of the question's words, by IDF, that headers and values of a row must hold.
_MIN_COVERED = 0.7
_MEANT = 0.01  # Weight of a word that is meant and not said: less than of any that is
# Of 1, the share of words, and whether a cell is named: by logistic regression on 956 cells that
# were given for questions made from 16 tables, a third of them about other keys or columns; 99.3 %
# were right. What is computed was not calibrated: it counts as a named cell.
_WEIGHTS = (1.76, 1.59, 2.35)
_WHAT_TO_DO = re.compile(
    r"\bwhat (?:to|should|can|must|do|shall|does one)\b.{0,40}\bdo\b|what to do", re.I
)
_BY_RULES = 0.8  # Of the confidence of what the words say, where no program gives it
_LEAST = 0.25  # Probability of a program that is given
# Probability from which it is shown as an answer: cross-validated by question, 151 of 179 are right
# that are asked in other words than the tables, 127 of 144 in theirs (``fit_programs --decision``)
PROMISE = 0.5
_MOST_SLOTS = 10_000  # Of a source from whose rows something is computed
_MAX_CELL = 150  # Characters of a cell that is an answer
_MAX_SHOWN = 600  # Characters of what was computed with the rows that are quoted for it
_WORD = re.compile(r"[^\W_]+")
_MEASURED = re.compile(r"\b(?:how (?!many|much)(\w+)|(weighs?|temperature))\b", re.IGNORECASE)
_TAKES = re.compile(r"\bhow long\b.{1,80}\b(?:takes?|took|lasts?|lasted)\b", re.IGNORECASE)
_PRICED = re.compile(
    r"\b(?:how much (?:is|are|was|were)(?! (?:there|left|in stock)\b)|costs?|kostet|kosten|pays?|"
    r"paid|worth)\b",
    re.IGNORECASE,
)
_WHERE = re.compile(r"\b(?:where|wo)\b", re.IGNORECASE)
_WHEN = re.compile(
    r"\b(?:when|what time|(?:what|which) (?:day|date)) (?:is|are|was|were)\b", re.IGNORECASE
)
_KIND = re.compile(r"\b(?:which|what) (\w+)", re.IGNORECASE)  # "Which shed is it in?" of "shed 2"
_LAST = re.compile(
    r"(?:when|what day|on which day)\b.{1,80}\b(?:(?P<last>last)|first)\b", re.IGNORECASE
)
_DATED = re.compile(r"^(?:[-*•] )?(?P<day>[^:\n]{4,30}?)(?::| –| -) (?P<what>\S.*)", re.MULTILINE)
_DENIES = re.compile(
    r"\b(?:not|never)\b|n['’]t\b|\b(?:has|have|had|got|paid|with) no\b", re.IGNORECASE
)  # What a cell says is not so
_CLASS = re.compile(
    r"\b(?:has|have|is|was|are|were|did|does|do|will|of|the|for|our|my|this) "
    r"(?!only|just|half|even|not)([a-z]{3,20}) (?=[\w/.-]*\d)[\w/.-]{4}"
)
_OPEN = re.compile(r"\b(?:or|not|never|no)\b|n['’]t\b", re.IGNORECASE)
_TELLS = re.compile(r"\b(?:tell|give|show|list|name|find|know)\b", re.IGNORECASE)
_WHICH_TIME = re.compile(r"\b(?:which|what) (?:day|weekday|month)s?\b", re.IGNORECASE)
# "Who's" is "who is", and names no owner.
_NO_OWNERS = frozenset("who what where when how which that there it he she".split())
_FROM = re.compile(r"\bfrom (?:the )?(\w+)", re.IGNORECASE)


class _Found(NamedTuple):
    named: int  # Other cells of its row that the question says all of
    values: float  # Weight of the question's words that they hold
    first: bool  # Whether its first cell, the name of the row, is one of them
    row: Row
    cell: Cell
    headed: bool = False  # Whether one of them is said with its header, as "pier 11"


def read_cells(
    question: str,
    terms: Mapping[str, float],
    passages: Sequence[RankedSlot],
    passages_of: PassagesOf,
    read: Prediction,
    reader: Reader | None = None,
    judge: Reader | None = None,
    programs: Callable[[], ProgramReader | None] = lambda: None,
) -> Prediction:
    """What a question asks of a table; nothing where no cell or program is likely.

    Args:
        question: which a cell answers, or something that is computed from several.
        terms: its words that the memory has, with weights that sum to one.
        passages: that may hold rows, best first.
        passages_of: by source and namespace the passages, in their order: at most so many.
        read: what was read in passages.
        reader: by which a cell is judged; None: by the words of the question alone.
        judge: the network for verdicts, which is asked beside it.
        programs: loads the model of which program over a table is meant, where it is needed.
    """
    question = SATURDAY.sub("Saturday", question)
    asked = asked_of(question, terms)
    tables = [item for item in passages if may_hold_rows(item.slot.text)]
    whether = asks_whether(question) and not _TELLS.search(question)
    by_rules = _by_rules(asked, whether, passages, tables, passages_of, reader, judge)
    # Without a judge the reader is none that memnet trained
    needed = tables and judge is not None and not (whether or is_foreign(question))
    model = programs() if needed else None
    if model is None:
        return by_rules
    whole = _whole_tables(tables, passages_of, MOST_ROWS)
    return _likeliest(proposed(asked, whole, model, by_rules, read), by_rules)


class Proposed(NamedTuple):
    """What a program may answer."""

    program: Program
    share: float  # Of the attention
    signals: ProgramSignals


def proposed(
    asked: Asked,
    tables: Sequence[Table],
    model: ProgramReader,
    by_rules: Prediction,
    read: Prediction,
) -> list[Proposed]:
    """The likeliest program, and that with the answer which the words say: ``by_rules``."""
    own, confidence = _plain_of(by_rules), by_rules.confidence or 0.0
    sure = 0.0 if read.abstained else read.confidence or 0.0
    known = normalise(read.short or "") if sure else ""
    proposals, nothing = model.attend(asked, tables)
    nothing += sum(one.share for one in proposals if one.program.operation == "empty")
    of_rows: defaultdict[Hashable, float] = defaultdict(float)
    for program, share in proposals:
        of_rows[_rows_of(program)] += share
    found: list[Proposed] = []
    for program, share in (one for one in proposals if one.program.operation != "empty"):
        answers = (program.plain, program.short.casefold())
        same = own in answers
        if found and not same:
            continue
        is_read = bool(known) and known in map(normalise, answers)
        said = frozenset[str]().union(*(one.said for one in program.where))
        header = stems(program.header)
        unsaid = asked.content - said - header - program.table.titles
        signals = ProgramSignals(
            bias=1.0, share=log_odds(share), rows=log_odds(of_rows[_rows_of(program)]),
            nothing=log_odds(nothing), same=confidence * same,
            other=confidence * (bool(own) and not same), lacking=float(by_rules.abstained),
            computed=float(program.operation != "cell"),
            named=min((one.share for one in program.where), default=0.0),
            headed=float(not header.isdisjoint(asked.order)),
            unsaid=len(unsaid) / max(1, len(asked.content)),
            read=float(is_read), sure=sure if is_read else -sure if known else 0.0,
            codes=float(asked.codes.isdisjoint(unsaid)), ignored=float(_ignores(asked, program)),
        )  # fmt: skip
        found.append(Proposed(program, share, signals))
    return found


def _ignores(asked: Asked, program: Program) -> bool:
    """Whether a question names a cell of a column that no row of a program has in it."""
    fixed = {one.header for one in program.where}
    for header, texts in program.table.texts.items():
        if header not in fixed:
            own = {texts[row] for row in program.rows if row in texts}
            named = {one for one in texts.values() if asked.names(Cell(header, one, 0, 0))}
            if named and named.isdisjoint(own):
                return True
    return False


def _rows_of(program: Program) -> Hashable:
    """What tells apart which rows programs are of, and by which column."""
    return id(program.table.lines), program.table.turned, program.by, program.rows


def _likeliest(some: Sequence[Proposed], by_rules: Prediction) -> Prediction:
    """The likeliest of what programs give and what the words say."""
    own = _plain_of(by_rules)
    best, most = by_rules, max(_LEAST, (by_rules.confidence or 0.0) * _BY_RULES if own else 0.0)
    for program, share, signals in some:
        probability = probability_of_program(signals)
        if probability > most or (signals.same and best is by_rules):
            shown = by_rules if signals.same else _program_shown(program, share)
            best, most = shown._replace(confidence=probability), probability
    return best


def _by_rules(
    asked: Asked,
    whether: bool,
    passages: Sequence[RankedSlot],
    tables: Sequence[RankedSlot],
    passages_of: PassagesOf,
    reader: Reader | None,
    judge: Reader | None,
) -> Prediction:
    """What the words of a question say of a table.

    ``whether`` says whether it is for yes or no; ``tables`` are the passages that hold rows.
    """
    question = asked.question
    rows = [
        Row(item, tuple(one)) for item in tables for one in rows_of(item.slot.text, item.slot.title)
    ]
    rows = [one for one in rows if not _is_of_another(question, one)]
    rows = under_headings(asked.own, rows)
    found, denies = None, _DENIES.search(question) is not None
    if not (whether or denies):
        found = (
            _in_timetable(asked, rows)
            or _look_up(asked, rows)
            or _entry(asked, passages, passages_of)
            or _in_forms(asked, passages)
        )
        if found and _is_text(found.cell) and asked.own.isdisjoint(found.cell.named):
            found = None
    operation, said = operation_of(question), found.row.said if found else frozenset[str]()
    computed = None
    if operation is not None and not operation & said:
        computed = compute(question, _whole_tables(tables, passages_of, _MOST_SLOTS))
    if whether and computed is None:
        computed = _verdict(asked, rows)
    answer = Prediction() if computed is None else _computed_shown(computed)
    # A row of totals, or a column of "Highest point", says what else is computed.
    if found is not None and computed is None and (operation is None or operation <= said):
        answer = _cell_shown(asked, rows, found, reader, judge)
    lacking = tuple(_lacking(asked, tables))
    in_lacking = any(one.overlaps(two) for one in answer.quotes for two in lacking)
    if (lacking and not answer.candidates) or (in_lacking and not answer.added):
        return Prediction(abstained=True, quotes=lacking)
    return answer


def _plain_of(prediction: Prediction) -> str:
    """The answer of a prediction as a program gives it; empty of none."""
    if not prediction.candidates:
        return ""
    short = prediction.short or ""
    return (short if prediction.added else prediction.candidates[0].text).casefold()


def _program_shown(program: Program, share: float) -> Prediction:
    """What a program gives, with its share of the attention."""
    rows = program.lines
    if program.operation == "cell" and len(program.rows) == 1:
        row, cell = rows[0], program.table.rows[program.rows[0]][program.header]
        slot = row.item.slot
        if slot.text[cell.start : cell.end] == cell.text:  # not the rest of a row that is cut
            candidate = slot_candidate(slot, cell.start, cell.end, share)
            quotes = quote_around(row.item, cell.start, cell.end)
            short = with_unit(program.header, cell.text)[1]
            return Prediction((candidate,), (row.item,), "table", quotes=quotes, short=short)
    computed = Computed(program.short, program.said, rows, None, share)
    return _computed_shown(computed)._replace(kind="table")


def _is_of_another(question: str, row: Row) -> bool:
    """Whether a question says a name like one of a row that neither it nor its headers have."""
    above = " ".join((row.title, *(one.header for one in row.cells)))
    return bool(look_alikes(question, " ".join(one.text for one in row.cells), above))


def _is_text(cell: Cell) -> bool:
    """Whether a cell is no answer, but a text in which one may stand."""
    return cell.end - cell.start > _MAX_CELL


def _cell_shown(
    asked: Asked, rows: Sequence[Row], found: _Found, reader: Reader | None, judge: Reader | None
) -> Prediction:
    item, start, end = found.row.item, found.cell.start, found.cell.end
    candidate = slot_candidate(item.slot, start, end, found.values)
    # A question all of whose words the row explains, and that says its name, needs no network: of
    # 21 such cells 18 were right, before those of another kind than is asked for were left out.
    share = asked.share(found.row)
    if (
        reader is None
        or (share == 1 and (found.first or found.headed or _names_one_row(asked, rows, found)))
        or found.cell not in found.row.cells
    ):
        confidence = _confidence(share, found.named > 0)
    else:
        # What stands in no table has no rows beside it that could be meant.
        rows = rows if any(one is found.row for one in rows) else [found.row]
        read = read_row(asked.question, found.row, reader)
        signals = cell_signals(asked, rows, found.row, found.cell, read, judge)
        confidence = probability_of_cell(signals)
    quotes = quote_around(item, start, end)
    if found.cell not in found.row.cells:  # the header of one of them
        whole = whole_row(found.row)
        quotes = (*(one for one in quotes if not one.overlaps(whole)), whole)
    short = with_unit(found.cell.header, candidate.text)[1]
    counts = found.cell.named & _COUNTS and not found.cell.named & _NO_COUNTS
    if counts and _NUMBER.fullmatch(short):
        short = f"{short} {unit_in(found.row.cells[1:])}".rstrip()
    return Prediction((candidate,), (item,), "table", confidence, quotes=quotes, short=short)


def _names_one_row(asked: Asked, rows: Sequence[Row], found: _Found) -> bool:
    """Whether a question says no more than the header of a cell, and what one row has alone.

    "On which storey is Studio 2?" is asked of the names of storeys, which stand first.
    """
    header = found.cell.named
    if not asked.own <= found.row.said | stems(found.row.title):
        return False
    others = [row for row in rows if any(cell.named == header for cell in row.cells)]
    named = [row for row in others if any(asked.names(cell) for cell in row.cells)]
    return bool(header) and header <= asked.own and named == [found.row]


def _confidence(share: float, named: bool) -> float:
    """The probability that a cell, or what is computed from some, is right.

    It is by the share of the question's words that the row or the operation explains, and whether a
    whole cell of the row is named.
    """
    return min(CELL_CONFIDENCE, probability_of(weighted(_WEIGHTS, (1.0, share, float(named)))))


def _verdict(asked: Asked, rows: Sequence[Row]) -> Computed | None:
    """Whether what a question says of a row stands in a column of it, or of another row alone."""
    # What is before a code says of which kind it is, and needs to stand nowhere: "parcel 00340434"
    classes = frozenset(stem(one.casefold()) for one in _CLASS.findall(asked.question))
    found: list[tuple[bool, bool, str, Row, Cell]] = []
    named = [(row, own) for row in rows if (own := [one for one in row.cells if asked.names(one)])]
    states = {
        (row.item.slot.source, one.header, (one.times or one.value) & asked.own)
        for row, cells in named
        for one in cells
    }
    keyed = any(row.cells[0] in cells for row, cells in named)
    for (row, cells), (source, header, value) in product(named, states):
        held = next((cell for cell in row.cells if cell.header == header), None)
        by = [cell for cell in cells if cell is not held]
        if held is None or not by or row.item.slot.source != source:
            continue
        says = held.times or held.value
        same = held in cells and says & asked.own == value
        whole = not held.times and _SOME.search(held.text)  # "All but Cleat" is no list.
        same |= not whole and any(stems(one) == value for one in _ITEMS.split(held.text))
        words = (cell.named | cell.value | cell.times for cell in by)
        known = value.union(stems(header or "-"), *words)
        known |= stems(row.item.slot.title) | _ASKING | classes
        # A boat that seats twelve seats eight; where the blue bus stops, the red one may stop, too.
        equal = _IS.match(asked.question) or not _FEW.fullmatch(held.text)
        denies = equal and (by[0] is row.cells[0] or not keyed) and says.isdisjoint(value)
        denies = denies and not whole
        if asked.own <= known and (same or denies):
            found.append((same, by[0] is row.cells[0], by[0].text, row, held))
    ticked = list(_ticked(asked, named, rows))
    if len({same for same, *_ in ticked}) == 1:
        found += ticked
    if not found or _OPEN.search(asked.question):
        return None
    same, _, text, row, cell = max(found, key=lambda one: one[:2])
    said = f"{text}: {' '.join(with_unit(cell.header, cell.text))}"
    return Computed("yes" if same else "no", said, (row,), None, 1.0)


def _ticked(
    asked: Asked, named: Sequence[tuple[Row, list[Cell]]], rows: Sequence[Row]
) -> Iterator[tuple[bool, bool, str, Row, Cell]]:
    """What a column of yes and no says of the rows that are named: "Has Ann paid?"."""
    for row, cells in named:
        known = stems(row.title).union(*(one.named | one.value for one in cells))
        for cell in row.cells:
            header = stems(cell.header or "-")
            of_row = bool(header & asked.own) or (len(row.cells) == 2 and header <= _OF_ANY)
            # "Allowed" says nothing of what is needed.
            asks = (_ALLOWED if header & _ALLOWED else _NEEDED | _ALLOWED) | _USED
            asks = _NEEDED | _USED if header & _NEEDED else asks
            about = of_row and asked.own <= known | header | _ASKING | asks
            texts = (
                one.text
                for each in rows
                if each.item.slot.source == row.item.slot.source
                for one in each.cells
                if one.header == cell.header
            )
            if about and (said := ticks_of(texts).get(cell.text)) is not None:
                yield said, True, cells[0].text, row, cell


def _whole_tables(
    passages: Sequence[RankedSlot], passages_of: PassagesOf, most: int
) -> list[Table]:
    """The tables of the sources of some passages; arguments as for ``_whole_sources``."""
    whole = by_source(_whole_sources(passages, passages_of, most))
    return [table for items in whole for table in tables_of(items)]


def _whole_sources(
    passages: Sequence[RankedSlot], passages_of: PassagesOf, most: int
) -> Iterator[RankedSlot]:
    """All passages of the sources of some, but for sources with more than ``most`` of them.

    No attention was paid to those that are not among the ``passages``.
    """
    own = {item.slot.id: item for item in passages}
    sources = {item.source: item for item in reversed(passages)}
    for item in sources.values():
        slots = passages_of(*item.source, most + 1)
        if len(slots) <= most:  # never from a part
            others = replace(item, attention=0.0)
            yield from (own.get(one.id) or replace(others, slot=one) for one in slots)


def _computed_shown(answer: Computed) -> Prediction:
    quotes = tuple(_first_fitting(answer.rows, _MAX_SHOWN - len(answer.said)))
    candidate = Candidate(text=answer.short, score=answer.explained)
    verdict = answer.cell is None and answer.short in ("yes", "no")
    if answer.cell is not None:
        row, cell = answer.cell
        candidate = slot_candidate(row.item.slot, cell.start, cell.end, answer.explained)
    return Prediction(
        (candidate,),
        tuple({one.item.slot.id: one.item for one in quotes}.values()),
        cast("AnswerKind", answer.short) if verdict else "table",
        _confidence(answer.explained, named=True),
        quotes=quotes,
        short=answer.short,
        added=f"{answer.said}.\n",
    )


def _first_fitting(rows: Sequence[Row], limit: int) -> Iterator[Quotation]:
    """The first rows, of at most ``limit`` characters together; one in any case."""
    left = limit
    for number, row in enumerate(rows):
        quoted = whole_row(row)
        left -= len(quoted.text) + 1
        if left < 0 and number:
            return
        yield quoted


def _look_up(asked: Asked, rows: Sequence[Row]) -> _Found | None:
    """The cell that a question asks for."""
    found: list[_Found] = []
    for _, group in groupby(rows, lambda row: row.item.slot.id):
        own = list(group)
        titles = titles_of(own[0].item)
        read = (_read_row(asked, row, titles) for row in own)
        found += (one for one in read if one is not None and not _is_turned(asked, one, own))
    found = [one for one in found if asked.is_of_kind(one.cell.text)]
    found.sort(key=lambda one: (-one.named, -one.values, not one.first))
    if not found or (len(found) > 1 and found[1][:3] == found[0][:3]):
        return None
    best = found[0].row
    titles = stems(best.item.slot.title)
    return None if any(_contradicts(asked, row, best, titles) for row in rows) else found[0]


def _in_timetable(asked: Asked, rows: Sequence[Row]) -> _Found | None:
    """The day or month, at the side or above, for which a table has what a question names.

    "On which day does Ann open?" of a row "Friday" with "Ann" under "Opens", or of a column
    "Friday" with "Ann" in it; "In which hall ...?" of columns "Hall A" and "Hall B", likewise.
    """
    if not _WHICH_TIME.search(asked.question):
        return _in_header(asked, rows)
    found: list[_Found] = []
    for row in rows:
        first, *others = row.cells
        for cell in others:
            if not asked.names(cell) or asked.names(first):
                continue
            if _is_time(first.value):
                if cell.named and cell.named <= asked.own:
                    found.append(_Found(2, asked.weight(cell.value), True, row, first, headed=True))
            elif _is_time(cell.named):
                found += _header_of(asked, row, cell)
    return found[0] if len({one.cell.text for one in found}) == 1 else None


def _in_header(asked: Asked, rows: Sequence[Row]) -> _Found | None:
    """The header of what a question names, one of several that are of the kind it asks for."""
    found: list[_Found] = []
    for row in rows:
        of_kind = [one for one in row.cells if asked.kind in one.named]
        if len({one.header for one in of_kind}) > 1:
            named = [one for one in of_kind if asked.names(one)]
            found += chain.from_iterable(_header_of(asked, row, one) for one in named)
    return found[0] if len({one.cell.text for one in found}) == 1 else None


def _header_of(asked: Asked, row: Row, cell: Cell) -> Iterator[_Found]:
    """The header of a cell, where it stands before it: it may be in the title of the slot alone."""
    start = row.item.slot.text.rfind(cell.header, 0, cell.start)
    if start >= 0:
        header = Cell("", cell.header, start, start + len(cell.header))
        yield _Found(1, asked.weight(cell.value), True, row, header, headed=True)


def _is_time(words: frozenset[str]) -> bool:
    """Whether some words name a day of the week or a month."""
    return bool(words) and any(words <= times for times in TIMES)


def _is_turned(asked: Asked, found: _Found, rows: Sequence[Row]) -> bool:
    """Whether a cell is the way back of what a question asks for: "from A to B" is in the row of A.

    Of a table with the same names above and at the side, unless it has only one of both ways.
    """
    name, header = found.row.cells[0].value, found.cell.named
    names = {row.cells[0].value for row in rows}
    if header not in names or name not in (one.named for one in found.row.cells[1:]):
        return False
    start = {stem(one.casefold()) for one in _FROM.findall(asked.question)}
    first, last = (
        min((asked.order[word] for word in one if word in asked.order), default=0)
        for one in (name - header, header - name)
    )
    if start & (name - header) or (first <= last and not start & (header - name)):
        return False
    given = {(row.cells[0].value, one.named) for row in rows for one in row.cells[1:] if one.value}
    return any(one != other and (other, one) in given for one, other in given)


def _in_forms(asked: Asked, passages: Sequence[RankedSlot]) -> _Found | None:
    """What stands behind the label that a question asks for, the same on all forms that fit."""

    def preference(cell: Cell) -> tuple[int, bool]:
        return len(cell.named & asked.order.keys()), cell.named <= asked.order.keys()

    # What is written like a name, a number or a code has to stand on the form.
    words = _WORD.findall(asked.question)[1:]
    names = {
        stem(one.casefold()) for one in words if one[0].isupper() or has_digit(one)
    } & asked.own
    found: list[_Found] = []
    for item in passages:
        for cells in forms_of(item.slot.text):
            first, *less = sorted(cells, key=preference, reverse=True) or [Cell("", "", 0, 0)]
            tied = less and preference(less[0]) == preference(first)
            given = first.value <= asked.own  # "What does message W-208 mean?"
            if given or tied or not preference(first)[0] or not asked.is_of_kind(first.text):
                continue
            values = stems(item.slot.title).union(*(cell.value for cell in less))
            said = values.union(*(cell.named for cell in cells))
            needed = asked.own - (_ASKING - said)
            if names <= said | _ASKING and len(needed & said) >= _MIN_COVERED * len(needed):
                found.append(_Found(0, asked.weight(values), False, Row(item, tuple(cells)), first))
    fit = [one for one in found if one.values == max(other.values for other in found)]
    return fit[0] if len({one.cell.text for one in fit}) == 1 else None


def _entry(asked: Asked, passages: Sequence[RankedSlot], passages_of: PassagesOf) -> _Found | None:
    """The day of the last entry of a list of days, or of the first, that says what is asked."""
    end = _LAST.match(asked.question)
    entries: list[tuple[int, Decimal, _Found]] = []
    dated = [item for item in passages if end and _DATED.search(item.slot.text)]
    for item in _whole_sources(dated, passages_of, _MOST_SLOTS):
        known = titles_of(item) | _ASKING | stems("first last")
        for found in _DATED.finditer(item.slot.text):
            day, said = value_of(found["day"]), stems(found["what"])
            if day is not None and day.kind == "day" and asked.own <= said | known:
                cells = [Cell("", found[name], *found.span(name)) for name in ("day", "what")]
                amount = day.amount if end and end["last"] else -day.amount
                one = _Found(0, 1.0, False, Row(item, tuple(cells)), cells[0])
                entries.append((len(asked.own & said), amount, one))
    return max(entries, key=lambda one: one[:2])[2] if entries else None


def _lacking(asked: Asked, passages: Sequence[RankedSlot]) -> Iterator[Quotation]:
    """The tables that are asked for a row or a cell that they don't have."""
    for items in by_source(passages):
        text = "\n".join(f"{item.slot.title}\n{item.slot.text}" for item in items)
        known = frozenset(map(stem, _WORD.findall(text.casefold())))
        for table in tables_of(items):
            if (
                _is_empty(asked, table)
                or _is_denied(asked, table)
                or _has_no_row(asked, table, known)
            ):
                yield from _whole(table)


def _is_empty(asked: Asked, table: Table) -> bool:
    """Whether a row is named and the cell of the column that is named best is empty."""

    def said(header: str) -> tuple[int, float]:
        words = stems(header) if header else frozenset[str]()
        own = len(words & asked.order.keys())
        return own, own / max(1, len(words))  # "Members" before "Non-members"

    key, *others = table.headers
    best = max(others, key=said, default=key)
    rows = [
        row
        for row in table.rows
        if any(asked.names(cell) and (cell.header == key or not has_digit(cell.text))
               for cell in row.values())
    ]  # fmt: skip
    if not rows:  # "The hammer drill", of "Hammer drill HD5" beside "Cordless drill 18V"
        own = ([cell.value & asked.content for cell in row.values()] for row in table.rows)
        words = [max(one, key=len, default=frozenset[str]()) for one in own]
        most = max(words, key=len, default=frozenset[str]())
        rows = [row for row, one in zip(table.rows, words, strict=True) if one == most]
        rows = rows if len(most) > 1 and all(one <= most for one in words) else []
    if len(rows) != 1 or not any(said(best)):
        return False
    return best not in rows[0] and all(said(one) < said(best) for one in others if one != best)


def _is_denied(asked: Asked, table: Table) -> bool:
    """Whether the row of a code that is asked for is said to be what another row is."""
    coded = [
        row
        for row in table.lines
        if any(asked.names(cell) and cell.value & asked.codes for cell in row.cells)
    ]
    if len(coded) != 1:
        return False
    return any(_contradicts(asked, row, coded[0], table.titles) for row in table.lines)


def _has_no_row(asked: Asked, table: Table, known: frozenset[str]) -> bool:
    """Whether a question says what rows of a table are told apart by, but of none of them.

    That is a month where others are rows, a number or code of the same shape as those of the table,
    what is counted, another word before one that several headers share ("the south shed") or that
    heads the rows ("the west pier"), a name where no row is named or two are compared, what is
    somebody's, and any word where all of a header is asked for but nothing of a row, or the
    reverse where rows have nothing but a name and values of one kind.
    """
    cells = [cell for row in table.rows for cell in row.values()]
    rows = [row.said | table.titles for row in table.lines]
    held = table.titles.union(*map(stems, table.headers), *rows)
    held = held.union(*(cell.times for cell in cells))
    alike = look_alikes(asked.question, " ".join(cell.text for cell in cells), table.above)
    held, known = held - alike, known - alike
    shapes = frozenset(map(shape_of, filter(has_digit, held)))
    named = any(
        asked.names(cell)
        and (not has_digit(cell.text) or any(map(is_code, cell.value & asked.codes)))
        for cell in cells
    )
    shared = Counter(word for header in table.headers for word in stems(header or "-"))
    headed = any(one and stems(one) <= asked.order.keys() for one in table.headers)
    # A month or day of the week above it, or in it
    of_times = any(times & asked.own & table.titles for times in TIMES)
    mentioned = (
        named
        or of_times
        or not asked.own.isdisjoint(
            frozenset().union(*(cell.value for cell in cells))
            - {one for one in table.titles if not has_digit(one)}
            - shared.keys()
        )
    )
    two_way = not table.headers[0]
    computes = operation_of(asked.question) is not None
    alone = computes or is_foreign(asked.question)  # In a list, or where nouns are written so
    words = _WORD.findall(asked.question)
    for number, word in enumerate(words):
        own = stem(word.casefold())
        before = words[number - 1] if number else ""
        after = stem(words[number + 1].casefold()) if number + 1 < len(words) else ""
        pair = {stem(before.casefold()), own}
        named_so = before.istitle() and word.istitle() and pair <= asked.own - _ASKING
        if named_so and not alone and pair & held and not any(pair <= row for row in rows):
            return True  # "Ann Lee" where others are called Ann, or Lee
        unit = unit_of(word)
        of_amounts = own in QUANTITIES or unit in UNIT_NAMES  # "How many pieces are left?"
        if of_amounts or {own, unit} & (held | _ASKING) or own not in asked.order:
            continue
        for times in TIMES:
            if own in times and times & held:
                return True
        if has_digit(word):
            if shape_of(own) in shapes and own not in known:
                return True
        elif own not in known:
            counted = before.casefold() in _AMOUNTS and not asked.order.keys().isdisjoint(shared)
            counted &= not (named and headed and two_way)  # "How much passed the gate in May?"
            another = shared[after] > 1 or (len(word) == 1 and shared[stem(before.casefold())] > 1)
            another |= not named and after in stems(table.key or "-")
            name = number and word[0].isupper() and (computes or not named)
            of_somebody = before == "s" and words[number - 2].casefold() not in _NO_OWNERS
            whose = of_somebody and named and not shared[after]
            lacks = headed != mentioned and (headed or two_way) and not computes
            if counted or another or name or whose or lacks:
                return True
    return False


def _whole(table: Table) -> Iterator[Quotation]:
    """The text of a table, with its header, as pieces of its slots."""
    for _, group in groupby(table.lines, lambda row: row.item.slot.id):
        rows = list(group)
        start = rows[0].item.slot.text.rfind("\n\n", 0, rows[0].cells[0].start) + 1
        yield Quotation(rows[0].item, start, rows[-1].cells[-1].end, 0.0)


def asked_of(question: str, terms: Mapping[str, float]) -> Asked:
    """The words of a question, with the weights of those that the memory has."""
    words: list[str] = []
    meant: list[str] = []
    for word in query_terms(question):
        words += stems(word) if word != "sat" else [stem(word)]  # "SAT score"
        meant += map(stem, HEADERS.get(word, "").split())
    for found in _MEASURED.findall(question):
        measure = "duration" if _TAKES.search(question) else "".join(found).casefold()
        meant += map(stem, headers_of(measure))
    if _PRICED.search(question):
        meant += map(stem, [*headers_of("cost"), "amount", "sum", "value"])
    elif HOW_MANY.search(question):
        meant += map(stem, "quantity qty amount stock count pieces units".split())
    if _WHERE.search(question):
        meant += map(stem, "where place street room shelf hook locker shop store town city".split())
    if _WHEN.search(question):
        meant += map(stem, "begins starts date day due time when".split())
    if _WHAT_TO_DO.search(question):
        meant += stems("do") | stems("action remedy solution")
    if ASKS_WHO.search(question):  # "Who holds it?" is asked of a column "Holder"
        meant += [doer(word) for word in words if word.isalpha()]
        meant += ["name"]  # "Who owns it?" is asked of a column "Owner" beside the name of the dog
    order = {word: place for place, word in enumerate(dict.fromkeys([*words, *meant]))}
    own = frozenset(words)
    weights: dict[str, float] = {}
    for term, weight in terms.items():
        for one in (stems(term) | {stem(term)}) & own:  # another is a guess at what is misspelled
            weights[one] = weights.get(one, 0.0) + weight
    codes = frozenset(filter(has_digit, own))
    kind = _KIND.search(question)
    of = stem(kind[1].casefold()) if kind else ""
    content = own - _ASKING
    counts = HOW_MANY.search(question)
    counted = (counts["counted"] or "").casefold() if counts else ""
    if unit_of(counted) in UNIT_NAMES:  # "How many metres of rope are there?"
        content -= {stem(counted)}
    return Asked(weights, order, own, content, codes, question, of)


def _read_row(asked: Asked, row: Row, titles: frozenset[str]) -> _Found | None:
    """The asked cell of a row, if the row covers the question; ``titles`` are those above it."""

    def preference(cell: Cell) -> tuple[int, bool, int, bool]:
        # What matches already is not asked for; of two headers, the one named first is:
        # "Which variety of pears was planted?"
        words = cell.named - cell.value | ({asked.kind} & cell.value)
        # "How many copies are missing?" is asked of the column "Missing" beside "Copies", and "the
        # water level" of "Level" beside "Water temperature".
        header = [
            asked.order[one] + len(asked.order) * (one in modifiers)
            for one in words
            if one in asked.order
        ]
        other = bool(header and cell.text) and not asked.is_of_kind(cell.text)
        said = cell.header.casefold() in asked.question.casefold()
        return -len(header), other, min(header, default=0), not said

    how_many = HOW_MANY.search(asked.question)
    counted = stem((how_many["counted"] or "").casefold()) if how_many else None
    modifiers = {counted, *_modifiers(asked, row)}
    # Nothing leads from A to A: a cell with the name of its row above it is not asked for.
    own = row.cells[0].value
    may_be = (one for one in row.cells if not (_names(asked, one) or (own and one.named == own)))
    cells = sorted(may_be, key=preference)
    numbered = [cell for cell in row.cells if _names(asked, cell) and cell.value & asked.codes]
    if (
        len(numbered) == 1
        and cells
        and asked.order.keys() <= (numbered[0].named | numbered[0].value | _ASKING)
    ):  # "What is in row 5?"
        rest = [cell for cell in row.cells if cell not in numbered]
        if how_many:
            rest = [one for one in rest if one.named & QUANTITIES and has_digit(one.text)]
        value = asked.weight(numbered[0].value)
        headed = not numbered[0].named.isdisjoint(asked.own)
        first = numbered[0] is row.cells[0]
        return _Found(1, value, first, row, rest[0], headed) if rest and rest[0].value else None
    if not cells or not cells[0].value or not preference(cells[0])[0]:
        return None
    cell, *less = cells
    tied = less and less[0].value and preference(less[0]) == preference(cell)
    if tied and "name" not in cell.named:
        return None  # of which of two years? Of two names the first one is enough
    others = [other for other in row.cells if other is not cell]
    values = frozenset[str]().union(*(other.value for other in others))
    # The name of a row may be what is asked: "How much is the tent?" of "Price | $80".
    meant = row.cells[0].value & asked.order.keys() - asked.own
    by_name = bool(meant) and row.cells[0].value <= asked.order.keys()
    named = [one for one in others if (by_name and one is row.cells[0]) or _names(asked, one)]
    if _is_under_another(
        asked, [one for one in row.cells if counted not in one.named], cell, named
    ):
        return None
    with_header = sum(_is_said_of(asked.question, one) for one in named)  # "pier 11"
    # A row that says the day has the weight of that: "Sunday" before "daily".
    times = frozenset[str]().union(*(one.times & asked.own for one in named))
    weight = asked.weight(values) + _MEANT * (len(meant) + with_header + bool(times))
    said = values | times | cell.named | titles | ({asked.kind} & cell.value)
    about = said.union(*(other.named for other in others))
    about |= {one for one in asked.own if doer(one) in about}  # "Who holds it?" of "Holder"
    needed = asked.weight(frozenset(asked.weights) - (_ASKING - about))
    covered = asked.weight(about) >= _MIN_COVERED * needed
    # "The price in 2024" is not that of a row which has another column for 2024.
    codes_fit = asked.codes <= said.union(*(other.named for other in named))
    if weight and covered and codes_fit:
        return _Found(len(named), weight, row.cells[0] in named, row, cell, with_header > 0)
    return None


def _modifiers(asked: Asked, row: Row) -> Iterator[str]:
    """Stems of headers that a question says before another one's, or before a code of the row."""
    headers = frozenset[str]().union(*(cell.named for cell in row.cells))
    codes = frozenset[str]().union(*(cell.value for cell in row.cells)) & asked.codes
    words = [stem(word.casefold()) for word in _WORD.findall(asked.question)]
    for before, one, after in zip(words, words[1:], words[2:], strict=False):
        # "What colour boat" is asked for the colour.
        other = after in headers and one != after and before not in _WHICH
        if one in headers and (other or after in codes):
            yield one


def _names(asked: Asked, cell: Cell) -> bool:
    """Whether a question names a cell; a short number with its header, not by "book 2" alone."""
    return asked.names(cell) and (
        _SHORT_NUMBER.fullmatch(cell.text) is None or _is_said_of(asked.question, cell)
    )


def _is_said_of(question: str, cell: Cell) -> bool:
    """Whether a question names a cell beside its header: "pier no 11", not "2, are missing"."""
    said, value = (
        [stem(word) for word in _WORD.findall(text.casefold())] for text in (question, cell.text)
    )
    starts = (n for n in range(len(said)) if value and said[n : n + len(value)] == value)
    return any(
        not cell.named.isdisjoint(said[max(0, n - 2) : n] + said[n + len(value) :][:1])
        for n in starts
    )


def _is_under_another(
    asked: Asked, cells: Sequence[Cell], wanted: Cell, named: Sequence[Cell]
) -> bool:
    """Whether what a question names under one header stands under another in the cells of a row.

    "On which day is Ann at the till?" is not asked of the day on which she is at the desk.
    """
    values = [one for one in named if one is not cells[0]]
    if not values or any(one.named & asked.own for one in values):
        return False
    return any(
        one.named and one.named <= asked.own
        for one in cells[1:]
        if one is not wanted and one not in named
    )


def _contradicts(asked: Asked, row: Row, best: Row, titles: frozenset[str]) -> bool:
    """Whether the question says all of a cell of another row of the same table as the best one.

    "The power of the red pump 417302" is not that of the pump 417302 if that one is blue.
    """
    if [cell.named for cell in row.cells] != [cell.named for cell in best.cells]:
        return False
    said = titles | best.said
    return any(asked.names(cell) and not cell.value & asked.own <= said for cell in row.cells)


# Words that ask, and need not stand in a table.
_ASKING = stems(
    "amount can could date day give have i kind list many me much my please shall should show "
    "tell time value we year cheap expensive high tall deep heavy long old wide cost "
    "temperature pay worth get got take took bring brought buy bought sell sold earn kostet "
    "mr mrs ms miss dr prof sir herr frau piece far"
).union(map(stem, HEADERS))
# "Is a cover needed?" of a column "Cover", "May they use a map?" of one "Map allowed"
_NEEDED = stems("needed required necessary must")
_ALLOWED = stems("allowed permitted possible included available may can")
_USED = stems("use")
_OF_ANY = stems("value answer status included available")  # Headers of whatever stands before
_WHICH = frozenset("which what whose".split())
_SHORT_NUMBER, _NUMBER = re.compile(r"\d{1,2}"), re.compile(r"\d[\d.,]{0,15}")
_FEW = re.compile(r"\d{1,3}(?:[.,]\d{1,9})?")  # No code or year
_IS = re.compile(r"(?:is|are|was|were) (?!there\b)", re.IGNORECASE)
_ITEMS = re.compile(r"(?<!\d)[,/]|[,/](?!\d)|[;&]| and ")  # Not in "1,200"
_SOME = re.compile(
    r"\b(?:all|any|but|except|excluding|apart|not|without|no(?= \w))\b|n['’]t\b", re.IGNORECASE
)
# Headers of what a column "Unit" is the unit of
_COUNTS, _NO_COUNTS = stems("quantity qty amount stock pieces"), stems("price number no nr cost")
_AMOUNTS = frozenset("many much most more fewest fewer least less".split())
