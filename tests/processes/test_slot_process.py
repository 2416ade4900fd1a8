"""Slots that a process of its own makes are those that this one would make."""

import os
import signal
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import memnet.runtime.process
from memnet import Config, Document, Engine, Message
from memnet.config import IngestConfig, WindowConfig
from memnet.ingest import slots as slots_module
from memnet.ingest.inputs import InputReader
from memnet.ingest.selection import ReadOptions
from memnet.ingest.slots import LazySlots, SlotProcess, document_slots, document_source
from memnet.loaders import reading
from memnet.loaders.document import DocumentBuilder, ParsedDocument
from memnet.loaders.process import LoaderProcess
from memnet.loaders.reading import LoadLimits
from memnet.storage import NewSlot, NewSource
from memnet.text.names import MESSAGE
from tests.conftest import EXAMPLES
from tests.toy import ToyEncoder, toy_store

CONFIG = WindowConfig(characters=300, min_characters=50)
TOWNS = [
    Document(id=f"d{number}", title=f"Orre {number}", text="It is a town of Ann Kestle's. " * 9)
    for number in range(9)
]


def made_of(documents: Sequence[ParsedDocument]) -> list[NewSource]:
    return [document_source(one, b"", "", CONFIG) for one in documents]


def filled(source: NewSource) -> list[NewSlot]:
    """The slots that a source was filled with."""
    assert isinstance(source.slots, LazySlots)
    assert source.slots.unmade is None
    return list(source.slots)


def example_documents() -> list[ParsedDocument]:
    """All documents of the shipped example, of several formats."""
    limits = Config().limit
    with LoaderProcess(LoadLimits(1 << 26, 10**7, 1000, 1 << 30, 60)) as loaders:
        reader = InputReader(limits, ReadOptions(), loaders, lambda _, __: False)
        found = list(reader.read([EXAMPLES / "memory"]))
    return [one for one in found if isinstance(one, ParsedDocument) and one.turn is None]


def test_slots_of_every_format_are_equal() -> None:
    documents = example_documents()
    assert len({Path(one.origin).suffix for one in documents}) > 3
    expected = [document_slots(one, CONFIG) for one in documents]
    assert any(slot.places for some in expected for slot in some)
    with closing(SlotProcess(CONFIG)) as process:
        assert not process.is_running
        sources = made_of(documents)
        process.fill(sources)
        assert process.is_running
        assert [filled(one) for one in sources] == expected
        # Those that are made are not made again.
        process.fill(sources)
        assert [filled(one) for one in sources] == expected
    assert not process.is_running


def test_a_chat_among_many_documents_keeps_its_messages(tmp_path: Path) -> None:
    chat = tmp_path / "WhatsApp Chat with Mills.txt"
    said = ("Ida: Who has the key?", "Tom: me", "Ida: and the lamp?", "Tom: in the shed")
    lines = (f"03/02/2025, 10:0{number} - {one}" for number, one in enumerate(said))
    chat.write_text("\n".join(lines), encoding="utf-8")
    with LoaderProcess(LoadLimits(1 << 26, 10**7, 1000, 1 << 30, 60)) as loaders:
        reader = InputReader(Config().limit, ReadOptions(), loaders, lambda _, __: False)
        found = [one for one in reader.read([chat]) if isinstance(one, ParsedDocument)]
    sources = [*made_of(example_documents()), *made_of(found)]
    with closing(SlotProcess(CONFIG)) as process:
        process.fill(sources)
        assert process.is_running
    slots = list(sources[-1].slots)
    assert [slot.text for slot in slots] == list(said)
    assert all(MESSAGE in slot.key_symbols for slot in slots)


@pytest.fixture(scope="module")
def process() -> Any:
    with closing(SlotProcess(CONFIG)) as started:
        yield started


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["heading", "paragraph", "item", "code", "quote"]),
            st.text(st.characters(exclude_categories=["Cs"]), max_size=400),
            st.integers(0, 3),
        ),
        max_size=6,
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
)
def test_slots_of_any_text_are_equal(
    process: SlotProcess, blocks: list[tuple[Any, str, int]], title: str
) -> None:
    builder = DocumentBuilder()
    for kind, text, level in blocks:
        builder.add(kind, text, level=level)
    document = builder.build("a/b#1", title)
    [source] = made_of([document])
    process.fill([source])
    assert filled(source) == document_slots(document, CONFIG)


@pytest.mark.parametrize("code", ["import os; os._exit(3)", "print('no message')", "raise OSError"])
def test_without_its_process_slots_are_made_here(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots_module, "_START", code)
    document = example_documents()[0]
    with closing(SlotProcess(CONFIG)) as process:
        for _ in range(2):
            [source] = made_of([document])
            process.fill([source])
            assert not process.is_running
            assert list(source.slots) == document_slots(document, CONFIG)


class _Ahead(ToyEncoder):
    """Encodes passages quickly, and from another thread."""

    releases_gil = quick_is_final = True

    def encode_quick(self, texts: Sequence[str]) -> NDArray[Any]:
        return -self.encode(texts)


class _Processes:
    """Counts those that are started, and may kill one before its second answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, kill: bool = False) -> None:
        self.started = self.asked = 0
        start, write = memnet.runtime.process.start_child, reading.write_message
        running: list[int] = []

        def counting(code: str) -> Any:
            self.started += 1
            child = start(code)
            running.append(child.pid)
            return child

        def writing(stream: Any, message: object) -> None:
            self.asked += 1
            if kill and self.asked == 2:
                os.kill(running[0], signal.SIGKILL)
            write(stream, message)

        monkeypatch.setattr(slots_module, "start_child", counting)
        monkeypatch.setattr(slots_module, "write_message", writing)


def ingested(path: Path, documents: Sequence[Document | Message], **settings: Any) -> list[object]:
    """What a memory with batches of two holds."""
    encoder = _Ahead()
    store = toy_store(path, encoder)
    extractor = settings.pop("extractor", None)
    batches = IngestConfig(batch_sources=2, quick_batches=1)
    config = Config(ingest=batches, window=CONFIG, **({"threads": 2} | settings))
    with Engine(
        store, encoder, config, answerer="untrained", reader="sentences", extractor=extractor
    ) as engine:
        assert engine.ingest(documents).added == len(documents)
        assert engine.verify().problems == ()
        slots = engine.store.fetch(range(1, 99))
        symbols = engine.store.symbols([one.id for one in slots])
        return [slots, engine.store.keys([one.id for one in slots]).vectors.tolist(), symbols]


def test_a_large_ingest_uses_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = ingested(tmp_path / "here", TOWNS, threads=1)
    processes = _Processes(monkeypatch)
    assert ingested(tmp_path / "there", TOWNS) == here
    assert (processes.started, processes.asked) == (1, 5)


@pytest.mark.skipif(os.name == "nt", reason="kills a process by a signal")
def test_a_killed_process_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = ingested(tmp_path / "here", TOWNS, threads=1)
    processes = _Processes(monkeypatch, kill=True)
    assert ingested(tmp_path / "there", TOWNS) == here
    assert (processes.started, processes.asked) == (1, 2)


class _Nothing:
    fingerprint = "nothing"

    def extract(self, text: str) -> Sequence[str]:
        return ()


@pytest.mark.parametrize(
    ("documents", "settings"),
    [
        (TOWNS[:1], {}),
        (TOWNS, {"threads": 1}),
        (TOWNS, {"extractor": _Nothing()}),
        ([Message(id=f"m{n}", text="I live in Orre.", speaker="Ann") for n in range(9)], {}),
    ],
    ids=["few", "one core", "extractor", "messages"],
)
def test_what_is_done_without_a_process(
    documents: Sequence[Document | Message],
    settings: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    processes = _Processes(monkeypatch)
    ingested(tmp_path / "store", documents, **settings)
    assert processes.started == 0
