"""The memory that tools work on."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from memnet.engine import Engine


class ServedMemory(Protocol):
    """A memory, and where in it to look."""

    @property
    def namespace(self) -> str | None:
        """To read and write in; None to read in all and write into the default one."""
        ...

    def engine(self) -> "Engine":
        """The memory itself; opening it may take a second, and raise what that raises."""
        ...


class OpenMemory:
    """A memory that is open already, and stays so."""

    def __init__(self, engine: "Engine", namespace: str | None = None) -> None:
        self.namespace = namespace
        self._engine = engine

    def engine(self) -> "Engine":
        """The memory itself."""
        return self._engine


class LazyMemory:
    """A memory that is opened when it is first needed. May be shared between threads."""

    def __init__(self, open_engine: "Callable[[], Engine]", namespace: str | None = None) -> None:
        self.namespace = namespace
        self._open = open_engine
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def engine(self) -> "Engine":
        """The memory itself. What failed to open is tried again by the next call."""
        with self._lock:
            if self._engine is None:
                self._engine = self._open()
            return self._engine

    def close(self) -> None:
        """Close it, if it is open."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
                self._engine = None
