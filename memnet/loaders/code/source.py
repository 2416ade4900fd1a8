"""Source code and settings: Python by its syntax tree, other languages by their empty lines.

Docstrings and comments that stand alone become paragraphs, each definition of Python stands under
a heading with its name, and everything else is code. All of it is placed by its line.
"""

import ast
import inspect
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TypeAlias

from memnet.errors import EMPTY, InputError, Problem
from memnet.io import decode, with_line_feeds
from memnet.loaders.document import DocumentBuilder, ParsedDocument, paragraphs
from memnet.loaders.formats import SourceFile

_Definition: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_PYTHON = frozenset({".py", ".pyi", ".pyw"})
_MAX_LEVEL = 4  # of headings: classes nested deeper than this stay in the code of the outer one
_MAX_MEAN_LINE = 250  # characters; minified and generated files have longer lines
_MIN_CHARACTERS = 2000  # a shorter file may be one long line
# Marks that begin a comment, by suffix; "#" where nothing else is known, as in settings.
_C_LIKE = ("//", "/*", "*")
_COMMENTS = {
    suffix: marks
    for suffixes, marks in (
        (".c .h .cc .cpp .cxx .hh .hpp .hxx .ino .m .mm .java .kt .kts .scala .groovy .gradle .cs "
         ".fs .go .rs .zig .swift .dart .js .mjs .cjs .jsx .ts .tsx .proto .sol .css .scss .less",
         _C_LIKE),
        (".php", (*_C_LIKE, "#")),
        (".sql .lua .hs .elm", ("--", "/*", "*", "{-")),
        (".lisp .el .scm .clj", (";",)),
        (".ini .cfg .conf", ("#", ";")),
        (".vb", ("'",)),
        (".erl", ("%",)),
        (".f90", ("!",)),
    )
    for suffix in suffixes.split()
}  # fmt: skip
# "#!/bin/sh", "-*- coding: utf-8 -*-", "vim: set": lines for programs.
_FOR_PROGRAMS = re.compile(r"#!|.*-\*-|.*\b(?:vim?|ex):\s*set?\b|.*(?:eslint-|@ts-|noqa\b)")
_DECORATION = re.compile(r"[-=*#~_/+|;%!\s]*")
_RULE = re.compile(r"^[-=*#~_/+]{3,}\s*|\s*[-=*#~_/+]{4,}$")


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The definitions, comments and code of a file."""
    text = with_line_feeds(decode(file.data))
    _check_written_by_hand(text)
    path = PurePath(file.name)
    suffix = path.suffix.lower()
    writer = _Writer(text, path.name, _COMMENTS.get(suffix, ("#",)))
    module = _parse(text) if suffix in _PYTHON else None
    if module is None:
        writer.lines(1, len(writer.source) + 1)
    else:
        writer.module(module)
    if not len(writer.builder):
        raise InputError("holds no code; leave it out", EMPTY)
    yield writer.builder.build(file.name, path.name)


def _check_written_by_hand(text: str) -> None:
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        raise InputError("is empty; leave it out", EMPTY)
    mean = sum(map(len, lines)) // len(lines)
    if mean > _MAX_MEAN_LINE and len(text) > _MIN_CHARACTERS:
        raise InputError(
            f"holds no text to read: its lines have {mean:,} characters on average, as minified "
            "and generated files do; leave it out, or pass it with --as text",
            "generated files",
        )


def _parse(text: str) -> ast.Module | None:
    """The syntax tree; None if it is not Python of this version."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in strings
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Writer:
    """Adds lines, numbered from 1, to a document."""

    def __init__(self, text: str, name: str, marks: tuple[str, ...]) -> None:
        self.builder = DocumentBuilder()
        self.source = text.split("\n")
        self._name = name
        self._marks = marks
        self._in_definition = False

    def lines(self, first: int, end: int) -> None:
        """Add the lines before ``end`` in runs: each begins unindented after an empty line."""
        start = first
        for number in range(first + 1, end + 1):
            above, line = self.source[number - 2], "" if number == end else self.source[number - 1]
            begins = line.strip() and not line[0].isspace() and not above.strip()
            if not begins and number < end:
                continue
            run = range(start, number)
            code = next((at for at in run if not self._is_comment(at)), number)
            if self._marks[0] == "#" and code < number:
                code = start  # a comment of a script or of settings stays with what it is about
            if any(self.source[at - 1].strip() for at in run):
                self._outside(start)
                self._comment(range(start, code))
                self._code(range(code, number))
            start = number

    def module(self, module: ast.Module) -> None:
        """Add a module of Python."""
        at = 1
        if docstring := _docstring(module):
            self.lines(1, docstring.lineno)
            at = self._described(docstring)
        for definition in _definitions(module):
            first = self._first_line(definition, at)
            self.lines(at, first)
            self._definition(definition, first, "", 1)
            at = (definition.end_lineno or first) + 1
        self.lines(at, len(self.source) + 1)

    def _definition(self, node: _Definition, first: int, outer: str, level: int) -> None:
        name = f"{outer}{node.name}"
        self._in_definition = True
        self.builder.add("heading", name, level=level, place=f"line {node.lineno}")
        decorated, last = _decorated(node), node.end_lineno or node.lineno
        self._comment(range(first, decorated))
        skipped: set[int] = set()
        if docstring := _docstring(node):
            after = self._described(docstring)
            if docstring.lineno > node.lineno:  # not "def f(): 'It.'"
                after += after <= last and not self.source[after - 1].strip()
                skipped.update(range(docstring.lineno, after))
        inner: list[tuple[_Definition, int]] = []
        if isinstance(node, ast.ClassDef) and level < _MAX_LEVEL:
            at = node.body[0].lineno
            for child in _definitions(node):
                start = self._first_line(child, at)
                inner.append((child, start))
                at = (child.end_lineno or start) + 1
                skipped.update(range(start, at))
        self._code([at for at in range(decorated, last + 1) if at not in skipped])
        for child, start in inner:
            self._definition(child, start, f"{name}.", level + 1)

    def _first_line(self, node: _Definition, after: int) -> int:
        """The line where a definition begins, with the comment and decorators above it."""
        first = _decorated(node)
        while first > after and self.source[first - 2].lstrip().startswith("#"):
            first -= 1
        return first

    def _is_comment(self, number: int) -> bool:
        line = self.source[number - 1].lstrip()
        return not line or line.startswith(self._marks)

    def _outside(self, number: int) -> None:
        """Put what follows a definition, and is part of none, under the name of the file."""
        if self._in_definition:
            self.builder.add("heading", self._name, level=1, place=f"line {number}")
            self._in_definition = False

    def _comment(self, numbers: range) -> None:
        said = "\n".join(self._said(self.source[at - 1].strip()) for at in numbers)
        self._paragraphs(said, numbers.start)

    def _said(self, line: str) -> str:
        """What a line of a comment says, without its marks."""
        if _FOR_PROGRAMS.match(line) or _DECORATION.fullmatch(line):
            return ""
        mark = next((mark for mark in self._marks if line.startswith(mark)), "")
        line = line[len(mark) :].lstrip(mark[:1] + "!").removesuffix("*/").removesuffix("-}")
        return _RULE.sub("", line.removeprefix(" ")).rstrip()

    def _described(self, docstring: ast.Constant) -> int:
        """Add a docstring; gives the line after it."""
        self._paragraphs(inspect.cleandoc(str(docstring.value)), docstring.lineno)
        return (docstring.end_lineno or docstring.lineno) + 1

    def _paragraphs(self, text: str, first: int) -> None:
        for start, stop in paragraphs(text):
            line = first + text.count("\n", 0, start)
            self.builder.add("paragraph", text[start:stop], place=f"line {line}")

    def _code(self, numbers: Sequence[int]) -> None:
        lines = [self.source[at - 1] for at in numbers]
        lead = next((at for at, line in zip(numbers, lines, strict=True) if line.strip()), 0)
        self.builder.add("code", "\n".join(lines), place=f"line {lead}")


def _decorated(node: _Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _definitions(node: ast.Module | ast.ClassDef) -> Iterator[_Definition]:
    return (child for child in node.body if isinstance(child, _DEFINITIONS))


def _docstring(node: ast.Module | _Definition) -> ast.Constant | None:
    first = node.body[0] if node.body else None
    value = first.value if isinstance(first, ast.Expr) else None
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
