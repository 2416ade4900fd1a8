"""Questions made from the passages of a memory, where nobody has written any."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from memnet.documents.candidates import Link, LinkKind, find_links
from memnet.documents.training.templates import templated_examples
from memnet.learning import OnProgress, TrainableMemory, TrainingProgress, no_progress
from memnet.learning.evaluation import Question
from memnet.reader.training.examples import NAME, ReaderExample, ReaderPassage
from memnet.storage import MemoryStore, Slot
from memnet.text.english import sentences
from memnet.text.names import name_pattern, normalise

_YEAR = re.compile(r"[12]\d{3}")
# Characters of a sentence that becomes a cloze question.
_MIN_CLOZE_LENGTH, _MAX_CLOZE_LENGTH = 40, 260
_MAX_PER_SLOT = 2  # Cloze questions made from one slot
# Taken of each of the two sentences of a two-hop question: questions are short.
_MAX_SENTENCE_WORDS = 18

_Made = TypeVar("_Made")


def reader_examples(
    memory: TrainableMemory,
    max_examples: int,
    *,
    seed: int = 0,
    on_progress: OnProgress = no_progress,
) -> list[ReaderExample]:
    """Questions for a reader to learn from, made from the documents of a memory.

    Up to half are templated, the others cloze questions.

    Args:
        memory: with the documents.
        max_examples: to make; there are fewer where the documents give no more.
        seed: of the choice.
        on_progress: called after each passage from which cloze questions are made.
    """
    templated = templated_examples(memory.store, max_examples // 2, seed)
    rest = max_examples - len(templated)
    return templated + cloze_examples(memory.store, rest, seed, on_progress)


def cloze_examples(
    store: MemoryStore, max_examples: int, seed: int, on_progress: OnProgress = no_progress
) -> list[ReaderExample]:
    """At most ``max_examples`` sentences with a name or number replaced by a question word.

    The name also stands in what is to be read: the rest of the passage, or another passage that it
    links to. Each is an example with one right answer.

    Source: Lewis et al. 2019 (cloze translation); Ram et al. 2021 (recurring spans).
    """
    rng = random.Random(seed)

    def make(slot: int) -> list[ReaderExample]:
        examples = list(_clozes(store, slot, rng))
        return rng.sample(examples, min(_MAX_PER_SLOT, len(examples)))

    return _from_passages(store, max_examples, rng, make, on_progress)


def two_hop_questions(store: MemoryStore, max_questions: int, seed: int) -> list[Question]:
    """At most ``max_questions`` questions whose sources are known: both passages are right.

    A sentence of one passage, with the name that links it to another hidden, is joined to a
    sentence of the other with the same name hidden. Only by finding the one passage and following
    the name can the other be found, as in a question that asks for "the director of ...".
    """
    rng = random.Random(seed)
    return _from_passages(
        store, max_questions, rng, lambda slot: list(_two_hop_question(store, slot, rng))
    )


def _from_passages(
    store: MemoryStore,
    max_made: int,
    rng: random.Random,
    make: Callable[[int], Sequence[_Made]],
    on_progress: OnProgress = no_progress,
) -> list[_Made]:
    """What ``make`` gives for passages in random order, until there is enough."""
    ids = store.passage_ids().tolist()
    rng.shuffle(ids)
    made: list[_Made] = []
    for slot in ids:
        if len(made) >= max_made:
            break
        made += make(slot)
        share = min(1.0, len(made) / max_made)
        on_progress(TrainingProgress("making examples", len(made), share))
    return made[:max_made]


def _clozes(store: MemoryStore, slot_id: int, rng: random.Random) -> Iterator[ReaderExample]:
    """All cloze questions that a slot gives."""
    [slot] = store.fetch([slot_id])
    spans = sentences(slot.text)
    for start, end in spans:
        rest = slot.text[:start] + slot.text[end:]
        for name in _names(slot.text[start:end]):
            if len(spans) > 2 and _contains(rest, name):
                yield _cloze(slot.text[start:end], name, slot.title, rest, rng)
    for link in find_links(store.symbols([slot_id]), store):
        [other] = store.fetch([link.slot])
        for start, end in spans:
            sentence = slot.text[start:end]
            if link.name in normalise(sentence):
                for name in _names(sentence):
                    if normalise(name) != link.name and _contains(other.text, name):
                        yield _cloze(sentence, name, other.title, other.text, rng)


def _names(sentence: str) -> list[str]:
    """Names and numbers that stand once in a sentence of fair length."""
    if not _MIN_CLOZE_LENGTH <= len(sentence) <= _MAX_CLOZE_LENGTH:
        return []
    names = [match.group().rstrip(".") for match in NAME.finditer(sentence)]
    return [name for name in names if len(name) > 3 and sentence.count(name) == 1]


def _contains(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _cloze(sentence: str, name: str, title: str, text: str, rng: random.Random) -> ReaderExample:
    if _YEAR.fullmatch(name):
        word = "when"
    elif name[0].isdigit():
        word = "how many"
    else:
        word = rng.choice(["what", "who", "which"])
    question = sentence.replace(name, word).strip().rstrip(".") + "?"
    return ReaderExample(
        question=question, answers=(name,), passages=(ReaderPassage(title=title, text=text),)
    )


def _two_hop_question(store: MemoryStore, slot: int, rng: random.Random) -> Iterator[Question]:
    """A question that starts from a slot, or none."""
    found = find_links(store.symbols([slot]), store)
    links = [link for link in found if link.kind != LinkKind.BACK]
    if not links:
        return
    kind = rng.choice(sorted({link.kind for link in links}))
    link = rng.choice([link for link in links if link.kind == kind])
    sender, other = store.fetch([slot, link.slot])
    texts = [_without_link(passage, link, rng) for passage in (other, sender)]
    if sender.source != other.source and all(texts):
        yield Question(question=" ".join(map(str, texts)), gold=(sender.source, other.source))


def _without_link(passage: Slot, link: Link, rng: random.Random) -> str | None:
    """A sentence of a passage without the name that links.

    Of the passage that the name comes from, a sentence with it; of another, which may be about it
    without its name, any.
    """
    name = re.compile(name_pattern(link.name), re.IGNORECASE)
    texts = [passage.text[start:end] for start, end in sentences(passage.text)]
    with_name = [text for text in texts if name.search(text)]
    if passage.id == link.sender and not with_name:
        return None
    words = name.sub(" ", rng.choice(with_name or texts)).split()
    return " ".join(words[:_MAX_SENTENCE_WORDS]) or None
