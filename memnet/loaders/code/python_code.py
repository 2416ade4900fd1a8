"""Python code by its syntax tree: docstrings as paragraphs, and the code without them."""

import ast
import inspect
import warnings
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from memnet.loaders.code.comments import HASH
from memnet.loaders.document import DocumentBuilder, paragraphs

_Definition: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_MAX_LEVEL = 4  # of headings: classes in classes; deeper ones are code of theirs


def add_python(builder: DocumentBuilder, text: str, name: str) -> bool:
    """Add the docstrings, comments and definitions of a module.

    Args:
        builder: takes the blocks.
        text: of the module.
        name: of its file, the heading of code that follows a definition and is part of none.

    Returns:
        False if it is no Python of this version; nothing is added then.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in strings
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    _Writer(builder, text, name).module(module)
    return True


class _Writer:
    def __init__(self, builder: DocumentBuilder, text: str, name: str) -> None:
        self._builder = builder
        self._lines = text.split("\n")
        self._name = name
        self._in_definition = False

    def module(self, module: ast.Module) -> None:
        """Add all of a module, in the order of its lines."""
        at = 1
        if docstring := _docstring(module):
            self._rest(1, docstring.lineno)
            self._docstring(docstring)
            at = (docstring.end_lineno or docstring.lineno) + 1
        for definition in _definitions(module):
            first = self._first_line(definition, at)
            self._rest(at, first)
            self._definition(definition, first, "", 1)
            at = (definition.end_lineno or first) + 1
        self._rest(at, len(self._lines) + 1)

    def _definition(self, node: _Definition, first: int, outer: str, level: int) -> None:
        name = f"{outer}{node.name}"
        self._in_definition = True
        decorated = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        self._builder.add("heading", name, level=level, place=f"line {node.lineno}")
        self._comment(first, decorated)
        last = node.end_lineno or node.lineno
        docstring = _docstring(node)
        if docstring:
            self._docstring(docstring)
        skipped: set[int] = set()
        if docstring and docstring.lineno > node.lineno:  # not "def f(): 'It.'"
            after = (docstring.end_lineno or docstring.lineno) + 1
            skipped.update(range(docstring.lineno, after))
            if after <= last and not self._lines[after - 1].strip():
                skipped.add(after)
        inner: list[tuple[_Definition, int]] = []
        if isinstance(node, ast.ClassDef) and level < _MAX_LEVEL:
            at = node.body[0].lineno
            for child in _definitions(node):
                start = self._first_line(child, at)
                inner.append((child, start))
                at = (child.end_lineno or start) + 1
                skipped |= set(range(start, at))
        kept = [number for number in range(decorated, last + 1) if number not in skipped]
        self._code([self._lines[number - 1] for number in kept], decorated)
        for child, start in inner:
            self._definition(child, start, f"{name}.", level + 1)

    def _first_line(self, node: _Definition, after: int) -> int:
        """The line where a definition begins, with the comment and decorators above it."""
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        while first > after and self._lines[first - 2].lstrip().startswith("#"):
            first -= 1
        return first

    def _rest(self, first: int, end: int) -> None:
        """Add the lines from ``first`` to before ``end``, which are part of no definition."""
        number = first
        while number < end:
            start = number
            is_comment = self._is_comment(number)
            while number < end and (
                not self._lines[number - 1].strip() or self._is_comment(number) == is_comment
            ):
                number += 1
                # A comment is of the code right below it; alone it is a paragraph.
                if is_comment and number < end and not self._lines[number - 1].strip():
                    break
            if is_comment and number < end and self._lines[number - 1].strip():
                while number < end and self._lines[number - 1].strip():
                    number += 1
                is_comment = False
            if any(line.strip() for line in self._lines[start - 1 : number - 1]):
                self._outside(start)
                if is_comment:
                    self._comment(start, number)
                else:
                    self._code(self._lines[start - 1 : number - 1], start)

    def _outside(self, number: int) -> None:
        if self._in_definition:
            self._builder.add("heading", self._name, level=1, place=f"line {number}")
            self._in_definition = False

    def _is_comment(self, number: int) -> bool:
        return self._lines[number - 1].startswith("#")

    def _comment(self, first: int, end: int) -> None:
        text = HASH.text(self._lines[first - 1 : end - 1])
        for start, stop in paragraphs(text):
            line = first + text.count("\n", 0, start)
            self._builder.add("paragraph", text[start:stop], place=f"line {line}")

    def _docstring(self, node: ast.Constant) -> None:
        text = inspect.cleandoc(str(node.value))
        for start, stop in paragraphs(text):
            line = node.lineno + text.count("\n", 0, start)
            self._builder.add("paragraph", text[start:stop], place=f"line {line}")

    def _code(self, lines: Sequence[str], first: int) -> None:
        lead = next((at for at, line in enumerate(lines) if line.strip()), 0)
        self._builder.add("code", "\n".join(lines), place=f"line {first + lead}")


def _definitions(node: ast.Module | ast.ClassDef) -> Iterator[_Definition]:
    return (child for child in node.body if isinstance(child, _DEFINITIONS))


def _docstring(node: ast.Module | _Definition) -> ast.Constant | None:
    first = node.body[0] if node.body else None
    value = first.value if isinstance(first, ast.Expr) else None
    return value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
