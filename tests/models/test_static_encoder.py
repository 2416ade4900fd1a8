"""Quick vectors from a table, and what is found by them compared again in full."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from memnet import Document, Engine, Fact
from memnet.checkpoints import SHIPPED, load_checkpoint
from memnet.cli.main import memnet as group
from memnet.documents.candidates import Candidates, LinkFeature, SlotFeature, rescore
from memnet.documents.question import FullVectors, Question, RecentVectors
from memnet.encoders.minilm import STATIC, MiniLMEncoder, StaticEncoder
from memnet.encoders.protocol import QuickEncoder, query_encode
from memnet.encoders.weights import load_tokenizer
from memnet.errors import EncoderMismatchError, ModelError
from memnet.experts.registry import load_static_encoder
from tests import oracle
from tests.toy import ToyEncoder

FOLDER = SHIPPED / STATIC
_ROUNDING = 2e-4  # by how much a component may be rounded, where none is above 0.5
LIGHT = "The Orre Light was raised by Edda Rank in 1912, of granite."
HARBOUR = "Pellgate has a harbour with two quays and a customs house."
LONG = " ".join(f"lamp {number} of the pier" for number in range(1_200))


@pytest.fixture(scope="module")
def encoder() -> StaticEncoder:
    return load_static_encoder(FOLDER, MiniLMEncoder())


def test_a_vector_is_the_projected_sum_of_token_vectors(encoder: StaticEncoder) -> None:
    texts = [HARBOUR, "", "Zażółć 漢字 \U0001f600", LIGHT]
    arrays, _ = load_checkpoint(FOLDER, STATIC)
    tokenizer = load_tokenizer()
    slow = [oracle.table_vector(arrays, tokenizer.encode(text).ids) for text in texts]
    vectors = encoder.encode_quick(texts)
    np.testing.assert_allclose(vectors, slow, atol=_ROUNDING)
    np.testing.assert_array_equal(vectors, vectors.astype(np.float16))


def test_a_long_text_is_summed_whole(encoder: StaticEncoder) -> None:
    arrays, _ = load_checkpoint(FOLDER, STATIC)
    ids = load_tokenizer().encode(LONG).ids
    assert len(ids) > 2 * 2048
    whole = (arrays["table"][ids] * arrays["scale"][ids, None].astype(np.float64)).sum(axis=0)
    vector = whole @ arrays["projection"].astype(np.float64)
    np.testing.assert_allclose(
        encoder.encode_quick([LONG])[0], vector / np.linalg.norm(vector), atol=_ROUNDING
    )


def test_a_vector_depends_neither_on_its_batch_nor_on_the_run(encoder: StaticEncoder) -> None:
    texts = [LIGHT, LONG, HARBOUR, *(f"{HARBOUR} {number}" for number in range(300))]
    together = encoder.encode_quick(texts)
    alone = np.concatenate([encoder.encode_quick([text]) for text in texts[:5]])
    np.testing.assert_allclose(alone, together[:5], atol=1e-7)
    again = load_static_encoder(FOLDER, MiniLMEncoder())
    np.testing.assert_array_equal(again.encode_quick(texts), together)
    assert again.fingerprint == encoder.fingerprint
    assert together.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=0.002)
    assert encoder.encode_quick([]).shape == (0, 384)


def test_both_ways_lie_in_one_space(encoder: StaticEncoder) -> None:
    quick, full = encoder.encode_quick([LIGHT, HARBOUR]), encoder.encode([LIGHT, HARBOUR])
    likeness = quick @ full.T
    assert likeness.diagonal().min() > 0.5
    assert likeness.diagonal().min() > likeness[[0, 1], [1, 0]].max() + 0.2
    np.testing.assert_array_equal(full, MiniLMEncoder().encode([LIGHT, HARBOUR]))


def test_passages_are_quick_and_all_else_is_full(tmp_path: Path, encoder: StaticEncoder) -> None:
    told = "Ann lives in Paris"
    with Engine.open(tmp_path, create=True, encoder=STATIC) as memory:
        memory.ingest(
            Document(id="light", title="Orre Light", text=LIGHT),
            Fact(subject="Grey Heron", relation="built_by", object="Tobias Veal"),
        )
        memory.tell(told)
        key = f"Orre Light\n{LIGHT}"
        stored = memory.store.encoded([key, "built by", told], _never)
    np.testing.assert_allclose(stored[key], encoder.encode_quick([key])[0], atol=1e-6)
    full = encoder.encode(["built by", told])
    np.testing.assert_allclose(stored["built by"], full[0], atol=2e-4)
    np.testing.assert_allclose(stored[told], full[1], atol=2e-4)


def _never(texts: Sequence[str]) -> NDArray[np.float32]:
    raise AssertionError(f"{texts} are not stored")


def test_a_store_keeps_its_encoder(tmp_path: Path, encoder: StaticEncoder) -> None:
    note = tmp_path / "light.txt"
    note.write_text(LIGHT)
    run = CliRunner().invoke
    made = run(group, ["ingest", str(note), "--encoder", STATIC, "--store", str(tmp_path / "s")])
    assert made.exit_code == 0, made.output
    with Engine.open(tmp_path / "s") as memory:  # without a name
        assert memory.encoder.fingerprint == encoder.fingerprint
        assert memory.search("Who raised the light?")[0].text == LIGHT
        assert memory.verify().problems == ()
    with pytest.raises(EncoderMismatchError, match=f"made with encoder '?{encoder.fingerprint}"):
        Engine.open(tmp_path / "s", encoder=MiniLMEncoder())
    with Engine.open(tmp_path / "other", create=True) as memory:
        memory.ingest(Document(id="light", text=LIGHT))
    refused = run(
        group, ["ingest", str(note), "--encoder", STATIC, "--store", str(tmp_path / "other")]
    )
    assert isinstance(refused.exception, EncoderMismatchError)
    for one in (MiniLMEncoder.fingerprint, encoder.fingerprint, "memnet encoder"):
        assert one in str(refused.exception)


def test_another_table_is_another_encoder(tmp_path: Path) -> None:
    full = MiniLMEncoder()
    arrays, _ = load_checkpoint(FOLDER, STATIC)
    old = StaticEncoder(arrays, "0" * 12, full)
    Engine.open(tmp_path, create=True, encoder=old).close()
    with pytest.raises(EncoderMismatchError, match="static/000000000000"):
        Engine.open(tmp_path)


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / STATIC
    with pytest.raises(ModelError, match=r"static\.json is missing"):
        load_static_encoder(folder, MiniLMEncoder())
    shutil.copytree(FOLDER, folder)
    [weights] = folder.glob("*.safetensors")
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    with pytest.raises(ModelError, match="checksum"):
        load_static_encoder(folder, MiniLMEncoder())


class _TwoWays(ToyEncoder):
    """Finds every passage equally near, unless it is encoded in full."""

    fingerprint = "two-ways/64"
    quick_is_final = True

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += texts
        return super().encode(texts)

    def encode_quick(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().encode(["the same"] * len(texts))


def test_what_is_found_is_compared_again_in_full(tmp_path: Path) -> None:
    encoder = _TwoWays()
    assert isinstance(encoder, QuickEncoder)
    names = "heron kestrel osprey merlin harrier".split()
    with Engine.open(
        tmp_path, create=True, encoder=encoder, answerer="untrained", reader="sentences"
    ) as memory:
        # No word of the question is theirs alone, so that only vectors tell them apart.
        memory.ingest(
            Document(id=name, text=f"a {name} by the pier " + "by the pier " * number)
            for number, name in enumerate(names)
        )
        assert all("pier" not in text for text in encoder.encoded)
        encoder.encoded.clear()
        question = "by the pier by the pier by the pier"
        first = memory.search(question)
        asked = [text for text in encoder.encoded if text != question]
        assert len(asked) == len(names)
        keys = {item.source: item.text for item in first}
        likeness = {name: float(_likeness(question, text)) for name, text in keys.items()}
        best = max(likeness, key=lambda name: likeness[name])
        assert first[0].source == best
        memory.search("the pier")
        assert [text for text in encoder.encoded if text in asked] == asked  # once each


def _likeness(one: str, other: str) -> np.float32:
    first, second = ToyEncoder().encode([one, other])
    likeness: np.float32 = first @ second
    return likeness


def test_new_cosines_keep_their_mean(toy_engine: Engine) -> None:
    toy_engine.ingest(
        Document(id="a", title="Orre Light", text="A tower of granite that Edda Rank raised."),
        Document(id="b", title="Edda Rank", text="A mason who was born in Pellgate."),
        Document(id="c", title="Pellgate", text="A harbour with a tower and two quays."),
    )
    from memnet.config import HopConfig
    from memnet.documents.controller import TextController
    from memnet.documents.hops import read_in_hops

    encode = ToyEncoder().encode
    with toy_engine.store.reading():
        question = Question("Where is the tower of Edda Rank?", toy_engine.store, encode)
        controller = TextController(HopConfig())
        before = read_in_hops(question, controller, HopConfig(), 2)[-1].candidates

        def other(texts: Sequence[str]) -> NDArray[np.float32]:
            return encode([f"{text} tower tower" for text in texts])

        assert rescore(before, np.array([0, 2]), question) is before
        question.full, best = FullVectors(other, of_all=True), [0, 2]
        after = rescore(before, np.array(best), question)
        slots = question.fetched.slots([before.ids[index] for index in best])
        vectors = other([f"{slot.title}\n{slot.text}" for slot in slots])
        assert rescore(before, np.array(best[:1]), question) is before
    _check(before, after, best, vectors @ question.vector)


def _check(
    before: Candidates, after: Candidates, best: list[int], cosines: NDArray[np.float32]
) -> None:
    old, new = before.features[:, SlotFeature.DENSE], after.features[:, SlotFeature.DENSE]
    assert np.abs(old - new).max() > 0.001
    assert new[best].mean() == pytest.approx(old[best].mean(), abs=1e-6)
    assert new[best[0]] - new[best[1]] == pytest.approx(cosines[0] - cosines[1], abs=1e-6)
    rest = [index for index in range(len(old)) if index not in best]
    np.testing.assert_array_equal(old[rest], new[rest])
    np.testing.assert_array_equal(after.features[:, SlotFeature.UNIT], new)
    others = [one for one in SlotFeature if one not in (SlotFeature.DENSE, SlotFeature.UNIT)]
    np.testing.assert_array_equal(before.features[:, others], after.features[:, others])
    of_links = after.links.features[:, LinkFeature.DENSE]
    np.testing.assert_array_equal(of_links, new[after.links.candidate])


def test_remembered_vectors_are_those_of_their_texts() -> None:
    encoder = _TwoWays()
    vectors = RecentVectors(encoder, kept=3)
    texts = ["one", "two", "one", "three"]
    np.testing.assert_array_equal(vectors.encode(texts), ToyEncoder().encode(texts))
    assert encoder.encoded == ["one", "two", "three"]
    vectors.encode(["one"])
    vectors.encode(["four", "one"])  # drops "two", which was used least lately
    assert encoder.encoded[3:] == ["four"]
    np.testing.assert_array_equal(
        vectors.encode(["three", "two"]), ToyEncoder().encode(["three", "two"])
    )
    assert encoder.encoded[4:] == ["two"]
    assert vectors.encode([]).shape == (0, 64)


class _TwoSided(ToyEncoder):
    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return -self.encode(texts)

    def encode_document(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode([f"passage: {text}" for text in texts])


def test_remembered_vectors_of_one_text_differ_by_side() -> None:
    encoder, texts = _TwoSided(), ["one", "two"]
    vectors = RecentVectors(encoder)
    assert query_encode(vectors) == vectors.encode_query
    for _ in range(2):
        for side in ("encode", "encode_query", "encode_document"):
            found = getattr(vectors, side)(texts)
            np.testing.assert_array_equal(found, getattr(encoder, side)(texts))
