"""What is quoted, read again by itself: is it about what is asked, does it say yes or no."""

import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.contrasts import differ, says_of_another
from memnet.reader.quotes import Quotation
from memnet.reader.sequences import is_heading
from memnet.reader.spans import Passage, Reader
from memnet.reader.values import is_other_quantity
from memnet.storage.values import Encode
from memnet.text.english import LABELLED, units
from memnet.text.relative import times_in
from memnet.text.restated import differences, names_other_times, restates
from memnet.types import AnswerKind, Candidate

# Probability of a verdict, by the quotation alone, from which it is given where the quotation says
# the same with more or other words, and where it neither says nor denies it. "No" then needs a word
# that denies on one side alone, and all words of the question; "yes" that there is none, nor
# another number, time or opposite. Chosen on pairs of a text and a question (part "train" of
# ``benchmarks.verdicts``, and ``benchmarks.reliability``).
_LIKELY = 0.2
_SURE = 0.75
_RESTATED = 0.9  # Of a verdict in the question's own words, if the network gives it less
_DENIES = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|except|unless|hardly|"
    r"forbidden|prohibited|banned|lacks?|excluding|refused?|instead|stopped|ceased|former|"
    r"formerly|used to|until|closed|cancelled)\b|n['’]t\b",
    re.IGNORECASE,
)
# Share of confidence of what leaves yes or no open and says something else than is asked for; and
# the cosine of two words from which what is said of one may be so of the other
_ELSEWHERE, _ALIKE = 0.5, 0.45
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
    heading = before.rstrip().rpartition("\n")[2].strip()
    title = f"{first.title} > {heading}" if heading.endswith("?") else first.title
    reading = reader.read(question, [Passage(title, quoted)])
    prediction = _with_signals(prediction, support=reading.answerable)
    if prediction.kind not in ("yes", "no") and not asks_whether(question):
        return prediction
    restated = restates(question, quoted, first.title, before)
    word: AnswerKind = "yes" if reading.yes > reading.no else "no"
    probability = max(reading.yes, reading.no)
    if restated is not None and restated.sure:
        word, probability = "yes" if restated.yes else "no", max(probability, _RESTATED)
        given = True
    elif restated is not None:
        given = restated.yes == (word == "yes") and probability >= _LIKELY
    else:
        context = f"{first.title} {heading}"
        given = probability >= _SURE and _has_ground(word, question, quoted, context, encode)
    if given and (quotes := _deciding(question, word, prediction.quotes)):
        prediction = prediction._replace(quotes=quotes)
        verdict = Candidate(text=word, score=probability)
        prediction = _with_signals(prediction, answer=probability)
        return _with_kind(prediction, word, [verdict, *prediction.candidates], word)
    if prediction.kind in ("yes", "no"):
        quoted_whole = _quoted(prediction.quotes)
        prediction = _with_signals(prediction, answer=quoted_whole.score)
        prediction = _with_kind(prediction, "statement", [quoted_whole], None)
    about = _is_about(question, quoted, first.title, encode)
    attested = signals.attested * (1.0 if about else _ELSEWHERE)
    prediction = _with_signals(prediction, left_open=True, attested=attested)
    return prediction._replace(promised=False)


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


def _is_about(question: str, quoted: str, title: str, encode: Encode) -> bool:
    """Whether a text says of what a question names, or of something alike, what is asked for."""
    missing, instead, *_ = differences(question, quoted, title)[0]
    names = {one.casefold()[:4] for one in re.findall(r"(?<!^)\b[A-Z0-9]\w*", question)}
    if missing and (not instead or any(one[:4] in names for one in missing)):
        return False
    return not missing or not differ(encode, [*missing], [*instead], _ALIKE)


def _has_ground(word: AnswerKind, question: str, quoted: str, context: str, encode: Encode) -> bool:
    """Whether denials, numbers, days and opposites of question and quotation agree with a word."""
    found = differences(question, quoted, context)
    nearest = found[0]
    said = nearest.clause if word == "no" else quoted  # what denies has to be about what is asked
    one_denies = bool(_DENIES.search(question)) != bool(_DENIES.search(said))
    if word == "no":
        return one_denies and not nearest.missing
    missing, instead = (" ".join(sorted(one)) for one in (nearest.missing, nearest.instead))
    others = set(_NUMBER.findall(question)) - set(_NUMBER.findall(quoted))
    return not (
        one_denies
        or others
        or "than" in quoted.split()
        or quoted.rstrip().endswith("?")
        or bool(_OTHER_TIME.search(question)) != bool(_OTHER_TIME.search(quoted))
        or names_other_times(question, quoted)
        or any(one.opposed for one in found)
        # "Food may be eaten here" does not say who may sleep here.
        or (nearest.modal and missing and instead and differ(encode, [missing], [instead]))
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


def _quoted(quotes: Sequence[Quotation]) -> Candidate:
    """What is quoted as a candidate."""
    first = quotes[0]
    start = first.item.slot.start
    return Candidate(
        text="\n".join(one.text for one in quotes),
        score=first.weight,
        evidence=first.item.slot.id,
        start=start + first.start if len(quotes) == 1 else None,
        end=start + first.end if len(quotes) == 1 else None,
    )


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
