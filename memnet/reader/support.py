"""What is quoted, read again by itself: is it about what is asked, does it say yes or no."""

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

from memnet.attention.arrays import log_odds, probability_of, weighted
from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.confidence import names_missing
from memnet.reader.contrasts import differ, says_of_another
from memnet.reader.quotes import Quotation, candidate_of
from memnet.reader.sequences import is_heading
from memnet.reader.spans import Passage, Reader, Reading
from memnet.reader.values import is_other_quantity
from memnet.storage.values import Encode
from memnet.text.english import LABELLED, units
from memnet.text.names import normalise
from memnet.text.relative import times_in
from memnet.text.restated import differences, names_other_times, restates
from memnet.types import AnswerKind, Candidate


class VerdictSignals(NamedTuple):
    """What speaks for a word as the verdict of a quotation, or the weights of these."""

    bias: float
    given: float  # Log-odds of the word, by the network
    among: float  # Of it among yes and no
    restated: float  # Whether the quotation says so in the question's own words
    agrees: float  # Whether a clause with other words says so too
    opposes: float  # Whether one says the other word
    no: float  # Whether the word is "no"
    denied: float  # Whether denials on one side alone go with "no", and else with "yes"
    opposed: float  # Whether opposites do, 1, or speak against it, -1
    missing: float  # Share of the question's words that the nearest clause lacks
    unlike: float  # Whether these are unlike those that it has instead
    elsewhere: float  # Whether a number or a time of the question is another there
    open: float  # Whether it asks or compares
    unnamed: float  # Whether it lacks a name of the question


# By logistic regression on 1,741 pairs of a question and a quotation, from most of which nothing
# else was learned (``benchmarks.fit_signals``). From 0.7 on 293 of 324 verdicts are right.
_WEIGHTS = VerdictSignals(
    bias=-0.342, given=0.375, among=0.409, restated=2.125, agrees=0.584, opposes=-0.736, no=-0.011,
    denied=0.489, opposed=0.597, missing=0.258, unlike=-0.086, elsewhere=-0.223, open=-0.384,
    unnamed=0.065,
)  # fmt: skip
# Probability from which a verdict is given, unless a denial or an opposite on one side alone speaks
# against it: of the answers to 300 questions for yes or no about everyday files 39 are then, all
# right (0.7: 55, 54 right; without these two grounds 52, 51 right), and of 200 pairs that differ in
# a word or two 3 contradict their text (5; 5).
_GIVEN = 0.75
_RESTATED = 0.9  # Of one in the question's own words: 190 of 191 were right
_EPSILON = 1e-4  # Of a probability, for its log-odds
_DENIES = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|except|unless|hardly|"
    r"forbidden|prohibited|banned|lacks?|excluding|refused?|instead|stopped|ceased|former|"
    r"formerly|used to|until|closed|cancelled)\b|n['’]t\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"\W{0,9}(yes|no)\b", re.IGNORECASE)
_TURNS = re.compile(r"[,;.–—-] {0,2}(?=(?:but|except|however|though|only)\b)", re.IGNORECASE)
_OTHER_TIME = re.compile(r"\b(?:was|were|had|did|will|would|once|planned)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d(?:[\d.,:]{0,20}\d)?")


def read_alone(question: str, prediction: Prediction, reader: Reader, encode: Encode) -> Prediction:
    """A prediction by what its quotation alone says.

    Passages are read several at a time, so that yes or no may come from another one than is
    quoted, such as a note about another boat. The verdict is therefore that of the quotation, and
    none is given where that leaves it open. How probable it is that the quotation answers at all
    is a signal for the confidence.
    """
    signals = prediction.signals
    if signals is None or not prediction.quotes:
        return prediction
    first = prediction.quotes[0].item.slot
    quoted = "\n".join(one.text for one in prediction.quotes if one.item.slot.id == first.id)
    before = first.text[: prediction.quotes[0].start]
    # In a list of questions that which is quoted answers says what "Not by itself, no." is about.
    heading = _heading(before)
    title = f"{first.title} > {heading}" if heading.endswith("?") else first.title
    reading = reader.read(question, [Passage(title, quoted)])
    prediction = _with_signals(prediction, support=reading.answerable)
    if prediction.kind not in ("yes", "no") and not asks_whether(question):
        return prediction
    word, found = verdict_signals(question, quoted, first.title, before, reading, encode)
    probability = probability_of(weighted(_WEIGHTS, found))
    if found.restated:
        probability = max(probability, _RESTATED)
    against = not found.denied or found.opposed < 0
    fits = found.restated or found.agrees or not against
    if fits and probability >= _GIVEN and (quotes := _deciding(question, word, prediction.quotes)):
        prediction = prediction._replace(quotes=quotes)
        verdict = Candidate(text=word, score=probability)
        prediction = _with_signals(prediction, answer=probability)
        return _with_kind(prediction, word, [verdict, *prediction.candidates], word)
    if prediction.kind in ("yes", "no"):
        quoted_whole = candidate_of(prediction.quotes, prediction.quotes[0].weight)
        prediction = _with_signals(prediction, answer=quoted_whole.score)
        prediction = _with_kind(prediction, "statement", [quoted_whole], None)
    return _with_signals(prediction, left_open=True)._replace(promised=False)


def _heading(before: str) -> str:
    """The line above, by what stands before."""
    return before.rstrip().rpartition("\n")[2].strip()


def _deciding(question: str, word: str, quotes: Sequence[Quotation]) -> tuple[Quotation, ...]:
    """What is quoted from what says yes or no on; nothing where it begins with the other word."""
    first, slot = quotes[0], quotes[0].item.slot
    for unit in units(first.text):
        start, end = first.start + unit.start, first.start + unit.end
        said = restates(question, slot.text[start:end], slot.title, slot.text[:start])
        if said is not None and said.yes == (word == "yes"):
            labelled = LABELLED.match(slot.text, start)  # else the next sentence may belong to it
            first = first._replace(start=start, end=end if labelled else first.end)
            break
    begins = _BEGINS.match(first.text)
    if begins is not None and begins[1].casefold() != word:
        turn = _TURNS.search(first.text)
        if turn is None:
            return ()
        first = first._replace(start=first.start + turn.end())
    return first, *quotes[1:]


def verdict_signals(
    question: str, quoted: str, title: str, before: str, reading: Reading, encode: Encode
) -> tuple[AnswerKind, VerdictSignals]:
    """The likelier verdict of a quotation, and what speaks for it.

    Args:
        question: for yes or no.
        quoted: pieces of a passage, one a line.
        title: of the passage.
        before: what stands before it.
        reading: of the quotation alone.
        encode: gives [N, D] vectors of N texts.
    """
    restated = restates(question, quoted, title, before)
    sure = restated is not None and restated.sure
    word: AnswerKind = "yes" if reading.yes > reading.no else "no"
    if restated is not None and sure:
        word = "yes" if restated.yes else "no"
    no = word == "no"
    given, other = (reading.no, reading.yes) if no else (reading.yes, reading.no)
    agrees = restated is not None and restated.yes != no
    title = f"{title} {_heading(before)}"
    found = differences(question, quoted, title)
    nearest = found[0]
    said = nearest.clause if no else quoted  # what denies has to be about what is asked
    one_denies = bool(_DENIES.search(question)) != bool(_DENIES.search(said))
    opposed = any(one.opposed for one in found)
    missing, instead = (" ".join(sorted(one)) for one in (nearest.missing, nearest.instead))
    numbers = set(_NUMBER.findall(question)) - set(_NUMBER.findall(f"{quoted} {title}"))
    times = bool(_OTHER_TIME.search(question)) != bool(_OTHER_TIME.search(quoted))
    return word, VerdictSignals(
        bias=1.0,
        given=log_odds(given, _EPSILON),
        among=log_odds(given / max(given + other, _EPSILON), _EPSILON),
        restated=float(agrees and sure),
        agrees=float(agrees and not sure),
        opposes=float(restated is not None and not agrees),
        no=float(no),
        denied=float(one_denies == no),
        opposed=float(opposed) * (1.0 if no else -1.0),
        missing=len(nearest.missing) / (len(nearest.missing) + nearest.shared + 1),
        unlike=float(bool(missing and instead) and differ(encode, [missing], [instead])),
        elsewhere=float(bool(numbers) or times or names_other_times(question, quoted)),
        open=float("than" in quoted.split() or quoted.rstrip().endswith("?")),
        unnamed=float(names_missing(question, [normalise(f"{quoted} {title}")])),
    )


def _with_signals(prediction: Prediction, **changed: Any) -> Prediction:
    signals = prediction.signals
    return prediction._replace(signals=None if signals is None else signals._replace(**changed))


def _with_kind(
    prediction: Prediction, kind: AnswerKind, candidates: Sequence[Candidate], short: str | None
) -> Prediction:
    first: dict[str, Candidate] = {}
    for one in candidates:
        first.setdefault(one.text, one)
    return prediction._replace(kind=kind, candidates=tuple(first.values()), short=short)


_PRONOUN = re.compile(r"(?:it|its|he|his|she|her|they|their)\b", re.IGNORECASE)
# "Her" in the middle mostly takes up the sentence's own subject.
_TAKES_UP = re.compile(r"\b(?:it|him|them|this|these|those|such)\b", re.IGNORECASE)
_MAIL = re.compile(
    r"\W{0,9}what(?:['’]s| is) (?:(?!of )\S{1,30} ){1,4}e-?mail address(?: of\b|\W{0,9}$)",
    re.IGNORECASE,
)
_AT_A_TIME = re.compile(r"\d|\b(?:after|before|during|while|when|as|until|since|once|at|by)\b")
_ASKS_FOR_A_DAY = re.compile(r"\W{0,9}when (?:was|were|did)\b", re.IGNORECASE)


def without_others(question: str, prediction: Prediction, encode: Encode) -> Prediction:
    """A prediction without confidence where its value is said of something else than asked about.

    Nor has a value confidence that is no e-mail address or no time where one is asked for.
    ``encode`` gives [N, D] vectors of N texts.
    """
    signals = prediction.signals
    if signals is None or not _is_of_another(question, prediction, encode):
        return prediction
    return prediction._replace(signals=signals._replace(attested=0.0))


def _is_of_another(question: str, prediction: Prediction, encode: Encode) -> bool:
    shown = " ".join(one.text for one in prediction.quotes)
    if _MAIL.match(question) and "@" not in shown:
        return True
    if prediction.kind in ("value", "definition") and _ASKS_FOR_A_DAY.match(question):
        given = prediction.short or shown
        if not (_AT_A_TIME.search(given) or times_in(given, date.today())):
            return True
    if not (prediction.quotes and prediction.candidates) or asks_whether(question):
        return False
    if prediction.short and is_other_quantity(question, prediction.short):
        return True
    own, subject, context = _sentences_and_context(prediction)
    if prediction.kind == "value":
        return says_of_another(question, own, context, encode, prediction.short or "", subject)
    # What steps lead to is said above them.
    return prediction.kind == "steps" and says_of_another(question, context, shown, encode)


def _sentences_and_context(prediction: Prediction) -> tuple[str, str, str]:
    """The sentence that answers, the one that names its subject, and what both go on from.

    Where the first starts with a pronoun, the second is the last before that does not.
    """
    best, quote = prediction.candidates[0], prediction.quotes[0]
    item, text, start = quote.item, quote.item.slot.text, quote.start
    if prediction.kind == "value":
        if best.start is None or best.evidence != item.slot.id:
            return "", "", ""
        start = best.start - item.slot.start
    before = [one for one in units(text) if one.start <= start]
    if not before:
        return "", "", ""
    headings = [text[one.start : one.end] for one in before[:-1] if is_heading(text, one)]
    said = [text[one.start : one.end] for one in before]
    own = said[-1]
    context = [item.slot.title, *(copy.title for copy in item.copies), *headings[-1:], own]
    context += said[-2:-1] if _PRONOUN.match(own) or _TAKES_UP.search(own) else []
    if LABELLED.match(own):  # "Weight: 6 kg" is that of what stands above it
        own = f"{(headings or [item.slot.title.rpartition(' > ')[2]])[-1]}: {own}"
    while len(said) > 1 and _PRONOUN.match(said[-1]):
        said.pop()
    return own, said[-1], "\n".join(dict.fromkeys([*context, said[-1]]))
