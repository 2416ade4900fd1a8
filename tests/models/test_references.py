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
    folder = tmp_path_factory.mktemp("references")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    engine = Engine.open(folder / "store", create=True)
    engine.ingest([folder / name for name in FILES])
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
