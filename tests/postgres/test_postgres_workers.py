"""Ingests whose batches are stored by several processes of one store on PostgreSQL."""

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("asyncpg")

from memnet import Config, Document, Engine, Fact, IngestReport, MemoryStore
from memnet.config import IngestConfig
from memnet.errors import Problem, StoreError
from memnet.ingest.formats import Parsed, ParsedFacts, parse_document, parse_stories
from memnet.ingest.formats import fact_source as parsed_fact
from memnet.ingest.inputs import Input
from memnet.ingest.parsed import packed, unpacked
from memnet.loaders.document import DocumentBuilder, ParsedDocument
from memnet.storage.postgres.queue import MOST_ATTEMPTS
from tests.postgres_server import Schema
from tests.quick import QuickEncoder
from tests.toy import ToyEncoder
from tests.waiting import PATIENCE, completed, ended, until

_CONFIG = Config(
    ingest=IngestConfig(batch_sources=3, quick_batches=1, min_quick=5, commit_vectors=4)
)
_NEW = multiprocessing.get_context("forkserver")
_NEW.set_forkserver_preload([__name__])
_SECONDS = "MEMNET_TEST_SECONDS"
"""Of a variable: how long the encoder of a worker takes for a call."""


class SlowEncoder(ToyEncoder):
    """Takes the time that the environment says, so that a worker can be met at its work."""

    def encode(self, texts: Any) -> Any:
        if any("slow" in text for text in texts):
            time.sleep(float(os.environ.get(_SECONDS, "0")))
        if any("deadly" in text for text in texts) and _SECONDS in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(texts)


@contextmanager
def opened(address: str, encoder: ToyEncoder | None = None) -> Iterator[Engine]:
    encoder = encoder or SlowEncoder()
    store = MemoryStore(
        address, fingerprint=encoder.fingerprint, dimension=encoder.dimension, create=True
    )
    with Engine(store, encoder, _CONFIG, answerer="untrained", reader="sentences") as engine:
        yield engine


@pytest.fixture
def address(postgres_schema: Schema) -> str:
    return f"{postgres_schema.address}&schema={postgres_schema.name}"


def work(address: str, seconds: float) -> None:
    os.environ[_SECONDS] = str(seconds)
    with opened(address) as engine:
        engine.work()


def work_quickly(address: str) -> None:
    with opened(address, QuickEncoder()) as engine:
        engine.work()


@contextmanager
def working(address: str, count: int, seconds: float = 0.0) -> Iterator[list[BaseProcess]]:
    """Processes that work for all runs of a store, and are killed in the end."""
    processes = [_NEW.Process(target=work, args=(address, seconds)) for _ in range(count)]
    with ExitStack() as stack:
        yield [stack.enter_context(running(process)) for process in processes]


@contextmanager
def running(process: BaseProcess) -> Iterator[BaseProcess]:
    process.start()
    try:
        yield process
    finally:
        process.kill()
        ended(process)


def documents(count: int, version: str = "") -> list[Document]:
    return [
        Document(
            id=f"d{number}",
            title=f"Light {number % 7}",
            text=f"Ann Rank built light number {number}{version}.\n\nBen Orre paints it.",
            metadata={"year": 1900 + number, "by": ["Ann", None]},
        )
        for number in range(count)
    ]


def facts(count: int) -> list[Fact]:
    return [Fact(subject=f"Light {n}", relation="keeper", object="Ann Rank") for n in range(count)]


def content(engine: Engine) -> list[tuple[Any, ...]]:
    """All that is stored, but for the numbers of rows, which depend on who was first."""
    rows = engine.store._connection.rows(
        "SELECT source.namespace, source.name, source.kind, origin, source.title, metadata, "
        "source.digest, headings, slot.kind, slot.title, slot.text, start, slot.end, "
        "slot.relation, slot.value, places, vector.data, slot_text.length, counts, terms, "
        "ARRAY(SELECT name FROM symbol JOIN slot_key ON symbol = symbol.id "
        "WHERE slot_key.slot = slot.id ORDER BY 1), "
        "ARRAY(SELECT name FROM symbol JOIN mention ON symbol = symbol.id "
        "WHERE mention.slot = slot.id ORDER BY 1), "
        "(SELECT count(*) FROM link WHERE link.slot = slot.id) "
        "FROM source LEFT JOIN slot ON slot.source = source.id "
        "LEFT JOIN vector ON vector.id = slot.vector "
        "LEFT JOIN slot_text ON slot_text.slot = slot.id"
    )
    return sorted(rows, key=repr)


def counts(report: IngestReport) -> dict[str, Any]:
    return report.model_dump(exclude={"seconds"})


def test_batches_survive_their_way() -> None:
    builder = DocumentBuilder()
    builder.open("p. 1")
    builder.add("heading", "Lights", level=1, links=["Orre"])
    builder.add_row([("Name", "Orre", "A1"), ("Year", "", "B1")], labelled=True)
    built = builder.build("file#1", "Lights\x00", origin="/file", names=["L"], metadata={"a": [1]})
    text = "1 Ann went home.\n2 Where is Ann?\thome\t1\n1 Ben sat.\n2 Where is Ben?\thome\t1\n"
    stories = [one for one in parse_stories(text, "s") if isinstance(one, ParsedDocument)]
    given = parse_document(Document(id="d", text="\n\n  One.\n\nTwo \u00e9\u2028."))
    parsed: list[Parsed] = [built, *stories, given, parsed_fact(facts(1)[0])]
    batch = [(one, one.digest()) for one in parsed]
    found = unpacked(packed(batch))
    assert len(stories) == 2
    for (before, digest), (after, same) in zip(batch, found, strict=True):
        assert same == digest == after.digest()
        if isinstance(before, ParsedFacts):
            assert after == before
            continue
        # Of the text only what is in blocks.
        assert isinstance(after, ParsedDocument)
        assert replace(after, text="") == replace(before, text="")
        assert [after.text[one.start : one.end] for one in after.blocks] == [
            before.text[one.start : one.end] for one in before.blocks
        ]


@pytest.mark.parametrize("damaged", [b"", b"x\x9c", packed([])[:-3], b"\x80\x04N."])
def test_damaged_batches_are_refused(damaged: bytes) -> None:
    with pytest.raises(StoreError, match="a batch of an ingest is damaged"):
        unpacked(damaged)


def test_any_number_of_workers_makes_the_same_memory(
    address: str, postgres_schema: Schema, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("# Lights\n\nAnn Rank built them.\n\n## Orre\n\nIt is old.")
    (tmp_path / "gone.md").write_text("This will be gone.")
    (tmp_path / "facts.tsv").write_text("Orre\tkeeper\tAnn\nOrre\tkeeper")
    inputs: list[Input] = [*documents(20), *documents(2, " again"), *facts(8), tmp_path]
    found: dict[int | None, list[Any]] = {}
    for count in (None, 1, 2, 3):
        (tmp_path / "gone.md").write_text("This will be gone.")
        place = f"{address}{count}"
        with opened(place) as engine, ExitStack() as stack:
            workers = None
            if count is not None:
                stack.enter_context(working(place, count))
                workers = stack.enter_context(engine.workers(0))
            problems: list[Problem] = []
            first = engine.ingest(inputs, workers=workers, on_problem=problems.append)
            again = engine.ingest(inputs, workers=workers, on_problem=problems.append)
            (tmp_path / "gone.md").unlink()
            less = engine.ingest(
                tmp_path, documents(20, " changed"), workers=workers, on_problem=problems.append
            )
            reports = [counts(report) for report in (first, again, less)]
            assert not [one for one in engine.store.verify() if "index" not in one]
            found[count] = [reports, sorted(map(str, problems)), content(engine)]
            if workers is None:
                done = [(one["added"], one["unchanged"], one["removed"]) for one in reports]
                assert done == [(31, 0, 0), (0, 31, 0), (0, 2, 1)]
    assert found[1] == found[2] == found[3] == found[None]


def test_workers_replace_quick_vectors(address: str) -> None:
    given = documents(30)
    found: list[list[Any]] = []
    for place in (f"{address}1", f"{address}2"):
        with opened(place, QuickEncoder()) as engine, ExitStack() as stack:
            workers = None
            if found:
                for _ in range(2):
                    stack.enter_context(running(_NEW.Process(target=work_quickly, args=(place,))))
                workers = stack.enter_context(engine.workers(0))
            engine.ingest(given, workers=workers, full=False)
            assert engine.store.quick.any()
            replaced: list[int] = []
            engine.encode_full(workers=workers, on_progress=replaced.append)
            assert replaced[-1] > 0
            assert not engine.store.quick.any()
            found.append(content(engine))
    assert found[0] == found[1]


def test_a_killed_worker_leaves_its_batch_to_another(address: str) -> None:
    with opened(address) as engine, working(address, 1, seconds=PATIENCE) as slow:
        connection = engine.store._connection

        def kill() -> None:
            taken = "SELECT 1 FROM ingest_batch WHERE attempts = 1 AND result IS NULL"
            until(lambda: connection.one(taken) is not None, "no batch is taken")
            assert connection.only("SELECT count(*) FROM source")[0] == 0
            slow[0].kill()

        with engine.workers(0) as workers, ExitStack() as stack:
            original = workers._queue.finished

            def finished(run: int) -> Any:
                if slow[0].is_alive():
                    kill()
                    stack.enter_context(working(address, 1))
                return original(run)

            workers._queue.finished = finished  # type: ignore[method-assign]
            report = engine.ingest(documents(2, " slow"), workers=workers)
        assert (report.added, report.skipped, report.slots) == (2, 0, 2)


def test_what_kills_each_worker_is_given_up(address: str) -> None:
    problems: list[Problem] = []
    with opened(address) as engine, ExitStack() as stack:
        stack.enter_context(working(address, MOST_ATTEMPTS + 1))
        workers = stack.enter_context(engine.workers(0))
        given = [*documents(3, " deadly"), *[Document(id="good", text="It is well.")]]
        report = engine.ingest(given, workers=workers, on_problem=problems.append)
        assert (report.added, report.skipped) == (1, 1)
        assert [one.id for one in engine.sources()] == ["good"]
    assert "d0 to d2: 3 documents are not stored" in str(problems[0])


def test_a_bad_document_is_reported_and_the_others_are_stored(address: str) -> None:
    problems: list[Problem] = []
    given = [*documents(2), Document(id="bad", text="This has a \x00 in it.")]
    with opened(address) as engine, working(address, 1), engine.workers(0) as workers:
        report = engine.ingest(given, workers=workers, on_problem=problems.append)
        assert (report.added, report.skipped) == (2, 1)
        assert sorted(one.id for one in engine.sources()) == ["d0", "d1"]
    assert [one.where for one in problems] == ["bad"]
    assert "U+0000" in problems[0].what


def test_files_of_bad_documents_are_read_again(address: str, tmp_path: Path) -> None:
    lines = [{"id": "good", "text": "It is well."}, {"id": "bad", "text": "A \x00."}]
    file = tmp_path / "two.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    with opened(address) as engine, working(address, 1), engine.workers(0) as workers:
        for unchanged in (0, 1):
            report = engine.ingest(file, workers=workers, on_problem=lambda _: None)
            assert (report.added, report.unchanged, report.skipped) == (1 - unchanged, unchanged, 1)
        file.write_text(json.dumps(lines[0]))
        assert engine.ingest(file, workers=workers).unchanged == 1
        # From now on its content is known.
        assert engine.store._connection.only("SELECT count(*) FROM file")[0] == 1


def lead(address: str) -> None:
    with opened(address) as engine, engine.workers(0) as workers:
        engine.ingest(documents(6, " old"), workers=workers)


def test_a_killed_ingest_is_run_again(address: str) -> None:
    with opened(address) as engine:
        leader = _NEW.Process(target=lead, args=(address,))
        leader.start()
        connection = engine.store._connection
        with engine.workers(0):  # makes the tables
            waiting = "SELECT count(*) FROM ingest_batch"
            until(lambda: connection.only(waiting)[0] == 2, "nothing is added")
        leader.kill()
        ended(leader)
        with working(address, 1), engine.workers(0) as workers:
            assert connection.only(waiting)[0] == 0
            report = engine.ingest(documents(6, " new"), workers=workers)
        assert report.added == 6
        assert all(" new" in row[0] for row in connection.rows("SELECT text FROM slot"))
        assert connection.only("SELECT count(*) FROM ingest_run")[0] == 0


def test_two_ingests_share_workers(address: str) -> None:
    with opened(address) as engine, working(address, 2):
        leader = _NEW.Process(target=lead, args=(address,))
        leader.start()
        given = [Document(id=f"e{n}", text=f"Cod number {n} swims.") for n in range(9)]
        with engine.workers(0) as workers:
            assert engine.ingest(given, workers=workers, namespace="sea").added == 9
        ended(leader)
        assert leader.exitcode == 0
        names = {(one.namespace, one.id) for one in engine.sources()}
        assert names == {("", f"d{n}") for n in range(6)} | {("sea", f"e{n}") for n in range(9)}


def test_workers_of_another_recipe_take_nothing(address: str) -> None:
    with opened(address) as engine, engine.workers(0) as workers:
        queue = engine.store.work_queue()
        workers.add([(parse_document(documents(1)[0]), b"digest")], "")
        assert queue.claim("another") is None
        share = queue.claim(workers._queue._connection.only("SELECT recipe FROM ingest_run")[0])
        assert share is not None
        assert queue.claim("another", workers.run) is None
        queue.close()


def test_a_folder_has_no_workers(toy_engine: Engine) -> None:
    with pytest.raises(StoreError, match="is a folder, which one process writes at a time"):
        toy_engine.workers(2)


def test_the_command_line_refuses_workers_for_a_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "memnet", "ingest", "-", "--workers", "2", "--store"]
    done = completed([*command, tmp_path / "store"], check=False)
    assert done.returncode == 2
    assert "--workers needs a store on a server" in done.stderr
    assert not (tmp_path / "store").exists()


def test_the_command_line_starts_workers_and_ends_them(address: str, tmp_path: Path) -> None:
    lines = [{"id": f"d{n}", "text": f"Light {n} of Ann Rank is {n} feet high."} for n in range(9)]
    file = tmp_path / "lights.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    command = [sys.executable, "-m", "memnet", "ingest", str(file), "--store", address, "--json"]
    environment = {**os.environ, "MEMNET_INGEST_WORKERS": "2"}
    done = completed([*command, "--encoder", "static"], env=environment)
    report = json.loads(done.stdout)
    assert (report["added"], report["slots"]) == (9, 9)
    with Engine.open(address) as engine:
        assert not engine.store.quick.any()
        assert engine.store._connection.only("SELECT count(*) FROM ingest_run")[0] == 0
