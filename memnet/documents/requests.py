"""Requests that ask for what is said of a thing: "Tell me about the boiler"."""

import re
from collections.abc import Sequence

from memnet.reader.answers import Prediction
from memnet.reader.passages import RankedSlot, slot_candidate
from memnet.reader.quotes import Quotation
from memnet.reader.sequences import is_heading
from memnet.text.english import units
from memnet.text.names import stems

_REQUEST = re.compile(
    r"(?:please |can you |could you ){0,2}(?:tell (?:me|us) (?:more |something )?(?:about|of)"
    r"|show (?:me|us)?"
    r"|what do (?:you|we) know (?:about|of)|what is there (?:about|on)|summari[sz]e|describe"
    r"|what d(?:id|oes) (?P<who>\S{1,40}(?: \S{1,40})?) (?:say|write|tell (?:me|us)) (?:about|of))"
    r" (?P<thing>\S.{1,200})",
    re.IGNORECASE,
)
_LETTERS = 5
_READ = 5  # Slots that are looked at, best first
_MAX_CHARACTERS = 700


def requested(text: str, ranked: Sequence[RankedSlot], prediction: Prediction) -> Prediction:
    """What is said of the thing that a request names, where it has no answer otherwise.

    The sentences of the best passage with all content words of the name, from the first with one of
    them on, or the fact; they are a passage and no answer.
    """
    request = _REQUEST.match(" ".join(text.split()))
    if request is None:
        return prediction
    enough = prediction.promised or request["who"]
    if enough and prediction.candidates and not prediction.abstained:
        return prediction
    thing, who = (stems(request[name] or "", _LETTERS) for name in ("thing", "who"))
    for item in ranked[:_READ] if thing else ():
        slot, quote = item.slot, Quotation(item, *_place(item, thing), 1.0)
        if thing | who <= stems(f"{slot.title} {slot.source} {slot.text}", _LETTERS):
            best = slot_candidate(slot, quote.start, quote.end, item.score)
            shown = Prediction((best,), (item,), "statement", promised=False, quotes=(quote,))
            return shown._replace(signals=prediction.signals)
    return prediction


def _place(item: RankedSlot, wanted: frozenset[str]) -> tuple[int, int]:
    """Where the quotation stands: whole sentences and rows as long as they fit."""
    if item.slot.kind != "passage":
        return 0, len(item.slot.text)
    text, own = item.slot.text, units(item.slot.text)
    titled = wanted <= stems(item.slot.title.rpartition(" > ")[2], _LETTERS)
    told = (one for one in own if titled or wanted & stems(text[one.start : one.end], _LETTERS))
    start, end, _ = next(told, own[0] if own else (0, len(text), ""))
    for one in own:
        if one.start > start and (is_heading(text, one) or one.end - start > _MAX_CHARACTERS):
            break
        end = max(end, one.end)
    return start, min(end, start + _MAX_CHARACTERS)
