"""Entities, observations and relations of the MCP reference server of a memory, as facts.

Its memory file has one JSON object a line: {"type": "entity", "name", "entityType",
"observations": [...]} or {"type": "relation", "from", "to", "relationType"}.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from memnet.errors import InputError
from memnet.types import Fact

IS_A = "is a"
"""Relation from an entity to its type."""
OBSERVATION = "observation"
"""Relation from an entity to a sentence about it."""


def is_graph_line(fields: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a line of such a file; a document has a text."""
    return fields.get("type") in ("entity", "relation") and "text" not in fields


def graph_line_facts(fields: Mapping[str, Any]) -> list[Fact]:
    """The facts of a line.

    Raises:
        InputError: a field is missing, blank or of another type.
    """
    if fields["type"] == "relation":
        return [relation_fact(*(fields.get(key) for key in ("from", "relationType", "to")))]
    observations = fields.get("observations", [])
    if not isinstance(observations, list):
        kind = type(observations).__name__
        raise InputError(f"has 'observations' of type {kind}; expected a list of texts")
    return entity_facts(fields.get("name"), fields.get("entityType"), observations)


def entity_facts(name: object, entity_type: object, observations: Iterable[object]) -> list[Fact]:
    """The type of an entity, and what is observed of it.

    Raises:
        InputError: one of them is blank or no text.
    """
    subject = _text(name, "name")
    kind = Fact(subject=subject, relation=IS_A, object=_text(entity_type, "entityType"))
    return [kind, *(observation_fact(subject, one) for one in observations)]


def observation_fact(name: object, text: object) -> Fact:
    """A sentence about an entity.

    Raises:
        InputError: the name or the sentence is blank or no text.
    """
    subject = _text(name, "name")
    return Fact(subject=subject, relation=OBSERVATION, object=_text(text, "observation"))


def relation_fact(subject: object, relation: object, value: object) -> Fact:
    """A relation from one entity to another.

    Raises:
        InputError: one of them is blank or no text.
    """
    return Fact(
        subject=_text(subject, "from"),
        relation=_text(relation, "relationType"),
        object=_text(value, "to"),
    )


def _text(value: object, what: str) -> str:
    """A text as one line: a fact's parts stand between tabs."""
    if not isinstance(value, str):
        raise InputError(f"has no text {what!r}; found {type(value).__name__}")
    line = " ".join(value.split())
    if not line:
        raise InputError(f"has a blank {what!r}; fill it")
    return line
