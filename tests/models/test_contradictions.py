"""Contradictions between messages: which are told, how, and which are none."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.chats import stance_examples
from memnet import Answer, Document, Engine, Message, ModelError
from memnet.checkpoints import save_checkpoint
from memnet.encoders.minilm import MiniLMEncoder
from memnet.learning.evaluation import area_under_roc
from memnet.reader.loading import SPANS, LazyReader
from memnet.reader.spans import Passage, Reading
from memnet.statements.loading import LazyStatementReader
from memnet.statements.reading import CERTAINTIES, Manner, StatementReader, StatementReading
from memnet.statements.stance import (
    AFFIRMING,
    DENYING,
    STANCE,
    StanceJudge,
    StanceWeights,
    load_stance,
    shared_words,
)
from memnet.types import Certainty
from tests.oracle import logistic

_DENIED = "I've never driven a tractor, is it hard to learn?"
_AFFIRMED = "My tractor broke down yesterday while I drove it home from the field."
_OTHERS = (
    "The tomatoes on the balcony have brown spots.",
    "Can you recommend a book about birds?",
    "I paint the fence on Sunday.",
)
_ASKED = "Have I ever driven a tractor?"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "store", create=True) as engine:
        yield engine


def _remember(memory: Engine, *said: str | tuple[str, str]) -> None:
    pairs = [("user", one) if isinstance(one, str) else one for one in said]
    memory.remember(
        Message(id=f"m{number}", session="1", speaker=speaker, time="2025-03-04", text=text)
        for number, (speaker, text) in enumerate(pairs)
    )


def _shown(answer: Answer) -> list[tuple[str, str]]:
    return [(one.source, one.text) for one in answer.quotes]


def test_both_sides_are_quoted_and_asked_back(memory: Engine) -> None:
    _remember(memory, _OTHERS[0], _AFFIRMED, *_OTHERS[1:], f"Thanks! {_DENIED}")
    answer = memory.ask(_ASKED)
    assert answer.contradiction
    assert not answer.abstained
    assert answer.short is None
    assert _shown(answer) == [("m1", _AFFIRMED), ("m4", _DENIED)]
    assert answer.answer == (
        f"These contradict each other; which of them is right?\n{_AFFIRMED}\n{_DENIED}"
    )
    for quote, candidate in zip(answer.quotes, answer.candidates, strict=True):
        document = memory.get(quote.source)
        assert document is not None
        assert document.text[quote.start : quote.end] == quote.text == candidate.text
        assert (quote.start, quote.end) == (candidate.start, candidate.end)
    assert answer.confidence is not None
    assert 0 < answer.confidence <= 1
    assert answer.experts[0].name == "documents"
    assert {one.source for one in memory.ask(_ASKED, top_k=1).evidence} == {"m1", "m4"}


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ((*_OTHERS, _DENIED), _ASKED),
        ((*_OTHERS, _AFFIRMED), _ASKED),
        ((*_OTHERS, ("assistant", _AFFIRMED), _DENIED), _ASKED),
        ((*_OTHERS, ("Ada", _AFFIRMED), _DENIED), _ASKED),
        ((_AFFIRMED, *_OTHERS, _DENIED), "What happened to my tractor?"),
    ],
    ids=["denied", "affirmed", "by the assistant", "by another", "not asked whether"],
)
def test_what_contradicts_nothing(
    memory: Engine, said: tuple[str | tuple[str, str], ...], asked: str
) -> None:
    _remember(memory, *said)
    assert not memory.ask(asked).contradiction


def test_documents_are_answered_as_before(memory: Engine) -> None:
    texts = (_AFFIRMED, *_OTHERS, _DENIED)
    memory.ingest(
        *(Document(id=f"d{number}", title="Notes", text=one) for number, one in enumerate(texts))
    )
    assert not memory.ask(_ASKED).contradiction


class _Reader:
    """Says what it was given, and counts."""

    def __init__(self) -> None:
        self.read_: list[str] = []

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        self.read_ += [one.text for one in passages]
        no = 0.9 if "never" in passages[0].text else 0.2
        return Reading((), yes=0.05, no=no, answerable=0.8)


class _Statements(StatementReader):
    """Takes "never" for a denial."""

    def __init__(self) -> None:
        self.answered: list[str] = []

    def manner(self, text: str) -> Manner:
        certainty: dict[Certainty, float] = {
            one: 0.7 if one == "was" else 0.1 for one in CERTAINTIES
        }
        return Manner(4.0 if "never" in text else -4.0, certainty)

    def answer(
        self,
        question: str,
        statements: Sequence[Passage],
        prior: NDArray[np.float32] | None = None,
    ) -> StatementReading:
        self.answered += [one.text for one in statements]
        forms = {"none": 0.1, "value": 0, "list": 0, "count": 0, "yes": 0.8, "no": 0.1}
        return StatementReading({**forms, "conflict": 0}, (), (), 0, (0.6,))  # type: ignore[dict-item]


def _encode(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([[0.6, 0.8] if "?" in one else [1.0, 0.0] for one in texts], np.float32)


def _judge(seed: int = 0) -> tuple[StanceJudge, StanceWeights, _Statements, _Reader]:
    rng = np.random.default_rng(seed)
    weights = StanceWeights(rng.normal(size=len(AFFIRMING)), rng.normal(size=len(DENYING)))
    statements, reader = _Statements(), _Reader()
    return StanceJudge(weights, _encode, statements, reader), weights, statements, reader


def test_stances_are_logistic_regressions_over_what_was_read() -> None:
    judge, weights, statements, reader = _judge()
    texts = ["I never drove it", "I drove my tractor", "The tractor is red"]
    stances = judge.judge("Did I drive my tractor?", texts)
    stems = (0.0, 2 / 3, 1 / 3)  # of "drive", "my" and "tract"; "drove" is another one
    for index, text in enumerate(texts):
        assert shared_words("Did I drive my tractor?", text) == pytest.approx(stems[index])
    values = {"bias": 1.0, "words": stems[0], "negative": 4.0, "no": 0.9, "answerable": 0.8}
    assert stances.denies[0] == pytest.approx(
        logistic(weights.denying, values, DENYING, ("no", "answerable")), rel=1e-5
    )
    assert stances.affirms[0] == 0
    for index, first_person in ((1, 1.0), (2, 0.0)):
        values = {"bias": 1.0, "words": stems[index], "similarity": 0.6, "negative": -4.0}
        values |= dict.fromkeys(CERTAINTIES, 0.1) | {"was": 0.7, "first person": first_person}
        values |= {"yes": 0.8, "no": 0.1, "none": 0.1, "relevance": 0.6}
        probabilities = (*CERTAINTIES, "yes", "no", "none", "relevance")
        assert stances.affirms[index] == pytest.approx(
            logistic(weights.affirming, values, AFFIRMING, probabilities), rel=1e-5
        )
        assert stances.denies[index] == 0
    assert (reader.read_, statements.answered) == (texts[:1], texts[1:])


def test_nothing_is_read_for_an_affirmation_where_nothing_denies() -> None:
    judge, _, statements, reader = _judge()
    stances = judge.judge("Did I drive it?", ["I drove it", "It is red"], least=0.25)
    assert (reader.read_, statements.answered) == ([], [])
    assert not stances.affirms.any()
    assert judge.judge("Did I drive it?", [], least=0.25).denies.shape == (0,)


def test_weights_survive_saving_and_damage_is_told(tmp_path: Path) -> None:
    assert load_stance(tmp_path) is None
    _, weights, _, _ = _judge()
    save_checkpoint(tmp_path, STANCE, weights._asdict(), {"kind": STANCE})
    loaded = load_stance(tmp_path)
    assert loaded is not None
    np.testing.assert_array_equal(loaded.affirming, weights.affirming)
    np.testing.assert_array_equal(loaded.denying, weights.denying)
    shorter = {**weights._asdict(), "denying": np.zeros(1)}
    save_checkpoint(tmp_path, STANCE, shorter, {"kind": STANCE})
    with pytest.raises(ModelError, match="tensor denying has shape"):
        load_stance(tmp_path)


def test_the_shipped_weights_tell_stances_that_were_held_out() -> None:
    from memnet.checkpoints import SHIPPED

    weights = load_stance(SHIPPED / "stance")
    statements, reader = LazyStatementReader().load(), LazyReader(SPANS).load().reader
    assert weights is not None
    assert statements is not None
    assert reader is not None
    judge = StanceJudge(weights, MiniLMEncoder().encode, statements, reader)
    held_out = [one for one in stance_examples() if one.held_out][::2]
    found = [judge.judge(one.question, [one.text]) for one in held_out]
    affirms = area_under_roc(
        [float(one.affirms[0]) for one in found], [one.affirms for one in held_out]
    )
    denies = area_under_roc(
        [float(one.denies[0]) for one in found], [one.denies for one in held_out]
    )
    assert affirms is not None
    assert affirms > 0.85
    assert denies is not None
    assert denies > 0.95
