"""Examples of scenarios as tokens: questions with what was told."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from memnet.reader.spans import Pack, Packer, Passage
from memnet.statements.heads import (
    FORMS,
    MOST_COUNTED,
    passage_tokens,
)
from memnet.statements.network import RightAnswer
from memnet.statements.times import period
from memnet.statements.training.scenarios import Scenario, ScenarioQuestion

_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_ENDING = frozenset(("supersede", "correct", "end"))
"""Changes after which a statement holds no longer."""
_TIMES = {"once": 1, "twice": 2, "never": 0, "none": 0}
_DISTRACTORS = (0, 0, 1, 2, 3, 4, 6)
"""Texts of other scenarios that stand between those of an example, each number as likely."""
_WITHOUT_ENDS = 0.6
_UNTIL, _PARTLY = " until", " partly"
_RUN = 3
"""Most texts in a row that are taken from one other scenario."""


@dataclass(frozen=True)
class AnswerExample:
    """A question with texts in the order of their time."""

    question: str
    tells: tuple[Passage, ...]
    form: str
    number: int
    spans: tuple[tuple[int, int, int], ...]
    """Index of a text, first character and the one after the last."""
    evidence: frozenset[int]
    """Texts that are needed."""


class PackedAnswer(NamedTuple):
    """An answer's example as the network takes it."""

    pack: Pack
    right: RightAnswer


def answer_examples(scenario: Scenario) -> Iterator[AnswerExample]:
    """The questions of a scenario; those that neither spans nor a number answer are left out.

    A question as of a day is one with what was told until then.
    """
    for question in scenario.questions:
        told = [
            (index, tell)
            for index, tell in enumerate(scenario.tells)
            if question.as_of is None or tell.at.date() <= question.as_of.date()
        ]
        place = {index: number for number, (index, _) in enumerate(told)}
        if any(index not in place for index, _ in question.spans):
            continue
        spans = [
            (place[index], *span)
            for index, piece in question.spans
            for span in _found(scenario.tells[index].text, piece)
        ]
        number = _counted(question)
        form = _form(question, bool(spans), number)
        if form is None:
            continue
        evidence = frozenset(place[index] for index in question.evidence if index in place)
        yield AnswerExample(
            question.question,
            told_until(scenario, len(told)),
            form,
            number if form == "count" else -1,
            tuple(spans) if form in ("value", "list") else (),
            frozenset() if form == "none" else evidence,
        )


def _form(question: ScenarioQuestion, has_spans: bool, number: int) -> str | None:
    if not question.answers:
        return "none"
    if question.type == "yesno":
        return question.answers[0]
    if question.type == "list":
        return "list" if has_spans else None
    if question.type == "count" and number >= 0:
        return "count"
    if has_spans:
        return "value"
    return "count" if number >= 0 else None


def _counted(question: ScenarioQuestion) -> int:
    for answer in question.answers:
        word = answer.strip().casefold()
        if word.isdecimal() and int(word) <= MOST_COUNTED:
            return int(word)
        if word in _NUMBERS:
            return _NUMBERS.index(word)
        if word in _TIMES:
            return _TIMES[word]
    return -1


def _found(text: str, piece: str) -> list[tuple[int, int]]:
    """Where a piece stands, as whole words if it does."""
    whole = [one.span() for one in re.finditer(rf"(?<!\w){re.escape(piece)}(?!\w)", text)]
    start = text.find(piece)
    return whole or ([(start, start + len(piece))] if start >= 0 else [])


def told_until(scenario: Scenario, count: int) -> tuple[Passage, ...]:
    """The first texts of a scenario, as they stand after the last of them."""
    ended: dict[tuple[int, int], datetime] = {}
    for tell in scenario.tells[:count]:
        for one in (one for statement in tell.statements for one in statement.changes):
            if one.action in _ENDING:
                ended.setdefault((one.tell, one.statement), tell.at)
    passages: list[Passage] = []
    for index, tell in enumerate(scenario.tells[:count]):
        ends = [
            ended[index, part] for part in range(len(tell.statements)) if (index, part) in ended
        ]
        whole = len(ends) == len(tell.statements)
        passages.append(Passage(period(tell.at, max(ends, default=None), whole), tell.text))
    return tuple(passages)


def with_distractors(
    example: AnswerExample, others: Sequence[Scenario], rng: random.Random
) -> AnswerExample:
    """An example with texts of other scenarios between its own, dated as these."""
    wanted = rng.choice(_DISTRACTORS)
    texts: list[str] = []
    while len(texts) < wanted:
        told = rng.choice(others).tells
        start = rng.randrange(len(told))
        texts += [tell.text for tell in told[start : start + rng.randint(1, _RUN)]]
    if not wanted or not example.tells:
        return example
    places = sorted(rng.randint(0, len(example.tells)) for _ in range(wanted))
    tells: list[Passage] = []
    moved: dict[int, int] = {}
    for index in range(len(example.tells) + 1):
        date = _start(example.tells[min(index, len(example.tells) - 1)].title)
        tells += [
            Passage(date, text)
            for text, place in zip(texts, places, strict=False)
            if place == index
        ]
        if index < len(example.tells):
            moved[index] = len(tells)
            tells.append(example.tells[index])
    return replace(
        example,
        tells=tuple(tells),
        spans=tuple((moved[index], start, end) for index, start, end in example.spans),
        evidence=frozenset(moved[index] for index in example.evidence),
    )


def without_ends(example: AnswerExample, rng: random.Random) -> AnswerExample:
    """An example of which, by chance, nothing says what has ended.

    A memory does not always know it: its write controller leans to keeping statements.
    """
    if rng.random() >= _WITHOUT_ENDS:
        return example
    tells = [one._replace(title=_start(one.title)) for one in example.tells]
    return replace(example, tells=tuple(tells))


def _start(period: str) -> str:
    return period.partition(_UNTIL)[0].removesuffix(_PARTLY)


def packed_answer(example: AnswerExample, packer: Packer) -> PackedAnswer | None:
    """An example as tokens; None where it does not fit into a pack or has no text."""
    packs = packer.packs(example.question, example.tells)
    if len(packs) != 1:
        return None
    (pack,) = packs
    spans = [
        tokens
        for index, start, end in example.spans
        if (tokens := _tokens(pack, index, start, end)) is not None
    ]
    statements = [
        (*span, index in example.evidence)
        for index, span in enumerate(passage_tokens(pack, len(example.tells)))
        if span is not None
    ]
    form = FORMS.index(example.form)
    return PackedAnswer(pack, RightAnswer(form, example.number, spans, statements))


def _tokens(pack: Pack, passage: int, start: int, end: int) -> tuple[int, int] | None:
    found = [
        token
        for token, place in enumerate(pack.offsets)
        if place is not None and place[0] == passage and place[1] < end and place[2] > start
    ]
    return (found[0], found[-1]) if found else None
