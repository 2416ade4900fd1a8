"""Stores on PostgreSQL for tests: their addresses, and what is done to their servers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.postgres_server import Server, new_schema


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process and those that it starts keep the files of stores on servers."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


@pytest.fixture
def address(postgres: Server) -> Iterator[str]:
    """Where there is no store, in a schema of its own."""
    with new_address(postgres) as made:
        yield made


@contextmanager
def new_address(server: Server) -> Iterator[str]:
    """Where there is no store; what is there then is deleted afterwards."""
    with new_schema(server) as schema:
        yield address_of(server, schema.name)


def address_of(server: Server, schema: str, user: str = "postgres", password: str = "") -> str:
    """The address of a schema of a server's first database, for a role of it.

    Its sessions have the schema's name: other tests use the server at the same time.
    """
    login = f"{user}:{password}" if password else user
    host = quote(str(server.folder), safe="")
    name = quote(schema, safe="")
    return f"postgresql://{login}@/postgres?host={host}&application_name={name}&schema={name}"


def printed(server: Server, query: str) -> str:
    """What a query gives, as psql prints it: a line each, columns with | between them."""
    return server.command("psql", "-X", "-A", "-t", "-q", "-c", query, server.address()).strip()
