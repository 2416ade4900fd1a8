"""Questions about two things: which of them, or whether something is so of both.

The names are cut out of a question before its form is looked at, so that no word of a name ("First
for Women") is taken for one of the question.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memnet.reader.decompose.negation import negated
from memnet.reader.passages import RankedSlot, indices_named
from memnet.text.names import name_pattern, without_brackets

MARK = "\0"
"""Stands for a name."""
_NEAR = 60
"""Characters beside a name that say how it is joined to the question. Expressions are matched
against no more, so that none of them can be slow."""
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


class Pair(NamedTuple):
    """What a question asks about two things."""

    places: tuple[int, int]
    """The passages about the two."""
    words: str
    """The question, with a mark for each of their names."""
    choice: bool
    """Whether one of the two is asked for; else, whether something is so of both."""


def pair_of(question: str, passages: Sequence[RankedSlot]) -> Pair | None:
    """The two things that a question sets side by side.

    Args:
        question: in plain language.
        passages: the evidence; each of the two must be the subject of one.

    Returns:
        None where the question asks for something else ("Which ship sailed between Orre and
        Kestle?"), denies something, or one of the two is missing.
    """
    places = indices_named(question, passages)
    if len(places) != 2:
        return None
    titles = (passages[place].slot.title for place in places)
    words = _marked(" ".join(question.split()), titles)
    if words.count(MARK) < 2 or negated(words):
        return None
    before, between, after = words.split(MARK, 2)
    choice = _asks_for_one(before, between, after)
    if not choice and not _asks_of_both(before, between):
        return None
    return Pair((places[0], places[1]), words, choice)


def _asks_for_one(before: str, between: str, after: str) -> bool:
    """Whether one of two is asked for, by what stands before, between and after their names."""
    joined = _JOINED.fullmatch(between[:_NEAR]) if len(between) <= _NEAR else None
    if joined is None:
        return False
    either = joined["by"].lower() == "or"
    last = before[-_NEAR:]
    if _ASKS_WHICH.match(before):
        if _WHICH_OF.fullmatch(last):
            return True
        ends = len(after) <= _NEAR and _ENDS.fullmatch(after) is not None
        if ends and _GROUP_FOLLOWS.search(last):
            return True
        return (
            either
            and (ends or after.lstrip().startswith(","))
            and _CHOICE_FOLLOWS.search(last) is not None
        )
    if either and _WHETHER_ONE.fullmatch(last):
        return True
    opens = not before.strip() if either else False
    return (opens or _OF.fullmatch(last) is not None) and _ASKS_NEXT.match(after) is not None


def _asks_of_both(before: str, between: str) -> bool:
    return (
        _ASKS_WHETHER.match(before) is not None
        and _AND.search(between) is not None
        and _BETWEEN.search(before[-_NEAR:]) is None
    )


def _marked(question: str, titles: Iterable[str]) -> str:
    """A question with marks for the names of what it asks about, in full or without brackets."""
    names = {name for title in titles for name in (title, without_brackets(title))}
    for name in sorted(names, key=len, reverse=True):
        words = name_pattern(name)
        if words:
            bracket = r"\)?" if name.endswith(")") else ""
            question = re.sub(rf"\b{words}\b{bracket}", MARK, question, flags=re.IGNORECASE)
    return question
