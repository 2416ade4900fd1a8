"""Fit how likely an answer of an excerpt of a conversation is right.

    python -m benchmarks.fit_excerpts

Questions about the conversations of part "fit" of ``questions/conversations.jsonl.gz``, from which
the reader has not learned, and about the everyday collections of part "fit" are asked; the answers
that are proposed are right or wrong. Prints the weights for ``memnet.documents.excerpts``, and what
they give, cross-validated by question.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks.documents import is_right as holds_answer
from benchmarks.fit_programs import is_right
from benchmarks.reader_data.conversations import conversations
from benchmarks.reader_data.documents import everyday_memories
from memnet import Engine
from memnet.attention.arrays import fit_logistic, probability_of, weighted
from memnet.documents import excerpts
from memnet.documents.excerpts import ExcerptSignals, Proposed
from memnet.reader.loading import SPANS
from memnet.text.names import MESSAGE

_FOLDS = 5


class _Case(NamedTuple):
    """What is proposed for one question."""

    origin: str
    signals: list[ExcerptSignals]
    right: list[bool]


def main() -> None:
    """Ask, fit and print."""
    cases = [one for one in (*_of_conversations(), *_of_collections()) if one.signals]
    for origin in ("conversations", "collections"):
        own = [one for one in cases if one.origin == origin]
        found: list[tuple[float, bool]] = []
        for fold in range(_FOLDS):
            weights = _fitted([one for n, one in enumerate(cases) if n % _FOLDS != fold])
            for one in (one for n, one in enumerate(cases) if n % _FOLDS == fold and one in own):
                logits = [weighted(weights, signals) for signals in one.signals]
                best = logits.index(max(logits))
                found.append((probability_of(logits[best]), one.right[best]))
        print(origin, len(found), sum(any(one.right) for one in own), "of them with a right one")
        for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
            given = [right for probability, right in found if probability >= least]
            print(f"  from {least}: {len(given)} given, {sum(given)} right")
    print(ExcerptSignals(*(round(one, 3) for one in _fitted(cases))))


def _fitted(cases: Sequence[_Case]) -> list[float]:
    signals = [own for one in cases for own in one.signals]
    return fit_logistic(signals, [float(right) for one in cases for right in one.right])


def _of_conversations() -> Iterator[_Case]:
    for one in conversations("fit"):
        for asked in one.questions:
            found = _proposed(one.memory, asked["question"])
            right = [is_right(each.short, asked["answers"]) for each in found]
            yield _Case("conversations", [each.signals for each in found], right)


def _of_collections() -> Iterator[_Case]:
    for _, asked, memory in everyday_memories("fit", "text", SPANS):
        for one in asked if memory.store.contents.has_key(MESSAGE) else ():
            found = _proposed(memory, one["question"])
            answerable = one["type"] != "unanswerable"
            right = [answerable and holds_answer(one, each.short) for each in found]
            yield _Case("collections", [each.signals for each in found], right)


def _proposed(memory: Engine, question: str) -> list[Proposed]:
    seen: list[Proposed] = []
    own = excerpts.proposed

    def propose(*asked: Any) -> list[Proposed]:
        found = own(*asked)
        seen.extend(found)
        return found

    with patch.object(excerpts, "proposed", propose):
        memory.ask(question)
    return seen


if __name__ == "__main__":
    main()
