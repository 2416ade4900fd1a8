"""Answers from passages, spans or whole sentences, and the confidence in them."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from memnet.attention.arrays import log_odds
from memnet.config import AnswerConfig
from memnet.reader.confidence import QUOTED_KINDS, Calibration, Signals, signals_of
from memnet.reader.contrasts import NamedUnits, named_units
from memnet.reader.decompose import Compared, Resolved
from memnet.reader.decompose.negation import drop_denied
from memnet.reader.passages import (
    RankedSlot,
    names_match,
    passages_named,
    slot_candidate,
    span_candidate,
)
from memnet.reader.quotes import (
    Beside,
    Quotation,
    attend_units,
    kind_shown,
    may_be_list,
    may_be_steps,
    most_attended,
    quote,
    quote_around,
    quote_candidates,
    relevance_of,
    with_close_unit,
    with_rest,
)
from memnet.reader.rivals import weigh_rivals
from memnet.reader.sequences import whole_enumeration
from memnet.reader.spans import Passage, Reader, Reading, ReadUnit, Span, answered_by
from memnet.reader.values import is_other_quantity
from memnet.runtime.device import in_background
from memnet.text.english import is_foreign, units
from memnet.text.names import maximal_names, mentions, normalise, stems, without_names
from memnet.types import AnswerKind, Candidate

_MAX_CANDIDATES = 10
_MAX_UNITS = 5
# Values that the network for verdicts is asked of, and the least score of one over the best one's
_MOST_JUDGED, _LEAST_JUDGED = 5, 0.1
# Factor of what can hardly be the answer: yes to "who", words of the question itself, what was put
# in the place of a phrase, and what is said of another code or in another unit than the question's.
_UNLIKELY = 0.1
# An auxiliary at the start or after a comma; or ", right?" at the end.
_ASKS_WHETHER = re.compile(
    r"(?:\W{0,9}+|(?!\W{0,9}(?:who|what|which|where|when|why|how)\b).{0,200}, "
    r"(?:and |or |but |so )?)"
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must|shall"
    r"|am)(?:n['’]t)?\b|.{0,300}, (?:right|correct)\W{0,9}$",
    re.IGNORECASE,
)
_GIVES_A_CHOICE = re.compile(r"\b(?:or|between|out of)\b", re.IGNORECASE)
_ASKS_FOR_A_NUMBER = re.compile(r"\b(when|year|date|number|how (many|old|long|much|far|tall))\b")
_NUMBER = re.compile(r"\d")
_ASKS_FOR_STEPS = 0.5  # Probability of steps from which no part of the question gives a value
_MIN_SHORT = 0.1  # Probability of a span to be given as the short answer of such a quotation


class Prediction(NamedTuple):
    """Possible answers to a question, and what is known of the best of them."""

    candidates: tuple[Candidate, ...] = ()  # Best first
    # The evidence that the best candidate was read or judged by, its own first
    support: tuple[RankedSlot, ...] = ()
    kind: AnswerKind = "none"  # Of the best candidate
    confidence: float | None = None
    abstained: bool = False  # Whether the memory does not hold the answer, whatever the candidates
    promised: bool = True  # Whether it is shown as an answer, not as sentences that may help
    signals: Signals | None = None  # Of the confidence; None without a reader of spans
    outcome: float | None = None  # Probability of the comparison that decides, if one does
    resolved: tuple[Resolved, ...] = ()  # The question after each answer to a part of it
    quotes: tuple[Quotation, ...] = ()  # The pieces of the evidence that are shown, in order
    short: str | None = None  # The shortest span that answers, "yes" or "no"; None of a quotation
    attended: tuple[Quotation, ...] = ()  # The units that the last hop attended to most, best first
    relevance: Mapping[int, float] = {}  # Highest logit of a unit of each slot that was read, by id
    # Shown before the quotations, in which it does not stand, if they are promised to answer: a
    # number, or what was computed from them
    added: str = ""
    # Who says what is quoted, or the day that it means: shown in any case, before the quotations
    told: str = ""

    @property
    def probability(self) -> float:
        """How likely it is right, 0..1: its confidence, 0 where it abstains.

        Without one, what its model gives the best candidate times the attention to its passage.
        """
        if self.abstained or not self.candidates:
            return 0.0
        if self.confidence is not None:
            return self.confidence
        attention = self.support[0].attention if self.support else 1.0
        return min(1.0, max(0.0, self.candidates[0].score)) * attention

    @property
    def shown(self) -> str:
        """What a person reads; "" without candidates."""
        text = self.told + "\n".join(quotation.text for quotation in self.quotes)
        if self.promised:
            text = f"{self.added}{text}"
        if not self.candidates:
            return ""
        if self.kind in ("yes", "no") and self.promised:
            word = self.candidates[0].text.capitalize()
            said = normalise(text).split(maxsplit=1)[:1] == [self.candidates[0].text]
            return text if said else f"{word}: {text}" if text else word
        return text or self.candidates[0].text


def predict_spans(
    question: str,
    passages: Sequence[RankedSlot],
    reading: Reading,
    resolved: Sequence[Resolved] = (),
    further: Reading | None = None,
    compared: Compared | None = None,
    rules: bool = True,
    beside: Beside | None = None,
    judge: Reader | None = None,
) -> Prediction:
    """Answers from what was read of ``passages``, best first.

    Each span counts as much as the hops attended to its passage. What is read ``further`` after
    parts of the question were ``resolved`` competes with what is read right away, by the
    probability of its parts; so does the outcome of a comparison. With ``rules`` of English what
    the passages deny is left out. A list that goes on ``beside`` its passage is shown as a whole.
    ``judge`` is the network for verdicts, which is asked of the likeliest values whether the text
    that each stands in gives it.

    Source: Clark and Gardner 2018 (several passages under one softmax); weighting what is read by
    attention is the read of Miller et al. 2016, equation 3, with spans for values.
    """
    last = resolved[-1] if resolved else None
    others = () if last is None else last.passages
    named = named_units(question, passages)
    read = weigh_rivals(question, reading.spans, [item.passage for item in passages])
    found = list(_attended(question, read, passages, 1 - last.probability if last else 1.0, named))
    if last is not None and further is not None:
        found += [span_candidate(span, others, last.probability) for span in further.spans]
    attested = 1.0
    if rules:
        found, attested = drop_denied(question, found, (*passages, *others))
    weight = 1.0 if asks_whether(question) else _UNLIKELY
    if weight == 1.0 or not reading.kinds:
        for word, probability in (("yes", reading.yes), ("no", reading.no)):
            found.append(Candidate(text=word, score=weight * probability))
    candidates = _merged(question, found, last.name if last else "")
    value = max(reading.kinds, key=reading.kinds.__getitem__, default="") == "value"
    stated: dict[str, float] = {}
    if judge is not None and value and last is None and compared is None:
        candidates, stated = _judged(question, candidates, passages, judge)
    if compared is not None:
        candidates = _with_outcome(candidates, _outcome(compared))
    best = tuple(candidates[:_MAX_CANDIDATES])
    attended = attend_units(reading, passages, named)
    kind = _kind(best, reading, bool(resolved) or compared is not None, attended, passages)
    most = most_attended(attended, passages, _MAX_UNITS)
    short = best[:1]
    if kind in QUOTED_KINDS:
        best = quote_candidates(kind, attended, passages)
    support = _support(question, best, compared, passages, others)
    quotes = _quotes(kind, best, attended, passages, others)
    if kind in ("list", "steps") and beside is not None:
        quotes = with_rest(quotes, beside)
        support = tuple(
            {one.slot.id: one for one in (*support, *(q.item for q in quotes))}.values()
        )
    if kind in QUOTED_KINDS:
        short = tuple(one for one in candidates if _stands_in(one, quotes))[:1]
    if kind in ("steps", "list") and sum(len(units(one.text)) for one in quotes) > 1:
        short = ()  # all of them answer
    if last is not None and further is not None and support[:1] and support[0] in others:
        # It answers the last part, whose words and passages are its own.
        signals = signals_of(last.question, further, best, others, passages, support)
    else:
        signals = signals_of(question, reading, best, passages, others, support)
    quoted = sum(one.weight for one in quotes)
    shown = kind_shown(kind, quotes)
    if kind not in ("yes", "no") and last is None and compared is None:
        quotes = with_close_unit(question, kind, quotes, most)
    return Prediction(
        candidates=best,
        support=support,
        kind=shown,
        signals=signals._replace(
            quoted=quoted,
            stated=stated.get(best[0].text) if best and kind == "value" else None,
            # What a quotation denies is said by it: only a span is wrong for it.
            attested=0.0 if named and named.missing else attested if kind == "value" else 1.0,
        ),
        outcome=best[0].score if compared is not None and _agrees(best[0], compared) else None,
        resolved=tuple(resolved),
        quotes=quotes,
        short=_short(question, short[0], quotes) if short else None,
        attended=most,
        relevance=relevance_of(attended, passages),
    )


def _stands_in(candidate: Candidate, quotes: Sequence[Quotation]) -> bool:
    """Whether a short answer is a part of what is shown, and likely enough to be shown alone."""
    return candidate.score >= _MIN_SHORT and _place_in(candidate, quotes) is not None


def _place_in(candidate: Candidate, quotes: Sequence[Quotation]) -> tuple[str, int, int] | None:
    """The text of the quotation that a candidate stands in, and its span there; None outside."""
    if candidate.start is None or candidate.end is None:
        return None
    for one in quotes:
        first = one.item.slot.start + one.start
        start, end = candidate.start - first, candidate.end - first
        if one.item.slot.id == candidate.evidence and start >= 0 and end <= one.end - one.start:
            return one.text, start, end
    return None


def _short(question: str, candidate: Candidate, quotes: Sequence[Quotation]) -> str:
    """A short answer, with the rest of its enumeration where several are asked for."""
    place = _place_in(candidate, quotes)
    if place is None:
        return candidate.text
    first, last = whole_enumeration(question, *place)
    return place[0][first:last]


def _kind(
    candidates: Sequence[Candidate],
    reading: Reading,
    in_parts: bool,
    attended: Sequence[ReadUnit],
    passages: Sequence[RankedSlot],
) -> AnswerKind:
    """The kind of the best answer; what was read in parts, or compared, is a value.

    Most training sets don't tell a list from other quotations, so the network sometimes takes
    sentences for one: a list needs an item, a row or a line.
    """
    best = candidates[0] if candidates else None
    if best is not None and best.evidence is None and best.text in ("yes", "no"):
        return "yes" if best.text == "yes" else "no"
    steps = attended and reading.kinds.get("steps", 0.0) > _ASKS_FOR_STEPS
    if steps and (best is None or may_be_steps(attended, passages)):
        return "steps"
    if best is None:
        return "none"
    if in_parts or not reading.kinds:
        return "value"
    kinds = sorted(reading.kinds, key=lambda kind: -reading.kinds[kind])
    if kinds[0] == "list" and not may_be_list(attended):
        kinds = kinds[1:]
    return cast("AnswerKind", kinds[0])


def _quotes(
    kind: AnswerKind,
    candidates: Sequence[Candidate],
    attended: Sequence[ReadUnit],
    passages: Sequence[RankedSlot],
    others: Sequence[RankedSlot],
) -> tuple[Quotation, ...]:
    """What is shown: the units that hold a short answer, or else those attended to most."""
    if not candidates:
        return ()
    best = candidates[0]
    if kind in QUOTED_KINDS or best.start is None or best.end is None:
        return quote(kind, attended, passages)
    for index, item in enumerate((*passages, *others)):
        if item.slot.id == best.evidence:
            own = [one for one in attended if one.passage == index]
            start, end = best.start - item.slot.start, best.end - item.slot.start
            return quote_around(item, start, end, own)
    return ()


def _attended(
    question: str,
    spans: Sequence[Span],
    passages: Sequence[RankedSlot],
    weight: float,
    named: NamedUnits | None,
) -> Iterator[Candidate]:
    """Spans weighted by the attention to their passages over the most attended."""
    highest = max((item.attention for item in passages), default=0.0) or 1.0
    for span in spans:
        item = passages[span.passage]
        own = weight * item.attention / highest
        other = named is not None and not named.hold(span.passage, span.start, span.end)
        found = span_candidate(span, passages, own)
        if other or item.leads_elsewhere(span.start) or is_other_quantity(question, found.text):
            found = found.model_copy(update={"score": _UNLIKELY * found.score})
        yield found


def asks_whether(question: str) -> bool:
    """Whether yes or no may answer: "Did Ann sail?", "Ann and Bo, are they poets?".

    Of 257 questions about documents that the reader had not seen, 17 of those that ask for
    something else were answered with yes or no without it. "Was ist" and the like are of another
    language, for which the reader gives no verdict.
    """
    return _ASKS_WHETHER.match(question) is not None and not is_foreign(question)


def _merged(question: str, found: Iterable[Candidate], resolved: str) -> list[Candidate]:
    """Distinct answers, best first: the scores of those with equal normalised texts are added.

    The name that a part of the question was ``resolved`` to is not what is asked for, nor are words
    of the question, unless it gives a choice: those of 3 of 700 training questions were.
    """
    asked = "" if _GIVES_A_CHOICE.search(question) else f" {normalise(question)} "
    best: dict[str, Candidate] = {}
    total: dict[str, float] = defaultdict(float)
    resolved = normalise(resolved)
    for candidate in found:
        text = normalise(candidate.text) or candidate.text
        if text not in best or candidate.score > best[text].score:
            best[text] = candidate
        unlikely = names_match(text, resolved) or f" {text} " in asked
        total[text] += candidate.score * (_UNLIKELY if unlikely else 1)
    summed = [one.model_copy(update={"score": total[text]}) for text, one in best.items()]
    return sorted(summed, key=lambda candidate: -candidate.score)


def _judged(
    question: str, candidates: list[Candidate], passages: Sequence[RankedSlot], judge: Reader
) -> tuple[list[Candidate], dict[str, float]]:
    """Candidates, the likeliest of which count by the odds that their text gives them, too.

    The sum of their scores stays. Also the probabilities of those that were judged. Of 351
    questions for a value that files hold, from which nothing was learned, 254 have a right first
    candidate, without it 246.

    Source: Hu et al. 2019, "Read + Verify" (a verifier of the answers that a reader extracts).
    """
    items = {item.slot.id: item for item in passages}
    likely = [
        (one, items[one.evidence], one.start, one.end)
        for one in candidates[:_MOST_JUDGED]
        if one.score >= _LEAST_JUDGED * candidates[0].score
        and one.evidence in items
        and one.start is not None
        and one.end is not None
    ]
    if len(likely) < 2:
        return candidates, {}
    weighed: list[Candidate] = []
    stated: dict[str, float] = {}
    readings = []
    for one, item, start, end in likely:
        quoted = quote_around(item, start - item.slot.start, end - item.slot.start)
        said = Passage(item.slot.title, "\n".join(piece.text for piece in quoted))
        readings.append(in_background(judge.read, answered_by(question, one.text), [said]))
    for (one, *_), reading in zip(likely, readings, strict=True):
        stated[one.text] = reading.result().answerable
        odds = math.exp(log_odds(stated[one.text]))
        weighed.append(one.model_copy(update={"score": one.score * odds}))
    total = sum(one.score for one in weighed)
    share = sum(one.score for one, *_ in likely) / total if total else 1.0
    weighed = [one.model_copy(update={"score": one.score * share}) for one in weighed]
    own = {id(one) for one, *_ in likely}
    rest = [one for one in candidates if id(one) not in own]
    return sorted([*weighed, *rest], key=lambda candidate: -candidate.score), stated


def _with_outcome(candidates: Sequence[Candidate], outcome: Candidate) -> list[Candidate]:
    """Candidates with the outcome of a comparison among them, best first.

    Where reader and comparison agree, the answer is right if either is: 1 - (1 - p)(1 - q).
    """
    text = normalise(outcome.text)
    others = [one for one in candidates if normalise(one.text) != text]
    wrong = 1 - outcome.score
    for one in candidates:
        if normalise(one.text) == text:
            wrong *= 1 - min(1.0, one.score)
    both = outcome.model_copy(update={"score": 1 - wrong})
    return sorted([both, *others], key=lambda candidate: -candidate.score)


def _outcome(compared: Compared) -> Candidate:
    """The title of the passage, as a span of its text where that holds it; or yes or no."""
    if compared.subject is None:
        return Candidate(text=compared.answer, score=compared.probability)
    slot = compared.passages[0].slot
    start = slot.text.find(compared.answer)
    if start < 0:
        return Candidate(text=compared.answer, score=compared.probability, evidence=slot.id)
    return slot_candidate(slot, start, start + len(compared.answer), compared.probability)


def _agrees(candidate: Candidate, compared: Compared) -> bool:
    return normalise(candidate.text) == normalise(compared.answer)


def _support(
    question: str,
    candidates: Sequence[Candidate],
    compared: Compared | None,
    passages: Sequence[RankedSlot],
    others: Sequence[RankedSlot],
) -> tuple[RankedSlot, ...]:
    """The passages that the best candidate was read or judged by.

    Of yes and no by the reader they are those about what the question names, or else all.
    """
    if not candidates:
        return ()
    best = candidates[0]
    if compared is not None and _agrees(best, compared):
        return compared.passages
    own = tuple(item for item in (*passages, *others) if item.slot.id == best.evidence)[:1]
    named = own or tuple(passages[index] for index in passages_named(question, passages))
    return named or tuple(passages)


def judged(
    prediction: Prediction,
    calibration: Calibration | None,
    threshold: float,
    promise: float | None = None,
) -> Prediction:
    """A prediction with its confidence, if there is a calibration, and how it may be shown.

    It is shown at all from ``threshold`` on, and as an answer from ``promise``, None for that of
    the calibration. What has a confidence of its own, as a cell, keeps it. Without either the
    probability that the passages hold an answer is compared.
    """
    signals, confidence = prediction.signals, prediction.confidence
    if signals is None and confidence is None:
        return prediction
    if signals is not None:
        signals = signals._replace(kind=prediction.kind, length=len(prediction.short or ""))
        if calibration is not None:
            confidence = calibration.confidence(signals)
    if confidence is not None and prediction.outcome is not None:
        # A comparison has a probability of its own: what it looked up was read right.
        confidence = max(confidence, min(1.0, prediction.outcome))
    certainty = confidence
    if certainty is None:
        certainty = signals.answerable if signals is not None else 0.0
    if promise is None:
        promise = 0.0 if calibration is None else calibration.promise
    return prediction._replace(
        signals=signals,
        confidence=confidence,
        abstained=certainty < threshold,
        promised=prediction.promised and certainty >= promise,
    )


def rank_sentences(
    question: str, passages: Sequence[RankedSlot], config: AnswerConfig
) -> tuple[Candidate, ...]:
    """The sentences of some passages, best first: the answers where no reader has weights.

    A question names where to start ("the builder of the Orre Light") and asks for something else
    ("was born in which town"). So a sentence is worth the score of its passage, plus the share it
    holds of the question's words other than names, plus something for bringing a number or name
    that the question does not hold, plus something if a later hop found its passage. Of equals the
    first in rank and text comes first.
    """
    asked = f" {normalise(question)} "
    titles = {name for item in passages for name in item.names if f" {name} " in asked}
    wanted = stems(without_names(question, maximal_names(titles)))
    found: list[Candidate] = []
    for item in passages:
        slot = item.slot
        value = item.score + config.later_hop_weight * (item.hop > 1)
        for start, end in item.sentence_spans:
            sentence = slot.text[start:end]
            share = len(wanted & stems(sentence)) / max(1, len(wanted))
            news = _brings_news(sentence, asked, item.names)
            score = value + config.shared_words_weight * share + config.news_weight * news
            found.append(slot_candidate(slot, start, end, score))
    return tuple(sorted(found, key=lambda candidate: -candidate.score))


def _brings_news(sentence: str, asked: str, about: Sequence[str]) -> bool:
    """Whether a sentence holds a number, or a name, of the kind and beyond what is asked."""
    if _ASKS_FOR_A_NUMBER.search(asked):
        return bool(_NUMBER.search(sentence))
    return any(f" {name} " not in asked and name not in about for name in mentions(sentence))
