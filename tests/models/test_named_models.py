"""Encoders and readers by name, with tiny random models made on the spot."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from memnet import Document, Engine
from memnet.cli.main import memnet as group
from memnet.encoders.hub import SentenceTransformersEncoder
from memnet.encoders.protocol import MENTION, TwoSidedEncoder
from memnet.encoders.weights import model_folder
from memnet.errors import DependencyError, EncoderError, EncoderMismatchError, ModelError
from memnet.reader.spans import Passage
from memnet.reader.transformers import NamedReader
from tests.waiting import completed

# The libraries warn of their own changes to come.
pytestmark = pytest.mark.filterwarnings("ignore")
TEXTS = {
    "light": "The Orre Light was raised by Edda Rank in 1912.",
    "harbour": "Pellgate has a harbour. Edda Rank was born there.",
}

# As their authors' pages have them.
_KNOWN_PROMPTS = (
    "Represent this sentence for searching relevant passages: ",
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
    "task: search result | query: ",
)
_OF_MANY_LANGUAGES = ("bge-m3", "embeddinggemma-300m", "snowflake-arctic-embed-m-v2.0")


@pytest.fixture(scope="module")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tokenizer")
    marks = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "cls", "sep", "pad", "mask")}
    made: Any = PreTrainedTokenizerFast
    tokenizer = made(
        tokenizer_file=str(model_folder() / "tokenizer.json"), model_max_length=128, **marks
    )
    tokenizer.save_pretrained(folder)
    return folder


def _config() -> Any:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=30522, hidden_size=24, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=40, max_position_embeddings=512,
    )  # fmt: skip


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory, tokenizer_folder: Path) -> Path:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import AutoTokenizer, BertModel

    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(1)
    BertModel(_config()).save_pretrained(folder / "bert")
    AutoTokenizer.from_pretrained(tokenizer_folder).save_pretrained(folder / "bert")
    words = Transformer(str(folder / "bert"), max_seq_length=64)
    SentenceTransformer(modules=[words, Pooling(24)]).save(str(folder / "model"))
    return folder / "model"


@pytest.fixture(scope="module")
def reader_folder(tmp_path_factory: pytest.TempPathFactory, tokenizer_folder: Path) -> Path:
    from transformers import AutoTokenizer, BertForQuestionAnswering

    folder = tmp_path_factory.mktemp("reader")
    torch.manual_seed(2)
    BertForQuestionAnswering(_config()).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tokenizer_folder).save_pretrained(folder)
    return folder


def test_a_named_encoder_encodes_as_its_library_does(encoder_folder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformersEncoder(str(encoder_folder))
    texts = list(TEXTS.values())
    expected = SentenceTransformer(str(encoder_folder)).encode(texts, normalize_embeddings=True)
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-5)
    assert encoder.dimension == 24
    [states] = encoder.encode_tokens([f"who raised {MENTION} of Orre"])
    assert states.states.shape[1] == 24
    assert states.mentions == (3,)  # after the mark, "who" and "raised"
    np.testing.assert_allclose(np.linalg.norm(states.states, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "own", "query", "document"),
    [
        ("e5-small-v2", {}, "query: ", "passage: "),
        ("Multilingual-E5-base", {}, "query: ", "passage: "),
        ("multilingual-e5-large-instruct", {}, "Instruct: ", ""),
        ("bge-small-en-v1.5", {}, "Represent ", ""),
        ("snowflake-arctic-embed-m-v2.0", {}, "query: ", ""),
        ("snowflake-arctic-embed-m-v1.5", {}, "Represent ", ""),
        ("embeddinggemma-300m", {}, "task: ", "title: none | text: "),
        ("gte-modernbert-base", {}, "", ""),
        ("bge-m3", {}, "", ""),
        ("e5-small-mine", {"query": "ask: "}, "ask: ", ""),
        ("mine", {"query": "ask: ", "passage": "keep: "}, "ask: ", "keep: "),
    ],
)
def test_questions_and_documents_get_the_prompts_of_the_model(
    encoder_folder: Path, tmp_path: Path, name: str, own: dict[str, str], query: str, document: str
) -> None:
    folder = shutil.copytree(encoder_folder, tmp_path / name)
    described = folder / "config_sentence_transformers.json"
    description = json.loads(described.read_text())
    described.write_text(json.dumps({**description, "prompts": own}))
    encoder, plain = (SentenceTransformersEncoder(str(one)) for one in (folder, encoder_folder))
    assert isinstance(encoder, TwoSidedEncoder)
    text = "Who raised the Orre Light?"
    for encode, prompt in ((encoder.encode_query, query), (encoder.encode_document, document)):
        said = next((one for one in _KNOWN_PROMPTS if prompt and one.startswith(prompt)), prompt)
        np.testing.assert_allclose(encode([text]), plain.encode([said + text]), atol=1e-5)
    # Vectors made with prompts are no others' neighbours.
    same_space = encoder.fingerprint.endswith(plain.fingerprint[-12:])
    assert same_space == (not query)
    assert encoder.multilingual == ("multi" in name.lower() or name in _OF_MANY_LANGUAGES)


def test_a_store_remembers_its_named_encoder(
    encoder_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text)
    store = str(tmp_path / "store")
    run = CliRunner().invoke
    made = run(
        group,
        ["ingest", str(tmp_path / "light.txt"), "--store", store, "--encoder", str(encoder_folder)],
    )
    assert made.exit_code == 0, made.output
    more = run(group, ["ingest", str(tmp_path / "harbour.txt"), "--store", store])
    assert more.exit_code == 0, more.output
    with Engine.open(store, reader="sentences") as engine:
        info = engine.info()
        assert info.dimension == 24
        assert info.documents == 2
        assert str(encoder_folder) in info.encoder
        found = engine.ask("Who raised the Orre Light?").evidence
        assert {Path(item.source).stem for item in found} == {"light", "harbour"}
    with Engine.open(tmp_path / "other", create=True):
        pass
    with monkeypatch.context() as patch:  # told before a model is loaded, or even fetched
        patch.setitem(sys.modules, "sentence_transformers", None)
        for name in (str(encoder_folder), "someone/something"):
            with pytest.raises(EncoderMismatchError, match=f"not with '{name}'; open it with that"):
                Engine.open(tmp_path / "other", encoder=name)


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_default_encoder_by_name_is_not_fetched(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    (tmp_path / "light.txt").write_text(TEXTS["light"])
    for encoder in (["--encoder", name], []):
        done = CliRunner().invoke(group, ["ingest", "light.txt", "--store", "store", *encoder])
        assert done.exit_code == 0, done.output
    made = CliRunner().invoke(
        group, ["ingest", "light.txt", "--store", "other", "--encoder", "static"]
    )
    assert made.exit_code == 0, made.output
    with pytest.raises(EncoderMismatchError, match=r"static/.*open it with that encoder"):
        Engine.open("other", encoder=name)
    # A folder of that name is a model of the user's own.
    (tmp_path / name).mkdir(parents=True)
    with pytest.raises(DependencyError, match="needs sentence-transformers"):
        Engine.open("new", create=True, encoder=name)
    with pytest.raises(EncoderMismatchError, match="open it with that encoder"):
        Engine.open("store", encoder=name)


def test_a_named_reader_gives_the_spans_its_library_scores_best(reader_folder: Path) -> None:
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    question, passages = "Who raised it?", [Passage("x", text) for text in TEXTS.values()]
    reading = NamedReader(str(reader_folder)).read(question, [*passages, Passage("", " ")])
    tokenizer = AutoTokenizer.from_pretrained(reader_folder)
    model = AutoModelForQuestionAnswering.from_pretrained(reader_folder).eval()
    best: list[tuple[float, str]] = []
    null: list[float] = []
    for passage in passages:
        tokens = tokenizer(question, passage.text, return_tensors="pt", return_offsets_mapping=True)
        offsets = tokens.pop("offset_mapping")[0].tolist()
        inside = [place for place, one in enumerate(tokens.sequence_ids(0)) if one == 1]
        with torch.no_grad():
            output = model(**tokens)
        start, end = output.start_logits[0].tolist(), output.end_logits[0].tolist()
        null.append(start[0] + end[0])
        best += [
            (start[first] + end[last], passage.text[offsets[first][0] : offsets[last][1]])
            for first in inside
            for last in inside
            if first <= last < first + 30
        ]
    best.sort(reverse=True)
    said = [passages[one.passage].text[one.start : one.end] for one in reading.spans]
    assert said[:5] == [text for _, text in best[:5]]
    total = sum(one.probability for one in reading.spans)
    assert reading.answerable == pytest.approx(total, abs=1e-5)
    ratio = reading.spans[0].probability / (1 - reading.answerable)
    assert ratio == pytest.approx(np.exp(best[0][0] - min(null)), rel=1e-3)


def test_a_named_reader_answers(reader_folder: Path, tmp_path: Path) -> None:
    with Engine.open(tmp_path / "store", create=True, reader=reader_folder) as engine:
        engine.ingest(Document(id=name, text=text) for name, text in TEXTS.items())
        answer = engine.ask("Who raised the Orre Light?")
        best = answer.candidates[0]
        assert best.evidence is not None
        assert best.text in " ".join(TEXTS.values())
        assert answer.confidence is None


def test_unknown_models_are_one_line_at_opening(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="'no-such-encoder' is not on this mac") as encoder:
        SentenceTransformersEncoder("no-such-encoder")
    with pytest.raises(ModelError, match="'no-such-reader' is not on this mach") as reader:
        Engine.open(tmp_path / "store", create=True, reader="no-such-reader")
    assert all("\n" not in str(error.value) for error in (encoder, reader))


_WITHOUT_NETWORK = """
import os, socket, sys
os.environ.pop("HF_HUB_OFFLINE", None)

class Asked(BaseException):
    pass

def refuse(*_, **__):
    raise Asked

socket.getaddrinfo = socket.create_connection = socket.socket.connect = refuse
from memnet import Document, Engine, MemnetError, MemoryStore
from memnet.encoders.hub import SentenceTransformersEncoder

foreign, own = sys.argv[1:3]
fingerprint = "sentence-transformers/someone/anything/0123456789ab"
MemoryStore(foreign, fingerprint=fingerprint, dimension=24, create=True).close()
for named in (None, "someone/anything", "hub:someone/anything"):
    try:
        Engine.open(foreign, reader="sentences", encoder=named)
    except MemnetError as error:
        print(type(error).__name__, error)
    except Asked:
        print("the network was asked")
encoder = SentenceTransformersEncoder("someone/cached", fetch=False)
MemoryStore(own, fingerprint=encoder.fingerprint, dimension=24, create=True).close()
with Engine.open(own, reader="sentences") as memory:
    memory.ingest(Document(id="a", text="A lamp."))
    print(memory.ask("Which lamp?").evidence[0].source)
"""


def test_a_store_makes_nobody_fetch_the_encoder_that_it_names(
    encoder_folder: Path, tmp_path: Path
) -> None:
    model = tmp_path / "cache" / "hub" / "models--someone--cached"
    shutil.copytree(encoder_folder, model / "snapshots" / ("0" * 40))
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("0" * 40, encoding="utf-8")
    done = completed(
        [sys.executable, "-c", _WITHOUT_NETWORK, tmp_path / "foreign", tmp_path / "own"],
        env={**os.environ, "HF_HOME": str(tmp_path / "cache")},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    stored, named, fetched, cached = done.stdout.splitlines()
    assert stored.startswith(
        "EncoderError the store was made with the encoder 'someone/anything', which is not on this "
        "machine; "
    )
    assert named.startswith("EncoderError the encoder 'someone/anything' is not on this machine; ")
    # Only that may be fetched; and the network is seen to be watched.
    assert fetched == "the network was asked"
    assert cached == "a"


@pytest.mark.parametrize(
    "name", ["./typo", "../no/such/folder", "/no/such", "~/reader", "a//b", "typo", "org/typo"]
)
def test_a_reader_that_is_not_there_is_an_error_at_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def fetched(*_: object, **__: object) -> None:
        raise AssertionError("the library was asked for it")

    monkeypatch.setattr("transformers.AutoTokenizer.from_pretrained", fetched)
    for given in (name, Path(name), Path("typo")):
        with pytest.raises(ModelError, match=r"the reader '.*' is not on this machine; expected"):
            Engine.open(tmp_path / "store", create=True, reader=given)


def test_a_folder_that_is_no_encoder_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        EncoderError, match=r"the encoder '\./typo' is not on this machine; expected"
    ):
        Engine.open(tmp_path / "store", create=True, encoder="./typo")
    assert not (tmp_path / "store").exists()
