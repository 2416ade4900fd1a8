import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memnet import Config, Document, Engine, Fact, Message
from memnet.config import IngestConfig
from memnet.errors import EncoderError, InputError, Problem
from memnet.ingest.pipeline import Ingest, Progress
from memnet.ingest.vectors import PassageEncoder
from tests.toy import ToyEncoder, toy_memory, toy_store
from tests.waiting import PATIENCE, without_coverage


def _slots(engine: Engine) -> list[tuple[str, str, str]]:
    """Source, title and text of every slot."""
    return [
        (slot.source, slot.title, slot.text)
        for slot in engine.store.fetch(range(1, 2000))
        if slot.kind != "reverse"
    ]


def _write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_plain_text_spans_are_exact(toy_engine: Engine, tmp_path: Path) -> None:
    text = "\ufeffA first sentence about Orre. " + "The sea was 東京 calm that day. " * 100
    path = _write(tmp_path / "old_harbour-notes.txt", text)
    assert toy_engine.ingest(path).added == 1
    slots = toy_engine.store.fetch(range(1, 100))
    assert len(slots) > 2
    source_text = text.removeprefix("\ufeff")
    assert all(source_text[slot.start : slot.end] == slot.text for slot in slots)
    assert {slot.title for slot in slots} == {"old harbour notes"}
    assert {slot.source for slot in slots} == {str(path)}


def test_the_head_of_a_source_is_the_beginning_of_its_text(
    toy_engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / "notes.md"
    sections = (f"# Part {n}\n\n{'The lamp was lit. ' * 40}\n" for n in range(12))
    path.write_text("\n".join(sections), encoding="utf-8")
    toy_engine.ingest(path)
    sources = toy_engine.store.sources
    with toy_engine.store.reading():
        stored = sources.get(str(path))
        assert stored is not None
        for characters in (0, 1, 8, 200, 1000, 10**6):
            assert sources.head(str(path), "", characters) == stored[1][:characters]
        assert sources.head("none", "", 100) == ""


def test_markdown_headings_become_titles(toy_engine: Engine, tmp_path: Path) -> None:
    ann, ice, heat = (f"{word} {'More of it. ' * 30}".strip() for word in ("Ann", "Ice", "Heat"))
    text = (
        f"# Harbour log\r\n\r\n{ann}\r\n\r\n"
        f"## Winter\r\n{ice}\r\n```\r\n# no heading\r\n```\r\n"
        f"Summer\r\n------\r\n{heat}\r\n\r\n## Empty\r\n"
    )
    toy_engine.ingest(_write(tmp_path / "log.md", text))
    slots = toy_engine.store.fetch(range(1, 10))
    assert [(slot.title, slot.text) for slot in slots] == [
        ("Harbour log", ann),
        ("Harbour log > Winter", f"{ice}\n\n# no heading"),
        ("Harbour log > Summer", heat),
        ("Harbour log", "Empty"),
    ]
    assert [slot.places for slot in slots] == [((0, slot.title),) for slot in slots]
    source = toy_engine.get(str(tmp_path / "log.md"))
    assert source is not None
    assert all(source.text[slot.start : slot.end] == slot.text for slot in slots)
    assert source.text.startswith(f"{ann}\n\nWinter\n\n{ice}")
    assert toy_engine.store.search_symbolic(["winter"], 5) == {"winter": [2]}
    assert toy_engine.store.search_symbolic(["harbour log"], 5) == {"harbour log": [1, 2, 3, 4]}


def test_short_sections_share_a_slot(toy_engine: Engine, tmp_path: Path) -> None:
    text = "# Harbour log\n\nKept by Ann.\n\n## Winter\nIce.\n\n## Summer\nHeat.\n"
    toy_engine.ingest(_write(tmp_path / "log.md", text))
    [slot] = toy_engine.store.fetch(range(1, 10))
    assert slot.title == "Harbour log"
    assert slot.text == "Kept by Ann.\n\nWinter\n\nIce.\n\nSummer\n\nHeat."
    assert [place for _, place in slot.places] == [
        "Harbour log",
        "Harbour log > Winter",
        "Harbour log > Summer",
    ]
    assert [slot.text[at : at + 6] for at, _ in slot.places] == ["Kept b", "Winter", "Summer"]
    assert toy_engine.store.search_symbolic(["summer"], 5) == {"summer": [1]}


def test_a_folder_is_read_and_mirrored(toy_engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    _write(folder / "a.txt", "First.")
    _write(folder / "deep" / "b.md", "# Bee\nSecond.")
    _write(folder / ".hidden" / "c.txt", "Hidden.")
    _write(folder / ".DS_Store", b"\0")
    _write(tmp_path / "outside.txt", "Outside.")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    report = toy_engine.ingest(folder)
    assert (report.added, report.skipped) == (2, 1)

    (folder / "a.txt").unlink()
    _write(folder / "deep" / "b.md", "# Bee\nChanged.")
    report = toy_engine.ingest(folder)
    assert (report.added, report.updated, report.unchanged, report.removed) == (0, 1, 0, 1)
    assert [text for _, _, text in _slots(toy_engine)] == ["Changed."]


def test_a_file_of_an_unknown_kind_is_named_and_skipped(
    without_ocr: None, toy_engine: Engine, tmp_path: Path
) -> None:
    table = _write(tmp_path / "in" / "Table.XYZ", "harbour,depth\nOrre,12\n")
    with pytest.raises(InputError, match=r"Table\.XYZ: is of the unknown kind '\.xyz'"):
        toy_engine.ingest(table)
    assert not _slots(toy_engine)
    _write(tmp_path / "in" / "README", "What this is.")
    _write(tmp_path / "in" / "a.txt", "First.")
    _write(tmp_path / "in" / "deep" / "photo.png", b"\x89PNG\0")
    problems: list[Problem] = []
    report = toy_engine.ingest(tmp_path / "in", on_problem=problems.append)
    assert (report.added, report.skipped) == (2, 2)
    assert [Path(problem.where).name for problem in problems] == ["Table.XYZ", "photo.png"]
    assert ["unknown kind" in problem.what for problem in problems] == [True, False]
    assert "has the suffix '.png' of images" in problems[1].what
    assert {title for _, title, _ in _slots(toy_engine)} == {"README", "a"}


def test_a_file_of_an_unknown_kind_is_read_as_text_on_request(
    without_ocr: None, toy_engine: Engine, tmp_path: Path
) -> None:
    table = _write(tmp_path / "in" / "table.xyz", "harbour,depth\nOrre,12\n")
    _write(tmp_path / "in" / "photo.png", b"\x89PNG\0")
    problems: list[Problem] = []
    report = toy_engine.ingest(tmp_path / "in", read_as="text", on_problem=problems.append)
    assert (report.added, [Path(problem.where).name for problem in problems]) == (1, ["photo.png"])
    assert "is binary" in problems[0].what
    assert [text for _, _, text in _slots(toy_engine)] == ["harbour,depth\nOrre,12"]
    # What was stored stays when the folder is read without the request.
    _write(tmp_path / "in" / "a.txt", "First.")
    report = toy_engine.ingest(tmp_path / "in", on_problem=lambda _: None)
    assert (report.added, report.removed, report.skipped) == (1, 0, 2)
    assert toy_engine.ingest(table, read_as="text").unchanged == 1


def test_a_memory_in_the_folder_is_passed_over(toy_engine: Engine, tmp_path: Path) -> None:
    _write(tmp_path / "a.txt", "First.")
    assert (tmp_path / "store").is_dir()
    report = toy_engine.ingest(tmp_path)
    assert (report.added, report.skipped) == (1, 0)


def test_names_are_extracted_from_changed_documents_only(tmp_path: Path) -> None:
    encoder = ToyEncoder()
    store = toy_store(tmp_path, encoder)
    seen: list[str] = []

    class LampOil:
        fingerprint = "lamp oil"

        def extract(self, text: str) -> list[str]:
            seen.append(text)
            return ["lamp oil"]

    def run(*documents: Document) -> None:
        passages = PassageEncoder(encoder)
        Ingest(store, Config(), passages, extractor=LampOil()).run(documents)

    run(Document(id="a", text="The light burns lamp oil."), Document(id="b", text="It is old."))
    assert seen == ["The light burns lamp oil.", "It is old."]
    assert store.search_symbolic(["lamp oil"], 5) == {}  # mentioned, and not a key
    run(Document(id="a", text="The light burns lamp oil."), Document(id="b", text="It is new."))
    assert seen[2:] == ["It is new."]
    store.close()


def test_unchanged_input_is_a_no_op(toy_engine: Engine, tmp_path: Path) -> None:
    path = _write(tmp_path / "a.txt", "First.")
    toy_engine.ingest(
        path, Document(id="d", text="Two."), Fact(subject="a", relation="b", object="c")
    )
    before = toy_engine.info()
    report = toy_engine.ingest(
        path, [Document(id="d", text="Two."), Fact(subject="a", relation="b", object="c")]
    )
    assert (report.added, report.updated, report.unchanged, report.removed) == (0, 0, 3, 0)
    assert toy_engine.info() == before


def test_json_lines(toy_engine: Engine, tmp_path: Path) -> None:
    lines = [
        {"id": "one", "title": "One", "text": "First text.", "metadata": {"year": 1911}},
        {"id": 2, "text": "Second text."},
        {"title": "Three", "text": "Third text."},
    ]
    path = _write(tmp_path / "d.jsonl", "\n".join(map(json.dumps, lines)))
    assert toy_engine.ingest(path).added == 3
    assert _slots(toy_engine) == [
        ("one", "One", "First text."),
        ("2", "", "Second text."),
        (f"{path}:3", "Three", "Third text."),
    ]
    path.write_text(json.dumps(lines[0]))
    report = toy_engine.ingest(path)
    assert (report.unchanged, report.removed) == (1, 2)


def test_a_memory_file_of_the_reference_server_becomes_facts(
    toy_engine: Engine, tmp_path: Path
) -> None:
    seen = ["Plays the\n fiddle.", "Sails."]
    lines = [
        {"type": "entity", "name": "Ann Rank", "entityType": "person", "observations": seen},
        {"type": "relation", "from": "Ann Rank", "relationType": "born in", "to": "Kestle"},
    ]
    path = _write(tmp_path / "memory.jsonl", "\n".join(map(json.dumps, lines)))
    assert toy_engine.ingest(path).added == 4
    assert {
        (one.title, one.relation, one.value) for one in toy_engine.store.fetch(range(1, 99))
    } >= {
        ("Ann Rank", "is a", "person"),
        ("Ann Rank", "observation", "Plays the fiddle."),
        ("Ann Rank", "born in", "Kestle"),
    }
    assert toy_engine.ingest(path).unchanged == 4
    bad = {"type": "relation", "from": "Kestle", "to": 3, "relationType": "is"}
    path.write_text("\n".join(map(json.dumps, [lines[0], bad])))
    problems: list[Problem] = []
    toy_engine.ingest(path, on_problem=problems.append)
    assert "line 2" in problems[0].where
    assert "'to'" in problems[0].what
    path.write_text(json.dumps(lines[0]))
    assert toy_engine.ingest(path).removed == 1


def test_a_broken_line_is_skipped_and_the_rest_goes_in(toy_engine: Engine, tmp_path: Path) -> None:
    good = [json.dumps({"id": str(number), "text": f"Text {number}."}) for number in range(5)]
    path = _write(tmp_path / "d.jsonl", "\n".join([*good[:2], "{broken", *good[3:]]))
    problems: list[Problem] = []
    report = toy_engine.ingest(path, on_problem=problems.append)
    assert (report.added, report.skipped) == (4, 1)
    assert problems[0].where == f"{path}, line 3"
    assert "is not valid JSON" in problems[0].what
    # Nothing is removed on the word of a file that could not be read to its end.
    path.write_text("\n".join([good[0], "{broken"]))
    assert toy_engine.ingest(path).removed == 0


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ('{"id": "a"}', "has no string 'text'"),
        ('{"id": "a", "text": 5}', "has no string 'text'"),
        ('{"id": "a", "text": "  "}', "has a blank 'text'"),
        ("[1, 2]", "holds a JSON list, expected an object"),
        ('{"id": "", "text": "x"}', "has an unusable 'id'"),
        ('{"id": "a", "text": "x", "title": 3}', "has an unusable 'title'"),
        ("[" * 100_000, "is not valid JSON"),
    ],
)
def test_bad_json_lines_are_explained(
    toy_engine: Engine, tmp_path: Path, line: str, complaint: str
) -> None:
    with pytest.raises(InputError, match=r"d\.jsonl, line 1: ") as caught:
        toy_engine.ingest(_write(tmp_path / "d.jsonl", line))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["prose.jsonl", "prose.tsv"])
def test_a_file_of_another_kind_is_one_problem(
    toy_engine: Engine, tmp_path: Path, name: str
) -> None:
    prose = _write(tmp_path / name, "The swan sails at noon.\n" * 50)
    problems: list[Problem] = []
    text = Document(id="a", text="One.")
    report = toy_engine.ingest(prose, text, on_problem=problems.append)
    assert (report.added, report.skipped, len(problems)) == (1, 1, 1)
    # Where one line is good, each of the others is named.
    good = "a\tb\tc" if name.endswith(".tsv") else '{"id": "b", "text": "Two."}'
    _write(prose, f"{prose.read_text()}{good}\n")
    assert toy_engine.ingest(prose).skipped == 50


def test_an_id_met_twice_keeps_the_first(toy_engine: Engine) -> None:
    problems: list[Problem] = []
    report = toy_engine.ingest(
        Document(id="a", text="One."),
        Document(id="a", text="One."),
        Document(id="a", text="Two."),
        on_problem=problems.append,
    )
    assert (report.added, report.skipped) == (1, 1)
    assert "the id 'a' came before in this run with other content; the first is kept" in str(
        problems[0]
    )
    assert [text for _, _, text in _slots(toy_engine)] == ["One."]


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("empty.txt", b"", "is empty; there is nothing to remember"),
        ("blank.txt", b" \n\t", "is empty; there is nothing to remember"),
        ("empty.jsonl", b"", "is empty; there is nothing to remember"),
        ("binary.txt", b"PNG\0\1\2", "is binary, expected text"),
        ("cyrillic.txt", "кафе".encode("cp1251"), r"is not UTF-8 \(byte 0xea at offset 0\)"),
        ("latin.jsonl", '{"text": "caf\xe9"}'.encode("latin-1"), "is not UTF-8"),
        ("two.tsv", b"a\tb", r"line 1: has 2 columns, expected 3"),
        ("four.tsv", b"a\tb\tc\td", r"line 1: has 4 columns, expected 3"),
        ("hollow.tsv", b"a\t \tc", r"line 1: has an empty column"),
    ],
)
def test_bad_files_are_explained(
    toy_engine: Engine, tmp_path: Path, name: str, content: bytes, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        toy_engine.ingest(_write(tmp_path / name, content))
    assert str(caught.value).startswith(str(tmp_path / name))
    assert "\n" not in str(caught.value)
    assert toy_engine.info().slots == 0


def test_missing_paths_and_empty_folders(toy_engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such file or folder; check the path"):
        toy_engine.ingest(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: the folder holds no file to read"):
        toy_engine.ingest(tmp_path / "empty")
    problems: list[Problem] = []
    with pytest.raises(InputError, match="nothing was ingested: all 2 inputs were skipped"):
        toy_engine.ingest(tmp_path / "nowhere", tmp_path / "empty", on_problem=problems.append)
    assert len(problems) == 2


def test_a_passage_is_about_what_it_says_first(toy_engine: Engine) -> None:
    second = "Filler about nothing at all. " * 40
    toy_engine.ingest(
        Document(id="untitled", text=f"Ann Orre (born 1921) was a builder. {second}"),
        Document(id="titled", title="Bo Rank", text="Bo Albert Rank was a builder."),
        Document(id="other", title="House of Dell", text="Cy of Orre was its first lord."),
        Document(id="short", title="Dell House", text="Dell is old."),
    )
    store = toy_engine.store
    slots = store.fetch(range(1, 20))
    about = {
        (slot.source, slot.start > 0): sorted(symbols.keys) if symbols else []
        for slot in slots
        for symbols in [store.symbols([slot.id]).get(slot.id)]
    }
    assert about == {
        ("untitled", False): ["ann orre"],
        ("untitled", True): [],
        ("titled", False): ["bo albert rank", "bo rank"],
        ("other", False): ["house of dell"],
        ("short", False): ["dell house"],
    }


def test_facts_go_both_ways(toy_engine: Engine, tmp_path: Path) -> None:
    line = "Orre Light\tbuilt_by\tAnn Orre\n"
    text = f"{line}\nAnn Orre | born in | Kestle\r\n{line}"
    path = _write(tmp_path / "facts.tsv", text)
    assert toy_engine.ingest(path).added == 1
    info = toy_engine.info()
    assert (info.facts, info.documents) == (3, 0)
    slots = toy_engine.store.fetch(range(1, 20))
    assert all(text[slot.start : slot.end] == slot.text for slot in slots)
    forward, back = slots[:2]
    assert (forward.title, forward.relation, forward.value) == (
        "Orre Light",
        "built by",
        "Ann Orre",
    )
    assert (back.kind, back.title, back.value) == ("reverse", "Ann Orre", "Orre Light")
    assert set(toy_engine.store.search_symbolic(["ann orre"], 9)["ann orre"]) >= {back.id}


def test_a_changed_fact_file_keeps_the_facts_that_stay(toy_engine: Engine, tmp_path: Path) -> None:
    path = _write(tmp_path / "f.txt", "a|r|b\nc|r|d\n")
    toy_engine.ingest(path, facts=True)
    before = {slot.text: slot.id for slot in toy_engine.store.fetch(range(1, 20))}
    _write(path, "a|r|b\ne|r|f\n")
    report = toy_engine.ingest(path, facts=True)
    assert report.updated == 1
    after = {slot.text: slot.id for slot in toy_engine.store.fetch(range(1, 20))}
    assert after["a|r|b"] == before["a|r|b"]
    assert after.keys() == {"a|r|b", "e|r|f"}


@pytest.mark.parametrize(
    ("data", "facts", "expected"),
    [
        (b'\n{"id": "x", "text": "One."}\n{"id": "y", "text": "Two."}\n', False, ["One.", "Two."]),
        (b"Just a text.\nOf two lines.", False, ["Just a text.\nOf two lines."]),
        (b"a\tb\tc\nd|e|f\n", True, ["a\tb\tc", "d\te\tf"]),
    ],
)
def test_standard_input(toy_engine: Engine, data: bytes, facts: bool, expected: list[str]) -> None:
    toy_engine.ingest(io.BytesIO(data), facts=facts)
    assert [text for _, _, text in _slots(toy_engine)] == expected
    other = toy_engine.ingest(io.BytesIO(b"z\ty\tx" if facts else b"Another text."), facts=facts)
    assert (other.added, other.removed) == (1, 0)


def test_namespaces_keep_memories_apart(toy_engine: Engine) -> None:
    toy_engine.ingest(Document(id="a", text="The old boat."), namespace="one")
    toy_engine.ingest(Document(id="a", text="The old boat sank."), namespace="two")
    for namespace, text in (("one", "The old boat."), ("two", "The old boat sank.")):
        evidence = toy_engine.ask("the old boat", namespace=namespace).evidence
        assert [item.text for item in evidence] == [text]
    assert len(toy_engine.ask("the old boat").evidence) == 2
    assert toy_engine.ask("the old boat", namespace="three").abstained


def test_a_very_long_line(toy_engine: Engine, tmp_path: Path) -> None:
    text = "word " * 400_000
    report = toy_engine.ingest(_write(tmp_path / "long.txt", text))
    assert report.slots == 2_000
    slots = toy_engine.store.fetch(range(1, 2_001))
    assert all(text[slot.start : slot.end] == slot.text for slot in slots)


def test_a_file_over_the_limit_is_refused(tmp_path: Path, toy_engine: Engine) -> None:
    config = Config.model_validate({"limit": {"document": 10}})
    engine = Engine(toy_engine.store, ToyEncoder(), config)
    with pytest.raises(InputError, match="holds 18 bytes, the limit is 10; split it"):
        engine.ingest(_write(tmp_path / "a.txt", "eighteen letters.."))
    with pytest.raises(InputError, match="line 1: is longer than 10 bytes"):
        engine.ingest(_write(tmp_path / "a.jsonl", '{"id": "a", "text": "x"}\n'))


def test_progress_tells_what_is_stored(toy_engine: Engine, tmp_path: Path) -> None:
    config = Config.model_validate({"ingest": {"batch_characters": 20}})
    engine = Engine(toy_engine.store, ToyEncoder(), config)
    seen: list[tuple[Progress, int]] = []
    documents = [Document(id=str(number), text="ten letter") for number in range(5)]
    engine.ingest(
        documents, on_progress=lambda progress: seen.append((progress, engine.info().documents))
    )
    assert [(progress.characters, progress.documents, stored) for progress, stored in seen] == [
        (20, 2, 2),
        (40, 4, 4),
        (50, 5, 5),
    ]


_INGEST = """
import signal
import sys
from tests.toy import toy_memory
from memnet import Config
signal.signal(signal.SIGINT, signal.default_int_handler)  # which may come ignored
engine = toy_memory(sys.argv[1], Config.model_validate({"ingest": {"batch_characters": 500}}))
print(engine.ingest(sys.argv[2], on_progress=lambda p: print(p.documents, flush=True)).added)
"""


class _QuickEncoder(ToyEncoder):
    """Has a quick way for passages, which may fail at a text, and notes its threads."""

    quick_is_final = True

    def __init__(self, fails_at: str = "none") -> None:
        self.fails_at = fails_at
        self.threads: set[int] = set()

    def encode_quick(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.threads.add(threading.get_ident())
        if any(self.fails_at in text for text in texts):
            raise EncoderError("no weights")
        return -self.encode(texts)


def _engine(path: Path, encoder: ToyEncoder) -> Engine:
    """A memory whose first batch holds one source, and all others two."""
    batches = IngestConfig(batch_sources=1, quick_batches=2)
    return toy_memory(path, Config(ingest=batches), encoder)


_MIXED: list[Document | Message | Fact] = [
    *(Document(id=f"d{number}", text=f"Orre {number} is a town.") for number in range(5)),
    Message(id="m1", text="I live in Kestle.", speaker="Ann", session="s"),
    *(Fact(subject=f"Boat {number}", relation="built by", object="Ann") for number in range(3)),
    Message(id="m2", text="It is small.", speaker="Ann", session="s"),
    Document(id="d9", text="Orre 3 is a town."),
]


def test_encoding_ahead_changes_nothing_but_the_thread(tmp_path: Path) -> None:
    stored = []
    for ahead in (True, False):
        encoder = _QuickEncoder()
        encoder.releases_gil = ahead
        with _engine(tmp_path / str(ahead), encoder) as engine:
            told: list[int] = []
            report = engine.ingest(_MIXED, on_progress=lambda done: told.append(done.documents))  # noqa: B023
            assert report.added == len(_MIXED)
            slots = engine.store.fetch(range(1, 40))
            keys = engine.store.keys([slot.id for slot in slots])
            texts = [(slot.id, slot.kind, slot.source, slot.text) for slot in slots]
            stored.append((texts, keys.vectors.tolist(), told))
            assert engine.store.verify() == []
        assert (threading.get_ident() in encoder.threads) != ahead
    assert stored[0] == stored[1]


def test_batches_before_one_that_can_not_be_encoded_are_stored(tmp_path: Path) -> None:
    documents = [Document(id=f"d{number}", text=f"Orre {number}.") for number in range(9)]
    with _engine(tmp_path / "store", _QuickEncoder(fails_at="Orre 5")) as engine:
        with pytest.raises(EncoderError, match="no weights"):
            engine.ingest(documents)
        assert [source.id for source in engine.sources()] == ["d0", "d1", "d2", "d3", "d4"]
    with _engine(tmp_path / "store", _QuickEncoder()) as engine:
        report = engine.ingest(documents)
        assert (report.added, report.unchanged) == (4, 5)
        assert engine.store.verify() == []


@pytest.mark.parametrize(("how", "after"), [(signal.SIGKILL, 5), (signal.SIGINT, 1)])
def test_an_interrupted_ingest_is_finished_by_the_next(
    tmp_path: Path, how: signal.Signals, after: int
) -> None:
    lines = [
        json.dumps({"id": str(n), "title": f"T{n}", "text": f"Text {n}. " * 5}) for n in range(900)
    ]
    corpus = _write(tmp_path / "c.jsonl", "\n".join(lines))
    command = [sys.executable, "-c", _INGEST, str(tmp_path / "store"), str(corpus)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=without_coverage(),
    ) as process:
        assert process.stdout is not None
        acknowledged = 0
        for _ in range(after):
            acknowledged = int(process.stdout.readline())
        os.kill(process.pid, how)
        limit = threading.Timer(PATIENCE, process.kill)
        limit.start()
        acknowledged = max([acknowledged, *map(int, process.stdout.read().split())])
        limit.cancel()
    assert process.returncode == -how
    assert acknowledged < 900

    with toy_memory(tmp_path / "store", create=False) as engine:
        stored = engine.info().documents
        assert acknowledged <= stored < 900
        assert engine.info().slots == stored
        report = engine.ingest(corpus)
        assert (report.added, report.unchanged) == (900 - stored, stored)
        assert engine.verify().problems == ()
