"""What a search covers: sources by namespace, metadata and kind, and statements by time."""

import json
import reprlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memnet.errors import InputError
from memnet.storage.values import SOURCE_KINDS
from memnet.types import SourceKind

_MAX_CONDITIONS = 100
_MAX_DEPTH = 10
_MAX_VALUES = 10_000
_LEARNED = (
    "EXISTS (SELECT 1 FROM statement "
    "WHERE statement.slot = slot.id AND statement.speaker IS NOT NULL)"
)
_TOLD = f" AND (slot.valid_from IS NULL OR NOT {_LEARNED})"
_COMPARISON = {"from": ">=", "to": "<="}


@dataclass(frozen=True, slots=True)
class Scope:
    """A namespace, conditions on the metadata of sources, their kinds, and a time.

    Empty, it covers all sources, and of the statements those that hold now.

    A condition is a key of the metadata (dots lead into nested objects) and one of

    - a value: ``{"author": "Ann"}``; true, numbers, strings and null never equal one another,
    - a list of values, any of which matches: ``{"author": ["Ann", "Bo"]}``,
    - a range with one or both of its ends, which belong to it: ``{"year": {"from": 1990,
      "to": 2000}}``. Numbers compare with numbers. Strings compare with strings by code points,
      which orders ISO dates: ``{"date": {"from": "1990-01-01", "to": "2000-12-31"}}``.

    Metadata that is a list matches if one of its elements does. A source without the key matches
    no condition on it; all conditions must hold.
    """

    namespace: str | None = None
    """None for all."""
    where: Mapping[str, Any] | None = field(default=None, hash=False)
    """None or nothing for all."""
    kinds: frozenset[SourceKind] | None = None
    """Of sources; None for all."""
    as_of: float | None = None
    """Statements that held then, in seconds since the epoch; None for those that hold now. One that
    is to begin later holds already: a plan is known from when it was told."""
    learned: bool = False
    """Whether statements that messages made are covered too, whatever the kinds. Else the messages
    themselves are found, which say the same."""
    past: bool = False
    """Whether statements are covered whenever they held, those that were corrected too."""

    def __post_init__(self) -> None:
        """Check the conditions.

        Raises:
            InputError: one is of no form that ``Scope`` documents.
        """
        where = self.where or {}
        if not isinstance(where, Mapping):
            raise InputError(
                f"where is of type {type(where).__name__}; expected a mapping of metadata keys "
                "to values"
            )
        if len(where) > _MAX_CONDITIONS:
            raise InputError(
                f"where has {len(where):,} conditions, the limit is {_MAX_CONDITIONS}; ask for less"
            )
        for key, wanted in where.items():
            if not _is_key(key):
                raise InputError(
                    f"where has the key {reprlib.repr(key)}; expected a name, or up to "
                    f"{_MAX_DEPTH} names joined by dots"
                )
            if not _is_condition(wanted):
                raise InputError(
                    f"where[{reprlib.repr(key)}] is {reprlib.repr(wanted)}; expected a string, "
                    "number, true, false or null, a list of them, or a range like "
                    '{"from": 1990, "to": 2000}'
                )

    @property
    def covers_all_sources(self) -> bool:
        """Whether no source is left out."""
        return self.namespace is None and not self.where and self.kinds is None

    def moment(self) -> float:
        """The time whose statements are covered, in seconds since the epoch."""
        return time.time() if self.as_of is None else self.as_of

    def validity(self) -> tuple[str, list[Any]]:
        """Which statements are covered, as a condition on a row of ``slot``, and parameters."""
        told = "" if self.learned else _TOLD
        if self.past:
            return told, []
        if self.as_of is None:
            return (
                f"{told} AND (slot.valid_until IS NULL OR "
                "(slot.valid_until > ? AND slot.valid_until > slot.valid_from))",
                [self.moment()],
            )
        return (
            f"{told} AND (slot.valid_from IS NULL OR (slot.valid_from <= ? "
            "AND (slot.valid_until IS NULL OR slot.valid_until > ?)))",
            [self.as_of, self.as_of],
        )

    def sql(self) -> tuple[str, list[Any]]:
        """The sources as conditions on a row of ``source``, " AND ..." or none, and parameters."""
        statement, parameters = "", list[Any]()
        if self.namespace is not None:
            statement += " AND source.namespace = ?"
            parameters.append(self.namespace)
        if self.kinds is not None:
            stored = sorted(name for name, kind in SOURCE_KINDS.items() if kind in self.kinds)
            of_kinds = f"source.kind IN ({', '.join('?' * len(stored))})"
            statement += f" AND ({of_kinds} OR {_LEARNED})" if self.learned else f" AND {of_kinds}"
            parameters += stored
        for key, wanted in (self.where or {}).items():
            condition, values = _condition(wanted)
            names = key.split(".")
            statement += f" AND EXISTS ({_metadata_values(len(names))} AND {condition})"
            parameters += [*names, *values]
        return statement, parameters


EVERYWHERE = Scope()


def _metadata_values(depth: int) -> str:
    """SQL for the metadata of ``source`` under a key of ``depth`` names, as rows ``found``.

    The names are parameters. A list gives a row for each element, any other value gives one row.
    """
    # Text that is no standard JSON (NaN, as Python writes it) would be an error of the statement.
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
    """SQL for what a row ``found`` must be, and its parameters.

    Values go through SQLite's JSON on both sides, so that both are read alike.
    """
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
    if None in values:
        condition = f"(found.type = 'null' OR {condition})"
    return f"found.type NOT IN ('array', 'object') AND {condition}", [_json(values)]


def _json(values: list[Any]) -> str:
    return json.dumps(values, ensure_ascii=False)


def _is_text(value: Any) -> bool:
    """Whether a value is a string that has an encoding: no half of a surrogate pair is in it."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _is_number(value: Any) -> bool:
    # The bounds are finite: they leave out NaN, infinity and integers that no float comes near.
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300


def _is_value(value: Any) -> bool:
    return value is None or isinstance(value, bool) or _is_number(value) or _is_text(value)


def _is_key(key: Any) -> bool:
    return _is_text(key) and all(key.split(".")) and key.count(".") < _MAX_DEPTH


def _is_condition(wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        ends = [value for value in wanted.values() if value is not None]
        same_kind = all(map(_is_number, ends)) or all(map(_is_text, ends))
        return bool(ends) and set(wanted) <= set(_COMPARISON) and same_kind
    if isinstance(wanted, list | tuple):
        return len(wanted) <= _MAX_VALUES and all(map(_is_value, wanted))
    return _is_value(wanted)
