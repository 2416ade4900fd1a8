"""Remembered texts and their sources on a terminal."""

from pathlib import Path

from memnet.errors import one_line


def text_line(text: str) -> str:
    """A remembered text as one line, whole, with whatever would steer the terminal escaped."""
    return one_line(" ".join(text.split()), None)


def source_name(source: str) -> str:
    """A source id as one line; a path in the working folder as seen from there."""
    try:
        relative = str(Path(source).relative_to(Path.cwd()))
    except (ValueError, OSError):  # not below it, or the working folder is gone
        return one_line(source)
    return one_line(relative)
