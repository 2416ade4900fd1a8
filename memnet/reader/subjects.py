"""Sentences about something else than is asked about: the van's number plate, not the trailer's."""

import re
from datetime import date

from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.contrasts import says_of_another
from memnet.reader.sequences import is_heading
from memnet.reader.values import is_other_quantity
from memnet.storage.values import Encode
from memnet.text.english import LABELLED, units
from memnet.text.relative import times_in

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
