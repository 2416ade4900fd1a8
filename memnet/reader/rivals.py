"""Values that stand side by side in a unit: the words of the question say which of them is meant.

"The upper shelf carries 25 kg, the lower one 60 kg." The network finds where values start and end,
and often not which clause the question is about.
"""

import math
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from memnet.reader.spans import Passage, Span
from memnet.text.english import query_terms, units
from memnet.text.names import normalise

# Start and end of a span are scored apart: undecided between A and B the network gives "A ... B"
# the root of the product of both. More than that is meant as a whole. On 550 questions that it had
# not seen it is right for 362 where it was for 360, of 174 about two values for 142 where for 129.
_JOINED = math.exp(-3.5)
_MAX_RIVALS = 4
# Content words of a unit whose values can be told apart so. In longer ones a clause says more than
# its value, and the question's words stand anywhere.
_MAX_WORDS = 12
# Conditional logistic regression on 342 units with a right value among others (163 of them written
# for it, 139 of ``benchmarks/questions/contrast.jsonl.gz``, 40 of ``held_out.jsonl`` of
# ``benchmarks.prepare_reader``, which the reader had not seen). In cross-validation 153, 123 and 35
# are right where 139, 125 and 34 were by the network alone, which has learned from the second.
_PROBABILITY = 0.47  # Of the logarithm of the network's probability
# What it counts if words of the question stand in the clause of a later value alone. Those of an
# earlier one alone may go for all: "adults pay 6 euros, children 3".
_LATER = -1.52
_OTHER = -0.71  # If a clause alone says something else than the question
_CODE = 3.0  # Times which a word with a digit counts: it is a name, and not chosen freely
_BREAK = re.compile(r"[,;](?=\s)|\b(?:and|but|or|while|whereas)\b", re.IGNORECASE)
_TWO_WORDS = re.compile(r"\w\W+\w")
_STEM_LETTERS = 4
_FLOOR = 1e-4


class _Place(NamedTuple):
    """A span by its place in the text of a passage."""

    start: int
    end: int
    probability: float

    def overlaps(self, other: "_Place") -> bool:
        return self.start < other.end and other.start < self.end


def weigh_rivals(question: str, spans: Sequence[Span], passages: Sequence[Passage]) -> list[Span]:
    """Spans with the probabilities that the words of the question give them, in their order.

    A value that was weighed has the probability of its other spans, "5" of "5 kg", which are left
    out.
    """
    asked = _stems(question)
    weighed: dict[tuple[int, int, int], float] = {}
    for number in {span.passage for span in spans}:
        text = passages[number].text
        places = _apart([_Place(*one[1:]) for one in spans if one.passage == number], text)
        weighed |= {(number, one.start, one.end): one.probability for one in places}
        for unit in units(text):
            within = [one for one in places if unit.start <= one.start and one.end <= unit.end]
            rivals = _rivals(within, text)
            weights = _weights(asked, rivals, text, unit.start, unit.end)
            of_one = [one for one in within if weights and sum(map(one.overlaps, rivals)) == 1]
            total = sum(one.probability for one in of_one)
            weighed |= {(number, one.start, one.end): 0.0 for one in of_one}
            for rival, weight in zip(rivals, weights, strict=False):
                weighed[number, rival.start, rival.end] = weight * total
    found = [one._replace(probability=weighed[one[:3]]) for one in spans]
    return [one for one in found if one.probability > 0]


def _apart(spans: Sequence[_Place], text: str) -> list[_Place]:
    """Spans of a text with what those from one value to another have given to these values."""
    probability = {one: one.probability for one in spans}
    for one in spans:
        ends = _ends(one, spans, text)
        for end in ends:
            share = end.probability / sum(each.probability for each in ends)
            probability[end] += share * one.probability
        if ends:
            probability[one] -= one.probability
    return [one._replace(probability=value) for one, value in probability.items()]


def _ends(one: _Place, others: Sequence[_Place], text: str) -> tuple[_Place, ...]:
    """The likeliest two values, each of which may be the answer, from and to which a span goes.

    A single word between them, as in "5 hours and 30 minutes", makes one value of both.
    """
    first = [other for other in others if other.start == one.start and other.end < one.end]
    last = [other for other in others if other.end == one.end and other.start > one.start]
    pairs = [(a, b) for a in first for b in last if _TWO_WORDS.search(text, a.end, b.start)]
    best = max(pairs, key=lambda pair: pair[0].probability * pair[1].probability, default=())
    least = _JOINED * one.probability**2
    return best if best and best[0].probability * best[1].probability > least else ()


def _rivals(spans: Sequence[_Place], text: str) -> list[_Place]:
    """The likeliest spans of one shape that share no character, in the order of the text."""
    found: list[_Place] = []
    for one in sorted(spans, key=lambda span: -span.probability):
        alike = not found or _shape(one, text) == _shape(found[0], text)
        if alike and one.probability > 0 and not any(map(one.overlaps, found)):
            found.append(one)
    return sorted(found[:_MAX_RIVALS])


def _shape(one: _Place, text: str) -> str:
    """Whether a value has a digit, a capital letter, or neither."""
    value = text[one.start : one.end]
    if _has_digit(value):
        return "number"
    return "name" if any(map(str.isupper, value)) else "words"


def _weights(
    asked: frozenset[str], rivals: Sequence[_Place], text: str, start: int, end: int
) -> list[float]:
    """The share of each rival in a unit from ``start`` to ``end``, which sum to one.

    None where the words of the question don't tell them apart.
    """
    if len(rivals) < 2 or len(_stems(text[start:end])) > _MAX_WORDS:
        return []
    cuts = [start, *(_cut(text, *pair) for pair in pairwise(rivals)), end]
    words = [
        _stems(f"{text[first : one.start]} {text[one.end : last]}")
        for one, (first, last) in zip(rivals, pairwise(cuts), strict=True)
    ]
    alone = [own.difference(*words[:n], *words[n + 1 :]) for n, own in enumerate(words)]
    said = [_counted(asked & own) for own in alone]
    if not any(said):
        return []
    scores = [
        math.exp(
            _PROBABILITY * math.log(one.probability + _FLOOR)
            + _LATER * max(said[n + 1 :], default=0.0)
            + _OTHER * bool(alone[n] - asked)
        )
        for n, one in enumerate(rivals)
    ]
    return [score / sum(scores) for score in scores]


def _counted(words: frozenset[str]) -> float:
    """What words of the question that stand in one clause alone count."""
    if any(map(_has_digit, words)):
        return _CODE
    return float(bool(words))


def _cut(text: str, one: _Place, other: _Place) -> int:
    """Where the clause of a value ends and that of the next one starts."""
    found = _BREAK.search(text, one.end, other.start)
    return found.start() if found else other.start


def _stems(text: str) -> frozenset[str]:
    """The first letters of content words; numbers, and words with a digit, as they are."""
    return frozenset(
        word if _has_digit(word) else word[:_STEM_LETTERS] for word in query_terms(normalise(text))
    )


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))
