"""The full-text index (FTS5): BM25, and its repair."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memnet.errors import StoreError
from memnet.storage.lexical import TOKENIZER, is_beginning, spaced
from memnet.storage.tables.checked import IN_LIST, Values, checked_rows, damaged
from memnet.storage.tables.connection import INDEXED_SLOTS, PAGE, TextIndex
from memnet.storage.values import DAY_OF_TIME, Scope, days_among

_COMPARISON = {"from": ">=", "to": "<="}


class Fts5Index(TextIndex):
    """The full-text index of a database file. It keeps no text: a slot's own words delete it."""

    def add(self, slots: Sequence[tuple[int, str, str]]) -> None:
        rows = ((slot, spaced(title), spaced(text)) for slot, title, text in slots)
        self._connection.insert("slot_text", ("rowid", "title", "text"), rows)

    def remove(self, slots: Sequence[int]) -> None:
        for start in range(0, len(slots), PAGE):
            rows = self._connection.rows(
                f"SELECT 'delete', id, title, text {INDEXED_SLOTS} AND id {IN_LIST}",
                Values(slots[start : start + PAGE]),
            )
            self._connection.insert(
                "slot_text",
                ("slot_text", "rowid", "title", "text"),
                ((how, slot, spaced(title), spaced(text)) for how, slot, title, text in rows),
            )

    def search(
        self, terms: Sequence[str], limit: int, scope: Scope, hidden: NDArray[np.int64]
    ) -> list[tuple[int, float]]:
        if not terms:
            return []
        # The plus keeps SQLite from one full-text search for each of the ids.
        within, parameters = scope.sql(self._connection.metadata)
        if within:
            within = (
                "AND +rowid IN (SELECT slot.id FROM slot JOIN source ON source.id = slot.source "
                f"WHERE true{within})"
            )
        if len(hidden):
            within += f" AND +rowid NOT {IN_LIST}"
            parameters.append(Values(hidden.tolist()))
        rows = self._connection.rows(
            "SELECT rowid, -rank FROM slot_text WHERE slot_text MATCH ? "
            f"{within} ORDER BY rank, rowid LIMIT ?",
            " OR ".join(map(_quoted, terms)),
            *parameters,
            limit,
        )
        return [(slot, score) for slot, score in checked_rows(rows, "a text search", int, float)]

    def postings(
        self, term: str, max_postings: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        # Counted first: scoring reads the length of each text.
        count = self._connection.only(
            "SELECT count(*) FROM (SELECT 1 FROM slot_text WHERE slot_text MATCH ? LIMIT ?)",
            _quoted(term),
            max_postings + 1,
        )
        if count[0] > max_postings:
            return None
        rows = self._connection.rows(
            "SELECT rowid, -rank FROM slot_text WHERE slot_text MATCH ? ORDER BY rowid",
            _quoted(term),
        )
        # There can be many rows: columns are checked as a whole.
        ids, scores = zip(*rows, strict=True) if rows else ((), ())
        if not {*map(type, scores)} <= {float}:
            raise damaged("a text search")
        values = np.array(scores, np.float64)
        # Damaged lengths of texts can make scores anything.
        if not ((values > 0) & np.isfinite(values)).all():
            raise damaged("a text search")
        return np.array(ids, np.int64), values

    def rebuild(self) -> None:
        self._connection.execute("INSERT INTO slot_text (slot_text) VALUES ('delete-all')")
        for page in self._pages():
            self.add(page)

    def agrees(self) -> bool:
        try:
            self._connection.execute("INSERT INTO slot_text (slot_text) VALUES ('integrity-check')")
        except sqlite3.DatabaseError as error:
            # The check counts as a write, and is left out where nobody may write now.
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY):
                return False
        try:
            return self._has_all_slots()
        except (StoreError, sqlite3.DatabaseError):
            return False

    def _has_all_slots(self) -> bool:
        for statement in (
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.token "
            "USING fts5vocab(main, slot_text, instance)",
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.other USING fts5 "
            f"(text, content='', tokenize={TOKENIZER})",
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.other_token "
            "USING fts5vocab(temp, other, instance)",
            "INSERT INTO temp.other (other) VALUES ('delete-all')",
            "INSERT INTO temp.other (rowid, text) "
            f"SELECT id, title || ' ' || text {INDEXED_SLOTS} "
            "AND id NOT IN (SELECT doc FROM temp.token)",
        ):
            self._connection.execute(statement)
        # Texts without any token have no entry in the index.
        wrong = self._connection.one(
            "SELECT 1 FROM temp.other_token UNION ALL SELECT 1 FROM "
            f"(SELECT doc FROM temp.token EXCEPT SELECT id {INDEXED_SLOTS}) LIMIT 1"
        )
        return wrong is None


def _quoted(term: str) -> str:
    doubled = term.replace('"', '""')
    return f'"{doubled}"{"*" if is_beginning(term) else ""}'


def metadata_condition(key: str, wanted: Any) -> tuple[str, list[Any]]:
    """A condition on the metadata of ``source``; as ``Connection.metadata``."""
    names = key.split(".")
    condition, values = _condition(wanted)
    return f"EXISTS ({_metadata_values(len(names))} AND {condition})", [*names, *values]


def _metadata_values(depth: int) -> str:
    """SQL for the metadata of ``source`` under a key of ``depth`` names, as rows ``found``.

    The names are parameters. A list gives a row for each element, any other value gives one row.
    """
    # Text that is not standard JSON (NaN, as Python writes it) would be an error of the statement.
    tables = ["json_each(CASE WHEN json_valid(source.metadata) THEN source.metadata END) AS name0"]
    tables += [
        f"json_each(CASE name{level}.type WHEN 'object' THEN name{level}.value END) "
        f"AS name{level + 1}"
        for level in range(depth - 1)
    ]
    last = f"name{depth - 1}"
    # '[0]' stands for one row; the value itself is taken from ``last``, with its type.
    tables.append(
        f"json_each(CASE {last}.type WHEN 'array' THEN {last}.value ELSE '[0]' END) AS element"
    )
    keys = " AND ".join(f"name{level}.key = ?" for level in range(depth))
    kind, atom = (
        f"CASE {last}.type WHEN 'array' THEN element.{column} ELSE {last}.{column} END"
        for column in ("type", "atom")
    )
    return (
        f"SELECT 1 FROM (SELECT {kind} AS type, {atom} AS atom "
        f"FROM {' CROSS JOIN '.join(tables)} WHERE {keys}) AS found WHERE true"
    )


def _condition(wanted: Any) -> tuple[str, list[str]]:
    """SQL for what a row ``found`` must be, read by SQLite's JSON as the row is, and parameters."""
    if isinstance(wanted, Mapping):
        ends = {end: value for end, value in wanted.items() if value is not None}
        text = isinstance(next(iter(ends.values())), str)
        condition = "found.type = 'text'" if text else "found.type IN ('integer', 'real')"
        for end in ends:
            condition += f" AND found.atom {_COMPARISON[end]} json_extract(?, '$[0]')"
        return condition, [_json([value]) for value in ends.values()]
    values = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
    # A subquery that does not depend on the row is read once, and its values are looked up by an
    # index, so that thousands of them cost little. Null equals nothing there.
    condition = (
        "(found.type IN ('true', 'false'), found.atom) IN "
        "(SELECT wanted.type IN ('true', 'false'), wanted.atom FROM json_each(?) AS wanted)"
    )
    parameters = [_json(values)]
    if days := days_among(values):
        time = DAY_OF_TIME.format("found.atom") + " IN (SELECT atom FROM json_each(?))"
        condition = f"({condition} OR found.type = 'text' AND {time})"
        parameters.append(_json(days))
    if None in values:
        condition = f"(found.type = 'null' OR {condition})"
    return f"found.type NOT IN ('array', 'object') AND {condition}", parameters


def _json(values: list[Any]) -> str:
    return json.dumps(values, ensure_ascii=False)
