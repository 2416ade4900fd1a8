"""Programs over tables, against sums, extremes and selections that are computed anew."""

import shutil
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.checkpoints import SHIPPED
from memnet.documents.answers import masked
from memnet.encoders.minilm import shipped_token_table
from memnet.errors import ModelError
from memnet.reader.answers import Prediction
from memnet.reader.loading import SPANS, LazyReader
from memnet.reader.passages import RankedSlot
from memnet.reader.programs import (
    NOTHING_GIVEN,
    PROGRAMS,
    Program,
    ProgramModel,
    ProgramReader,
    ProgramSignals,
    list_programs,
    load_programs,
    probability_of_program,
    titled_once,
)
from memnet.reader.quotes import Quotation
from memnet.reader.rows import Table, tables_of
from memnet.reader.spans import Passage, Reading, ReadUnit
from memnet.reader.tables import asked_of, read_cells
from memnet.text.english import Unit, query_terms
from memnet.types import Candidate
from tests.reading import ranked

_KENNELS = """Kennel | Dog | Keeper | Weight (kg) | Arrived | Walked
K1 | Bruno | Ada | 31.5 | 2024-03-02 | yes
K2 | Fips | Bo | 7 | 2024-05-17 | no
K3 | Luna | Ada | 18.2 | 2024-01-09 | yes
K4 | Rex | Cem |  | 2024-04-21 | no"""


def _table(text: str, title: str = "Kennels") -> Table:
    [table] = tables_of(ranked({title: text}))
    return table


def _programs(question: str, *tables: Table) -> list[Program]:
    words = query_terms(question)
    asked = asked_of(question, dict.fromkeys(words, 1 / len(words)))
    return list_programs(asked, tables, shipped_token_table()).programs


def _model() -> ProgramModel:
    vectors = shipped_token_table()
    return ProgramModel(load_programs(SHIPPED / PROGRAMS, vectors.width), vectors)


def _short(programs: Sequence[Program], operation: str, header: str, **by: str | None) -> set[str]:
    return {
        one.short
        for one in programs
        if (one.operation, one.header) == (operation, header)
        and all(getattr(one, name) == value for name, value in by.items())
    }


def test_cells_lists_counts_and_extremes_of_the_rows_that_are_named_are_listed() -> None:
    found = _programs("Which dogs does Ada keep?", _table(_KENNELS))
    assert "Bruno, Luna" in _short(found, "list", "Dog")
    assert "2" in _short(found, "count", "Dog")
    assert "Bruno" in _short(found, "most", "Dog", by="Weight (kg)")
    assert "49.7 kg" in _short(found, "sum", "Weight (kg)")
    assert "24.85 kg" in _short(found, "mean", "Weight (kg)")
    assert "Rex" in _short(_programs("Who is in K4?", _table(_KENNELS)), "cell", "Dog")


def test_a_day_is_that_of_the_question_however_both_are_written() -> None:
    named = _programs("Who arrived on 17 May?", _table(_KENNELS))
    found = [one for one in named if all(each.said for each in one.where)]
    assert _short(found, "cell", "Dog", by=None) == {"Fips"}
    other = _programs("Who arrived on 5 July?", _table(_KENNELS))
    assert not any(each.header == "Arrived" and each.said for one in other for each in one.where)


def test_rows_without_a_value_or_beyond_a_number_are_selected() -> None:
    found = _programs("Which dogs weigh over 10 kg?", _table(_KENNELS))
    assert "Bruno, Luna" in _short(found, "list", "Dog")
    assert "Rex" in _short(found, "cell", "Dog", by="Weight (kg)")  # not given
    assert "Fips, Rex" in _short(found, "list", "Dog", by="Walked")


def test_rows_are_selected_by_a_word_that_several_cells_share() -> None:
    table = _table("Tool | Shelf\nblue paint | A\nblue tape | B\nred paint | C", "Shed")
    found = _programs("Where is the blue stuff?", table)
    assert "A, B" in _short(found, "list", "Shelf")
    assert "2" in _short(found, "count", "Tool")


def test_a_cell_that_is_empty_is_an_answer_of_its_own() -> None:
    found = _programs("How heavy is Rex?", _table(_KENNELS))
    assert _short(found, "empty", "Weight (kg)") == {NOTHING_GIVEN}
    assert not _short(found, "cell", "Weight (kg)") & {"", NOTHING_GIVEN}


def _limits(question: str, table: Table) -> set[tuple[str, Decimal, str]]:
    """Way, limit and answer of what lies beyond a number."""
    return {
        (program.where[0].way, program.where[0].limit, program.short)
        for program in _programs(question, table)
        if program.header == program.table.key
        and program.operation in ("cell", "list")
        and len(program.where) == 1
        and program.where[0].way in ("over", "under")
    }


def test_numbers_are_limits_as_digits_and_as_words() -> None:
    table = _table("Ram | Weight (kg)\nAlf | 5.2\nBas | 12\nCal | 6.5\nDot | 10", "Rams")
    assert _limits("Which rams weigh more than ten kilos?", table) == {
        ("over", Decimal(10), "Bas"),
        ("under", Decimal(10), "Alf, Cal"),
    }
    by_digits = _limits("Which rams are beyond 5.5 kilos?", table)
    assert by_digits == {
        ("over", Decimal("5.5"), "Bas, Cal, Dot"),
        ("under", Decimal("5.5"), "Alf"),
    }
    assert ("over", Decimal(10), "Bas, Dot") in _limits("Which rams weigh at least 10 kg?", table)
    assert ("under", Decimal(10), "Alf, Cal, Dot") in _limits("Which have 10 kg or less?", table)


def test_a_limit_is_read_as_the_column_writes_its_numbers() -> None:
    table = _table("Ram | Weight (kg)\nAlf | 3,2\nBas | 4,1\nCal | 36,5", "Rams")
    assert ("over", Decimal("3.5"), "Bas, Cal") in _limits("Which weigh over 3,5 kg?", table)


def test_a_limit_is_not_compared_with_other_units() -> None:
    table = _table("Path | Length (m) | Weight (kg)\nElm | 800 | 2\nOak | 1200 | 3", "Paths")
    assert not _limits("Which paths go beyond 1 km?", table)
    assert ("over", Decimal(900), "Oak") in _limits("Which paths go beyond 900 metres?", table)


def test_an_empty_cell_is_no_denial_where_others_deny() -> None:
    marks = "Oar | Paid\nAnn | yes\nBo | no\nCy | \nDi | no"
    found = _programs("Who has not paid?", _table(marks, "Dues"))
    assert "Bo, Di" in _short(found, "list", "Oar", by="Paid")
    assert "Bo, Cy, Di" not in _short(found, "list", "Oar", by="Paid")
    alone = _programs("Who has not paid?", _table("Oar | Paid\nAnn | x\nBo | \nCy | x", "Dues"))
    assert "Bo" in _short(alone, "cell", "Oar", by="Paid")


def test_an_extreme_names_all_rows_that_have_it_or_none() -> None:
    found = _programs(
        "Which is longest?", _table("Boat | Length\nAnn | 12\n- | 12\nCy | 9", "Quay")
    )
    assert not [one for one in found if one.operation == "most" and not one.where]
    assert _short(found, "least", "Boat") == {"Cy"}
    tied = _programs(
        "Which is longest?", _table("Boat | Length\nAnn | 12\nBo | 12\nCy | 9", "Quay")
    )
    assert "Ann and Bo" in _short(tied, "most", "Boat")


def test_the_rows_that_decide_come_first() -> None:
    found = _programs("Which dog is heaviest?", _table(_KENNELS))
    best = [one for one in found if (one.operation, one.short) == ("least", "Fips")]
    assert best
    assert all(one.lines[0].cells[1].text == "Fips" for one in best if one.by == "Weight (kg)")


def test_small_means_and_seconds_are_kept() -> None:
    doses = _table("Day | Dose (g)\nMon | 0.001\nTue | 0.003\nWed | 0.004", "Doses")
    assert _short(_programs("What is the mean dose?", doses), "mean", "Dose (g)") == {"0.0027 g"}
    times = _table("Runner | Time\nAnn | 1:02:15\nBo | 1:02:40", "Race")
    found = _programs("How far apart are Ann and Bo?", times)
    assert _short(found, "difference", "Time") == {"0:00:25"}


@pytest.mark.parametrize("size", [(300, 12), (50, 50)])
def test_programs_of_large_tables_and_many_numbers_are_bounded(size: tuple[int, int]) -> None:
    rows, columns = size
    header = " | ".join(["Stand", *(f"Column {n}" for n in range(columns - 1))])
    text = [" | ".join([f"Stand {r}", *(str(r * n % 97) for n in range(columns - 1))])
            for r in range(rows)]  # fmt: skip
    numbers = " ".join(str(n) for n in range(3, 60, 2))
    found = _programs(f"Which stands have over {numbers}?", _table("\n".join([header, *text])))
    assert 0 < len(found) < 20_000


def test_each_value_of_a_column_that_is_named_selects_rows() -> None:
    states = "torn fine wet mouldy clean fine torn torn wet clean fine mouldy torn wet".split()
    rows = [f"Tent {n} | shed {n} | {state}" for n, state in enumerate(states)]
    table = _table("\n".join(["Tent | Place | State", *rows]), "Tents")
    found = _programs("In which state are they?", table)
    chosen = {one.where[0].value for one in found if len(one.where) == 1}
    assert {*states} <= chosen


def test_columns_of_one_type_are_rows_beside_others_too() -> None:
    text = "Player | Team | May | June | July\nAnn | Reds | 3 | 9 | 4\nBo | Blues | 2 | 1 | 8"
    found = _programs("In which month did Ann score most?", _table(text, "Goals"))
    assert "June" in {one.short for one in found if one.operation == "most"}


def test_a_table_of_sums_and_one_of_a_single_row_have_no_programs() -> None:
    assert not _programs("Who has most?", _table("Who | What\nTotal | 3\nSum | 4"))
    assert not _programs("Who has most?", _table("Who | What\nAnn | 3"))


def test_columns_as_rows_quote_the_row_that_they_are_of() -> None:
    text = " | 2021 | 2022\nRent | 500 | 540\nFuel | 90 | 75"
    found = _programs("Which year had the highest rent?", _table(text, "Costs"))
    [best] = [one for one in found if one.operation == "most" and one.short == "2022"]
    assert [one.cells[0].text for one in best.lines] == ["Rent"]


def test_columns_as_rows_quote_what_is_answered_and_its_conditions() -> None:
    text = " | 2021 | 2022 | 2023\nRent | 500 | 540 | 560\nLoan | 90 |  | 75"
    found = _programs("What was the rent where there was a loan?", _table(text, "Costs"))
    of_rent = [one for one in found if one.header == "Rent" and one.by == "Loan" and one.where]
    assert of_rent
    for one in of_rent:
        assert [line.cells[0].text for line in one.lines] == ["Rent", "Loan"]


def test_numbers_are_written_as_the_cells_write_theirs() -> None:
    table = _table("Club | Paid\nOaks | 1.250,50 €\nElms | 2.100,00 €\nAsh | 80,00 €")
    assert "3.430,50 €" in _short(_programs("What was paid in all?", table), "sum", "Paid")


def test_a_cell_of_columns_as_rows_is_said_as_it_stands() -> None:
    text = "Boat | May | June | July\nAnn | 3 | 9 | 4\nBo | 2 | 1 | 8"
    said = {one.computed for one in _programs("What had Ann in June?", _table(text, "Trips"))}
    assert "June: 9 where Boat is Ann" in said
    assert "Ann: 9 where Boat is June" not in said


def test_years_are_early_and_late() -> None:
    text = "Mill | Built | Loads\nElm | 1911 | 40\nAsh | 1874 | 90"
    said = {one.computed for one in _programs("Which mill is older?", _table(text, "Mills"))}
    assert "Ash: Built 1874, the earliest of 2 rows" in said
    assert "Elm: Loads 40, the least of 2 rows" in said
    text = "Peak | Height (m) | Fare EUR\nElm | 1911 | 1500\nAsh | 1874 | 1650"
    said = {one.computed for one in _programs("Which is lower?", _table(text, "Peaks"))}
    assert "Ash: Height 1874 m, the least of 2 rows" in said
    assert "Elm: Fare 1500 EUR, the least of 2 rows" in said


def test_long_numbers_of_one_length_are_no_limits() -> None:
    text = "Chest | Owner | Weight\n4410327 | Ann | 12\n4410372 | Bo | 9\n4413027 | Cy | 31"
    found = _programs("Whose is chest 4410328?", _table(text, "Chests"))
    assert not [one for one in found for each in one.where if each.way in ("over", "under")
                and each.header == "Chest"]  # fmt: skip
    assert {"highest", "sum"} <= {one.operation for one in found if one.header == "Weight"}
    towns = _table("Town | People\nElm | 14500\nAsh | 18000\nOak | 20500", "Towns")
    found = _programs("Which town has most people?", towns)
    assert {"highest", "most", "sum"} <= {one.operation for one in found if one.by == "People"}


def test_two_days_have_no_difference_and_two_times_have() -> None:
    table = _table("Hike | Day | Start\nLake | 2024-01-30 | 9:15\nPeak | 2024-03-02 | 8:00")
    found = _programs("How much later is the lake than the peak?", table)
    assert _short(found, "difference", "Start") == {"1:15"}
    assert not _short(found, "difference", "Day")


def test_what_numbers_rows_is_no_amount() -> None:
    table = _table("Locker no. | Owner | Key\n101 | Ann | A\n205 | Bo | B\n309 | Cy | C")
    found = _programs("What do the lockers come to?", table)
    assert not {one.operation for one in found} & {"sum", "mean", "most"}


@given(
    st.lists(
        st.tuples(st.sampled_from("north south east".split()), st.integers(0, 9_999)),
        min_size=3,
        max_size=12,
    )
)
def test_what_is_computed_agrees_with_the_cells(cells: list[tuple[str, int]]) -> None:
    rows = [
        f"Mill {chr(65 + n)} | {side} | {n + 1} t | {amount}"
        for n, (side, amount) in enumerate(cells)
    ]
    table = _table("\n".join(["Mill | Side | Load | Sacks", *rows]), "Mills")
    found = _programs("How many sacks on the north side?", table)
    north = [amount for side, amount in cells if side == "north"]
    every = [amount for _, amount in cells]
    by_side = [
        (one, north if one.where else every)
        for one in found
        if all(each.value == "north" for each in one.where)
    ]
    assert by_side
    for program, amounts in by_side:
        if program.operation == "count":
            assert program.short == str(len(amounts))
        elif program.header == "Sacks" and program.operation == "sum":
            assert Decimal(program.short) == sum(amounts)
        elif program.header == "Sacks" and program.operation in ("highest", "lowest"):
            assert int(program.short) == (max if program.operation == "highest" else min)(amounts)
        elif program.header == "Mill" and program.by == "Sacks" and program.operation == "most":
            best = [
                f"Mill {chr(65 + n)}" for n, (_, one) in enumerate(cells) if one == max(amounts)
            ]
            assert set(program.short.split(" and ")) <= set(best)


def test_probabilities_are_of_answers_and_of_none() -> None:
    words = dict.fromkeys(query_terms("How heavy is Luna?"), 0.5)
    found, nothing = _model().likeliest(
        asked_of("How heavy is Luna?", words), [_table(_KENNELS)], 10_000
    )
    assert found[0][0].short == "18.2"
    assert sum(np.exp(share) for _, share in found) + np.exp(nothing) == pytest.approx(1, abs=1e-4)
    assert len({one.short.casefold() for one, _ in found}) == len(found)


def test_without_tables_none_is_meant() -> None:
    asked = asked_of("Who is it?", {})
    found, nothing = _model().likeliest(asked, [], 5)
    assert not found
    assert nothing == pytest.approx(0.0)


def test_what_the_networks_say_raises_the_probability() -> None:
    signals = ProgramSignals(1.0, 0.5, 0.5, -2.0, *([0.0] * (len(ProgramSignals._fields) - 4)))
    low = probability_of_program(signals)
    assert low < probability_of_program(signals._replace(share=3.0))
    assert low < probability_of_program(signals._replace(same=1.0))
    assert low > probability_of_program(signals._replace(other=1.0))
    assert low > probability_of_program(signals._replace(lacking=1.0))
    assert low < probability_of_program(signals._replace(read=1.0, sure=0.8))
    assert low > probability_of_program(signals._replace(sure=-0.8))


def test_the_title_of_a_table_is_read_once() -> None:
    passages = [Passage("A", "1"), Passage("A", "2"), Passage("B", "3"), Passage("A", "4")]
    assert [one.title for one in titled_once(passages)] == ["A", "", "B", "A"]
    assert not titled_once([])


class _Attending:
    """Attends to one passage alone, by so many logits more than to none."""

    def __init__(self, text: str, logit: float = 30.0) -> None:
        self._text = text
        self._logit = logit

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        units = [
            ReadUnit(
                place,
                Unit(0, len(one.text), "sentence"),
                self._logit if self._text == one.text else -30.0,
            )
            for place, one in enumerate(passages)
        ]
        return Reading((), 0.0, 0.0, 0.9, tuple(units))


def _reader(text: str) -> ProgramReader:
    return ProgramReader(_model(), _Attending(text))


def test_what_is_attended_to_most_is_the_first_proposal() -> None:
    asked = asked_of("How heavy is Luna?", {})
    likely, _ = _model().likeliest(asked, [_table(_KENNELS)], 8)
    assert len(likely) > 5
    for program, _ in likely:
        reader = _reader(program.passage.text)
        found, nothing = reader.attend(asked, [_table(_KENNELS)])
        assert found[0].program.short == program.short
        assert sum(one.share for one in found) + nothing == pytest.approx(1, abs=1e-5)
    found, nothing = _reader("-").attend(asked, [])
    assert not found
    assert nothing == pytest.approx(1)


def test_damaged_weights_are_an_error(tmp_path: Path) -> None:
    shutil.copytree(SHIPPED / PROGRAMS, tmp_path / "own")
    [weights] = (tmp_path / "own").glob("programs-*.safetensors")
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(ModelError, match=r"damaged|sha256|reinstall"):
        load_programs(tmp_path / "own", shipped_token_table().width)


def _read(question: str, text: str, programs: ProgramReader | None = None) -> Prediction:
    words, passages = query_terms(question), ranked({"Kennels": text})
    lazy = LazyReader(SPANS)
    return read_cells(
        question,
        dict.fromkeys(words, 1 / len(words)),
        passages,
        lambda *_: [one.slot for one in passages],
        Prediction(),
        judge=lazy.load_verdicts(),
        programs=lazy.load_programs if programs is None else lambda: programs,
    )


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("Which dog came on 17 May?", "Fips"),
        ("Who looks after Rex?", "Cem"),
        ("What is the heaviest dog?", "Bruno"),
    ],
)
def test_what_words_alone_do_not_say_is_answered_by_a_program(question: str, short: str) -> None:
    found = _read(question, _KENNELS)
    assert (found.kind, found.short) == ("table", short)
    assert found.confidence is not None
    assert all(one.text in _KENNELS for one in found.quotes)


def test_a_question_for_yes_or_no_has_no_program() -> None:
    assert not _read("Is Rex walked by Bruno?", _KENNELS).candidates


def test_a_program_needs_no_more_where_the_words_say_that_its_cell_is_empty() -> None:
    question = "What is the weight of Rex?"
    likely, _ = _model().likeliest(asked_of(question, {}), [_table(_KENNELS)], 8)
    text = next(one.passage.text for one, _ in likely if one.operation != "empty")
    attending = (
        ProgramReader(_model(), _Attending(text, logit)) for logit in np.arange(-10.0, 20.0)
    )
    read = [_read(question, _KENNELS, reader) for reader in attending]
    assert read[0].abstained
    given = [one.confidence for one in read if one.confidence is not None]
    assert min(given) < 0.4
    assert len(given) < len(read)


def test_what_is_read_in_a_row_gives_way_to_what_is_given_of_its_table() -> None:
    item, other = ranked({"Kennels": _KENNELS, "Note": "Rex | weighs | 30 kg"})

    def quoting(ranked: RankedSlot, short: str) -> Prediction:
        start = ranked.slot.text.index(short)
        end = start + len(short)
        line = ranked.slot.text.rfind("\n", 0, start) + 1
        quote = Quotation(ranked, line, end, 1.0)
        candidate = Candidate(text=short, score=0.5)
        return Prediction((candidate,), (ranked,), confidence=0.6, quotes=(quote,), short=short)

    given = quoting(item, "18.2")
    row, elsewhere = quoting(item, "31.5"), quoting(other, "30 kg")
    same = quoting(item, "18.2")._replace(confidence=0.9)
    assert masked(given, same) == (given, same)
    assert masked(given, row) == (given, row._replace(abstained=True))
    assert masked(given, elsewhere) == (given, elsewhere)
    assert masked(Prediction(), row) == (Prediction(), row)
