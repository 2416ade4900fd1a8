"""Stories in the bAbI format (Weston et al. 2015): numbered sentences and questions about them.

A line is ``<number> <sentence>`` or ``<number> <question>\t<answer>\t<numbers that support it>``;
a line numbered 1 starts a new story.
"""

import re
from collections.abc import Iterator, Mapping
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
    answers: tuple[str, ...]  # its parts in their order; none where the file gives none
    after: int  # number of sentences of the story before the question
    supports: tuple[int, ...]  # indices of the sentences that give the answer, as in the file


@dataclass(frozen=True)
class Story:
    """A story without its line numbers."""

    sentences: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]  # ``text[start:end]`` of the file's text is the sentence
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
        sentences: list[str] = []
        spans: list[tuple[int, int]] = []
        questions: list[StoryQuestion] = []
        indices: dict[int, int] = {}  # of the sentences by the numbers of their lines
        last_number = 0
        for line_number, start, line in lines:
            try:
                last_number, content = _numbered_content(line, last_number)
                if "\t" in content or content.endswith("?"):
                    questions.append(_question(content, len(sentences), indices))
                else:
                    indices[last_number] = len(sentences)
                    sentences.append(content)
                    end = start + len(line.rstrip())
                    spans.append((end - len(content), end))
            except InputError as error:
                yield Problem(f"{name}, line {line_number}", str(error))
                break
        else:
            yield Story(tuple(sentences), tuple(spans), tuple(questions))


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


def _numbered_content(line: str, last_number: int) -> tuple[int, str]:
    content = line.strip()
    match = _NUMBERED_LINE.fullmatch(content)
    if match is None:
        raise InputError(f"is {content[:40]!r}, expected '<number> <sentence>'; correct it")
    number = int(match[1])
    if number <= last_number or (number > 1 and not last_number):
        raise InputError(
            f"is numbered {number} after {last_number or 'no other line'}; the numbers "
            "of a story start at 1 and go up: renumber it"
        )
    return number, match[2]


def _question(content: str, after: int, indices: Mapping[int, int]) -> StoryQuestion:
    columns = [column.strip() for column in content.split("\t")]
    answers = tuple(part.strip() for part in columns[1].split(",")) if columns[1:] else ()
    if not after:
        raise InputError(
            f"asks {columns[0][:40]!r} before any sentence; put the story before its questions"
        )
    if len(columns) > 3 or not columns[0] or not all(answers):
        raise InputError(
            f"has {len(columns)} columns, expected '<question><tab><answer><tab><numbers>', "
            "question and answer filled; correct it"
        )
    supports = columns[2].split() if columns[2:] else []
    for word in supports:
        if not re.fullmatch(r"\d{1,9}", word) or int(word) not in indices:
            raise InputError(
                f"is supported by {word!r}, expected the number of a sentence before it; correct it"
            )
    return StoryQuestion(columns[0], answers, after, tuple(indices[int(one)] for one in supports))
