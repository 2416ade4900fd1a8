"""What the ``meta`` of many documents holds."""

import json
from collections.abc import Iterable, Mapping
from typing import Any


def key_of(field: str) -> str:
    """The key of a field that may be written as "meta.year"."""
    return field.removeprefix("meta.")


def unique_values(metas: Iterable[Mapping[str, Any]], field: str) -> list[Any]:
    """The values of a field but null, sorted as strings; 1, 1.0, true and "1" are four values."""
    values = _values(metas, field)
    unique = {(type(value).__name__, json.dumps(value, sort_keys=True)): value for value in values}
    return [unique[key] for key in sorted(unique, key=lambda key: (str(unique[key]), key[0]))]


def types(metas: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """The type of each field by its last value: "boolean", "int", "float" or "keyword"."""
    return {
        key: {"type": _type(value)}
        for meta in metas
        for key, value in meta.items()
        if value is not None
    }


def extremes(metas: Iterable[Mapping[str, Any]], field: str) -> dict[str, Any]:
    """The smallest and largest value of a field; None where they can't be compared."""
    values = [value for value in _values(metas, field) if isinstance(value, int | float | str)]
    try:
        return {"min": min(values, default=None), "max": max(values, default=None)}
    except TypeError:  # numbers and strings
        return {"min": None, "max": None}


def _values(metas: Iterable[Mapping[str, Any]], field: str) -> list[Any]:
    key = key_of(field)
    return [meta[key] for meta in metas if meta.get(key) is not None]


def _type(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    return {int: "int", float: "float"}.get(type(value), "keyword")
