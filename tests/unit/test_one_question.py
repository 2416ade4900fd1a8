"""What one question reads of a memory: each slot once, all of one commit, and what its hops say."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from memnet import Document, Engine
from memnet.config import AnswerConfig, Config
from memnet.documents.answers import TextAnswers
from memnet.documents.controller import TextController
from memnet.reader.loading import LoadedReader
from memnet.reader.spans import Passage, Reading, Span
from memnet.storage import EVERYWHERE, Keys, MemoryStore, Slot, Symbols
from memnet.types import Answer
from tests.toy import ToyEncoder

DOCUMENTS = [
    Document(id="head", title="Orre Head", text="Orre Head is a rock in Holm."),
    Document(id="holm", title="Holm", text="Holm is led by Eve."),
    Document(id="petrel", title="Petrel", text="Petrel is a film by Cy Dell, who likes herring."),
    Document(id="cy", title="Cy Dell", text="Cy Dell was born in Brock. He died in Kestle."),
    *(Document(id=f"n{n}", title=f"Noise {n}", text=f"Filler about rock {n}.") for n in range(20)),
]
READ = {
    "What is the country where Orre Head is located?": "Holm",
    "Who leads Holm?": "Eve",
    "Who directed Petrel?": "Cy Dell",
    "Where did Cy Dell die?": "Kestle",
}
ABROAD = "Who leads the country where Orre Head is located?"
DIED = "Where did the director of Petrel die?"


class CountingStore(MemoryStore):
    """Counts how often each slot is fetched."""

    def __init__(self, path: Path, encoder: ToyEncoder) -> None:
        self.fetched: Counter[tuple[str, int]] = Counter()
        super().__init__(
            path, fingerprint=encoder.fingerprint, dimension=encoder.dimension, create=True
        )

    def fetch(self, ids: Sequence[int]) -> list[Slot]:
        self.fetched.update(("slot", slot) for slot in ids)
        return super().fetch(ids)

    def keys(self, ids: Sequence[int]) -> Keys:
        self.fetched.update(("key", slot) for slot in ids)
        return super().keys(ids)

    def symbols(self, ids: Any) -> dict[int, Symbols]:
        ids = list(ids)
        self.fetched.update(("symbols", slot) for slot in ids)
        return super().symbols(ids)


class TableReader:
    """Reads what ``READ`` says, wherever it stands; a reader and what loads it."""

    def __init__(self, on_read: Callable[[str], None] = lambda _: None) -> None:
        self.on_read = on_read

    def load(self) -> LoadedReader:
        return LoadedReader(self)

    def load_programs(self) -> None:
        return None

    def load_verdicts(self) -> "TableReader":
        return self

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        self.on_read(question)
        answer = READ.get(question, "?")
        spans = [
            Span(number, start, start + len(answer), 0.9)
            for number, passage in enumerate(passages)
            if (start := passage.text.find(answer)) >= 0
        ]
        return Reading(tuple(spans), 0.0, 0.0, 0.9)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CountingStore]:
    with _open(tmp_path) as engine:
        engine.ingest(DOCUMENTS)
        assert isinstance(engine.store, CountingStore)
        engine.store.fetched.clear()
        yield engine.store


def _open(path: Path) -> Engine:
    encoder = ToyEncoder()
    store = CountingStore(path, encoder)
    return Engine(store, encoder, Config(), answerer="untrained", reader="sentences")


def _ask(
    store: MemoryStore, question: str, reader: TableReader | None = None, rules: bool = True
) -> Answer:
    config = Config(answer=AnswerConfig(rules=rules))
    controller = TextController(config.hop)
    lazy = cast(Any, reader or TableReader())
    answers = TextAnswers(store, ToyEncoder(), controller, lazy, "test", config, lambda _: None)
    return answers.ask(question, None, 10, EVERYWHERE)


@pytest.mark.parametrize(("question", "answer"), [(ABROAD, "Eve"), (DIED, "Kestle")])
def test_no_slot_is_fetched_twice_for_one_question(
    store: CountingStore, question: str, answer: str
) -> None:
    found = _ask(store, question)
    assert found.candidates[0].text == answer
    assert len(found.hops) > 2
    assert {kind for kind, _ in store.fetched} == {"slot", "key", "symbols"}
    assert set(store.fetched.values()) == {1}


def test_all_hops_of_a_question_see_one_commit(store: CountingStore, tmp_path: Path) -> None:
    """A commit between a hop and the next one, which a sub-question needs, is seen by neither."""
    before = _ask(store, ABROAD)

    def on_read(question: str) -> None:
        if question == "What is the country where Orre Head is located?":
            with _open(tmp_path) as other:
                other.ingest(Document(id="holm", title="Holm", text="Holm is led by Bo, not Eve."))
                other.forget("head")

    during = _ask(store, ABROAD, TableReader(on_read))
    assert during.candidates == before.candidates
    assert during.evidence == before.evidence
    assert during.hops == before.hops
    after = _ask(store, "Who leads Holm?")
    assert "Holm is led by Bo, not Eve." in [item.text for item in after.evidence]
    assert "head" not in [item.source for item in after.evidence]


def test_a_sub_question_that_looks_further_is_hops_of_its_own(store: CountingStore) -> None:
    found = _ask(store, ABROAD)
    whole = _ask(store, ABROAD, rules=False)
    assert found.hops[: len(whole.hops)] == whole.hops
    further = found.hops[len(whole.hops)]
    alone = _ask(store, "Who leads Holm?", rules=False)
    assert further.weights == alone.hops[0].weights
    [holm] = [weight for weight in further.weights if weight.source == "holm"]
    assert holm.via == "holm"
    assert found.evidence[0].source == "holm"


def test_a_sub_question_about_what_was_found_attends_to_it_once_more(store: CountingStore) -> None:
    found = _ask(store, DIED)
    last = found.hops[-1].weights
    assert {weight.source for weight in last} == {"cy", "petrel"}
    assert {weight.via for weight in last} == {"Cy Dell"}
    assert sum(weight.weight for weight in last) == pytest.approx(1)
    weights = {weight.source: weight for weight in found.hops[-2].weights}
    symbolic = Config().hop.question_symbol_weight
    for weight in last:
        added = symbolic if weight.source == "cy" else 0.0
        assert weight.symbolic == pytest.approx(weights[weight.source].symbolic + added)
    assert "cy" in [item.source for item in found.evidence[:2]]


def test_without_a_decomposer_a_question_is_read_as_it_is(store: CountingStore) -> None:
    for question in (ABROAD, DIED):
        found = _ask(store, question, rules=False)
        assert len(found.hops) <= Config().hop.hops
        assert "Eve" not in [one.text for one in found.candidates]


@pytest.mark.parametrize("codes", [("7714", "3380"), ("7714", "7714")])
def test_each_passage_is_read_once(tmp_path: Path, codes: tuple[str, str]) -> None:
    """Versions too, of which nothing says which holds: both are shown where they differ."""
    together: list[list[str]] = []

    class Codes(TableReader):
        def read(self, question: str, passages: Sequence[Passage]) -> Reading:
            if len(passages) > 1:  # a quotation is read again by itself
                together.append([one.text for one in passages])
            spans = [Span(n, one.text.index("is") + 3, len(one.text) - 1, 0.9 - n / 10)
                     for n, one in enumerate(passages)]  # fmt: skip
            return Reading(tuple(spans), 0.0, 0.0, 0.9)

    with _open(tmp_path) as engine:
        texts = [f"The code of the blue boat shed is {code}." for code in codes]
        engine.ingest(Document(id=f"{n}.md", title="Shed", text=text)
                      for n, text in enumerate(texts))  # fmt: skip
        answer = _ask(engine.store, "Which code has the blue boat shed?", Codes())
    assert sorted(map(sorted, together)) == ([sorted(texts)] if len(set(texts)) > 1 else [])
    assert sorted(quote.text for quote in answer.quotes) == sorted(set(texts))
