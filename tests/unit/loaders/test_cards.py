"""Calendars and contacts: each entry is a row."""

import pytest

from memnet.errors import InputError
from tests.unit.loaders.parsed import only, read, texts

_CALENDAR = """\
BEGIN:VCALENDAR\r
BEGIN:VEVENT\r
UID:1@harbour\r
DTSTART;TZID=Europe/Rome:20260504T183000\r
DTEND;TZID=Europe/Rome:20260504T200000\r
RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;UNTIL=20261231T000000Z\r
SUMMARY:Choir\\, with the\r
  Orre band\r
LOCATION:Net loft\r
ORGANIZER;CN="Lee: Ida":mailto:ida@orre.example\r
BEGIN:VALARM\r
DESCRIPTION:Wake up\r
END:VALARM\r
END:VEVENT\r
BEGIN:VEVENT\r
DTSTART;VALUE=DATE:20260801\r
DTEND;VALUE=DATE:20260804\r
SUMMARY:Regatta\r
END:VEVENT\r
END:VCALENDAR\r
"""


def test_events_are_described_once() -> None:
    assert texts(only(read("harbour.ics", _CALENDAR))) == [
        "Event: Choir, with the Orre band; Begins: 4 May 2026, 18:30 Europe/Rome; "
        "Ends: 4 May 2026, 20:00 Europe/Rome; "
        "Repeats: every 2 weeks on Monday, Thursday until 31 December 2026, 00:00 UTC; "
        "Place: Net loft; Organiser: Lee: Ida (ida@orre.example)",
        "Event: Regatta; Begins: 1 August 2026; Ends: 3 August 2026",
    ]


def test_contacts() -> None:
    cards = (
        "BEGIN:VCARD\nVERSION:3.0\nN:Moss;Una;;;\nFN:Una Moss\nitem1.TEL;TYPE=CELL:+39 55 12\n"
        "ADR;TYPE=home:;;7 Quay Lane;Kestle;;900;\nBDAY:1988-02-29\nPHOTO;ENCODING=b:AAAA\n"
        "END:VCARD\nBEGIN:VCARD\nVERSION:2.1\nFN;ENCODING=QUOTED-PRINTABLE:J=C3=B6rn\n"
        "NOTE;ENCODING=QUOTED-PRINTABLE:Mends n=\net=\ns and sails\nBDAY:20261399\nEND:VCARD\n"
    )
    assert texts(only(read("all.vcf", cards))) == [
        "Name: Una Moss; Phone (cell, mobile): +39 55 12; "
        "Address (home): 7 Quay Lane, Kestle, 900; Birthday: 29 February 1988",
        "Name: Jörn; Birthday: 20261399; Note: Mends nets and sails",
    ]


@pytest.mark.parametrize("text", ["", "BEGIN:VCALENDAR\nEND:VCALENDAR\n", 'END:VEVENT\n:\n"\n'])
def test_a_file_without_entries_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no event and no contact"):
        list(read("a.ics", text))
