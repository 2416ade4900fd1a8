"""A store or a model from anyone: it runs no code, crashes nothing, and is read by nobody else."""

import ast
import json
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from memnet import Config, Document, Engine, Fact, MemoryStore
from memnet.encoders.hub import SentenceTransformersEncoder
from memnet.errors import EncoderError, StoreError
from memnet.storage import import_bundle
from memnet.storage.tables import checks
from tests.toy import ToyEncoder, toy_store

_ROOT = Path(__file__).parents[2]
_FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
_FORBIDDEN_CALLS = set("torch.load torch.save yaml.load eval exec np.load numpy.load".split())


def _open(path: Path) -> Engine:
    encoder = ToyEncoder()
    store = toy_store(path, encoder, create=False)
    return Engine(store, encoder, Config(), "untrained", "sentences")


@pytest.fixture
def stored(toy_engine: Engine) -> Path:
    toy_engine.ingest(Document(id="a", title="Orre", text="The lamp of Orre is electric."))
    toy_engine.ingest(Fact(subject="Orre Light", relation="built by", object="Edda Rank"))
    toy_engine.tell("Ann lives in Paris.")
    toy_engine.close()
    return Path(toy_engine.store.path)


def _change(stored: Path, statement: str) -> None:
    connection = sqlite3.connect(stored / "memory.sqlite3")
    connection.executescript(statement)
    connection.close()


def test_nothing_is_pickled_or_evaluated() -> None:
    files = list((_ROOT / "memnet").rglob("*.py"))
    assert len(files) > 80
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            named: list[str] = []
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                named = [node.module or ""]
            elif isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in _FORBIDDEN_CALLS, file
                assert all(word.arg != "allow_pickle" for word in node.keywords), file
            assert _FORBIDDEN_MODULES.isdisjoint(name.split(".")[0] for name in named), file


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER mine AFTER INSERT ON slot BEGIN DELETE FROM source; END",
        "CREATE VIEW mine AS SELECT * FROM slot",
        "CREATE TABLE mine (a)",
        "CREATE INDEX mine ON slot (abs(id))",
        "DROP TRIGGER slot_deleted; CREATE TRIGGER slot_deleted AFTER DELETE ON slot "
        "BEGIN DELETE FROM source; END",
        "DROP TABLE link; CREATE TABLE link (a DEFAULT (random()))",
    ],
)
def test_a_foreign_schema_is_refused(stored: Path, statement: str) -> None:
    _change(stored, statement)
    with pytest.raises(StoreError, match="that memnet did not make; restore the store"):
        _open(stored)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE vector SET data = x'00'",
        "UPDATE vector SET data = zeroblob(256); UPDATE vector SET data = 'text'",
        "UPDATE slot SET kind = 'view'",
        "UPDATE slot SET start = 'five'",
        "UPDATE slot SET text = x'ff'",
        "UPDATE slot SET end = 9e9",
        "UPDATE slot SET valid_from = 9e999",
        "UPDATE slot SET start = start + 1e15, end = end + 1e15",
        "UPDATE slot SET start = -7, end = length(text) - 7",
        "UPDATE source SET kind = 'view'",
        "UPDATE source SET metadata = '[1]'",
        "UPDATE source SET metadata = '{\"a\": NaN}'",
        f"UPDATE source SET metadata = '{{\"a\": {'[' * 300}{']' * 300}}}'",
        f"UPDATE source SET metadata = '{{\"a\": {'[' * 90_000}{']' * 90_000}}}'",
        "UPDATE symbol SET name = CAST(name AS BLOB)",
        "UPDATE revision SET last_slot = 'many'",
        "UPDATE property SET value = 'x' WHERE name = 'dimension'",
        "PRAGMA foreign_keys = OFF; DELETE FROM slot",
        "PRAGMA foreign_keys = OFF; DELETE FROM source",
        "UPDATE slot_text_data SET block = x'00ff00ff'",
        "DROP TABLE link",
        "PRAGMA user_version = 1",
        "PRAGMA user_version = 99",
        "PRAGMA writable_schema = ON; "
        "UPDATE sqlite_master SET name = CAST(x'6cff' AS TEXT), sql = 'x' WHERE name = 'link'",
    ],
)
def test_damage_is_an_error_in_one_line_or_does_no_harm(stored: Path, statement: str) -> None:
    _change(stored, statement)

    def use() -> None:
        with _open(stored) as engine:
            engine.ask("Where does Ann live?").model_dump_json()
            engine.history("Ann")
            engine.info()
            for source in engine.sources():
                source.model_dump_json()
                engine.get(source.id)
            engine.ingest(Document(id="a", title="Orre", text="The lamp of Orre is old."))
            engine.tell("Ann lives in Rome.")
            engine.verify()

    try:
        use()
    except StoreError as error:
        assert "\n" not in str(error)  # noqa: PT017


def _follow(engine: Engine) -> None:
    store = engine.store
    entities = store.facts.subjects(["orre light"])
    outgoing = store.facts.outgoing(entities.values())
    store.facts.relation_keys(outgoing[:, 1].tolist())
    store.facts.follow(outgoing[:, :2].tolist())
    store.facts.all()


_USES: dict[str, Callable[[Engine], object]] = {
    "ask": lambda engine: engine.ask("Where does Ann live?").model_dump_json(),
    "ask by name": lambda engine: engine.ask("Who built the Orre Light?").model_dump_json(),
    "history": lambda engine: engine.history("Ann"),
    "info": lambda engine: engine.info(),
    "follow": _follow,
    "export": lambda engine: engine.export_bundle(engine.store.path.parent / "out.zip"),
    "ingest": lambda engine: engine.ingest(Document(id="a", text="The lamp of Orre is old.")),
    "facts": lambda engine: engine.ingest(Fact(subject="Orre", relation="is in", object="Ely")),
    "forget": lambda engine: engine.forget("a"),
    "undo": lambda engine: engine.undo(),
    "write": lambda engine: engine.tell("Ann lives in Rome."),
}


@pytest.mark.parametrize(
    ("use", "statement"),
    [
        ("ask", "PRAGMA foreign_keys = OFF; DELETE FROM source"),
        ("ask", "DELETE FROM revision"),
        ("ask", "UPDATE slot_text_docsize SET sz = x'ffffffffffffffffffff01'"),
        ("ask", "UPDATE slot_text_data SET block = x'00' WHERE id = 1"),
        ("ask by name", "UPDATE symbol SET name = CAST(name AS BLOB) WHERE name <> 'orre light'"),
        ("ask by name", "UPDATE slot SET relation = x'00ff'"),
        ("history", "UPDATE slot SET valid_from = 'then' WHERE valid_from IS NOT NULL"),
        ("history", "UPDATE slot SET title = x'00'"),
        ("history", "UPDATE statement SET aliases = '{'"),
        ("history", "UPDATE statement SET \"values\" = '[[1]]'"),
        ("history", "UPDATE statement SET change = 'undone'"),
        ("history", "UPDATE statement SET told_at = 'then'"),
        ("undo", "UPDATE journal SET slot = x'00'"),
        ("undo", "UPDATE tell SET told_at = 'then'"),
        ("write", "UPDATE statement SET polarity = 2"),
        ("info", "DELETE FROM property WHERE name = 'generation'"),
        ("follow", "UPDATE link SET object = x'00'"),
        ("follow", "UPDATE link SET object = 4611686018427387904"),
        ("follow", "UPDATE link SET relation = 'text'"),
        ("follow", "PRAGMA foreign_keys = OFF; DELETE FROM vector"),
        ("follow", "UPDATE vector SET digest = 'text' || id"),
        ("export", "UPDATE vector SET data = 'text'"),
        ("export", "UPDATE vector SET data = x'00'"),
        ("export", "UPDATE source SET metadata = '{' || metadata"),
        ("export", "PRAGMA foreign_keys = OFF; DELETE FROM source"),
        ("export", "UPDATE slot SET vector = 'text'"),
        ("export", "UPDATE property SET value = '-1' WHERE name = 'last_told'"),
        ("export", "UPDATE sqlite_sequence SET seq = 'many'"),
        ("ingest", "UPDATE sqlite_sequence SET seq = 'many' WHERE name = 'slot'"),
        ("ingest", "UPDATE sqlite_sequence SET seq = 9e999 WHERE name = 'slot'"),
        ("facts", "UPDATE sqlite_sequence SET seq = 9223372036854775807 WHERE name = 'slot'"),
        ("forget", "PRAGMA foreign_keys = OFF; UPDATE slot_key SET symbol = x'00'"),
        ("forget", "UPDATE source SET namespace = x'00'"),
        ("write", "UPDATE slot SET valid_from = 'then' WHERE valid_from IS NOT NULL"),
        ("write", "UPDATE slot SET valid_from = 9e999 WHERE valid_from IS NOT NULL"),
        ("write", "UPDATE property SET value = 'x' WHERE name = 'last_told'"),
        ("write", "UPDATE property SET value = '9' || value || '99999999999999999999' "
         "WHERE name = 'last_told'"),
    ],
)  # fmt: skip
def test_damage_is_seen_where_it_is_read(
    stored: Path, monkeypatch: pytest.MonkeyPatch, use: str, statement: str
) -> None:
    def checked(*_: object) -> list[str]:
        raise AssertionError("the whole store was checked")

    _change(stored, statement)
    with _open(stored) as engine:
        monkeypatch.setattr(engine.store, "verify", checked)
        monkeypatch.setattr(checks, "problems", checked)
        with pytest.raises(StoreError) as caught:
            _USES[use](engine)
    assert "\n" not in str(caught.value)
    assert any(word in str(caught.value) for word in ("verify", "run it again"))


def test_usage_that_is_no_number_is_damage(stored: Path) -> None:
    for statement in ("usage = 'much'", "usage = 9e999", "used_at = -1", "used_at = x'00'"):
        with _open(stored) as engine:
            engine.ask("Where does Ann live?")
            _change(stored, f"UPDATE slot SET {statement} WHERE valid_from IS NOT NULL")
            with pytest.raises(StoreError, match="that memnet did not write"):
                engine._told.usage.save()
        _change(stored, "UPDATE slot SET usage = 1.0, used_at = 1.0 WHERE valid_from IS NOT NULL")


def test_a_bug_over_a_sound_store_stays_a_bug(
    toy_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(toy_engine.answerer, "ask", broken)
    with pytest.raises(KeyError, match="a bug"):
        toy_engine.ask("who?")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_new_store_is_private_to_its_owner(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        encoder = ToyEncoder()
        store = MemoryStore(
            tmp_path / "store", fingerprint=encoder.fingerprint, dimension=64, create=True
        )
        with Engine(store, encoder, Config(), "untrained", "sentences") as engine:
            engine.ingest(Document(id="a", text="A text."))
            engine.tell("Ann left.")
            engine.export_bundle(tmp_path / "b.zip")
            files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in store.path.iterdir()}
    finally:
        os.umask(before)
    assert {"memory.sqlite3", "memory.sqlite3-wal", "writer.lock"} < files.keys()
    assert set(files.values()) == {0o600}, files
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "b.zip").stat().st_mode) == 0o600


def _rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("imported", [False, True])
def test_a_folder_that_was_there_keeps_its_rights(
    stored: Path, tmp_path: Path, imported: bool
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    folder.chmod(0o751)
    encoder = ToyEncoder()
    if imported:
        with _open(stored) as engine:
            engine.export_bundle(tmp_path / "b.zip")
        import_bundle(tmp_path / "b.zip", folder, fingerprint=encoder.fingerprint, dimension=64)
        store = MemoryStore(folder, fingerprint=encoder.fingerprint, dimension=64)
    else:
        store = MemoryStore(folder, fingerprint=encoder.fingerprint, dimension=64, create=True)
    with Engine(store, encoder, Config(), "untrained", "sentences") as engine:
        note = folder / "note.txt"
        note.write_text("of the folder's owner", encoding="utf-8")
        note.chmod(0o644)
        engine.ingest(Document(id="n", text="A text."))
        engine.store.rebuild()
        assert _rights(folder) == 0o751
        assert _rights(note) == 0o644
        own = {file.name: _rights(file) for file in folder.iterdir() if file != note}
        assert set(own.values()) == {0o600}, own
        assert "vectors.faiss" in own


def test_who_may_read_the_rows_may_read_the_index(toy_engine: Engine) -> None:
    folder = toy_engine.store.path
    (folder / "memory.sqlite3").chmod(0o640)
    toy_engine.ingest(Document(id="n", text="A text."))
    assert _rights(folder / "vectors.faiss") == _rights(folder / "writer.lock") == 0o640


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("modules", "complaint"),
    [
        ([{"type": "torch.jit", "path": ""}], "wants to load 'torch.jit'"),
        ([{"path": ""}], "is not the description"),
        (5, "is not the description"),
    ],
)
def test_a_named_encoder_loads_nothing_but_its_library(
    tmp_path: Path, modules: object, complaint: str
) -> None:
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(EncoderError, match=complaint):
        SentenceTransformersEncoder(str(tmp_path))
