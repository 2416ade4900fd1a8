"""Write docs/api.md from the docstrings of the public names, or check that it is current.

python -m docs.api [--check]
"""

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from docs.generated import write_or_check

_PAGE = Path(__file__).parent / "api.md"
_MODULES = ("memnet", "memnet.training", "memnet.protocols", "memnet.aio")


def page() -> str:
    """The page as it should be."""
    parts = ["# Library\n", "Made from the docstrings by `python -m docs.api`.\n"]
    seen: set[object] = set()
    for name in _MODULES:
        module = importlib.import_module(name)
        names = getattr(module, "__all__", None) or _own_classes(module)
        parts += [f"## `{name}`\n", f"{_doc(module)}\n"]
        for public in sorted(names):
            value = getattr(module, public)
            if value not in seen:
                parts += _sections(public, value, seen)
    return "\n".join(parts)


def _own_classes(module: object) -> list[str]:
    return [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == getattr(module, "__name__", "")
        and not name.startswith("_")
    ]


def _sections(name: str, value: object, seen: set[object]) -> Iterator[str]:
    """The section of a public name, and after settings those of the settings within them."""
    seen.add(value)
    tree = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]  # type: ignore[arg-type]
    yield f"### `{name}`\n"
    if isinstance(tree, ast.FunctionDef):
        yield f"```python\n{_signature(tree)}\n```\n\n{_code_block(_doc(value))}\n"
        return
    assert isinstance(tree, ast.ClassDef)  # noqa: S101
    if isinstance(value, type) and issubclass(value, Exception):
        yield f"{_doc(value)} Is a `{value.__bases__[0].__name__}`.\n"
        return
    yield f"{_code_block(_doc(value))}\n"
    yield from _fields(tree)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_public(node):
            doc = ast.get_docstring(node)
            shown = f"\n{textwrap.indent(doc, '    ')}" if doc else ""
            yield f"```python\n{_signature(node)}{shown}\n```\n"
    wrapped = [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name) and not target.id.startswith("_")
    ]
    if wrapped:
        yield f"Awaited, and else as in `Engine`: {', '.join(f'`{one}`' for one in wrapped)}.\n"
    if isinstance(value, type) and issubclass(value, BaseModel):
        for field in value.model_fields.values():
            inner = field.annotation
            if isinstance(field.default, BaseModel) and inner is not None and inner not in seen:
                yield from _sections(inner.__name__, inner, seen)


def _fields(tree: ast.ClassDef) -> Iterator[str]:
    """A list of the annotated attributes of a class with the docstrings below them."""
    lines: list[str] = []
    for number, node in enumerate(tree.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            after = tree.body[number + 1] if number + 1 < len(tree.body) else None
            doc = ""
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                doc = f": {inspect.cleandoc(str(after.value.value))}".replace("\n", " ")
            default = "" if node.value is None else f" = {_default(node.value)}"
            lines.append(f"- `{node.target.id}: {ast.unparse(node.annotation)}{default}`{doc}")
    if lines:
        yield "\n".join([*lines, ""])


def _default(value: ast.expr) -> str:
    """The default of a field, out of pydantic's ``Field(default=...)`` where it is in one."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "Field":
        given = {word.arg: ast.unparse(word.value) for word in value.keywords}
        return given.get("default", "...")
    return ast.unparse(value)


def _is_public(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method is for users: of those that Python calls, the ones with a docstring."""
    if node.name.startswith("__"):
        return ast.get_docstring(node) is not None and node.name != "__bool__"
    return not node.name.startswith("_")


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    decorators = [f"@{ast.unparse(one)}\n" for one in node.decorator_list]
    result = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    arguments = list(_arguments(node.args))
    line = f"{kind} {node.name}({', '.join(arguments)}){result}"
    if len(line) > 96:
        separated = ",\n    ".join(arguments)
        line = f"{kind} {node.name}(\n    {separated},\n){result}"
    return f"{''.join(decorators)}{line}:"


def _arguments(arguments: ast.arguments) -> Iterator[str]:
    """Each argument with its annotation and default, and the bare ``*``."""
    text, depth, start = ast.unparse(arguments), 0, 0
    for offset, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            yield _spaced(text[start:offset].strip())
            start = offset + 1
    yield _spaced(text[start:].strip())


def _spaced(argument: str) -> str:
    """An argument with spaces around the equals sign before its default."""
    annotated, equals, default = argument.partition("=")
    return f"{annotated} = {default}" if equals and ":" in annotated else argument


def _doc(value: object) -> str:
    return inspect.getdoc(value) or ""


def _code_block(doc: str) -> str:
    """A docstring whose sections, such as ``Args:``, keep their layout."""
    text, *sections = doc.split("\n\nArgs:", 1)
    return f"{text}\n\n```text\nArgs:{sections[0]}\n```" if sections else text


def main() -> None:
    """Write the page, or exit with 1 if ``--check`` finds it out of date."""
    write_or_check(_PAGE, page(), "python -m docs.api")


if __name__ == "__main__":
    main()
