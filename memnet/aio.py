"""A memory for asyncio: each call runs on a thread, and the event loop goes on."""

import asyncio
import functools
import os
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memnet.engine import Engine
from memnet.types import Answer, Source

_P = ParamSpec("_P")
_R = TypeVar("_R")
# A write that waits for another one keeps its thread, and questions should not wait for it.
_MIN_THREADS = 4


def _on_thread(
    method: Callable[Concatenate[Engine, _P], _R],
) -> "Callable[Concatenate[AsyncEngine, _P], Coroutine[Any, Any, _R]]":
    @functools.wraps(method)
    async def call(self: "AsyncEngine", /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await self.run(method, self.engine, *args, **kwargs)

    return call


class AsyncEngine:
    """An ``Engine`` whose methods are awaited; arguments, results and errors are the same.

    ::

        async with AsyncEngine.open("memory", create=True) as memory:
            answer = await memory.ask("Who built the Orre Light?")

    What runs when an await is cancelled runs to its end.
    """

    def __init__(self, open_engine: Callable[[], Engine]) -> None:
        """Prepare to open a memory; ``async with`` or ``await`` opens it."""
        self._open_engine = open_engine
        self._engine: Engine | None = None
        self._threads = ThreadPoolExecutor(
            max(_MIN_THREADS, os.cpu_count() or 1), thread_name_prefix="memnet"
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str], **arguments: Any) -> Self:
        """As ``Engine.open``, whose arguments it takes; use it with ``async with`` or ``await``."""
        return cls(functools.partial(Engine.open, path, **arguments))

    @property
    def engine(self) -> Engine:
        """The memory itself.

        Raises:
            RuntimeError: it is not open yet.
        """
        if self._engine is None:
            raise RuntimeError("the memory is not open; use 'async with' or 'await' first")
        return self._engine

    def __await__(self) -> Generator[Any, None, Self]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        try:
            self._engine = await self.run(self._open_engine)
        except BaseException:
            self._threads.shutdown(wait=False)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the memory, once the calls that run now are done."""
        await asyncio.to_thread(self._threads.shutdown)
        if self._engine is not None:
            await asyncio.to_thread(self._engine.close)

    def run(self, function: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> Awaitable[_R]:
        """Call a function on a thread of this memory."""
        call = functools.partial(function, *args, **kwargs)
        return asyncio.get_running_loop().run_in_executor(self._threads, call)

    ask = _on_thread(Engine.ask)
    search = _on_thread(Engine.search)
    ingest = _on_thread(Engine.ingest)
    encode_full = _on_thread(Engine.encode_full)
    remember = _on_thread(Engine.remember)
    tell = _on_thread(Engine.tell)
    undo = _on_thread(Engine.undo)
    history = _on_thread(Engine.history)
    evictions = _on_thread(Engine.evictions)
    get = _on_thread(Engine.get)
    forget = _on_thread(Engine.forget)
    export_bundle = _on_thread(Engine.export_bundle)
    info = _on_thread(Engine.info)
    verify = _on_thread(Engine.verify)

    async def ask_many(self, questions: Iterable[str], **arguments: Any) -> list[Answer]:
        """Answers to questions, in their order; the arguments are those of ``ask``."""
        return list(await asyncio.gather(*(self.ask(one, **arguments) for one in questions)))

    async def sources(self, namespace: str | None = None) -> list[Source]:
        """What is stored, in the order in which it first came; None for all namespaces."""
        return await self.run(lambda: list(self.engine.sources(namespace)))
