"""Checks of what comes from outside, and of answers that go there."""

import reprlib
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from typing import Any

from pydantic import Field, ValidationError

from memnet.config import Config, LimitConfig
from memnet.errors import InputError, ModelError
from memnet.storage import Scope
from memnet.text.dates import one_day, start_of
from memnet.text.relative import days_named
from memnet.types import Message

_CENTURY = 100 * 365.25 * 86_400


# Of a list in a pydantic model: only its first error is looked for. A request of a million wrong
# items would else be answered after minutes, out of gigabytes of errors.
FIRST_ERROR: Any = Field(fail_fast=True)


def check_text(text: str, what: str, max_characters: int) -> None:
    """InputError where a value from outside is not a string, too long or not valid Unicode."""
    check_type(text, what)
    if len(text) > max_characters:
        raise InputError(
            f"{what} has {len(text):,} characters, the limit is {max_characters:,}; cut it"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} holds a broken character at offset {error.start}; give it as UTF-8"
        ) from error


def check_moment(value: object, what: str, *, last: bool = False) -> float | None:
    """A time from outside, in seconds since the epoch; None for None.

    ISO 8601 text, a datetime, a date, or days as ``days_named`` reads them. Without a time of day
    it is the start of the day or period, or with ``last`` its end, or now where that is within;
    without a zone the local time of this machine. InputError where it is none, before 1970, or more
    than a century ahead.
    """
    if value is None:
        return None
    seconds, now = None, time.time()
    with suppress(ValueError, OverflowError, OSError):
        days = days_named(value.strip(), date.today()) if isinstance(value, str) else None
        if isinstance(value, date) and not isinstance(value, datetime):
            days = one_day(value)
        if days is not None:
            begin, after = start_of(days.first), start_of(days.last + timedelta(days=1))
            # The last second: what is told at the start of the next day was not known.
            seconds = begin if not last else now if begin <= now < after else after - 1
        else:
            moment = datetime.fromisoformat(value.strip()) if isinstance(value, str) else value
            seconds = moment.timestamp() if isinstance(moment, datetime) else None
    if seconds is None or not 0 <= seconds <= latest_moment():
        raise InputError(
            f"{what} is {reprlib.repr(value)}; expected a date or time in ISO 8601 such as "
            "2026-01-12 or 2026-01-12T10:30+01:00, or days such as 'March 2024', 2024 or "
            "yesterday, from 1970 on and at most a century ahead"
        )
    return seconds


def latest_moment() -> float:
    """The latest time that is taken from outside, in seconds since the epoch: a century ahead."""
    return max(0.0, time.time()) + _CENTURY


def check_type(text: object, what: str) -> None:
    """InputError where a value is not a string."""
    if not isinstance(text, str):
        raise InputError(f"{what} is of type {type(text).__name__}, expected text (str)")


def check_namespace(namespace: str | None, limits: LimitConfig) -> None:
    """InputError where the name of a namespace is not text, or too long; None stands for all."""
    if namespace is not None:
        check_text(namespace, "the namespace", limits.name)


def check_messages(messages: Iterable[Message | Mapping[str, Any]]) -> list[Message]:
    """The messages of ``Engine.remember`` as values; InputError where one is not whole."""
    if isinstance(messages, Message | Mapping | str | bytes) or not isinstance(messages, Iterable):
        raise InputError(
            f"the messages are of type {type(messages).__name__}; expected a list of them"
        )
    return [_message(number, message) for number, message in enumerate(messages, 1)]


def _message(number: int, message: object) -> Message:
    if isinstance(message, Message):
        return message
    if not isinstance(message, Mapping):
        raise InputError(
            f"message {number} is of type {type(message).__name__}; expected a Message or a mapping"
        )
    try:
        return Message.model_validate(dict(message))
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"message {number} has no usable {'.'.join(map(str, first['loc']))!r} "
            f"({first['msg']}); expected id, session, speaker, time and text"
        ) from error


def check_question(
    question: str,
    hops: int | None,
    top_k: int | None,
    namespace: str | None,
    where: Mapping[str, Any] | None,
    config: Config,
    as_of: object,
) -> tuple[int, Scope]:
    """The evidence to return and where to look for ``Engine.ask``; InputError if not usable."""
    limits = config.limit
    check_text(question, "the question", limits.question)
    if not question.strip():
        raise InputError("the question is empty; ask something in plain words")
    check_namespace(namespace, limits)
    top_k = config.hop.evidence if top_k is None else top_k
    for name, value, most in (("top_k", top_k, limits.evidence), ("hops", hops, limits.hops)):
        if value is not None and not (isinstance(value, int) and 1 <= value <= most):
            raise InputError(f"{name} is {value!r}; it must be a whole number from 1 to {most:,}")
    return top_k, Scope(namespace, where, as_of=check_moment(as_of, "as_of", last=True))


@contextmanager
def damaged_model_errors() -> Iterator[None]:
    """Turn numbers that no result may hold, such as NaN, into an error of the model."""
    try:
        yield
    except ValidationError as error:
        field = ".".join(map(str, error.errors()[0]["loc"]))
        raise ModelError(
            f"the model gives an answer that can't be right ({field}: "
            f"{error.errors()[0]['msg']}); train it again"
        ) from error
