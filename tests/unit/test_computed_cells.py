"""What is computed from the rows of a table."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from memnet import Document
from memnet.engine import Engine
from memnet.reader.answers import Prediction
from memnet.reader.passages import RankedSlot
from memnet.reader.tables import read_cells
from memnet.reader.values import decimal_point, value_of, with_unit
from memnet.storage import Slot
from memnet.text.english import query_terms
from tests.reading import ranked

_FERRIES = """Ferry | Built | Length (m) | Passengers | Speed (kn) | Fare (GBP) | Captain
Skerry Maid | 1987 | 48.5 | 210 | 14 | 6.20 | Ole Wick
Torrin | 2003 | 61 | 1,150 | 19 | 9.80 | Jo Tarn
Ulva Queen | 1994 | 39.8 | 96 | 11 | 4.50 | Ed Lunn
Hebe | 2016 | 72.4 | 1,420 | 22 | 12.40 | Ole Wick"""
_HIVES = """Hive | Queen | Honey (kg) | Frames | Last check
Willow | Carla | 23.5 | 10 | 2023-09-02
Alder |  | 17 | 8 | 2023-08-27
Hazel | Ottilie |  | 11 | 2023-09-14
Rowan | Petra | 31.2 |  | 2023-07-30
Linden | Senta | 9.8 | 10 | """
_SHEDS = """| North shed | Middle shed | Quay shed
Rakes | 12 | 7 | 31
Saws | 4 | 19 | 8
Ladders | 2 | 5 | 9"""
_STORES = """Item no | Item | In store | Weight | Unit price
4410 | Brass hinge | 320 | 0.12 kg | 3,40 €
4411 | Oak shelf | 14 | 4.5 kg | 48,00 €
4415 | Pine board | 0 | 6.2 kg | 21,50 €"""
_REPAIRS = """Ticket | Customer | Job | Mechanic | Price | Status
501 | Una Berg | bell | Finn | 32.00 | done
502 | Jan Roth | gears | Ilka | 18.50 | done
503 | Una Berg | chain | Finn | 41.00 | done
504 | Rolf Aas | motor | Ilka | 35.00 | waiting
505 | Lou Gray | fork | Finn | 85.00 | waiting"""
_CLUBS = """Club | Wins | Harvest Cup 2021 | Harvest Cup 2022
Ashmoor | 14 | 3 | 1
Dunlow | 9 | 1 | 2
Port Emlyn | 11 | 2 | 3
Total | 34 | 6 | 6"""
_MOORINGS = """Mooring | Skipper | Deck (m²) | Fee (EUR) | Shore power
K1 | Runa Holt | 44 | 310 | yes
K2 | Pim Osei | 61 | 450 | no
K3 | Pim Osei | 38 | 290 | yes
K7 | Ada Brook | 61.5 | 470 | no"""
_JOBS = """Job | Yard | Cost | State
J-204 | Lunn | 1,140.50 EUR | waiting
J-205 | Tarn | 380.00 EUR | done
J-209 | Lunn | 75.00 EUR | waiting"""
_COSTS = """Day | Payee | What | Euros
2022-11-02 | Kramer | firewood | 80.00
2023-01-14 | Kramer | firewood | 92.50
2023-02-03 | Nowak | paint | 31.20
2023-03-19 | Lind | firewood | 60.00"""
_BALLS = """Ball | Diameter (mm) | Holes
A1 | 12 | 3
B7 | 40 | 0"""
_TABLES = {"Ferries": _FERRIES, "Hives of 2023": _HIVES, "Tools": _SHEDS, "Store": _STORES}
_TABLES |= {"League": _CLUBS, "Harbour": _MOORINGS, "Jobs": _JOBS, "Costs": _COSTS}
_TABLES |= {"Balls": _BALLS, "Repairs in May": _REPAIRS}
_TABLES["Stalls"] = """No | Stall | Keeper | Rented to | Paid | January | February | March
S1 | Fish | Odd Brun | Ina Vik | yes | 4 | 6 | 5
S2 | Cheese | Eva Lie |  | no | 2 | 1 | 7
S3 | Wool | Odd Brun |  |  | 3 | 3 | 3"""
_TABLES["Race"] = """Runner | Born | Place
Ann | 2001-02-03 | 2
Bob | 1990-01-01 | 3
Cid | 2003-05-05 | 1"""
_TABLES["Concerts"] = """Concert | Date | Start
Spring | 2025-05-01 | 21:00
Garden | 2025-07-02 | 19:00"""
_TABLES["Flock"] = """Sheep | Field | Farmer
12 | North | Ann
30 | South | Bob"""
_TABLES["Members"] = """Member no. | Name | Joined
00417 | Ann | 2021-02-03
00471 | Bob | 2023-01-02
00174 | Cid | 2023-09-01"""
_TABLES["Courts"] = """Day | Court A group | Court A coach | Court B group | Court B coach
Monday | Juniors | Lea Moss | Seniors | Tom Ray
Tuesday | Ladies | Tom Ray | Beginners | Lea Moss
Friday | Boys | Lea Moss | Girls | Ann Orr"""
_TABLES["Crews"] = """Name | Boat | Trips
Ada Brook | Hebe | 7
Pim Osei | Torrin | 12
Runa Holt | Hebe | 9"""
_TABLES["Books to read"] = """Month | Title | Pages | Chosen by | Rating
January | Stoner | 304 | Hetty | 4.7
March | Milkman | 352 | Donna | 3.2
April | Gilead | 247 | Hetty | """
_TABLES["Orders"] = """Customer | Product | Pieces | Price | Paid
Cafe Lind | croissant | 40 | 48.00 | yes
Hotel Post | croissant | 80 | 96.00 | no
Mrs Amsel | plum cake | 1 | 22.50 | yes
Cafe Lind | rye loaf | 6 | 24.00 | no"""
_TABLES["Loans"] = """Member | Book | Borrowed | Returned | Fine
Ada Brook | Salt | May | yes |
Pim Osei | Knots | May | no |
Runa Holt | Ice | June | no | 0.80
Eva Lie | Salt | May | yes | 1.20"""
_TABLES["Months"] = """Month | Sales EUR
March | 10
April | 20
May | 30
June | 40"""

_TABLES["Tours"] = """No | Tour | Ticket | Sold | Children over 6 | Children up to 6 | On sale
T1 | Caves | €12.00 | 40 | €5.00 | €2.00 | yes
T2 | Mill | €9.00 | 25 | €6.50 | €1.00 | no
T3 | Bog | €14.00 | 31 | €4.00 | €3.00 | no"""
_TABLES["Walks"] = """Walk | Distance (km) | Rest (min) | Huts
Elm | 12.5 | 20 | 1
Fern | 9.1 | 45 | 3
Gorse | 15 | 35 | 2"""
_TABLES["Parts"] = """Code | Description | In stock | Shelf
40517731 | Anchor | 3 | A1
40517713 | Buoy | 9 | B2
40517741 | Cleat | 6 | A3"""
_TABLES["Goats"] = """Goat | Born | Arrived | Milk (l)
Alma | 2016 | 2021-04-02 | 2.1
Brida | 2019 | 2019-11-20 | 3.4
Cilla | 2014 | 2022-06-09 | 1.2"""
_TABLES["Gifts"] = """Giver | Value (€) | For
Baker Holm | 300.00 | organ
Ms Reng | 45.50 | choir
Baker Holm | 120.00 | choir"""
_TABLES["Halls"] = """Hall | Opens | Closes
Mill | 9:00 | 17:00
Barn | 10:30 | 16:00
Loft | 8:00 | 18:30"""
_TABLES["Cabins"] = """Cabin | Beds | Price | Lamp
Fox | 4 | $75 | yes, electric
Owl | 2 | $30 | none
Elk | 3 | $55 | ✓"""
_TABLES["Apples"] = """Apple | Weight (g) | Picker
Rubin | 310 | Ada Brook
Elstar | 180 | Pim Osei"""
_TABLES["Berries"] = """Month | Baskets
June | 15
July | 30
August | 15
Grand total | 60"""
_TABLES["Vans"] = """Van | Manufacturer | Driver
Zip | Lunn | Ulla Reng
Zap | Tarn | Tor Lind
Bolt | Lunn | Ulla Reng"""
_TABLES["Fees"] = """Member | Fee | Paid
Ida Moe | 10 | yes
Tor Lind | 30 |
Ulla Reng | 5 | unknown"""
_TABLES["Bookings"] = """Booking | Member | Day | Sum
B1 | April Lee | 2024-02-03 | 10.00
B2 | April Lee | 2024-04-05 | 12.00
B3 | Tor Lind | 2024-03-09 | 18.00"""


def _in_lines(title: str, table: str) -> list[RankedSlot]:
    return ranked({title: f"Kept by hand.\n\n{table}"})


def _labelled(title: str, table: str) -> list[RankedSlot]:
    """Each row in a slot of its own, as from a spreadsheet."""
    header, *rows = [
        [cell.strip() for cell in f" {line} ".split("|")] for line in table.split("\n")
    ]
    items: list[RankedSlot] = []
    for number, row in enumerate(rows):
        pairs = zip(header, row, strict=True)
        text = "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
        [item] = ranked({title: text})
        items.append(replace(item, slot=replace(item.slot, id=number, start=1000 * number)))
    return items


def _read(question: str, items: Sequence[RankedSlot], found: int = 2) -> Prediction:
    """What is read where hops found the first few slots of a source."""
    terms = query_terms(question)
    weights = {term: 1 / len(terms) for term in terms}

    def slots(_source: str, _namespace: str, limit: int) -> list[Slot]:
        return [item.slot for item in items][:limit]

    return read_cells(question, weights, items[:found], slots, Prediction())


_ANSWERS = [
    ("Tours", "How many tickets were sold altogether?", "96"),
    ("Tours", "How many tickets did we sell on average?", "32"),
    ("Tours", "How many tours aren't on sale?", "2"),
    ("Tours", "Which tour is the cheapest for children over 6?", "Bog"),
    ("Tours", "Which tour is the cheapest for children up to 6?", "Mill"),
    ("Tours", "What is the ticket worth in total?", "€35.00"),
    ("Parts", "Which part do we have the most of?", "Buoy"),
    ("Halls", "Which hall stays open the latest?", "Loft"),
    ("Halls", "Which hall opens the latest?", "Barn"),
    ("Ferries", "Which ferry takes the most passengers?", "Hebe"),
    ("Ferries", "Which is faster, Torrin or Ulva Queen?", "Torrin"),
    ("Ferries", "Is the Skerry Maid older than the Ulva Queen?", "yes"),
    ("Ferries", "Does the Hebe carry fewer passengers than the Torrin?", "no"),
    ("Ferries", "Is the Torrin the longest ferry?", "no"),
    ("Ferries", "How many ferries are longer than 45 m?", "3"),
    ("Ferries", "How many ferries were built after 2000?", "2"),
    ("Ferries", "What is the average fare of the ferries?", "8.23 GBP"),
    ("Ferries", "What is the highest fare?", "12.40 GBP"),
    ("Ferries", "What is the fare of the longest ferry?", "12.40 GBP"),
    ("Ferries", "Which is the cheapest ferry?", "Ulva Queen"),
    ("Ferries", "How many ferries have the captain Ole Wick?", "2"),
    ("Ferries", "How many passengers can all ferries take together?", "2,876"),
    ("Hives of 2023", "Which gave less honey, Willow or Alder?", "Alder"),
    ("Hives of 2023", "Which hive was checked the earliest?", "Rowan"),
    ("Hives of 2023", "How many hives have 10 frames?", "2"),
    ("Hives of 2023", "What is the total of honey?", "81.5 kg"),
    ("Hives of 2023", "Which queen has the hive with the most honey?", "Petra"),
    ("Hives of 2023", "How many rows are there?", "5"),
    ("Tools", "Which shed has the most saws?", "Middle shed"),
    ("Tools", "Are there more rakes in the north shed or in the quay shed?", "Quay shed"),
    ("Tools", "Are there more saws in the north shed than in the middle shed?", "no"),
    ("Tools", "How many rakes are there in all sheds together?", "50"),
    ("Store", "Which item is the heaviest?", "Pine board"),
    ("Store", "Is item 4410 cheaper than item 4411?", "yes"),
    ("Store", "How many items cost less than 30 €?", "2"),
    ("League", "Which club has the most wins?", "Ashmoor"),
    ("Harbour", "How many moorings have more than 60 m2?", "2"),
    ("Harbour", "How many moorings have at least 61 square metres?", "2"),
    ("Harbour", "Which moorings cost less than 400 euros?", "K1, K3"),
    ("Harbour", "Which moorings have no shore power?", "K2, K7"),
    ("Harbour", "How many moorings have shore power and more than 40 m²?", "1"),
    ("Harbour", "List all moorings of Pim Osei", "K2, K3"),
    ("Harbour", "What is the total fee?", "1520 EUR"),
    ("Jobs", "Which jobs are waiting?", "J-204, J-209"),
    ("Jobs", "What is the total of all jobs?", "1,595.50 EUR"),
    ("Jobs", "How many jobs are above 100 EUR?", "2"),
    ("Costs", "How much did we spend on firewood in 2023?", "152.50"),
    ("Costs", "What did we pay Kramer in November 2022?", "80.00"),
    ("Costs", "How much did we spend in 2023?", "183.70"),
    ("Costs", "How much did we spend on firewood in 2021?", None),
    ("Costs", "How much did we spend on tiles in 2023?", None),
    ("Costs", "How much did we spend on Sundays?", None),
    ("Balls", "Which ball is the smallest?", "A1"),
    ("Harbour", "How many moorings have more than 60 kg?", None),  # no such unit
    ("Harbour", "Which moorings have a crane?", None),
    ("Harbour", "What moorings are there?", None),  # all of them
    ("Jobs", "Which jobs are late?", None),
    ("Ferries", "Which ferry has the most cabins?", None),  # no such column
    ("Ferries", "Which ferry is the cheapest in winter?", None),  # it does not say
    ("Ferries", "Which ferry is the most popular?", None),  # a matter of no column
    ("Ferries", "Which ferry has the second highest fare?", None),
    ("Hives of 2023", "How many hives were made between 2022 and 2023?", None),
    ("Ferries", "Is the Torrin cheaper than the Corsa?", None),  # no such row
    ("Ferries", "Why is the Hebe the longest ferry?", None),
    ("Ferries", "Who is the oldest?", None),  # of what?
    ("Hives of 2023", "Did Hazel give more honey than Linden?", None),  # an empty cell
    ("Hives of 2023", "Which hive gave the most honey in 2019?", None),
    ("Tools", "Which shed has the most hammers?", None),
    ("League", "Which club has the biggest cup?", None),  # of two years
    ("Harbour", "How many moorings have a crane?", None),  # no column says so
    ("Jobs", "How many jobs are late?", None),
    ("Jobs", "How many jobs aren't done?", "2"),
    ("Jobs", "Which jobs are not waiting?", "J-205"),
    ("Ferries", "How many ferries are no longer than 48.5 m?", None),
    ("Ferries", "Which ferry under 50 m is the fastest?", None),  # not the fastest of all
    ("Ferries", "How many ferries are longer than 50 kg?", None),
    ("Hives of 2023", "How many hives were checked after 2010?", None),  # a year of days
    ("Costs", "How much did we spend since February 2023?", None),  # not in that month alone
    ("Costs", "How much did we spend on firewood on average?", "77.5"),
    # What is not so: a "no", or an empty cell of a column that says what was done
    ("Stalls", "Which stalls have not been paid?", "Cheese"),  # that of the third is not given
    ("Stalls", "How many stalls have been paid?", "1"),
    ("Stalls", "Which stalls are not rented out?", "Cheese, Wool"),
    ("Stalls", "How many of the stalls aren't rented?", "2"),
    ("Stalls", "How many stalls were not cleaned?", None),
    ("Stalls", "How many stalls were sold?", None),
    ("Stalls", "How many stalls does Odd Brun have?", "2"),
    ("Crews", "How many people work on the Hebe?", "2"),
    ("Loans", "Which books have not been returned?", "Knots, Ice"),
    ("Loans", "How many books have not been returned?", "2"),
    ("Loans", "How many books were borrowed in May?", None),  # rows, or distinct ones?
    ("Loans", "Who has not paid a fine?", "Ada Brook, Pim Osei"),
    ("Loans", "Which members have paid no fine?", "Ada Brook, Pim Osei"),
    ("Loans", "Who has no book?", None),  # each row has one
    ("Loans", "What is the sum of the fines for Ice?", "0.80"),
    ("Crews", "Who has fewer than 10 trips?", "Ada Brook, Runa Holt"),
    ("Crews", "How many trips were made on the Hebe?", "16"),
    ("Crews", "How many trips are there?", None),  # the sum of a column, or the rows?
    ("Months", "What did the sales come to from April to June altogether?", "90 EUR"),
    ("Months", "What is the total of sales between March and May?", "60 EUR"),
    ("Months", "What is the total of sales from June to April?", None),  # of two years?
    ("Ferries", "Which costs more, Torrin or Hebe?", "Hebe"),
    # The first column holds no books.
    ("Books to read", "Which book has the most pages?", "Milkman"),
    ("Books to read", "Which month has the most pages?", "March"),
    ("Books to read", "Which boat has the most pages?", None),
    ("Books to read", "Which book has no rating?", "Gilead"),
    ("Books to read", "How many books did Hetty choose?", "2"),
    ("Orders", "How many croissants were ordered altogether?", "120"),
    ("Orders", "How many orders have not been paid?", "2"),
    ("Orders", "Did Hotel Post pay?", "no"),
    ("Orders", "Did Hotel Post pay for the tent?", None),
    # A denial of what no column says, or of more than one thing
    ("Ferries", "Which ferries are not longer than 50 m?", None),
    ("Ferries", "Which ferries did Ole Wick not captain?", "Torrin, Ulva Queen"),
    ("Stalls", "Which stalls are not paid and not rented out?", None),
    ("Loans", "Who has not returned a book?", "Pim Osei, Runa Holt"),
    ("Loans", "Which books have not yet been returned?", "Knots, Ice"),
    ("Loans", "Who hasn't returned a book?", "Pim Osei, Runa Holt"),
    ("Stalls", "Who has not been paid?", "Eva Lie"),  # keepers, not stalls
    # Sums are of one thing that is named, and of rows in an order.
    ("Crews", "How many trips did Ada Brook and Pim Osei each make?", None),
    ("Crews", "How many trips were there before Hebe?", None),
    ("Crews", "How many trips are shared between Ada Brook and Runa Holt?", None),
    ("Months", "What is the total of sales in April to June?", "90 EUR"),
    ("Months", "What is the total of sales in April-June?", None),
    ("Months", "What is the total of sales from April through June?", "90 EUR"),
    ("Crews", "How many people could work on the Hebe?", None),
    # Each row is a repair, of the month in the title.
    ("Repairs in May", "How many repairs did Finn do in May?", "3"),
    ("Repairs in May", "How many repairs are still waiting?", "2"),
    ("Repairs in May", "How many repairs were refused?", None),
    ("Repairs in May", "How much did Una Berg pay for her repairs altogether?", "73.00"),
    ("Repairs in May", "What are the prices of all five repairs together?", "211.50"),
    ("Ferries", "Which ferry was built first?", "Skerry Maid"),
    ("Courts", "Which groups does Lea Moss coach?", None),  # another column has her, too
    # What no column that is named says: who won, or how many there are
    ("Race", "Which runner came first?", None),
    ("Race", "Which runner was born last?", "Cid"),
    ("Concerts", "Which concert starts first?", None),  # on which day?
    ("Flock", "How many sheep are there?", None),
    ("Members", "How many members joined in 2023?", "2"),
    ("Ferries", "Which ferry was built last?", "Hebe"),
    ("Goats", "Which goat is the oldest?", "Cilla"),  # by its birth, not by when it was bought
    ("Goats", "Is Alma younger than Brida?", "no"),
    ("Goats", "Which goat arrived first, Alma or Cilla?", "Alma"),
    ("Gifts", "How much was given for the choir altogether?", "165.50 €"),
    ("Gifts", "How much did Baker Holm give in total?", "420.00 €"),
    ("Gifts", "How much wool did Baker Holm get in total?", None),
    ("Gifts", "How much did Baker Holm lose altogether?", None),
    # The value, or what has it
    ("Ferries", "What is the speed of the fastest ferry?", "22 kn"),
    ("Cabins", "What does the cheapest cabin cost?", "$30"),
    ("Cabins", "How much does the most expensive cabin cost?", "$75"),
    ("Cabins", "What is the cabin with the lowest price?", "Owl"),
    ("Cabins", "What is the price of the largest cabin?", None),  # no column says which is
    ("Ferries", "What is the ferry with the highest speed?", "Hebe"),
    ("Books to read", "Which is the book with the most pages?", "Milkman"),
    ("Apples", "Who picked the heaviest apple?", "Ada Brook"),
    ("Apples", "Which is the heaviest apple?", "Rubin"),
    ("Cabins", "Who built the cheapest cabin?", None),
    ("League", "Who has the most wins?", "Ashmoor"),
    # What nothing explains before what is compared or summed up
    ("Cabins", "Which is the cheapest wooden cabin?", None),
    ("Ferries", "What is the total weight of the passengers?", None),
    # Beside ticks
    ("Cabins", "Which cabins have a lamp?", "Fox, Elk"),
    ("Cabins", "Which cabins have no lamp?", "Owl"),
    # A row of sums is none of the others.
    ("Berries", "Which month had the most baskets?", "July"),
    ("Berries", "How many months are there?", "3"),
    ("Berries", "What is the average of baskets?", "20"),
    ("Berries", "What is the total of baskets from June to July?", "45"),
    # Columns that are called by what is done
    ("Vans", "Which vans were made by Lunn?", "Zip, Bolt"),
    ("Vans", "How many vans does Ulla Reng drive?", "2"),
    ("Vans", "Which vans does Lunn drive?", None),
    ("Fees", "What is the club's highest fee?", "30"),
    ("Fees", "What is the total annual fee?", "45"),
    ("Fees", "Which members have not paid?", "Tor Lind"),
    ("Bookings", "How many bookings did April Lee place?", "2"),
    ("Walks", "Which walk is longer, Elm or Fern?", "Elm"),
    ("Walks", "Which of the walks is the shortest?", "Fern"),
    ("Walks", "Is the Gorse walk longer than the Fern walk?", "yes"),
    ("Bookings", "How many bookings were placed in April?", "1"),
]  # fmt: skip


@pytest.mark.parametrize("shape", [_in_lines, _labelled])
@pytest.mark.parametrize(("title", "question", "answer"), _ANSWERS)
def test_an_answer_is_computed_from_all_rows(
    shape: type, title: str, question: str, answer: str | None
) -> None:
    found = _read(question, shape(title, _TABLES[title]))
    assert found.short == answer
    if answer is not None:
        assert found.added
        assert found.shown.startswith(
            f"{answer.capitalize()}: " * found.kind.startswith(("y", "n"))
        )


def test_what_was_computed_is_said_and_the_rows_are_quoted() -> None:
    longest = _read("Which ferry is the longest?", _labelled("Ferries", _FERRIES))
    assert longest.shown.startswith("Hebe: Length 72.4 m, the most of 4 rows.\nFerry: Hebe; ")
    [quote] = longest.quotes  # of a slot that the hops did not find
    assert longest.candidates[0].start == quote.item.slot.start + quote.text.index("Hebe")
    total = _read("How much honey is there in total?", _in_lines("Hives", _HIVES))
    assert "Honey: 81.5 kg, the sum of 4 rows (1 without a value)." in total.shown
    both = _read("Which is newer, Torrin or Hebe?", _in_lines("Ferries", _FERRIES))
    assert [quote.text.partition(" |")[0] for quote in both.quotes] == ["Hebe", "Torrin"]


@pytest.mark.parametrize(
    ("header", "text", "shown"),
    [
        ("Height (m)", "3.4", ("Height", "3.4 m")),
        ("Price [EUR]", "1,200", ("Price", "1,200 EUR")),
        ("Length in km", "12", ("Length", "12 km")),
        ("Leave (days)", "24", ("Leave", "24 days")),
        ("Height (m)", "3.4 m", ("Height", "3.4 m")),
        ("Sales EUR", "12", ("Sales", "12 EUR")),
        ("Dock m", "12", ("Dock m", "12")),
        ("Price per kg", "3.10", ("Price per kg", "3.10")),
        ("Height (m)", "unknown", ("Height (m)", "unknown")),
        ("Price (2024)", "12", ("Price (2024)", "12")),
        ("Price (net)", "12", ("Price (net)", "12")),
        ("m", "12", ("m", "12")),
    ],
)
def test_a_value_has_the_unit_of_its_header(header: str, text: str, shown: tuple[str, str]) -> None:
    assert with_unit(header, text) == shown


def test_nothing_is_computed_from_a_part_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memnet.reader.tables._MOST_SLOTS", 3)
    items = _labelled("Ferries", _FERRIES)
    assert not _read("Which ferry is the longest?", items).candidates
    assert _read("Which ferry is the longest?", items[:3]).short == "Torrin"


@pytest.mark.parametrize("shape", [_in_lines, _labelled])
@pytest.mark.parametrize(
    ("title", "question"),
    [
        ("Hives of 2023", "How much honey did the Hazel hive give?"),  # an empty cell
        ("Hives of 2023", "Which queen is in the Alder hive?"),
        ("Hives of 2023", "How much honey did the Birch hive give?"),  # no such row
        ("Hives of 2023", "Which hive was checked in October 2023?"),
        ("Tools", "How many saws are in the south shed?"),  # no such column
        ("Tools", "How many hammers are in the north shed?"),
        ("League", "How many wins had Ashmoor in the Harvest Cup 2019?"),
    ],
)
def test_what_a_table_lacks_is_not_read_in_another_row(
    shape: type, title: str, question: str
) -> None:
    items = shape(title, _TABLES[title])
    found = _read(question, items, len(items))
    assert (found.abstained, found.candidates) == (True, ())
    assert any("Rowan" in one.text or "Saws" in one.text or "Dunlow" in one.text
               for one in found.quotes)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "amount", "unit"),
    [
        ("1,820", "1820", ""), ("-5.00", "-5", ""), ("(12.00)", "-12", ""),
        ("430 EUR", "430", "EUR"), ("$7", "7", "$"), ("12 %", "12", "%"),
        ("1 200", "1200", ""), ("2:05", "7500", ""),
        ("two", None, ""), ("3-5", None, ""), ("", None, ""), ("9" * 40, None, ""),
    ],
)  # fmt: skip
def test_value_of_a_cell(text: str, amount: str | None, unit: str) -> None:
    value = value_of(text)
    assert (None if value is None else value.amount) == (amount and Decimal(amount))
    assert value is None or value.unit == unit


@pytest.mark.parametrize(
    ("texts", "point"),
    [
        (["1,820", "960"], None), (["1,820", "12.5"], "."), (["8,4", "10,65"], ","),
        (["1.200,00 €"], ","), (["1,234,567"], "."), (["0,125"], ","), (["12"], None),
    ],
)  # fmt: skip
def test_a_column_shows_what_stands_before_decimals(texts: list[str], point: str | None) -> None:
    assert decimal_point(texts) == point


def test_a_name_of_two_rows_that_differ_gets_no_verdict() -> None:
    assert _read("Did Cafe Lind pay?", _in_lines("Orders", _TABLES["Orders"])).short is None
    assert _read("Did Mrs Amsel pay?", _in_lines("Orders", _TABLES["Orders"])).short == "yes"


def test_a_sentence_below_a_table_does_not_say_what_its_rows_are() -> None:
    below = "The kilns are in the other yard."
    [item] = ranked({"Goats": f"All goats of the farm.\n\n{_TABLES['Goats']}\n\n{below}"})
    assert _read("Which kiln is the oldest?", [item]).short is None
    assert _read("Which goat of the farm is the oldest?", [item]).short == "Cilla"


def test_tables_of_two_sections_are_two() -> None:
    months = {"March": "Tent | 80\nStove | 40", "April": "Lamp | 20\nRope | 10"}
    text = "\n\n".join(f"{name}\n\nThing | Price\n{rows}" for name, rows in months.items())
    items = ranked({"Camp": text})
    assert _read("What was the total price in March?", items).short == "120"
    assert _read("What was the total price in April?", items).short == "30"
    assert not _read("What was the total price?", items).candidates  # of which month?


def test_tables_of_two_sheets_are_two() -> None:
    sheets = [
        _labelled(f"Camp > {name}", f"Thing | Price\n{rows}")
        for name, rows in (("March", "Tent | 80\nStove | 40"), ("April", "Lamp | 20\nRope | 10"))
    ]
    items = [
        replace(item, slot=replace(item.slot, id=number, start=1000 * number, source="camp"))
        for number, item in enumerate([*sheets[0], *sheets[1]])
    ]
    assert _read("What was the total price in March?", items).short == "120"


def test_what_is_listed_in_part_says_how_many_more_there_are() -> None:
    rows = "\n".join(f"Box {number} | {number} kg" for number in range(1, 31))
    found = _read("Which boxes weigh more than 5 kg?", ranked({"Boxes": f"Box | Weight\n{rows}"}))
    assert found.short is not None
    assert found.short.endswith("Box 25 and 5 more")


def test_a_row_that_is_cut_is_one(toy_engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "guests.csv"
    seat = "He likes the window seat and a quiet table. " * 30
    rows = ["Ann Lee,short,2,yes", f'Bo Rank,"{seat}",3,no', "Cy Orre,none,4,yes", "Di Vik,,5,no"]
    path.write_text("\n".join(["Guest,Note,Nights,Paid", *rows]), encoding="utf-8")
    toy_engine.ingest(path)
    assert len(toy_engine) > 4
    assert toy_engine.ask("How many guests are there?").short == "4"
    assert toy_engine.ask("Which guests have not paid?").short == "Bo Rank, Di Vik"
    assert toy_engine.ask("What is the total of nights?").short == "14"


def test_a_spreadsheet_is_compared_as_a_whole(toy_engine: Engine, tmp_path: object) -> None:
    path = f"{tmp_path}/towers.csv"
    rows = "".join(f"Tower {number},{100 + number * 37 % 101}\n" for number in range(1, 60))
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(f"Tower,Height (m)\n{rows}")
    toy_engine.ingest(path)
    toy_engine.ingest(Document(id="note", text="The highest tower is painted white."))
    highest = max(range(1, 60), key=lambda number: number * 37 % 101)
    answer = toy_engine.ask("Which tower is the highest?")
    assert (answer.kind, answer.short) == ("table", f"Tower {highest}")
    assert answer.answer is not None
    assert ", the most of 59 rows." in answer.answer
    assert answer.evidence[0].place == f"line {highest + 1}"
    assert {one.source for one in answer.evidence} == {path}
