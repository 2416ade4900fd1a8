"""Cloze questions: what a memory's own passages teach a reader."""

import random
import re
from collections.abc import Iterator

from memnet.documents.links import find_links
from memnet.documents.training.from_passages import made_from_passages
from memnet.reader.training.changed_questions import NAME
from memnet.reader.training.examples import ReaderExample, ReaderPassage
from memnet.storage import MemoryStore, Slot
from memnet.text.names import normalise
from memnet.text.sentences import sentences
from memnet.training.progress import OnProgress, no_progress

_YEAR = re.compile(r"[12]\d{3}")
_SHORTEST, _LONGEST = 40, 260
"""Characters of a sentence that becomes a question."""
_OF_A_SLOT = 2
"""Questions at most made from one slot."""


def cloze_examples(
    store: MemoryStore, most: int, seed: int, on_progress: OnProgress = no_progress
) -> list[ReaderExample]:
    """Sentences of passages with a name or number replaced by a question word.

    The name stands elsewhere too: in the rest of the passage, or in another passage that is linked
    by it; that is what is read. Each is an example with one right answer.

    Source: Lewis et al. 2019 (cloze translation); Ram et al. 2021 (recurring spans).

    Args:
        store: the memory.
        most: questions to make.
        seed: of the choice.
        on_progress: called after each passage.
    """
    chance = random.Random(seed)

    def some(slot: int) -> list[ReaderExample]:
        found = list(_of_slot(store, slot, chance))
        return chance.sample(found, min(_OF_A_SLOT, len(found)))

    return made_from_passages(store, most, chance, some, on_progress)


def _of_slot(store: MemoryStore, slot_id: int, chance: random.Random) -> Iterator[ReaderExample]:
    """All questions that a slot gives."""
    [slot] = store.fetch([slot_id])
    spans = sentences(slot.text)
    for start, end in spans:
        rest = slot.text[:start] + slot.text[end:]
        for name in _names(slot.text[start:end]):
            if len(spans) > 2 and _holds(rest, name):
                yield _example(slot.text[start:end], name, slot.title, rest, chance)
    for link in find_links(store.symbols([slot_id]), store):
        [other] = store.fetch([link.slot])
        yield from _across(slot, other, link.name, chance)


def _across(
    slot: Slot, other: Slot, linking: str, chance: random.Random
) -> Iterator[ReaderExample]:
    """Questions whose answer stands in another passage, which the same sentence leads to."""
    for start, end in sentences(slot.text):
        sentence = slot.text[start:end]
        if linking not in normalise(sentence):
            continue
        for name in _names(sentence):
            if normalise(name) != linking and _holds(other.text, name):
                yield _example(sentence, name, other.title, other.text, chance)


def _names(sentence: str) -> list[str]:
    """Names and numbers that stand once in a sentence of fair length."""
    if not _SHORTEST <= len(sentence) <= _LONGEST:
        return []
    found = [match.group().rstrip(".") for match in NAME.finditer(sentence)]
    return [name for name in found if len(name) > 3 and sentence.count(name) == 1]


def _holds(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _example(
    sentence: str, name: str, title: str, text: str, chance: random.Random
) -> ReaderExample:
    if _YEAR.fullmatch(name):
        word = "when"
    elif name[0].isdigit():
        word = "how many"
    else:
        word = chance.choice(["what", "who", "which"])
    question = sentence.replace(name, word).strip().rstrip(".") + "?"
    return ReaderExample(
        question=question, answers=(name,), passages=(ReaderPassage(title=title, text=text),)
    )
