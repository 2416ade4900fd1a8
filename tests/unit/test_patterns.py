"""What reads texts of others takes time that grows with the text and no faster."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import memnet
from memnet import Document, Engine
from memnet.errors import DependencyError, MemnetError
from tests.cost import steps
from tests.regular_expressions import faults

_ALLOWED = {
    # Not for texts of others:
    "memnet.storage.place._PASSWORD": "a search for a repetition",
    "memnet.documents.training.generate.NAME": "a search for a repetition",
}


def _found(value: object, name: str) -> Iterator[tuple[str, str, int]]:
    """The patterns in a module's value, however deep in its tuples, lists and tables."""
    if isinstance(value, re.Pattern):
        text = value.pattern if isinstance(value.pattern, str) else value.pattern.decode("latin-1")
        yield name, text, value.flags
    elif isinstance(value, dict):
        yield from _found(list(value.items()), name)
    elif isinstance(value, (tuple, list, set, frozenset)):
        for number, part in enumerate(value):
            yield from _found(part, f"{name}[{number}]")


def _in_source(tree: ast.Module, name: str) -> Iterator[tuple[str, str, int]]:
    """The patterns that calls of functions of ``re`` hold as they are."""
    for call in ast.walk(tree):
        if (
            isinstance(call, ast.Call)
            and ast.unparse(call.func).startswith("re.")
            and call.args
            and isinstance(call.args[0], ast.Constant)
            and isinstance(call.args[0].value, str)
        ):
            yield f"{name}:{call.lineno} {ast.unparse(call.func)}", call.args[0].value, re.UNICODE


def _patterns() -> Iterator[tuple[str, str, int, bool]]:
    """Name, text, flags of each pattern, and whether it is searched for."""
    # Adapters to frameworks that are not installed here can't be imported.
    for info in pkgutil.walk_packages(memnet.__path__, "memnet.", onerror=lambda _: None):
        if info.name.endswith("__main__"):
            continue
        with suppress(DependencyError):
            module = importlib.import_module(info.name)
            source = Path(module.__file__ or "").read_text(encoding="utf-8")
            for name, value in vars(module).items():
                if found := list(_found(value, f"{info.name}.{name}")):
                    used = set(re.findall(rf"\b{name}\.(\w+)\(", source))
                    searched = not used or not used <= {"match", "fullmatch"}
                    for place, text, flags in found:
                        yield place, text, flags, searched or "[" in place
            for place, text, flags in _in_source(ast.parse(source), info.name):
                yield place, text, flags, not place.endswith(("match", "compile"))


def test_no_pattern_is_slow_or_wrong_in_python_3_11_2() -> None:
    """Those of loaders are used on lines and at fixed positions, in a process with limits: only
    exponential time is looked for."""
    found, seen = [], set[tuple[str, int]]()
    for name, text, flags, searched in _patterns():
        if (text, flags) not in seen:
            seen.add((text, flags))
            full = not name.startswith("memnet.loaders.")
            found += [
                f"{name}: {fault} in {text}"
                for fault in faults(text, flags, search=searched, full=full)
                if not fault.startswith(_ALLOWED.get(name, fault + "."))
            ]
    assert len(seen) > 200
    assert found == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (r"(a*)*b", "a repetition is repeated"),
        (r"(?:a+b?)*c", "a repetition is repeated"),
        (r"(?:a|ab|b)*c", "two repetitions of 'a'"),
        (r"\s*a?\s*$", "two repetitions of"),
        (r"a*a*\.", "two repetitions of 'a'"),
        (r"left .+? for", "a search for a repetition of"),
        (r"\S+ at\b", "a search for a repetition of"),
        (r"\b\w+(?: \w+)* of$", "a search for a repetition of ' '"),
        (r"a(?:b(?!c))*+bc", "possessive, of more than one character"),
        (r"(?>ab?)c", "an atomic group of more than one character"),
    ],
)
def test_slow_and_wrong_patterns_are_found(text: str, fault: str) -> None:
    assert [one for one in faults(text) if one.startswith(fault)]


@pytest.mark.parametrize(
    "text", [r"(?<!\s)\s++any", r"\w+(?:['-]\w+)*", r"\b[A-Z]\w* of", r"\{(?:[^{}]|\{[^{}]*\})*\}$"]
)
def test_quick_patterns_are_not(text: str) -> None:
    assert faults(text, search=not text.startswith(r"\{")) == []


# What texts repeat.
_UNITS = (
    "a", "A", "1", " ", "\t", "\n", ",", "(", "\0", "é", "Orre ", "the X of ", "is a ", "and ",
    "'s ", "1,", "1. ", "A. ", "; ", "A-", "until Friday ", "Ann moved from ", "Mr. ", "| ", "* ",
    "[[", "``",
)  # fmt: skip
_DOORS: dict[str, tuple[Callable[[Engine, str], Any], int]] = {
    "ask": (lambda memory, text: memory.ask(text), 300),
    "tell": (lambda memory, text: memory.tell(f"Ann lives in Rome. {text}"), 500),
    "ingest": (lambda memory, text: memory.ingest(Document(id="a", text=text)), 2_000),
}


@pytest.mark.parametrize("door", _DOORS)
@pytest.mark.parametrize("unit", _UNITS)
def test_no_door_does_more_for_each_character_of_a_longer_text(
    toy_engine: Engine, door: str, unit: str
) -> None:
    toy_engine.ingest(Document(id="b", title="Orre", text="Orre is old. The X of A is Ann."))
    use, length = _DOORS[door]

    def once(size: int) -> None:
        with suppress(MemnetError):
            use(toy_engine, unit * (size // len(unit)))

    once(length // 2)  # what is loaded at the first use is not counted
    short, long = steps(lambda: once(length)), steps(lambda: once(4 * length))
    assert long < 6 * short, (short, long)
