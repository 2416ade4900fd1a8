"""Parsed inputs become sources with slots: their keys, values and symbols."""

from collections.abc import Callable, Iterable, Sequence

from memnet.ingest.parsed import ParsedDocument, ParsedFacts
from memnet.ingest.windows import windows
from memnet.storage import NewSlot, NewSource
from memnet.text.names import mentions, normalise, opening_names, symbol, title_symbols

_TELLING_LETTERS = 4
"""A shorter word that two names share, such as "of", does not make them the same."""

Extract = Callable[[str], Iterable[str]]
"""Finds the normalised names that a text mentions: the place for a better extractor."""


def document_source(
    document: ParsedDocument,
    digest: bytes,
    namespace: str,
    longest: int,
    extract: Extract = mentions,
) -> NewSource:
    """A document as a source with a slot for each window."""
    slots: list[NewSlot] = []
    for section in document.sections:
        symbols = tuple(dict.fromkeys((*title_symbols(section.title), *section.symbols)))
        whole = document.text[section.start : section.end]
        for place, (start, end) in enumerate(windows(whole, longest)):
            text = whole[start:end]
            about = symbols if place else tuple(dict.fromkeys((*symbols, *_aliases(text, symbols))))
            slots.append(
                NewSlot(
                    kind="passage",
                    title=section.title,
                    text=text,
                    start=section.start + start,
                    end=section.start + end,
                    key_text=f"{section.title}\n{text}" if section.title else text,
                    key_symbols=about,
                    value_symbols=tuple(name for name in extract(text) if name not in about),
                )
            )
    return NewSource(
        document.name, digest, slots, namespace, "document", document.origin, document.title,
        document.metadata,
    )  # fmt: skip


def _aliases(text: str, symbols: Sequence[str]) -> list[str]:
    """Names by which a text says what it is about.

    Beside a title they count where one shares a word with it ("Ann Mary Rank" and "Ann Rank"): else
    the text starts with something else. Then only names of several words count: "Rank" is any Rank.
    """
    names = opening_names(text)
    if not symbols:
        return list(names)
    titled = {word for name in symbols for word in name.split() if len(word) >= _TELLING_LETTERS}
    if titled.isdisjoint(word for name in names for word in name.split()):
        return []
    return [name for name in names if " " in name]


def facts_source(facts: ParsedFacts, digest: bytes, namespace: str) -> NewSource:
    """Facts as a source with two slots each: from subject to object, and back."""
    slots: list[NewSlot] = []
    for fact, text, start, end in facts.facts:
        relation = relation_words(fact.relation)
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
    return NewSource(facts.name, digest, slots, namespace, "facts", facts.origin)


def relation_words(relation: str) -> str:
    """A relation's name as words: ``starred_actors`` and ``starred.actors`` as "starred actors"."""
    return normalise(relation) or relation
