"""What a search covers: sources by namespace, metadata and kind, and statements by time."""

import reprlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from memnet.errors import InputError
from memnet.types import SourceKind

_MAX_CONDITIONS = 100
_MAX_DEPTH = 10
_MAX_VALUES = 10_000
_LEARNED = (
    "EXISTS (SELECT 1 FROM statement "
    "WHERE statement.slot = slot.id AND statement.speaker IS NOT NULL)"
)
_TOLD = f" AND (slot.valid_from IS NULL OR NOT {_LEARNED})"
_ENDS = ("from", "to")
MetadataCondition = Callable[[str, Any], tuple[str, list[Any]]]


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

    namespace: str | None = None  # none for all
    where: Mapping[str, Any] | None = field(default=None, hash=False)  # none or nothing for all
    kinds: frozenset[SourceKind] | None = None  # of sources; None for all
    # Statements that held then, in seconds since the epoch; None for those that hold now. One that
    # is to begin later holds already: a plan is known from when it was told.
    as_of: float | None = None
    # Whether statements that messages made are covered too, whatever the kinds. Else the messages
    # themselves are found, which say the same.
    learned: bool = False
    # Whether statements are covered whenever they held, those that were corrected too.
    past: bool = False

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

    def sql(self, metadata: MetadataCondition) -> tuple[str, list[Any]]:
        """The sources as conditions on a row of ``source``, " AND ..." or none, and parameters.

        Args:
            metadata: gives a condition on the metadata, and parameters, for a key and a value of
                ``where``; ``Connection.metadata``.
        """
        statement, parameters = "", list[Any]()
        if self.namespace is not None:
            statement += " AND source.namespace = ?"
            parameters.append(self.namespace)
        if self.kinds is not None:
            stored = sorted(self.kinds)
            of_kinds = f"source.kind IN ({', '.join('?' * len(stored))})"
            statement += f" AND ({of_kinds} OR {_LEARNED})" if self.learned else f" AND {of_kinds}"
            parameters += stored
        for key, wanted in (self.where or {}).items():
            condition, values = metadata(key, wanted)
            statement += f" AND {condition}"
            parameters += values
        return statement, parameters


EVERYWHERE = Scope()


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
        return bool(ends) and set(wanted) <= set(_ENDS) and same_kind
    if isinstance(wanted, list | tuple):
        return len(wanted) <= _MAX_VALUES and all(map(_is_value, wanted))
    return _is_value(wanted)
