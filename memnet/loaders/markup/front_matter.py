"""Metadata in front of a text: YAML between lines of "---", TOML between lines of "+++"."""

import re
import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from math import isfinite
from typing import Any, NamedTuple

from memnet.loaders.markup.writing import path_name

_MAX_CHARACTERS = 64 * 1024
_MAX_DEPTH = 20
_OPENING = re.compile(r"(---|\+\+\+)[ \t]*\n")
_CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*(?:\n|\Z)", re.MULTILINE),
}
_PAIR = re.compile(r"([A-Za-z][\w -]{0,50}):[ \t]+(\S.*)")
_NEXT_KEY = re.compile(r"^(?=[A-Za-z])", re.MULTILINE)
_LIST_SEPARATOR = re.compile(r"[,\s]+")


class FrontMatter(NamedTuple):
    """What stands in front of a text."""

    title: str = ""
    names: tuple[str, ...] = ()
    metadata: Mapping[str, object] = {}
    end: int = 0  # where the text starts
    # What is wrong with it; values that could not be read by themselves are texts or missing.
    problem: str = ""


def read_front_matter(text: str) -> FrontMatter:
    """The front matter of a text; empty without one."""
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter()
    closing = _CLOSING[opening[1]].search(text, opening.end(), opening.end() + _MAX_CHARACTERS)
    if closing is None:
        return FrontMatter()
    content, problem = text[opening.end() : closing.start()], ""
    values: Mapping[Any, object] | None
    try:
        values = tomllib.loads(content) if opening[1] == "+++" else _yaml(content)
    except (ValueError, RecursionError) as error:
        too_deep = isinstance(error, RecursionError)
        values, problem = _pairs(content), "is nested too deeply" if too_deep else str(error)
        if not values:
            return FrontMatter()  # a text between two lines
    if values is None:
        return FrontMatter() if content.strip() else FrontMatter(end=closing.end())
    simple = {str(key).strip().lower(): _simple(value) for key, value in values.items()}
    metadata = {key: value for key, value in simple.items() if value not in (None, "", [])}
    title = str(metadata.pop("title", ""))
    aliases = [name for key in ("aliases", "alias") for name in _listed(metadata.pop(key, []), ",")]
    names = [path_name(alias) if alias.startswith("/") else alias for alias in aliases]
    names += [path_name(str(metadata[key])) for key in ("slug", "id") if key in metadata]
    if tags := [tag for key in ("tags", "tag") for tag in _listed(metadata.pop(key, []))]:
        metadata["tags"] = [tag.lstrip("#") for tag in tags]
    return FrontMatter(title, tuple(names), metadata, closing.end(), problem)


def _listed(value: object, separator: str = "") -> list[str]:
    """A list, or a text with commas (or spaces too, as in tags) as one."""
    if isinstance(value, list):
        return [str(one) for one in value]
    parts = str(value).split(separator) if separator else _LIST_SEPARATOR.split(str(value))
    return [part.strip() for part in parts if part.strip()]


def _simple(value: object) -> object:
    """A value as JSON has it; None for one that is not simple."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | int):
        return value
    if isinstance(value, list):
        return [one for one in map(_simple, value) if one is not None and not isinstance(one, list)]
    return None


def _pairs(content: str) -> dict[object, object]:
    """The values that can be read by themselves; texts as they stand where they can't."""
    values: dict[object, object] = {}
    for part in _NEXT_KEY.split(content):
        try:
            values.update(_yaml(part) or {})
        except ValueError:
            pair = _PAIR.fullmatch(part.strip())
            if pair is not None:
                values[pair[1]] = pair[2].strip("\"'")
    return values


def _yaml(content: str) -> dict[object, object] | None:
    """None if it is not a mapping.

    Raises:
        ValueError: it is not valid, or refers to parts of itself, which can make it endless.
    """
    import yaml  # here, as most notes have no front matter

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        for event in yaml.parse(content, Loader=loader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise ValueError("has anchors or aliases")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise ValueError("is nested too deeply")
        values = yaml.load(content, Loader=loader)  # noqa: S506  one of the safe loaders
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in its line {mark.line + 1}" if mark else ""
        raise ValueError(f"is not valid YAML{line}") from error
    except (TypeError, OverflowError, AttributeError) as error:
        raise ValueError("is not valid YAML") from error
    return values if isinstance(values, dict) else None
