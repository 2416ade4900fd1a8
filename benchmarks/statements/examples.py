"""Examples of scenarios as tokens: questions with what was told, new texts with earlier ones."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from benchmarks.statements.format import Scenario, ScenarioQuestion, ScenarioTell
from benchmarks.statements.losses import RightAnswer, RightWrite
from memnet.reader.spans import Pack, Packer, Passage
from memnet.statements.protocol import Label
from memnet.statements.reading import CERTAINTIES, FORMS, MOST_COUNTED, TAGS, passage_tokens
from memnet.statements.times import period

_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve".split()
_LABELS = {
    "supersede": Label.SUPERSEDE,
    "correct": Label.CORRECT,
    "end": Label.END,
    "merge": Label.MERGE,
    "contradict": Label.CONTRADICT,
}
_ENDING = (Label.SUPERSEDE, Label.CORRECT, Label.END)
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


@dataclass(frozen=True)
class WriteExample:
    """A new text with earlier statements in the order of their time."""

    text: str
    subjects: tuple[tuple[int, int], ...]
    """First character and the one after the last of what it is about."""
    values: tuple[tuple[int, int], ...]
    negative: bool
    certainty: int
    earlier: tuple[Passage, ...]
    changes: tuple[Label, ...]
    """Of each earlier text."""
    partly: tuple[bool, ...]
    """Of each: whether only a part of it is changed."""


class PackedAnswer(NamedTuple):
    """An answer's example as the network takes it."""

    pack: Pack
    right: RightAnswer


class PackedWrite(NamedTuple):
    """A new statement's example as the network takes it."""

    pack: Pack
    right: RightWrite


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
    if question.type == "conflict":
        return "conflict"
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
            if _LABELS[one.action] in _ENDING:
                ended.setdefault((one.tell, one.statement), tell.at)
    passages: list[Passage] = []
    for index, tell in enumerate(scenario.tells[:count]):
        ends = [
            ended[index, part] for part in range(len(tell.statements)) if (index, part) in ended
        ]
        whole = len(ends) == len(tell.statements)
        title = period(tell.at, max(ends, default=None), whole)
        # Of every other text that does not name its subject it is known, as after parsing.
        who = tell.speaker or (_unnamed_subject(tell) if index % 2 else "")
        passages.append(Passage(f"{title}, {who}" if who else title, tell.text))
    return tuple(passages)


def _unnamed_subject(tell: ScenarioTell) -> str:
    """What a text is about, where it is about one thing and does not name it; else empty."""
    about = {one.about for one in tell.statements if one.about and not one.subject}
    return about.pop() if len(about) == 1 and len(tell.statements) == 1 else ""


def write_examples(scenario: Scenario) -> Iterator[WriteExample]:
    """The texts of a scenario, each with those that were told before and have not ended."""
    ended: dict[int, set[int]] = {}
    """Of each text the statements that hold no longer."""
    for index, tell in enumerate(scenario.tells):
        if not tell.statements:
            continue
        changes: dict[int, dict[int, Label]] = {}
        for one in (one for statement in tell.statements for one in statement.changes):
            changes.setdefault(one.tell, {})[one.statement] = _LABELS[one.action]
        earlier = told_until(scenario, index)
        kept = [number for number, one in enumerate(earlier) if not _has_ended(one)]
        yield WriteExample(
            text=tell.text,
            subjects=_pieces(tell, [one.subject for one in tell.statements]),
            values=_pieces(tell, [value for one in tell.statements for value in one.values]),
            negative=any(one.polarity == "no" for one in tell.statements),
            certainty=CERTAINTIES.index(tell.statements[0].certainty),
            earlier=tuple(earlier[number] for number in kept),
            changes=tuple(
                min(changes.get(number, {}).values(), default=Label.NONE) for number in kept
            ),
            partly=tuple(
                0
                < len({*changes.get(number, ()), *ended.get(number, ())})
                < len(scenario.tells[number].statements)
                for number in kept
            ),
        )
        for number, parts in changes.items():
            ended.setdefault(number, set()).update(
                part for part, label in parts.items() if label in _ENDING
            )


def _has_ended(one: Passage) -> bool:
    return _UNTIL in one.title and _PARTLY not in one.title


def _pieces(tell: ScenarioTell, pieces: Sequence[str]) -> tuple[tuple[int, int], ...]:
    return tuple(
        dict.fromkeys(span for piece in pieces if piece for span in _found(tell.text, piece)[:1])
    )


def with_distractors(
    example: AnswerExample, others: Sequence[Scenario], rng: random.Random
) -> AnswerExample:
    """A question with texts of other scenarios between its own, dated as these."""
    tells, moved = _mixed(example.tells, others, rng)
    return replace(
        example,
        tells=tells,
        spans=tuple((moved[index], start, end) for index, start, end in example.spans),
        evidence=frozenset(moved[index] for index in example.evidence),
    )


def with_earlier_distractors(
    example: WriteExample, others: Sequence[Scenario], rng: random.Random
) -> WriteExample:
    """A new text with texts of other scenarios between the earlier ones."""
    earlier, moved = _mixed(example.earlier, others, rng)
    changes, partly = [Label.NONE] * len(earlier), [False] * len(earlier)
    for index, place in enumerate(moved):
        changes[place], partly[place] = example.changes[index], example.partly[index]
    return replace(example, earlier=earlier, changes=tuple(changes), partly=tuple(partly))


def _mixed(
    tells: Sequence[Passage], others: Sequence[Scenario], rng: random.Random
) -> tuple[tuple[Passage, ...], list[int]]:
    """Texts with some of other scenarios between them, and where each of the first is now."""
    wanted = rng.choice(_DISTRACTORS)
    texts: list[str] = []
    while len(texts) < wanted:
        told = rng.choice(others).tells
        start = rng.randrange(len(told))
        texts += [tell.text for tell in told[start : start + rng.randint(1, _RUN)]]
    if not wanted or not tells:
        return tuple(tells), list(range(len(tells)))
    places = sorted(rng.randint(0, len(tells)) for _ in range(wanted))
    mixed: list[Passage] = []
    moved: list[int] = []
    for index in range(len(tells) + 1):
        date, _ = _without_end(tells[min(index, len(tells) - 1)].title)
        mixed += [
            Passage(date, text)
            for text, place in zip(texts, places, strict=False)
            if place == index
        ]
        if index < len(tells):
            moved.append(len(mixed))
            mixed.append(tells[index])
    return tuple(mixed), moved


def without_ends(example: AnswerExample, rng: random.Random) -> AnswerExample:
    """A question for which, by chance, nothing says what has ended.

    A memory does not always know it: its write controller leans to keeping statements.
    """
    if rng.random() >= _WITHOUT_ENDS:
        return example
    tells = [one._replace(title="".join(_without_end(one.title))) for one in example.tells]
    return replace(example, tells=tuple(tells))


def _without_end(title: str) -> tuple[str, str]:
    """The day of a text, and what follows its period: ", Clara"."""
    held, comma, who = title.partition(",")
    return held.partition(_UNTIL)[0].removesuffix(_PARTLY), comma + who


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


def packed_write(example: WriteExample, packer: Packer) -> PackedWrite:
    """An example as tokens, with as many of the last earlier statements as fit."""
    first = 0
    packs = packer.packs(example.text, example.earlier)
    while len(packs) > 1:
        first += 1
        packs = packer.packs(example.text, example.earlier[first:])
    pack = packs[0] if packs else packer.packs(example.text, [Passage("", "-")])[0]
    kept = example.earlier[first:]
    statements = [
        (*span, int(example.changes[first + index]), example.partly[first + index])
        for index, span in enumerate(passage_tokens(pack, len(kept)) if kept else [])
        if span is not None
    ]
    tags = [0] * (pack.passages_start - 2)
    for spans, name in ((example.subjects, "subject"), (example.values, "value")):
        begin = TAGS.index(f"B-{name}")
        for start, end in spans:
            inside = False
            for token, place in enumerate(packer.offsets(example.text)[: len(tags)]):
                if place[0] < end and place[1] > start:
                    tags[token] = begin + inside
                    inside = True
    return PackedWrite(pack, RightWrite(tags, example.negative, example.certainty, statements))
