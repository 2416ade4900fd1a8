"""Values that stand side by side in a unit: the words of the question say which of them is meant.

"The upper shelf carries 25 kg, the lower one 60 kg." The network finds where values start and end,
and often not which clause the question is about.
"""

import math
import re
from collections.abc import Container, Sequence
from itertools import pairwise

from memnet.reader.contrasts import is_opposed
from memnet.reader.spans import Passage, Span
from memnet.reader.values import UNIT_NAMES, measures_in, units_asked
from memnet.text.english import ASKS_EARLIER, Unit, overlapping, query_terms, units
from memnet.text.names import has_digit, normalise

# Start and end of a span are scored apart: undecided between A and B the network gives "A ... B"
# the root of the product of both. Far more than that is meant as a whole. Of 509 questions of
# ``contrast.jsonl.gz`` about one of several clauses 472 are right, by the network alone 456.
_JOINED = math.exp(-6)
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
_OPPOSED = -3.0  # If it has an opposite of a word of the question, or another measure
_CODE = 3.0  # Times which a word with a digit counts: it is a name, and not chosen freely
_BREAK = re.compile(r"[,;](?=\s)|\b(?:and|but|or|while|whereas)\b", re.IGNORECASE)
_TO = re.compile(r"\bto\b")
_TWO_WORDS = re.compile(r"\w\W+\w")
# "5 hours and 30 minutes"
_ONE_MEASURE = re.compile(r"\D{0,9}\d[\d.,]{0,12} \w+,? (?:and )?\d[\d.,]{0,12} \w+")
_MAX_LEAD = 90  # Characters before a value that say that it is so no more
_FORMER = re.compile(
    r"\b(?:before (?:that|then)|formerly|previously|originally|until (?:then|recently)|used to|"
    r"(?:moved|went|changed|switched|rose|raised|increased|fell|lowered|reduced|cut|dropped|renamed|"
    r"up|down)(?: [\w-]{1,20}){0,4} from)\b[^.;\n]{0,30}$",
    re.IGNORECASE,
)
_STEM_LETTERS = 4
_FLOOR = 1e-4
# If a word that leads to one value alone, as in "registered by", is asked; tried were 0.5 to 3
_LED = 1.0
_LEADS = re.compile(
    r"(?<!\w)(\w{1,30}) (?:by|in|on|at|for|from|until|till|to|of|with|about)(?: the| an?)? ?$",
    re.IGNORECASE,
)


def weigh_rivals(question: str, spans: Sequence[Span], passages: Sequence[Passage]) -> list[Span]:
    """Spans with the probabilities that the words of the question give them.

    A value that was weighed has the probability of its other spans, "5" of "5 kg", which are left
    out.
    """
    asked, found = _stems(question), list[Span]()
    wanted = units_asked(question)
    for number in sorted({span.passage for span in spans}):
        text = passages[number].text
        own = _apart([one for one in spans if one.passage == number], text)
        for unit in units(text):
            own = _told_apart(question, asked, own, text, unit)
            own = _measured_in(wanted, own, text, unit) if wanted else own
        found += own
    return [one for one in found if one.probability > 0]


def _apart(spans: Sequence[Span], text: str) -> list[Span]:
    """Spans of a text; those from one value to another have given their probability to these.

    These are the likeliest two, each of which may be the answer. A single word between them, as in
    "5 hours and 30 minutes", makes one value of both.
    """
    probability = {one: one.probability for one in spans}
    for one in spans:
        first = [other for other in spans if other.start == one.start and other.end < one.end]
        last = [other for other in spans if other.end == one.end and other.start > one.start]
        between = _TWO_WORDS
        if _FORMER.search(text, max(0, one.start - _MAX_LEAD), one.start):
            between = _TO  # "from 5 to 6"
        pairs = [(a, b) for a in first for b in last if between.search(text, a.end, b.start)]
        joint = [a.probability * b.probability for a, b in pairs]
        whole = _ONE_MEASURE.fullmatch(text, one.start, one.end)
        if not whole and max(joint, default=0.0) > _JOINED * one.probability**2:
            ends = pairs[joint.index(max(joint))]
            for end in ends:
                share = end.probability / sum(each.probability for each in ends)
                probability[end] += share * one.probability
            probability[one] -= one.probability
    return [one._replace(probability=value) for one, value in probability.items()]


def _told_apart(
    question: str, asked: frozenset[str], spans: list[Span], text: str, unit: Unit
) -> list[Span]:
    """Spans of a text; the rivals in a unit have what the words of a question give them.

    Rivals are the likeliest of one shape that share no character. All stay as they are where the
    words of the question don't tell them apart.
    """
    within = [one for one in spans if unit.start <= one.start and one.end <= unit.end]
    rivals: list[Span] = []
    for one in sorted(within, key=lambda span: -span.probability):
        alike = not rivals or _shape(one, text) == _shape(rivals[0], text)
        if alike and one.probability > 0 and not any(map(one.overlaps, rivals)):
            rivals.append(one)
    rivals = sorted(rivals[:_MAX_RIVALS])
    if len(rivals) < 2:
        return spans
    earlier = ASKS_EARLIER.search(question) is not None
    before = (unit.start, *(one.end for one in rivals))
    former = [
        (_FORMER.search(text, first, one.start) is None) == earlier
        for one, first in zip(rivals, before, strict=False)
    ]
    changed = len({*former}) == 2
    if not changed and len(_stems(text[unit.start : unit.end])) > _MAX_WORDS:
        return spans
    cuts = [unit.start, *(_cut(text, *pair) for pair in pairwise(rivals)), unit.end]
    words = [
        _stems(f"{text[first : one.start]} {text[one.end : last]}")
        for one, (first, last) in zip(rivals, pairwise(cuts), strict=True)
    ]
    alone = [own.difference(*words[:n], *words[n + 1 :]) for n, own in enumerate(words)]
    # What words of the question that stand in one clause alone count
    said = [
        _CODE if any(map(has_digit, asked & own)) else float(not asked.isdisjoint(own))
        for own in alone
    ]
    opposed = former
    if not changed:
        opposed = [is_opposed(question, text[first:last]) for first, last in pairwise(cuts)]
    if not any(said) and len({*opposed}) == 1:
        return spans
    led = [_led_by(text[first : one.start]) for one, first in zip(rivals, cuts, strict=False)]
    scores = [
        math.exp(
            _PROBABILITY * math.log(one.probability + _FLOOR)
            + _LED * (led[n] in asked and led[n] not in led[:n] + led[n + 1 :])
            + _LATER * max(said[n + 1 :], default=0.0)
            + _OTHER * bool(alone[n] - asked)
            + _OPPOSED * opposed[n]
        )
        for n, one in enumerate(rivals)
    ]
    # What was before is not part of what is so now.
    most = len(rivals) if changed else 1
    of_one = [one for one in within if 1 <= sum(map(one.overlaps, rivals)) <= most]
    share = sum(one.probability for one in of_one) / sum(scores)
    weighed = dict.fromkeys(of_one, 0.0) | {
        one: share * score for one, score in zip(rivals, scores, strict=True)
    }
    return [one._replace(probability=weighed.get(one, one.probability)) for one in spans]


def _measured_in(wanted: Container[str], spans: list[Span], text: str, unit: Unit) -> list[Span]:
    """Spans of a text; one number with a wanted measure in a unit has what the others had.

    "105 km/h (57 kn)": "How many knots?"
    """
    measures = measures_in(text, unit.start, unit.end)
    chosen = [one for one in measures if one[2] in wanted]
    places = [(start, end) for start, end, name in measures if name in UNIT_NAMES]
    within = [one for one in spans if unit.start <= one.start and one.end <= unit.end]
    taken = [one for one in within if overlapping(places, one.start, one.end)]
    if len(chosen) != 1 or len(measures) < 2 or not taken:
        return spans
    measured = Span(taken[0].passage, *chosen[0][:2], sum(one.probability for one in taken))
    return [*(one for one in spans if one not in taken), measured]


def _led_by(text: str) -> str:
    """The stem of a word with a preposition after it at the end of a text: "registered by"."""
    found = _LEADS.search(text)
    return found[1].lower()[:_STEM_LETTERS] if found else ""


def _shape(one: Span, text: str) -> str:
    """Whether a value has a digit, a capital letter, or neither."""
    value = text[one.start : one.end]
    if has_digit(value):
        return "number"
    return "name" if any(map(str.isupper, value)) else "words"


def _cut(text: str, one: Span, other: Span) -> int:
    """Where the clause of a value ends and that of the next one starts."""
    found = _BREAK.search(text, one.end, other.start)
    return found.start() if found else other.start


def _stems(text: str) -> frozenset[str]:
    """The first letters of content words; numbers, and words with a digit, as they are."""
    words = query_terms(normalise(text))
    return frozenset(word if has_digit(word) else word[:_STEM_LETTERS] for word in words)
