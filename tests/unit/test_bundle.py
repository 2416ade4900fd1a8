"""A store as one file: the same answers afterwards, and no harm from a hostile one."""

import json
import stat
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memnet import Config, Document, Engine, Fact, MemoryStore
from memnet.cli.main import run
from memnet.errors import EncoderMismatchError, StoreError
from memnet.storage import import_bundle
from tests.toy import ToyEncoder

QUESTIONS = ("Where does Ann live?", "Who built the Orre Light?", "Which lamp is electric?")


def _fill(engine: Engine) -> None:
    engine.ingest(
        Document(id="gone", text="This goes away."),
        Document(id="a", title="Orre", text="The lamp of Orre is electric.", metadata={"y": [1]}),
        Fact(subject="Orre Light", relation="built by", object="Ann Orre"),
        Document(id="ü/東", text="Ünïcode. " * 300),
    )  # fmt: skip
    engine.ingest(Document(id="a", text="Another memory."), namespace="other")
    engine.tell("Ann lives in Paris. Bo likes tea.")
    engine.tell("Ann lives in Rome.")
    engine.forget("gone")
    engine.ask(QUESTIONS[0])


def _open(path: Path, create: bool = False) -> Engine:
    encoder = ToyEncoder()
    store = MemoryStore(
        path, fingerprint=encoder.fingerprint, dimension=encoder.dimension, create=create
    )
    return Engine(store, encoder, Config(), "untrained", "sentences")


def _import(bundle: Path, path: Path) -> Engine:
    encoder = ToyEncoder()
    import_bundle(bundle, path, fingerprint=encoder.fingerprint, dimension=encoder.dimension)
    return _open(path)


def _seen(engine: Engine) -> list[Any]:
    """Everything that a user can see of a memory."""
    store = engine.store
    answers = [engine.ask(text).model_dump(exclude={"elapsed_ms"}) for text in QUESTIONS]
    ids = range(1, 1000)
    told = [used._replace(usage=round(used.usage, 6)) for used in store.statements.usage()]
    return [
        answers, engine.history("Ann"), store.fetch(ids), store.symbols(ids), told,
        store.keys(ids).vectors.tolist(), len(store.facts.all()),
        engine.info().model_dump(exclude={"path", "bytes", "generation"}),
        store.sources.states(["a", "ü/東"]), [slot.metadata for slot in store.fetch(ids)],
    ]  # fmt: skip


@pytest.fixture
def bundle(toy_engine: Engine, tmp_path: Path) -> Path:
    _fill(toy_engine)
    toy_engine.export_bundle(tmp_path / "memory.zip")
    return tmp_path / "memory.zip"


def test_a_bundle_gives_the_same_memory(toy_engine: Engine, bundle: Path, tmp_path: Path) -> None:
    with _import(bundle, tmp_path / "copy") as copy:
        assert copy.verify().problems == ()
        copy.export_bundle(tmp_path / "again.zip")
        assert _seen(copy) == _seen(toy_engine)
        assert (tmp_path / "again.zip").read_bytes() == bundle.read_bytes()
        # It goes on as the original does: no id and no name is given twice.
        reports = [
            [one.model_copy(update={"weight": None}) for one in engine.tell("Cy left.").decisions]
            for engine in (copy, toy_engine)
        ]
        assert reports[0] == reports[1]
        assert copy.ingest(Document(id="ü/東", text="Ünïcode. " * 300)).unchanged == 1


def test_empty_memories_and_old_files(toy_engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "old.zip"
    path.write_text("something else")
    assert toy_engine.export_bundle(path) == 0
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with _import(path, tmp_path / "copy") as copy:
        assert copy.info().slots == 0
        assert copy.verify().problems == ()
    with pytest.raises(StoreError, match="is not empty; import into a new folder"):
        _import(path, tmp_path / "copy")
    with pytest.raises(StoreError, match="can't be written"):
        toy_engine.export_bundle(tmp_path / "nowhere" / "b.zip")
    assert not list(tmp_path.glob(".*"))


def test_an_export_is_one_commit_while_another_writes(tmp_path: Path) -> None:
    """Each commit brings a pair: a bundle never holds half of one."""
    stop = threading.Event()

    def write() -> None:
        with _open(tmp_path / "store") as writer:
            number = 0
            while not stop.is_set():
                number += 1
                writer.ingest(*(Document(id=f"{number}{half}", text=half) for half in "ab"))

    with _open(tmp_path / "store", create=True) as engine:
        thread = threading.Thread(target=write)
        thread.start()
        try:
            sizes = []
            for number in range(5):
                time.sleep(0.05)
                sizes.append(engine.export_bundle(tmp_path / f"{number}.zip"))
        finally:
            stop.set()
            thread.join()
    assert all(size % 2 == 0 for size in sizes)
    assert sizes[-1] > 0
    with _import(tmp_path / "4.zip", tmp_path / "copy") as copy:
        assert copy.info().slots == sizes[-1]
        assert copy.verify().problems == ()


def test_the_command_line(
    saltmere: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, copy, bundle = saltmere.info().path, str(tmp_path / "copy"), str(tmp_path / "m.zip")
    assert run(["export", bundle, "--store", store]) == 0
    assert "slots exported to" in capsys.readouterr().out
    assert run(["export", bundle, "--store", store]) == 1
    assert "already exists" in capsys.readouterr().err
    assert run(["import", bundle, "--store", copy]) == 0
    question = "In which town was the builder of the Orre Light born?"
    with Engine.open(copy) as engine:
        assert engine.info().slots == saltmere.info().slots
        first, second = engine.ask(question), saltmere.ask(question)
        assert (first.answer, first.evidence) == (second.answer, second.evidence)
    assert run(["import", bundle, "--store", copy]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_another_encoder_is_refused(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(EncoderMismatchError, match="made with encoder 'toy/64', not with other"):
        import_bundle(bundle, tmp_path / "copy", fingerprint="other", dimension=64)
    assert not (tmp_path / "copy").exists()


def _changed(bundle: Path, member: str, change: Any) -> Path:
    """A bundle like another, one member's bytes given to ``change``."""
    path = bundle.with_name("changed.zip")
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data) if name == member else data)
    return path


def _lines(**fields: object) -> Any:
    """Puts fields into the first line."""

    def change(data: bytes) -> bytes:
        first, _, rest = data.partition(b"\n")
        return json.dumps({**json.loads(first), **fields}).encode() + b"\n" + rest

    return change


_STATEMENT = {
    "aliases": [], "relation": "", "values": [], "polarity": 1, "certainty": "is", "told_at": 1.0,
    "standing": 0, "speaker": None, "changed_by": None, "change": None, "reason": None,
}  # fmt: skip


def _of_statements(**fields: object) -> Any:
    """Puts fields into the lines of statements."""

    def change(data: bytes) -> bytes:
        lines = [json.loads(line) for line in data.splitlines()]
        for line in lines:
            if line["valid_from"] is not None:
                line.update(fields)
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    return change


@pytest.mark.parametrize(
    ("member", "change", "complaint"),
    [
        ("bundle.json", _lines(format=7), "format: Input should be 1"),
        ("bundle.json", _lines(slots=10**20), "slots: Input should be less than"),
        ("bundle.json", _lines(vectors=10**12), "vectors.f32 has .* bytes, expected 25600"),
        ("bundle.json", _lines(slots=3), "slots.jsonl has .* lines, expected 3"),
        ("bundle.json", _lines(extra=1), "extra: Extra inputs are not permitted"),
        ("bundle.json", lambda _: b"[" * 10**6, "bundle.json, line 1"),
        ("sources.jsonl", _lines(kind="view"), "kind: Input should be 'document'"),
        ("sources.jsonl", _lines(name=5), "name: Input should be a valid string"),
        ("sources.jsonl", lambda data: data + data, "UNIQUE constraint|lines, expected"),
        ("sources.jsonl", lambda _: b"x" * 10_000_001, "is longer than 10,000,000"),
        ("slots.jsonl", _lines(source=99), "refers to a source or vector that is not there"),
        ("slots.jsonl", _lines(vector=99), "refers to a source or vector that is not there"),
        ("slots.jsonl", _lines(id=9999), "ids rise to the last given"),
        ("slots.jsonl", _lines(end=0, start=3), "its text is not as long as its span"),
        ("slots.jsonl", _lines(valid_until=3.0), "it ended before it began"),
        ("slots.jsonl", _lines(valid_from=float("nan")), "valid_from: Input should be a finite"),
        ("slots.jsonl", _lines(valid_from=5.0), "a statement has a time and a relation vector"),
        ("slots.jsonl", _lines(statement=_STATEMENT), "is a statement without a structure"),
        ("slots.jsonl", _of_statements(statement=None), "is a statement without a structure"),
        ("slots.jsonl", _of_statements(statement={**_STATEMENT, "changed_by": 9999}),
         "was changed by one that was never there"),
        ("slots.jsonl", _of_statements(statement={**_STATEMENT, "changed_by": 1}),
         "a statement was changed by one that is not there"),
        ("slots.jsonl", _of_statements(statement={**_STATEMENT, "change": "undone"}),
         "change: Input should be 'supersede'"),
        ("slots.jsonl", _of_statements(statement={**_STATEMENT, "told_at": -1.0}),
         "told_at: Input"),
        ("slots.jsonl", _lines(text=None), "text: Input should be a valid string"),
        ("slots.jsonl", _lines(text="\ud800"), "slots.jsonl, line 1"),
        ("slots.jsonl", _lines(kind="fact", keys=[]), "a fact leads from a name to another"),
        ("slots.jsonl", lambda data: data[:-9], "slots.jsonl, line"),
        ("slots.jsonl", lambda data: data.replace(b"\n", b"\n" + b" " * 40_000_000 + b"\n", 1),
         "expands to more than 200 times"),
        ("vectors.f32", lambda data: data[:-4], "vectors.f32 has .* bytes"),
        ("vectors.f32", lambda data: np.full(len(data) // 4, np.nan, "<f4").tobytes(),
         "a vector that is not of length one"),
        ("digests.bin", lambda data: bytes(len(data)), "two of its rows are the same"),
    ],
)  # fmt: skip
def test_a_changed_bundle_is_refused_and_leaves_nothing(
    bundle: Path, tmp_path: Path, member: str, change: Any, complaint: str
) -> None:
    if "expands" in complaint:
        with zipfile.ZipFile(bundle) as old:
            members = {name: old.read(name) for name in old.namelist()}
        path = tmp_path / "bomb.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
            for name, data in members.items():
                new.writestr(name, change(data) if name == member else data)
    else:
        path = _changed(bundle, member, change)
    with pytest.raises(StoreError, match=complaint) as caught:
        _import(path, tmp_path / "copy")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "copy").exists()
    assert not list(tmp_path.glob(".*"))


def test_what_is_no_bundle_is_refused(bundle: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("../../etc/passwd", "x")
    for path in (other, tmp_path, tmp_path / "nowhere", Path("/dev/null")):
        with pytest.raises(StoreError, match="can't be used"):
            _import(path, tmp_path / "copy")
    data = bundle.read_bytes()
    for cut in range(0, len(data), len(data) // 20):
        other.write_bytes(data[:cut])
        with pytest.raises(StoreError, match="can't be used"):
            _import(other, tmp_path / "copy")
