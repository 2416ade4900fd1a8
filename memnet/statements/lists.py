"""Lists in statements, such as "tea, coffee and cocoa", of which another statement may end a part.

The statement network says that a part is ended, and not which; that follows from the words.
"""

import re

from memnet.storage import Told
from memnet.text.names import stems

# What stands between two items.
_JOINT = re.compile(r"(?<!\s)\s*+(?:[,;/]?\s*+(?:\b(?:and|or)\b|[&+])|[,;/])\s*+", re.IGNORECASE)
# What stands before the last item: commas alone may part anything.
_LAST_JOINT = re.compile(r"\b(?:and|or)\b|[&+]", re.IGNORECASE)
_STEM_LETTERS = 5


def list_items(told: Told) -> tuple[str, ...]:
    """The items of the list in what a statement says of its subject; none without a list."""
    runs: list[tuple[int, int]] = []
    for value in told.values:
        start = told.text.find(value, runs[-1][1] if runs else 0)
        if start < 0:
            continue
        end = start + len(value)
        joint = _JOINT.match(told.text, runs[-1][1]) if runs else None
        if joint and joint.end() >= start:  # it may stand at the start of the value: "and a dog"
            start = runs.pop()[0]
        runs.append((start, end))
    for start, end in runs:
        if _LAST_JOINT.search(told.text, start, end):
            items = _JOINT.split(told.text[start:end].rpartition(":")[2].strip())
            return tuple(filter(None, items))
    return ()


def ends_an_item(new: Told, earlier: Told) -> bool:
    """Whether a statement that ends something names some items of an earlier one, and not all."""
    items = list_items(earlier)
    named = [says(new, item) for item in items]
    return any(named) and not all(named)


def says(told: Told, words: str) -> bool:
    """Whether all content words of a few stand in a statement, by their stems."""
    return stems(words, _STEM_LETTERS) <= stems(told.text, _STEM_LETTERS)
