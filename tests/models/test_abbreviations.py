"""Questions say in full, or abbreviated, what a document introduces once and then calls so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memnet import Document, Engine
from memnet.text.names import explained

_RULES = """The Board of Harbour Pilots (BHP) and the Small Craft Office (SCO) share the old mill.

The SCO is on the second floor. Its desk is staffed by Ulla Reng.

The BHP meets in the cellar. Its minutes are kept by Tor Lind."""


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A document with two abbreviations; for reading only."""
    with Engine.open(tmp_path_factory.mktemp("harbour"), create=True) as engine:
        engine.ingest(Document(id="rules", title="Harbour offices", text=_RULES))
        yield engine


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("On which floor is the Small Craft Office?", "second floor"),
        ("On which floor is the SCO?", "second floor"),
        ("Where does the Board of Harbour Pilots meet?", "cellar"),
    ],
)
def test_either_form_is_answered(harbour: Engine, question: str, said: str) -> None:
    answer = harbour.ask(question)
    assert not answer.abstained
    assert said in (answer.answer or "")


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("What does BHP stand for?", "Board of Harbour Pilots"),
        ("what does SCO mean", "Small Craft Office"),
        ("What does RNK stand for?", None),
        ("What does BHP in the rules mean?", "Board of Harbour Pilots"),
    ],
)
def test_what_stands_for_it_is_its_meaning(
    harbour: Engine, question: str, short: str | None
) -> None:
    assert harbour.ask(question).short == short


@pytest.mark.parametrize(
    ("short", "text", "full"),
    [
        ("SCO", "the Small Craft Office (SCO) is", "Small Craft Office"),
        ("SCO", "SCO (Small Craft Office) and", "Small Craft Office"),
        ("SCOs", "SCO: Small Craft Office", None),
        ("RFC", "Signs\nRFC   waiting at the gate\nOUT   gone", "waiting at the gate"),
        ("RFC", "RFC: waiting at the gate\nOUT: gone", None),
        ("RFC", "RFC   waiting at the gate", None),
        ("RFC", "the RFC   waiting at the gate", None),
        ("sco", "SCO: small craft office", "small craft office"),
        ("BHP", "the Board of the Harbour Pilots (BHP)", None),
        ("BHP", "Board of Harbour Pilots (the BHP)", "Board of Harbour Pilots"),
        ("SO", "sold old (SO)", "sold old"),
        ("SCO", "the Small Craft Office is far from the SCO", None),
        ("O", "Office (O)", None),
    ],
)
def test_a_text_explains_an_abbreviation(short: str, text: str, full: str | None) -> None:
    place = explained(short, text)
    assert (place and text[slice(*place)]) == full


def test_each_memory_has_its_own_abbreviations(tmp_path: Path) -> None:
    with Engine.open(tmp_path, create=True) as engine:
        engine.ingest(Document(id="a", title="", text="The Bell Ringing Team (BRT) is here."),
                      namespace="a")  # fmt: skip
        engine.ingest(Document(id="b", title="", text="The BRT leaves at nine."), namespace="b")
        assert engine.ask("What does BRT stand for?", namespace="a").short == "Bell Ringing Team"
        assert engine.ask("What does BRT stand for?", namespace="b").short is None
