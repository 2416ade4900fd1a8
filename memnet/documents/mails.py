"""Mails: what the sender of each wrote, when, and the thread that it is part of."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

from memnet.documents.question import Question
from memnet.reader.answers import Prediction
from memnet.reader.passages import RankedSlot
from memnet.reader.quotes import Quotation
from memnet.storage import Slot
from memnet.text.names import normalise

_MAX_OF_THREAD = 500  # Passages
# The line with who sent a mail, to whom and when, which its loader puts before the text.
_HEAD = re.compile(r"(?:From|To|Date): [^\n]*\n?")


def is_mail(slot: Slot) -> bool:
    """Whether a slot is a passage of a mail that its sender's program has given an id."""
    return mail_id(slot, "message_id") is not None


def sender_of(slot: Slot) -> str:
    """The name of who sent a mail, or the part of the address before the "@"; empty if unknown."""
    name, _, address = str(slot.metadata.get("from", "")).partition(" <")
    return name if address else name.partition("@")[0]


def said_in_mail(slot: Slot) -> range:
    """The characters of a passage that the sender wrote: neither the head nor what is quoted.

    Of several such parts, as around quotations, it is the longest one.
    """
    head = _HEAD.match(slot.text) if slot.start == 0 else None
    first = head.end() if head is not None else 0
    starts = [*(slot.places or [(0, "")]), (len(slot.text), "")]
    parts = [
        _stripped(slot.text, max(first, one[0]), other[0])
        for one, other in pairwise(starts)
        if not _is_quoted(one)
    ]
    return max(parts, key=len, default=range(0))


def _stripped(text: str, start: int, end: int) -> range:
    """A part of a text without white space at its ends."""
    part = text[start:end]
    first = start + len(part) - len(part.lstrip())
    return range(first, max(first, start + len(part.rstrip())))


def without_quoted(ranked: Sequence[RankedSlot]) -> list[RankedSlot]:
    """Slots without what they quote, at their end, of a mail that is among them."""
    found = {mail_id(item.slot, "message_id") for item in ranked} - {None}
    own = (
        _own_part(item) if mail_id(item.slot, "in_reply_to") in found else item for item in ranked
    )
    return [item for item in own if item is not None]


def mail_id(slot: Slot, key: str) -> str | None:
    """What the metadata of a mail have for "message_id" or "in_reply_to"; None where nothing."""
    found = slot.metadata.get(key)
    return found if isinstance(found, str) else None


def _is_quoted(place: tuple[int, str]) -> bool:
    """Whether a mail quotes what begins at a place, as its loader says."""
    return place[1].startswith("quoted")


def _in_quoted(quotation: Quotation) -> bool:
    """Whether a piece of a mail stands in what that quotes."""
    places = reversed(quotation.item.slot.places)
    return _is_quoted(next((one for one in places if one[0] <= quotation.start), (0, "")))


def answer_to_quoted(read: Prediction) -> RankedSlot | None:
    """What a mail says before what it quotes, if a prediction is by that; else None."""
    own = read.quotes[0] if read.quotes else None
    if own is None or not _in_quoted(own) or own.start < own_end(own.item.slot):
        return None
    return _own_part(own.item)


def _own_part(item: RankedSlot) -> RankedSlot | None:
    """A slot without what it quotes at its end; None where nothing else is in it."""
    slot = item.slot
    text = slot.text[: own_end(slot)].rstrip()
    if text == slot.text:
        return item
    cut = replace(slot, text=text, end=slot.start + len(text))
    return replace(item, slot=cut) if text else None


def own_end(slot: Slot) -> int:
    """Where what a mail quotes at its end begins; 0 where it only quotes."""
    end = len(slot.text)
    for place in reversed(slot.places):
        if not _is_quoted(place):
            break
        end = place[0]
    return end


def subject_of_mail(question: Question, slot: Slot) -> str:
    """The symbol of what a mail and its replies are about; empty of other slots.

    Of a reply both its whole title and that without "Re:" are keys, and others that it names.
    """
    if not is_mail(slot):
        return ""
    symbols, title = question.fetched.symbols([slot.id]), _title_of(slot)
    keys = symbols[slot.id].keys if slot.id in symbols else ()
    return min((one for one in keys if title.endswith(one)), key=len, default="")


def _title_of(slot: Slot) -> str:
    """The normalised title of a mail, without the headings in it."""
    return normalise(slot.title.partition(" > ")[0])


def passages_with_subject(question: Question, subject: str) -> list[Slot]:
    """The passages of mails with a subject, in the order in which they were sent."""
    ids = question.store.search_symbolic([subject], _MAX_OF_THREAD, question.scope)
    found = question.fetched.slots(ids.get(subject, []))
    own = (one for one in found if is_mail(one) and _title_of(one).endswith(subject))
    return sorted(own, key=lambda one: (time_of_mail(one), one.id))


def thread_of(question: Question, subject: str) -> list[Slot]:
    """The passages in which somebody wrote something of a thread; none where no mail replies.

    Mails without a subject have the title of their file: those that reply to none, and to which
    none replies, are no thread.
    """
    found = passages_with_subject(question, subject)
    answered = {mail_id(one, "in_reply_to") for one in found}
    thread = [
        one
        for number, one in enumerate(found)
        if mail_id(one, "message_id") in answered
        or mail_id(one, "in_reply_to") is not None
        or _title_of(one) != subject  # "Re:"
        or not number
    ]
    mails = {mail_id(one, "message_id") for one in thread}
    return [one for one in thread if said_in_mail(one)] if len(mails) > 1 else []


def mail_sent(slot: Slot) -> datetime | None:
    """When a mail was sent, where it was; None for other slots."""
    if not is_mail(slot):
        return None
    try:
        return datetime.fromisoformat(str(slot.metadata.get("date", "")))
    except ValueError:
        return None


def time_of_mail(slot: Slot) -> float:
    """When a mail was sent, in seconds since the epoch; 0 for other slots."""
    time = mail_sent(slot)
    if time is None:
        return 0.0
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
