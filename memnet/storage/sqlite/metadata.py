"""Conditions on the metadata of sources, which is JSON, in the SQL of SQLite."""

import json
from collections.abc import Mapping
from typing import Any

_COMPARISON = {"from": ">=", "to": "<="}


def metadata_condition(key: str, wanted: Any) -> tuple[str, list[Any]]:
    """A condition on the metadata of ``source``; as ``Connection.metadata``."""
    names = key.split(".")
    condition, values = _condition(wanted)
    return f"EXISTS ({_metadata_values(len(names))} AND {condition})", [*names, *values]


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
