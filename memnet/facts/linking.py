"""Entity linking: the names of a question that the memory knows facts about."""

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from memnet.text.names import edits, is_name, normalise, stems

_MAX_NAME_WORDS = 12
_MAX_QUESTION_WORDS = 200  # Names are looked for in the first words of a question
_MAX_MISSPELLED_WORDS = 4  # Max. words of a name that may be misspelled
# Characters. Too many shorter words are one edit apart; longer ones have too many edits, 74 for
# each character.
_MISSPELLED_LENGTH = range(5, 61)
# Runs of words that are tried, so that a question of unknown words comes to an end.
_MAX_MISSPELLED = 200
_STEM_LETTERS = 5

Span = tuple[int, int]  # First word, and the word after the last
# Filters normalised names by those that the memory knows.
Lookup = Callable[[Iterable[str]], Collection[str]]


class Mention(NamedTuple):
    """Words of a question that name something."""

    start: int  # First word
    end: int  # The word after the last
    # Candidate names with weights that sum to one: several where the spelling is wrong.
    names: Mapping[str, float]


class LinkedQuestion(NamedTuple):
    """A question and what it names."""

    words: tuple[str, ...]  # Normalised
    mentions: tuple[Mention, ...]  # In order of appearance; they don't overlap


def asked_stems(linked: LinkedQuestion) -> frozenset[str]:
    """The stems of the words of a question beside the names in it."""
    named = {word for one in linked.mentions for word in range(one.start, one.end)}
    rest = (word for index, word in enumerate(linked.words) if index not in named)
    return content_stems(" ".join(rest))


def content_stems(text: str) -> frozenset[str]:
    """Stems of the words that say what is asked: "who" and "the" say nothing."""
    return frozenset(one for one in stems(text, _STEM_LETTERS) if is_name(one))


def link(question: str, lookup: Lookup) -> LinkedQuestion:
    """Find what a question names: the longest names first, and none within another.

    Words such as "who" and "it" count as names only where there is no other; only where there is
    none at all, names one edit away from words of the question are looked for.
    """
    words = tuple(normalise(question).split()[:_MAX_QUESTION_WORDS])
    spans = _spans(words, _MAX_NAME_WORDS)
    known = lookup(spans)
    names = [run for run in spans if run in known]
    likely = [name for name in names if is_name(name) or name.isdigit()]
    mentions = [
        Mention(*spans[name], {name: 1.0}) for name in _without_overlap(likely or names, spans)
    ]
    mentions = mentions or _misspelled(words, lookup)
    return LinkedQuestion(words, tuple(sorted(mentions)))


def _spans(words: tuple[str, ...], max_length: int) -> dict[str, Span]:
    """Every run of words with where it first stands; long ones first."""
    spans: dict[str, Span] = {}
    for length in range(min(max_length, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            run = " ".join(words[start : start + length])
            spans.setdefault(run, (start, start + length))
    return spans


def _without_overlap(names: Iterable[str], spans: Mapping[str, Span]) -> list[str]:
    chosen: list[str] = []
    for name in names:
        start, end = spans[name]
        if all(end <= spans[other][0] or spans[other][1] <= start for other in chosen):
            chosen.append(name)
    return chosen


def _misspelled(words: tuple[str, ...], lookup: Lookup) -> list[Mention]:
    """The longest run of words that is one edit away from a name, if any."""
    spans = _spans(words, _MAX_MISSPELLED_WORDS)
    possible = (run for run in spans if len(run) in _MISSPELLED_LENGTH and is_name(run))
    for run in islice(possible, _MAX_MISSPELLED):
        if found := sorted(lookup(edits(run))):
            return [Mention(*spans[run], dict.fromkeys(found, 1 / len(found)))]
    return []
