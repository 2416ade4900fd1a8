"""Parsed inputs become sources with slots: their windows, keys, values and symbols.

Those of documents can be made by a process of its own: to find windows and names takes as long as
to write them, and both hold the GIL most of the time.
"""

import logging
import subprocess
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import PurePath
from typing import Any, BinaryIO, Protocol, cast, overload

from memnet.config import WindowConfig
from memnet.ingest.formats import ParsedFacts
from memnet.ingest.messages import message_slots
from memnet.ingest.windows import Window, document_windows, titles
from memnet.loaders.document import Block, Cell, ParsedDocument
from memnet.loaders.reading import (
    BadMessageError,
    TooLargeError,
    parse_message,
    read_message,
    write_message,
)
from memnet.runtime.process import own_streams, raise_gc_threshold, start_child
from memnet.storage import NewSlot, NewSource
from memnet.storage.values import SlotKind
from memnet.text.names import mentions, normalise, opening_names, symbol, title_symbols

# Raise it when slots are made in another way, so that all are made again.
_PIPELINE_VERSION = "8"
# A shorter word that two names share, such as "of", does not make them the same.
_MIN_SHARED_LETTERS = 4


class Extractor(Protocol):
    """Finds names in texts: hops lead from the text that mentions a name to what it names."""

    @property
    def fingerprint(self) -> str:
        """Identifies what decides the names: documents are ingested again when it changes."""
        ...

    def extract(self, text: str) -> Iterable[str]:
        """The names that a passage mentions, in any spelling."""
        ...


def chunking_fingerprint(config: WindowConfig, extractor: Extractor | None) -> str:
    """What slots are made by: a part of every digest, and equal in all processes of a run."""
    salt = f"{_PIPELINE_VERSION}/{config.characters}/{config.min_characters}/"
    return salt if extractor is None else f"{salt}{extractor.fingerprint}/"


def document_source(
    document: ParsedDocument,
    digest: bytes,
    namespace: str,
    config: WindowConfig,
    extractor: Extractor | None = None,
) -> NewSource:
    """A document as a source with a slot for each window; mentions are what ``extractor`` finds.

    Slots of messages are not made by another process: it would not know who takes part.
    """
    talks = document.turn is not None or "participants" in document.metadata
    make = partial(document_slots, document, config, extractor)
    return NewSource(
        document.name,
        digest,
        LazySlots(make, None if talks else document),
        namespace,
        document.kind,
        document.origin,
        document.title,
        document.metadata,
        tuple(
            (block.start, document.text[block.start : block.end])
            for block in document.blocks
            if block.kind == "heading"
        ),
    )


def facts_source(facts: ParsedFacts, digest: bytes, namespace: str) -> NewSource:
    """Facts as a source with two slots each: from subject to object, and back."""
    slots = LazySlots(lambda: _fact_slots(facts))
    return NewSource(facts.name, digest, slots, namespace, "facts", facts.origin)


class LazySlots(Sequence[NewSlot]):
    """Slots made at the first look at them: the store has none at those of unchanged sources."""

    def __init__(
        self, make: Callable[[], list[NewSlot]], document: ParsedDocument | None = None
    ) -> None:
        self._make = make
        self._document = document
        self._made: list[NewSlot] | None = None

    @property
    def unmade(self) -> ParsedDocument | None:
        """The document whose slots are not made yet; None if they are, or are of no document."""
        return self._document if self._made is None else None

    def fill(self, slots: list[NewSlot]) -> None:
        """Take slots that were made elsewhere."""
        self._made = slots

    @overload
    def __getitem__(self, index: int) -> NewSlot: ...
    @overload
    def __getitem__(self, index: slice) -> list[NewSlot]: ...
    def __getitem__(self, index: int | slice) -> NewSlot | list[NewSlot]:
        if self._made is None:
            self._made = self._make()
        return self._made[index]

    def __len__(self) -> int:
        return len(self[:])


def document_slots(
    document: ParsedDocument, config: WindowConfig, extractor: Extractor | None = None
) -> list[NewSlot]:
    """A slot for each window of a document; arguments as for ``document_source``."""

    def extract(text: str) -> Iterable[str]:
        return mentions(text) if extractor is None else map(symbol, extractor.extract(text))

    said = message_slots(document, config.characters, extract)
    if said is not None:
        return said
    is_file = document.origin and document.name.startswith(document.origin)
    stem = PurePath(document.name).stem if is_file else ""
    own_names = [title_symbols(name) for name in (document.title, *document.names)]
    slots: list[NewSlot] = []
    for window in document_windows(document, config.characters, config.min_characters):
        text = document.text[window.start : window.end]
        about = map(title_symbols, window.names or [document.title])
        symbols = tuple(dict.fromkeys(chain(*about, *own_names)))
        aliases = _aliases(text, symbols) if window.opens else ()
        targets = (link_symbol(name) for name in (stem, *window.names) if name)
        key_symbols = tuple(dict.fromkeys((*symbols, *aliases, *targets)))
        links = (make(name) for name in window.links for make in (normalise, link_symbol))
        mentioned = dict.fromkeys(chain(extract(text), links))
        title = _title(document.title, window)
        values = tuple(name for name in mentioned if name and name not in key_symbols)
        slots.append(
            passage_slot(
                document, title, window.start, window.end, key_symbols, values, window.places
            )
        )
    return slots


def passage_slot(
    document: ParsedDocument,
    title: str,
    start: int,
    end: int,
    key_symbols: tuple[str, ...],
    value_symbols: tuple[str, ...],
    places: tuple[tuple[int, str], ...],
) -> NewSlot:
    """The slot of a window of a document."""
    text = document.text[start:end]
    return NewSlot(
        kind="passage",
        title=title,
        text=text,
        start=start,
        end=end,
        key_text=passage_key(title, text),
        key_symbols=key_symbols,
        value_symbols=value_symbols,
        places=places,
    )


def passage_key(title: str, text: str) -> str:
    """What the key vector of a passage of a document encodes."""
    return f"{title}\n{text}" if title else text


def relation_key(relation: str, kind: SlotKind) -> str:
    """What the key vector of a fact encodes, or of its reverse: the words of its relation."""
    return f"{relation} of" if kind == "reverse" else relation


def _title(title: str, window: Window) -> str:
    """The title of a document with the headings above a window, and what introduces its text."""
    path = " > ".join(titles(title, window.headings))
    return f"{path} — {window.context}" if path and window.context else path or window.context


def link_symbol(name: str) -> str:
    """The symbol by which links find a file or a heading: no question can name it by chance."""
    return f"/{symbol(name)}"


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
    kinds: tuple[SlotKind, SlotKind] = ("fact", "reverse")
    return [
        NewSlot(
            kind=kind,
            title=key,
            text=text,
            start=start,
            end=end,
            key_text=relation_key(relation, kind),
            key_symbols=(symbol(key),),
            value_symbols=(symbol(value),),
            relation=relation,
            value=value,
        )
        for fact, text, start, end in facts.facts
        # The name of a relation as words: "starred_actors" as "starred actors".
        for relation in [normalise(fact.relation) or fact.relation]
        for kind, (key, value) in zip(
            kinds, ((fact.subject, fact.object), (fact.object, fact.subject)), strict=True
        )
    ]


_log = logging.getLogger("memnet")
_START = "from memnet.ingest.slots import main; main()"
_GRACE = 2.0  # seconds in which a process that has nothing more to do has to end by itself


class SlotProcess:
    """Makes slots in another process, which the first request starts and ``close`` ends.

    One thread at a time may use it.
    """

    def __init__(self, config: WindowConfig) -> None:
        self._config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._is_broken = False

    @property
    def is_running(self) -> bool:
        """Whether it was started, and not ended since."""
        return self._process is not None

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError, subprocess.TimeoutExpired):  # of what could not be sent any more
            cast(BinaryIO, process.stdin).close()
            process.wait(_GRACE)
        process.kill()
        process.wait()
        cast(BinaryIO, process.stdout).close()

    def fill(self, sources: Sequence[NewSource]) -> None:
        """Make the slots of those sources that are documents, and have none yet.

        Where the process does not start, or ends, they are left to be made by this one.
        """
        unmade = [
            (one.slots, document)
            for one in sources
            if isinstance(one.slots, LazySlots) and (document := one.slots.unmade) is not None
        ]
        made = self._make([document for _, document in unmade])
        for (lazy, _), slots in zip(unmade, made, strict=False):
            lazy.fill(slots)

    def _make(self, documents: Sequence[ParsedDocument]) -> list[list[NewSlot]]:
        """The slots of each document; nothing where the process does not do so."""
        if self._is_broken or not documents:
            return []
        try:
            if self._process is None:
                self._process = start_child(_START)
            request = [self._config.model_dump(), *map(_document_message, documents)]
            write_message(cast(BinaryIO, self._process.stdin), request)
            data = read_message(cast(BinaryIO, self._process.stdout))
            if data is None:
                raise EOFError
            answer = parse_message(data)
        except TooLargeError:
            return []
        except (OSError, EOFError, BadMessageError) as error:
            _log.info("slots are not made by a process of their own: %r", error)
            self._is_broken = True
            self.close()
            return []
        return [
            [passage_slot(document, *values) for values in map(_slot_values, slots)]
            for document, slots in zip(documents, answer, strict=True)
        ]


def main() -> None:
    """Answer requests on standard input until it ends, in the process that was started."""
    raise_gc_threshold()
    requests, answers = own_streams()
    while (data := read_message(requests)) is not None:
        settings, *documents = parse_message(data)
        config = WindowConfig(**settings)
        write_message(
            answers,
            [
                list(map(_slot_message, document_slots(_document(values), config)))
                for values in documents
            ],
        )


# What slots are made of, and what tells one from others
_document_message = attrgetter("name", "title", "text", "blocks", "origin", "names")
_slot_message = attrgetter("title", "start", "end", "key_symbols", "value_symbols", "places")


def _document(message: list[Any]) -> ParsedDocument:
    name, title, text, blocks, origin, names = message
    made = (
        Block(kind, start, end, level, place, opens, tuple(links), tuple(Cell(*c) for c in cells))
        for kind, start, end, level, place, opens, links, cells in blocks
    )
    return ParsedDocument(name, title, text, tuple(made), origin, names=tuple(names))


def _slot_values(message: list[Any]) -> tuple[Any, ...]:
    title, start, end, keys, mentioned, places = message
    return title, start, end, tuple(keys), tuple(mentioned), tuple(map(tuple, places))
