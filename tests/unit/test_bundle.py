"""A store as one file: the same answers afterwards, and no harm from a hostile one."""

import errno
import json
import stat
import threading
import time
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memnet import Config, Document, Engine, Fact
from memnet.cli.main import run
from memnet.errors import EncoderMismatchError, StoreError
from memnet.storage import copy_store, import_bundle
from memnet.storage.bundle import TABLES
from tests.toy import ToyEncoder, toy_memory, toy_store

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
    store = toy_store(path, encoder, create=create)
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


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle for reading only."""
    folder = tmp_path_factory.mktemp("kept")
    with toy_memory(folder / "store") as engine:
        _fill(engine)
        engine.export_bundle(folder / "memory.zip")
    return folder / "memory.zip"


@pytest.mark.parametrize("batch", [2, 2000])
def test_a_bundle_gives_the_same_memory(
    toy_engine: Engine, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr("memnet.storage.bundle._BATCH", batch)
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


def test_an_export_to_a_read_only_folder_is_refused(
    toy_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    # There even what does not exist can't be removed.
    monkeypatch.setattr("memnet.storage.bundle.os.open", refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StoreError, match="can't be written"):
        toy_engine.export_bundle(tmp_path / "b.zip")


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


def test_a_copy_has_all_that_the_store_has(toy_engine: Engine, tmp_path: Path) -> None:
    _fill(toy_engine)
    store = toy_engine.store
    with store.uploads.replacing("log/boat.txt", BytesIO(b"A boat."), "") as file:
        toy_engine.ingest(file)
    (store.models.new_folder("text")).mkdir(parents=True)
    (store.models.folder("text") / "model.json").write_text("{}")
    slots = copy_store(store.path, tmp_path / "copy")
    assert slots == store.counts().slots
    with _open(tmp_path / "copy") as copy:
        assert copy.verify().problems == ()
        assert copy.store.models.names() == ("text",)
        [(name, upload)] = copy.store.uploads.files().items()
        assert upload.read_bytes() == b"A boat."
        assert copy.store.sources.from_path(str(upload)) == [str(upload)]
        assert copy.get(str(upload)) is not None
        assert name == "uploads/default/log/boat.txt"
        # What was told last can be taken back there, and files that are known are not read again.
        copy.undo()
        assert [one.text for one in copy.history("Ann")] == ["Ann lives in Paris."]
        assert copy.ingest(upload).unchanged == 1
    with pytest.raises(StoreError, match="not empty"):
        copy_store(store.path, tmp_path / "copy")
    with pytest.raises(StoreError, match="no memnet store"):
        copy_store(tmp_path / "none", tmp_path / "other")


def test_another_encoder_is_refused(kept: Path, tmp_path: Path) -> None:
    with pytest.raises(EncoderMismatchError, match="made with encoder 'toy/64', not with other"):
        import_bundle(kept, tmp_path / "copy", fingerprint="other", dimension=64)
    assert not (tmp_path / "copy").exists()


def _changed(bundle: Path, path: Path, member: str, change: Any, compression: int) -> Path:
    """A bundle like another at ``path``, one member's bytes given to ``change``."""
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(path, "w", compression) as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, change(data) if name == member else data)
    return path


def _head(**fields: object) -> Any:
    """Puts fields into the head."""
    return lambda data: json.dumps({**json.loads(data), **fields}).encode()


def _row(table: str, where: int = 0, **values: object) -> Any:
    """Puts values into a row of a table."""

    def change(data: bytes) -> bytes:
        (found,) = (one for one in TABLES if one.name == table)
        lines = data.splitlines(keepends=True)
        row = dict(zip(found.types, json.loads(lines[where]), strict=True)) | values
        lines[where] = json.dumps(list(row.values())).encode() + b"\n"
        return b"".join(lines)

    return change


def _without(where: int) -> Any:
    """Leaves a line out, and puts the one before it there twice."""

    def change(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        lines[where] = lines[where - 1]
        return b"".join(lines)

    return change


@pytest.mark.parametrize(
    ("member", "change", "complaint"),
    [
        ("bundle.json", _head(format=7), "format: Input should be 1"),
        ("bundle.json", _head(dimension=10**9), "dimension: Input should be less than"),
        ("bundle.json", _head(rows={}), "count the rows and ids of each table"),
        ("bundle.json", _head(last_ids={"slot": 1}), "count the rows and ids of each table"),
        ("bundle.json", _head(last_ids={"slot": 1, "source": 99, "tell": 99, "eviction": 99}),
         "ids of slot do not rise to the last one given"),
        ("bundle.json", bytes, "it is compressed in another way than deflate"),
        ("bundle.json", _head(extra=1), "extra: Extra inputs are not permitted"),
        ("bundle.json", lambda _: b"[" * 10**6, "bundle.json, it"),
        ("source.jsonl", _row("source", kind="view"), "sources are of an unknown kind"),
        ("source.jsonl", _row("source", name=5), "source.name holds a value"),
        ("source.jsonl", _row("source", digest="xyz"), "non-hexadecimal"),
        ("source.jsonl", _row("source", metadata="[1"), "holds values that memnet does not write"),
        ("source.jsonl", lambda data: data + data, "ids of source do not rise"),
        ("source.jsonl", _without(1), "ids of source do not rise"),
        ("source.jsonl", lambda data: data.partition(b"\n")[2], "not as many as bundle.json says"),
        ("source.jsonl", lambda _: b"x" * 10_000_001, "is longer than 10,000,000"),
        ("source.jsonl", lambda data: b"{}\n" + data, "is not a list"),
        ("source.jsonl", lambda data: b"[1]\n" + data, "another number of values"),
        ("source.jsonl", lambda data: b"[" * 100_000 + data, "can't be used"),
        ("slot.jsonl", _row("slot", source=99), "refers to a missing row of source|FOREIGN KEY"),
        ("slot.jsonl", _row("slot", vector=99), "refers to a missing row of vector|FOREIGN KEY"),
        ("slot.jsonl", _row("slot", id=9999), "ids of slot do not rise"),
        ("slot.jsonl", _row("slot", id=-1), "slot.id holds a number out of range"),
        ("slot.jsonl", _row("slot", id=10**30), "slot.id holds a number out of range"),
        ("slot.jsonl", _row("slot", end=0, start=3), "holds values that memnet does not write"),
        ("slot.jsonl", _row("slot", -1, valid_until=0.5), "ended before they began"),
        ("slot.jsonl", _row("slot", valid_from=float("nan")), "NaN is not a number of JSON"),
        ("slot.jsonl", _row("slot", usage=1e300), "slot.usage holds a number out of range"),
        ("slot.jsonl", _row("slot", valid_from=5.0), "statements without a structure"),
        ("slot.jsonl", _row("slot", text=None), "slot.text holds a value"),
        ("slot.jsonl", _row("slot", text="\ud800" * 7), "can't be used"),
        ("slot.jsonl", _row("slot", kind="other"), "holds values that memnet does not write"),
        ("slot.jsonl", lambda data: data[:-9], "can't be used"),
        ("slot.jsonl", lambda data: data.replace(b"\n", b" " * 40_000_000 + b"\n", 1),
         "expands to more than 200 times"),
        ("link.jsonl", _row("link", slot=99), "refers to a missing row of slot|FOREIGN KEY"),
        ("symbol.jsonl", _row("symbol", 1, name="ann"), "UNIQUE"),
        ("statement.jsonl", _row("statement", change="undone"), "holds values"),
        ("statement.jsonl", _row("statement", polarity=2), "holds values"),
        ("statement.jsonl", _row("statement", values='[1]'), "holds values"),
        ("statement.jsonl", _row("statement", told_at=-1.0), "told_at holds a number out of range"),
        ("statement.jsonl", _row("statement", changed_by=9999),
         "refers to a missing row of slot|FOREIGN KEY"),
        ("statement.jsonl", _row("statement", namespace="other"), "can't be found by what"),
        ("statement_name.jsonl", _row("statement_name", slot=1), "can't be found by|FOREIGN KEY"),
        ("vector.jsonl", _row("vector", 1, digest="00"), "digest"),
        ("vectors.f16", lambda data: data[:-4], "vectors.f16 has another size"),
        ("vectors.f16", lambda data: np.full(len(data) // 2, np.nan, "<f2").tobytes(),
         "a vector that is not of length one"),
    ],
)  # fmt: skip
def test_a_changed_bundle_is_refused_and_leaves_nothing(
    kept: Path, tmp_path: Path, member: str, change: Any, complaint: str
) -> None:
    # What is expanded is bounded for deflate only.
    compression = {"expands": zipfile.ZIP_DEFLATED, "it is compressed": zipfile.ZIP_BZIP2}
    kind = next((kind for sign, kind in compression.items() if sign in complaint), 0)
    path = _changed(kept, tmp_path / "changed.zip", member, change, kind)
    with pytest.raises(StoreError, match=complaint) as caught:
        _import(path, tmp_path / "copy")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "copy").exists()
    assert not list(tmp_path.glob(".*"))


def test_what_is_no_bundle_is_refused(kept: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("../../etc/passwd", "x")
    for path in (other, tmp_path, tmp_path / "nowhere", Path("/dev/null")):
        with pytest.raises(StoreError, match="can't be used"):
            _import(path, tmp_path / "copy")
    data = kept.read_bytes()
    for cut in range(0, len(data), len(data) // 20):
        other.write_bytes(data[:cut])
        with pytest.raises(StoreError, match="can't be used"):
            _import(other, tmp_path / "copy")
