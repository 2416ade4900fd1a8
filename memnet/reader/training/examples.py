"""What a reader learns from: questions with their passages, as files and as tokens."""

import os
import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from memnet.files import read_json_lines
from memnet.reader.spans import NO, NO_ANSWER, SPAN, YES, Pack, Packer, Passage
from memnet.reader.training.changed_questions import changed_question

_WITHOUT_ANSWER = 0.12
"""Share of the questions with several passages that lose those that hold the answer."""
_MOST_OTHERS = 4
_ALONE = 0.35
"""Share of the questions with one passage that are read without another."""
_MISSED = 0.08
"""Share of the questions with one passage of which only others are read."""
_CHANGED = 0.08
"""Share of the questions with one passage that are changed so that it does not answer them."""
_MIXED = 0.4
"""Share of the other passages that stand anywhere rather than last."""


WORDS = ("yes", "no")
"""Answers that stand in no passage."""


class ReaderPassage(BaseModel):
    """A passage to read."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    title: str = ""
    text: str


class ReaderExample(BaseModel):
    """A question with the passages that hold its answer, or without one."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    question: str = Field(min_length=1)
    answers: tuple[str, ...] = ()
    """Right answers as they stand in the passages, or "yes" or "no"; none: they hold no answer."""
    passages: tuple[ReaderPassage, ...] = Field(min_length=1)
    others: tuple[ReaderPassage, ...] = ()
    """Passages that don't help, some of which are read as well."""


class PackedExample(NamedTuple):
    """An example as the network takes it."""

    pack: Pack
    spans: list[tuple[int, int]]
    """First and last token of each right answer; none where the answer is no span."""
    kind: int


def read_reader_examples(path: str | os.PathLike[str]) -> list[ReaderExample]:
    """Read a file of examples, a JSON object a line.

    Raises:
        InputError: it can't be read, holds no example, or a line is not one.
    """
    expected = '{"question": str, "answers": [str], "passages": [{"title": str, "text": str}]}'
    return read_json_lines(path, ReaderExample, "example", expected)


def packed_example(
    example: ReaderExample, packer: Packer, chance: random.Random
) -> PackedExample | None:
    """Pack an example with some of its other passages, in an order of chance.

    Returns:
        None where no right answer stands in its passages.
    """
    example = _without_answer(example, chance)
    word = example.answers[0].casefold() if example.answers else ""
    kind = {"": NO_ANSWER, "yes": YES, "no": NO}.get(word, SPAN)
    right = list(example.passages)
    chance.shuffle(right)
    passages = _mixed(right, _others(example, chance), chance)
    packs = packer.packs(example.question, passages)
    if kind != SPAN:
        return PackedExample(packs[0], [], kind) if packs else None
    holding = {one.text for one in right}
    texts = [_places(one.text, example.answers) if one.text in holding else [] for one in passages]
    found = [PackedExample(pack, spans, kind) for pack in packs if (spans := _spans(pack, texts))]
    return chance.choice(found) if found else None


def _without_answer(example: ReaderExample, chance: random.Random) -> ReaderExample:
    """The example or, as chance will have it, what it becomes when its answer is not to be read."""
    if not example.answers or example.answers[0].casefold() in WORDS:
        return example
    left, question, drawn = example.passages, example.question, chance.random()
    if len(left) > 1 and drawn < _WITHOUT_ANSWER:
        left = tuple(one for one in left if not _places(one.text, example.answers))
    elif len(left) == 1 and drawn < _MISSED:
        left = example.others[:_MOST_OTHERS]
    elif len(left) == 1 and drawn < _MISSED + _CHANGED:
        changed = changed_question(question, left[0].text, example.answers, chance)
        question = changed or question
    unchanged = left == example.passages and question == example.question
    if unchanged or not left:
        return example
    return example.model_copy(update={"question": question, "answers": (), "passages": left})


def _others(example: ReaderExample, chance: random.Random) -> list[ReaderPassage]:
    if len(example.passages) == 1 and chance.random() < _ALONE:
        return []
    others = [one for one in example.others if one not in example.passages]
    return chance.sample(others, min(chance.randint(1, _MOST_OTHERS), len(others)))


def _mixed(
    right: Sequence[ReaderPassage], others: Sequence[ReaderPassage], chance: random.Random
) -> list[Passage]:
    mixed = list(right)
    for other in others:
        anywhere = chance.random() < _MIXED
        mixed.insert(chance.randint(0, len(mixed)) if anywhere else len(mixed), other)
    return [Passage(one.title, one.text) for one in mixed]


def _places(text: str, answers: Sequence[str]) -> list[tuple[int, int]]:
    """Where answers stand as whole words; in any case only where none stands as it is written."""
    for flags in (re.NOFLAG, re.IGNORECASE):
        found = {
            match.span()
            for answer in answers
            if answer.strip()
            for match in re.finditer(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", text, flags)
        }
        if found:
            return sorted(found)
    return []


def _spans(pack: Pack, places: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
    """First and last token of each place that a pack holds whole."""
    return [
        span
        for passage, found in enumerate(places)
        for start, end in found
        if (span := _span(pack, passage, start, end)) is not None
    ]


def _span(pack: Pack, passage: int, start: int, end: int) -> tuple[int, int] | None:
    tokens = [
        token
        for token, place in enumerate(pack.offsets)
        if place is not None and place[0] == passage and place[1] < end and place[2] > start
    ]
    if not tokens:
        return None
    first, last = pack.offsets[tokens[0]], pack.offsets[tokens[-1]]
    whole = first is not None and last is not None and first[1] <= start and last[2] >= end
    return (tokens[0], tokens[-1]) if whole else None


def batches_of(
    examples: Sequence[PackedExample], tokens: int, chance: random.Random
) -> Iterator[list[PackedExample]]:
    """Batches of examples of about the same length, in an order of chance.

    Args:
        examples: to be shared out.
        tokens: most of a batch, padding included.
        chance: of the order.
    """
    ordered = sorted(examples, key=lambda one: len(one.pack.token_ids) + 8 * chance.random())
    batches: list[list[PackedExample]] = []
    batch: list[PackedExample] = []
    for example in ordered:
        if batch and len(example.pack.token_ids) * (len(batch) + 1) > tokens:
            batches.append(batch)
            batch = []
        batch.append(example)
    batches.append(batch)
    chance.shuffle(batches)
    yield from (one for one in batches if one)
