"""Short answers from passages, with what their confidence is judged by."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memnet.reader.confidence import Signals
from memnet.reader.decompose.bridging import Bridged, Find, bridge
from memnet.reader.decompose.comparison import Compared, compare
from memnet.reader.decompose.denial import undenied
from memnet.reader.passages import RankedSlot, indices_named, names_match
from memnet.reader.signals import signals_of
from memnet.reader.spans import Reader, Span
from memnet.text.names import normalise
from memnet.types import Candidate

_MOST_CANDIDATES = 10
_UNFIT = 0.1
"""Factor of what can hardly be the answer: yes to "who", words of the question itself, and what was
put in the place of a phrase."""
_ASKS_WHETHER = re.compile(
    r"\W{0,9}+(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b",
    re.IGNORECASE,
)
_GIVES_A_CHOICE = re.compile(r"\b(?:or|between|out of)\b", re.IGNORECASE)
_ASKS_FOR = re.compile(r"\b(?:what|which|who|whom|whose|when|where|how|why)\b", re.IGNORECASE)


class SpanAnswers(NamedTuple):
    """Answers that stand in passages, best first."""

    candidates: tuple[Candidate, ...]
    signals: Signals
    bridged: Bridged | None
    """What was asked next, where the question held a phrase to be read first."""
    judged_by: tuple[RankedSlot, ...]
    """The passages that the best answer was read or judged by, its own first."""


def read_spans(
    question: str, passages: Sequence[RankedSlot], most: int, reader: Reader, find: Find
) -> SpanAnswers:
    """Read the best passages together, and those that comparisons and bridges lead to.

    Each span counts as much as the hops attended to its passage. What is read in a passage that a
    bridge leads to counts beside what is read in all.

    Source: Clark and Gardner 2018 (several passages under one softmax); weighting what is read by
    attention is the read of Miller et al. 2016, equation 3, with spans for values.

    Args:
        question: as asked.
        passages: best first; a comparison may use any of them.
        most: of the passages are read together, at least 1.
        reader: of spans.
        find: looks for passages when a bridge leads out of the given ones.
    """
    read = passages[:most]
    reading = reader.read(question, [item.passage for item in read])
    bridged = bridge(question, passages, reader, find)
    left = 1.0 if bridged is None else 1 - bridged.probability
    further = () if bridged is None else bridged.passages
    found = [*_attended(reading.spans, read, left), *_bridged(bridged, reader)]
    found, share = undenied(question, found, (*read, *further))
    reading = reading._replace(answerable=share * reading.answerable)
    fitness = 1.0 if _asks_whether(question) else _UNFIT
    for word, probability in (("yes", reading.yes), ("no", reading.no)):
        found.append(Candidate(text=word, score=fitness * probability))
    candidates = _candidates(question, found, "" if bridged is None else bridged.name)
    compared = compare(question, passages, reader, find)
    if compared is not None:
        candidates = _with_outcome(candidates, _outcome(compared, passages))
    best = tuple(candidates[:_MOST_CANDIDATES])
    judged_by = _judged_by(question, best, compared, read, further)
    signals = signals_of(question, reading, best, read, further, judged_by)
    return SpanAnswers(best, signals, bridged, judged_by)


def _judged_by(
    question: str,
    candidates: Sequence[Candidate],
    compared: Compared | None,
    read: Sequence[RankedSlot],
    further: Sequence[RankedSlot],
) -> tuple[RankedSlot, ...]:
    """The passages that the best candidate was read or judged by.

    Of yes and no by the reader they are those about what the question names, or else all.
    """
    if not candidates:
        return ()
    best = candidates[0]
    if compared is not None and normalise(best.text) == normalise(compared.answer):
        return compared.passages
    own = tuple(item for item in (*read, *further) if item.slot.id == best.evidence)[:1]
    return own or tuple(read[place] for place in indices_named(question, read)) or tuple(read)


def _attended(
    spans: Iterable[Span], passages: Sequence[RankedSlot], weight: float
) -> Iterator[Candidate]:
    """Spans as candidates, weighted by the attention to their passages over the most attended."""
    most = max((item.attention for item in passages), default=0.0) or 1.0
    for span in spans:
        yield _placed(span, passages, weight * passages[span.passage].attention / most)


def _placed(span: Span, passages: Sequence[RankedSlot], weight: float) -> Candidate:
    """A span as a candidate, with its place in its source."""
    slot = passages[span.passage].slot
    return Candidate(
        text=slot.text[span.start : span.end], score=weight * span.probability,
        evidence=slot.id, start=slot.start + span.start, end=slot.start + span.end,
    )  # fmt: skip


def _bridged(found: Bridged | None, reader: Reader) -> Iterator[Candidate]:
    """What a question with its phrases replaced finds where they lead."""
    if found is not None:
        reading = reader.read(found.question, [item.passage for item in found.passages])
        for span in reading.spans:
            yield _placed(span, found.passages, found.probability)


def _asks_whether(question: str) -> bool:
    """Whether yes or no may answer: "Did Ann sail?", "Ann and Bo, are they poets?".

    On 1,243 training questions this made five answers right and none wrong.
    """
    return _ASKS_WHETHER.match(question) is not None or not _ASKS_FOR.search(question)


def _candidates(question: str, found: Iterable[Candidate], bridge: str) -> list[Candidate]:
    """Distinct answers, best first: those that say the same count together.

    What was put in the place of a phrase, ``bridge``, is not what is asked for, nor are words of
    the question, unless it gives a choice: those of 3 of 700 training questions were.
    """
    asked = "" if _GIVES_A_CHOICE.search(question) else f" {normalise(question)} "
    best: dict[str, Candidate] = {}
    total: dict[str, float] = defaultdict(float)
    bridge = normalise(bridge)
    for candidate in found:
        said = normalise(candidate.text) or candidate.text
        if said not in best or candidate.score > best[said].score:
            best[said] = candidate
        unfit = names_match(said, bridge) or f" {said} " in asked
        total[said] += candidate.score * (_UNFIT if unfit else 1)
    summed = [one.model_copy(update={"score": total[said]}) for said, one in best.items()]
    return sorted(summed, key=lambda candidate: -candidate.score)


def _with_outcome(candidates: Sequence[Candidate], outcome: Candidate) -> list[Candidate]:
    """Candidates with the outcome of a comparison among them, best first.

    Who says the same as the reader is right if either is: 1 - (1 - p)(1 - q).
    """
    said = normalise(outcome.text)
    others = [one for one in candidates if normalise(one.text) != said]
    wrong = 1 - outcome.score
    for one in candidates:
        if normalise(one.text) == said:
            wrong *= 1 - min(1.0, one.score)
    both = outcome.model_copy(update={"score": 1 - wrong})
    return sorted([both, *others], key=lambda candidate: -candidate.score)


def _outcome(compared: Compared, passages: Sequence[RankedSlot]) -> Candidate:
    """The title of the passage, as a span of its text where that holds it; or yes or no."""
    if compared.place is None:
        return Candidate(text=compared.answer, score=compared.probability)
    slot = passages[compared.place].slot
    place = slot.text.find(compared.answer)
    if place < 0:
        return Candidate(text=compared.answer, score=compared.probability, evidence=slot.id)
    start = slot.start + place
    return Candidate(
        text=compared.answer, score=compared.probability, evidence=slot.id,
        start=start, end=start + len(compared.answer),
    )  # fmt: skip
