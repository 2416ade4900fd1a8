"""The SQLite library that Python uses."""

import sqlite3
from contextlib import closing


def sqlite_version() -> str:
    """Its version."""
    return sqlite3.sqlite_version


def has_text_search() -> bool:
    """Whether it was built with FTS5, which every store needs."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE tried USING fts5 (text)")
        except sqlite3.OperationalError:
            return False
    return True
