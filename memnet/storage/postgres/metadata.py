"""Conditions on the metadata of sources, which a trigger keeps as ``jsonb``."""

import json
from collections.abc import Mapping
from typing import Any

_COMPARISON = {"from": ">=", "to": "<="}
_ELEMENTS = (
    "(SELECT CASE WHEN value IS NULL THEN '[]' WHEN jsonb_typeof(value) = 'array' THEN value "
    "ELSE jsonb_build_array(value) END AS elements "
    "FROM (SELECT source.attributes #> ? AS value) AS found) AS found, "
    "jsonb_array_elements(found.elements) AS element"
)
"""The values of a key: those of a list, or the one that there is; none without the key."""


def metadata_condition(key: str, wanted: Any) -> tuple[str, list[Any]]:
    """As ``Connection.metadata``.

    A path of names leads into objects alone: an array's elements have no names.
    """
    condition, values = _condition(wanted)
    names = key.split(".")
    nested = "".join(
        " AND jsonb_typeof(source.attributes #> ?) = 'object'" for _ in range(len(names) - 1)
    )
    parents = [names[:depth] for depth in range(1, len(names))]
    return (
        f"EXISTS (SELECT 1 FROM {_ELEMENTS} WHERE {condition}{nested})",
        [names, *values, *parents],
    )


def _condition(wanted: Any) -> tuple[str, list[Any]]:
    if isinstance(wanted, Mapping):
        ends = {end: value for end, value in wanted.items() if value is not None}
        if isinstance(next(iter(ends.values())), str):
            # By code points, as in a database file.
            text = "(element.value #>> '{}') COLLATE \"C\""
            ranges = [f"{text} {_COMPARISON[end]} ?" for end in ends]
            return f"jsonb_typeof(element.value) = 'string' AND {' AND '.join(ranges)}", [
                *ends.values()
            ]
        ranges = [f"element.value {_COMPARISON[end]} CAST(? AS jsonb)" for end in ends]
        return f"jsonb_typeof(element.value) = 'number' AND {' AND '.join(ranges)}", [
            json.dumps(value) for value in ends.values()
        ]
    values = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
    return (
        "element.value IN (SELECT wanted.value FROM jsonb_array_elements(CAST(? AS jsonb)) "
        "AS wanted) AND jsonb_typeof(element.value) NOT IN ('array', 'object')",
        [json.dumps(values)],
    )
