"""Questions about two things: which of them, or whether something is true of both.

The names are masked before the form of a question is matched, so that no word of a name ("First for
Women") is taken for one of the question.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memnet.reader.decompose.negation import negated, without_denied
from memnet.reader.passages import RankedSlot, indices_named, windows_of
from memnet.text.names import name_pattern, stems, without_brackets

MASK = "\0"
"""Stands for a name."""
BOTH_PROBABILITY = 0.9
"""That what is found of both is true: it was for 42 of 46 training questions. Where it was not
found, the answer was "no" for 21 of 44: not to find it tells nothing."""
ONE_PROBABILITY = 0.9
"""That the one of which more is found is right: it was for 29 of 32 training questions."""
_STEM_LETTERS = 5
_MIN_SHARE = 0.5
"""Of the stems of a claim that the passages about each have to contain."""
_CONTEXT = 60
"""Characters next to a name that are matched, so that no expression can be slow."""
_PREPOSITION = r"(?:to|from|in|at|with|by|for|near|on|into|of|about|between|before|after)"
_NOUN = rf"(?:(?:the|an?) )?(?:(?!{_PREPOSITION}\b)[a-z-]{{1,20}} )?[\"“]?"
"""What may stand before a name: "the film"."""
_RANK = (
    r"\b(?:first|last|earliest|earlier|latest|later|sooner|oldest|older|elder|youngest|younger"
    r"|newest|newer|longest|longer|recently)"
)
_AGE = r"\b(?:oldest|older|elder|youngest|younger|newest|newer)"

_ASKS_WHICH = re.compile(r"\W{0,9}(?:which|who|whose|what)\b", re.IGNORECASE)
_ASKS_WHETHER = re.compile(
    r"\W{0,9}+(?:are|were|is|was|do|does|did|have|has|had|can|could)\b", re.IGNORECASE
)
_JOINED = re.compile(rf"(?: ?\([^()]{{0,60}}\))?\W{{0,6}}\b(?P<by>and|or) {_NOUN}", re.IGNORECASE)
_CHOICE_FOLLOWS = re.compile(rf"(?:[,:;?]|{_RANK}\b)\W{{0,9}}+(?:either )?{_NOUN}$", re.IGNORECASE)
"""Before the two: "Who is older, A or B?", "Which came first A or B?"."""
_GROUP_FOLLOWS = re.compile(rf"(?:\bout of|[,:;?] ?between|{_AGE} between) {_NOUN}$", re.IGNORECASE)
"""Before the two: "Who was born first out of A and B?"."""
_WHICH_OF = re.compile(rf"\W{{0,9}}(?:which|who)(?: one)? of {_NOUN}", re.IGNORECASE)
_OF = re.compile(
    r"\W{0,9}(?:of|between|out of|among) (?:the )?(?:[a-z-]{1,20} ){0,3}[\"“]?", re.IGNORECASE
)
_WHETHER_ONE = re.compile(
    rf"\W{{0,9}}+(?:is|was|are|were|did|does|do|has|have|had) {_NOUN}", re.IGNORECASE
)
_ENDS = re.compile(r"(?: ?\([^()]{0,60}\))?\W{0,9}", re.IGNORECASE)
_ASKS_NEXT = re.compile(r"\W{1,9}(?:which|who|what|whose)\b", re.IGNORECASE)
_BETWEEN = re.compile(rf"\bbetween {_NOUN}$", re.IGNORECASE)
_AND = re.compile(r"\band\b", re.IGNORECASE)

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
"""Words of questions that compare the two."""
_PLURAL = re.compile(r"(?<=\w\w[^\Ws])s\b")
_FUNCTION_WORDS = re.compile(
    r"^\W*\w+|\b(?:and|or|both|each|an?|the|types?|kinds?|sorts?|described|considered|known"
    r"|classified|located|found|based)\b"
)


class Pair(NamedTuple):
    """What a question asks about two things."""

    indices: tuple[int, int]
    """The passages about the two."""
    masked: str
    """The question with a mask for each of their names."""
    choice: bool
    """Whether one of the two is asked for; else, whether something is true of both."""


class _Claim(NamedTuple):
    """What a question asks about two things, by its stems but for their names."""

    stems: frozenset[str]
    names: frozenset[str]
    """Those that are of names or numbers."""
    found: tuple[frozenset[str], frozenset[str]]
    """Those that the passages about each contain."""


def pair_of(question: str, passages: Sequence[RankedSlot]) -> Pair | None:
    """The two things that a question is about.

    Args:
        question: in plain language.
        passages: the evidence; each of the two must be the subject of one.

    Returns:
        None where the question asks for something else ("Which ship sailed between Orre and
        Kestle?"), denies something, or one of the two is missing.
    """
    indices = indices_named(question, passages)
    if len(indices) != 2:
        return None
    titles = (passages[index].slot.title for index in indices)
    masked = _masked(" ".join(question.split()), titles)
    if masked.count(MASK) < 2 or negated(masked):
        return None
    before, between, after = masked.split(MASK, 2)
    choice = _asks_for_one(before, between, after)
    if not choice and not _asks_of_both(before, between):
        return None
    return Pair((indices[0], indices[1]), masked, choice)


def _asks_for_one(before: str, between: str, after: str) -> bool:
    """Whether one of two is asked for, by what stands before, between and after their names."""
    joined = _JOINED.fullmatch(between[:_CONTEXT]) if len(between) <= _CONTEXT else None
    if joined is None:
        return False
    either = joined["by"].lower() == "or"
    last = before[-_CONTEXT:]
    if _ASKS_WHICH.match(before):
        if _WHICH_OF.fullmatch(last):
            return True
        ends = len(after) <= _CONTEXT and _ENDS.fullmatch(after) is not None
        if ends and _GROUP_FOLLOWS.search(last):
            return True
        return (
            either
            and (ends or after.lstrip().startswith(","))
            and _CHOICE_FOLLOWS.search(last) is not None
        )
    if either and _WHETHER_ONE.fullmatch(last):
        return True
    opens = either and not before.strip()
    return (opens or _OF.fullmatch(last) is not None) and _ASKS_NEXT.match(after) is not None


def _asks_of_both(before: str, between: str) -> bool:
    return (
        _ASKS_WHETHER.match(before) is not None
        and _AND.search(between) is not None
        and _BETWEEN.search(before[-_CONTEXT:]) is None
    )


def _masked(question: str, titles: Iterable[str]) -> str:
    """A question with masks for the names of what it asks about, in full or without brackets."""
    names = {name for title in titles for name in (title, without_brackets(title))}
    for name in sorted(names, key=len, reverse=True):
        words = name_pattern(name)
        if words:
            bracket = r"\)?" if name.endswith(")") else ""
            question = re.sub(rf"\b{words}\b{bracket}", MASK, question, flags=re.IGNORECASE)
    return question


def both_attested(pair: Pair, passages: Sequence[RankedSlot]) -> bool:
    """Whether it is found of both: "Are Ann Orre and Bo Rank both Dutch poets?".

    It is if the passages about each contain at least half of the question's other stems, and all
    of those that are of names ("Dutch").

    Args:
        pair: what the question asks of the two.
        passages: the evidence.

    Returns:
        False also where the question compares the two, or claims nothing of them.
    """
    if _COMPARES.search(pair.masked) or not _BOTH.search(pair.masked):
        return False
    claim = _claim(pair, passages)
    return claim is not None and all(
        claim.names <= one and len(one) >= _MIN_SHARE * len(claim.stems) for one in claim.found
    )


def one_attested(pair: Pair, passages: Sequence[RankedSlot]) -> int | None:
    """Of which of two it is found: "Which poet was Dutch, Ann Orre or Bo Rank?".

    It is the one whose passages contain more of the question's other stems; names count twice.

    Args:
        pair: what the question asks of the two.
        passages: the evidence.

    Returns:
        The index of its passage; None where the question asks for a degree, or as much is found
        about both.
    """
    claim = None if _DEGREE.search(pair.masked) else _claim(pair, passages)
    if claim is None:
        return None
    one, other = (len(found) + len(found & claim.names) for found in claim.found)
    return None if one == other else pair.indices[one < other]


def _claim(pair: Pair, passages: Sequence[RankedSlot]) -> _Claim | None:
    """What is asked about the two; None where that is nothing."""
    text = pair.masked.replace(MASK, " ")
    words = _stems(_FUNCTION_WORDS.sub(" ", text.casefold()))
    if not words:
        return None
    names = _stems(" ".join(_NAME.findall(text)))
    one, other = (words & _stems(_asserted_about(index, passages)) for index in pair.indices)
    return _Claim(words, words & names, (one, other))


def _stems(text: str) -> frozenset[str]:
    return stems(_PLURAL.sub("", text.casefold()), _STEM_LETTERS)


def _asserted_about(index: int, passages: Sequence[RankedSlot]) -> str:
    """The passages about one of the two, without what they deny."""
    return " ".join(
        f"{one.slot.title} {without_denied(one.slot.text)}" for one in windows_of(index, passages)
    )
