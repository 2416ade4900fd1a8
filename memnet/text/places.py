"""Places as people find them: "p. 8", "Sheet1!B4", "Settings > Hotkeys", "told 2026-01-12"."""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import takewhile

_PAGES = re.compile(r"pp?\. (.+)")
_CELLS = re.compile(r"([A-Z]{1,3}\d{1,7})(?::([A-Z]{1,3}\d{1,7}))?")


def place_of(places: Sequence[tuple[int, str]], start: int, end: int) -> str | None:
    """The place of a span of a text; None if it has none.

    Args:
        places: of parts of the text, each with the offset from which it holds, in rising order.
        start: of the span.
        end: of the span.
    """
    ends = [offset for offset, _ in places[1:]] + [end + 1]
    found = [
        place
        for (first, place), last in zip(places, ends, strict=False)
        if first < max(end, start + 1) and last > start
    ]
    if not found:
        return None
    return found[0] if len(set(found)) == 1 else _range(found[0], found[-1])


def place_in_time(told: float, until: float | None) -> str:
    """The place of a statement: the days on which it was told and, if it did, ceased to hold.

    Args:
        told: seconds since the epoch.
        until: seconds since the epoch; None while it holds.
    """
    place = f"told {local_time(told):%Y-%m-%d}"
    return place if until is None else f"{place}, until {local_time(until):%Y-%m-%d}"


def local_time(seconds: float) -> datetime:
    """A time in seconds since the epoch as that of this machine's zone, or else of UTC."""
    moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)
    # Windows knows the local time of some years only.
    with suppress(OSError, OverflowError, ValueError):
        moment = moment.astimezone()
    return moment


def _range(first: str, last: str) -> str:
    """From one place to a later one."""
    pages = [_PAGES.fullmatch(place) for place in (first, last)]
    if pages[0] and pages[1]:
        return f"pp. {pages[0][1].split('-')[0]}-{pages[1][1].split('-')[-1]}"
    sheets, _, names = zip(*(place.rpartition("!") for place in (first, last)), strict=True)
    cells = [_CELLS.fullmatch(name) for name in names]
    if cells[0] and cells[1] and sheets[0] == sheets[1]:
        return f"{sheets[0]}!{cells[0][1]}:{cells[1][2] or cells[1][1]}"
    if first.startswith("line "):
        return first
    pairs = zip(first.split(" > "), last.split(" > "), strict=False)
    common = [one for one, other in takewhile(lambda pair: pair[0] == pair[1], pairs)]
    return " > ".join(common) or f"{first} to {last}"
