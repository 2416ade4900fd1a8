"""Quick vectors of a large ingest, and the full ones that take their place."""

import multiprocessing
import os
import random
import signal
import sqlite3
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from memnet import Document, Engine, Fact, MemoryStore, Message, watch
from memnet.checkpoints import SHIPPED
from memnet.cli.main import memnet as group
from memnet.config import HopConfig
from memnet.documents.candidates import SlotFeature, nearest_to_cutoff, rescore
from memnet.documents.controller import TextController
from memnet.documents.hops import read_in_hops
from memnet.documents.question import FullVectors, Question
from memnet.encoders.minilm import STATIC, MiniLMEncoder
from memnet.errors import StoreError
from memnet.experts.registry import find_quick, load_static_encoder
from memnet.server import ServerSettings
from memnet.storage import import_bundle
from memnet.storage.values import PassageVectors, VectorCounts
from tests.quick import MIN_QUICK, NAMES, QuickEncoder, birds, half, open_quick, stored_vectors
from tests.serving import serving
from tests.toy import ToyEncoder
from tests.waiting import PATIENCE, hear, repeating, until

QUESTION = "Which colour has the bird that nests by the pier?"


def _key(document: Document) -> str:
    return f"{document.title}\n{document.text}"


def _quick(document: Document) -> NDArray[np.float32]:
    [vector] = ToyEncoder().encode([half(_key(document))])
    return np.asarray(vector, np.float32)


def _full(document: Document) -> NDArray[np.float32]:
    [vector] = ToyEncoder().encode([_key(document)])
    return np.asarray(vector, np.float32)


def _check(memory: Engine, documents: Sequence[Document], vector: Any = _full) -> None:
    """The stored vectors of some documents are these."""
    stored = stored_vectors(memory)
    for one in documents:
        np.testing.assert_allclose(stored[one.id], vector(one), atol=1e-6)


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Engine]:
    """A memory of birds whose vectors are quick ones."""
    with open_quick(tmp_path / "store") as memory:
        memory.ingest(birds(), full=False)
        yield memory


def _bundle(memory: Engine, path: Path) -> bytes:
    memory.export_bundle(path)
    return path.read_bytes()


def _at_once(tmp_path: Path, documents: Sequence[Document]) -> bytes:
    """A bundle of a memory with full vectors from the start."""
    with open_quick(tmp_path / "at-once", min_quick=10**6) as memory:
        memory.ingest(documents)
        return _bundle(memory, tmp_path / "at-once.zip")


def test_a_few_passages_are_encoded_in_full_at_once(tmp_path: Path) -> None:
    encoder, few = QuickEncoder(), birds(MIN_QUICK - 1)
    with open_quick(tmp_path / "store", encoder) as memory:
        memory.ingest(few, full=False)
        assert encoder.quickly == []
        assert sorted(encoder.encoded) == sorted(map(_key, few))
        assert memory.store.quick.counts() == VectorCounts(len(few), len(few))
        # Those of another run are counted by themselves.
        memory.ingest(birds(), full=False)
        assert sorted(encoder.quickly) == sorted(map(_key, birds()[MIN_QUICK - 1 :]))


def test_many_are_quick_until_full_ones_follow(tmp_path: Path) -> None:
    encoder, documents = QuickEncoder(), birds()
    with open_quick(tmp_path / "store", encoder) as memory:
        memory.ingest(
            documents,
            Fact(subject="Grey Heron", relation="built by", object="Tobias Veal"),
            full=False,
        )
        assert encoder.encoded == ["built by", "built by of"]
        info = memory.info()
        assert (info.vectors, info.vectors_full) == (len(documents) + 2, 2)
        _check(memory, documents, _quick)
        seen: list[int] = []
        assert memory.encode_full(most=4, on_progress=seen.append) == 4
        assert seen == [3, 4]
        assert memory.info().vectors_full == 6
        stored = stored_vectors(memory)
        full = {one.id for one in documents if np.allclose(stored[one.id], _full(one), atol=1e-6)}
        assert len(full) == 4
        _check(memory, [one for one in documents if one.id not in full], _quick)
        assert memory.encode_full() == len(documents) - 4
        assert memory.encode_full() == 0
        info = memory.info()
        assert info.vectors_full == info.vectors
        assert stored_vectors(memory).keys() == {one.id for one in documents}
        _check(memory, documents)
    assert sorted(encoder.encoded[2:]) == sorted(map(_key, documents))  # once each


def test_the_end_is_as_if_all_were_full_from_the_start(tmp_path: Path) -> None:
    documents = birds()
    with open_quick(tmp_path / "store") as memory:
        memory.ingest(documents)
        assert not memory.store.quick.any()
        assert _bundle(memory, tmp_path / "followed.zip") == _at_once(tmp_path, documents)


def test_what_is_asked_meanwhile_is_compared_in_full(quick: Engine) -> None:
    """With half of the vectors full, all of the best are ranked as their full cosines are."""
    quick.encode_full(most=len(NAMES) // 2)
    store, encode = quick.store, ToyEncoder().encode
    texts: list[str] = []

    def again(given: Sequence[str]) -> NDArray[np.float32]:
        texts.extend(given)
        return encode(given)

    with store.reading():
        question = Question(QUESTION, store, encode, full=FullVectors(again, of_all=False))
        read = read_in_hops(question, TextController(HopConfig()), HopConfig(rescored=0), 1)[-1]
        before, best = read.candidates, read.order[:10]
        after = rescore(before, best, question)
        ids = [before.ids[index] for index in best]
        quick_ids = store.quick.of_slots(ids)
        keys = [f"{slot.title}\n{slot.text}" for slot in store.fetch(ids)]
    assert 0 < len(quick_ids) < len(ids)
    assert texts == [key for key, slot in zip(keys, ids, strict=True) if slot in quick_ids]
    new = after.features[best, SlotFeature.DENSE]
    old = before.features[best, SlotFeature.DENSE]
    full = encode(keys) @ question.vector
    np.testing.assert_allclose(new - new.mean(), full - full.mean(), atol=1e-6)
    assert new.mean() == pytest.approx(old.mean(), abs=1e-6)
    quick.encode_full()
    with store.reading():
        question = Question(QUESTION, store, encode, full=FullVectors(again, of_all=False))
        read = read_in_hops(question, TextController(HopConfig()), HopConfig(), 1)[-1]
        assert rescore(read.candidates, read.order, question) is read.candidates
    assert len(texts) == len(quick_ids)


@pytest.mark.parametrize(
    ("read", "count", "expected"),
    [
        (5, 4, [3, 4, 5, 6]),
        (2, 3, [0, 1, 2]),
        (5, 0, []),
        (8, 4, [*range(8)]),
        (7, 99, [*range(8)]),
    ],
)
def test_what_may_cross_the_border_is_compared(read: int, count: int, expected: list[int]) -> None:
    logits = np.array([0, -1, -1.5, -4, -6, -7, -7.5, -12], np.float32)
    assert nearest_to_cutoff(logits, read, count).tolist() == expected
    assert nearest_to_cutoff(logits[:0], read, count).tolist() == []


def test_a_question_encodes_few_passages_once(tmp_path: Path) -> None:
    encoder = QuickEncoder()
    with open_quick(tmp_path / "store", encoder) as memory:
        memory.ingest(birds(), full=False)
        assert encoder.encoded == []
        memory.search(QUESTION)
        keys = [text for text in encoder.encoded if text != QUESTION]
        assert len(keys) == len(set(keys)) == memory.config.hop.rescored
        assert set(keys) <= set(map(_key, birds()))
        memory.search(QUESTION)
        assert [text for text in encoder.encoded if text != QUESTION] == keys


def test_answers_say_that_vectors_are_quick(tmp_path: Path) -> None:
    with open_quick(tmp_path / "store", answerer=None) as memory:
        memory.ingest(birds(), full=False)
        [note] = memory.ask(QUESTION).notes
        assert "memnet ingest" in note
        memory.encode_full()
        assert memory.ask(QUESTION).notes == ()


def test_facts_and_statements_never_share_a_quick_vector(tmp_path: Path) -> None:
    told, relation = "The heron nests by the pier.", "built by"
    documents = [*birds(), Document(id="t", text=told), Document(id="r", text=relation)]
    encode = ToyEncoder().encode
    with open_quick(tmp_path / "store") as memory:
        memory.ingest(documents, full=False)
        assert memory.info().vectors_full == 0
        memory.tell(told)
        memory.ingest(Fact(subject="Pier", relation=relation, object="Una Thale"), full=False)
        stored = stored_vectors(memory)  # of the documents too, whose rows they share
        np.testing.assert_allclose(stored["t"], encode([told])[0], atol=1e-6)
        np.testing.assert_allclose(stored["r"], encode([relation])[0], atol=1e-6)
        _check(memory, birds(), _quick)
        assert memory.encode_full() == len(birds())


def test_what_was_forgotten_or_changed_meanwhile_is_passed_over(quick: Engine) -> None:
    documents = birds()
    texts = quick.store.quick.texts(100)
    assert sorted(texts) == sorted(map(_key, documents))
    vectors = ToyEncoder().encode(texts)
    quick.forget("heron", "kestrel")
    changed = documents[2].model_copy(update={"text": "The osprey fishes."})
    quick.ingest(changed, full=False)
    quick.ingest(documents[1], full=False)  # in full, as it is alone
    quick.store.quick.replace(texts, PassageVectors(vectors))
    assert not quick.store.quick.any()
    kept = [*documents[1:2], changed, *documents[3:]]
    assert stored_vectors(quick).keys() == {one.id for one in kept}
    _check(quick, kept)


def test_a_text_that_comes_and_goes_in_one_commit(quick: Engine) -> None:
    """A slot whose vector is replaced and that is deleted in the same transaction."""
    texts = quick.store.quick.texts(100)
    with quick.store.changing():
        quick.store.quick.replace(texts, PassageVectors(ToyEncoder().encode(texts)))
        quick.forget("heron")
    assert stored_vectors(quick).keys() == set(NAMES) - {"heron"}


@pytest.mark.parametrize("seed", range(6))
def test_every_index_follows_whatever_happens(tmp_path: Path, seed: int) -> None:
    """Handles that read seldom, and some of them a file of an earlier commit."""
    chance = random.Random(seed)
    share = chance.choice([0.001, 1 / 16, 100.0])
    held: dict[str, Document] = {}
    full: set[str] = set()
    names = [f"{name} {number}" for name in NAMES for number in range(3)]
    engines = [open_quick(tmp_path / "store", unsaved_share=share) for _ in range(3)]
    for step in range(25):
        memory = chance.choice(engines)
        act = chance.choice(["put", "put", "forget", "full", "full", "reopen"])
        if act == "put":
            new = [
                Document(id=name, title=name, text=f"The {name} of {step} is {name[::-1]} grey.")
                for name in chance.sample(names, chance.choice([2, MIN_QUICK, 9]))
            ]
            memory.ingest(new, full=False)
            held |= {one.id: one for one in new}
            full -= {one.id for one in new}
            full |= {one.id for one in new} if len(new) < MIN_QUICK else set()
        elif act == "forget" and held:
            gone = chance.sample(sorted(held), min(3, len(held)))
            memory.forget(*gone)
            for name in gone:
                del held[name]
        elif act == "full":
            texts = memory.store.quick.texts(chance.choice([1, 4]))
            memory.store.quick.replace(texts, PassageVectors(ToyEncoder().encode(texts)))
            full |= {name for name, one in held.items() if _key(one) in texts}
        elif act == "reopen":
            engines.remove(memory)
            memory.close()
            engines.append(open_quick(tmp_path / "store", unsaved_share=share))
        reader = chance.choice(engines)
        query = ToyEncoder().encode([QUESTION])[0]
        wanted = {
            name: float((_full(one) if name in full else _quick(one)) @ query)
            for name, one in held.items()
        }
        hits = reader.store.search_dense(query, 100)
        found = reader.store.fetch_existing(hits.ids[hits.mask].tolist())
        scores = hits.scores[hits.mask].tolist()
        assert {slot.source: score for slot, score in zip(found, scores, strict=True)} == (
            pytest.approx(wanted, abs=1e-5)
        )
    for memory in engines:
        assert memory.store.verify() == []
        memory.close()


def test_a_read_that_began_before_goes_on(quick: Engine) -> None:
    query = ToyEncoder().encode([QUESTION])[0]
    in_read, replaced = threading.Event(), threading.Event()
    found: list[list[int]] = []

    def read() -> None:
        with quick.store.reading():
            first = quick.store.search_dense(query, 100)
            in_read.set()
            assert replaced.wait(PATIENCE)
            second = quick.store.search_dense(query, 100)
        found.extend(sorted(hits.ids[hits.mask].tolist()) for hits in (first, second))

    thread = threading.Thread(target=read)
    thread.start()
    assert in_read.wait(PATIENCE)
    quick.encode_full()
    quick.forget("heron")
    quick.store.search_dense(query, 1)  # moves the index on
    replaced.set()
    thread.join(PATIENCE)
    assert found[0] == found[1]
    assert len(found[0]) == len(NAMES)
    _check(quick, birds()[1:])


def test_several_may_replace_and_ask_at_the_same_time(tmp_path: Path) -> None:
    documents = [
        Document(id=str(number), title=f"Bird {number}", text=f"Bird {number} nests by the pier.")
        for number in range(90)
    ]
    with (
        open_quick(tmp_path / "store", lock_seconds=PATIENCE) as memory,
        open_quick(tmp_path / "store", lock_seconds=PATIENCE) as other,
    ):
        memory.ingest(documents, full=False)
        counts: list[int] = []

        def ask() -> None:
            evidence = other.search("Where does Bird 7 nest?", top_k=3)
            assert "7" in {item.source for item in evidence}

        def replace(engine: Engine) -> None:
            counts.append(engine.encode_full())

        threads = [threading.Thread(target=replace, args=(one,)) for one in (memory, other)]
        with repeating(ask, threads=2):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(PATIENCE)
        assert sum(counts) >= len(documents)
        for engine in (memory, other):
            assert engine.info().vectors_full == len(documents)
            _check(engine, documents)


class _Stuck(QuickEncoder):
    """Says before each batch what it is about to encode, and hangs at one of them."""

    def __init__(self, say: Any, last: int) -> None:
        super().__init__()
        self._say, self._last = say, last

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._say.send(len(texts))
        self._last -= 1
        if not self._last:
            signal.pause()
        return super().encode(texts)


def _ingest_until_killed(path: Path, say: Any, batches: int) -> None:
    with open_quick(path, _Stuck(say, batches)) as memory:
        memory.ingest(birds())


@pytest.mark.skipif(os.name != "posix", reason="kills by a signal")
@pytest.mark.parametrize("batches", [1, 3])
def test_a_killed_ingest_can_be_asked_and_goes_on(tmp_path: Path, batches: int) -> None:
    path, documents = tmp_path / "store", birds()
    start = multiprocessing.get_context("forkserver")
    hears, says = start.Pipe()
    process = start.Process(target=_ingest_until_killed, args=(path, says, batches))
    process.start()
    for _ in range(batches):
        hear(hears)
    process.kill()
    process.join(PATIENCE)
    encoder = QuickEncoder()
    with open_quick(path, encoder) as memory:
        full = 3 * (batches - 1)  # whole commits
        assert memory.info().vectors_full == full
        stored = stored_vectors(memory)
        known = [one for one in documents if np.allclose(stored[one.id], _full(one), atol=1e-6)]
        assert len(known) == full
        assert memory.search(f"What colour is the {NAMES[3]}?")[0].source == NAMES[3]
        encoder.encoded.clear()
        report = memory.ingest(documents)
        assert (report.unchanged, report.added) == (len(documents), 0)
        assert sorted(encoder.encoded) == sorted(_key(one) for one in documents if one not in known)
        assert _bundle(memory, tmp_path / "on.zip") == _at_once(tmp_path, documents)


def test_a_bundle_keeps_what_is_quick(tmp_path: Path) -> None:
    documents = birds()
    with open_quick(tmp_path / "store") as memory:
        memory.ingest(documents, full=False)
        memory.encode_full(most=4)
        half_way = _bundle(memory, tmp_path / "half.zip")
        stored = stored_vectors(memory)
    encoder = QuickEncoder()
    import_bundle(
        tmp_path / "half.zip", tmp_path / "copy", fingerprint=encoder.fingerprint,
        dimension=encoder.dimension,
    )  # fmt: skip
    with open_quick(tmp_path / "copy", encoder) as memory:
        assert memory.info().vectors_full == 4
        copied = stored_vectors(memory)
        assert copied.keys() == stored.keys()
        for name, vector in stored.items():
            np.testing.assert_array_equal(copied[name], vector)
        assert _bundle(memory, tmp_path / "again.zip") == half_way
        memory.encode_full()
        assert _bundle(memory, tmp_path / "full.zip") == _at_once(tmp_path, documents)
    with zipfile.ZipFile(tmp_path / "full.zip") as archive:
        assert archive.read("quick_vector.jsonl") == b""


@pytest.mark.parametrize(
    ("member", "old", "new", "complaint"),
    [
        ("quick_vector.jsonl", b"nests", b"rests", "of other texts than noted"),
        ("quick_vector.jsonl", b"[1,", b"[99,", "missing row of vector|FOREIGN KEY"),
        ("quick_vector.jsonl", b"[1,", b"[2,", "UNIQUE"),
        ("quick_vector.jsonl", b'"heron', b'7,"heron', "another number of values"),
        ("bundle.json", b'"quick_vector":12', b'"quick_vector":11', "not as many as"),
        ("bundle.json", b'"quick_vector":12,', b"", "count the rows"),
        ("quick_vector.jsonl", None, None, "exactly the members of a bundle"),
    ],
)
def test_a_wrong_bundle_is_refused(
    quick: Engine, tmp_path: Path, member: str, old: bytes | None, new: bytes, complaint: str
) -> None:
    quick.export_bundle(tmp_path / "good.zip")
    with zipfile.ZipFile(tmp_path / "good.zip") as good:
        members = {name: good.read(name) for name in good.namelist()}
    if old is None:
        del members[member]
    else:
        assert old in members[member]
        members[member] = members[member].replace(old, new, 1)
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as bad:
        for name, content in members.items():
            bad.writestr(name, content)
    with pytest.raises(StoreError, match=complaint):
        import_bundle(tmp_path / "bad.zip", tmp_path / "copy", fingerprint="quick/64", dimension=64)
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE quick_vector SET text = 'another' WHERE vector = 2", "other texts than noted"),
        ("UPDATE quick_vector SET text = x'00' WHERE vector = 2", "values that memnet does not"),
        ("INSERT INTO quick_vector SELECT vector, '' FROM slot WHERE kind = 'fact'",
         "1 facts or statements have quick vectors"),
        ("INSERT INTO quick_vector VALUES (99, 'nothing')", "refers to a missing row of vector"),
        ("UPDATE vector SET data = (SELECT data FROM vector WHERE id = 2) WHERE id = 1",
         "does not hold the vectors of the rows"),
    ],
)  # fmt: skip
def test_damage_is_found(tmp_path: Path, damage: str, problem: str) -> None:
    with open_quick(tmp_path / "store") as memory:
        memory.ingest(birds(), full=False)
        memory.ingest(Fact(subject="Pier", relation="built by", object="Una Thale"), full=False)
        assert memory.verify().problems == ()
    with closing(sqlite3.connect(tmp_path / "store" / "memory.sqlite3")) as database:
        database.execute(damage)
        database.commit()
    with open_quick(tmp_path / "store") as memory:
        found = memory.verify().problems
        assert any(problem in one for one in found), found
        if "text = 'another'" in damage:
            with pytest.raises(StoreError, match="a quick vector that memnet did not write"):
                memory.encode_full()


def test_a_few_messages_do_not_wait_for_what_was_left(quick: Engine) -> None:
    def said(count: int, session: str) -> list[Message]:
        return [
            Message(id=f"{session}:{number}", session=session, speaker="Ann", text=f"Bird {number}")
            for number in range(count)
        ]

    quick.remember(said(2, "a"))
    counts = quick.store.quick.counts()
    assert counts.vectors - counts.full == len(NAMES)
    quick.remember(said(MIN_QUICK, "b"))
    assert not quick.store.quick.any()


def test_work_ends_when_it_is_told_to(quick: Engine) -> None:
    answers = iter([True, True, False])
    assert quick.encode_full(may_go_on=lambda: next(answers)) == 6
    assert quick.info().vectors_full == 6
    assert quick.encode_full(may_go_on=lambda: True) == len(NAMES) - 6
    _check(quick, birds())


def test_another_writer_leaves_it_to_the_next_ingest(tmp_path: Path) -> None:
    with open_quick(tmp_path / "store") as memory:
        other = MemoryStore(tmp_path / "store", fingerprint="quick/64", dimension=64)
        encode, holding, done = memory.encoder.encode, threading.Event(), threading.Event()

        def hold() -> None:
            with closing(other), other.writing():
                holding.set()
                assert done.wait(PATIENCE)

        thread = threading.Thread(target=hold)

        def encode_while_held(texts: Sequence[str]) -> NDArray[np.float32]:
            if not thread.ident:
                thread.start()
                assert holding.wait(PATIENCE)
            return encode(texts)

        memory.encoder.encode = encode_while_held  # type: ignore[method-assign]
        assert memory.ingest(birds()).added == len(NAMES)
        assert memory.info().vectors_full == 0
        done.set()
        thread.join(PATIENCE)
        assert memory.ingest(birds()).unchanged == len(NAMES)
        assert not memory.store.quick.any()


def test_the_default_encoder_has_the_quick_vectors_of_the_table() -> None:
    encoder = MiniLMEncoder()
    quick = find_quick(encoder)
    assert quick is not None
    texts = [_key(one) for one in birds(3)]
    table = load_static_encoder(SHIPPED / STATIC, encoder)
    np.testing.assert_array_equal(quick(texts), table.encode_quick(texts))
    assert find_quick(ToyEncoder()) is None
    final = find_quick(table)  # its own, which stay
    assert final is not None
    np.testing.assert_array_equal(final(texts), table.encode_quick(texts))


def test_the_command_leaves_full_vectors_until_it_is_asked_for_them(tmp_path: Path) -> None:
    lines = tmp_path / "birds.jsonl"
    documents = [
        Document(id=str(number), title=f"Bird {number}", text=f"Bird {number} nests here.")
        for number in range(210)
    ]
    lines.write_text("".join(f"{one.model_dump_json()}\n" for one in documents))
    store = str(tmp_path / "store")
    done = CliRunner().invoke(group, ["ingest", str(lines), "--store", store])
    assert done.exit_code == 0, done.output
    assert "210 added" in done.stdout
    assert "Questions can be asked now; 210 vectors are quick ones." in done.stderr
    assert "'memnet ingest --finish'" in done.stderr
    shown = CliRunner().invoke(group, ["info", "--store", store])
    assert "210 are quick ones until 'memnet ingest --finish'" in shown.stdout
    done = CliRunner().invoke(group, ["ingest", "--finish", "--store", store])
    assert (done.exit_code, done.stdout) == (0, "")
    assert "Ctrl+C stops" in done.stderr
    with Engine.open(store) as memory:
        assert memory.info().vectors_full == memory.info().vectors == 210
        key = f"Bird 7\n{documents[7].text}"
        stored = memory.store.encoded([key], lambda _: pytest.fail("it is not stored in full"))
        likeness = float(memory.encoder.encode([key])[0] @ stored[key])
        assert likeness == pytest.approx(1, abs=1e-3)
    again = CliRunner().invoke(group, ["ingest", str(lines), "--finish", "--store", store])
    assert "210 unchanged" in again.stdout
    assert "quick" not in again.stderr


def _is_full(memory: Engine) -> bool:
    counts = memory.store.quick.counts()
    return counts.full == counts.vectors > 0


def test_a_watched_folder_gets_full_vectors_between_changes(tmp_path: Path) -> None:
    folder, stop = tmp_path / "notes", threading.Event()
    folder.mkdir()
    for one in birds():
        (folder / f"{one.id}.txt").write_text(one.text)
    with open_quick(tmp_path / "store") as memory:
        reports = watch(memory, folder, stop=stop)
        assert next(reports).added == len(NAMES)
        assert memory.info().vectors_full == 0
        thread = threading.Thread(target=list, args=(reports,))
        thread.start()
        try:
            until(lambda: _is_full(memory), "quick vectors stay")
            (folder / "crow.txt").write_text("A crow came later.")
            until(lambda: len(memory) == len(NAMES) + 1, "a later file is not stored")
        finally:
            stop.set()
            thread.join(PATIENCE)
        assert memory.verify().problems == ()


def test_a_server_makes_full_vectors_while_nobody_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "\n\n".join(f"# {one.id}\n\n{one.text} {'It sleeps. ' * 40}" for one in birds())
    encoder, looked = QuickEncoder(), threading.Event()
    with open_quick(tmp_path / "store", encoder) as memory, serving(memory) as client:
        wait = memory.questions.wait_for_none

        def waits(seconds: float) -> bool:
            free = wait(seconds)
            looked.set()
            return free

        monkeypatch.setattr(memory.questions, "wait_for_none", waits)
        with memory.questions.track():
            put = client.put("/sources/birds.md", json={"text": text})
            assert put.status_code == 200, put.text
            slots = put.json()["slots"]
            assert slots >= MIN_QUICK
            assert looked.wait(PATIENCE)
            assert client.get("/info").json()["vectors_full"] == 0
            assert encoder.encoded == []
        until(lambda: client.get("/info").json()["vectors_full"] == slots, "quick vectors stay")


def test_a_server_that_only_reads_leaves_quick_vectors(quick: Engine) -> None:
    def encodes() -> bool:
        return "memnet-vectors" in {thread.name for thread in threading.enumerate()}

    with serving(quick, ServerSettings(read_only=True)):
        assert not encodes()
    with serving(quick):
        assert encodes()
    assert not encodes()
