"""Slots of documents, made by a process of its own.

To find windows and names takes as long as to write them, and both hold the GIL most of the time:
threads would wait for each other.
"""

import logging
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO, cast

from memnet.config import WindowConfig
from memnet.ingest.slots import LazySlots, document_slots, passage_slot
from memnet.loaders.document import Block, Cell, ParsedDocument
from memnet.loaders.messages import (
    BadMessageError,
    TooLargeError,
    parse_message,
    read_message,
    write_message,
)
from memnet.runtime.process import own_streams, raise_gc_threshold, start_child
from memnet.storage import NewSlot, NewSource

_log = logging.getLogger("memnet")
_START = "from memnet.ingest.slot_process import main; main()"
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
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


def _document_message(document: ParsedDocument) -> list[Any]:
    """What slots are made of."""
    return [
        document.name, document.title, document.text, document.blocks, document.origin,
        document.names,
    ]  # fmt: skip


def _document(message: list[Any]) -> ParsedDocument:
    name, title, text, blocks, origin, names = message
    made = (
        Block(kind, start, end, level, place, opens, tuple(links), tuple(Cell(*c) for c in cells))
        for kind, start, end, level, place, opens, links, cells in blocks
    )
    return ParsedDocument(name, title, text, tuple(made), origin, names=tuple(names))


def _slot_message(slot: NewSlot) -> list[Any]:
    return [slot.title, slot.start, slot.end, slot.key_symbols, slot.value_symbols, slot.places]


def _slot_values(message: list[Any]) -> tuple[Any, ...]:
    title, start, end, keys, mentioned, places = message
    return title, start, end, tuple(keys), tuple(mentioned), tuple(map(tuple, places))
