"""Pairs of a question with a possible answer, and a text, with whether the text gives that answer.

The possible answers are what the shipped reader makes of passages: the right ones and those that it
confuses with them, among all passages of an example and among those that don't answer; units as
quotations without a short answer; and cells of the rows of tables.

Source: Hu et al. 2019, "Read + Verify" (a verifier over the answers that a reader extracts).
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks.documents import holds
from benchmarks.reader_data.files import Example
from benchmarks.reader_data.verdicts import Pair
from memnet.learning.evaluation import f1
from memnet.reader.answers import asks_whether
from memnet.reader.rows import Cell, labelled, rows_of, stems
from memnet.reader.spans import Passage, Reader, answered_by
from memnet.text.names import has_digit, normalise

_MOST_PASSAGES = 6  # That are read together
_MOST_TEXT = 500  # Characters
_OF_EACH = 2  # Right and wrong spans, units
# Token F1 with a right answer from which a span that holds it, or is held by it, is right; up to
# which one is wrong.
_RIGHT, _WRONG = 0.6, 0.3
_SAME_UNIT, _SAME_ROW = 0.85, 0.7  # Share of words by which something is what is quoted
_WRONG_CELLS, _OTHER_ROWS = 3, 2


def answered(examples: Iterable[Example], reader: Reader, seed: int = 0) -> Iterator[Pair]:
    """Pairs of some examples, as ``benchmarks.prepare_reader`` writes them; each once."""
    chance = random.Random(seed)
    most: dict[tuple[str, str], Example] = {}
    for one in examples:
        key = one["question"], one.get("collection") or one["passages"][0]["title"]
        if key not in most or len(one.get("others", ())) > len(most[key].get("others", ())):
            most[key] = one
    seen: set[tuple[str, str]] = set()
    for one in most.values():
        for pair in (*_read(one, reader), *_cells(one, chance)):
            if (pair.question, pair.text) not in seen:
                seen.add((pair.question, pair.text))
                yield pair


def _read(one: Example, reader: Reader) -> Iterator[Pair]:
    """What the reader makes of all passages, and of those that don't answer."""
    own, others = (
        [Passage(each["title"], each["text"]) for each in one.get(name, ())]
        for name in ("passages", "others")
    )
    yield from _possible(one, [*own, *others][:_MOST_PASSAGES], reader, answering=True)
    if others:
        yield from _possible(one, others[:_MOST_PASSAGES], reader, answering=False)


def _possible(
    one: Example, passages: Sequence[Passage], reader: Reader, answering: bool
) -> Iterator[Pair]:
    question, quotes = one["question"], one.get("quotes", ())
    whether = asks_whether(question)
    reading = reader.read(question, passages)
    counts = Counter[bool]()
    for span in () if whether else reading.spans:
        title, text = passages[span.passage]
        inside = [
            each.unit
            for each in reading.units
            if each.passage == span.passage
            and each.unit.start < span.end
            and span.start < each.unit.end
        ]
        if not inside:
            continue
        said, short = text[inside[0].start : inside[-1].end], text[span.start : span.end]
        right = _is_right(short, one) if answering else False
        if right and quotes and not _is_quoted(said, quotes):
            right = None
        if right is not None and counts[right] < _OF_EACH and len(said) <= _MOST_TEXT:
            counts[right] += 1
            yield _pair(question, short, title, said, right)
    for each in sorted(reading.units, key=lambda unit: -unit.logit)[:_OF_EACH]:
        title, text = passages[each.passage]
        said = text[each.unit.start : each.unit.end]
        if len(said) <= _MOST_TEXT and (quotes or not answering):
            yield _pair(question, None, title, said, answering and _is_quoted(said, quotes))


def _pair(question: str, short: str | None, title: str, text: str, right: bool) -> Pair:
    asked = answered_by(question, short)
    return Pair(asked, title, text, "answers" if right else "open", "answered")


def _is_right(short: str, one: Mapping[str, Any]) -> bool | None:
    """Whether a span is a right answer; None where that is uncertain.

    One with other numbers, "300 crowns" in place of "120 crowns", is wrong.
    """
    said = f" {normalise(short)} "
    answers = [each for each in one.get("phrases") or one["answers"] if isinstance(each, str)]
    numbers = {word for word in said.split() if has_digit(word)}
    if numbers and numbers.isdisjoint(normalise(" ".join(answers)).split()):
        return False
    alike = f1(short, answers)
    inside = any(
        each in said or said in each
        for each in (f" {normalise(answer)} " for answer in answers)
        if each.strip()
    )
    if alike >= _RIGHT and inside:
        return True
    return None if alike >= _WRONG or inside else False


def _is_quoted(text: str, quotes: Sequence[str]) -> bool:
    said = normalise(text)
    return any(
        quote and (quote in said or said in quote or f1(said, [quote]) > _SAME_UNIT)
        for quote in map(normalise, quotes)
    )


def right_cells(
    row: Sequence[Cell], quotes: Sequence[str], phrases: Sequence[str]
) -> list[bool] | None:
    """Which cells of a row that is quoted are an answer; None of a row that is not."""
    said = frozenset[str]().union(*(cell.value for cell in row))
    quoted = (stems(quote.replace("|", " ")) for quote in quotes)
    if not any(len(one & said) >= _SAME_ROW * len(one) for one in quoted if one):
        return None
    return [
        any(
            holds(cell.text, one) or (len(cell.text) > 1 and holds(one, cell.text))
            for one in phrases
        )
        for cell in row
    ]


def _cells(one: Example, chance: random.Random) -> Iterator[Pair]:
    """Cells of the row that is quoted, and the same column of other rows."""
    if one.get("kind") != "value" or not one.get("quotes"):
        return
    phrases = [each for each in one.get("phrases") or one["answers"] if isinstance(each, str)]

    def pair(cell: Cell, row: Sequence[Cell], title: str, right: bool) -> Pair:
        return _pair(one["question"], cell.text, title, labelled(row)[0], right)

    for passage in one["passages"]:
        rows = [row for row in rows_of(passage["text"], passage["title"]) if len(row) > 1]
        found = [(row, right_cells(row, one["quotes"], phrases)) for row in rows]
        title = passage["title"]
        for row, rights in [(row, rights) for row, rights in found if rights is not None][:1]:
            given = [each for each in zip(row, rights, strict=True) if each[0].text.strip()]
            right = [cell for cell, is_right in given if is_right]
            wrong = [cell for cell, is_right in given if not is_right]
            if not 1 <= len(right) <= 2:  # else the question asks for more than a cell
                continue
            yield from (pair(cell, row, title, True) for cell in right)
            for cell in chance.sample(wrong, min(_WRONG_CELLS, len(wrong))):
                yield pair(cell, row, title, False)
            headers = {cell.header for cell in right}
            rest = [row for row, rights in found if rights is None]
            for other in chance.sample(rest, min(_OTHER_ROWS, len(rest))):
                for cell in other:
                    if cell.header in headers and cell.text.strip():
                        yield pair(cell, other, title, False)
