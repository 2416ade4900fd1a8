"""What calendars and contacts are asked for."""

from collections.abc import Iterator

import pytest

from memnet import Engine

_EVENTS = [
    ("Vet for Bruno", "20260312T154000", "Orre animal clinic", "Bring the blue booklet."),
    ("Rope course", "20260418T090000", "Net loft", "Twelve places."),
    ("Roof inspection", "20260420T101500", "home", "Ladder is with Tove."),
]
_CONTACTS = [
    ("Tove Brandt", "+47 55 120", "Marlow Roofs", "mends the roof"),
    ("Pia Lund", "+47 55 931", "Orre animal clinic", "looks after Bruno"),
]


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A calendar and contacts; for reading only."""
    folder = tmp_path_factory.mktemp("cards")
    events = (
        f"BEGIN:VEVENT\nSUMMARY:{name}\nDTSTART:{begin}\nLOCATION:{place}\nDESCRIPTION:{note}\n"
        "END:VEVENT\n"
        for name, begin, place, note in _EVENTS
    )
    contacts = (
        f"BEGIN:VCARD\nVERSION:3.0\nFN:{name}\nTEL;TYPE=CELL:{phone}\nORG:{firm}\nNOTE:{note}\n"
        "END:VCARD\n"
        for name, phone, firm, note in _CONTACTS
    )
    (folder / "year.ics").write_text(f"BEGIN:VCALENDAR\n{''.join(events)}END:VCALENDAR\n")
    (folder / "people.vcf").write_text("".join(contacts))
    with Engine.open(folder / "store", create=True) as engine:
        engine.ingest(folder / "year.ics", folder / "people.vcf")
        yield engine


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("When is the rope course?", "18 April 2026, 09:00"),
        ("Where is the rope course?", "Net loft"),
        ("What time is the vet for Bruno?", "12 March 2026, 15:40"),
        ("When is the roof inspection, and where?", "20 April 2026, 10:15; home"),
        ("What is Tove's mobile number?", "+47 55 120"),
        ("What is Pia Lund's phone number?", "+47 55 931"),
        ("When is the swimming course?", None),
        ("What is Ole's mobile number?", None),
    ],
)
def test_a_card_answers_with_what_is_asked_of_it(
    cards: Engine, question: str, short: str | None
) -> None:
    assert cards.ask(question).short == short
