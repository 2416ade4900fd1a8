"""Other languages than English: how they are known, found by words, and shown."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memnet import Document, Engine
from memnet.documents.answers import TextAnswers
from memnet.encoders.protocol import document_encode, query_encode
from memnet.storage import EVERYWHERE
from memnet.text.english import is_foreign, query_terms, units
from tests.toy import ToyEncoder, toy_memory


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Who mends the nets of the fleet?", False),
        ("harbour dues?", False),
        ("What does 波止場 mean in the log?", False),
        ("int main(void) { return 0; }", False),
        ("", False),
        ("Кто чинит сети?", True),
        ("港の主人は誰ですか", True),
        ("من يصلح الشباك؟", True),
        ("Wer flickt die Netze der Fischer im Hafen?", True),
        ("Qui répare les filets des pêcheurs du port ?", True),
    ],
)
def test_other_languages_are_known(text: str, foreign: bool) -> None:
    assert is_foreign(text) == foreign


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Kto naprawia sieci w porcie?", True),
        ("Balıkçıların ağlarını kim onarıyor?", True),
        ("Ai sửa lưới ở cảng?", True),
        ("Status of order INV-2024-88?", False),
        ("Calories per portion of the dulce de leche?", False),
        ("Who is Łukasz Wójcik?", False),
        ("Schadenfreude?", False),
    ],
)
def test_languages_are_known_without_their_function_words(text: str, foreign: bool) -> None:
    pytest.importorskip("py3langid")
    assert is_foreign(text) == foreign


@pytest.mark.parametrize("asked", ["Straße", "muller", "Brücke", "灯塔", "ประภาคาร"])
def test_words_of_other_languages_are_found(toy_engine: Engine, asked: str) -> None:
    toy_engine.ingest(Document(id="a", text="Müller wohnt an der Straße zur Brücke."))
    toy_engine.ingest(Document(id="b", text="岛上有一座灯塔。 มีประภาคารอยู่บนเกาะ"))
    hits = toy_engine.store.search_lexical(query_terms(asked), 5)
    assert hits.mask.sum() == 1


@pytest.mark.parametrize(
    "text", ["灯塔在岛上。它建于一八六二年！谁建的？", "दीपस्तंभ द्वीप पर है। वह पुराना है।"]
)
def test_sentences_of_other_scripts_are_units(text: str) -> None:
    assert len(units(text)) == sum(text.count(mark) for mark in "。！？।")


class _Sides(ToyEncoder):
    fingerprint = "sides/1"

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode([f"ask {text}" for text in texts])

    def encode_document(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode([f"keep {text}" for text in texts])


def test_each_side_is_encoded_by_its_own(tmp_path: Path) -> None:
    encoder, text = _Sides(), "The net hangs on the quay."
    with toy_memory(tmp_path, encoder=encoder) as memory:
        memory.ingest(Document(id="a", text=text))
        [slot] = memory.store.passage_ids().tolist()
        [stored] = memory.store.keys([slot]).vectors
        np.testing.assert_allclose(stored, encoder.encode([f"keep {text}"])[0], atol=1e-3)
        asked = "Where is the net?"
        assert isinstance(memory.answerer, TextAnswers)
        similar = memory.answerer.question(asked, EVERYWHERE).vector @ stored
        np.testing.assert_allclose(similar, encoder.encode([f"ask {asked}"])[0] @ stored, atol=1e-3)
    plain = ToyEncoder()
    for encode in (query_encode, document_encode):
        np.testing.assert_array_equal(encode(plain)([text]), plain.encode([text]))


@pytest.mark.parametrize("question", ["Кто построил маяк?", "Who built the tower on the island?"])
def test_what_is_not_english_is_shown_unread(toy_engine: Engine, question: str) -> None:
    toy_engine.ingest(Document(id="m", text="Маяк на острове построила Уна Тейл. Он из гранита."))
    answer = toy_engine.ask(question)
    assert answer.short is None
    assert answer.abstained or answer.shown == "passage"
    assert not any(quote.words for quote in answer.quotes)
