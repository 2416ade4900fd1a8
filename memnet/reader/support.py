"""What is quoted, read again by itself: is it about what is asked, does it say yes or no."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, NamedTuple

from memnet.attention.arrays import log_odds, probability_of, weighted
from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.contrasts import says_of_another
from memnet.reader.quotes import Quotation, candidate_of
from memnet.reader.rows import stem, stems, with_headers
from memnet.reader.sequences import is_heading
from memnet.reader.spans import Passage, Reader, Reading, answered_by
from memnet.reader.values import UNIT_NAMES, is_other_quantity, is_within
from memnet.runtime.device import in_background
from memnet.storage.values import Encode
from memnet.text.english import LABELLED, NUMBER_WORDS, Unit, units
from memnet.text.relative import times_in
from memnet.text.restated import restates
from memnet.types import AnswerKind, Candidate


class VerdictSignals(NamedTuple):
    """What speaks for a word as the verdict of a quotation, or the weights of these."""

    bias: float
    given: float  # Log-odds of the word, by the network
    among: float  # Of it among yes and no
    restated: float  # Whether the quotation says so in the question's own words
    no: float  # Whether the word is "no"


class _Verdict(NamedTuple):
    """Yes or no by a unit of what is quoted."""

    word: AnswerKind
    probability: float
    quote: int  # Number of the quotation that the unit stands in
    start: int  # Of the unit in the text of its slot
    end: int


# By logistic regression on 1,117 pairs of a question and a quotation about documents and everyday
# files, or written as people ask, from which nothing else was learned (``benchmarks.fit_signals``),
# AUROC .851. Denials, opposites, numbers, times and names on one side alone added nothing to an
# earlier network, nor did what it reads in the text or the question with a denial put in or taken
# out, or without its title.
_WEIGHTS = VerdictSignals(bias=0.096, given=0.358, among=0.422, restated=0.75, no=-0.451)
# Probability from which a verdict is given: cross-validated, of the verdicts on these quotations
# 522 of 588 are right from 0.7 on, and 416 of 454 from 0.8 on.
_GIVEN = 0.75
# Probability of the other word, by another unit, from which none is given: 126 of 148 are right
# then, where 118 of 141 are by the verdict of the quotation as a whole.
_AGAINST = 0.7
# Factor of the confidence in what is said of something else: it is shown, but not as the answer.
# Of seven answerable questions about files of people who tried it, whose answers had none, four had
# a right one.
_OF_ANOTHER = 0.5
_OF_PERMISSION = stems("allowed permitted forbidden prohibited possible can may must")
_OF_AMOUNTS = frozenset(
    stem(one)
    for one in (
        *UNIT_NAMES,
        *NUMBER_WORDS,
        *"my our i we year old enough too people once time".split(),
    )
)
_LEAST_ABOUT = 0.5  # Share of the words of a question for an amount that a text has to have
_MOST_UNITS = 4  # Of a quotation that are read one by one
_RESTATED = 0.9  # Of one in the question's own words: 190 of 191 were right
_EPSILON = 1e-4  # Of a probability, for its log-odds
# Up to a verb, as in "all rooms except the kitchen are heated", or another clause
_EXCEPTION = re.compile(
    r",? (?:(?:except(?:ing)?(?: for)?|apart from|other than|with the exception of)\b"
    r"(?P<case>(?:(?! (?:is|are|was|were|do|does|did|has|have|had|can|may|must|will|should|where|"
    r"who|which|that)\b)[^,.;:()!?]){2,80})|unless\b(?P<clause>[^,.;:()!?]{2,80}))",
    re.IGNORECASE,
)
_CASES = re.compile(r"\b(?:and|or)\b", re.IGNORECASE)
_BEGINS = re.compile(r"\W{0,9}(yes|no)\b", re.IGNORECASE)
_TURNS = re.compile(r"[,;.–—-] {0,2}(?=(?:but|except|however|though|only)\b)", re.IGNORECASE)


def read_alone(
    question: str,
    prediction: Prediction,
    reader: Reader,
    verdicts: Callable[[], Reader | None],
) -> Prediction:
    """A prediction by what its quotation alone says.

    Passages are read several at a time, so that yes or no may come from another one than is
    quoted, such as a note about another boat. The verdict is therefore that of a unit of the
    quotation, and none is given where these leave it open. How probable it is that the quotation
    answers at all, by the reader, and that it gives the short answer, by the network for verdicts,
    are signals for the confidence.
    """
    signals = prediction.signals
    if signals is None or not prediction.quotes:
        return prediction
    first = prediction.quotes[0].item.slot
    before = first.text[: prediction.quotes[0].start]
    # In a list of questions that which is quoted answers says what "Not by itself, no." is about.
    heading = before.rstrip().rpartition("\n")[2].strip()  # The line above
    title = f"{first.title} > {heading}" if heading.endswith("?") else first.title
    own = [one for one in prediction.quotes if one.item.slot.id == first.id]
    quoted = "\n".join(one.text for one in own)
    reading = in_background(reader.read, question, [Passage(title, quoted)])
    judge = verdicts()
    if judge is not None and judge is not reader and signals.stated is None:
        short = prediction.short if prediction.kind == "value" else None
        said = (with_headers(first.text, first.title, one.start, one.end) for one in own)
        passage = Passage(title, "\n".join(said))
        stated = judge.read(answered_by(question, short), [passage]).answerable
        prediction = _with_signals(prediction, stated=stated)
    prediction = _with_signals(prediction, support=reading.result().answerable)
    if prediction.kind not in ("yes", "no") and not asks_whether(question):
        return prediction
    found = _verdict(question, prediction.quotes, title, judge)
    if found is not None and (quotes := _deciding(found, prediction.quotes)):
        prediction = prediction._replace(quotes=quotes)
        verdict = Candidate(text=found.word, score=found.probability)
        prediction = _with_signals(prediction, answer=found.probability)
        return _with_kind(prediction, found.word, [verdict, *prediction.candidates], found.word)
    if prediction.kind in ("yes", "no"):
        quoted_whole = candidate_of(prediction.quotes, prediction.quotes[0].weight)
        prediction = _with_signals(prediction, answer=quoted_whole.score)
        prediction = _with_kind(prediction, "statement", [quoted_whole], None)
    return _with_signals(prediction, left_open=True)._replace(promised=False)


def _verdict(
    question: str, quotes: Sequence[Quotation], title: str, judge: Reader | None
) -> _Verdict | None:
    """The surest verdict of a unit of what is quoted; None where none is sure, or two differ.

    Each is read by itself, under the heading that stands above it: beside "Other animals are not
    allowed", "Dogs may be brought" was "no". A heading alone says nothing. Without a network only
    what is said in the question's own words is a verdict.
    """
    slot = quotes[0].item.slot
    own = [(number, one) for number, one in enumerate(quotes) if one.item.slot.id == slot.id]
    pieces = [
        (
            with_headers(slot.text, slot.title, one.start + unit.start, one.start + unit.end),
            number,
            one.start + unit.start,
            one.start + unit.end,
        )
        for number, one in own
        for unit in units(one.text)
        if not is_heading(one.text, unit) or unit.end == len(one.text)
    ]
    if len(pieces) > _MOST_UNITS:
        whole = "\n".join(with_headers(slot.text, slot.title, one.start, one.end) for _, one in own)
        pieces = [(whole, 0, quotes[0].start, quotes[0].end)]
    found: list[_Verdict] = []
    for text, number, start, end in pieces:
        if text.rstrip().endswith("?"):
            continue  # It asks, too.
        excepted = _excepted(question, text)
        if excepted == "":
            continue
        before = slot.text[:start]
        above = _headings(before, units(before))[-1:]
        under = " > ".join(dict.fromkeys((title, *above)))
        given = _verdict_of(question, text, slot.title, before, under, judge)
        if excepted is not None:
            # What holds otherwise does not hold in the case that is asked about.
            other = _verdict_of(question, excepted, slot.title, before, under, judge)
            word: AnswerKind = "no" if other[0] == "yes" else "yes"
            given = word, max(given[1], other[1]) if given[0] == word else other[1]
        found.append(_Verdict(*given, number, start, end))
    return _surest(question, slot.text, found)


def _surest(question: str, text: str, found: Sequence[_Verdict]) -> _Verdict | None:
    """The verdict of the units of a ``text``; None where none is sure, or two differ."""
    sure = [one for one in found if one.probability >= _AGAINST]
    best = max(sure, key=lambda one: one.probability, default=None)
    if best is None:
        return None
    if any(one.word != best.word for one in sure):
        # "Other animals are not allowed" says nothing of dogs: no word of the question. Beside
        # "You may smoke on the balcony" neither "Smoking is forbidden inside" does of the balcony.
        asked = stems(question) - _OF_PERMISSION
        said = [(one, asked & stems(text[one.start : one.end])) for one in sure]
        about = [one for one, own in said if own and not any(own < other for _, other in said)]
        words = {one.word for one in about}
        best = max(about, key=lambda one: one.probability) if len(words) == 1 else None
    return best if best is not None and best.probability >= _GIVEN else None


def _verdict_of(
    question: str, text: str, name: str, before: str, title: str, judge: Reader | None
) -> tuple[AnswerKind, float]:
    """The likelier verdict of a text by itself, and its probability.

    It is of a slot with a ``name``, is read under a ``title`` and stands after what is ``before``.
    """
    within = is_within(question, text)
    if within is not None and _is_about(question, f"{title}\n{text}"):
        return "yes" if within else "no", _RESTATED
    reading = Reading((), 0.0, 0.0, 0.0)
    if judge is not None:
        reading = judge.read(question, [Passage(title, text)])
    word, signals = verdict_signals(question, text, name, before, reading)
    probability = probability_of(weighted(_WEIGHTS, signals))
    return word, max(probability, _RESTATED) if signals.restated else probability


def _headings(text: str, own: Sequence[Unit]) -> list[str]:
    """The units of a text that are headings."""
    return [text[one.start : one.end] for one in own if is_heading(text, one)]


def _is_about(question: str, text: str) -> bool:
    """Whether a text has half of the words that say of what a question asks for an amount."""
    asked = {one for one in stems(question) - _OF_PERMISSION - _OF_AMOUNTS if one.isalpha()}
    return len(asked & stems(text)) >= _LEAST_ABOUT * len(asked)


def _excepted(question: str, text: str) -> str | None:
    """A sentence without its exception, where a question is about just that; None elsewhere.

    What holds otherwise does not hold then: one may park on Sundays where it is forbidden "except
    on Sundays". "" where the question may be about it, as it has some of its words that the rest
    has not: "dogs, except assistance dogs" leaves dogs in general to the rest.
    """
    found = _EXCEPTION.search(text)
    if found is None or _EXCEPTION.search(question):
        return None
    asked = stems(question)
    cases = [stems(one) for one in _CASES.split(found["case"] or found["clause"])]
    rest = text[: found.start()] + text[found.end() :]
    if any(case and case <= asked for case in cases):
        return rest
    return "" if asked & frozenset[str]().union(*cases) - stems(rest) else None


def _deciding(verdict: _Verdict, quotes: Sequence[Quotation]) -> tuple[Quotation, ...]:
    """What is quoted from what gives the verdict on; nothing where it begins with the other word.

    After a unit with a label the next one may belong to another label.
    """
    first = quotes[verdict.quote]
    labelled = LABELLED.match(first.item.slot.text, verdict.start) is not None
    first = first._replace(start=verdict.start, end=verdict.end if labelled else first.end)
    begins = _BEGINS.match(first.text)
    if begins is not None and begins[1].casefold() != verdict.word:
        turn = _TURNS.search(first.text)
        if turn is None:
            return ()
        first = first._replace(start=first.start + turn.end())
    return first, *quotes[verdict.quote + 1 :]


def verdict_signals(
    question: str, quoted: str, title: str, before: str, reading: Reading
) -> tuple[AnswerKind, VerdictSignals]:
    """The likelier verdict of a quotation, and what speaks for it.

    Args:
        question: for yes or no.
        quoted: pieces of a passage, one a line.
        title: of the passage.
        before: what stands before it.
        reading: of the quotation alone.
    """
    restated = restates(question, quoted, title, before)
    sure = restated is not None and restated.sure
    word: AnswerKind = "yes" if reading.yes > reading.no else "no"
    if restated is not None and sure:
        word = "yes" if restated.yes else "no"
    given, other = (reading.no, reading.yes) if word == "no" else (reading.yes, reading.no)
    return word, VerdictSignals(
        bias=1.0,
        given=log_odds(given, _EPSILON),
        among=log_odds(given / max(given + other, _EPSILON), _EPSILON),
        restated=float(sure),
        no=float(word == "no"),
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
    """A prediction with little confidence where its value is said of something else than asked.

    It has none where it is no e-mail address, no time or another quantity than what is asked for.
    ``encode`` gives [N, D] vectors of N texts.
    """
    signals = prediction.signals
    if signals is None:
        return prediction
    factor = 1.0
    if _is_of_other_kind(question, prediction):
        factor = 0.0
    elif _is_of_another(question, prediction, encode):
        factor = _OF_ANOTHER
    return prediction._replace(signals=signals._replace(attested=factor * signals.attested))


def _is_of_other_kind(question: str, prediction: Prediction) -> bool:
    shown = " ".join(one.text for one in prediction.quotes)
    if _MAIL.match(question) and "@" not in shown:
        return True
    if prediction.kind in ("value", "definition") and _ASKS_FOR_A_DAY.match(question):
        given = prediction.short or shown
        if not (_AT_A_TIME.search(given) or times_in(given, date.today())):
            return True
    known = prediction.quotes and prediction.candidates and not asks_whether(question)
    return bool(known and prediction.short and is_other_quantity(question, prediction.short))


def _is_of_another(question: str, prediction: Prediction, encode: Encode) -> bool:
    if not (prediction.quotes and prediction.candidates) or asks_whether(question):
        return False
    own, subject, context = _sentences_and_context(prediction)
    if prediction.kind == "value":
        return says_of_another(question, own, context, encode, prediction.short or "", subject)
    # What steps lead to is said above them.
    shown = " ".join(one.text for one in prediction.quotes)
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
    headings = _headings(text, before[:-1])
    said = [text[one.start : one.end] for one in before]
    own = said[-1]
    context = [item.slot.title, *(copy.title for copy in item.copies), *headings[-1:], own]
    context += said[-2:-1] if _PRONOUN.match(own) or _TAKES_UP.search(own) else []
    if LABELLED.match(own):  # "Weight: 6 kg" is that of what stands above it
        own = f"{(headings or [item.slot.title.rpartition(' > ')[2]])[-1]}: {own}"
    while len(said) > 1 and _PRONOUN.match(said[-1]):
        said.pop()
    return own, said[-1], "\n".join(dict.fromkeys([*context, said[-1]]))
