"""The text search: which texts hold a word, how often, and how long they are."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.storage.scope import Scope
from memnet.storage.tables.connection import Connection
from memnet.storage.tables.row_values import LISTED, damaged, listed, stored_rows

_SEARCHED_TEXTS = "FROM slot WHERE kind <> 'reverse' AND valid_until IS NULL"
_NONE = np.empty(0, np.int64)
_MOST_BYTES = 7
"""Of a number after its last: 56 bits are more than the tokens of any store."""


class Tokenizer:
    """Takes words apart as the text search does, by a text search of its own in memory."""

    def __init__(self) -> None:
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        self._connection.execute(
            "CREATE VIRTUAL TABLE given USING fts5 "
            "(word, content='', tokenize='porter unicode61 remove_diacritics 2')"
        )
        self._connection.execute("CREATE VIRTUAL TABLE token USING fts5vocab(given, instance)")

    def close(self) -> None:
        """Close its connection."""
        self._connection.close()

    def tokens(self, words: Sequence[str]) -> list[list[str]]:
        """The tokens of each word, in their order."""
        found: list[list[str]] = [[] for _ in words]
        self._connection.execute("BEGIN")
        try:
            self._connection.executemany(
                "INSERT INTO given (rowid, word) VALUES (?, ?)", enumerate(words)
            )
            for place, token in self._connection.execute(
                "SELECT doc, term FROM token ORDER BY doc, offset"
            ):
                found[place].append(token)
        finally:
            self._connection.execute("ROLLBACK")
        return found


class TextRows(Connection):
    """Reads of the text search, which triggers keep up to date."""

    def __init__(self, path: Path, *, read_only: bool = False, trusted: int | None = None) -> None:
        """Open the database, as ``Connection`` says."""
        self._tokenizer: Tokenizer | None = None
        super().__init__(path, read_only=read_only, trusted=trusted)

    def _prepare(self, path: Path, read_only: bool, trusted: int | None) -> None:
        super()._prepare(path, read_only, trusted)
        self._rows(
            "CREATE VIRTUAL TABLE temp.slot_token USING fts5vocab(main, slot_text, instance)"
        )

    def close(self) -> None:
        """Close the connection, as ``Connection`` says."""
        with self._guard:
            super().close()
            if self._tokenizer is not None:
                self._tokenizer.close()

    def lexical(self, terms: Sequence[str], limit: int, scope: Scope) -> list[tuple[int, float]]:
        """Slots that hold any of the terms, best first, as (id, BM25); for any number of slots."""
        if not terms:
            return []
        within, parameters = scope.sql()
        if within:
            within = (
                "AND rowid IN (SELECT slot.id FROM slot JOIN source ON source.id = slot.source "
                f"WHERE true{within}) "
            )
        rows = self._rows(
            "SELECT rowid, -rank FROM slot_text WHERE slot_text MATCH ? "
            f"{within}ORDER BY rank, rowid LIMIT ?",
            " OR ".join(f'"{term}"' for term in terms),
            *parameters,
            limit,
        )
        return _scored(rows)

    def tokens(self, words: Sequence[str]) -> list[list[str]]:
        """What the text search makes of each word: one token of most."""
        with self._guard:
            if self._tokenizer is None:
                self._tokenizer = Tokenizer()
            return self._tokenizer.tokens(words)

    def places(self, tokens: Sequence[str], most: int) -> list[NDArray[np.int64] | None]:
        """For each token the text [M] int64, rising, of each place at which it stands.

        None where more than ``most`` texts hold it.
        """
        found: list[NDArray[np.int64] | None] = []
        for token, own in zip(tokens, self._places(tokens, most + 1), strict=True):
            if len(own) <= most:
                found.append(own)
            elif self._too_many(token, most):
                found.append(None)
            else:
                found += self._places([token], -1)
        return found

    def phrase(self, words: str, most: int) -> list[tuple[int, float]] | None:
        """Texts that hold tokens in a row, by id, and their BM25; None where over ``most`` do."""
        if self._too_many(words, most):
            return None
        rows = self._rows(
            "SELECT rowid, -rank FROM slot_text WHERE slot_text MATCH ? ORDER BY rowid",
            f'"{words}"',
        )
        return _scored(rows)

    def text_sizes(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tokens of each of the texts with rising ids [P] int64: [P] int64.

        Raises:
            StoreError: a text has no size, or one that the text search does not write.
        """
        rows = self._rows(
            f"SELECT sz FROM slot_text_docsize WHERE id {LISTED} ORDER BY id", listed(ids.tolist())
        )
        sizes = _text_numbers([row[0] for row in rows])
        if len(sizes) != 2 * len(ids):
            raise damaged("the size of a text")
        total: NDArray[np.int64] = sizes.reshape(-1, 2).sum(axis=1)
        return total

    def text_totals(self) -> tuple[int, int]:
        """How many texts the text search holds, and how many tokens they have.

        Raises:
            StoreError: the text search does not say so.
        """
        rows = self._rows("SELECT block FROM slot_text_data WHERE id = 1")
        totals = _text_numbers([row[0] for row in rows]).tolist()
        if not totals:
            return 0, 0
        return totals[0], sum(totals[1:])

    def rebuild_text(self) -> None:
        """Make the text search anew from the slots."""
        self._connection.execute("INSERT INTO slot_text (slot_text) VALUES ('delete-all')")
        self._connection.execute(
            f"INSERT INTO slot_text (rowid, title, text) SELECT id, title, text {_SEARCHED_TEXTS}"
        )

    def _text_agrees(self) -> bool:
        """Whether the text search holds the words of each slot and nothing else."""
        try:
            self._connection.execute("INSERT INTO slot_text (slot_text) VALUES ('integrity-check')")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY):
                return False
            # The check counts as a write: where nobody may write now the number of texts must do.
        row = self._one(
            f"SELECT (SELECT count(*) FROM slot_text_docsize), (SELECT count(*) {_SEARCHED_TEXTS})"
        )
        return row is not None and row[0] == row[1]

    def _places(self, tokens: Sequence[str], most: int) -> list[NDArray[np.int64]]:
        """The texts of the first ``most`` places of each token, [M] int64, rising; -1 for all."""
        rows = self._rows(
            "SELECT (SELECT group_concat(doc) FROM "
            "(SELECT doc FROM temp.slot_token WHERE term = given.value LIMIT ?)) "
            "FROM json_each(?) AS given ORDER BY given.key",
            most,
            listed(tokens),
        )
        return [np.fromstring(row[0], np.int64, sep=",") if row[0] else _NONE for row in rows]

    def _too_many(self, words: str, most: int) -> bool:
        """Whether more than ``most`` texts hold these words in a row."""
        row = self._only(
            "SELECT count(*) FROM (SELECT 1 FROM slot_text WHERE slot_text MATCH ? LIMIT ?)",
            f'"{words}"',
            most + 1,
        )
        return int(row[0]) > most


def _scored(rows: Sequence[tuple[Any, ...]]) -> list[tuple[int, float]]:
    """Ids and BM25, which has no value where the text search has lost the lengths of texts."""
    return [(slot, score) for slot, score in stored_rows(rows, "a text search", int, float)]


def _text_numbers(blobs: Sequence[Any]) -> NDArray[np.int64]:
    """The numbers in blobs of the text search, one after the other: [N] int64.

    Seven bits of a number stand in each byte, the highest first; the last byte has no eighth bit.

    Raises:
        StoreError: one is no such blob.
    """
    if any(type(blob) is not bytes for blob in blobs):
        raise damaged("the size of a text")
    data = np.frombuffer(b"".join(blobs), np.uint8)
    ends = np.flatnonzero(data < 128)
    if not len(ends):
        return np.empty(0, np.int64)
    data = data[: ends[-1] + 1]
    following = np.repeat(ends, np.diff(ends, prepend=-1)) - np.arange(len(data))
    if following.max() > _MOST_BYTES:
        raise damaged("the size of a text")
    parts = (data & 127).astype(np.int64) << (7 * following)
    return np.add.reduceat(parts, np.concatenate([[0], ends[:-1] + 1]))
