"""Linking: the names of a question that the memory knows facts about."""

import string
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from memnet.text.names import is_name, normalise

_LONGEST = 12
"""Words of a name."""
_MOST_WORDS = 200
"""Of a question in which names are looked for."""
_SHORTEST_MISSPELLED = 5
"""Letters: of shorter words, too many are one letter from another."""
_LONGEST_MISSPELLED = 60
"""Letters: a run of letters has 74 spellings for each, as long as itself."""
_MISSPELLED_WORDS = 4
"""Of a name that may be misspelled."""
_MOST_MISSPELLED = 200
"""Runs of words that are tried, so that a question of unknown words comes to an end."""
_LETTERS = string.ascii_lowercase + string.digits + " "

Known = Callable[[Iterable[str]], Collection[str]]
"""Those of some normalised names that the memory knows."""


class Mention(NamedTuple):
    """Words of a question that name something."""

    start: int
    """First word."""
    end: int
    """The word after the last."""
    names: Mapping[str, float]
    """What they may name, with weights that sum to one: several where the spelling is wrong."""


class LinkedQuestion(NamedTuple):
    """A question and what it names."""

    words: tuple[str, ...]
    """Normalised."""
    mentions: tuple[Mention, ...]
    """In their order; they don't overlap."""


def link(question: str, known: Known) -> LinkedQuestion:
    """Find what a question names: the longest names first, and none within another.

    Words such as "who" and "it" count as names only where there is no other; only where there is
    none at all, names one letter away from words of the question are looked for.
    """
    words = tuple(normalise(question).split()[:_MOST_WORDS])
    runs = _runs(words, _LONGEST)
    found = known(runs)
    chosen = _without_overlap([run for run in runs if run in found and _may_name(run)], runs)
    chosen = chosen or _without_overlap([run for run in runs if run in found], runs)
    if chosen:
        mentions = [Mention(start, end, {run: 1.0}) for run, (start, end) in chosen.items()]
    else:
        mentions = _misspelled(words, known)
    return LinkedQuestion(words, tuple(sorted(mentions)))


def _may_name(run: str) -> bool:
    return is_name(run) or run.isdigit()


def _runs(words: tuple[str, ...], longest: int) -> dict[str, tuple[int, int]]:
    """Every run of words with where it first stands; long ones first."""
    runs: dict[str, tuple[int, int]] = {}
    for length in range(min(longest, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            run = " ".join(words[start : start + length])
            runs.setdefault(run, (start, start + length))
    return runs


def _without_overlap(
    names: Iterable[str], runs: Mapping[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    chosen: dict[str, tuple[int, int]] = {}
    for name in names:
        start, end = runs[name]
        if all(end <= other[0] or other[1] <= start for other in chosen.values()):
            chosen[name] = (start, end)
    return chosen


def _misspelled(words: tuple[str, ...], known: Known) -> list[Mention]:
    """The longest run of words that is one letter away from a name, if any."""
    runs = _runs(words, _MISSPELLED_WORDS)
    possible = (
        run
        for run in runs
        if _SHORTEST_MISSPELLED <= len(run) <= _LONGEST_MISSPELLED and is_name(run)
    )
    for run in islice(possible, _MOST_MISSPELLED):
        found = sorted(known(_spellings(run)))
        if found:
            return [Mention(*runs[run], dict.fromkeys(found, 1 / len(found)))]
    return []


def _spellings(run: str) -> set[str]:
    """Everything one letter away: left out, too many, another, or two that changed places."""
    halves = [(run[:place], run[place:]) for place in range(len(run) + 1)]
    return {
        *(left + right[1:] for left, right in halves if right),
        *(left + right[1] + right[0] + right[2:] for left, right in halves if len(right) > 1),
        *(left + letter + right[1:] for left, right in halves if right for letter in _LETTERS),
        *(left + letter + right for left, right in halves for letter in _LETTERS),
    } - {run}
