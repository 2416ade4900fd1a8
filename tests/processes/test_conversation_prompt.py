"""``memnet ask`` without a question: at a terminal, and with a question a line."""

import io
import os
import re
import select
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet import Answer, Document, Engine
from memnet.cli.ask import print_answer
from memnet.cli.conversation import Conversation, answer_lines, completions, open_history
from memnet.cli.show import show_answer
from memnet.text.names import symbol
from tests.waiting import PATIENCE, completed

READY = "\x1b[?2004h"
"""What the prompt sends when it begins to read a line: pasted text is to be marked."""


@pytest.fixture
def talk(toy_engine: Engine) -> Conversation:
    toy_engine.ingest(
        Document(id="a", title="Orre Light", text="The Orre Light was built by Una Thale."),
        Document(id="b", title="Kestle", text="Kestle lies on Hallin."),
    )
    return Conversation(toy_engine, toy_engine.ask, show_answer, "")


def test_a_question_and_its_explanation(
    talk: Conversation, capsys: pytest.CaptureFixture[str]
) -> None:
    talk.answer("/explain")
    assert capsys.readouterr().err == "No question has been asked yet.\n"
    talk.answer("  Who built the Orre Light? ")
    shown = capsys.readouterr().out
    assert "built by Una Thale" in shown.replace("*", "")
    assert "Orre Light (a)" in shown
    assert "Hop 1" not in shown
    talk.answer("/explain")
    assert "Hop 1" in capsys.readouterr().out


def test_commands(talk: Conversation, capsys: pytest.CaptureFixture[str]) -> None:
    def said(line: str) -> str:
        talk.answer(line)
        return capsys.readouterr().out

    assert said("") == ""
    assert re.search(r"document +\d+  a  Orre Light\n", said("/sources"))
    assert said("/tell Ann moved to Paris.").startswith(
        'add        "Ann moved to Paris." as told/1'
    )
    assert "told/1" in said("/sources")
    assert said("/undo") == 'removed    "Ann moved to Paris." (told/1)\n'
    assert "told/1" not in said("/sources")
    assert all(name in said("/help") for name in talk.commands)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("/undo", "Error: "),
        ("/tell", "Error: the text holds no words"),
        ("/nothing", "Unknown command /nothing"),
        ("/\x1b[31m", "Unknown command /\\x1b[31m"),
        ("x" * 2_000_000, "Error: "),
    ],
)
def test_mistakes_are_one_line_and_the_conversation_goes_on(
    talk: Conversation, capsys: pytest.CaptureFixture[str], line: str, complaint: str
) -> None:
    talk.answer(line)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(complaint)
    assert said.err.count("\n") == 1
    talk.answer("Where is Kestle?")
    assert "Kestle" in capsys.readouterr().out


def test_an_interrupt_cancels_the_answer(
    toy_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: str) -> Answer:
        raise KeyboardInterrupt

    Conversation(toy_engine, interrupted, show_answer, "").answer("Who?")
    assert capsys.readouterr().err == "Cancelled.\n"


def test_names_are_completed(talk: Conversation) -> None:
    assert list(talk.names("Who built the orr")) == [("Orre Light", 3)]
    assert list(talk.names("Who built the Orre  Li")) == [("Orre Light", 8)]
    assert list(talk.names("/s")) == [("/sources", 2)]
    assert list(talk.names("/tell Kes")) == [("Kestle", 3)]
    assert all(list(talk.names(text)) == [] for text in ("o", "nothing like it", ""))


_WORDS = st.lists(
    st.sampled_from(["Ann", "an", "orre", "Light", "of", "o"]), min_size=1, max_size=3
)


@given(st.lists(_WORDS.map(" ".join), max_size=8), _WORDS.map(" ".join), st.integers(1, 12))
def test_completions_are_those_of_a_plain_search(names: list[str], text: str, length: int) -> None:
    typed = text[:length]
    by_symbol = {symbol(name): name for name in names}

    def find(prefix: str, limit: int) -> list[str]:
        return [by_symbol[one] for one in sorted(by_symbol) if one.startswith(prefix)][:limit]

    expected: list[tuple[str, int]] = []
    for start in range(len(typed)):
        tail = typed[start:]
        if (start == 0 or typed[start - 1] == " ") and tail[0] != " " and len(tail.strip()) > 1:
            for one in sorted(by_symbol):
                if one.startswith(tail.casefold()) and all(
                    by_symbol[one] != name for name, _ in expected
                ):
                    expected.append((by_symbol[one], len(tail)))
    assert list(completions(typed, find)) == expected


def test_lines_are_answered_one_by_one(
    toy_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    toy_engine.ingest(Document(id="b", title="Kestle", text="Kestle lies on Hallin."))
    show = partial(print_answer, engine=toy_engine, as_json=True, explained=False)
    lines = io.StringIO(f"Where is Kestle?\n\n  \n{'x' * 2_000_000}\n/help\nWhat is Hallin?")
    assert answer_lines(lines, toy_engine.ask, show, as_json=True) == 1
    said = capsys.readouterr()
    assert said.err.startswith("Error: ")
    assert said.err.count("\n") == 1
    asked = [Answer.model_validate_json(line).question for line in said.out.splitlines()]
    assert asked == ["Where is Kestle?", "/help", "What is Hallin?"]
    assert answer_lines(io.StringIO(""), toy_engine.ask, show, as_json=True) == 0


def test_answers_for_people_stand_below_their_questions(
    toy_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    toy_engine.ingest(Document(id="b", title="Kestle", text="Kestle lies on Hallin."))
    lines = io.StringIO("\nWhere is Kestle?\n\n What is\x1b Hallin? \n")
    assert answer_lines(lines, toy_engine.ask, show_answer, as_json=False) == 0
    said = capsys.readouterr().out
    first, second = said.split("\n\n")
    assert first.startswith("Where is Kestle?\nKestle lies on Hallin.")
    assert second.startswith("What is\\x1b Hallin?\n")


@pytest.mark.skipif(os.name != "posix", reason="file modes are those of POSIX")
def test_only_the_user_may_read_the_history(tmp_path: Path) -> None:
    path = tmp_path / "state" / "memnet" / "history"
    open_history(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.write_text("kept")
    path.chmod(0o644)
    open_history(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == "kept"


class Terminal:
    """A process at a terminal of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self._shown = ""

    def type(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def wait_for(self, text: str) -> str:
        """What was shown since the last call, up to a text."""
        end = time.monotonic() + PATIENCE
        while text not in self._shown:
            assert time.monotonic() < end, self._shown
            if select.select([self._descriptor], [], [], 0.2)[0]:
                self._shown += os.read(self._descriptor, 65536).decode(errors="replace")
        shown, _, self._shown = self._shown.partition(text)
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


@contextmanager
def at_terminal(*command: str, **environment: str) -> Iterator[Terminal]:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", **environment},
    )  # fmt: skip
    os.close(theirs)
    try:
        yield Terminal(process, ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, ...]:
    """Begins a conversation about a memory of one document."""
    with Engine.open(tmp_path / "store", create=True) as engine:
        text = "It was built by Una Thale in 1862."
        engine.ingest(Document(id="a", title="Orre Light", text=text))
    return (sys.executable, "-m", "memnet", "ask", "--store", str(tmp_path / "store"))


@pytest.mark.skipif(os.name != "posix", reason="a pseudo-terminal is one of POSIX")
def test_at_a_terminal(tmp_path: Path, command: tuple[str, ...]) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    with at_terminal(*command, **state) as terminal:
        terminal.wait_for(READY)
        terminal.type("Who built the Orr\t")
        terminal.wait_for("e Light")
        terminal.type("?\r")
        assert "Una Thale" in terminal.wait_for("[1] hop 1")
        terminal.wait_for(READY)
        terminal.type("this is never asked")
        terminal.wait_for("asked")
        terminal.type("\x03")
        terminal.wait_for(READY)
        terminal.type("/expl\t")
        terminal.wait_for("ain")
        terminal.type("\r")
        terminal.wait_for("Hop 1")
        terminal.wait_for(READY)
        terminal.type("\x1b[A\x1b[A")  # the last but one again
        terminal.wait_for("Light?")
        terminal.type("\r")
        terminal.wait_for("Una Thale")
        terminal.wait_for(READY)
        terminal.type("\x04")
        assert terminal.process.wait(PATIENCE) == 0
    (history,) = (tmp_path).rglob("history")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    kept = [line[1:] for line in history.read_text().splitlines() if line.startswith("+")]
    assert kept == ["Who built the Orre Light?", "/explain", "Who built the Orre Light?"]


def test_without_a_terminal_each_line_is_a_question(command: tuple[str, ...]) -> None:
    done = completed(command, given="Who built the Orre Light?\nWhen was the Orre Light built?\n")
    assert done.stdout.index("Una Thale") < done.stdout.index("1862**")
    refused = completed([*command, "--plot", "a.svg"], check=False)
    assert refused.returncode == 2
    assert "--plot needs a QUESTION" in refused.stderr
