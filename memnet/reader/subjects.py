"""Sentences about something else than is asked about: the van's number plate, not the trailer's."""

import re
from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.passages import RankedSlot
from memnet.reader.sequences import is_heading
from memnet.text.english import NOT_NAMES, query_terms, units
from memnet.text.names import normalise
from memnet.text.relative import times_in

_LETTERS = 4  # Words are compared by their first letters: "play" and "plays"
_OWN = r"(?:the|my|our|your|his|her|their)"
_PHRASE = r"(?P<phrase>[\w’'-]{1,30}(?: [\w’'-]{1,30}){0,2})"
# "was the shed", "who painted the shed", "of the shed" at the end
_ASKED_ABOUT = (
    re.compile(
        r"(?:\b(?:is|are|was|were|do|does|did|has|have|had|can|will|must|may|should)|['’]s) "
        rf"{_OWN} {_PHRASE}",
        re.IGNORECASE,
    ),
    re.compile(rf"^(?:who|what|which \w+) \w+ {_OWN} {_PHRASE}\W{{0,9}}$", re.IGNORECASE),
    re.compile(rf"\bof (?:{_OWN} )?{_PHRASE}\W{{0,9}}$", re.IGNORECASE),
)
_NAME = re.compile(r"(?<=[\w,] )[A-Z][\w-]*(?: [A-Z][\w-]*)*")
_PRONOUN = re.compile(r"(?:it|its|he|his|she|her|they|their)\b", re.IGNORECASE)
# "Her" in the middle mostly takes up the sentence's own subject.
_TAKES_UP = re.compile(r"\b(?:it|him|them|this|these|those|such)\b", re.IGNORECASE)
_SUBJECT = re.compile(
    rf"(?:[-*•] )?(?P<article>(?:{_OWN}|an?|this|that|its) )?"
    r"(?P<words>\w[\w’'-]{0,30}(?: \w[\w’'-]{0,30}){0,3}?)"
    r" (?:is|are|was|were|has|have|had|can|could|will|would|should|may|might|must|do|does|did"
    r"|of|for|in|at|on|from|to|by|with|who|which|that|and|\w{1,30}s|\w{1,30}ed)\b",
    re.IGNORECASE,
)
_MAIL = re.compile(
    r"\W{0,9}what(?:['’]s| is) (?:(?!of )\S{1,30} ){1,4}e-?mail address(?: of\b|\W{0,9}$)",
    re.IGNORECASE,
)
_AT_A_TIME = re.compile(r"\d|\b(?:after|before|during|while|when|as|until|since|once|at|by)\b")
_HOW = re.compile(r"\bhow \w+", re.IGNORECASE)
_COUNTED = re.compile(
    r"\W{0,9}how many (?!people|persons)(?P<thing>\w[\w’'-]{0,30}) "
    r"(?:do|does|did|is|are|was|were|has|have|had|can|will|must|should)\b",
    re.IGNORECASE,
)
# A number and what there are so many of: "seven lanterns", "40 m of cable"
_NUMBERED = re.compile(r"\w[\w.,]{0,15} (?:\w{1,3} of )?(?P<thing>[^\W\d][\w-]{2,30})\b")
_ASKS_FOR_A_DAY = re.compile(r"\W{0,9}when (?:was|were|did)\b", re.IGNORECASE)
# Cosine of vectors: 25 of 34 pairs of nouns with about the same meaning have more, 31 of 38 pairs
# of others less.
_ALIKE = 0.55

Encode = Callable[[Sequence[str]], NDArray[np.float32]]


def without_others(
    question: str, prediction: Prediction, passages: Sequence[RankedSlot], encode: Encode
) -> Prediction:
    """A prediction without confidence where its value is said of something else than asked about.

    What is asked about, a name or "the trailer", then stands neither in what is shown, nor in what
    that takes up with a pronoun, nor above it, and the sentence of the value has another subject.
    The passages say something of what is asked about, or the sentence half of what else is asked.
    Nor has a value confidence that is no e-mail address or no time where one is asked for.

    Args:
        question: that was asked.
        prediction: of it.
        passages: that were read.
        encode: [N, D] vectors of N texts.
    """
    signals = prediction.signals
    if signals is None or not _is_of_another(question, prediction, passages, encode):
        return prediction
    return prediction._replace(signals=signals._replace(attested=0.0))


def _is_of_another(
    question: str, prediction: Prediction, passages: Sequence[RankedSlot], encode: Encode
) -> bool:
    shown = " ".join(one.text for one in prediction.quotes)
    if _MAIL.match(question) and "@" not in shown:
        return True
    if prediction.kind in ("value", "definition") and _ASKS_FOR_A_DAY.match(question):
        given = prediction.short or shown
        if not (_AT_A_TIME.search(given) or times_in(given, date.today())):
            return True
    if prediction.kind != "value" or not prediction.quotes or asks_whether(question):
        return False
    if _counts_another(question, prediction, encode):
        return True
    sentence, context = _sentence_and_context(prediction)
    found = _SUBJECT.match(sentence)
    if found is None or _stems(found["words"]) & _stems(prediction.short or ""):
        return False
    text = " ".join(f"{item.slot.title}\n{item.slot.text}" for item in passages)
    asked, said = _stems(_HOW.sub("", question)), _stems(f"{shown} {context}")
    subject = found["words"].split()

    def differs(phrase: Sequence[str], own: Sequence[str], known: bool) -> bool:
        """Whether a phrase of the question and a subject have nothing to do with each other."""
        rest = asked - _stems(" ".join(phrase))
        apart = not _stems(" ".join(own)) & asked
        return bool(phrase) and apart and (known or 2 * len(rest & said) >= len(rest) > 0)

    if all(word[0].isupper() for word in subject) and normalise(subject[0]) not in NOT_NAMES:
        if len(subject) == 1 and (
            subject[0].endswith("ed") or re.search(rf"\b{subject[0].lower()}\b", text)
        ):
            return False  # "New programs"
        names = [one for one in _NAME.findall(question) if normalise(one) not in NOT_NAMES]
        last = [one.split()[-1] for one in names]
        absent = all(one in text and not _stems(one) & said for one in last)
        return bool(names) and absent and differs(names, subject, False)
    if not found["article"]:
        return False
    read = f" {normalise(text)} "
    for match in filter(None, (one.search(question) for one in _ASKED_ABOUT)):
        words, own = normalise(match["phrase"]).split(), normalise(found["words"]).split()
        if own[-1] in words[1:] and len(own) > 1:  # "hat size", "shoe size"
            phrase, own, known = words[: words.index(own[-1])], own[:-1], False
        else:
            count = next((n for n in (3, 2, 1) if f" {' '.join(words[:n])} " in read), 0)
            phrase, known = words[:count], count > 0
            if not known:
                whole = not question[match.end() :].strip(" ?.!")
                phrase = words if whole else words[:1]
                while phrase and _stems(phrase[-1]) <= said and f" the {phrase[-1]} " not in read:
                    phrase = phrase[:-1]  # a verb
        missing = not _stems(" ".join(phrase)) & said and "of" not in phrase
        if missing and match["phrase"][0].islower() and differs(phrase, own, known):
            return differ(encode, " ".join(phrase), " ".join(own))
    return False


def _counts_another(question: str, prediction: Prediction, encode: Encode) -> bool:
    """Whether a number is that of another thing: asked for the forks, it has 30 chairs."""
    asked, best, quote = _COUNTED.match(question), prediction.candidates[0], prediction.quotes[0]
    start = (best.start or 0) - quote.item.slot.start
    given = _NUMBERED.match(quote.item.slot.text, start) if best.start is not None else None
    if asked is None or given is None or best.evidence != quote.item.slot.id:
        return False
    thing, rest = _stems(asked["thing"]), _stems(question[asked.end() :])
    said = _stems(quote.text)
    return not thing & said and rest <= said and differ(encode, asked["thing"], given["thing"])


def differ(encode: Encode, one: str, other: str) -> bool:
    """Whether two phrases mean different things."""
    first, second = encode([one, other])
    return bool(first @ second < _ALIKE * np.linalg.norm(first) * np.linalg.norm(second))


def _stems(text: str) -> frozenset[str]:
    return frozenset(word.removesuffix("s")[:_LETTERS] for word in query_terms(normalise(text)))


def _sentence_and_context(prediction: Prediction) -> tuple[str, str]:
    """The sentence that names the subject of a short answer, and what that and its own go on from.

    Where the answer's own one starts with a pronoun, it is the last before that does not.
    """
    best, item = prediction.candidates[0], prediction.quotes[0].item
    text, start = item.slot.text, (best.start or 0) - item.slot.start
    before = [one for one in units(text) if one.start <= start]
    if best.start is None or best.evidence != item.slot.id or not before:
        return "", ""
    headings = [text[one.start : one.end] for one in before[:-1] if is_heading(text, one)]
    said = [text[one.start : one.end] for one in before]
    context = [item.slot.title, *(copy.title for copy in item.copies), *headings[-1:], said[-1]]
    context += said[-2:-1] if _PRONOUN.match(said[-1]) or _TAKES_UP.search(said[-1]) else []
    while len(said) > 1 and _PRONOUN.match(said[-1]):
        said.pop()
    return said[-1], " ".join([*context, said[-1]])
