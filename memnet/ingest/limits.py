"""What comes from outside, held against the limits of the configuration."""

import json
from collections.abc import Mapping
from typing import Any

from memnet.config import LimitConfig
from memnet.errors import InputError
from memnet.ingest.parsed import ParsedDocument, ParsedFacts

_DEEPEST = 50
"""Lists and objects within each other, in metadata."""


def check_text(text: str, what: str, longest: int) -> None:
    """Check a text that is given by itself.

    Args:
        text: any value that should be a string.
        what: it is, as an error calls it.
        longest: characters.

    Raises:
        InputError: it is no string, is longer, or is not valid Unicode.
    """
    check_type(text, what)
    if len(text) > longest:
        raise InputError(f"{what} has {len(text):,} characters, the limit is {longest:,}; cut it")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} holds a broken character at offset {error.start}; give it as UTF-8"
        ) from error


def check_type(text: object, what: str) -> None:
    """Check that a value is a string.

    Raises:
        InputError: it is not.
    """
    if not isinstance(text, str):
        raise InputError(f"{what} is of type {type(text).__name__}, expected text (str)")


def check_parsed(parsed: ParsedDocument | ParsedFacts, limits: LimitConfig) -> None:
    """Check a document or facts, whatever they were read from.

    Raises:
        InputError: some part is too long, or is not valid Unicode.
    """
    check_text(parsed.name, "the source id", limits.name)
    if isinstance(parsed, ParsedFacts):
        for fact, *_ in parsed.facts:
            for what in ("subject", "relation", "object"):
                check_text(getattr(fact, what), f"the {what} of a fact", limits.fact)
        return
    check_text(parsed.title, "the title", limits.title)
    check_text(parsed.text, "the text", limits.document)
    _check_metadata(parsed.metadata, limits.metadata)


def _check_metadata(metadata: Mapping[str, Any], longest: int) -> None:
    if not metadata:
        return
    if _deeper(metadata, _DEEPEST):
        raise InputError(f"the metadata is nested more than {_DEEPEST} deep; flatten it")
    check_text(json.dumps(dict(metadata), ensure_ascii=False, default=str), "the metadata", longest)


def _deeper(value: object, levels: int) -> bool:
    """Whether lists and mappings in a value stand within each other more than ``levels`` deep."""
    if isinstance(value, Mapping):
        return not levels or any(_deeper(part, levels - 1) for part in value.values())
    if isinstance(value, (list, tuple)):
        return not levels or any(_deeper(part, levels - 1) for part in value)
    return False
