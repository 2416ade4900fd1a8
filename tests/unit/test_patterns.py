"""Regular expressions, and what uses them, take time that grows with the text and no faster."""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from itertools import pairwise, product
from random import Random
from typing import Any, cast

import pytest

import memnet
from memnet.errors import DependencyError, InputError
from memnet.facts.linking import link
from memnet.ingest.formats import parse_document
from memnet.ingest.windows import document_windows
from memnet.learning.evaluation import normalised_answer
from memnet.loaders.formats import SourceFile, format_by_name
from memnet.reader.decompose.english import compare, is_comparison
from memnet.reader.decompose.forms import expanded_kin, pair_of, phrase_of
from memnet.reader.decompose.negation import clauses
from memnet.reader.training.examples import unanswerable_question
from memnet.statements.parsing import RuleParser, parse_sentence
from memnet.statements.relations import is_plain_name, relation_of, split_predicate
from memnet.text.names import (
    capitalised_names,
    mentions,
    opening_names,
    possible_names,
    title_symbols,
)
from memnet.text.relative import times_in, with_days
from memnet.types import Document
from tests.cost import least_seconds
from tests.reading import Answering, ranked

_SLOWEST = 1e-5
"""Seconds a character of a pattern: 100 kB in a second. What a pattern should take is a tenth of
it; processors differ, and growth is what tells a slow pattern from a slow processor."""
_FAST = 1e-7
"""Seconds a character below which growth is not looked at."""
_GROWTH = 3.0
"""Most that a character may cost more in a text eight times as long; eight times if quadratic."""
_LENGTHS = (150, 1_200, 9_600)
"""Characters of the texts that are tried; in 150 even cubic time ends."""
_UNITS = (
    *"aA \n\t,.;'’\"“-()10?/\0_é\u2028",
    "Aa ", "a ", "Orre ", "the ", "the X of ", "the of ", "a of ", "is ", "is a ", "on ", "and ",
    "'s ", "1,", "1.", "1:", "12 ", "A. ", "A of ", "(a", "a, ", "; ", "1 ? ", "1 a\n", " \t", "A-",
)  # fmt: skip
"""What texts repeat."""
_STARTS = ("", "A", "is ", "1 ", "(", "A of ")
_ENDS = ("", "\x01")
"""The second makes most matches fail at the very end."""


def _found(value: object, name: str) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The patterns in a module's value, however deep in its tuples, lists and tables."""
    if isinstance(value, re.Pattern):
        yield name, value
    elif isinstance(value, dict):
        yield from _found(list(value.items()), name)
    elif isinstance(value, (tuple, list, set, frozenset)):
        for number, part in enumerate(value):
            yield from _found(part, f"{name}[{number}]")


def _patterns() -> dict[str, re.Pattern[Any]]:
    """Each pattern that a module of memnet holds, once.

    Those of loaders are not among them: they are used on lines and at fixed positions, and run in
    a process with limits. What is read without it is tested as a whole below.
    """
    found: dict[re.Pattern[Any], str] = {}
    # Adapters to frameworks that are not installed here can't be imported.
    for info in pkgutil.walk_packages(memnet.__path__, "memnet.", onerror=lambda _: None):
        if not info.name.startswith(("memnet.__main__", "memnet.loaders.")):
            try:
                module = importlib.import_module(info.name)
            except DependencyError:
                continue
            for name, value in vars(module).items():
                for place, pattern in _found(value, f"{info.name}.{name}"):
                    found.setdefault(pattern, place)
    return {name: pattern for pattern, name in found.items()}


_PATTERNS = _patterns()


def _words(pattern: str) -> list[str]:
    """The words that stand in a pattern, to make texts that it nearly matches."""
    plain = re.sub(r"\(\?P<\w+>|\\[a-zA-Z]", " ", pattern)
    return list(dict.fromkeys(re.findall(r"[A-Za-z][A-Za-z'’-]+(?: [a-z]+)*", plain)))[:12]


def _recipes(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Starts, repeated parts and ends of texts."""
    units = (
        *_UNITS,
        *words,
        *(f"{word} " for word in words),
        *(f"{word} a " for word in words),
        *(f"{word} {after} " for word, after in pairwise(words)),
    )
    starts = (*_STARTS, *(f"{word} " for word in words[:5]))
    after = (" ", "a", "a ", "of ", "is of ", "A ", "1", ",", "\n")
    yield from product(("",), units, _ENDS)
    yield from product(starts, after, _ENDS)


def _text(recipe: tuple[str, str, str], length: int) -> str:
    start, unit, end = recipe
    return f"{start}{unit * (length // len(unit))}{end}"


def _rate(use: Callable[[str], object], text: str) -> float:
    """Seconds a character, of the processor."""
    return least_seconds(partial(use, text)) / len(text)


def _too_slow(
    use: Callable[[str], object],
    slowest: float = _SLOWEST,
    words: Sequence[str] = (),
    lengths: Sequence[int] = _LENGTHS,
) -> str | None:
    """The first text on which a use costs too much, or more a character the longer it is."""
    for recipe in _recipes(words):
        fault = None
        for _ in range(4):  # what was slow by chance is not slow each time
            fault = _fault(use, [_text(recipe, length) for length in lengths], slowest)
            if fault is None:
                break
        else:
            return f"{recipe}: {fault}"
    return None


def _fault(use: Callable[[str], object], texts: Sequence[str], slowest: float) -> str | None:
    fast = _FAST * slowest / _SLOWEST
    before = float("inf")
    for number, text in enumerate(texts):
        highest = min(slowest, max(fast, _GROWTH * before))
        rate = least_seconds(partial(use, text), runs=1) / len(text)
        if rate > highest:
            rate = min(rate, _rate(use, text))
        if rate > highest:
            return f"{before * 1e6:.2f}, then {rate * 1e6:.2f} µs a character of {len(text)}"
        if number and rate < fast:
            return None
        before = rate
    return None


def _used(pattern: re.Pattern[str]) -> Callable[[str], object]:
    """All the ways in which a pattern may be used."""

    def use(text: str) -> None:
        pattern.match(text)
        pattern.fullmatch(text)
        for _ in pattern.finditer(text):
            pass

    return use


def test_patterns_of_all_modules_are_found() -> None:
    assert len(_PATTERNS) > 100
    for name in (
        "statements.relations._VERBS[0][1]",
        "text.names._BRACKETS",
        "reader.decompose.phrases._BEFORE",
    ):
        assert f"memnet.{name}" in _PATTERNS


@pytest.mark.parametrize(
    "pattern", [r"\s+x", r"\s*\(", r"left .+? for", r"\S+ at\b", r"a*a*\.", r"\b\w+(?: \w+)* of$"]
)
def test_slow_patterns_are_recognised(pattern: str) -> None:
    assert _too_slow(_used(re.compile(pattern)), words=_words(pattern)) is not None


@pytest.mark.parametrize("name", _PATTERNS)
def test_patterns_take_linear_time(name: str) -> None:
    pattern = _PATTERNS[name]
    assert isinstance(pattern.pattern, str)
    assert _too_slow(_used(pattern), words=_words(pattern.pattern)) is None


_DAY = date(2026, 3, 4)


def _loaded(name: str, text: str) -> list[object]:
    file = SourceFile("a", f"{text} end".encode())
    with suppress(InputError):
        return list(format_by_name(name).loader()(file))
    return []


_OF_DOCUMENTS: dict[str, Callable[[str], object]] = {
    "title_symbols": title_symbols,
    "mentions": mentions,
    "opening_names": opening_names,
    "document_windows": lambda text: list(
        document_windows(parse_document(Document(id="a", text=f"{text}.")), 1000)
    ),
    "load_text": lambda text: _loaded("text", text),
    "load_markdown": lambda text: _loaded("markdown", text),
    "load_csv": lambda text: _loaded("csv", text),
    "relation_of": lambda text: relation_of(f"is {text}", text),
    "is_plain_name": is_plain_name,
    "parse_sentence": parse_sentence,
    "parse": lambda text: RuleParser().parse(text, 0.0, ()),
    "split_predicate": split_predicate,
    "aliases": lambda text: parse_sentence("x", subject=f"my {text}"),
    "normalised_answer": normalised_answer,
    "clauses": clauses,
    "times_in": lambda text: times_in(text, _DAY),
    "with_days": lambda text: with_days(text, _DAY),
}


@pytest.mark.parametrize("name", _OF_DOCUMENTS)
def test_what_reads_documents_takes_linear_time(name: str) -> None:
    words = (
        "moved from",
        "is also known as",
        "then",
        "Orre",
        "Mr.",
        "no longer",
        "The cat's",
        "until Friday",
        "in two weeks",
    )
    lengths = (5_000, 30_000)
    assert _too_slow(_OF_DOCUMENTS[name], 10 * _SLOWEST, words, lengths) is None


_PASSAGES = ranked(
    {"Orre": "Orre is old.", "a": "It is a.", "The X": "An X.", "A (1)": "A.", "1 1 1": "One."}
)


def _compare(text: str) -> object:
    return compare(text, _PASSAGES, cast(Any, Answering({})), lambda _: _PASSAGES)


_OF_QUESTIONS: dict[str, Callable[[str], object]] = {
    "phrase_of": lambda text: phrase_of(text, _PASSAGES, [("Rank of Orre", 1)]),
    "expanded_kin": expanded_kin,
    "pair_of": lambda text: (
        pair_of(f"Are {text}", _PASSAGES),
        pair_of(f"Which {text}", _PASSAGES),
    ),
    "compare": _compare,
    "is_comparison": is_comparison,
    "possible_names": possible_names,
    "capitalised_names": lambda text: capitalised_names(text, ["orre", "a"]),
    "link": lambda text: link(text, lambda names: [name for name in names if name == "orre"]),
    "unanswerable_question": lambda text: unanswerable_question(
        text, "Orre or Aa", ["a"], Random(0)
    ),
}


@pytest.mark.parametrize("name", _OF_QUESTIONS)
def test_the_longest_question_takes_no_time(name: str) -> None:
    words = ("Which", "the director of", "Orre", "or", "born first", "the land where", "its")
    for recipe in _recipes(words):
        text = _text(recipe, 2_000)
        assert _rate(_OF_QUESTIONS[name], text) * len(text) < 1, recipe


def test_a_question_of_one_name_again_and_again_is_looked_through_at_once() -> None:
    question = "Orre " * 4_000
    assert _rate(lambda text: phrase_of(text, _PASSAGES, []), question) * len(question) < 2
