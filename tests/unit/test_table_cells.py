"""Cells of tables as answers."""

from collections.abc import Sequence

import pytest

from memnet import Document
from memnet.engine import Engine
from memnet.reader.answers import Prediction
from memnet.reader.cells import CELL_CONFIDENCE, CellSignals, probability_of_cell, read_row
from memnet.reader.rows import Row, rows_of
from memnet.reader.spans import Passage, Reader, Reading, Span
from memnet.reader.tables import read_cells
from memnet.text.english import query_terms
from tests.reading import ranked

_PLANS = {
    "plans 1": "Plan: Small; Storage: 2 TB; Price per month: $7; Support: e-mail",
    "plans 2": "Plan: Large; Storage: 4 TB; Price per month: $12; Support: phone, 24 hours",
}
_MARKDOWN = {"Plans": "Our plans:\n\nPlan | Storage | Price\nSmall | 2 TB | $7\nLarge | 4 TB | $12"}


def _read(question: str, passages: dict[str, str], reader: Reader | None = None) -> Prediction:
    terms = query_terms(question)
    items = ranked(passages)
    weights = {term: 1 / len(terms) for term in terms}
    slots = {item.slot.source: [item.slot] for item in items}
    return read_cells(
        question, weights, items, lambda source, *_: slots[source], Prediction(), reader
    )


@pytest.mark.parametrize("passages", [_PLANS, _MARKDOWN])
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the price of the 4 TB plan?", "$12"),
        ("What is the price of the 2 TB plan?", "$7"),
        ("price of Large", "$12"),
        ("storage of the small plan", "2 TB"),
        ("Which plan has 4 TB of storage?", "Large"),
    ],
)
def test_a_cell_is_found_by_its_row_and_header(
    passages: dict[str, str], question: str, answer: str
) -> None:
    found = _read(question, passages)
    assert found.kind == "table"
    [candidate] = found.candidates
    assert candidate.text == answer
    assert candidate.start is not None
    [slot] = [item.slot for item in ranked(passages) if item.slot.id == candidate.evidence]
    start, end = candidate.start - slot.start, (candidate.end or 0) - slot.start
    assert slot.text[start:end] == answer


@pytest.mark.parametrize(
    "question",
    [
        "What is the price of the 8 GB plan?",  # no such row: "plan" names none
        "What is the price?",  # of which?
        "Who invented the price of Large furniture in Denmark?",  # not about this table
        "What colour is the Large plan?",  # no such column
    ],
)
@pytest.mark.parametrize("passages", [_PLANS, _MARKDOWN])
def test_a_question_without_a_row_or_column_has_no_cell(
    passages: dict[str, str], question: str
) -> None:
    assert not _read(question, passages).candidates


_CAKE = {
    "Apple cake": "For a tin of 26 cm.\n\ningredient | amount\nbutter | 125 g\nsugar | 120 g\n"
    "eggs | 3\napples | 4\nsalt | a little"
}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many eggs are in the apple cake?", "3"),
        ("How much butter goes into the cake?", None),
        ("How much butter is in the apple cake?", "125 g"),
        ("How many apples are in the apple cake?", "4"),  # its title says "apple", too
        ("How much salt is in the apple cake?", None),  # no number
        ("How much butter and sugar is in the apple cake?", None),  # which of them?
        ("Why are eggs in the apple cake?", None),
        ("How many eggs does a hen lay a week?", None),
    ],
)
def test_a_quantity_is_read_from_the_row_of_its_name(question: str, answer: str | None) -> None:
    found = [one.text for one in _read(question, _CAKE).candidates]
    assert found == ([] if answer is None else [answer])


def test_words_that_the_memory_does_not_have_count(toy_engine: Engine) -> None:
    toy_engine.ingest(Document(id="c", title="Apple cake", text=_CAKE["Apple cake"]))
    assert toy_engine.ask("How many eggs are in the apple cake?").short == "3"
    assert toy_engine.ask("How many eggs does a hen lay a week?").kind != "table"


def test_two_rows_that_fit_equally_give_none() -> None:
    rows = {"a": "Plan: Large; Price: $12", "b": "Plan: Large; Price: $13"}
    assert _read("price of the large plan", rows) == Prediction()


_TICKETS = {
    f"tickets {number}": f"Ticket: {number}; First name: {name}; Last name: {last}; "
    f"Opened: {day}; Seats: {seats}; Balance (EUR): {balance}"
    for number, name, last, day, seats, balance in [
        ("590311", "Ida", "Quill", "2023-03-09", "4", "-18.20"),
        ("590312", "Per", "Rowan", "2023-04-10", "2", "7.00"),
        ("590313", "Ida", "Sten", "2023-04-11", "6", "-3.15"),
    ]
}
_BOATS = {
    "Boats": "Hulls\n\nHull number | Paint | Draught 2021 | Draught 2022 | Crew\n"
    "HX-7731 | green | 1.2 m | 1.3 m | 3\n"
    "HX-7713 | white | 1.4 m | 1.5 m |\n"
    "HX-7137 |  | 1.6 m |  | 5"
}
_CROSS = {
    "Stalls": "| Monday | Tuesday | Friday\nCheese | 12 |  | 14\nHoney | 21 | 22 | 23\n"
    "Olives |  |  | 34"
}
_PARTS = {"Stalls": "Stall | Rent | Width\nMarket\nCheese | $5 | 2 m\nHarbour\nOlives | $7 |"}
_FAULTS = {
    "Lift": "No | Sign | Means | What to do\n1 | F.03 | Overload | Let someone out\n"
    "2 | F.31 | No power | Call the porter"
}
_YEARS = {"Yield": "Field | Yield 2020 | Yield 2021\nLong Acre | 31 | 28\nMill Field | 17 | 19"}
_SCORES = {
    "Scores": "Shelf | Title | Copies | Missing\nB | River, book 1 | 40 | 2\n"
    "B | River, book 2 | 14 | 12"
}
_LENT = {
    "Tools": "No | Tool | Deposit | Due back\nT1 | Cordless drill XR | 40 | 9 May\n"
    "T2 | Hammer drill GB | 60 |\nT3 | Plane | 20 | 16 May"
}
_UNNAMED = {
    "stalls 1": "Cheese; Monday: 12; Friday: 14",
    "stalls 2": "Honey; Monday: 21; Tuesday: 22; Friday: 23",
}


@pytest.mark.parametrize(
    ("passages", "question", "answer"),
    [
        (_TICKETS, "How many seats does ticket 590312 have?", "2"),
        (_TICKETS, "What is the balance of ticket 590313?", "-3.15"),
        (_TICKETS, "What is the last name for ticket 590311?", "Quill"),
        (_TICKETS, "Who has ticket 590312?", "Per"),
        (_TICKETS, "What is the balance of the ticket opened on 10 April 2023?", "7.00"),
        (_TICKETS, "What is the balance of ticket 590314?", None),  # no such row
        (_TICKETS, "What is the balance of Ida?", None),  # of which of the two?
        (_TICKETS, "What is the balance of Per's ticket 590311?", None),  # it is not Per's
        (_BOATS, "What was the draught of HX-7713 in 2022?", "1.5 m"),
        (_BOATS, "What was the draught of HX-7731 in 2021?", "1.2 m"),
        (_BOATS, "What was the draught of HX-7137 in 2022?", None),  # an empty cell
        (_BOATS, "What was the draught of HX-7731 in 2023?", None),  # no such column
        (_BOATS, "What was the draught of the white hull HX-7731 in 2021?", None),
        (_BOATS, "What is the crew of hull HX-7713?", None),  # the last cell is empty
        (_BOATS, "What is the crew of hull HX-7137?", "5"),
        (_BOATS, "How is HX-7713 painted?", "white"),
        (_CROSS, "How many honeys on Tuesday?", "22"),
        (_CROSS, "cheese on Friday", "14"),
        (_CROSS, "cheese on Tuesday", None),
        (_CROSS, "How many olives were there on Friday?", "34"),
        (_PARTS, "What is the rent of the olives stall?", "$7"),
        (_PARTS, "How wide is the cheese stall?", "2 m"),
        (_UNNAMED, "How much honey on Friday?", "23"),
        (_UNNAMED, "cheese on Monday", "12"),
        (_UNNAMED, "cheese on Tuesday", None),
        (_FAULTS, "What should I do when F.31 shows?", "Call the porter"),
        (_FAULTS, "What does F.03 mean?", "Overload"),
        (_FAULTS, "What is in no 2?", "F.31"),
        (_YEARS, "What was the yield of Mill Field in 2021?", "19"),
        (_YEARS, "What was the yield of Mill Field?", None),  # in which year?
        # Neither is "2" what is missing of a book 2, nor are copies asked for beside the missing.
        (_SCORES, "How many copies of River, book 2, are missing?", "12"),
        (_SCORES, "How many copies of River, book 1, are missing?", "2"),
        (_LENT, "When is the hammer drill due back?", None),  # an empty cell
        (_LENT, "When is the cordless drill due back?", "9 May"),
    ],
)
def test_only_the_cell_of_the_named_row_and_column_answers(
    passages: dict[str, str], question: str, answer: str | None
) -> None:
    found = [one.text for one in _read(question, passages).candidates]
    assert found == ([] if answer is None else [answer])


_PIERS = {
    "Stock": "Pier | Goods | Sacks\nold | lime | 14\nold | sand | 3\nnew | lime | 6\n"
    "new | sand | 21"
}
_MEMBERS = {
    "Club": "Member | Name | State | Room (Tue)\n6601 | Ottavia Brand | paused | 4\n"
    "6602 | Lech Ek | active | 5\n6603 | Sanna Holm | resigned | 6"
}
_SHEETS = {
    "Osterhof": "".join(
        f"Riding school\n\nHorse: Sultan, stable no. 7, tag K-{tag}\nReport for {month} 2024\n"
        f"Lessons: {lessons}\nFarrier: Anselm Vogt\nLast visit: 3 {month} 2024\nFee: {fee} euros\n"
        for tag, month, lessons, fee in [
            (1, "March", 18, 75),
            (1, "April", 22, 75),
            (1, "May", 9, 90),
        ]
    )
}
_HOURS = {
    "Open": "Slipway\n\nMonday to Friday: 6:00 to 22:00\nSunday: 8:00 to 20:00\n\n"
    "Chandlery\n\nMonday: closed\nSunday: 11:00 to 15:00"
}
_BOILER = {
    "Boiler": "Service\n\n- 2021-10-04: descaled\n- 2022-10-11: new burner\n"
    "- 2023-09-28: descaled, oiled\n- 2024-10-02: swept"
}


@pytest.mark.parametrize(
    ("passages", "question", "answer"),
    [
        (_PIERS, "How much lime is on the piers?", None),  # on which of them?
        (_PIERS, "How much coal is on the old pier?", None),
        (_MEMBERS, "Is member 6601 active?", "no"),
        (_MEMBERS, "Is member 6602 active?", "yes"),
        (_MEMBERS, "Has Sanna Holm resigned?", "yes"),
        (_MEMBERS, "Is member 6602 happy?", None),
        (_MEMBERS, "Is member 6604 active?", None),  # no such row
        (_MEMBERS, "Isn't member 6601 active?", None),
        (_MEMBERS, "Is member 6601 active or paused?", None),
        (_MEMBERS, "Can you tell me the state of member 6603?", "resigned"),
        (_MEMBERS, "What is the Tuesday room of Lech Ek?", "5"),
        (_SHEETS, "What was the fee for May 2024?", "90 euros"),
        (_SHEETS, "What was the fee for April?", "75 euros"),
        (_SHEETS, "How many lessons did Sultan have in March 2024?", "18"),
        (_SHEETS, "Who is the farrier?", "Anselm Vogt"),
        (_SHEETS, "What is the tag number of Sultan?", "K-1"),
        (_SHEETS, "What is Sultan's stable number?", "7"),
        (_SHEETS, "When was the last visit in April?", "3 April 2024"),
        (_SHEETS, "What was the fee?", None),  # of which month?
        (_SHEETS, "What was the fee for June 2024?", None),
        (_SHEETS, "What was the fee for Bella in May 2024?", None),
        (_SHEETS, "When was the fee for May 2024 paid?", None),
        (_SHEETS, "Who is the cook?", None),
        (_BOILER, "When was the boiler last descaled?", "2023-09-28"),
        (_BOILER, "When was the boiler first descaled?", "2021-10-04"),
        (_BOILER, "When was the boiler last serviced?", "2024-10-02"),
        (_BOILER, "When was the boiler last painted?", None),
        (_HOURS, "When is the chandlery open on Sunday?", "11:00 to 15:00"),
        (_HOURS, "When is the slipway open on Sunday?", "8:00 to 20:00"),
    ],
)
def test_what_rows_forms_and_lists_of_days_say(
    passages: dict[str, str], question: str, answer: str | None
) -> None:
    assert _read(question, passages).short == answer


_MODELS = {
    "Kettles": "| Kettle One | Kettle Max\nHolds | 1.2 l | 1.9 l\nPrice | $24 | $39\n"
    "Lid | red | blue"
}
_BOUGHT = {
    f"bought {number}": f"day: 2024-0{number}-11; store: {store}; thing: {thing}; euros: {euros}"
    for number, store, thing, euros in [(3, "Ambros", "parasol", "41.50"), (4, "Tyl", "deck", "9")]
}
_SAILORS = {
    "Sailors": "Name | Surname | Berth | Kept in\nUna | Moss | 3 | locker 8\n"
    "Kit | Moss | 6 | locker 2\nAda | Rye | 9 | shed"
}
_METERS = {
    "Meters": "Meter | Street | Reading | Read on\n5093312 | Mill Lane 1 | 1180 | 2023-06-01\n"
    "5093318 | Mill Lane 2 | 977 | 2023-06-02"
}
_GATES = {"Gates": "| May | June\nEast gate | 7 | 9\nWest gate | 5 | 12"}
_DUES = {
    "Entry": "| Adults | Pupils\nBath house | 8 € | 5 €\nSolarium | 6 € | 4 €",
    "Rooms": "Day | Room 1 A | Room 1 B\nFriday | yoga | tango",
}


@pytest.mark.parametrize(
    ("passages", "question", "answer"),
    [
        (_MODELS, "How much is the Kettle Max?", "$39"),
        (_MODELS, "What does the Kettle One cost?", "$24"),
        (_MODELS, "What is the lid of the Kettle Max?", "blue"),
        (_MODELS, "How much is the Kettle Midi?", None),
        (_BOUGHT, "How much was the parasol?", "41.50"),
        (_BOUGHT, "What did we pay for the parasol?", "41.50"),
        (_BOUGHT, "kostet parasol", "41.50"),
        (_BOUGHT, "Where did they buy the parasol?", "Ambros"),
        (_BOUGHT, "What did the anvil cost?", None),
        (_SAILORS, "Which berth does Kit Moss have?", "6"),
        (_SAILORS, "Which berth does Ida Moss have?", None),  # of the same surname
        (_SAILORS, "Which berth does Kit Rye have?", None),
        (_SAILORS, "Which berth does Mr Rye have?", "9"),
        (_SAILORS, "Which locker is kept by Una Moss?", "locker 8"),
        (_SAILORS, "Which berth is the harpoon in?", None),
        (_SAILORS, "What is the berth of Ada Rye's parrot?", None),
        (_METERS, "What is the reading of 5093312?", "1180"),
        (_METERS, "When was 5093318 read?", "2023-06-02"),
        (_METERS, "Where is 5093318?", "Mill Lane 2"),
        (_GATES, "How much passed the west gate in June?", "12"),
        (_DUES, "How much does the solarium take from pupils?", "4 €"),
        (_DUES, "What does the solarium cost for soldiers?", None),
        (_DUES, "What is in Room 1 A on Friday?", "yoga"),
        (_DUES, "What is in Room 1 C on Friday?", None),
    ],
)
def test_what_a_table_lacks_is_not_answered_from_another_row_or_column(
    passages: dict[str, str], question: str, answer: str | None
) -> None:
    found = _read(question, passages)
    assert found.short == answer
    assert found.abstained == (answer is None)  # so that nothing else is read in the table


@pytest.mark.parametrize("text", ["", " | ", "a | b", "Note: x", ": ; : ", "a | b\nc", "; ; ;"])
def test_what_is_no_table_has_no_cell(text: str) -> None:
    assert _read("what is a note of b", {"t": text}) == Prediction()


def test_a_later_part_of_a_long_table_has_its_header_in_the_title() -> None:
    found = _read("price of Large", {"Plans — Plan | Price": "Small | $7\nLarge | $12"})
    assert [one.text for one in found.candidates] == ["$12"]


def test_a_spreadsheet_answers_with_its_cell(toy_engine: Engine, tmp_path: object) -> None:
    path = f"{tmp_path}/plans.csv"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write("Plan,Storage,Price\nSmall,2 TB,$7\nLarge,4 TB,$12\n")
    toy_engine.ingest(path)
    answer = toy_engine.ask("What is the price of the 4 TB plan?")
    assert (answer.kind, answer.short, answer.shown) == ("table", "$12", "answer")
    assert answer.confidence is not None
    assert 0.9 < answer.confidence < 1
    assert answer.answer == "Plan: Large; Storage: 4 TB; Price: $12"
    assert answer.evidence[0].text == "Plan: Large; Storage: 4 TB; Price: $12"
    assert answer.evidence[0].place == "line 3"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who owns the Tern?", "Ida Holm"),
        ("Who made the Skua?", "Winje"),
    ],
)
def test_a_verb_names_a_column(toy_engine: Engine, question: str, answer: str | None) -> None:
    text = "Boat | Owner | Maker\nTern | Ida Holm | Rask\nSkua | Ole Dahl | Winje"
    toy_engine.ingest(Document(id="boats", title="Boats", text=text))
    found = toy_engine.ask(question)
    assert (found.short if found.kind == "table" else None) == answer


class _Finding:
    """Finds a word in what it reads, or nothing."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.read_texts: list[str] = []

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        self.read_texts += [one.text for one in passages]
        at = passages[0].text.find(self.word) if self.word else -1
        spans = (Span(0, at, at + len(self.word), 0.9),) if at >= 0 else ()
        return Reading(spans, 0.0, 0.0, 0.95 if spans else 0.02)


_MILLS = "Mill | Built | Keeper\nNorth Mill | 1981 | Ann Orre\nSouth Mill | 1990 | Bo Lund"


@pytest.mark.parametrize(("word", "sure"), [("Ann Orre", True), ("1981", False), ("", False)])
def test_the_network_tells_whether_a_row_answers(word: str, sure: bool) -> None:
    reader = _Finding(word)
    found = _read("Which keeper of the North Mill retired?", {"Mills": _MILLS}, reader)
    assert found.short == "Ann Orre"
    assert reader.read_texts == ["Mill: North Mill; Built: 1981; Keeper: Ann Orre"]
    assert found.confidence is not None
    assert (found.confidence > 0.7) == sure


def test_what_names_row_and_column_in_full_needs_no_network() -> None:
    found = _read("Who is the keeper of the North Mill?", {"Mills": _MILLS}, _Finding(""))
    assert (found.short, found.confidence) == ("Ann Orre", CELL_CONFIDENCE)


def test_a_name_that_one_row_has_alone_is_that_of_the_row() -> None:
    table = {"Rooms": "Floor | Room | Seats\nGround floor | Elm | 8\nUpper floor | Larch | 14"}
    found = _read("On which floor is the Larch?", table, _Finding(""))
    assert found.short == "Upper floor"
    assert found.confidence is not None
    assert found.confidence > 0.9


def test_a_verb_that_no_row_has_is_left_to_the_network() -> None:
    table = {"Boats": "Boat | Owner | Berth\nHebe | Ann | 3\nGrey Swan | Bo | 4"}
    found = _read("Which boat did Ann sell?", table, _Finding(""))
    assert (found.confidence or 0.0) < 0.9


def test_a_year_is_not_who_built_something() -> None:
    assert (
        _read("Who built the North Mill?", {"Mills": _MILLS.replace("Ann Orre", "-")}).candidates
        == ()
    )


_CLASSES = (
    "Class | Year | Teacher | Room | Pupils\nWren | Reception | Miss Tranter | G1 | 22\n"
    "Falcon | Year 6 | Mr Hallam | U5 | 26\nRobin | Year 1 | Mrs Pugh | | 27"
)


def test_a_row_without_headers_of_its_own_is_judged_alone() -> None:
    """An entry of a list has no rows beside it, whatever tables are found with it."""
    question, tables = "When was the boiler last descaled?", {"Other": "Boiler | Day\nold | Monday"}
    alone, beside = (_read(question, one, _Finding("2023")) for one in (_BOILER, _BOILER | tables))
    assert alone.short == beside.short == "2023-09-28"
    assert alone.confidence == beside.confidence


def test_no_cell_is_surer_than_what_words_alone_explain() -> None:
    signals = CellSignals(bias=1.0, first=1.0, row=0.0, answers=0.0, cell=0.0, stated=0.0)
    sure = signals._replace(answers=9.0, cell=9.0, stated=9.0)
    assert probability_of_cell(signals) < probability_of_cell(sure) == CELL_CONFIDENCE


def test_what_is_read_in_a_row_is_shared_out_over_its_cells() -> None:
    [item] = ranked({"Classes": _CLASSES})
    rows = [Row(item, tuple(one)) for one in rows_of(item.slot.text, item.slot.title)]
    read = read_row("Who takes Falcon?", rows[1], _Finding("Hallam; Room: U5"))
    assert [round(one, 3) for one in read.cells[:2]] == [0, 0]
    # By the characters of the span that lie in each cell: "Hallam" and "U5" of "Hallam; Room: U5"
    assert read.cells[2] == pytest.approx(0.9 * 6 / 16)
    assert read.cells[3] == pytest.approx(0.9 * 2 / 16)


_EVENTS = """Regatta

Begins: 7 June 2025, 09:30
Ends: 7 June 2025, 12:00
Place: Brelle Pond

Board meeting

Begins: 12 June 2025, 19:00
Ends: 12 June 2025, 20:30
Place: Boathouse, upstairs
Description: Bring the accounts."""


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("When is the board meeting?", "12 June 2025, 19:00"),
        ("When does the regatta end?", "7 June 2025, 12:00"),
        ("Where is the board meeting?", "Boathouse, upstairs"),
        ("Where is the regatta?", "Brelle Pond"),
        ("When is the concert?", None),
    ],
)
def test_when_and_where_an_event_is(question: str, short: str | None) -> None:
    found = _read(question, {"cal": _EVENTS})
    assert found.short == short


_LEGS = (
    "Stop | Aske | Born Quay | Cleat | Dunmore\nAske | - | 14 min | 31 min | 52 min\n"
    "Born Quay | 17 min | - | 19 min | \nCleat | 33 min | 22 min | - | 24 min\n"
    "Dunmore | 55 min | 41 min | 27 min | -"
)
_HALF = (
    "Stop | Aske | Born Quay | Cleat\nAske | - | |\nBorn Quay | 17 min | - |\n"
    "Cleat | 33 min | 22 min | -"
)


@pytest.mark.parametrize(
    ("table", "question", "short"),
    [
        (_LEGS, "How long does it take from Dunmore to Born Quay?", "41 min"),
        (_LEGS, "How long does the ferry take to get from Aske to Cleat?", "31 min"),
        (_LEGS, "How long is it to Aske from Cleat?", "33 min"),
        (_LEGS, "How long is Cleat to Aske?", "33 min"),
        (_LEGS, "How long does it take from Born Quay to Dunmore?", None),  # not the way back
        (_HALF, "How long does it take from Cleat to Born Quay?", "22 min"),
        (_HALF, "How long does it take from Born Quay to Cleat?", "22 min"),  # there and back
    ],
)
def test_a_way_there_is_not_the_way_back(table: str, question: str, short: str | None) -> None:
    assert _read(question, {"Ferries": table}).short == short


_SEASONS = """Summer (May to September)

Day | Opens | Guide | Tent
Monday | 9:00 | Ulla Reng | 4 crowns
Friday | 8:00 | Tor Lind | 5 crowns

Winter (October to April)

Day | Opens | Guide | Tent
Monday | 11:00 | Tor Lind | 6 crowns
Friday | 10:00 | Ida Moe | """
_KEYED = {
    "Stores": "Key | Name | Kind | Keeper | In stock | Cover needed\n"
    "40517731 | Anchor | iron | Ulla Reng | 3 | yes\n40517713 | Buoy | cork | Tor Lind | 7 | no"
}


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Who is the guide on Mondays in winter?", "Tor Lind"),
        ("Who is the guide on Mondays in summer?", "Ulla Reng"),
        ("What does a tent cost on Fridays in summer?", "5 crowns"),
        ("What does a tent cost on Fridays in winter?", None),
    ],
)
def test_tables_under_two_headings_are_two(question: str, short: str | None) -> None:
    found = _read(question, {"Tours": _SEASONS})
    assert (None if found.abstained else found.short) == short


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How many do we have of 40517713?", "7"),
        ("Who is the keeper of 40517713?", "Tor Lind"),
        ("Whose thing is 40517731?", None),
        ("Is a cover needed for the anchor?", "yes"),
        ("Is a cover needed for the buoy?", "no"),
        ("May I use a cover for the rope?", None),
    ],
)
def test_a_key_is_asked_of_for_what_is_in_its_row(question: str, short: str | None) -> None:
    assert _read(question, _KEYED).short == short


_LESSONS = """Class 3A

| Monday | Tuesday | Wednesday
First | Maths | Drawing | Chess
Second | Music | Maths | Maths

Class 3B

| Monday | Tuesday | Wednesday
First | Chess | Maths | Music
Second | Maths | Drawing | Sport"""
_COURTS = """Day | Court A group | Court A coach | Court B group | Court B coach
Monday | Juniors | Lea Moss | Seniors | Tom Ray
Tuesday | Ladies | Tom Ray | Beginners | Lea Moss"""
_FERRY = """Watch | Thu | Fri | Sat
Dawn (4–8) | Per Aas | Siv Hov | Per Aas
Dusk (16–20) | Siv Hov | Per Aas | Ola Vik"""
_FLATS = "Unit | Rent\nFlat (upper) | 900\nFlat (lower) | 800"
_DESK = "Day | Desk | Till\nMonday | Ulla Reng | Tor Lind\nFriday | Tor Lind | Ida Moe"


@pytest.mark.parametrize(
    ("table", "question", "short"),
    [
        (_LESSONS, "Which day is drawing for class 3A?", "Tuesday"),
        (_LESSONS, "What day does 3B have chess?", "Monday"),
        (_LESSONS, "Which day is chess for class 3A?", "Wednesday"),
        (_LESSONS, "Which day is maths for class 3A?", None),
        (_LESSONS, "Which day is pottery for class 3A?", None),
        (_DESK, "On which day is Tor Lind at the desk?", "Friday"),
        (_DESK, "On which day is Tor Lind at the till?", "Monday"),
        (_DESK, "On which day is Ulla Reng at the till?", None),
        (_COURTS, "On which court do the juniors train?", "Court A group"),
        (_COURTS, "Which court has the beginners?", "Court B group"),
        (_COURTS, "On which court are the veterans?", None),
        (_COURTS, "On which court is Lea Moss?", None),  # on both
        (_FERRY, "Which day is Ola Vik on?", "Sat"),
        (_FERRY, "Who has the dawn watch on Friday?", "Siv Hov"),
        (_FERRY, "Who has dusk on Saturdays?", "Ola Vik"),
        (_FERRY, "Who sat on the bridge at dusk?", None),
        (_FLATS, "What is the rent of the upper flat?", "900"),
        (_FLATS, "What is the rent of the lower flat?", "800"),
    ],
)
def test_the_day_of_what_a_timetable_has(table: str, question: str, short: str | None) -> None:
    found = _read(question, {"Plan": table})
    assert (None if found.abstained else found.short) == short
    for one in found.quotes if short else ():
        assert one.text in table


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Are guest pens allowed on the small plan?", "no"),
        ("Are guest pens possible on the large plan?", "yes"),
        ("What do members pay for a mast?", None),
        ("What do non-members pay for a mast?", "9 crowns"),
        ("Who insures the sloop Hild?", None),
        ("Who insures the sloop Tora?", "Orre Mutual"),
    ],
)
def test_plans_and_empty_cells(question: str, short: str | None) -> None:
    passages = {
        "Plans": "Small plan\n\nWhat | Included\nGuest pens | no\nPages | 20\n\n"
        "Large plan\n\nWhat | Included\nGuest pens | yes\nPages | 90",
        "Fees": "Job | Members | Non-members\nMast |  | 9 crowns\nHull | 4 crowns | 7 crowns",
        "Boats": "No | Sloop | Insures\n711 | Hild | \n712 | Tora | Orre Mutual",
    }
    found = _read(question, passages)
    assert (None if found.abstained else found.short) == short


_MONTHS = {"Dues": "Dues of the club\n\nTotal May: 40 crowns\nTotal June: 70 crowns"}
_SECTIONS = {
    "Menu": "Soups\n\nDish | Price\nFish soup | 5 crowns\n\nFish\n\nDish | Price\nCod | 9 crowns"
}


@pytest.mark.parametrize(
    ("passages", "question", "short"),
    [
        (_MONTHS, "What was the total in May?", "40 crowns"),
        (_SECTIONS, "What does the fish soup cost?", "5 crowns"),
        ({"Shifts": "Shift | Monday | Tuesday\nEarly | Ann | Bo\nLate | Bo | Dan"},
         "On which day does Dan row?", "Tuesday"),
        ({"Prints": "Print | Copies sold\nHeron | 534\nGull | 89"},
         "How many copies of the Heron were stolen?", None),
        ({"Prints": "Print | Copies sold\nHeron | 534\nGull | 89"},
         "How many copies of the Heron were reprinted?", None),
        ({"Prints": "Print | Copies sold\nHeron | 534\nGull | 89"},
         "How many copies of the Heron were sold?", "534"),
        ({"Pay": "What | Given\nPaid on | 30 April\nPaid out | 553.53"},
         "What did we get paid?", None),
        ({"Boats": "Lesson | Net needed\nKnots | yes\nRowing | no"},
         "Is a net allowed in Knots?", None),
        # Of two words of headers that follow each other the last one says what is asked.
        ({"Ponds": "Pond | Water temperature | Depth\nLinn | 9 °C | 4 m\nTarn | 7 °C | 6 m"},
         "What is the water depth of the Tarn?", "6 m"),
        # What stands before a code is of which kind that is.
        ({"Stock": "No. | Article | Price\n70311 | hinge | 2.40\n70313 | latch | 3.10"},
         "What does article 70313 cost?", "3.10"),
        ({"Keys": "Key no. | Door | Holder\nK-11 | Attic | Ulla Reng\nK-12 | Forge | Tor Lind"},
         "Who holds the key to the forge?", "Tor Lind"),
        ({"Parcels": "No. | To | Status\nPX-90417 | Holm | waiting\nPX-90471 | Reng | delivered"},
         "Has parcel PX-90417 been delivered?", "no"),
        ({"Shipments": "No. | To | Status\nPX90417 | Holm | waiting\nPX90471 | Reng | delivered"},
         "Did Holm refuse PX90417?", None),
        ({"Shipments": "No. | To | Status\nPX90417 | Holm | waiting\nPX90471 | Reng | delivered"},
         "Is only PX90417 waiting?", None),
        ({"Boats": "Owner | Boat | Colour\nAnn | Grey Swan | red\nBo | Hebe | blue"},
         "What colour boat does Ann own?", "red"),
    ],
)  # fmt: skip
def test_what_is_said_beside_it_is_not_asked(
    passages: dict[str, str], question: str, short: str | None
) -> None:
    assert _read(question, passages).short == short


_WARES = "Ware | Pieces | Price\nTeak bench | 23 | 65.00\nIron stove | 8 | 190.00"
_OFFICE = """Days | Opens | Guide
Mon-Thu | 8:15 | Lea Moss
Fri to Sun | 11:30 | Tor Lind"""
_SLUICE = "Season | Toll\nNovember - February | 3 crowns\nMarch | 5 crowns\nApril-Oct | 8 crowns"
_GYM = "Days | Opens\nEvery day but Thursday | 7:45\nThursday | 12:15"
_SAT = "Day | Baker | Ends\nFri | Ulla Reng | 18:00\nSat | Ida Moe | 13:00"
_LANDS = "Land | Stamp\nMauritius | 1.20\nGermany | 0.95"
_BOTH = f"{_LANDS}\nMauritania | 1.35"
_CREW = "Name | Berth\nWilliams | 7\nPetra Hoffmann | 9"
_TRIPS = "Walk | Length (km) | Duration (h)\nLinn Ridge | 14 | 5\nTarn Edge | 6 | 2"
_TALKS = "Talk | When\nBees | Thursday\nMoss | 7 pm\nPeat | daily\nReed | early"


@pytest.mark.parametrize(
    ("table", "question", "short"),
    [
        (_WARES, "How much does the teak bench cost?", "65.00"),
        (_WARES, "How much is an iron stove?", "190.00"),
        (_WARES, "How much is left of the iron stove?", "8"),
        (_WARES, "How many pieces of the teak bench are left?", "23"),
        # One day or month of a range names it.
        (_OFFICE, "When do you open on Tuesday?", "8:15"),
        (_OFFICE, "Who is the guide on Saturday?", "Tor Lind"),
        (_SLUICE, "What is the toll in January?", "3 crowns"),
        (_SLUICE, "What is the toll in March?", "5 crowns"),
        (_SLUICE, "What is the toll in August?", "8 crowns"),
        (_GYM, "When do you open on Monday?", "7:45"),
        (_GYM, "When do you open on Thursday?", "12:15"),
        (_SAT, "Who is the baker on Saturday?", "Ida Moe"),
        (_SAT, "When does it end on Sat?", "13:00"),
        (_SAT, "Who is the baker on Sunday?", None),
        # Names that begin alike are not one.
        (_LANDS, "What is the stamp to Mauritius?", "1.20"),
        (_LANDS, "What is the stamp to Mauritania?", None),
        (_BOTH, "What is the stamp to Mauritania?", "1.35"),
        (_LANDS, "What is a German stamp?", "0.95"),
        (_CREW, "What is the berth of Williamson?", "7"),  # the name goes on
        (_CREW, "What is the berth of Petra Hoffmeister?", None),
        (_TRIPS, "How long does the Linn Ridge walk take?", "5 h"),
        (_TRIPS, "How long is the Linn Ridge walk?", "14 km"),
        (_TALKS, "When is the talk on bees?", "Thursday"),
        (_TALKS, "When is the talk on moss?", "7 pm"),
        (_TALKS, "When is the talk on peat?", "daily"),
        (_TALKS, "When is the talk on reed?", None),
    ],
)
def test_prices_ranges_of_days_and_names_that_begin_alike(
    table: str, question: str, short: str | None
) -> None:
    assert _read(question, {"Sheet": table}).short == short


def test_a_range_of_days_is_no_lack_of_one() -> None:
    asked = "When does the bakery open for guests on {}?"
    assert not _read(asked.format("Tuesday"), {"Sheet": _OFFICE}).abstained
    assert _read(asked.format("May"), {"Sheet": _SLUICE}).short is None


_TRAMS = "Tram | Halts\nYellow | Cleat, Aske\nWhite | Cleat\nBlack | Dunmore"
_HUTS = """Hut | Beds | Open | Stove | Shower | Pets
Linn | 14 | daily except Friday | ✓ | none | yes, small ones
Tarn | 6 | Friday | x | ✓ | unknown
Moss | 6 | Sunday | ✓ | - | no"""


@pytest.mark.parametrize(
    ("table", "question", "short"),
    [
        (_TRAMS, "Does the yellow tram halt at Cleat?", "yes"),
        (_TRAMS, "Does the white tram halt at Dunmore?", "no"),
        (_HUTS, "Is the Linn hut open on Sunday?", "yes"),
        (_HUTS, "Is the Linn hut open on Friday?", "no"),
        (_HUTS, "Is the Tarn hut open on Sunday?", "no"),
        (_HUTS, "Does the Linn have 6 beds?", None),  # and more
        (_HUTS, "Does the Tarn have 6 beds?", "yes"),
        (_HUTS, "Does the Linn have a stove?", "yes"),
        (_HUTS, "Does the Tarn have a stove?", "no"),  # a cross beside ticks
        (_HUTS, "Does the Linn have a shower?", "no"),
        (_HUTS, "Does the Moss have a shower?", "no"),
        (_HUTS, "Are pets allowed in the Linn?", "yes"),
        (_HUTS, "Are pets allowed in the Tarn?", None),
        ("Bench | Booked\nOak | x\nAsh | ", "Is the oak bench booked?", "yes"),
    ],
)
def test_what_cells_say_is_yes_or_no(table: str, question: str, short: str | None) -> None:
    found = _read(question, {"Sheet": table})
    assert (found.short, found.kind) == (short, short or "none")


_TICKETS_OF_TEXT = "Ticket | Price | Sold\nWeekend ticket | 30 | 7\nSaturday ticket | 20 | 9"
_BATHS = "Days | Opens\nDaily except weekends | 9:00\nSunday | 10:00"
_STOVES = "Ware | Price\nIron stove | 1,200\nOak bench | 200"
_TOLLS = "Boat | Halts\nRed | all but Cleat\nBlue | Cleat"
_POST = "Land | Stamp\nCanada | 1.20\nMexico | 1.40\nBelgium | 0.95\nHungary | 0.85"
_HOTELS = "Unit | Item | Qty | Unit price | Stock no\nbox | Nails | 4 | 7 | 31"
_GOODS = "Item | Qty | Unit | Unit price | Stock no\nNails | 4 | box | 7 | 31"
_SCORES_OF_TEXT = "Pupil | SAT score | Sat nav\nIda | 1400 | Garmo\nTor | 1210 | Tomto"


@pytest.mark.parametrize(
    ("table", "question", "short"),
    [
        # Words of ranges are not what a cell says.
        (_TICKETS_OF_TEXT, "What is the price of the weekend ticket?", "30"),
        (_TICKETS_OF_TEXT, "What is the price of the Saturday ticket?", "20"),
        (_TICKETS_OF_TEXT, "How many weekend tickets were sold?", "7"),
        (_BATHS, "When do you open on Monday?", "9:00"),
        (_BATHS, "When do you open on Sunday?", "10:00"),
        (_BATHS, "When do you open on Saturday?", None),
        ("Days | Opens\nDaily | 9:00\nSunday | 10:00", "When do you open on Sunday?", "10:00"),
        # No lists
        (_STOVES, "Does the iron stove cost 200?", None),
        (_TOLLS, "Does the red boat halt at Cleat?", None),
        # Names of places and what is of them
        (_POST, "What does a Canadian stamp cost?", "1.20"),
        (_POST, "What does a Mexican stamp cost?", "1.40"),
        (_POST, "What does a Belgian stamp cost?", "0.95"),
        (_POST, "What does a Hungarian stamp cost?", "0.85"),
        # A unit is that of how many there are.
        (_GOODS, "How many nails are there?", "4 box"),
        (_GOODS, "What is the unit price of nails?", "7"),
        (_GOODS, "What is the stock no of nails?", "31"),
        (_HOTELS, "What is the qty of nails?", "4"),
        (_SCORES_OF_TEXT, "What is the SAT score of Ida?", "1400"),
        (_SCORES_OF_TEXT, "Which Sat nav does Tor have?", "Tomto"),
    ],
)
def test_a_cell_says_no_more_than_its_words(table: str, question: str, short: str | None) -> None:
    assert _read(question, {"Sheet": table}).short == short


def test_only_its_own_table_says_what_a_cross_is() -> None:
    tables = {"One": "Bench | Booked\nOak | x\nAsh | ", "Two": "Room | Booked\nA9 | yes\nB9 | no"}
    assert _read("Is the oak bench booked?", tables).short == "yes"
