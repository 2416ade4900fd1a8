"""The server over standard input and output."""

import importlib.util
import io
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TextIO, cast

from memnet.errors import DependencyError, MemnetError
from memnet.mcp.handshake import early_answer, is_answer_to
from memnet.mcp.identity import GRAPH_INSTRUCTIONS, INSTRUCTIONS
from memnet.mcp.memory import LazyMemory

if TYPE_CHECKING:
    from memnet.engine import Engine

Tools = Literal["memory", "memory-graph"]


def serve_stdio(
    open_engine: "Callable[[], Engine]",
    *,
    tools: Tools = "memory",
    read_only: bool = False,
    namespace: str | None = None,
) -> None:
    """Serve one client over standard input and output until it closes the input.

    Only messages of the protocol reach standard output: meanwhile what else is printed there goes
    to standard error, and standard input is empty.

    Args:
        open_engine: opens the memory, on a thread; it is closed in the end. Where it raises one of
            memnet's own errors, the call of a tool fails with that error, and the next one tries
            again.
        tools: "memory" for those of memnet, "memory-graph" for those of the protocol's reference
            server of a memory.
        read_only: leave out tools that write.
        namespace: to read and write in; None to read in all and write into the default one.

    Raises:
        DependencyError: the library of the protocol is not installed.
    """
    if importlib.util.find_spec("mcp") is None:
        raise DependencyError(
            "the Model Context Protocol's library is not installed; install it with: "
            'pip install "memnet[mcp]"'
        )
    instructions = INSTRUCTIONS if tools == "memory" else GRAPH_INSTRUCTIONS
    received, sent = _take_streams()
    first = received.readline()
    answer = early_answer(first, instructions)
    if answer is not None:
        sent.write(answer)
        sent.flush()

    memory = LazyMemory(open_engine, namespace)
    # While the library of the protocol is loaded, and before the first question.
    threading.Thread(target=_open_early, args=(memory,), daemon=True).start()
    try:
        from memnet.mcp.run import run_stdio

        run_stdio(
            memory,
            tools,
            read_only,
            cast(TextIO, _Replayed(first, received)),
            cast(TextIO, _WithoutAnswer(first, sent) if answer is not None else sent),
        )
    finally:
        memory.close()


def _open_early(memory: LazyMemory) -> None:
    with suppress(MemnetError):  # which the first call of a tool will raise again
        memory.engine().preload()


def _take_streams() -> tuple[TextIO, TextIO]:
    """Standard input and output for the protocol alone; others find nothing, and standard error."""
    received = os.fdopen(os.dup(0), "r", encoding="utf-8", errors="replace", newline="\n")
    sent = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return received, sent


class _Replayed(io.TextIOBase):
    """A stream whose first line, which was read already, comes again."""

    def __init__(self, first: str, rest: TextIO) -> None:
        self._first: str | None = first
        self._rest = rest

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        if self._first is None:
            return self._rest.readline(size)
        first, self._first = self._first, None
        return first


class _WithoutAnswer(io.TextIOBase):
    """A stream that leaves out the answer to a message, which was given already."""

    def __init__(self, first: str, stream: TextIO) -> None:
        self._first: str | None = first
        self._stream = stream

    def write(self, text: str, /) -> int:
        if self._first is not None and is_answer_to(text, self._first):
            self._first = None
            return len(text)
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()
