"""What a reader learns from: questions with their passages, as files and as tokens."""

import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

from memnet.io import read_json_lines
from memnet.learning.evaluation import Askable
from memnet.reader.network import Right
from memnet.reader.spans import KINDS, QUOTED, Pack, Packer, Passage
from memnet.storage import MemoryStore, Slot
from memnet.text.names import normalise
from memnet.types import Evidence

YES_NO = ("yes", "no")  # Answers that stand in no passage
# Names and numbers in a passage.
NAME = re.compile(r"\b[A-Z][\w'’.-]+(?: [A-Z][\w'’.-]+)*|\b[12]\d{3}\b|\b\d[\d,.]*\d\b")
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
_WITHOUT_ANSWER = 0.12  # Several passages: those with the answer are removed
_ONLY_DISTRACTORS = 0.08  # One passage: only distractors are read
_UNANSWERABLE = 0.08  # One passage: the question is changed so that the passage does not answer it
_NO_DISTRACTORS = 0.35  # One passage: read without distractors
_SHUFFLED = 0.4  # Distractors that stand anywhere rather than last
_MAX_DISTRACTORS = 4
_FETCHED = 1000  # Slots that are fetched at once


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
    """Right short answers as they stand in the passages, or "yes" or "no"; none: where there are no
    quotations either, they hold no answer."""
    quotes: tuple[str, ...] = ()
    """Pieces of the passages that answer; none: the units that hold a short answer."""
    kind: Literal["value", "definition", "statement", "list", "steps"] | None = None
    """Of an answer that is quoted; None where it is not known."""
    passages: tuple[ReaderPassage, ...] = Field(min_length=1)
    others: tuple[ReaderPassage, ...] = ()
    """Distractors: passages without the answer, some of which are read as well."""


def passage_of(found: Slot | Evidence) -> ReaderPassage:
    """A passage of a memory, to read."""
    return ReaderPassage(title=found.title, text=found.text)


def stored_passages(store: MemoryStore) -> Iterator[Slot]:
    """All passages of a memory, in the order in which they came."""
    ids = store.passage_ids().tolist()
    for start in range(0, len(ids), _FETCHED):
        yield from store.fetch(ids[start : start + _FETCHED])


class Packed(Protocol):
    """An example as tokens."""

    @property
    def pack(self) -> Pack:
        """The tokens."""
        ...


P = TypeVar("P", bound=Packed)


class PackedExample(NamedTuple):
    """An example as the network takes it."""

    pack: Pack
    right: Right


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
            passage_of(found)
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
    """Pack an example with some distractors, in a random order; None without its answer."""
    example = _sometimes_unanswerable(example, rng)
    short = example.answers[0].casefold() if example.answers else ""
    answered = bool(short or example.quotes)
    right = list(example.passages)
    rng.shuffle(right)
    passages = _mixed(right, _distractors(example, rng), rng)
    packs = packer.packs(example.question, passages)
    kinds = _kinds(example)
    if not answered:
        return PackedExample(packs[0], Right([], _marked(packs[0], {}), kinds)) if packs else None
    texts = {one.text for one in right}
    quoted = {
        index: [span for quote in example.quotes for span in find_quote(one.text, quote)]
        for index, one in enumerate(passages)
        if one.text in texts
    }
    spans = {
        index: [] if short in YES_NO else _answer_spans(one.text, example.answers, quoted[index])
        for index, one in enumerate(passages)
        if one.text in texts
    }
    evidence = quoted if example.quotes else spans
    packed = [
        PackedExample(pack, Right(_token_spans(pack, spans), _marked(pack, evidence), kinds))
        for pack in packs
    ]
    if short in YES_NO and not example.quotes:  # judged by all passages
        first = packed[0]
        return first._replace(right=first.right._replace(units=[]))
    usable = [one for one in packed if one.right.spans or any(unit[2] for unit in one.right.units)]
    return rng.choice(usable) if usable else None


def _kinds(example: ReaderExample) -> list[bool]:
    short = example.answers[0].casefold() if example.answers else ""
    if short in YES_NO:
        right = {short}
    elif not (short or example.quotes):
        right = {"none"}
    else:
        right = {example.kind} if example.kind else {KINDS[number] for number in QUOTED}
    return [kind in right for kind in KINDS]


def _answer_spans(
    text: str, answers: Sequence[str], quoted: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Where answers stand; within the quotations that answer, if they stand there."""
    spans = _find_answers(text, answers)
    inside = [
        span for span in spans if any(one[0] <= span[0] and span[1] <= one[1] for one in quoted)
    ]
    return inside or spans


def _marked(
    pack: Pack, evidence: Mapping[int, Sequence[tuple[int, int]]]
) -> list[tuple[int, int, bool]]:
    """The units of a pack, and whether most of each, or most of the evidence, is in the other."""
    return [
        (
            one.first,
            one.last,
            any(
                2 * (min(one.unit.end, end) - max(one.unit.start, start))
                >= min(one.unit.end - one.unit.start, end - start)
                for start, end in evidence.get(one.passage, ())
            ),
        )
        for one in pack.units
    ]


def find_quote(text: str, quote: str) -> list[tuple[int, int]]:
    """Where a quotation stands in a text, whatever white space and marks are between its words."""
    places = [index for index, char in enumerate(text) if char.isalnum() for _ in char.casefold()]
    wanted = _alphanumeric(quote)
    position = _alphanumeric(text).find(wanted) if wanted else -1
    return [(places[position], places[position + len(wanted) - 1] + 1)] if position >= 0 else []


def _alphanumeric(text: str) -> str:
    return "".join(char.casefold() for char in text if char.isalnum())


def _sometimes_unanswerable(example: ReaderExample, rng: random.Random) -> ReaderExample:
    """The example or, by chance, one whose passages hold no answer."""
    if not example.answers or example.answers[0].casefold() in YES_NO:
        return example
    passages, question, drawn = example.passages, example.question, rng.random()
    if len(passages) > 1 and drawn < _WITHOUT_ANSWER:
        passages = tuple(
            one
            for one in passages
            if not any(find_quote(one.text, quote) for quote in example.quotes)
            and not _find_answers(one.text, example.answers)
        )
    elif len(passages) == 1 and drawn < _ONLY_DISTRACTORS:
        passages = example.others[:_MAX_DISTRACTORS]
    elif len(passages) == 1 and drawn < _ONLY_DISTRACTORS + _UNANSWERABLE:
        changed = unanswerable_question(question, passages[0].text, example.answers, rng)
        question = changed or question
    unchanged = passages == example.passages and question == example.question
    if unchanged or not passages:
        return example
    none = {"answers": (), "quotes": (), "kind": None}
    return example.model_copy(update={"question": question, "passages": passages, **none})


def unanswerable_question(
    question: str, text: str, answers: Sequence[str], rng: random.Random
) -> str | None:
    """A question that a passage does not answer, though it shares its words; None if none is found.

    A name or number that the passage shares with the question becomes another one of the passage,
    or a word its antonym.

    Source: Rajpurkar et al. 2018, table 1 (kinds of questions that have no answer).
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
    pack: Pack, answer_spans: Mapping[int, Sequence[tuple[int, int]]]
) -> list[tuple[int, int]]:
    """First and last token of each character span, by passage, that a pack holds whole."""
    spans: list[tuple[int, int]] = []
    for passage, found in answer_spans.items():
        for start, end in found:
            tokens = [
                (token, one)
                for token, one in enumerate(pack.offsets)
                if one is not None and one[0] == passage and one[1] < end and one[2] > start
            ]
            if tokens and tokens[0][1][1] <= start and tokens[-1][1][2] >= end:
                spans.append((tokens[0][0], tokens[-1][0]))
    return spans


def batches_by_length(examples: Sequence[P], max_tokens: int, rng: random.Random) -> list[list[P]]:
    """Batches of at most ``max_tokens`` with padding, of about one length, in a random order."""
    ordered = sorted(examples, key=lambda one: len(one.pack.token_ids) + 8 * rng.random())
    batches: list[list[P]] = []
    batch: list[P] = []
    for example in ordered:
        if batch and len(example.pack.token_ids) * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(example)
    batches.append(batch)
    rng.shuffle(batches)
    return [batch for batch in batches if batch]


def padded(batch: Sequence[Packed]) -> tuple[Tensor, ...]:
    """A batch, each [B, T]: token ids and segments int64, and bool masks.

    The first mask is of the tokens where an answer may be, the second False for padding.
    """
    shape = len(batch), max(len(example.pack.token_ids) for example in batch)
    token_ids, segments = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    answer_mask, mask = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    for row, example in enumerate(batch):
        inside = row, slice(len(example.pack.token_ids))
        token_ids[inside], segments[inside], answer_mask[inside] = example.pack.inputs()
        mask[inside] = True
    return tuple(map(torch.from_numpy, (token_ids, segments, answer_mask, mask)))
