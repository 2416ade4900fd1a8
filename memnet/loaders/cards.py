"""Calendars (iCalendar, RFC 5545) and contacts (vCard, RFC 6350): a row for each entry."""

import quopri
import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from memnet.errors import InputError, Problem, shorten
from memnet.io import decode, with_line_feeds
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile

# Of a value in quoted-printable, whose lines may end with "=" (vCard 2.1)
_SOFT_BREAKS = re.compile(r"^[^:\n]{1,200}QUOTED-PRINTABLE[^:\n]{0,200}:(?:.*=\n)+", re.M | re.I)
_FOLD = re.compile(r"\n[ \t]")  # a line goes on after it
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PART_END = re.compile(r"(?<!\\);")
_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)[\d:]{0,3}(Z?))?$")
_ENTRIES = ("VCARD", "VEVENT", "VJOURNAL", "VTODO")
_LABELS = {
    "DTSTART": "Begins", "DTEND": "Ends", "DUE": "Due", "RRULE": "Repeats", "LOCATION": "Place",
    "ORGANIZER": "Organiser", "ATTENDEE": "Attendee", "STATUS": "Status", "NICKNAME": "Nickname",
    "ORG": "Organisation", "TITLE": "Title", "ROLE": "Role", "TEL": "Phone", "EMAIL": "E-mail",
    "ADR": "Address", "BDAY": "Birthday", "CATEGORIES": "Categories", "URL": "URL",
    "DESCRIPTION": "Description", "NOTE": "Note",
}  # fmt: skip
_KINDS = re.compile(r"\b(home|work|cell|fax)\b", re.IGNORECASE)  # of addresses and numbers
_NAME = re.compile(r'CN="?([^";]*)', re.IGNORECASE)
_PERIODS = {"DAILY": "day", "WEEKLY": "week", "MONTHLY": "month", "YEARLY": "year"}
_DAYS = {
    "MO": "Monday", "TU": "Tuesday", "WE": "Wednesday", "TH": "Thursday", "FR": "Friday",
    "SA": "Saturday", "SU": "Sunday",
}  # fmt: skip
_MONTHS = """
    January February March April May June July August September October November December
    """.split()


class _Property(NamedTuple):
    name: str
    parameters: str
    value: str


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The document of all entries; one that repeats is described once."""
    builder = DocumentBuilder()
    open_parts: list[str] = []
    entry: list[_Property] = []
    text = with_line_feeds(decode(file.data))
    text = _SOFT_BREAKS.sub(lambda found: found[0].replace("=\n", ""), text)
    for line in _FOLD.sub("", text).split("\n"):
        found = _property(line)
        if found is None:
            continue
        if found.name == "BEGIN":
            open_parts.append(found.value.strip().upper())
            entry = [] if open_parts[-1] in _ENTRIES else entry
        elif found.name == "END":
            if open_parts and open_parts.pop() in _ENTRIES:
                _add(builder, entry, file.max_title)
        elif open_parts and open_parts[-1] in _ENTRIES:  # no alarm within it
            entry.append(found)
    if not len(builder):
        raise InputError("holds no event and no contact; export it again as iCalendar or vCard")
    yield file.document(builder)


def _property(line: str) -> _Property | None:
    """A name with its parameters before the first colon outside quotation marks, and its value."""
    end = 0
    for number, part in enumerate(line.split('"')):
        if number % 2 == 0 and ":" in part:
            end += part.index(":")
            name, _, parameters = line[:end].partition(";")
            value = line[end + 1 :]
            if "QUOTED-PRINTABLE" in parameters.upper():
                value = quopri.decodestring(value.encode()).decode("utf-8", "replace")
            return _Property(name.rpartition(".")[2].strip().upper(), parameters, value)
        end += len(part) + 1
    return None


def _add(builder: DocumentBuilder, entry: list[_Property], max_title: int) -> None:
    values = {one.name: one.value for one in reversed(entry)}
    names = values.get("SUMMARY") or values.get("FN") or values.get("N", "")
    lines: dict[str, list[str]] = {}
    for name, label in _LABELS.items():
        for one in entry:
            if one.name == name and (value := _shown(one)):
                lines.setdefault(f"{label}{_kind(one)}", []).append(value)
    title = _plain(names)
    cells = [("Name" if {"FN", "N"} & values.keys() else "Event", title)]
    cells += [(label, ", ".join(own)) for label, own in lines.items()]
    # With a place of its own each is found by itself.
    place = shorten(title, max_title) or f"{len(builder)}"
    # A semicolon ends a cell.
    row = [(label, value.replace(";", ","), "") for label, value in cells]
    builder.add_row(row, labelled=True, place=place)


def _kind(one: _Property) -> str:
    kinds = _KINDS.findall(one.parameters) if one.name in ("TEL", "EMAIL", "ADR") else []
    named = ("cell, mobile" if kind.lower() == "cell" else kind.lower() for kind in kinds)
    return f" ({', '.join(named)})" if kinds else ""


def _shown(one: _Property) -> str:
    if one.name in ("DTSTART", "DTEND", "DUE", "BDAY"):
        zone = re.search(r"TZID=\"?([^\";]*)", one.parameters)
        return _day(one.value, zone[1] if zone else "", before=one.name == "DTEND")
    if one.name == "RRULE":
        return _repeats(one.value.upper())
    value = _plain(re.sub(r"^(?:mailto|tel):", "", one.value, flags=re.IGNORECASE))
    named = _NAME.search(one.parameters)
    return f"{named[1]} ({value})" if named and named[1] != value else value


def _plain(value: str) -> str:
    """A value in one line; its parts, such as those of an address, with commas between."""
    parts = (_ESCAPED.sub(lambda mark: " " if mark[1] in "nN" else mark[1], part)
             for part in _PART_END.split(value))  # fmt: skip
    return ", ".join(filter(None, map(one_line, parts)))


def _day(value: str, zone: str = "", before: bool = False) -> str:
    """A date as "3 May 2026, 14:00"; as it stands if it is none.

    ``before`` says that the day itself is no longer a part of what ends then, unless at a time.
    """
    found = _DATE.match(value.strip())
    try:
        day = date(*map(int, found.groups()[:3])) if found else None
    except ValueError:
        day = None
    if found is None or day is None:
        return _plain(value)
    hour, minute, utc = found.groups()[3:]
    if before and hour is None and day > date.min:
        day -= timedelta(1)
    clock = f", {hour}:{minute} {'UTC' if utc else zone}".rstrip() if hour else ""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}{clock}"


def _repeats(value: str) -> str:
    parts = (part.partition("=") for part in value.split(";"))
    rule = {name: given for name, _, given in parts}
    period = _PERIODS.get(rule.get("FREQ", ""), "")
    if not period:
        return ""
    every = rule.get("INTERVAL", "1")
    days = [_DAYS[day[-2:]] for day in rule.get("BYDAY", "").split(",") if day[-2:] in _DAYS]
    return "".join((
        f"every {period}" if every == "1" else f"every {every} {period}s",
        f" on {', '.join(days)}" if days else "",
        f" until {_day(rule['UNTIL'])}" if "UNTIL" in rule else "",
        f", {rule['COUNT']} times" if "COUNT" in rule else "",
    ))  # fmt: skip
