"""Whether an English sentence is about the past or about what is to come, by its words."""

import re
from bisect import bisect_right
from typing import Literal

# Whether a sentence is about the past, about neither, or about what is to come.
Way = Literal[-1, 0, 1]
_SENTENCE = re.compile(r"[^.!?\n]{1,300}")
_TO_COME = re.compile(
    r"\b(?:will|won['’]t|shall|going to|gonna|tomorrow|next(?! to\b)|plans? to|due|upcoming|"
    r"see you)\b|['’]ll\b",
    re.IGNORECASE,
)
_GONE = re.compile(
    # Not after "is" and the like: "is closed on Friday" is about the present.
    r"\b(?<!is )(?<!are )(?<!am )(?<!be )(?<!['’]s )(?<!['’]re )(?<!['’]m )"
    r"(?:was|were|did|wasn['’]t|weren['’]t|didn['’]t|had|been|ago|yesterday|"
    r"last (?:night|week|weekend|month|year|[a-z]{3,6}day)|"
    r"went|came|saw|got|made|took|gave|told|said|met|ate|drank|bought|sold|sent|left|lost|found|"
    r"felt|thought|brought|began|broke|built|caught|chose|drove|fell|flew|forgot|grew|heard|held|"
    r"kept|knew|led|lent|paid|ran|sang|(?-i:sat)|slept|spent|spoke|stood|stole|taught|threw|woke|"
    r"won|wore|wrote|became|swam|rode|fought|drew|used|died|lied|tried|"
    r"(?!hundred|excited|supposed|scheduled|planned|booked|reserved|closed)[a-z]{2,20}[^\We\d_]ed)\b",
    re.IGNORECASE,
)


class Clauses:
    """The sentences of a text, and what time they are about."""

    def __init__(self, text: str) -> None:
        """Find the sentences; what a text is about is looked at where it is asked for."""
        self._spans = [match.span() for match in _SENTENCE.finditer(text)]
        self._text = text
        self._ways: dict[int, Way] = {}

    def way(self, position: int) -> Way:
        """Of what stands at a position."""
        number = bisect_right(self._spans, (position, len(self._text) + 1)) - 1
        if number < 0:
            return 0
        if number not in self._ways:
            self._ways[number] = self._way(*self._spans[number])
        return self._ways[number]

    def _way(self, start: int, end: int) -> Way:
        if _TO_COME.search(self._text, start, end):
            return 1
        return -1 if _GONE.search(self._text, start, end) else 0
