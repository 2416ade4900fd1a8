"""Contradictions between messages: one speaker says both yes and no to what is asked."""

import math
import time
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import NamedTuple

from memnet.checkpoints import SHIPPED
from memnet.documents.answers import TextAnswers
from memnet.documents.question import Question, RecentVectors
from memnet.reader.loading import LazyReader
from memnet.reader.passages import slot_candidate
from memnet.statements.loading import LazyStatementReader
from memnet.statements.presentation import ASKED_BACK, quote_at
from memnet.statements.stance import STANCE, StanceJudge, load_stance, shared_words
from memnet.storage import MemoryStore
from memnet.text.english import sentences
from memnet.text.names import MESSAGE, speaker_names, subject_of
from memnet.types import Answer, Evidence

_MESSAGES = 20  # Messages that are searched for a question; those of assistants are not read
_OF_A_MESSAGE = 2  # Sentences of each that are read: those that share most words with the question
_SENTENCES = 14  # Sentences that are read in all
_CHARACTERS = 250  # Max. characters of a sentence; longer ones are cut at a word boundary.
_DENIES = 0.25  # Probability of the best denial below which nothing can contradict it
# Product of the probabilities of both sides from which they are told. It was chosen on written
# chats (docs/decisions/031-contradictions-and-silence-over-messages.md).
_CONTRADICTS = 0.15


class _Said(NamedTuple):
    """A sentence of a message."""

    message: Evidence
    start: int  # Its first character in the text of the message
    text: str
    speaker: frozenset[str]  # His names


@dataclass(frozen=True)
class MessageContradictions:
    """Finds two messages of one speaker that say opposite things about what is asked.

    Only questions whether something is so are looked at. The best messages for the question are
    searched, and the sentences of people in them judged: does it say yes, or no?
    """

    store: MemoryStore
    vectors: RecentVectors
    documents: TextAnswers
    reader: LazyReader
    statements: LazyStatementReader

    def annotate(self, answer: Answer, question: Question, top_k: int) -> Answer:
        """An answer that tells the contradiction where there is one; else the answer as it is."""
        started = time.perf_counter()
        judge = self._judge() if question.has_messages else None
        pieces = [] if judge is None else self._opposed(judge, question)
        if not pieces:
            return answer
        quotes = tuple(quote_at(*piece) for piece in pieces)
        first = {message.id: message for message, *_ in pieces}
        others = (one for one in answer.evidence if one.id not in first)
        return answer.model_copy(
            update={
                "kind": "statement",
                "answer": "\n".join([ASKED_BACK, *(quote.text for quote in quotes)]),
                "short": None,
                "quotes": quotes,
                "units": (),
                "confidence": math.prod(weight for *_, weight in pieces) ** 0.5,
                "abstained": False,
                "contradiction": True,
                "candidates": tuple(slot_candidate(*piece) for piece in pieces),
                "evidence": (*first.values(), *others)[: max(top_k, len(first))],
                "elapsed_ms": answer.elapsed_ms + (time.perf_counter() - started) * 1000,
            }
        )

    def _judge(self) -> StanceJudge | None:
        """What judges sentences; None where a part of it is not installed."""
        weights = _shipped_weights()
        statements = self.statements.load()
        reader = self.reader.load().reader
        if weights is None or statements is None or reader is None:
            return None
        return StanceJudge(weights, self.vectors.encode, statements, reader)

    def _sentences(self, question: Question) -> list[_Said]:
        """The sentences of people that share most words with a question, the best first."""
        messages = self.documents.find(question, None, _MESSAGES)
        symbols = self.store.symbols([one.id for one in messages])
        found: list[tuple[float, _Said]] = []
        for message in messages:
            keys = symbols[message.id].keys if message.id in symbols else []
            speaker = speaker_names(keys)
            if MESSAGE not in keys or not all(map(subject_of, speaker)):
                continue
            own = [_said(message, start, end, speaker) for start, end in sentences(message.text)]
            scored = [(shared_words(question.text, one.text), one) for one in own]
            scored.sort(key=lambda pair: -pair[0])
            found += scored[:_OF_A_MESSAGE]
        found.sort(key=lambda pair: -pair[0])
        return [one for _, one in found[:_SENTENCES]]

    def _opposed(
        self, judge: StanceJudge, question: Question
    ) -> list[tuple[Evidence, int, int, float]]:
        """The two sentences that oppose each other most, in their order; none without such two.

        The message of each, its first character there, the one after its last, its probability.
        """
        said = self._sentences(question)
        stances = judge.judge(question.text, [one.text for one in said], _DENIES)
        opposed = [
            (float(stances.denies[no] * stances.affirms[yes]), no, yes)
            for (no, denied), (yes, affirmed) in product(enumerate(said), repeat=2)
            if denied.message.id != affirmed.message.id and denied.speaker == affirmed.speaker
        ]
        both, no, yes = max(opposed, default=(0.0, 0, 0))
        if both < _CONTRADICTS:
            return []
        sides = [(said[no], float(stances.denies[no])), (said[yes], float(stances.affirms[yes]))]
        sides.sort(key=lambda side: side[0].message.id)
        return [
            (one.message, one.start, one.start + len(one.text), weight) for one, weight in sides
        ]


_shipped_weights = cache(partial(load_stance, SHIPPED / STANCE))


def _said(message: Evidence, start: int, end: int, speaker: frozenset[str]) -> _Said:
    text = message.text[start:end]
    if len(text) > _CHARACTERS:
        text = text[:_CHARACTERS].rsplit(maxsplit=1)[0]
    return _Said(message, start, text, speaker)
