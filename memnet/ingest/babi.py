"""Stories in the bAbI format (Weston et al. 2015): numbered sentences and questions about them.

A line is ``<number> <sentence>`` or ``<number> <question>\t<answer>\t<numbers that support it>``;
a line numbered 1 starts a new story.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memnet.errors import InputError, Problem

_NUMBERED_LINE = re.compile(r"(\d{1,9}) +(\S.*)", re.DOTALL)
_FIRST_LINE = re.compile(r"^\s*1\s")
_FIRST_SENTENCE = re.compile(r"^\s*1 [^\t\n?]+\n")
_ANSWERED_QUESTION = re.compile(r"^ *\d+ [^\t\n]*\? *\t", re.MULTILINE)


@dataclass(frozen=True)
class StoryQuestion:
    """A question that stands in a story, about the sentences before it."""

    text: str
    answers: tuple[str, ...]
    """The parts of the answer in their order; none where the file gives none."""
    after: int
    """Number of sentences of the story before the question."""
    supports: tuple[int, ...]
    """Indices of the sentences that give the answer, in the order of the file."""


@dataclass(frozen=True)
class Story:
    """A story without its line numbers."""

    sentences: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """``text[start:end]`` of the file's text is the sentence."""
    questions: tuple[StoryQuestion, ...]


def may_open_stories(line: str) -> bool:
    """Whether the first line of a text might be that of a file of stories."""
    return not line.strip() or bool(_FIRST_LINE.match(line))


def looks_like_stories(text: str) -> bool:
    """Whether a text is in the story format, if perhaps with mistakes.

    It is when the first line is a sentence numbered 1 and some line is a question with a tab and
    its answer after it: a numbered list has no such line.
    """
    return bool(_FIRST_SENTENCE.match(text) and _ANSWERED_QUESTION.search(text))


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
    """The stories of a text, or the problem of a story that has a mistake."""
    for lines in _line_groups(text):
        builder = _StoryBuilder()
        for number, start, line in lines:
            try:
                builder.add(line, start)
            except InputError as error:
                yield Problem(f"{name}, line {number}", str(error))
                break
        else:
            yield Story(tuple(builder.sentences), tuple(builder.spans), tuple(builder.questions))


def _line_groups(text: str) -> Iterator[list[tuple[int, int, str]]]:
    """For each story the number in the file, first character and content of its lines."""
    group: list[tuple[int, int, str]] = []
    position = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if group and _FIRST_LINE.match(line):
            yield group
            group = []
        if line.strip():
            group.append((number, position, line))
        position += len(line) + 1
    if group:
        yield group


class _StoryBuilder:
    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.spans: list[tuple[int, int]] = []
        self.questions: list[StoryQuestion] = []
        self._last_number = 0
        # Of the sentences by the numbers of their lines.
        self._indices: dict[int, int] = {}

    def add(self, line: str, start: int) -> None:
        """Add a line that starts at a character of the text.

        Raises:
            InputError: it does not continue the story.
        """
        content = line.strip()
        match = _NUMBERED_LINE.fullmatch(content)
        if match is None:
            raise InputError(f"is {content[:40]!r}, expected '<number> <sentence>'; correct it")
        number = int(match[1])
        if number <= self._last_number or (number > 1 and not self._last_number):
            raise InputError(
                f"is numbered {number} after {self._last_number or 'no other line'}; the numbers "
                "of a story start at 1 and go up: renumber it"
            )
        self._last_number = number
        if "\t" in match[2] or match[2].endswith("?"):
            self._add_question(match[2])
        else:
            self._indices[number] = len(self.sentences)
            self.sentences.append(match[2])
            first = start + line.index(content) + match.start(2)
            self.spans.append((first, first + len(match[2])))

    def _add_question(self, content: str) -> None:
        columns = [column.strip() for column in content.split("\t")]
        answers = tuple(part.strip() for part in columns[1].split(",")) if columns[1:] else ()
        if not self.sentences:
            raise InputError(
                f"asks {columns[0][:40]!r} before any sentence; put the story before its questions"
            )
        if len(columns) > 3 or not columns[0] or not all(answers):
            raise InputError(
                f"has {len(columns)} columns, expected '<question><tab><answer><tab><numbers>', "
                "question and answer filled; correct it"
            )
        supports = tuple(self._sentence_index(word) for word in " ".join(columns[2:]).split())
        self.questions.append(StoryQuestion(columns[0], answers, len(self.sentences), supports))

    def _sentence_index(self, word: str) -> int:
        if not re.fullmatch(r"\d{1,9}", word) or int(word) not in self._indices:
            raise InputError(
                f"is supported by {word!r}, expected the number of a sentence before it; correct it"
            )
        return self._indices[int(word)]
