"""The lock of the one who writes anything but sources to a store on a server."""

from collections.abc import Callable

from memnet.errors import StoreBusyError, StoreError
from memnet.storage.postgres.connection import PostgresConnection
from memnet.storage.postgres.errors import FAILURES, write_error


class ServerLock:
    """An advisory lock of the session of the calling thread, which the server frees with it.

    Within a transaction it is held until its end, whoever releases it: what was written must not be
    seen as old by the next holder.
    """

    def __init__(self, connection: Callable[[], PostgresConnection], place: str) -> None:
        """Take nothing yet.

        Args:
            connection: gives the calling thread's own.
            place: of the store, as messages name it.
        """
        self._connection = connection
        self._place = place

    def check_writable(self) -> None:
        """Raise a StoreError if nobody may write here."""
        if self._connection().read_only:
            raise StoreError(
                f"{self._place} is a read replica; name the server that it copies to write"
            )

    def acquire(self, timeout: float) -> None:
        """Take it, waiting ``timeout`` seconds; errors as ``Backend.writing``."""
        self.check_writable()
        connection = self._connection()
        if connection.lock_depth:
            connection.lock_depth += 1
            return
        try:
            taken = connection.take_lock(connection.lock_key("writer"), timeout)
        except FAILURES as error:
            raise write_error(error, self._place, committing=False) from error
        if not taken:
            raise StoreBusyError(
                f"another process or thread is writing to {self._place}; reading goes on, try "
                "this write again when it is done"
            )
        connection.lock_depth += 1

    def release(self) -> None:
        """Undo one ``acquire``."""
        connection = self._connection()
        if connection.inherited:
            return
        connection.lock_depth -= 1
        if not connection.lock_depth and not connection.changing:
            connection.free_lock(connection.lock_key("writer"))
