"""Questions that are followed from a row of one table to a row of another, or to a text."""

from pathlib import Path

import pytest

from memnet import Engine

FILES = {
    "crew.csv": "Name,Mentor,Cabin\nIda Holm,Per Vik,12\nPer Vik,Ola Strand,7\nOla Strand,,3\n",
    "trips.csv": "Trip,Guide,Helper,Price\nFjord,Per Vik,Nils Aas,90\nGlacier,Ida Holm,,140\n",
    "letter.md": "Ola Strand lives in a red house in Narvik and repairs violins.\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return _filled(tmp_path_factory.mktemp("references"), FILES)


def _filled(folder: Path, files: dict[str, str]) -> Engine:
    for name, text in files.items():
        (folder / name).write_text(text)
    engine = Engine.open(folder / "store", create=True)
    engine.ingest([folder / name for name in files])
    return engine


@pytest.mark.parametrize(
    ("question", "short", "sources"),
    [
        ("Which cabin has Ida Holm's mentor?", "7", ["crew.csv", "crew.csv"]),
        ("What is the cabin of the guide of the Glacier?", "12", ["crew.csv", "trips.csv"]),
        (
            "Which cabin has the mentor of the guide of the Glacier?",
            "7",
            ["crew.csv", "crew.csv", "trips.csv"],
        ),
        ("What does Per Vik's mentor repair?", "violins", ["letter.md", "crew.csv"]),
    ],
)
def test_every_row_on_the_way_is_quoted(
    engine: Engine, question: str, short: str, sources: list[str]
) -> None:
    answer = engine.ask(question)
    assert answer.short == short
    assert [Path(quote.source).name for quote in answer.quotes] == sources
    assert {quote.evidence for quote in answer.quotes} <= {one.id for one in answer.evidence}


@pytest.mark.parametrize(
    "question",
    [
        "Which cabin has Ola Strand's mentor?",
        "What does the guide of the Fjord eat?",
        "What is the price of the helper of the Fjord?",  # whose row is another's
    ],
)
def test_what_is_referred_to_is_no_answer(engine: Engine, question: str) -> None:
    assert engine.ask(question).short is None


LINKED = {
    "stalls.md": "# Stalls of the fair\n\n- The waffle stall is kept by the Heather club.\n"
    "- The plant stall is kept by the Juniper club.\n- The raffle needs nobody.\n",
    "clubs.md": "# Clubs\n\nThe Juniper club is led by Signe Aalto. The Heather club is led by "
    "Marek Duda. The Rowan club is led by Hanna Roth.\n",
    "repairs.txt": "The church organ was repaired by Boyd and Sons. The clock was repaired by an "
    "uncle of the sexton. The bell frame was repaired by Lotte Kern.\n",
    "firms.txt": "Lotte Kern has her forge in Ulm. Boyd and Sons have their yard in Leith. The "
    "chandler Pohl sits in Kiel.\n",
}


@pytest.fixture(scope="module")
def fair(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return _filled(tmp_path_factory.mktemp("fair"), LINKED)


@pytest.mark.parametrize(
    ("question", "given", "sources"),
    [
        ("Who leads the club that keeps the waffle stall?", "Marek Duda", "clubs stalls"),
        ("Who leads the club that keeps the plant stall?", "Signe Aalto", "clubs stalls"),
        ("In which town is the yard of the firm that repaired the church organ?", "Leith",
         "firms repairs"),
    ],
)  # fmt: skip
def test_two_sentences_with_a_name_in_common_answer_together(
    fair: Engine, question: str, given: str, sources: str
) -> None:
    answer = fair.ask(question)
    assert answer.answer is not None
    assert given in (answer.short or answer.answer)
    quoted = [Path(quote.source).stem for quote in answer.quotes]
    assert quoted[0] == sources.split()[0]
    assert set(quoted) <= set(sources.split())


@pytest.mark.parametrize(
    "question",
    [
        "In which town is the yard of the uncle that repaired the clock?",
        "Who leads the club that keeps the raffle?",
    ],
)
def test_a_name_that_nothing_leads_to_gives_no_answer(fair: Engine, question: str) -> None:
    assert fair.ask(question).short is None
