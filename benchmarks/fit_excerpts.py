"""Fit how likely an answer of an excerpt of a conversation is right.

    python -m benchmarks.fit_excerpts

Questions about the conversations of part "fit" of ``questions/conversations.jsonl.gz``, from which
the reader has not learned, and about the everyday collections of part "fit" are asked; the answers
that are proposed are right or wrong. Prints the weights for ``memnet.documents.excerpts``, and what
they give, cross-validated by question.
"""

from collections.abc import Iterator

from benchmarks.documents import is_right as holds_answer
from benchmarks.fit_programs import Case, fit_decision, is_right, proposals
from benchmarks.reader_data.conversations import conversations
from benchmarks.reader_data.documents import everyday_memories
from memnet.documents import excerpts
from memnet.documents.excerpts import ExcerptSignals
from memnet.reader.loading import SPANS
from memnet.text.names import MESSAGE


def main() -> None:
    """Ask, fit and print."""
    print(ExcerptSignals(*fit_decision([*_of_conversations(), *_of_collections()])))


def _of_conversations() -> Iterator[Case]:
    for one in conversations("fit"):
        for asked in one.questions:
            found = proposals(excerpts, one.memory, asked["question"])
            right = [is_right(each.short, asked["answers"]) for each in found]
            yield Case("conversations", [each.signals for each in found], right)


def _of_collections() -> Iterator[Case]:
    for _, asked, memory in everyday_memories("fit", "text", SPANS):
        for one in asked if memory.store.contents.has_key(MESSAGE) else ():
            found = proposals(excerpts, memory, one["question"])
            answerable = one["type"] != "unanswerable"
            right = [answerable and holds_answer(one, each.short) for each in found]
            yield Case("collections", [each.signals for each in found], right)


if __name__ == "__main__":
    main()
