"""Old and new versions of a document, by the shipped encoder and reader."""

from pathlib import Path

import pytest

from memnet import Document, Engine


def _document(name: str, title: str, text: str, **metadata: str | int) -> Document:
    return Document(id=name, title=title, text=text, metadata=metadata)


_DATED = (
    _document("one", "Library", "A card costs 8 crowns. Books are lent for 14 days.", year=2018),
    _document("two", "Library", "A card costs 11 crowns. Books are lent for 28 days.", year=2022),
)
_NAMED = (
    _document("camp_v9.md", "Camp", "The boats are kept in the red shed. Supper is at 18:15."),
    _document("camp_v10.md", "Camp", "The boats are kept in the old dairy. Supper is at 19:30."),
)
_SAID = (
    _document(
        "first", "Tariff",
        "Valid from 1 January 2020.\n\nA pitch costs 12 crowns a night. Dogs cost 2 crowns.",
    ),
    _document(
        "second", "Tariff",
        "Valid from 1 May 2023. Replaces the tariff of 2020.\n\nA pitch costs 17 crowns a night. "
        "Dogs cost 3 crowns.",
    ),
)  # fmt: skip
_DRAFT = (
    _document("route", "Route", "The coach leaves the square at 8:20 and takes 50 minutes."),
    _document("new", "Route (draft)", "The coach leaves the square at 7:40 and takes 65 minutes."),
)
_REPLACED = (
    _document("c", "Dress", "Archived.\n\nGuides wear grey coats. Maps are carried in a tube."),
    _document("d", "Dress", "Since the move.\n\nGuides wear red coats. Maps are carried in a bag."),
)
_FOLLOWING = (
    _document(
        "v3", "Journeys",
        "Version 3, in force from 1 January 2021\n\nWe pay 31 cents per mile. Trains are second "
        "class.",
    ),
    _document(
        "v4", "Journeys",
        "Version 4, in force from 1 July 2023. It replaces version 3 of 2021, which is no longer "
        "valid.\n\nWe pay 38 cents per mile. Trains are second class.",
    ),
)  # fmt: skip
_REVOKED = (
    _document("k1", "Key rules (revoked)", "A key may be kept for nine days. A loss costs £4."),
    _document("k2", "Key rules", "A key may be kept for two days. A loss costs £15."),
)
_TABLES = (
    _document("2019", "Prices 2019", "| Bread | Price |\n|---|---|\n| Rye | 30 |\n| Oat | 34 |"),
    _document("2023", "Prices 2023", "| Bread | Price |\n|---|---|\n| Rye | 41 |\n| Oat | 47 |"),
)
_PUMPS = (
    _document(
        "g", "Small stove", "The small stove heats 40 m³ and weighs 62 kg.", date="2019-01-01"
    ),
    _document(
        "r", "Large stove", "The large stove heats 90 m³ and weighs 95 kg.", date="2023-01-01"
    ),
)


# Confidence 0.22, and 0.25 is needed: most questions with another number that the reader learned
# from have no answer.
_UNSURE = pytest.mark.xfail(reason="the reader is not sure of a number that stands in the title")


@pytest.mark.parametrize(
    ("documents", "question", "short"),
    [
        (_DATED, "What does a card cost?", "11 crowns"),
        (_DATED, "How long are books lent now?", "28 days"),
        (_DATED, "What did a card cost in 2020?", "8 crowns"),
        (_NAMED, "Where are the boats kept?", "the old dairy"),
        (_NAMED, "When was supper in version 9?", "18:15"),
        (_SAID, "What does a pitch cost?", "17 crowns"),
        pytest.param(_SAID, "What did a pitch cost in 2021?", "12 crowns", marks=_UNSURE),
        (_DRAFT, "When does the coach leave the square?", "8:20"),
        (_REPLACED, "What colour are the coats that guides wear?", "red"),
        (_FOLLOWING, "How much is paid per mile?", "38 cents"),
        (_REVOKED, "How long may a key be kept?", "two days"),
        (_TABLES, "What is the price of rye?", "41"),
        (_TABLES, "What was the price of rye in 2019?", "30"),
        (_PUMPS, "How much does the small stove weigh?", "62 kg"),
        (_PUMPS, "How much does the large stove heat?", "90 m³"),
    ],
)
def test_the_version_that_holds_answers(
    tmp_path: Path, documents: tuple[Document, ...], question: str, short: str
) -> None:
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(documents)
        answer = engine.ask(question)
        assert answer.answer is not None
        assert short in (answer.short or answer.answer)
        assert len({one.source for one in answer.quotes}) == 1
        # The other one is evidence all the same.
        assert len({one.source for one in answer.evidence}) == len(documents)


@pytest.mark.parametrize(
    ("documents", "as_of", "short"),
    [
        (_SAID, "2021-08-09", "12 crowns"),
        (_SAID, "2024", "17 crowns"),
        (_SAID, "2019-01-01", "12 crowns"),  # before all: the oldest
    ],
)
def test_the_version_that_held_then_answers_as_of_a_time(
    tmp_path: Path, documents: tuple[Document, ...], as_of: str, short: str
) -> None:
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(documents)
        answer = engine.ask("What does a pitch cost a night?", as_of=as_of)
        assert answer.answer is not None
        assert short in (answer.short or answer.answer)
        assert {one.source for one in answer.quotes} == {"first" if "12" in short else "second"}


@pytest.mark.parametrize("same", [False, True])
def test_both_are_shown_where_nothing_says_which_holds(tmp_path: Path, same: bool) -> None:
    """Two that say the same are no versions."""
    codes = ("5102", "5102") if same else ("5102", "8830")
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(
            _document(
                f"note{code}-{number}", "Cabin", f"The key box of the cabin opens with {code}."
            )
            for number, code in enumerate(codes)
        )
        answer = engine.ask("With which code does the key box of the cabin open?")
        assert answer.answer is not None
        assert all(code in answer.answer for code in codes)
        assert answer.short == ("5102" if same else None)


_NOTICES = [
    ("notes.md", "Harbour notes",
     "The net sale is on 3 August. The loft key hangs at Ida Moe's. The mooring fee is 90 crowns."),
    ("letter.md", "Letter of the harbour master",
     "Dear all, the net sale on 3 August is postponed to 17 August. The loft key hangs at Bo "
     "Lund's now. The pump code is now 5512."),
    ("codes.md", "Codes", "The pump code is 8834. The gate code is 1207."),
    ("minutes-2024-02-06.md", "Minutes", "It was decided that the slipway gets oak rails."),
    ("minutes-2024-05-14.md", "Minutes", "The slipway gets steel rails. The cook is Una Berg."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("When is the net sale?", "17 August"),
        ("Where does the loft key hang?", "Bo Lund"),
        ("What is the pump code?", "5512"),
        ("What is the gate code?", "1207"),
        ("How much is the mooring fee?", "90 crowns"),
        ("What rails will the slipway get?", "steel"),
    ],
)
def test_what_says_that_something_has_changed_holds(
    tmp_path: Path, question: str, short: str
) -> None:
    with Engine.open(tmp_path, create=True) as engine:
        engine.ingest(_document(*one) for one in _NOTICES)
        assert short in (engine.ask(question).short or "")


@pytest.mark.parametrize(
    ("question", "short"),
    [("When is the fair?", "9 June"), ("When was the fair first planned?", "2 June")],
)
def test_a_day_that_was_moved_is_the_new_one(tmp_path: Path, question: str, short: str) -> None:
    with Engine.open(tmp_path, create=True) as engine:
        text = "The fair, first planned for 2 June, was moved to Sunday, 9 June."
        engine.ingest(_document("fair.md", "Fair", text))
        answer = engine.ask(question)
        assert short in (answer.short or answer.answer or "")


@pytest.mark.parametrize(
    ("texts", "question", "wrong"),
    [
        (["The rent of flat 3 is 700 euros.", "The rent of flat 12 is now 900 euros."],
         "What is the rent of flat 3?", "900 euros"),
        (["The ferry fare is 12 crowns.", "In 1990 the ferry fare was changed to 3 crowns."],
         "How much is the ferry fare?", "3 crowns"),
        (["The speed limit in the harbour is 5 knots.",
          "The rumour that the speed limit in the harbour is now 8 knots is false."],
         "What is the speed limit in the harbour?", "8 knots"),
        (["The fire drill is on 3 May.",
          "Since the fire drill is now so loud, Ann leaves on 9 May."],
         "When is the fire drill?", "9 May"),
        (["The head of the school is Ida Moe.", "The head of the music school is now Bo Lund."],
         "Who is the head of the school?", "Bo Lund"),
        (["The camp fee is 70 euros.", "The camp fee for children in Wales is now 95 euros."],
         "How much is the camp fee?", "95 euros"),
        (["The ferry fare is 12 crowns.",
          "If more people come, the ferry fare is changed to 15 crowns."],
         "How much is the ferry fare?", "15 crowns"),
        (["The pump code is 5512.", "Until now the pump code was 8834."],
         "What is the pump code?", "8834"),
        (["The bike shop is in Mill Street.",
          "The owner of the bike shop has moved to Dock Road."],
         "Where is the bike shop?", "Dock Road"),
        (["The coach of the juniors is Paul Hirsch.",
          "The new assistant to the coach of the juniors is Lena Brandt."],
         "Who is the coach of the juniors?", "Lena Brandt"),
        (["The book fair is on 6 July.", "Tickets for the book fair are now sold until 1 July."],
         "When is the book fair?", "1 July"),
        (["The hourly wage is 15 euros.", "At our competitor the hourly wage is now 18 euros."],
         "What is the hourly wage?", "18 euros"),
        (["The hourly wage is 15 euros.",
          "Everybody who thinks the hourly wage is now 18 euros is mistaken."],
         "What is the hourly wage?", "18 euros"),
        (["The summer fair is on 6 July.",
          "Last year the summer fair was moved to 14 July because of rain."],
         "When is the summer fair?", "14 July"),
        (["The night bus leaves at 23:10.", "On 1 May the night bus leaves at 22:00 instead."],
         "When does the night bus leave?", "22:00"),
        (["The chess club meets in the cellar.",
          "For one week the chess club meets in the attic instead."],
         "Where does the chess club meet?", "the attic"),
        (["The lecture on 3 June, and the party, postponed to 10 June, are both free."],
         "When is the lecture?", "10 June"),
        (["The fair is on 2 June, the raffle is moved to 9 June."], "When is the fair?", "9 June"),
        (["The concert on 2 June may be moved to 9 June if it rains."],
         "When is the concert?", "9 June"),
    ],
)  # fmt: skip
def test_what_is_said_of_something_else_changes_nothing(
    tmp_path: Path, texts: list[str], question: str, wrong: str
) -> None:
    with Engine.open(tmp_path, create=True) as engine:
        engine.ingest(_document(f"{number}.md", "Notes", text) for number, text in enumerate(texts))
        assert engine.ask(question).short != wrong
