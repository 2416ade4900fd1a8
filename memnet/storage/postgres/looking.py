"""Looking into a database without making a store there, or bringing one up to date."""

from memnet.storage.postgres.address import Address
from memnet.storage.postgres.connection import PostgresConnection


def connect_existing(address: Address, timeout: float) -> PostgresConnection | None:
    """A connection to a store as it is, and the latest schema; None without a store.

    Args:
        address: of the store.
        timeout: how many seconds the server may take to answer.

    Raises:
        StoreError: the server can't be reached, or refuses.
    """
    connection = PostgresConnection(address, timeout)
    if connection.schema_version:
        return connection
    connection.close()
    return None
