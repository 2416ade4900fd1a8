"""What a reader learns from: questions with their passages, as files and as tokens."""

import os
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from memnet.evaluation import Askable
from memnet.files import read_json_lines
from memnet.reader.spans import NO, NO_ANSWER, SPAN, YES, Pack, Packer, Passage
from memnet.text.names import normalise
from memnet.types import Evidence

YES_NO = ("yes", "no")
"""Answers that stand in no passage."""
NAME = re.compile(r"\b[A-Z][\w'’.-]+(?: [A-Z][\w'’.-]+)*|\b[12]\d{3}\b|\b\d[\d,.]*\d\b")
"""What is taken for a name or a number in a passage."""
_ANTONYMS = (
    ("first", "last"), ("largest", "smallest"), ("most", "least"),
    ("highest", "lowest"), ("longest", "shortest"), ("biggest", "smallest"), ("north", "south"),
    ("northern", "southern"), ("east", "west"), ("eastern", "western"), ("before", "after"),
    ("more", "fewer"), ("larger", "smaller"), ("higher", "lower"), ("increase", "decrease"),
    ("increased", "decreased"), ("won", "lost"), ("win", "lose"), ("begin", "end"),
    ("started", "ended"), ("male", "female"), ("father", "mother"), ("son", "daughter"),
    ("oldest", "youngest"), ("major", "minor"), ("maximum", "minimum"), ("early", "late"),
    ("rich", "poor"), ("best", "worst"), ("created", "destroyed"), ("joined", "left"),
)  # fmt: skip
_ANTONYM = {one: other for pair in _ANTONYMS for one, other in (pair, pair[::-1])}
_QUESTION_WORDS = frozenset("who whom whose what when where which why how in on at".split())
_WORD = re.compile(r"\w+")
# Shares of the questions that are changed while training.
_WITHOUT_ANSWER = 0.12
"""Of those with several passages: lose the passages with the answer."""
_ONLY_DISTRACTORS = 0.08
"""Of those with one passage: only others are read."""
_UNANSWERABLE = 0.08
"""Of those with one passage: the question is changed so that it is not answered."""
_NO_DISTRACTORS = 0.35
"""Of those with one passage: read without another."""
_SHUFFLED = 0.4
"""Of the distractors: stand anywhere rather than last."""
_MAX_DISTRACTORS = 4


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
    """Distractors: passages without the answer, some of which are read as well."""


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


def retrieve_distractors(
    memory: Askable, examples: Iterable[ReaderExample]
) -> Iterator[ReaderExample]:
    """Examples with what a memory finds for their questions as distractors.

    What holds an answer or is one of the right passages is left out. An example for which nothing
    else is found keeps the distractors it came with.

    Source: Karpukhin et al. 2020, section 3.2 (retrieved negative passages).

    Args:
        memory: to ask; with the reader "sentences" it reads nothing.
        examples: questions with the passages that hold their answers.
    """
    for example in examples:
        right = {" ".join(one.text.split()) for one in example.passages}
        distractors = tuple(
            ReaderPassage(title=found.title, text=found.text)
            for found in memory.ask(example.question).evidence
            if " ".join(found.text.split()) not in right and not _answers(found, example.answers)
        )
        yield example.model_copy(update={"others": distractors or example.others})


def _answers(found: Evidence, answers: Sequence[str]) -> bool:
    text = f" {normalise(found.text)} "
    return any(f" {normalise(one)} " in text for one in answers if one.casefold() not in YES_NO)


def packed_example(
    example: ReaderExample, packer: Packer, rng: random.Random
) -> PackedExample | None:
    """Pack an example with some of its distractors, in a random order.

    Returns:
        None where no right answer stands in its passages.
    """
    example = _sometimes_unanswerable(example, rng)
    answer = example.answers[0].casefold() if example.answers else ""
    kind = {"": NO_ANSWER, "yes": YES, "no": NO}.get(answer, SPAN)
    right = list(example.passages)
    rng.shuffle(right)
    passages = _mixed(right, _distractors(example, rng), rng)
    packs = packer.packs(example.question, passages)
    if kind != SPAN:
        return PackedExample(packs[0], [], kind) if packs else None
    texts = {one.text for one in right}
    answer_spans = [
        _find_answers(one.text, example.answers) if one.text in texts else [] for one in passages
    ]
    token_spans = [_token_spans(pack, answer_spans) for pack in packs]
    with_answer = [
        PackedExample(pack, spans, kind)
        for pack, spans in zip(packs, token_spans, strict=True)
        if spans
    ]
    return rng.choice(with_answer) if with_answer else None


def _sometimes_unanswerable(example: ReaderExample, rng: random.Random) -> ReaderExample:
    """The example or, by chance, one whose passages hold no answer."""
    if not example.answers or example.answers[0].casefold() in YES_NO:
        return example
    passages, question, drawn = example.passages, example.question, rng.random()
    if len(passages) > 1 and drawn < _WITHOUT_ANSWER:
        passages = tuple(one for one in passages if not _find_answers(one.text, example.answers))
    elif len(passages) == 1 and drawn < _ONLY_DISTRACTORS:
        passages = example.others[:_MAX_DISTRACTORS]
    elif len(passages) == 1 and drawn < _ONLY_DISTRACTORS + _UNANSWERABLE:
        changed = unanswerable_question(question, passages[0].text, example.answers, rng)
        question = changed or question
    unchanged = passages == example.passages and question == example.question
    if unchanged or not passages:
        return example
    return example.model_copy(update={"question": question, "answers": (), "passages": passages})


def unanswerable_question(
    question: str, text: str, answers: Sequence[str], rng: random.Random
) -> str | None:
    """A question that a passage does not answer, though it shares its words.

    A name or number that the passage shares with the question becomes another one of the passage,
    or a word its antonym.

    Source: Rajpurkar et al. 2018, table 1 (kinds of questions that have no answer).

    Args:
        question: that the passage answers.
        text: of the passage.
        answers: right ones, which the new question does not contain.
        rng: of the choice.

    Returns:
        None where nothing can be changed.
    """
    changes = [*_other_names(question, text, answers), *_antonyms(question)]
    return rng.choice(changes) if changes else None


def _other_names(question: str, text: str, answers: Sequence[str]) -> list[str]:
    names = {match.group().rstrip(".") for match in NAME.finditer(text)}
    taken = " ".join([question, *answers]).casefold()
    others = sorted(name for name in names if name.casefold() not in taken)
    return [
        question.replace(name, other, 1)
        for name in sorted(names)
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question)
        and name.casefold() not in _QUESTION_WORDS
        for other in others
        if _shape(name) == _shape(other) and name not in other
    ]


def _shape(name: str) -> tuple[bool, int]:
    """Whether it is a number, and its length; of a name the number of words, at most two."""
    number = name[0].isdigit()
    return number, len(name) if number else min(len(name.split()), 2)


def _antonyms(question: str) -> list[str]:
    if " or " in question:  # The opposite of a choice has an answer, too.
        return []
    return [
        f"{question[: word.start()]}{_ANTONYM[word.group()]}{question[word.end() :]}"
        for word in _WORD.finditer(question)
        if word.group() in _ANTONYM
    ]


def _distractors(example: ReaderExample, rng: random.Random) -> list[ReaderPassage]:
    if len(example.passages) == 1 and rng.random() < _NO_DISTRACTORS:
        return []
    others = [one for one in example.others if one not in example.passages]
    return rng.sample(others, min(rng.randint(1, _MAX_DISTRACTORS), len(others)))


def _mixed(
    right: Sequence[ReaderPassage], distractors: Sequence[ReaderPassage], rng: random.Random
) -> list[Passage]:
    mixed = list(right)
    for one in distractors:
        shuffled = rng.random() < _SHUFFLED
        mixed.insert(rng.randint(0, len(mixed)) if shuffled else len(mixed), one)
    return [Passage(one.title, one.text) for one in mixed]


def _find_answers(text: str, answers: Sequence[str]) -> list[tuple[int, int]]:
    """Spans of answers as whole words; case is ignored only where none stands as written."""
    for flags in (re.NOFLAG, re.IGNORECASE):
        spans = {
            match.span()
            for answer in answers
            if answer.strip()
            for match in re.finditer(rf"(?<!\w){re.escape(answer.strip())}(?!\w)", text, flags)
        }
        if spans:
            return sorted(spans)
    return []


def _token_spans(
    pack: Pack, answer_spans: Sequence[Sequence[tuple[int, int]]]
) -> list[tuple[int, int]]:
    """First and last token of each character span, by passage, that a pack holds whole."""
    spans: list[tuple[int, int]] = []
    for passage, found in enumerate(answer_spans):
        for start, end in found:
            tokens = [
                (token, one)
                for token, one in enumerate(pack.offsets)
                if one is not None and one[0] == passage and one[1] < end and one[2] > start
            ]
            if tokens and tokens[0][1][1] <= start and tokens[-1][1][2] >= end:
                spans.append((tokens[0][0], tokens[-1][0]))
    return spans


def batches_by_length(
    examples: Sequence[PackedExample], max_tokens: int, rng: random.Random
) -> list[list[PackedExample]]:
    """Batches of examples of about the same length, in a random order.

    Args:
        examples: to be batched.
        max_tokens: of a batch, padding included.
        rng: of the order.
    """
    ordered = sorted(examples, key=lambda one: len(one.pack.token_ids) + 8 * rng.random())
    batches: list[list[PackedExample]] = []
    batch: list[PackedExample] = []
    for example in ordered:
        if batch and len(example.pack.token_ids) * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(example)
    batches.append(batch)
    rng.shuffle(batches)
    return [batch for batch in batches if batch]
