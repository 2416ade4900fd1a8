"""The text index in PostgreSQL: BM25 with the constants and the exact scores of SQLite's FTS5."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.errors import StoreError
from memnet.storage.postgres.tokens import Tokenizer
from memnet.storage.scope import Scope
from memnet.storage.tables.checked import checked_rows, damaged
from memnet.storage.tables.connection import Connection, TextIndex

TEXT_SCHEMA = """
    CREATE TABLE slot_text (
        slot bigint PRIMARY KEY,
        length integer NOT NULL,
        counts integer[] NOT NULL,
        terms text[] COLLATE "C" NOT NULL
    );
    CREATE INDEX slot_text_by_term ON slot_text USING gin (terms)
        WITH (gin_pending_list_limit = 1024);

    CREATE TABLE text_total (
        id bigint GENERATED ALWAYS AS IDENTITY,
        slots bigint NOT NULL,
        tokens bigint NOT NULL
    );
"""
"""``slot_text`` has a row for each slot but reverse facts: its ``length`` in tokens, and its words,
those that it has several times first; ``counts`` says of these how many times. Additions wait for
their place in the index, 1,024 kB of them at most, which each search reads in less than 1 ms.

The sums of ``text_total`` are those over all rows of ``slot_text``. Each change adds a row there,
so that no writer waits for another."""

_PAGE = 500
"""Slots that are split into words at once."""
_MAX_TOTALS = 256
"""Rows of ``text_total`` between two times that they are made one."""
_FOUND = "coalesce(counts[array_position(terms[:cardinality(counts)], {word})], 1)"
"""How often a row of ``slot_text`` has a word that it has at all."""
_TOTAL = """
    (SELECT sum(slots)::float8 AS slots, sum(tokens)::float8 / nullif(sum(slots), 0)::float8 AS mean
    FROM text_total) AS total
"""
_WITH_WORD = f"""
    SELECT * FROM (
        SELECT slot, length, {_FOUND.format(word="?::text")} AS found
        FROM slot_text WHERE terms @> ARRAY[?::text] OFFSET 0
    ) AS matching, {_TOTAL} LIMIT ?
"""
"""The offset keeps the limit from the planner, which would read the whole table in hope of an early
end. The scan of the rows that the index gives ends early all the same."""
_WITH_PHRASE = f"""
    SELECT slot, length, found, slots, mean
    FROM unnest(?::bigint[], ?::integer[]) AS phrase (slot, found) JOIN slot_text USING (slot),
        {_TOTAL}
"""
_FREQUENCY = """
    found::float8 * 2.2 / (found::float8 + 1.2 * (0.25 + 0.75 * length::float8 / nullif(mean, 0)))
"""
"""What BM25 multiplies the weight of a term by, with k1 1.2 and b 0.75."""
_SEARCH = f"""
    SELECT slot, sum(score ORDER BY place) AS score FROM (
        SELECT slot, place, weight * ({_FREQUENCY}) AS score FROM (
            SELECT slot, length, {_FOUND.format(word="word")} AS found, place, weight
            FROM unnest(?::text[], ?::integer[], ?::float8[]) AS one (word, place, weight)
            JOIN slot_text ON terms @> ARRAY[word]
            UNION ALL
            SELECT slot, length, found, place, weight
            FROM unnest(?::bigint[], ?::integer[], ?::integer[], ?::float8[])
                AS phrase (slot, found, place, weight)
            JOIN slot_text USING (slot)
        ) AS hit, {_TOTAL}
    ) AS scored WHERE true {{conditions}}
    GROUP BY slot ORDER BY score DESC, slot LIMIT ?
"""
"""The scores of a slot are added up in the order of the terms: equal texts get equal scores."""

_Phrases = tuple[list[int], list[int]]
"""The slots with a phrase, rising, and how often each has it."""


class PostgresText(TextIndex):
    """The text index of a database."""

    def __init__(self, connection: Connection) -> None:
        """Read nothing yet."""
        self._connection = connection
        self._tokenizer = Tokenizer()

    def add(self, slots: Sequence[tuple[int, str, str]]) -> None:
        """As ``TextIndex.add``."""
        tokens = 0
        for start in range(0, len(slots), _PAGE):
            rows = self._indexed(slots[start : start + _PAGE])
            tokens += sum(row[1] for row in rows)
            self._connection.insert("slot_text", ("slot", "length", "counts", "terms"), rows)
        if slots:
            self._note_change(
                "INSERT INTO text_total (slots, tokens) VALUES (?, ?) RETURNING id",
                len(slots),
                tokens,
            )

    def remove(self, slots: Sequence[int]) -> None:
        """As ``TextIndex.remove``."""
        self._note_change(
            "WITH gone AS (DELETE FROM slot_text WHERE slot = ANY(?) RETURNING length) "
            "INSERT INTO text_total (slots, tokens) SELECT -count(*), -sum(length) FROM gone "
            "HAVING count(*) > 0 RETURNING id",
            list(slots),
        )

    def search(
        self, terms: Sequence[str], limit: int, scope: Scope, hidden: NDArray[np.int64]
    ) -> list[tuple[int, float]]:
        """As ``TextIndex.search``."""
        split = [self._tokenizer.words(term) for term in terms]
        numbers, total = self._numbers([words[0] for words in split if len(words) == 1])
        single: list[tuple[str, int, float]] = []
        joined: list[tuple[int, int, int, float]] = []
        for place, words in enumerate(split):
            if len(words) == 1 and numbers[words[0]]:
                single.append((words[0], place, _weight(total, numbers[words[0]])))
            elif len(words) > 1:
                slots, found = self._with_phrase(terms[place], words)
                weight = _weight(total, len(slots))
                joined += [(*pair, place, weight) for pair in zip(slots, found, strict=True)]
        if not single and not joined:
            return []
        conditions, parameters = scope.sql(self._connection.metadata)
        if conditions:
            conditions = (
                "AND slot IN (SELECT slot.id FROM slot JOIN source ON source.id = slot.source "
                f"WHERE true{conditions})"
            )
        if len(hidden):
            conditions += (
                " AND NOT EXISTS (SELECT 1 FROM unnest(?::bigint[]) AS hidden (slot) "
                "WHERE hidden.slot = scored.slot)"
            )
            parameters.append(hidden.tolist())
        rows = self._connection.rows(
            _SEARCH.format(conditions=conditions),
            *_columns(single, 3),
            *_columns(joined, 4),
            *parameters,
            limit,
        )
        return [(slot, score) for slot, score in checked_rows(rows, "a text search", int, float)]

    def postings(
        self, term: str, max_postings: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        """As ``TextIndex.postings``."""
        words = self._tokenizer.words(term)
        hits, parameters = _WITH_WORD, list[Any]()
        if len(words) == 1:
            parameters = [words[0], words[0], max_postings + 1]
        elif words:
            hits, parameters = _WITH_PHRASE, [*self._with_phrase(term, words, max_postings)]
        else:
            return np.empty(0, np.int64), np.empty(0)
        slots, frequencies, total = self._connection.only(
            "SELECT coalesce(string_agg(int8send(slot), ''::bytea), ''::bytea), "
            f"coalesce(string_agg(float8send({_FREQUENCY}), ''::bytea), ''::bytea), "
            "coalesce(max(slots), 0) "
            f"FROM ({hits}) AS hit",
            *parameters,
        )
        ids = np.frombuffer(slots, ">i8").astype(np.int64)
        if len(ids) > max_postings:
            return None
        if not len(ids):
            return ids, np.empty(0)
        scores = np.frombuffer(frequencies, ">f8") * _weight(total, len(ids))
        # Damaged lengths and counts can make scores anything, or null, of which there are fewer.
        if len(scores) != len(ids) or not ((scores > 0) & np.isfinite(scores)).all():
            raise damaged("a text search")
        order = np.argsort(ids)
        return ids[order], scores[order]

    def rebuild(self) -> None:
        """As ``TextIndex.rebuild``."""
        # Other writers wait from here on; those that read see the index as it was.
        self._connection.execute("LOCK TABLE slot_text IN SHARE ROW EXCLUSIVE MODE")
        self._connection.execute("DELETE FROM slot_text")
        self._connection.execute("DELETE FROM text_total")
        for page in self._pages("slot.title, slot.text"):
            self.add(page)

    def agrees(self) -> bool:
        """As ``TextIndex.agrees``."""
        try:
            with self._connection.snapshot():
                return self._has_all_slots()
        except StoreError:
            return False

    def _has_all_slots(self) -> bool:
        slots, tokens = 0, 0
        for page in self._pages("slot.title, slot.text, length, counts, terms"):
            if [(row[0], *row[3:]) for row in page] != self._indexed([row[:3] for row in page]):
                return False
            slots += len(page)
            tokens += sum(row[3] for row in page)
        other = self._connection.one(
            "SELECT 1 FROM slot_text WHERE NOT EXISTS (SELECT 1 FROM slot "
            "WHERE slot.id = slot_text.slot AND slot.kind <> 'reverse') LIMIT 1"
        )
        total = self._connection.only(
            "SELECT coalesce(sum(slots), 0)::bigint, coalesce(sum(tokens), 0)::bigint "
            "FROM text_total"
        )
        return other is None and total == (slots, tokens)

    def _pages(self, columns: str) -> Iterator[list[tuple[Any, ...]]]:
        """The slots that the index should hold, with their rows there, by rising ids."""
        last = -1
        while rows := self._connection.rows(
            f"SELECT slot.id, {columns} FROM slot LEFT JOIN slot_text ON slot_text.slot = slot.id "
            "WHERE slot.kind <> 'reverse' AND slot.id > ? ORDER BY slot.id LIMIT ?",
            last,
            _PAGE,
        ):
            yield rows
            last = rows[-1][0]

    def _indexed(
        self, slots: Sequence[tuple[Any, ...]]
    ) -> list[tuple[int, int, list[int], list[str]]]:
        """Rows of ``slot_text`` for slots, given by ids, titles and texts."""
        counted = self._tokenizer.counts((slot, title, text) for slot, title, text in slots)
        rows = []
        for slot, _, _ in slots:
            counts = counted.get(slot, {})
            repeated = sorted(word for word, count in counts.items() if count > 1)
            others = sorted(word for word, count in counts.items() if count == 1)
            rows.append(
                (
                    slot,
                    sum(counts.values()),
                    [counts[word] for word in repeated],
                    [*repeated, *others],
                )
            )
        return rows

    def _note_change(self, statement: str, *parameters: Any) -> None:
        """Run a statement that adds to the totals, and make them one row now and then."""
        added = self._connection.one(statement, *parameters)
        if added is None or added[0] % _MAX_TOTALS:
            return
        # Two that do so at once take different rows. In a transaction that sees one commit only,
        # it would be an error to take those that another has taken since.
        self._connection.execute(
            "WITH old AS (DELETE FROM text_total WHERE ctid = ANY (ARRAY("
            "SELECT ctid FROM text_total "
            "WHERE current_setting('transaction_isolation') = 'read committed' "
            "FOR UPDATE SKIP LOCKED)) RETURNING slots, tokens) "
            "INSERT INTO text_total (slots, tokens) SELECT sum(slots), sum(tokens) FROM old "
            "HAVING count(*) > 0"
        )

    def _numbers(self, words: Sequence[str]) -> tuple[dict[str, int], float]:
        """How many slots have each word, and how many there are."""
        rows = self._connection.rows(
            "SELECT word, (SELECT count(*) FROM slot_text WHERE terms @> ARRAY[word]) "
            "FROM unnest(?::text[]) AS word",
            list(set(words)),
        )
        total = self._connection.only("SELECT coalesce(sum(slots), 0)::float8 FROM text_total")
        return dict(rows), total[0]

    def _with_phrase(self, term: str, phrase: Sequence[str], enough: int | None = None) -> _Phrases:
        """The slots where some words follow one another; not all, if there are more than enough."""
        slots, found = list[int](), list[int]()
        candidates = self._connection.only(
            "SELECT coalesce(string_agg(int8send(slot), ''::bytea), ''::bytea) FROM slot_text "
            "WHERE terms @> ?::text[]",
            list(phrase),
        )
        ids = np.sort(np.frombuffer(candidates[0], ">i8"))
        for start in range(0, len(ids), _PAGE):
            rows = self._connection.rows(
                "SELECT id, title, text FROM slot WHERE id = ANY(?) ORDER BY id",
                ids[start : start + _PAGE].tolist(),
            )
            counts = self._tokenizer.phrase_counts(rows, term, phrase)
            slots += counts.keys()
            found += counts.values()
            if enough is not None and len(slots) > enough:
                break
        return slots, found


def _weight(slots: float, having: int) -> float:
    """How much a term counts that so many of all slots have."""
    if not having:
        return 0.0
    ratio = (slots - having + 0.5) / (having + 0.5)
    # FTS5's least weight; damaged totals may have no logarithm.
    return math.log(ratio) if ratio > 1 else 1e-6


def _columns(rows: Sequence[tuple[Any, ...]], count: int) -> list[list[Any]]:
    return [[row[column] for row in rows] for column in range(count)]
