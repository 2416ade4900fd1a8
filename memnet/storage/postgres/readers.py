"""Read replicas of a store: which one a connection reads from, and whether it is recent enough."""

import itertools
import logging
import re
import threading
import time
from collections.abc import Callable, Sequence

from memnet.storage.postgres.address import Address, Server
from memnet.storage.postgres.errors import FAILURES, LostConnectionError, one_line
from memnet.storage.postgres.session import Session
from memnet.storage.tables.checked import Row

_log = logging.getLogger("memnet")
_CONNECT_SECONDS = 2.0
_DOWN_SECONDS = 5.0
"""For which a replica that did not answer is not asked again."""
POSITION = "SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS bigint)"
"""Asks the primary how far its log is."""
_CHANGES = re.compile(r"\b(insert|update|delete|nextval|setval|pg_\w+|temp\.\w+)\b", re.IGNORECASE)
"""What a statement that is no plain read has: changes, locks, what belongs to a session."""


class Readers:
    """The replicas as the threads of one process know them, and how recent they have to be.

    A process never sees less than what it has written, nor an older commit than it has seen: its
    vector index is of one commit at a time.
    """

    def __init__(self, address: Address) -> None:
        """Connect to nothing yet."""
        self.address = address
        self.written = 0
        """Position in the server's log after the commits of this process that a read has to see."""
        self.has_written = False
        """Whether there was one since then."""
        self._guard = threading.Lock()
        self.generation = 0
        """Of the latest commit that a snapshot was of."""
        self._down: dict[Server, float] = {}
        """Until when those that did not answer are left alone."""
        self._numbers = itertools.count()

    def note_position(self, position: Callable[[], int]) -> None:
        """Note how far a replica has to be by now, before something is read.

        Args:
            position: asks the primary for its position in the log.
        """
        with self._guard:
            if self.has_written:
                # Whoever commits from here on sets it again.
                self.has_written = False
                try:
                    self.written = max(self.written, position())
                except BaseException:
                    self.has_written = True
                    raise

    def see(self, session: Session) -> bool:
        """Note the commit of a session's snapshot; False if a later one was seen."""
        generation = session.rows(
            "SELECT generation FROM revision ORDER BY generation DESC LIMIT 1", ()
        )[0][0]
        if generation < self.generation:
            return False
        self.generation = generation
        return True

    def order(self) -> list[Server]:
        """The replicas, beginning with another one for each connection."""
        first = next(self._numbers) % len(self.address.readers)
        return [*self.address.readers[first:], *self.address.readers[:first]]

    def connect(self, servers: Sequence[Server]) -> Session | None:
        """A session of the first replica that answers; None where none does."""
        for server in servers:
            if time.monotonic() < self._down.get(server, 0.0):
                continue
            try:
                session = Session(self.address, _CONNECT_SECONDS, server)
            except LostConnectionError as error:
                _log.warning("the replica %s is not read from now: %s", server, error)
            else:
                try:
                    if session.rows("SELECT pg_is_in_recovery()", ())[0][0]:
                        return session
                    _log.warning("%s is no replica; it is not read from", server)
                except FAILURES as error:
                    _log.warning("%s is not read from now: %s", server, one_line(error))
                session.close()
            self._down[server] = time.monotonic() + _DOWN_SECONDS
        return None


class Reader:
    """The replica that one connection reads from."""

    def __init__(self, readers: Readers) -> None:
        """Connect to nothing yet."""
        self._readers = readers
        self._servers = readers.order()
        self._session: Session | None = None
        self._replayed = 0
        """Position in the log that the replica is known to have reached."""

    def close(self) -> None:
        """Close the session, if there is one."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def rows(self, statement: str, parameters: Sequence[object]) -> list[Row] | None:
        """All rows of a plain read by itself; None where it has to be run at the primary."""
        if _CHANGES.search(statement):
            return None
        try:
            session = self._recent()
            return None if session is None else session.rows(statement, parameters)
        except FAILURES as error:
            # Lost, cancelled as the replica goes on, or not replicated yet.
            _log.info("a read goes on at the primary: %s", one_line(error))
            return None

    def begin(self) -> Session | None:
        """A session in a new snapshot, not older than what the process has seen; None without."""
        try:
            session = self._recent()
            if session is None:
                return None
            session.command("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            if self._readers.see(session):
                return session
            session.command("ROLLBACK")
        except FAILURES as error:
            _log.info("a read goes on at the primary: %s", one_line(error))
            self.close()
        return None

    def _recent(self) -> Session | None:
        """The session, if its replica has what the process wrote."""
        if self._session is None or self._session.closed:
            self.close()
            self._replayed = 0
            self._session = self._readers.connect(self._servers)
        if self._session is not None and self._replayed < self._readers.written:
            # Before the snapshot is taken, which must not be older.
            self._replayed = self._session.rows(
                "SELECT CAST(coalesce(pg_last_wal_replay_lsn() - '0/0', 0) AS bigint)", ()
            )[0][0]
            if self._replayed < self._readers.written:
                return None
        return self._session
