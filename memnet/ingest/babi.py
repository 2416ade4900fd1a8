"""Stories in the bAbI format (Weston et al. 2015): numbered sentences and questions about them.

A line is ``<number> <sentence>`` or ``<number> <question>\t<answer>\t<numbers that support it>``;
a line numbered 1 starts a new story.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memnet.errors import InputError
from memnet.files import Problem

_NUMBERED = re.compile(r"(\d{1,9}) +(\S.*)", re.DOTALL)
_FIRST = re.compile(r"^\s*1\s")
_OPENING = re.compile(r"^\s*1 [^\t\n?]+\n")
_ANSWERED = re.compile(r"^ *\d+ [^\t\n]*\? *\t", re.MULTILINE)


@dataclass(frozen=True)
class StoryQuestion:
    """A question that stands in a story, about the sentences before it."""

    text: str
    answers: tuple[str, ...]
    """The parts of the answer in their order; none where the file gives none."""
    after: int
    """How many sentences of the story come before the question."""
    supports: tuple[int, ...]
    """Places, counted from 0 among the sentences, of those that give the answer; in file order."""


@dataclass(frozen=True)
class Story:
    """A story without its line numbers."""

    sentences: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """Where each sentence stands: ``text[start:end]`` of the file's text is the sentence."""
    questions: tuple[StoryQuestion, ...]


def may_open_stories(line: str) -> bool:
    """Whether the first line of a text might be that of a file of stories."""
    return not line.strip() or bool(_FIRST.match(line))


def looks_like_stories(text: str) -> bool:
    """Whether a text is in the story format, if perhaps with mistakes.

    It is when the first line is a sentence numbered 1 and some line is a question with a tab and
    its answer after it: a numbered list has no such line.
    """
    return bool(_OPENING.match(text) and _ANSWERED.search(text))


def parse_stories(text: str, name: str) -> list[Story]:
    """All stories of a text.

    Raises:
        InputError: the first mistake, with ``name`` and the number of its line.
    """
    stories: list[Story] = []
    for story in read_stories(text, name):
        if isinstance(story, Problem):
            raise InputError(str(story))
        stories.append(story)
    if not stories:
        raise InputError(f"{name}: holds no story; expected lines '<number> <sentence>'")
    return stories


def read_stories(text: str, name: str) -> Iterator[Story | Problem]:
    """The stories of a text, with a problem in the place of each that has a mistake."""
    for lines in _line_groups(text):
        story = _StoryLines()
        for number, start, line in lines:
            try:
                story.add(start, line)
            except InputError as error:
                yield Problem(f"{name}, line {number}", str(error))
                break
        else:
            yield story.finished()


def _line_groups(text: str) -> Iterator[list[tuple[int, int, str]]]:
    """For each story: the number in the file, first character and content of its lines."""
    group: list[tuple[int, int, str]] = []
    position = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if group and _FIRST.match(line):
            yield group
            group = []
        if line.strip():
            group.append((number, position, line))
        position += len(line) + 1
    if group:
        yield group


class _StoryLines:
    """A story as far as its lines have been read."""

    def __init__(self) -> None:
        self._last = 0
        self._sentences: list[str] = []
        self._spans: list[tuple[int, int]] = []
        self._questions: list[StoryQuestion] = []
        self._places: dict[int, int] = {}

    def add(self, start: int, line: str) -> None:
        """Take in a line, ``start`` being its first character in the text.

        Raises:
            InputError: it does not go on with the story.
        """
        content = line.strip()
        match = _NUMBERED.fullmatch(content)
        if match is None:
            raise InputError(f"is {content[:40]!r}, expected '<number> <sentence>'; correct it")
        number = int(match[1])
        if number <= self._last or (number > 1 and not self._last):
            raise InputError(
                f"is numbered {number} after {self._last or 'no other line'}; the numbers of a "
                "story start at 1 and go up: renumber it"
            )
        self._last = number
        if "\t" in match[2] or match[2].endswith("?"):
            self._add_question(match[2])
        else:
            self._places[number] = len(self._sentences)
            self._sentences.append(match[2])
            first = start + line.index(content) + match.start(2)
            self._spans.append((first, first + len(match[2])))

    def finished(self) -> Story:
        """The story."""
        return Story(tuple(self._sentences), tuple(self._spans), tuple(self._questions))

    def _add_question(self, content: str) -> None:
        columns = [column.strip() for column in content.split("\t")]
        answers = tuple(part.strip() for part in columns[1].split(",")) if columns[1:] else ()
        if not self._sentences:
            raise InputError(
                f"asks {columns[0][:40]!r} before any sentence; put the story before its questions"
            )
        if len(columns) > 3 or not columns[0] or not all(answers):
            raise InputError(
                f"has {len(columns)} columns, expected '<question><tab><answer><tab><numbers>', "
                "question and answer filled; correct it"
            )
        supports = tuple(self._place(word) for word in " ".join(columns[2:]).split())
        self._questions.append(StoryQuestion(columns[0], answers, len(self._sentences), supports))

    def _place(self, word: str) -> int:
        if not re.fullmatch(r"\d{1,9}", word) or int(word) not in self._places:
            raise InputError(
                f"is supported by {word!r}, expected the number of a sentence before it; correct it"
            )
        return self._places[int(word)]
