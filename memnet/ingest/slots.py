"""Parsed inputs become sources with slots: their windows, keys, values and symbols."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Protocol, overload

from memnet.ingest.formats import ParsedDocument, ParsedFacts
from memnet.storage import NewSlot, NewSource
from memnet.text.english import sentences, trim_span
from memnet.text.names import mentions, normalise, opening_names, symbol, title_symbols

_SPACE = re.compile(r"\s+")
_MIN_SHARED_LETTERS = 4
"""A shorter word that two names share, such as "of", does not make them the same."""


class Extractor(Protocol):
    """Finds names in texts: hops lead from the text that mentions a name to what it names."""

    @property
    def fingerprint(self) -> str:
        """Identifies what decides the names: documents are ingested anew when it changes."""
        ...

    def extract(self, text: str) -> Iterable[str]:
        """The names that a passage mentions, in any spelling."""
        ...


def document_source(
    document: ParsedDocument,
    digest: bytes,
    namespace: str,
    max_window: int,
    extractor: Extractor | None = None,
) -> NewSource:
    """A document as a source with a slot for each window of at most ``max_window`` characters.

    Its mentions are those that ``extractor`` finds; None for runs of capitalised words.
    """
    return NewSource(
        document.name,
        digest,
        _LazySlots(lambda: _document_slots(document, max_window, extractor)),
        namespace,
        "document",
        document.origin,
        document.title,
        document.metadata,
    )


def facts_source(facts: ParsedFacts, digest: bytes, namespace: str) -> NewSource:
    """Facts as a source with two slots each: from subject to object, and back."""
    slots = _LazySlots(lambda: _fact_slots(facts))
    return NewSource(facts.name, digest, slots, namespace, "facts", facts.origin)


class _LazySlots(Sequence[NewSlot]):
    """Slots made at the first look at them: the store has none at those of unchanged sources."""

    def __init__(self, make: Callable[[], list[NewSlot]]) -> None:
        self._make = make

    @cached_property
    def _slots(self) -> list[NewSlot]:
        return self._make()

    @overload
    def __getitem__(self, index: int) -> NewSlot: ...
    @overload
    def __getitem__(self, index: slice) -> list[NewSlot]: ...
    def __getitem__(self, index: int | slice) -> NewSlot | list[NewSlot]:
        return self._slots[index]

    def __iter__(self) -> Iterator[NewSlot]:
        return iter(self._slots)

    def __len__(self) -> int:
        return len(self._slots)


def windows(text: str, max_characters: int) -> list[tuple[int, int]]:
    """Character spans that cover every word of a text, each at most ``max_characters`` long.

    Windows hold whole sentences and are as long as allowed. A sentence that is longer by itself
    is cut between words, and a word that is longer by itself is cut anywhere.
    """
    joined: list[tuple[int, int]] = []
    for sentence in sentences(text):
        for start, end in _pieces(text, *sentence, max_characters):
            if joined and end - joined[-1][0] <= max_characters:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((start, end))
    return joined


def _pieces(text: str, start: int, end: int, max_characters: int) -> Iterator[tuple[int, int]]:
    while end - start > max_characters:
        spaces = list(_SPACE.finditer(text, start + 1, start + max_characters + 1))
        cut = spaces[-1].start() if spaces else start + max_characters
        yield start, cut
        rest = trim_span(text, cut, end)
        if rest is None:
            return
        start = rest[0]
    yield start, end


def _document_slots(
    document: ParsedDocument, max_window: int, extractor: Extractor | None
) -> list[NewSlot]:
    slots: list[NewSlot] = []
    for section in document.sections:
        symbols = tuple(dict.fromkeys((*title_symbols(section.title), *section.symbols)))
        section_text = document.text[section.start : section.end]
        for number, (start, end) in enumerate(windows(section_text, max_window)):
            text = section_text[start:end]
            aliases = () if number else _aliases(text, symbols)
            key_symbols = tuple(dict.fromkeys((*symbols, *aliases)))
            names = mentions(text) if extractor is None else map(symbol, extractor.extract(text))
            mentioned = dict.fromkeys(name for name in names if name and name not in key_symbols)
            slots.append(
                NewSlot(
                    kind="passage",
                    title=section.title,
                    text=text,
                    start=section.start + start,
                    end=section.start + end,
                    key_text=f"{section.title}\n{text}" if section.title else text,
                    key_symbols=key_symbols,
                    value_symbols=tuple(mentioned),
                )
            )
    return slots


def _aliases(text: str, symbols: Sequence[str]) -> list[str]:
    """Names by which the first window of a section says what it is about.

    With a title they count only if one shares a word with it ("Ann Mary Rank" and "Ann Rank"): else
    the text starts with something else. Then only names of several words count: "Rank" is any Rank.
    """
    names = opening_names(text)
    if not symbols:
        return list(names)
    words = {word for name in symbols for word in name.split() if len(word) >= _MIN_SHARED_LETTERS}
    if words.isdisjoint(word for name in names for word in name.split()):
        return []
    return [name for name in names if " " in name]


def _fact_slots(facts: ParsedFacts) -> list[NewSlot]:
    slots: list[NewSlot] = []
    for fact, text, start, end in facts.facts:
        # The name of a relation as words: "starred_actors" as "starred actors".
        relation = normalise(fact.relation) or fact.relation
        for kind, key, value, key_text in (
            ("fact", fact.subject, fact.object, relation),
            ("reverse", fact.object, fact.subject, f"{relation} of"),
        ):
            slots.append(
                NewSlot(
                    kind=kind,  # type: ignore[arg-type]
                    title=key,
                    text=text,
                    start=start,
                    end=end,
                    key_text=key_text,
                    key_symbols=(symbol(key),),
                    value_symbols=(symbol(value),),
                    relation=relation,
                    value=value,
                )
            )
    return slots
