"""Facts from a memory file of the Model Context Protocol's reference memory server.

One JSON object a line: {"type": "entity", "name", "entityType", "observations": [...]} or
{"type": "relation", "from", "to", "relationType"}.
"""

from collections.abc import Mapping
from typing import Any

from memnet.errors import InputError
from memnet.types import Fact


def is_graph_line(fields: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a line of such a file; a document has a text."""
    return fields.get("type") in ("entity", "relation") and "text" not in fields


def graph_line_facts(fields: Mapping[str, Any]) -> list[Fact]:
    """The facts of a line: a relation, or an entity's type ("is a") and observations.

    Raises:
        InputError: a field is missing, blank or of another type.
    """
    if fields["type"] == "relation":
        subject, relation, value = (_line(fields, key) for key in ("from", "relationType", "to"))
        return [Fact(subject=subject, relation=relation, object=value)]
    observations = fields.get("observations", [])
    if not isinstance(observations, list):
        kind = type(observations).__name__
        raise InputError(f"has 'observations' of type {kind}; expected a list of texts")
    name = _line(fields, "name")
    pairs = [("is a", _line(fields, "entityType"))]
    pairs += [("observation", _line({"observation": one}, "observation")) for one in observations]
    return [Fact(subject=name, relation=relation, object=value) for relation, value in pairs]


def _line(fields: Mapping[str, Any], key: str) -> str:
    """A text as one line: a fact's parts stand between tabs."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise InputError(f"has {key!r} of type {type(value).__name__}; expected a text")
    if not value.strip():
        raise InputError(f"has a blank {key!r}; fill it in")
    return " ".join(value.split())
