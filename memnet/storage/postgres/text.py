"""The text index in PostgreSQL: its text search over words that SQLite's FTS5 splits and stems.

So both databases have the same words for the same text, and BM25 has the constants of FTS5. A row
of ``slot_text`` holds the words of a slot with their positions; ``ts_rank_cd`` counts how often a
word or a phrase is among them. Totals of all slots are columns of ``revision``.
"""

import sqlite3
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.errors import StoreError
from memnet.storage.lexical import TOKENIZER, highest_sums, is_beginning, spaced
from memnet.storage.tables.checked import checked_count, damaged
from memnet.storage.tables.connection import PAGE, Connection, TextIndex
from memnet.storage.values import Scope

_K1, _B = 1.2, 0.75
_MIN_IDF = 1e-6  # as of FTS5, for a word that more than half of all slots have
_MAX_WORD_BYTES = 200  # longer words are the same if they begin the same
_MAX_POSITION, _MAX_TITLE = 16_383, 1_000  # words: of a tsvector, and of a title in it
_POSTINGS = """
    SELECT count(*), coalesce(string_agg(
        int8send(slot) || int4send(length) || float4send(count), ''::bytea
    ) {}, ''::bytea) FROM (
        SELECT slot, length, ts_rank_cd('{{1, 1, 1, 1}}', words, query) AS count
        FROM slot_text, (SELECT CAST(? AS tsquery) AS query) AS term
        WHERE words @@ query LIMIT ?
    ) AS hit
"""
_POSTING = np.dtype([("slot", ">i8"), ("length", ">i4"), ("count", ">f4")])


class PostgresText(TextIndex):
    """The text index of a store on a server."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._tokenizer = _Tokenizer()
        self.new_slots = 0
        """Slots that the transaction under way added to the totals; so the next."""
        self.new_tokens = 0

    def add(self, slots: Sequence[tuple[int, str, str]]) -> None:
        for start in range(0, len(slots), PAGE):
            rows = self._tokenizer.vectors(slots[start : start + PAGE])
            self._connection.insert("slot_text", ("slot", "length", "words"), rows)
            self.new_slots += len(rows)
            self.new_tokens += sum(length for _, length, _ in rows)

    def remove(self, slots: Sequence[int]) -> None:
        rows = self._connection.rows(
            "DELETE FROM slot_text WHERE slot = ANY(?) RETURNING length", list(slots)
        )
        self.new_slots -= len(rows)
        self.new_tokens -= sum(length for (length,) in rows)

    def search(
        self, terms: Sequence[str], limit: int, scope: Scope, hidden: NDArray[np.int64]
    ) -> list[tuple[int, float]]:
        conditions, parameters = scope.sql(self._connection.metadata)
        if conditions:
            conditions = (
                "FILTER (WHERE slot IN (SELECT slot.id FROM slot JOIN source "
                f"ON source.id = slot.source WHERE true{conditions}))"
            )
        found = [self._scored(term, None, conditions, parameters) for term in terms]
        return highest_sums(found, limit, hidden)

    def postings(
        self, term: str, max_postings: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        ids, scores = self._scored(term, max_postings + 1)
        return None if len(ids) > max_postings else (ids, scores)

    def rebuild(self) -> None:
        # Other writers wait from here on; those that read see the index as it was.
        self._connection.execute("LOCK TABLE slot_text IN SHARE ROW EXCLUSIVE MODE")
        self._connection.execute("DELETE FROM slot_text")
        self._connection.execute(
            "INSERT INTO revision SELECT 0, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM revision)"
        )
        slots, tokens = self._connection.only("SELECT slots, tokens FROM revision")
        self.new_slots, self.new_tokens = -slots, -tokens
        for page in self._pages():
            self.add(page)

    def agrees(self) -> bool:
        try:
            with self._connection.snapshot():
                return self._has_all_slots()
        except StoreError:
            return False

    def _scored(
        self, term: str, limit: int | None, conditions: str = "", parameters: Sequence[Any] = ()
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Slots with a term that pass some conditions, rising, and their BM25 by it."""
        query = self._tokenizer.query(term)
        if not query:
            return np.empty(0, np.int64), np.empty(0)
        having, data = self._connection.only(
            _POSTINGS.format(conditions), *parameters, query, limit
        )
        rows = np.frombuffer(data, _POSTING)
        slots, tokens = self._totals()
        if len(rows) and (slots <= 0 or tokens <= 0):
            raise damaged("a text search")
        length, count = rows["length"].astype(np.float64), rows["count"].astype(np.float64)
        idf = max(_MIN_IDF, np.log(max(slots - having + 0.5, 0.5) / (having + 0.5)))
        longer = 1 - _B + _B * length * slots / tokens if len(rows) else length
        scores = idf * count * (_K1 + 1) / (count + _K1 * longer)
        if not ((scores > 0) & np.isfinite(scores)).all():
            raise damaged("a text search")
        ids = rows["slot"].astype(np.int64)
        order = np.argsort(ids)
        return ids[order], scores[order]

    def _totals(self) -> tuple[int, int]:
        row = self._connection.one_of_snapshot("SELECT slots, tokens FROM revision")
        slots, tokens = (0, 0) if row is None else map(checked_count, row)
        return slots + self.new_slots, tokens + self.new_tokens

    def _has_all_slots(self) -> bool:
        slots, tokens = 0, 0
        for page in self._pages():
            rows = self._tokenizer.vectors(page)
            (same,) = self._connection.only(
                "SELECT count(*) FROM unnest(CAST(? AS bigint[]), CAST(? AS integer[]), "
                "CAST(? AS text[])) AS wanted (slot, length, words) JOIN slot_text USING (slot) "
                "WHERE slot_text.length = wanted.length "
                "AND slot_text.words = CAST(wanted.words AS tsvector)",
                *map(list, zip(*rows, strict=True)),
            )
            if same != len(page):
                return False
            slots, tokens = slots + len(rows), tokens + sum(length for _, length, _ in rows)
        (count,) = self._connection.only("SELECT count(*) FROM slot_text")
        return bool(count == slots) and self._totals() == (slots, tokens)


class _Tokenizer:
    """FTS5 in memory, for one thread at a time."""

    def __init__(self) -> None:
        self._fts5 = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._fts5.close)
        # FTS5 cuts very long words off between any two bytes.
        self._fts5.text_factory = lambda word: word[:_MAX_WORD_BYTES].decode(errors="ignore")
        self._fts5.executescript(
            f"""
            CREATE VIRTUAL TABLE given USING fts5 (title, text, content='', tokenize={TOKENIZER});
            CREATE VIRTUAL TABLE token USING fts5vocab (given, instance);
            """
        )

    def vectors(self, slots: Sequence[tuple[int, str, str]]) -> list[tuple[int, int, str]]:
        """Ids, titles and texts as rows of ``slot_text``: id, how many words, words and places."""
        self._put((slot, spaced(title), spaced(text)) for slot, title, text in slots)
        words: dict[int, dict[str, list[str]]] = {slot: {} for slot, _, _ in slots}
        lengths = dict.fromkeys(words, 0)
        for slot, word, position in self._fts5.execute(
            # No phrase goes on from the title to the text.
            f"""SELECT doc, term, CASE col WHEN 'title' THEN min("offset" + 1, {_MAX_TITLE - 1})
            ELSE min("offset" + {_MAX_TITLE + 1}, {_MAX_POSITION}) END FROM token"""
        ):
            words[slot].setdefault(word, []).append(str(position))
            lengths[slot] += 1
        return [
            (
                slot,
                lengths[slot],
                " ".join(f"'{word}':{','.join(places)}" for word, places in words[slot].items()),
            )
            for slot in words
        ]

    def query(self, term: str) -> str:
        """A term as a tsquery: a word, its beginning, or words in order; empty without any."""
        self._put([(0, "", term)])
        rows = self._fts5.execute('SELECT term FROM token ORDER BY "offset"')
        ending = ":*" if is_beginning(term) else ""
        return " <-> ".join(f"'{word}'{ending}" for (word,) in rows)

    def _put(self, slots: Iterable[tuple[int, str, str]]) -> None:
        self._fts5.execute("INSERT INTO given (given) VALUES ('delete-all')")
        self._fts5.execute("BEGIN")
        self._fts5.executemany("INSERT INTO given (rowid, title, text) VALUES (?, ?, ?)", slots)
        self._fts5.execute("COMMIT")
