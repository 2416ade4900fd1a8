"""Questions made from a memory itself, to learn hops from where nobody has written any."""

import random
import re
from collections.abc import Iterator

from memnet.documents.candidates import LinkKind
from memnet.documents.links import Link, find_links
from memnet.documents.training.from_passages import made_from_passages
from memnet.evaluation.questions import Question
from memnet.storage import MemoryStore, Slot
from memnet.text.names import name_pattern
from memnet.text.sentences import sentences

_LONGEST = 18
"""Words taken of each of the two sentences: questions are short."""


def pseudo_questions(store: MemoryStore, most: int, seed: int) -> list[Question]:
    """Two-hop questions whose answers are known: both passages are right.

    A sentence of one passage, with the name that links it to another hidden, is joined to a
    sentence of the other with the same name hidden. Only by finding the one passage and following
    the name can the other be found, as in a real question that says "the director of ...".

    Args:
        store: the memory.
        most: questions to make; fewer where passages don't link.
        seed: of the choice.
    """
    chance = random.Random(seed)
    return made_from_passages(
        store, most, chance, lambda slot: list(_question(store, slot, chance))
    )


def _question(store: MemoryStore, slot: int, chance: random.Random) -> Iterator[Question]:
    """A question that starts from a slot, or none."""
    links = [
        link for link in find_links(store.symbols([slot]), store) if link.kind != LinkKind.BACK
    ]
    if not links:
        return
    kind = chance.choice(sorted({link.kind for link in links}))
    link = chance.choice([link for link in links if link.kind == kind])
    sender, other = store.fetch([slot, link.slot])
    texts = [_hidden(passage, link, chance) for passage in (other, sender)]
    if sender.source != other.source and all(texts):
        yield Question(question=" ".join(map(str, texts)), gold=(sender.source, other.source))


def _hidden(passage: Slot, link: Link, chance: random.Random) -> str | None:
    """The words about a link in a sentence of a passage, without the name that links.

    Of the passage that the name comes from, the sentence that holds it; of another, which may be
    about it without saying its name, any.
    """
    name = re.compile(name_pattern(link.name), re.IGNORECASE)
    spans = [passage.text[start:end] for start, end in sentences(passage.text)]
    holding = [text for text in spans if name.search(text)]
    if passage.id == link.sender and not holding:
        return None
    words = name.sub(" ", chance.choice(holding or spans)).split()
    return " ".join(words[:_LONGEST]) or None
