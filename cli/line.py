"""Remembered texts on a terminal."""

from memnet.errors import one_line


def text_line(text: str) -> str:
    """A remembered text as one line, whole, with whatever would steer the terminal escaped."""
    return one_line(" ".join(text.split()), None)
