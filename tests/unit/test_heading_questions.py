import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from memnet import Config, Document, Engine
from memnet.cli.main import memnet
from memnet.documents.training.headings import asked_by
from memnet.reader.training.examples import find_quote
from memnet.training import heading_examples, read_reader_examples
from tests.toy import ToyEncoder, toy_store

TOLD = "You need a key for it.\n\nMore is said below."


@pytest.mark.parametrize(
    ("heading", "question"),
    [
        ("Installing plugins", "How do I install plugins?"),
        ("Install plugins", "How do I install plugins?"),
        ("To install plugins", "How do I install plugins?"),
        ("How to install plugins", "How do I install plugins?"),
        ("2.1 Setting up your vault", "How do I set up my vault?"),
        ("Step 3: Running a backup", "How do I run a backup?"),
        ("Adding and removing keys (optional)", "How do I add and remove keys?"),
        ("Why is it slow?", "Why is it slow?"),
        ("Where are my *files* kept?", "Where are my *files* kept?"),
        ("Using `export`", "How do I use export?"),
    ],
)
def test_headings_that_ask(heading: str, question: str) -> None:
    asked = asked_by(heading, "", TOLD)
    assert asked is not None
    assert asked.question == question
    assert asked.quotes == ("You need a key for it.",)


@pytest.mark.parametrize(
    "heading",
    [
        "Overview", "Introduction", "Chapter 2", "2. Introduction", "See also", "More examples",
        "2023-05-11", "11 May 2023", "Monday", "1.2.3", "v2.0", "42", "Q1 2024", "§", "",
        "Use cases", "Export options", "Running costs", "Building permits", "Unlock duration",
        "Opening ceremony", "Test results", "Plugins", "Installing", "Ready?", "Really sure?",
        "Install: the long way", "Ann Orre", "The plugins that we have", "Setup",
    ],
)  # fmt: skip
def test_headings_that_ask_nothing(heading: str) -> None:
    assert asked_by(heading, "Plugins", TOLD) is None
    assert asked_by(heading, "Plugins", "") is None


@pytest.mark.parametrize(
    ("heading", "text", "question"),
    [
        ("Vault", "A vault is an encrypted folder. It is small.", "What is a vault?"),
        ("The Vaults", "Vaults are the folders of Ann.", "What are Vaults?"),
        ("Orre Sync", "Orre Sync (OS) is a service.", "What is Orre Sync?"),
        ("Keys", "Keys refers to what opens it.", "What does Keys mean?"),
        ("Vault", "A vault is never lost.", None),
        ("Vault", "Ann says that a vault is a folder.", None),
        ("Vault", "A vault, or safe, opens. A vault is a folder.", None),
        ("Overview", "An overview is a short text.", None),
    ],
)
def test_names_that_a_section_defines(heading: str, text: str, question: str | None) -> None:
    asked = asked_by(heading, "", text)
    assert (asked.question if asked else None) == question
    if asked:
        assert asked.kind == "definition"
        assert asked.quotes == (text.split(". ")[0].removesuffix(".") + ".",)


ITEMS = "- a key\n- a lamp\n- a boat"


@pytest.mark.parametrize(
    ("heading", "text", "question"),
    [
        ("Supported formats", ITEMS, "What are the supported formats?"),
        ("Requirements", f"You need:\n\n{ITEMS}", "What are the requirements for the crossing?"),
        ("Symptoms", ITEMS, "What are the symptoms of the crossing?"),
        ("Symptoms", "- one\n- two", None),
        ("Requirements", f"Nothing is needed.\n\n{ITEMS}", None),
        ("Supported formats", f"{'Long ' * 60}:\n\n{ITEMS}", None),
        ("Keys and lamps", ITEMS, None),
        ("Supported status", ITEMS, None),
        ("Boats", ITEMS, None),
        ("Packing boats", ITEMS, None),
        ("Examples", ITEMS, None),
    ],
)
def test_lists_that_a_heading_names(heading: str, text: str, question: str | None) -> None:
    asked = asked_by(heading, "the crossing", text)
    assert (asked.question if asked else None) == question
    if asked:
        assert asked.kind == "list"
        assert asked.quotes == tuple(line for line in text.split("\n") if line)


def test_a_list_needs_to_know_of_what() -> None:
    for above in ("", "2023", "Overview", "What is it?"):
        assert asked_by("Requirements", above, ITEMS) is None


def test_steps_are_quoted_with_what_introduces_them() -> None:
    text = "It opens both ways.\n\nTo lock it:\n\n1. Close it.\n2. Turn the key.\n\nThen rest."
    asked = asked_by("Lock the vault", "", text)
    assert asked is not None
    assert asked.kind == "steps"
    assert asked.quotes == ("To lock it:", "1. Close it.", "2. Turn the key.")
    assert asked_by("Lock the vault", "", "It is never locked.") is None
    assert asked_by("Lock the vault", "", "Turn it. " * 200) is None
    code = asked_by("How do I lock it?", "", "Run this:\n\nlock --all\n\nIt is locked.")
    assert code is not None
    assert code.quotes == ("Run this:", "lock --all")


DOCUMENTS = {
    "light.md": "# The light\n\n## Overview\n\nIt is on Orre.\n\n"
    "## Opening the lamp\n\nIt is old.\n\n"
    "## Cleaning the lamp\n\nYou clean it with spirit. It is dull else.\n\n"
    "## Lamp\n\nThe lamp is a lens with a wick.\n",
    "boat.md": "# The boat\n\n## Mooring the boat\n\nUse two ropes.\n\n## Requirements\n\n"
    + ITEMS
    + "\n\n## Lamp\n\nThe boat has none.\n\n## Who may use it?\n\nThe keepers.\n",
    "other.md": "# The other boat\n\n## Who may use it?\n\nNobody may.\n",
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Engine]:
    store = toy_store(tmp_path / "store")
    with Engine(store, ToyEncoder(), Config(), "untrained", "sentences") as engine:
        for name, text in DOCUMENTS.items():
            (tmp_path / name).write_text(text)
            engine.ingest(tmp_path / name)
        yield engine


def test_examples_of_a_memory(memory: Engine) -> None:
    examples = heading_examples(memory)
    assert examples == heading_examples(memory)
    asked = {one.question: one for one in examples}
    # "Who may use it?" is asked of two boats.
    assert set(asked) == {
        "How do I clean the lamp?",
        "What is the lamp?",
        "What are the requirements for The boat?",
    }
    assert asked["How do I clean the lamp?"].quotes == (
        "You clean it with spirit. It is dull else.",
    )
    for one in examples:
        [passage] = one.passages
        assert all(find_quote(passage.text, quote) for quote in one.quotes)
        assert one.others
        assert passage not in one.others


def test_a_text_without_headings_asks_nothing(memory: Engine) -> None:
    memory.forget(*(one.id for one in memory.sources()))
    assert heading_examples(memory) == []
    memory.ingest([Document(id="note", text="Nothing is said here. It is late.")])
    assert heading_examples(memory) == []


def test_the_command_writes_examples(tmp_path: Path) -> None:
    for name, text in DOCUMENTS.items():
        (tmp_path / name).write_text(text)
    store = ["--store", str(tmp_path / "store")]
    run = CliRunner().invoke
    assert run(memnet, ["ingest", str(tmp_path), *store]).exit_code == 0
    out = tmp_path / "questions.jsonl"
    done = run(memnet, ["train", "questions", "--out", str(out), "--json", *store])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["questions"] == len(read_reader_examples(out)) == 3
    done = run(memnet, ["train", "questions", "--out", str(out), *store])
    assert done.output.startswith("3 questions (1 definition, 1 list, 1 steps)")
    done = run(memnet, ["train", "questions", "--out", str(tmp_path / "no" / "x"), *store])
    assert done.exit_code != 0
    assert "can't be written" in str(done.exception or done.output)
    empty = ["--store", str(tmp_path / "empty")]
    (tmp_path / "note.txt").write_text("Nothing is said here.")
    assert run(memnet, ["ingest", str(tmp_path / "note.txt"), *empty]).exit_code == 0
    done = run(memnet, ["train", "questions", "--out", str(out), *empty])
    assert done.exit_code != 0
    assert "no heading" in str(done.exception or done.output)
