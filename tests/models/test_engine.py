import io
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from memnet import Document, Engine, Fact
from memnet.errors import InputError, ModelError
from memnet.learning.evaluation import evaluate, read_questions
from tests.conftest import EXAMPLES
from tests.waiting import repeating


def test_the_example_is_answered_over_two_hops(saltmere: Engine) -> None:
    answer = saltmere.ask("In which town was the builder of the Orre Light born?")
    assert not answer.abstained
    sources = [item.source for item in answer.evidence[:3]]
    assert "orre-light" in sources
    texts = {
        json.loads(line)["id"]: json.loads(line)["text"]
        for line in (EXAMPLES / "memory" / "documents.jsonl").read_text().splitlines()
    }
    for item in answer.evidence:
        if item.source in texts:
            assert texts[item.source][item.start : item.end] == item.text


def test_recall_on_the_example(saltmere: Engine) -> None:
    asked = read_questions(EXAMPLES / "questions.jsonl")
    # A reader that takes little time: what is found does not depend on it.
    with Engine.open(saltmere.info().path, reader="sentences") as memory:
        scores, single = evaluate(memory, asked), evaluate(memory, asked, hops=1)
    assert scores.n == 60
    assert scores.recall_at_5 is not None
    assert scores.recall_at_5 >= 0.9
    assert single.recall_at_5 is not None
    assert scores.recall_at_5 > single.recall_at_5


def test_facts_answer_with_their_set(toy_engine: Engine) -> None:
    toy_engine.ingest(
        [
            Fact(subject="Morning Petrel", relation="calls at", object="Pellgate"),
            Fact(subject="Morning Petrel", relation="calls at", object="Kestle"),
            Fact(subject="Morning Petrel", relation="captain", object="Edwin Roake"),
            Fact(subject="Amber Fox", relation="calls at", object="Orre"),
        ]
    )
    answer = toy_engine.ask("Where calls the Morning Petrel at?")
    assert {candidate.text for candidate in answer.candidates} == {"Pellgate", "Kestle"}
    assert answer.answer in {"Pellgate", "Kestle"}
    assert answer.evidence[0].kind == "fact"
    assert answer.evidence[0].text.split("\t")[1] == "calls at"
    assert answer.confidence is not None
    assert 0.5 < answer.confidence < 1


def test_facts_do_not_answer_with_what_the_question_says(toy_engine: Engine) -> None:
    toy_engine.ingest(
        [
            Fact(subject="Orre Light", relation="built by", object="Ann Dell"),
            Fact(subject="Gannet Light", relation="built by", object="Ann Dell"),
        ]
    )
    answer = toy_engine.ask("The Orre Light was built by whom?")
    assert [candidate.text for candidate in answer.candidates] == ["Ann Dell"]
    answer = toy_engine.ask("Built by Ann Dell, not the Orre Light?")
    assert [candidate.text for candidate in answer.candidates] == ["Gannet Light"]


def test_a_question_about_something_else_is_not_answered(saltmere: Engine) -> None:
    for question in (
        "What is the boiling point of mercury?",
        "Which team won the cricket world cup in 2011?",
        "Who wrote the Python programming language?",
    ):
        answer = saltmere.ask(question)
        assert (answer.answer, answer.abstained) == (None, True), question
        assert answer.evidence


def test_top_k_bounds_the_evidence_of_a_frozen_answer(saltmere: Engine) -> None:
    answer = saltmere.ask("Who built the Orre Light?", top_k=3)
    assert len(answer.evidence) == 3
    assert all(len(hop.weights) <= 3 for hop in answer.hops)
    with pytest.raises(ValidationError, match="frozen"):
        answer.answer = "someone else"


def test_forgetting_stays_in_its_namespace(toy_engine: Engine) -> None:
    for namespace in ("", "a", "b"):
        toy_engine.ingest(Document(id="notes", text=f"Of {namespace}."), namespace=namespace)
    toy_engine.ingest(Document(id="elsewhere", text="Two."), namespace="b")
    assert toy_engine.forget("notes") == 1
    assert toy_engine.info().documents == 3
    assert toy_engine.forget("notes", namespace="b") == 1
    (left,) = toy_engine.ask("Of a", namespace="a").evidence
    assert left.text == "Of a."
    with pytest.raises(InputError, match=r"'notes' is stored in the default namespace.*'a'"):
        toy_engine.forget("notes")
    with pytest.raises(InputError, match=r"'elsewhere' is stored in namespace 'a'.*in 'b'|'b'"):
        toy_engine.forget("notes", "elsewhere", namespace="a")
    with pytest.raises(InputError, match=r"'nobody' is stored in namespace 'a', so nothing was"):
        toy_engine.forget("notes", "nobody", namespace="a")
    with pytest.raises(InputError, match="no source 'nobody' is stored, so nothing was forgotten"):
        toy_engine.forget("nobody")
    assert toy_engine.info().documents == 2


def test_a_path_is_forgotten_in_its_namespace(
    toy_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("One.", encoding="utf-8")
    toy_engine.ingest("a.txt", namespace="x")
    # A source of that very id in another namespace must not stand in for the file.
    toy_engine.ingest(Document(id="a.txt", text="Two."))
    with pytest.raises(InputError, match=r"'b.txt' is stored in namespace 'x'"):
        toy_engine.forget("b.txt", namespace="x")
    assert toy_engine.forget("a.txt", namespace="x") == 1
    assert toy_engine.info().documents == 1


def _filled(engine: Engine, path: Path) -> Engine:
    path.write_text("# Towers\n\nOrre Light.\n\n## Kestle\n\nA quay.\n", encoding="utf-8")
    engine.ingest(
        path,
        Document(id="a", title="Orre", text="It is\n\n\nold.", metadata={"year": 1842}),
        Fact(subject="Ann", relation="knows", object="Bo"),
    )
    engine.ingest(Document(id="a", text="Elsewhere."), namespace="x")
    engine.tell("Ann moved to Paris.")
    return engine


def test_what_is_stored_is_listed(toy_engine: Engine, tmp_path: Path) -> None:
    memory = _filled(toy_engine, tmp_path / "towers.md")
    listed = {(item.namespace, item.id): item for item in memory.sources()}
    assert [item.kind for item in memory.sources()] == [
        "document", "document", "facts", "document", "statement",
    ]  # fmt: skip
    assert listed["", "a"].metadata == {"year": 1842}
    assert (listed["", "a"].title, listed["", "a"].origin) == ("Orre", None)
    towers = listed["", str(tmp_path / "towers.md")]
    assert (towers.origin, towers.slots) == (str(tmp_path / "towers.md"), 1)
    assert [item.id for item in memory.sources("x")] == ["a"]
    assert list(memory.sources("nothing")) == []
    assert len(memory) == sum(item.slots for item in memory.sources()) == memory.info().slots
    assert repr(memory).endswith(f"store': 5 sources, {len(memory)} slots>")


def test_sources_are_listed_page_by_page(
    toy_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memnet.storage.tables.sources._PAGE", 3)
    toy_engine.ingest([Document(id=str(number), text="One.") for number in range(10)])
    assert [item.id for item in toy_engine.sources()] == [str(number) for number in range(10)]


def test_a_source_is_given_back(
    toy_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = _filled(toy_engine, tmp_path / "towers.md")
    assert memory.get("a") == Document(
        id="a", title="Orre", text="It is\n\n\nold.", metadata={"year": 1842}
    )
    found = memory.get("a", namespace="x")
    assert found is not None
    assert found.text == "Elsewhere."
    assert memory.get("b") is memory.get("a", namespace="y") is None
    monkeypatch.chdir(tmp_path)
    towers = memory.get("towers.md")
    assert towers is not None
    for slot in memory.store.fetch(range(1, 50)):
        if slot.source == towers.id:
            assert towers.text[slot.start : slot.end] == slot.text
    assert "a" in memory
    assert "towers.md" in memory
    assert "b" not in memory
    assert 3 not in memory
    memory.forget("a")
    assert "a" not in memory
    assert memory.get("a", namespace="x") is not None
    facts = next(item for item in memory.sources() if item.kind == "facts")
    shown = memory.get(facts.id)
    assert shown is not None
    assert shown.text.split() == ["Ann", "knows", "Bo"]


def _ships(engine: Engine) -> Engine:
    for number, (captain, year) in enumerate([("Ann", 1899), ("Bo", 1950), ("Cy", 1999)]):
        engine.ingest(
            Document(
                id=f"log{number}",
                title=f"Log {number}",
                text=f"The old boat was seen by {captain}.",
                metadata={"captain": captain, "year": year, "tags": ["log", captain]},
            )
        )
    engine.ingest(Document(id="hut", text="The old boat hut."), namespace="x")
    return engine


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"captain": "Ann"}, {"log0"}),
        ({"captain": ["Ann", "Cy"]}, {"log0", "log2"}),
        ({"year": {"from": 1950}}, {"log1", "log2"}),
        ({"year": {"from": 1900, "to": 1990}, "tags": "Bo"}, {"log1"}),
        ({"tags": "log"}, {"log0", "log1", "log2"}),
        ({"captain": "Dee"}, set()),
        ({}, {"log0", "log1", "log2", "hut"}),
    ],
)
def test_questions_and_searches_keep_to_metadata(
    toy_engine: Engine, where: dict[str, Any], expected: set[str]
) -> None:
    memory = _ships(toy_engine)
    found = memory.search("old boat", where=where)
    assert {item.source for item in found} == expected
    answer = memory.ask("Who saw the old boat?", where=where)
    assert {item.source for item in answer.evidence} == expected
    assert (answer.kind == "none") == (not expected)
    for item in (*found, *answer.evidence):
        document = memory.get(item.source)
        assert item.metadata == (document.metadata if document else {})


def test_a_search_gives_what_an_answer_is_read_from(saltmere: Engine) -> None:
    question = "Which ports does the Morning Petrel call at?"
    found = saltmere.search(question, 4)
    assert len(found) == 4
    assert found[0].source == saltmere.ask(question).evidence[0].source
    assert all(item.score >= later.score for item, later in pairwise(found))
    for item in found:
        document = saltmere.get(item.source)
        assert document is not None
        assert document.text[item.start : item.end] == item.text
    assert {item.hop for item in saltmere.search(question, hops=1)} == {1}
    assert saltmere.search(question, namespace="nothing") == ()


def test_an_answerer_without_a_search_says_so(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "store", create=True, answerer="babi") as memory:
        memory.ingest(Document(id="a", text="Mary went to the garden."))
        with pytest.raises(ModelError, match="can't search; open it with the answerer 'text'"):
            memory.search("Mary")


def test_many_questions_are_answered_in_their_order(toy_engine: Engine) -> None:
    memory = _ships(toy_engine)
    questions = [f"What is in log {number % 3}?" for number in range(12)]
    answers = list(memory.ask_many(iter(questions), where={"captain": ["Ann", "Bo", "Cy"]}))
    assert [answer.question for answer in answers] == questions
    single = [memory.ask(question, where={"tags": "log"}) for question in questions]
    assert [answer.candidates for answer in answers] == [answer.candidates for answer in single]
    asking = memory.ask_many(["What is in log 1?", " "])
    assert next(asking).question == questions[1]
    with pytest.raises(InputError, match="the question is empty"):
        next(asking)


def test_an_empty_memory_is_true_and_a_closed_one_can_be_printed(toy_engine: Engine) -> None:
    assert len(toy_engine) == 0
    assert toy_engine
    toy_engine.close()
    assert "is closed" in repr(toy_engine)


def test_an_answer_has_its_kind(toy_engine: Engine, saltmere: Engine) -> None:
    kinds = {
        "Which ports does the Morning Petrel call at?": "facts",
        "Where was the builder of the Orre Light born?": "value",
        "What is the capital of Portugal?": "none",
    }
    assert {question: saltmere.ask(question).kind for question in kinds} == kinds
    toy_engine.ingest(Document(id="a", text="The light is old. It was built by Ann."))
    assert toy_engine.ask("The light was built by whom?").kind == "statement"


def test_facts_answer_only_what_they_say(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(Fact(subject="Orre Light", relation="built by", object="Ada Rank"))
        assert engine.ask("Who built the Orre Light?").answer == "Ada Rank"
        for question in ("How tall is the Orre Light?", "Is the Orre Light made of brick?"):
            assert engine.ask(question).abstained


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda engine: engine.get(3), "a source id is of type int, expected text"),
        (lambda engine: engine.get("a", None), "the namespace is of type NoneType"),
        (lambda engine: engine.sources(3), "the namespace is of type int"),
        (lambda engine: engine.ask(" \n"), "the question is empty; ask something in plain words"),
        (lambda engine: engine.ask(123), "the question is of type int, expected text"),
        (lambda engine: engine.ask(None), "the question is of type NoneType, expected text"),
        (lambda engine: engine.search(3), "the question is of type int, expected text"),
        (lambda engine: engine.search("a", 0), "top_k is 0; it must be a whole number from 1 to"),
        (lambda engine: engine.ask("who?", hops=0), "hops is 0; it must be a whole"),
        (lambda engine: engine.ask("who?", where=3), "where is of type int; expected a mapping"),
        (lambda engine: engine.ask("who?", where={"a": {}}), r"where\['a'\] is {}; expected"),
        (lambda engine: engine.ask("who?", namespace=3), "the namespace is of type int"),
        (lambda engine: engine.ask("who?", hops="3"), "hops is '3'; it must be a whole"),
        (lambda engine: engine.ask("who?", top_k=2.5), "top_k is 2.5; it must be a whole"),
        (lambda engine: engine.ingest(None), "an input is of type NoneType; expected paths"),
        (lambda engine: engine.ingest([None]), "an input is of type NoneType; expected paths"),
        (lambda engine: engine.ingest(3), "an input is of type int; expected paths"),
        (lambda engine: engine.ingest(b"a.txt"), "an input is of type int; expected paths"),
        (lambda engine: engine.ingest(io.StringIO("a")), "gives str, expected bytes; open it in"),
        (lambda engine: engine.ingest("a", namespace=None), "the namespace is of type NoneType"),
        (lambda engine: engine.tell(None), "the text is of type NoneType, expected text"),
        (lambda engine: engine.tell("A.", namespace=None), "the namespace is of type NoneType"),
        (lambda engine: engine.history(3), "the name is of type int, expected text"),
        (lambda engine: engine.forget(3), "a source id is of type int, expected text"),
        (lambda engine: engine.forget("a", namespace=None), "the namespace is of type NoneType"),
    ],
)
def test_a_wrong_argument_is_named_and_nothing_is_checked_for_it(
    toy_engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[Any], object],
    complaint: str,
) -> None:
    monkeypatch.setattr(toy_engine.store, "verify", _unexpected)
    with pytest.raises(InputError, match=complaint) as caught:
        call(toy_engine)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [ValueError, KeyError, TypeError, AttributeError, OverflowError])
def test_what_a_callers_function_raises_passes_through(
    toy_engine: Engine, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    raised = kind("mine")

    def broken(_: object) -> None:
        raise raised

    def inputs() -> Iterator[Document]:
        yield Document(id="b", text="Two.")
        raise raised

    monkeypatch.setattr(toy_engine.store, "verify", _unexpected)
    calls: list[Callable[[], object]] = [
        lambda: toy_engine.ingest(Document(id="a", text="One."), on_progress=broken),
        lambda: toy_engine.ingest("nowhere", Document(id="a", text="One."), on_problem=broken),
        lambda: toy_engine.ingest(inputs()),
    ]
    for call in calls:
        with pytest.raises(kind) as caught:
            call()
        assert caught.value is raised


def _unexpected() -> list[str]:
    raise AssertionError("the whole store was checked")


def test_many_threads_may_ask_while_one_writes(toy_engine: Engine) -> None:
    toy_engine.ingest(Document(id="fixed", title="Fixed", text="The fixed old boat."))

    def ask() -> None:
        answer = toy_engine.ask("fixed old boat")
        assert "fixed" in [item.source for item in answer.evidence]

    with repeating(ask):
        for number in range(40):
            toy_engine.ingest(Document(id="moving", text=f"Boat number {number}."))
    assert toy_engine.info().documents == 2


def test_questions_files_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    for content, complaint in (
        ("", "holds no questions"),
        ('{"question": 3}', "line 1: question: Input should be a valid string"),
        ('\n{"question": " "}', "line 2: question: the question is blank"),
        ("{", "line 1: line: Invalid JSON"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=complaint):
            read_questions(path)
    with pytest.raises(InputError, match="can't be read"):
        read_questions(path.parent / "none")
