"""Examples for a reader from the headings of the documents of a memory."""

from collections import Counter
from typing import NamedTuple

from memnet.documents.training.heading_forms import Asked, asked_by
from memnet.learning import OnProgress, TrainableMemory, counted, no_progress
from memnet.reader.training.examples import ReaderExample, ReaderPassage, find_quote
from memnet.storage import MemoryStore, Slot

_FETCHED = 1000  # Slots that are fetched at once
_NEAR = 12  # Windows that are looked at for distractors
_DISTRACTORS = 4

# A section: its source, the namespace of that, and the headings above it.
_Path = tuple[str, str, str]


class _Section(NamedTuple):
    """The first window of a section, and what its heading asks."""

    path: _Path
    slot: Slot
    asked: Asked | None


def heading_examples(
    memory: TrainableMemory, *, on_progress: OnProgress = no_progress
) -> list[ReaderExample]:
    """Questions that the headings of a memory's documents ask, with what answers them.

    A heading makes a question if it is one, tells what to do ("Installing plugins"), is what its
    section defines first, or names a list that its section begins with. The section's first blocks
    are the quotation; windows of other sections that are nearest to the question are distractors.
    A question that several sections ask is left out, as are headings that name no subject.

    Args:
        memory: with the documents.
        on_progress: called after each section that asks something.
    """
    sections = [
        (section, section.asked)
        for section in _sections(memory.store).values()
        if section.asked is not None
    ]
    times = Counter(asked.question.casefold() for _, asked in sections)
    single = [one for one in sections if times[one[1].question.casefold()] == 1]
    return [
        ReaderExample(
            question=asked.question,
            quotes=asked.quotes,
            kind=asked.kind,
            passages=(_passage(section.slot),),
            others=tuple(map(_passage, _distractors(memory, section, asked))),
        )
        for section, asked in counted(single, "making examples", on_progress)
    ]


def _distractors(memory: TrainableMemory, section: _Section, asked: Asked) -> list[Slot]:
    """Windows of other sections near to a question, without what answers it."""
    [vector] = memory.encoder.encode([asked.question])
    found = memory.store.search_dense(vector, _NEAR)
    return [
        slot
        for slot in memory.store.fetch(found.ids[found.mask].tolist())
        if slot.kind == "passage"
        and section.path not in {path for path, _, _ in _parts(slot)}
        and not any(find_quote(slot.text, quote) for quote in asked.quotes)
    ][:_DISTRACTORS]


def _sections(store: MemoryStore) -> dict[_Path, _Section]:
    """The sections of all documents by the windows that they begin in."""
    sections: dict[_Path, _Section] = {}
    ids = store.passage_ids().tolist()
    for start in range(0, len(ids), _FETCHED):
        for slot in store.fetch(ids[start : start + _FETCHED]):
            for path, first, last in _parts(slot):
                known = sections.get(path)
                if known is None or slot.start < known.slot.start:
                    sections[path] = _Section(path, slot, _asked(path, slot.text[first:last]))
    return sections


def _parts(slot: Slot) -> list[tuple[_Path, int, int]]:
    """The sections that a window holds, each with its first character there and the one after."""
    title, _, _ = slot.title.partition(" > ")
    places = [
        (offset, place)
        for offset, place in slot.places
        if title.startswith(place.partition(" > ")[0])  # others are pages, or rows of tables
    ] or [(0, slot.title)]
    ends = [offset for offset, _ in places[1:]]
    return [
        ((slot.source, slot.namespace, place), offset, end)
        for (offset, place), end in zip(places, [*ends, len(slot.text)], strict=True)
    ]


def _asked(path: _Path, text: str) -> Asked | None:
    """What the heading of a section asks; its text may begin with that heading."""
    *above, heading = path[2].split(" > ")
    first, _, rest = text.lstrip().partition("\n")
    own = rest if " ".join(first.split()) == heading else text
    return asked_by(heading, above[-1] if above else "", own)


def _passage(slot: Slot) -> ReaderPassage:
    return ReaderPassage(title=slot.title, text=slot.text)
