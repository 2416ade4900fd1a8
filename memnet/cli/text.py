"""Stored texts and their sources as a terminal can show them."""

import re
from pathlib import Path

from memnet.errors import one_line


def text_line(text: str) -> str:
    """A text as one line, with whatever would steer the terminal escaped."""
    return one_line(" ".join(text.split()), None)


def source_name(source: str) -> str:
    """A source id as one line; a path in the working folder is relative to it."""
    try:
        relative = str(Path(source).relative_to(Path.cwd()))
    except (ValueError, OSError):  # not below it, or the working folder was removed
        return one_line(source)
    return one_line(relative)


def shorten(text: str, max_length: int) -> str:
    """The start of a text, with an ellipsis where it is cut."""
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


def collapse_spaces(text: str) -> str:
    """A part of a text in one line, with a space where white space stands, also at its ends."""
    return one_line(re.sub(r"\s+", " ", text), None)
