"""What a question refers to, and asks something of: the phone number of "Ann's manager".

That is a cell of a table, or a name in a unit of another passage than the one that answers.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from memnet.attention.arrays import probability_of
from memnet.reader.answers import Prediction
from memnet.reader.confidence import signals_of
from memnet.reader.passages import RankedSlot, may_hold_rows, span_candidate
from memnet.reader.quotes import Quotation, quote_around
from memnet.reader.rows import ANY_TIME, Row, Table, by_source, refers_to, stem, stems, tables_of
from memnet.reader.sequences import is_heading
from memnet.reader.spans import Passage, Reader, Span, answered_by
from memnet.storage.lexical import words_of
from memnet.text.english import IRREGULAR_VERBS, STOP_WORDS, units

# What is asked of a cell itself: "the name of Ann's manager".
_ITSELF = stems("name names named called call")
_MAX_LENGTH = 60  # Characters of a cell that a question may say in full
_LETTERS = re.compile(r"[^\W\d_]{2}[^\d\n]*")  # Of what may be asked about; no number or code

_MAX_PASSAGES = 8  # Whose units are linked, the most attended
_MAX_PAIRS = 6  # That are read, most of them in both orders
_MAX_LINKED = 8  # Units with a name that leads from one to another; more have a common one
_MAX_AFTER = 2  # Sentences about the subject of the one before
_MIN_COVERED = 0.5  # Weight of the words of the question that stand in two units, of all
# Probability of an answer by both networks from which it is given. Of 3,224 questions about
# everyday files and documents 20 have such pairs at all, with names of at most four units, and two
# an answer from here on.
_MIN_PROBABILITY = 0.15
_MAX_CANDIDATES = 3
_WORD = re.compile(r"[^\W_][\w'’&-]*")
_NAME = re.compile(r"(?<=[^.!?\n*-] )[A-Z][\w'’&-]+")  # Not at the beginning of a sentence
# Begins what is said of the subject of the sentence before.
_GOES_ON = re.compile(r"(?:its?|they|their|he|his|she|her|there|these|this|that)\b", re.IGNORECASE)


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
            others = [one for one in table.headers if one and one != table.key]
            headers = [one for one in others if one.casefold() in folded]
            for number, name in _named_rows(table, folded):
                for header in headers:
                    if span := refers_to(question, name, header):
                        text = table.texts[header].get(number, "")
                        if _asks_further(question, span, text):
                            further = f"{question[: span[0]]}{text}{question[span[1] :]}"
                            yield Reference(table.lines[number], text, further)


def _named_rows(table: Table, question: str) -> Iterator[tuple[int, str]]:
    """Rows that a question names in full or by a first word that is no other's, with that name."""
    names = {
        number: text.strip()
        for number, text in table.texts[table.key].items()
        if len(text) <= _MAX_LENGTH
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
    rest = words_of(f"{question[: span[0]]} {question[span[1] :]}".lower())
    said = stems(" ".join(word for word in rest if word not in STOP_WORDS))
    return bool(said - _ITSELF) and (not text or said.isdisjoint(stems(text)))


class _LinkedUnit(NamedTuple):
    """A unit of a passage, with what is said of its subject after it."""

    item: RankedSlot
    start: int
    end: int
    words: frozenset[str]  # Stems of the question that stand in it or in its title
    names: frozenset[str]  # In lower case, of which the question has none

    @property
    def passage(self) -> Passage:
        return Passage(self.item.slot.title, self.item.slot.text[self.start : self.end])


class _Pair(NamedTuple):
    """Two units with a name in common, in the order in which they are read."""

    first: _LinkedUnit
    second: _LinkedUnit
    covered: float  # Share of the words of the question, by weight, that stand in them


def read_linked(
    question: str, passages: Sequence[RankedSlot], reader: Reader, judge: Reader | None
) -> Prediction:
    """The answer by two units that have a name in common, which the question does not say.

    "Who leads the team that runs the milk bank?" is answered by "The milk bank is run by the
    Lapwing team" and "The Lapwing team is led by Ann Velde". Between other teams and their leaders
    the reader does not find the one that is meant, but it does in these two by themselves. They
    hold more of the question's words than any one passage does. No answer where there are no such
    units, or the one with the answer needs none beside it.

    Args:
        question: in plain language.
        passages: most attended first.
        reader: of spans.
        judge: the network for verdicts, asked whether both units give the answer; None without.

    Source: Ding et al. 2019 (cognitive graph: names in one passage lead to the next); here what is
    linked are sentences, and the reader has them alone.
    """
    best, least = Prediction(), _MIN_PROBABILITY
    for pair in _pairs(question, passages)[:_MAX_PAIRS]:
        found = _read_pair(question, pair, least, reader, judge)
        if _likely(found) > least:
            best, least = found, _likely(found)
    return best


def _likely(prediction: Prediction) -> float:
    """How probable an answer is by both networks; 0 without one."""
    signals = prediction.signals
    if signals is None:
        return 0.0
    return signals.answer * (1.0 if signals.stated is None else signals.stated)


def _pairs(question: str, passages: Sequence[RankedSlot]) -> list[_Pair]:
    """Pairs of units, those that hold most of the question's words first."""
    asked = stems(question)
    every = [unit for item in passages[:_MAX_PASSAGES] for unit in _linked_units(item, asked)]
    counts = Counter(word for unit in every for word in unit.words)
    weights = {word: math.log1p(len(every) / count) for word, count in counts.items()}
    total = sum(weights.values())

    def covered(words: Collection[str]) -> float:
        return sum(weights[word] for word in words) / total

    held: defaultdict[int, set[str]] = defaultdict(set)  # By each passage
    linked: defaultdict[str, list[int]] = defaultdict(list)
    for number, unit in enumerate(every):
        held[unit.item.slot.id] |= unit.words
        for name in unit.names:
            linked[name].append(number)
    alone = max(map(len, held.values()), default=0)
    if alone == len(weights):  # Of one passage, or of none: no two are needed.
        return []
    least = max(_MIN_COVERED, *map(covered, held.values()))
    few = [some for some in linked.values() if len(some) <= _MAX_LINKED]
    numbers = {pair for some in few for pair in permutations(some, 2)}
    pairs = (
        _Pair(every[one], every[other], covered(every[one].words | every[other].words))
        for one, other in sorted(numbers)
    )
    return sorted((one for one in pairs if one.covered > least), key=lambda one: -one.covered)


def _linked_units(item: RankedSlot, asked: frozenset[str]) -> Iterator[_LinkedUnit]:
    """The units of a passage but its headings and rows, which references to cells are followed in.

    A sentence that begins with a pronoun goes on about the subject of the one before it.
    """
    text = item.slot.text
    found = [one for one in units(text) if one.kind != "row" and not is_heading(text, one)]
    title = stems(item.slot.title)
    for number, one in enumerate(found):
        end = one.end
        for after in found[number + 1 : number + 1 + _MAX_AFTER]:
            if not _GOES_ON.match(text, after.start):
                break
            end = after.end
        own = text[one.start : end]
        verbs = {IRREGULAR_VERBS.get(word.casefold(), "") for word in _WORD.findall(own)}
        words = asked & (stems(own) | set(map(stem, verbs)) | title)
        names = {word.casefold() for word in _NAME.findall(own)} - STOP_WORDS
        apart = {name for name in names if stem(name) not in asked | ANY_TIME}
        yield _LinkedUnit(item, one.start, end, words, frozenset(apart))


def _read_pair(
    question: str, pair: _Pair, least: float, reader: Reader, judge: Reader | None
) -> Prediction:
    """What two units say, unless it is the name that links them or one of them says it alone.

    The judge is asked only where the reader gives the answer the ``least`` probability or more.
    """
    inputs = [pair.first.passage, pair.second.passage]
    reading = reader.read(question, inputs)
    asked, linking = stems(question), pair.first.names & pair.second.names

    def is_news(span: Span) -> bool:
        words = _WORD.findall(inputs[span.passage].text[span.start : span.end].casefold())
        return not all(word in linking or stem(word) in asked for word in words)

    spans = list(filter(is_news, reading.spans))
    own, other = (pair.second, pair.first) if spans and spans[0].passage else pair[:2]
    if not spans or not other.words - own.words:
        return Prediction()
    items = [pair.first.item, pair.second.item]
    candidates = [
        span_candidate(one._replace(start=own.start + one.start, end=own.start + one.end), items)
        for one in spans[:_MAX_CANDIDATES]
        if one.passage == spans[0].passage
    ]
    best, slot = candidates[0], own.item.slot
    if best.score < least:
        return Prediction()
    start, end = (best.start or 0) - slot.start, (best.end or 0) - slot.start
    support = own.item, other.item
    logit = max((one.logit for one in reading.units), default=0.0)
    stated = None
    if judge is not None:
        stated = judge.read(answered_by(question, best.text), inputs).answerable
    return Prediction(
        candidates=tuple(candidates),
        support=support,
        kind="value",
        signals=signals_of(question, reading, candidates, items, (), support)._replace(
            quoted=probability_of(logit),
            support=reading.answerable,
            stated=stated,
            overlap=pair.covered,
        ),
        quotes=(
            *quote_around(own.item, start, end),
            Quotation(other.item, other.start, other.end, 0.0),
        ),
        short=best.text,
    )
