import pytest

from benchmarks.statements import FOLDER, counts, problems, scenarios
from benchmarks.statements.format import Scenario


@pytest.fixture(scope="module")
def written() -> list[Scenario]:
    learned, held_out = scenarios()
    return [*learned, *held_out]


def test_what_scenarios_say_stands_in_their_texts(written: list[Scenario]) -> None:
    assert [(one.id, wrong) for one in written for wrong in problems(one)] == []


def test_no_scenario_is_there_twice(written: list[Scenario]) -> None:
    assert len({one.id for one in written}) == len(written)
    assert len({tuple(tell.text for tell in one.tells) for one in written}) == len(written)


def test_some_scenarios_are_held_out(written: list[Scenario]) -> None:
    learned, held_out = scenarios()
    assert len(held_out) == pytest.approx(len(written) / 12, rel=0.3)
    assert {one.id for one in learned}.isdisjoint(one.id for one in held_out)


def test_the_card_counts_what_is_there(written: list[Scenario]) -> None:
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    shown = card.split("<!-- counts -->\n")[1].split("\n<!-- /counts -->")[0]
    assert shown == counts(written)
