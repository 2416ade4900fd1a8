"""``memnet ask`` without a question: one after the other, from a terminal or from lines."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from memnet.cli.output import show_note
from memnet.cli.store import show_source
from memnet.cli.tell import show_report, show_undone
from memnet.errors import MemnetError, shorten, text_line
from memnet.text.follow_ups import Asked, answer_after

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession

    from memnet.engine import Engine
    from memnet.types import Answer

_PROMPT = "memnet> "
_MAX_QUESTION = 1000  # characters of a question that are shown above its answer
HELP = """\
Type a question, or one of:
  /explain    show what each hop of the last answer attended to, and why
  /sources    list the stored sources
  /tell TEXT  remember a text
  /undo       undo the last /tell
  /help       show this list
Tab completes names from the memory; Ctrl-C cancels, Ctrl-D ends."""


def answer_lines(
    lines: TextIO, ask: "Callable[[str], Answer]", show: "Callable[[Answer], None]", as_json: bool
) -> int:
    """Answer one question a line; an error about one is reported, and the others are answered.

    Unless they are JSON, each answer stands below its question, after an empty line. Returns the
    exit code: 1 if there was an error.
    """
    code = 0
    between = ""
    for line in lines:
        if not line.strip():
            continue
        if not as_json:
            click.echo(f"{between}{shorten(text_line(line), _MAX_QUESTION)}")
            between = "\n"
        try:
            show(ask(line.strip()))
        except MemnetError as error:
            click.echo(f"Error: {error}", err=True)
            code = 1
        sys.stdout.flush()
    return code


class Conversation:
    """What is done with each line that a user types."""

    def __init__(
        self,
        engine: "Engine",
        ask: "Callable[[str], Answer]",
        show: "Callable[[Answer], None]",
        namespace: str,
    ) -> None:
        """Talk about a memory; ``/tell`` writes into ``namespace``."""
        self._engine = engine
        self._ask = ask
        self._show = show
        self._last: Answer | None = None
        self.commands: Mapping[str, Callable[[str], object]] = {
            "/explain": self._explain,
            "/sources": self._sources,
            "/tell": lambda text: show_report(engine.tell(text, namespace=namespace)),
            "/undo": lambda _: show_undone(engine.undo(namespace=namespace)),
            "/help": lambda _: click.echo(HELP),
        }

    def answer(self, line: str) -> None:
        """Answer a question or follow a command; what goes wrong is said in one line."""
        line = line.strip()
        if not line:
            return
        word, _, rest = line.partition(" ")
        try:
            if not word.startswith("/"):
                self._last = self._answer_to(line)
                self._show(self._last)
            elif word in self.commands:
                self.commands[word](rest.strip())
            else:
                click.echo(f"Unknown command {text_line(word)}; /help lists all.", err=True)
        except MemnetError as error:
            click.echo(f"Error: {error}", err=True)
        except KeyboardInterrupt:
            click.echo("Cancelled.", err=True)

    def _answer_to(self, question: str) -> "Answer":
        """The answer to a question, which may mean what the turn before was about by "she"."""
        last = self._last
        before = None if last is None else Asked(question=last.question, short=last.short)
        answer, chosen = answer_after(question, before, self._ask)
        if chosen is not None:
            read_as = chosen.name if chosen.name not in chosen.pronoun else chosen.question
            show_note(f'Note: "{chosen.pronoun}" is read as "{read_as}".')
        return answer

    def names(self, text: str) -> Iterator[tuple[str, int]]:
        """Completions of a text: a name or command, and how many typed characters it replaces."""
        if text.startswith("/") and " " not in text:
            yield from ((one, len(text)) for one in self.commands if one.startswith(text))
            return
        yield from completions(text, self._engine.store.contents.names)

    def _explain(self, _rest: str) -> None:
        if self._last is None:
            click.echo("No question has been asked yet.", err=True)
        else:
            from memnet.cli.show import explain

            explain(self._last)

    def _sources(self, _rest: str) -> None:
        for item in self._engine.sources():
            show_source(item)


_MAX_WORDS = 4  # of a name that is being typed
_MAX_NAMES = 20
_MIN_LETTERS = 2  # typed before names are offered: a single letter begins too many


def completions(text: str, find: Callable[[str, int], list[str]]) -> Iterator[tuple[str, int]]:
    """Names that the last words of a text begin, and how many characters they replace.

    Names that cover most words come first; ``find`` gives names by a normalised prefix and a limit.
    """
    starts = [place for place in range(len(text)) if not place or text[place - 1].isspace()]
    seen: set[str] = set()
    for start in starts[-_MAX_WORDS:]:
        typed = text[start:]
        begun = " ".join(typed.casefold().split())
        if len(begun) < _MIN_LETTERS or typed[:1].isspace():
            continue
        for name in find(begun + " " * typed[-1:].isspace(), _MAX_NAMES):
            if name not in seen and name.isprintable():
                seen.add(name)
                yield name, len(typed)


def _prompt_session(conversation: Conversation) -> "PromptSession[str]":
    """Line editing with history and completion, on the terminal even if output goes elsewhere."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.output import create_output

    class Names(Completer):
        """Offers names from the memory, and commands."""

        def get_completions(
            self,
            document: Document,
            complete_event: object,  # noqa: ARG002
        ) -> Iterator[Completion]:
            """What may follow the text before the cursor."""
            for name, typed in conversation.names(document.text_before_cursor):
                yield Completion(name, start_position=-typed)

    return PromptSession(
        history=_history(),
        completer=Names(),
        complete_while_typing=False,
        output=create_output(always_prefer_tty=True),
    )


def _history() -> Any:
    """What was typed in earlier conversations, in a file that only the user may read."""
    from platformdirs import user_state_path
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    path = user_state_path("memnet") / "history"
    try:
        open_history(path)
    except OSError as error:
        reason = error.strerror or error
        show_note(f"The history {path} can't be written ({reason}); none is kept.")
        return InMemoryHistory()
    return FileHistory(str(path))


def open_history(path: Path) -> None:
    """Make the file if it is missing, readable by its owner only: questions are private."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    path.chmod(0o600)


def hold_conversation(
    engine: "Engine",
    show: "Callable[[Answer], None]",
    namespace: str | None,
    as_json: bool,
    **asking: Any,
) -> int:
    """Answer questions from standard input with ``Engine.ask``; returns the exit code.

    Without a namespace all are searched, and /tell writes into the default one.
    """
    ask = partial(engine.ask, namespace=namespace, **asking)
    if not sys.stdin.isatty():
        return answer_lines(sys.stdin, ask, show, as_json)
    conversation = Conversation(engine, ask, show, namespace or "")
    session = _prompt_session(conversation)
    show_note("Ask a question; /help for more, Ctrl-D to end.")
    while True:
        try:
            line = session.prompt(_PROMPT)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        conversation.answer(line)
        sys.stdout.flush()
