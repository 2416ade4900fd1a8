"""A connection to a PostgreSQL server, driven from the thread that uses it."""

import asyncio
import math
import os
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

import asyncpg

from memnet.storage.postgres.address import Address, Server
from memnet.storage.postgres.errors import FAILURES, SocketError, connect_error, one_line
from memnet.storage.tables.checked import IN_LIST, Row, Values

_STATEMENTS = 500
"""Statements that a session keeps prepared."""
_GRAPH_CANDIDATES = 400
_Result = TypeVar("_Result")


class Session:
    """One session of a server. Statements are those of ``Connection``; errors are asyncpg's.

    asyncpg runs on a loop that only this session uses, within the calls of its methods.
    """

    def __init__(
        self, address: Address, connect_seconds: float, server: Server | None = None
    ) -> None:
        """Connect.

        Args:
            address: of the store.
            connect_seconds: how long the server may take to answer.
            server: one of its ``readers``; None for the server that is written to.

        Raises:
            StoreError: the server can't be reached, or refuses.
        """
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        arguments = address.connect_arguments(server)
        settings = {
            **arguments.pop("server_settings"),
            "search_path": f"{address.quoted_schema}, public",
            # Statements are short, and take arrays of few elements: compiling them, or planning
            # each anew for its parameters, costs more than it saves.
            "jit": "off",
            "plan_cache_mode": "force_generic_plan",
            # Of pgvector's graph: nodes that a search keeps, and that it goes on after them until
            # enough rows pass its conditions. The order is made anew in full precision.
            "hnsw.ef_search": str(_GRAPH_CANDIDATES),
            "hnsw.iterative_scan": "relaxed_order",
        }
        try:
            self._connection: Any = self._run(
                asyncpg.connect(
                    **arguments,
                    server_settings=settings,
                    timeout=math.ceil(connect_seconds),
                    statement_cache_size=_STATEMENTS,
                )
            )
        except (*FAILURES, ValueError) as error:
            self._loop.close()
            raise connect_error(error, str(address), address.user) from None
        except BaseException:
            self._loop.close()
            raise
        self.version: int = self._connection.get_server_version().major

    def close(self) -> None:
        """Close the session; in a forked child it stays the parent's."""
        if not self.inherited and not self._loop.is_closed():
            # Not the orderly end, which would wait for a server that may be gone.
            self._connection.terminate()
            # Lets the transport close its socket.
            self._run(asyncio.sleep(0))
            self._loop.close()

    @property
    def inherited(self) -> bool:
        """Whether this process is a forked child of the one that opened it, whose it is."""
        return self._process != os.getpid()

    @property
    def closed(self) -> bool:
        """Whether it was closed, or lost."""
        return self._loop.is_closed() or self._connection.is_closed()

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction of this process is under way."""
        return not self.inherited and not self.closed and bool(self._connection.is_in_transaction())

    def rows(self, statement: str, parameters: Sequence[Any]) -> list[Row]:
        """All rows of a statement."""
        records = self._run(self._connection.fetch(translated(statement), *_values(parameters)))
        return [tuple(record) for record in records]

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement for each row of parameters."""
        self._run(
            self._connection.executemany(translated(statement), [_values(row) for row in rows])
        )

    def command(self, statements: str) -> None:
        """Run statements without parameters, one after the other."""
        self._run(self._connection.execute(statements))

    def copy(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows, which may be many."""
        self._run(self._connection.copy_records_to_table(table, records=rows, columns=columns))

    def _run(self, awaitable: Coroutine[Any, Any, _Result]) -> _Result:
        if self.inherited:
            awaitable.close()
            raise SocketError("it is of the process that this one was forked from")
        if not _is_running():
            return self._complete(awaitable)
        # Called from a coroutine, as in a notebook: this thread can't run a second loop.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(self._complete, awaitable).result()

    def _complete(self, awaitable: Coroutine[Any, Any, _Result]) -> _Result:
        try:
            return self._loop.run_until_complete(awaitable)
        except asyncpg.InternalClientError as error:
            # The server said that it ends the connection while nothing was asked of it.
            self._connection.terminate()
            raise asyncpg.ConnectionFailureError(str(error)) from error
        except (KeyboardInterrupt, SystemExit):
            # The statement is still under way, and nothing can wait for it.
            self._connection.terminate()
            raise
        except OSError as error:
            raise SocketError(one_line(error)) from error


@lru_cache(maxsize=2000)
def translated(statement: str) -> str:
    """A statement of ``Connection`` as PostgreSQL has it."""
    statement = (
        statement.replace(f"NOT {IN_LIST}", "<> ALL (?)")
        .replace(IN_LIST, "= ANY (?)")
        .replace("temp.seen", "pg_temp.seen")
        .replace("BLOB", "bytea")
    )
    first, *rest = statement.split("?")
    return first + "".join(f"${number}{part}" for number, part in enumerate(rest, start=1))


def _is_running() -> bool:
    """Whether the calling thread runs a loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _values(parameters: Sequence[Any]) -> list[Any]:
    return [one.items if isinstance(one, Values) else one for one in parameters]
