"""Sizes of texts for the counts of usage."""

import re

_TOKEN = re.compile(r"\w+|[^\w\s]")


def count_tokens(text: str) -> int:
    """Words and marks of a text: nothing here is charged by tokens of a language model."""
    return sum(1 for _ in _TOKEN.finditer(text))
