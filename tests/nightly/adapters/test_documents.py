"""Documents of other frameworks in a memory, whatever the framework."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet import Document, Engine, InputError
from memnet.adapters.documents import StoredDocuments, passage_id

SPACE = st.sampled_from(
    [" ", "  ", "\n", "\n\n", "\r\n", "\t", "\n \n\n", "\u00a0", "\u2028", "\x0b"]
)
WORDS = st.sampled_from(["quay", "boat", "A long sentence. ", "granite " * 150])
TEXTS = st.lists(SPACE | WORDS, min_size=1, max_size=40).map("".join)


@given(text=TEXTS | st.text(min_size=1))
def test_any_text_comes_back_as_it_is(toy_engine: Engine, text: str) -> None:
    documents = StoredDocuments(toy_engine, "any")
    before = documents.get("a")
    document = Document(id="a", text=text, title="Quays", metadata={"n": [1, None]})
    try:
        documents.put([document])
    except InputError:
        assert not text.strip() or "\x00" in text or not _is_valid(text)
        assert documents.get("a") == before
    else:
        assert documents.get("a") == document
        for found in documents.search("quay", 2):
            evidence = found.evidence
            assert found.document == document
            assert text[evidence.start : evidence.end] == evidence.text


def _is_valid(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def test_a_list_is_stored_whole_or_not_at_all(toy_engine: Engine) -> None:
    documents = StoredDocuments(toy_engine)
    documents.put([Document(id="a", text="An old quay.  \n")])
    generation = toy_engine.info().generation
    with pytest.raises(InputError, match="nothing was stored"):
        documents.put(
            [
                Document(id="a", text="A new quay.  \n"),
                Document(id="b", text="A boat."),
                Document(id="c", text="Too much.", metadata={"x": "y" * 200_000}),
            ]
        )
    assert [one.text for one, _ in documents.all()] == ["An old quay.  \n"]
    assert toy_engine.info().generation == generation
    assert toy_engine.verify().problems == ()


def test_each_document_is_found_once(toy_engine: Engine) -> None:
    documents = StoredDocuments(toy_engine)
    long = "\n\n".join(f"The quay of stone, number {n}. " * 20 for n in range(30))
    documents.put([Document(id="long", text=long), Document(id="b", text="A boat."),
                   Document(id="c", text="A field.")])  # fmt: skip
    assert documents.search("the quay of stone", 1)[0].document.id == "long"
    vector = toy_engine.encoder.encode(["the quay of stone"])[0].tolist()
    near = documents.nearest(vector, 3)
    assert near[0].document.id == "long"
    assert {one.document.id for one in near} == {"long", "b", "c"}
    scores = [one.evidence.score for one in near]
    assert scores == sorted(scores, reverse=True)


def test_what_was_ingested_otherwise_comes_as_passages(toy_engine: Engine) -> None:
    toy_engine.ingest(Document(id="a", text="A quay.", metadata={"year": 1862}))
    documents = StoredDocuments(toy_engine)
    (found,) = documents.search("quay", 3)
    assert found.document.id == passage_id(found.evidence) == "a#0-7"
    assert found.document.metadata["source"] == "a"
    assert found.document.metadata["year"] == 1862
    assert documents.get("a") == toy_engine.get("a")
    assert documents.search("quay", 3, ids=["a"]) == []


def test_namespaces_keep_apart(toy_engine: Engine) -> None:
    here, there = StoredDocuments(toy_engine, "here"), StoredDocuments(toy_engine, "there")
    here.put([Document(id="a", text="A quay here.")])
    there.put([Document(id="a", text="A quay there."), Document(id="b", text="A boat.")])
    assert [one.document.text for one in here.search("quay", 5)] == ["A quay here."]
    assert here.known(["a", "b"]) == {"a"}
    assert here.delete(["a", "b"]) == 1
    assert [one.text for one, _ in there.all()] == ["A quay there.", "A boat."]
