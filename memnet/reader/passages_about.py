"""Which passages are about a name."""

from collections.abc import Sequence

from memnet.reader.passages import Ranked
from memnet.text.names import normalise, title_symbols


def places_about(name: str, passages: Sequence[Ranked], apart: int | None = None) -> list[int]:
    """The passages about a name, best first.

    Their title is the name, brackets left out, or else one of the two, each of several words, holds
    all words of the other: "Cy Dell" and "Cy Albert Dell". The passages of the document that the
    one at ``apart`` is of are none.
    """
    wanted = normalise(name)
    but = None if apart is None else passages[apart].slot.source
    others = [(place, item) for place, item in enumerate(passages) if item.slot.source != but]
    titled = [place for place, item in others if wanted in title_symbols(item.slot.title)]
    named = [(place, normalise(item.subject)) for place, item in others]
    return titled or [
        place
        for place, subject in named
        if " " in wanted and " " in subject and alike(wanted, subject)
    ]


def alike(name: str, other: str) -> bool:
    """Whether one of two normalised names holds all words of the other."""
    words, others = set(name.split()), set(other.split())
    return bool(words and others) and (words <= others or others <= words)


def windows_of(place: int, passages: Sequence[Ranked]) -> list[Ranked]:
    """The passages that are of one document with the one at a place, that one first."""
    source = passages[place].slot.source
    others = [item for item in passages if item.slot.source == source]
    return [passages[place], *(item for item in others if item is not passages[place])]


def subjects(question: str, passages: Sequence[Ranked]) -> list[int]:
    """Passages about what the question names: the longest names, the best passage for each."""
    asked = f" {normalise(question)} "
    named = [
        (name, place)
        for place, item in enumerate(passages)
        for name in title_symbols(item.slot.title)
        if f" {name} " in asked
    ]
    chosen: dict[str, int] = {}
    taken: set[int] = set()
    for name, place in sorted(named, key=lambda pair: (-len(pair[0]), pair[1])):
        if f" {name} " in asked and place not in taken:
            asked = asked.replace(f" {name} ", " | ", 1)
            chosen[name] = place
            taken.add(place)
    return list(chosen.values())
