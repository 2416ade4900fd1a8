"""Looking into a database without making a store there, or bringing one up to date."""

from memnet.storage.postgres.address import Address
from memnet.storage.postgres.connection import PostgresConnection
from memnet.storage.postgres.schema import SCHEMA_VERSION


def connect_existing(address: Address, timeout: float) -> tuple[PostgresConnection, int] | None:
    """A connection to a store as it is, and the latest schema; None without a store.

    Args:
        address: of the store.
        timeout: how many seconds the server may take to answer.

    Raises:
        StoreError: the server can't be reached, or refuses.
    """
    connection = PostgresConnection(address, timeout)
    if connection.schema_version:
        return connection, SCHEMA_VERSION
    connection.close()
    return None
