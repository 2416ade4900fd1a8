"""Whether what a question says of two is found in the passages about both."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memnet.reader.decompose.negation import asserted
from memnet.reader.decompose.pairs import MARK, Pair
from memnet.reader.passages import RankedSlot, windows_of
from memnet.text.names import stems

_NAME = re.compile(r"(?<!^)\b(?:[A-Z]\w+|\d+)")
_DEGREE = re.compile(
    r"\b(?:more|most|less|least|fewer|fewest|(?:bigg|clos|deep|earli|fast|few|great|heavi|high|larg"
    r"|lat|long|old|rich|short|small|tall|wid|young)(?:er|est)|first|last|before|after)\b",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\b(?:both|each)\b", re.IGNORECASE)
_COMPARES = re.compile(
    r"\b(?:or|same|similar|alike|different|more|less|than|other|older|younger|first|before|after"
    r"|nationality)\b",
    re.IGNORECASE,
)
"""Words of questions that set one beside the other."""
_PLURAL = re.compile(r"(?<=\w\w[^\Ws])s\b")
_SAYS_NOTHING = re.compile(
    r"^\W*\w+|\b(?:and|or|both|each|an?|the|types?|kinds?|sorts?|described|considered|known"
    r"|classified|located|found|based)\b"
)
_STEM_LETTERS = 5
_SHARE = 0.5
"""Of the words of what is said that a passage has to hold."""
BOTH = 0.9
"""That what is found of both is so: it was for 42 of 46 training questions. Where it was not found,
the answer was "no" for 21 of 44: to find nothing says nothing."""
ONE = 0.9
"""That the one of which more is found is right: it was for 29 of 32 training questions."""


class _Said(NamedTuple):
    """What a question says of two."""

    words: frozenset[str]
    """The first letters of its words, but for the names of the two."""
    names: frozenset[str]
    """Those of them that are names or numbers."""
    held: tuple[frozenset[str], frozenset[str]]
    """Those of the words that what is found about each holds."""


def both_attested(pair: Pair, passages: Sequence[RankedSlot]) -> bool:
    """Whether it is found of both: "Are Ann Orre and Bo Rank both Dutch poets?".

    It is if what is found about each holds at least half of the question's other words, and all of
    those that are names ("Dutch").

    Args:
        pair: what the question asks of the two.
        passages: the evidence.

    Returns:
        False also where the question compares the two, or says nothing of them.
    """
    said = None if _COMPARES.search(pair.words) else _said(pair, passages)
    if said is None or not _BOTH.search(pair.words):
        return False
    return all(said.names <= one and len(one) >= _SHARE * len(said.words) for one in said.held)


def one_attested(pair: Pair, passages: Sequence[RankedSlot]) -> int | None:
    """Of which of two it is said: "Which poet was Dutch, Ann Orre or Bo Rank?".

    It is the one about which more of the question's other words are found; names count twice.

    Args:
        pair: what the question asks of the two.
        passages: the evidence.

    Returns:
        The place of its passage; None where the question asks for a degree, or as much is found
        about both.
    """
    said = None if _DEGREE.search(pair.words) else _said(pair, passages)
    if said is None:
        return None
    one, other = (len(held) + len(held & said.names) for held in said.held)
    return None if one == other else pair.places[one < other]


def _said(pair: Pair, passages: Sequence[RankedSlot]) -> _Said | None:
    """What is said of the two; None where that is nothing."""
    text = pair.words.replace(MARK, " ")
    words = _stems(_SAYS_NOTHING.sub(" ", text.casefold()))
    if not words:
        return None
    names = _stems(" ".join(_NAME.findall(text)))
    one, other = (words & _stems(_about(place, passages)) for place in pair.places)
    return _Said(words, words & names, (one, other))


def _stems(text: str) -> frozenset[str]:
    return stems(_PLURAL.sub("", text.casefold()), _STEM_LETTERS)


def _about(place: int, passages: Sequence[RankedSlot]) -> str:
    """What the passages about one of the two say, but for what they deny."""
    return " ".join(
        f"{one.slot.title} {asserted(one.slot.text)}" for one in windows_of(place, passages)
    )
