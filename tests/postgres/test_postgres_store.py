"""A store on PostgreSQL gives what one in a folder gives, call by call."""

import json
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

pytest.importorskip("psycopg")

from memnet import Config, Document, Engine, Fact, InputError, MemoryStore, Message, Scope
from memnet.config import MessageConfig, TellConfig
from memnet.errors import StoreError
from memnet.storage import SourceFilter, copy_store, export_bundle, import_bundle
from memnet.storage.place import StorePlace
from memnet.types import Value
from tests import killed
from tests.postgres_server import Server
from tests.postgres_stores import address, cache_folder, new_address
from tests.quick import birds, open_quick
from tests.toy import ToyEncoder, passage, source
from tests.unit.test_bundle import _changed
from tests.unit.test_scope import _metadata, _where
from tests.unit.test_store import AgainstTheTwin, encode, open_store

__all__ = ["address", "cache_folder"]

NOW = 1.8e9


def test_whatever_is_done_to_a_store_it_agrees_with_brute_force(postgres: Server) -> None:
    class OnPostgres(AgainstTheTwin):
        def new_place(self) -> StorePlace:
            self.schema = ExitStack()
            return self.schema.enter_context(new_address(postgres))

        def delete_place(self) -> None:
            self.schema.close()

    run_state_machine_as_test(OnPostgres)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time that stands still, as usage decays with it."""
    monkeypatch.setattr("time.time", lambda: NOW)


@contextmanager
def _memory(place: StorePlace, config: Config | None = None) -> Iterator[Engine]:
    encoder = ToyEncoder()
    store = MemoryStore(
        place, fingerprint=encoder.fingerprint, dimension=encoder.dimension, create=True
    )
    config = config or Config()
    with Engine(store, encoder, config, answerer="untrained", reader="sentences") as engine:
        yield engine
        assert engine.verify().problems == ()


DOCUMENTS = [
    Document(
        id="lights/orre",
        title="Orre Light",
        text="The Orre Light stands on Orre Head. It was built by Ann Thale in 1841.\n\n"
        "Its lamp burns whale oil; keepers trim it at dusk.",
        metadata={"year": 1841, "by": {"name": "Ann Thale"}},
    ),
    Document(
        id="people/ann",
        title="Ann Thale",
        text="Ann Thale was born in Kestle. She lived in Port Orre until 1870.",
        metadata={"year": 1812, "topics": ["people", "builders"]},
    ),
    Document(
        id="ü 'q' \"%_\\", title="Émile", text="Émile's boat — 日本語 🚢 — is 100% new_now\\."
    ),
]
FACTS = [
    Fact(subject="Orre Light", relation="built by", object="Ann Thale"),
    Fact(subject="Ann Thale", relation="born in", object="Kestle"),
    Fact(subject="Kestle", relation="lies in", object="Norland"),
]
QUESTIONS = [
    "Who built the Orre Light?",
    "Where was the builder of the Orre Light born?",
    "Where does Ann live?",
    "Where was Ann on 3 May 2023?",
    "Which boat is new?",
    "What did Kate bake?",
]


def _asked(memory: Engine) -> list[Any]:
    """Answers and evidence of all questions, in every scope, but for how long they took."""
    found: list[Any] = []
    scopes: list[dict[str, Any]] = [
        {},
        {"namespace": "chat"},
        {"where": {"year": {"from": 1830, "to": 1850}}},
        {"where": {"topics": ["builders", "boats"]}},
        {"as_of": "2023-05-04"},
        {"hops": 3, "top_k": 8},
    ]
    for question in QUESTIONS:
        for scope in scopes:
            found.append(_said(memory.ask(question, **scope)))
            found += map(_said, memory.search(question, **scope))
    return found


def _stored(memory: Engine) -> list[Any]:
    store = memory.store
    ids = store.passage_ids().tolist()
    names: dict[int, str] = dict(store.connection.rows("SELECT id, name FROM symbol"))
    facts = store.facts.subjects(["orre light", "ann thale", "kestle", "nobody"])
    followed = store.facts.follow(store.facts.outgoing(facts.values())[:, :2].tolist())
    return [
        [one.model_dump() for one in memory.sources()],
        [memory.get(one.id, one.namespace) for one in memory.sources()],
        [one.model_dump() for one in memory.history()],
        [one.model_dump() for one in memory.evictions()],
        store.fetch(range(1, 200)),
        store.symbols(range(1, 200)),
        store.keys(ids).vectors.tolist(),
        store.counts()[:4],
        store.messages.count_slots(),
        sorted(facts),
        sorted((names[symbol], slot) for symbol, slot in followed[:, 1:].tolist()),
        store.statements.usage(),
        store.sources.count(SourceFilter(query="LIGHT", days=("1800", "1900"))),
        store.sources.count(SourceFilter(query="light")),
        [one.id for one in store.last_passages(5)],
    ]


def _said(value: Value) -> dict[str, Any]:
    """All that a call gave, but for how long it took."""
    return value.model_dump(exclude={"seconds", "elapsed_ms"})


def _live(memory: Engine) -> Iterator[Any]:
    """Do all that can be done to a memory; gives what each call gave, and what there is then."""
    for inputs in (DOCUMENTS, FACTS, [DOCUMENTS[0], *FACTS]):
        yield _said(memory.ingest(*inputs))
    yield _asked(memory)
    for number, text in enumerate(
        [
            "Ann lives in Paris.",
            "Ann moved to Rome.",
            "Bo has two dogs.",
            "Ann lives in Rome.",
            "Bo likes tea and Ann likes coffee.",
            "Ann no longer lives in Rome.",
        ],
        start=1,
    ):
        yield _said(memory.tell(text, at=f"2023-05-0{number}T12:00:00Z"))
    yield _said(memory.tell("Cy wears 29.", at="2023-05-08", namespace="other", standing=True))
    yield _said(memory.undo())
    yield _said(memory.tell("Forget that Bo has two dogs."))
    for namespace in ("", "other", "nowhere"):
        try:
            yield _said(memory.undo(namespace=namespace))
        except InputError as error:
            yield str(error)
    yield _stored(memory)
    for number in range(6):
        message = Message(
            id=f"m{number}",
            session="s",
            speaker="Kate" if number % 2 else "user",
            time=f"2024-01-0{number + 1} 10:00",
            text=f"I live in Port {number}. I baked bread number {number}.",
        )
        yield _said(memory.remember([message], namespace="chat"))
    yield _asked(memory)
    yield _stored(memory)
    changed = DOCUMENTS[1].model_copy(update={"text": "Ann Thale was born in Orre."})
    yield _said(memory.ingest(changed))
    yield memory.forget("lights/orre", "people/ann")
    yield memory.forget("m5", namespace="chat")
    yield _asked(memory)
    yield _stored(memory)


@pytest.mark.usefixtures("clock")
def test_a_memory_lives_alike_in_both(tmp_path: Path, address: str) -> None:
    config = Config(messages=MessageConfig(capacity=4, learn=True), tell=TellConfig(capacity=8))
    with _memory(tmp_path / "store", config) as folder, _memory(address, config) as server:
        for number, (own, other) in enumerate(zip(_live(folder), _live(server), strict=True)):
            assert own == other, number
        assert folder.verify().problems == server.verify().problems == ()


def test_quick_vectors_come_and_go_alike_in_both(tmp_path: Path, address: str) -> None:
    places: list[Any] = [tmp_path / "store", address]
    with ExitStack() as stack:
        memories = [stack.enter_context(open_quick(place)) for place in places]
        for full in (False, True):
            for memory in memories:
                memory.ingest(birds(), full=False)
                memory.search("heron")  # the index is loaded, and follows from here on
                memory.encode_full(most=None if full else 4)
                memory.tell("The heron nests by the pier.")
                assert memory.verify().problems == ()
            own, other = (memory.info() for memory in memories)
            assert own.vectors_full == other.vectors_full
            assert (own.vectors_full == own.vectors) is full
        # Only now: which are replaced first is left to chance.
        found, others = (memory.search("colour of the falcon") for memory in memories)
        assert found == others


_numbers = st.sampled_from(
    [2**53 - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, 1e15, 1e16, 0.1, -0.0, 5e-324, 1e299]
)
_nested = st.recursive(
    _numbers | st.none() | st.booleans() | st.text("aé\U0001f6a2'\"\\%_\n", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("aé%"), inner),
    max_leaves=6,
)
_nan = st.sampled_from([float("nan"), float("inf"), {"a": [float("-inf")]}])
_any_metadata = _metadata | st.dictionaries(
    st.sampled_from(["a", "é", "%", "year"]), _nested | _nan, max_size=3
)
_any_where = _where | st.dictionaries(
    st.sampled_from(["a", "é", "a.a", "a.é", "%.a", "a.a.a"]),
    _numbers
    | st.none()
    | st.booleans()
    | st.text("aé\U0001f6a2'\"", max_size=2)
    | st.lists(_numbers | st.none() | st.sampled_from("aé"), max_size=3)
    | _numbers.map(lambda low: {"from": low}),
    min_size=1,
    max_size=2,
)


@pytest.fixture(scope="module")
def both(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[MemoryStore]]:
    """A store in a folder, and one on the server; kept empty."""
    folder = tmp_path_factory.mktemp("both")
    with pytest.MonkeyPatch.context() as patched, new_address(postgres) as place:
        patched.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        with closing(open_store(folder / "store")) as own, closing(open_store(place)) as other:
            yield [own, other]


@given(
    st.lists(_any_metadata, min_size=1, max_size=4), st.lists(_any_where, min_size=6, max_size=6)
)
def test_conditions_on_metadata_choose_alike_in_both(
    both: list[MemoryStore], given: list[dict[str, Any]], wheres: list[dict[str, Any]]
) -> None:
    sources = [
        source(str(number), passage("old light", about=["light"]), metadata=metadata)
        for number, metadata in enumerate(given)
    ]
    for store in both:
        store.put(sources, encode)
    try:
        for where in wheres:
            own, other = (
                sorted(
                    (slot.source, json.dumps(slot.metadata))
                    for slot in store.last_passages(9, Scope(where=where))
                )
                for store in both
            )
            assert own == other, where
    finally:
        for store in both:
            store.delete([one.name for one in sources])


def test_bundles_are_the_same_whichever_way_they_went(
    tmp_path: Path, address: str, postgres: Server
) -> None:
    with closing(killed.open_store(tmp_path / "store")) as store:
        store.put([killed.document(f"document {number}", 1) for number in range(9)], killed.encode)
        for text in ("storm light", "lamp rope"):
            store.append(killed.statement(text, "ann"), killed.encode)
        store.statements.end([store.statements.ids().tolist()[0]], 2.0)
        export_bundle(store, tmp_path / "first.zip")

    def carry(bundle: str, place: StorePlace, to: str) -> None:
        import_bundle(tmp_path / bundle, place, fingerprint="killed/16", dimension=killed.DIMENSION)
        with closing(killed.open_store(place, create=False)) as carried:
            assert carried.verify() == []
            export_bundle(carried, tmp_path / to)
            carried.put([killed.document("document 3", 2)], killed.encode)  # ids go on
            assert carried.verify() == []

    carry("first.zip", address, "second.zip")
    carry("second.zip", tmp_path / "copy", "third.zip")
    with new_address(postgres) as other:
        carry("third.zip", other, "fourth.zip")
        # One way to move a store: a copy goes through such a bundle.
        assert copy_store(address, tmp_path / "again") > 11
        with closing(killed.open_store(tmp_path / "again", create=False)) as again:
            assert again.verify() == []
            assert again.journal.last("") is None
    first, *others = (
        (tmp_path / f"{name}.zip").read_bytes() for name in ("first", "second", "third", "fourth")
    )
    assert [first == one for one in others] == [True] * 3


def test_a_bundle_whose_rows_are_the_same_leaves_nothing_on_the_server(
    tmp_path: Path, postgres: Server, address: str
) -> None:
    with closing(killed.open_store(tmp_path / "store")) as store:
        store.put([killed.document(f"document {number}", 1) for number in range(3)], killed.encode)
        export_bundle(store, tmp_path / "m.zip")

    def same_digest(data: bytes) -> bytes:
        first, second = (json.loads(line)[1].encode() for line in data.splitlines()[:2])
        return data.replace(second, first)

    bundle = _changed(
        tmp_path / "m.zip",
        tmp_path / "changed.zip",
        "vector.jsonl",
        same_digest,
        zipfile.ZIP_STORED,
    )
    with pytest.raises(StoreError, match=r"can't be used .*digest") as raised:
        import_bundle(bundle, address, fingerprint="killed/16", dimension=killed.DIMENSION)
    assert "\n" not in str(raised.value)
    with closing(killed.open_store(address)) as store:
        assert store.counts()[:3] == (0, 0, 0)
        assert store.verify() == []


def test_a_restored_dump_is_the_same_store(tmp_path: Path, postgres: Server, address: str) -> None:
    """On another database, where transactions are numbered otherwise."""
    schema = address.partition("schema=")[2]
    with closing(killed.open_store(address)) as store:
        for number in range(5):
            store.put([killed.document(f"document {number}", 1)], killed.encode)
        store.append(killed.statement("storm light", "ann"), killed.encode)
        store.delete(["document 2"])
        store.search_dense(killed.encode(["storm"])[0], 3)
        export_bundle(store, tmp_path / "before.zip")
    dump = postgres.folder / f"{schema}.sql"
    postgres.command("pg_dump", "-n", schema, "-f", dump, postgres.address())
    postgres.execute(f"CREATE DATABASE restored_{schema}")
    try:
        target = postgres.address(f"restored_{schema}")
        postgres.execute("CREATE EXTENSION vector", database=f"restored_{schema}")
        postgres.command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", dump, target)
        with closing(killed.open_store(f"{target}&schema={schema}", create=False)) as store:
            assert store.verify() == []
            export_bundle(store, tmp_path / "after.zip")
            before = store.counts().generation
            store.search_dense(killed.encode(["storm"])[0], 3)
            store.put([killed.document("document 2", 1)], killed.encode)
            store.put([killed.document("document 0", 2)], killed.encode)
            assert store.counts().generation == before + 2
            assert store.verify() == []
            model = killed.Model(
                {"document 0": 2, "document 1": 1, "document 2": 1, "document 3": 1,
                 "document 4": 1}, {"storm light": ("ann", True)},
            )  # fmt: skip
            killed.check(store, [model])
    finally:
        postgres.execute(f"DROP DATABASE restored_{schema}")
        dump.unlink()
    assert (tmp_path / "before.zip").read_bytes() == (tmp_path / "after.zip").read_bytes()
