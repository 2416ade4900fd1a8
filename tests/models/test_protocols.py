"""Parts that a user brings, given to ``Engine.open`` as objects."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memnet import (
    Answer,
    Document,
    EncoderError,
    EncoderMismatchError,
    Engine,
    Fact,
    InputError,
    ModelError,
)
from memnet.protocols import Answerer, Encoder, Extractor, Passage, Reader, Reading, Scope, Span
from tests.toy import DIMENSION, ToyEncoder

TEXT = Document(id="a", title="Orre Light", text="It was built by Ann Rank in 1842.")


class MinimalEncoder:
    """No more than the protocol asks for."""

    fingerprint = "minimal/1"
    dimension = DIMENSION

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return ToyEncoder().encode(texts)


class YearReader:
    """Points at the first year of each passage."""

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        spans = tuple(
            Span(number, place, place + 4, 0.9)
            for number, passage in enumerate(passages)
            if (place := passage.text.find("18")) >= 0
        )
        return Reading(spans=spans, yes=0.0, no=0.0, answerable=1.0)


class Ships:
    """Finds names in lower case, which the built-in extractor passes over."""

    def __init__(self, fingerprint: str) -> None:
        self.fingerprint = fingerprint

    def extract(self, text: str) -> list[str]:
        return [word for word in text.split() if word.startswith("ms-")] + ["", " "]


class Oracle:
    """Always knows."""

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        return Answer(
            question=question, kind="value", answer=f"42 {scope.where}", confidence=0.5,
            abstained=False, candidates=(), evidence=(), hops=(), model="oracle", elapsed_ms=0.0,
        )  # fmt: skip


def _open(path: Path, **parts: Any) -> Engine:
    arguments = {"answerer": "untrained", "reader": "sentences", "encoder": MinimalEncoder()}
    return Engine.open(path, create=True, **{**arguments, **parts})


def test_the_toys_fulfil_the_protocols() -> None:
    """The type checker looks at this."""
    parts: tuple[Encoder, Reader, Answerer, Extractor] = (
        MinimalEncoder(), YearReader(), Oracle(), Ships("1"),
    )  # fmt: skip
    assert len(parts) == 4


def test_an_encoder_is_used_and_its_fingerprint_checked(tmp_path: Path) -> None:
    encoder = MinimalEncoder()
    with _open(tmp_path / "store", encoder=encoder) as memory:
        assert memory.encoder is encoder
        memory.ingest(TEXT, Fact(subject="Orre", relation="lies in", object="Kestle"))
        memory.tell("Ann moved to Paris.")
        assert memory.info().encoder == "minimal/1"
        assert memory.search("What is the Orre Light?", 1)[0].source == "a"
        assert memory.ask("Orre lies in what?").short == "Kestle"
        memory.export_bundle(tmp_path / "memory.zip")
    with pytest.raises(EncoderMismatchError, match="was made with encoder minimal/1, not with toy"):
        _open(tmp_path / "store", encoder=ToyEncoder())
    with pytest.raises(EncoderMismatchError, match="was made with encoder minimal/1"):
        Engine.open(tmp_path / "store")
    Engine.import_bundle(tmp_path / "memory.zip", tmp_path / "copy", encoder)
    with _open(tmp_path / "copy") as memory:
        assert "a" in memory


def test_a_reader_is_used(tmp_path: Path) -> None:
    with _open(tmp_path / "store", reader=YearReader()) as memory:
        memory.ingest(TEXT)
        memory.preload()
        answer = memory.ask("When was the Orre Light built?")
        assert (answer.short, answer.kind, answer.confidence) == ("1842", "value", None)
        assert answer.answer == "It was built by Ann Rank in 1842."
        assert answer.evidence[0].source == "a"


def test_an_extractor_finds_the_names_of_what_is_ingested(tmp_path: Path) -> None:
    document = Document(id="a", text="At dawn ms-petrel left.")
    for fingerprint, updated in (("1", 0), ("1", 0), ("2", 1)):
        with _open(tmp_path / "store", extractor=Ships(fingerprint)) as memory:
            report = memory.ingest(document)
            assert (report.updated, report.skipped) == (updated, 0)
            assert memory.store.search_mentions(["ms petrel"], 9) == {"ms petrel": [1]}
            assert memory.verify().problems == ()
    with _open(tmp_path / "store") as memory:
        assert memory.ingest(document).updated == 1
        assert memory.store.search_mentions(["ms petrel"], 9) == {}


def test_an_answerer_is_used(tmp_path: Path) -> None:
    oracle = Oracle()
    with _open(tmp_path / "store", answerer=oracle) as memory:
        assert memory.answerer is oracle
        assert memory.ask("What is it?", where={"a": 1}).answer == "42 {'a': 1}"
        with pytest.raises(InputError, match="the question is empty"):
            memory.ask(" ")
        with pytest.raises(ModelError, match="can't search"):
            memory.search("it")


@pytest.mark.parametrize(
    "vectors",
    [[[0.0] * DIMENSION], np.zeros(DIMENSION), np.zeros((1, 3)), np.full((1, DIMENSION), np.nan)],
)
def test_an_encoder_that_gives_other_vectors_is_refused(tmp_path: Path, vectors: object) -> None:
    encoder = MinimalEncoder()
    encoder.encode = lambda _: vectors  # type: ignore[assignment, method-assign, return-value]
    with pytest.raises(EncoderError, match=r"'minimal/1' gives .*expected .* \(1, 64\)"):
        _open(tmp_path / "store", encoder=encoder)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("part", "complaint"),
    [
        ("encoder", "the encoder is of type int, which has no 'fingerprint'; expected an obj"),
        ("reader", r"the reader is of type int, which has no 'read'; .*memnet.protocols.Reader"),
        ("extractor", r"the extractor is of type int, which has no 'fingerprint'"),
        ("answerer", r"the answerer is of type int, which has no 'ask'"),
    ],
)
def test_an_object_of_another_kind_is_named(tmp_path: Path, part: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        _open(tmp_path / "store", **{part: 3})
