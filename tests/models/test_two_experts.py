"""Questions that need facts and documents: facts give the names, documents choose among them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memnet import Document, Engine
from memnet.experts.joined import split_question

FACTS = """Grey Swan\tbuilt by\tDallow Yard
Blue Otter\tbuilt by\tDallow Yard
Red Knot\tbuilt by\tDallow Yard
Old Martha\tbuilt by\tPerrin Brothers
Sea Holly\tbuilt by\tPerrin Brothers
Grey Swan\tberth\tNorth Quay
Old Martha\tberth\tNorth Quay
Blue Otter\tberth\tSouth Quay
Grey Swan\tcaptain\tIda Brenn
Sea Holly\tcaptain\tTom Aske
Ida Brenn\tlives in\tMarrow
Tom Aske\tlives in\tMarrow
Una Pell\tlives in\tMarrow
"""
HANDBOOK = """The harbour office inspects all boats in March. The Blue Otter was found unsafe: her \
hull is cracked below the waterline. The Grey Swan is not unsafe, but her lights are dim. Old \
Martha is unsafe in a swell and stays in port.

The Red Knot carries a crane of two tons. The pumps of the Sea Holly were renewed. The Grey Swan \
may carry forty passengers."""
LETTER = """Tom Aske has broken his arm and cannot row. Ida Brenn won the regatta in her old \
skiff. The party was at the school."""


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("harbour")
    (folder / "ships.tsv").write_text(FACTS)
    with Engine.open(folder / "store", create=True) as engine:
        engine.ingest(folder / "ships.tsv")
        engine.ingest(
            Document(id="handbook", title="Handbook of the harbour", text=HANDBOOK),
            Document(id="letter", title="Letter to Una", text=LETTER),
            Document(id="red-knot", title="Red Knot", text="She was painted green in April."),
        )
        yield engine


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "Which of the ships in ships.tsv does the handbook call unsafe?",
            {"Blue Otter", "Old Martha"},
        ),
        ("Which of the ships built by Dallow Yard are unsafe?", {"Blue Otter"}),
        ("Which of the ships built by Perrin Brothers are called unsafe?", {"Old Martha"}),
        ("Which of the ships built by Dallow Yard has a cracked hull?", {"Blue Otter"}),
        ("Which of the ships built by Dallow Yard has dim lights?", {"Grey Swan"}),
        ("Which of the ships built by Dallow Yard has a crane?", {"Red Knot"}),
        ("Which of the ships built by Dallow Yard was painted green?", {"Red Knot"}),
        ("Which of the ships built by Perrin Brothers got new pumps?", {"Sea Holly"}),
        ("Which of the ships in ships.tsv may carry forty passengers?", {"Grey Swan"}),
        ("Which of the ships with a berth at North Quay is unsafe?", {"Old Martha"}),
        ("Who of the people that live in Marrow has broken an arm?", {"Tom Aske"}),
        ("Which of those who live in Marrow has won the regatta?", {"Ida Brenn"}),
    ],
)  # fmt: skip
def test_documents_choose_among_what_facts_name(
    harbour: Engine, question: str, expected: set[str]
) -> None:
    answer = harbour.ask(question)
    assert {one.text for one in answer.candidates} == expected
    assert answer.kind == "facts"
    assert {one.name for one in answer.experts} == {"documents", "facts"}
    first = answer.evidence[0]
    assert first.kind == "passage"
    assert first.text == harbour.store.fetch([first.id])[0].text
    assert answer.hops[-1].weights[0].via in {name.casefold() for name in expected}
    assert sum(weight.weight for weight in answer.hops[-1].weights) == pytest.approx(1)


@pytest.mark.parametrize(
    "question",
    [
        "Which of the ships built by Dallow Yard is unfit for ice?",
        "Which of the ships built by Perrin Brothers has a crane?",
        "Which of the ships in ships.tsv sank in a storm?",
        "Which of the ships built by Dallow Yard was sold to Norway?",
    ],
)
def test_what_no_document_says_is_not_answered(harbour: Engine, question: str) -> None:
    answer = harbour.ask(question)
    assert (answer.answer, answer.abstained, answer.candidates) == (None, True, ())


def test_a_denied_sentence_answers_the_denied_question(harbour: Engine) -> None:
    answer = harbour.ask("Which of the ships built by Dallow Yard is not unsafe?")
    assert [one.text for one in answer.candidates] == ["Grey Swan"]


def test_other_questions_are_left_to_the_experts(harbour: Engine) -> None:
    answer = harbour.ask("Which of the two boats is older?")
    assert {one.name for one in answer.experts} == {"documents"}
    assert harbour.ask("What does the Red Knot carry?").kind != "facts"


def test_a_namespace_without_documents_has_no_second_expert(tmp_path: Path) -> None:
    (tmp_path / "ships.tsv").write_text(FACTS)
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(tmp_path / "ships.tsv")
        answer = engine.ask("Which of the ships built by Dallow Yard is unsafe?")
        assert [one.name for one in answer.experts] == ["documents"]


def test_a_question_is_split_at_each_verb_that_ends_no_clause() -> None:
    assert list(split_question("Which of the ships that were built by Ann is unsafe?")) == [
        ("ships that were built by Ann", "is unsafe")
    ]
    assert list(split_question("Who is unsafe?")) == []
    assert list(split_question("Which of the ships?")) == []
