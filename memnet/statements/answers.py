"""Answers from statements: those that a question concerns are read in the order of their time."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import softmax
from memnet.encoders.protocol import Encoder
from memnet.reader.answers import asks_whether
from memnet.statements.asked import decided, with_instead, without_others
from memnet.statements.judge import columns_of
from memnet.statements.loading import LazyStatementReader
from memnet.statements.presentation import (
    Ended,
    FoundStatements,
    answer_of,
    attended,
    with_contradiction,
    without_ended,
)
from memnet.statements.reading import StatementReader, StatementReading
from memnet.statements.things import parts_with
from memnet.statements.times import dated_passage, days_asked, of_their_time, weights_in_time
from memnet.storage import MemoryStore, Scope, Told
from memnet.text.dates import local_time, start_of
from memnet.text.english import Clauses, is_foreign, query_terms, without_spans
from memnet.text.names import maximal_names, possible_names
from memnet.text.relative import asked_times, with_days
from memnet.types import Answer

_READ = 24  # Max. statements that are read; all of them where no more were told
_HOLDING = 12  # Min. of these that still hold, if that many were found
_FOUND = 64  # Max. statements found by each way of addressing
_BEST = 16  # Top statements, read before those that changed them and those their names lead to
_LED_ON = 4  # Top statements whose names are followed in the second hop
_OF_A_NAME = 8  # Last statements about each name that is followed
_RANK = 10.0  # Constant of reciprocal rank fusion
_TEMPERATURE = 0.1  # Softmax temperature over cosines, as in ``HopConfig`` for passages
_LEXICAL = 0.3  # Weight of the words that a question shares with a statement, beside the cosine
# Exponent of the attention of the first hop, as the prior of what is read in a statement. Where all
# that was told is read, it is worth nothing: -1.7 points on 688 questions held out.
_PRIOR = 0.5

_PAST = re.compile(r"\b(?:did|was|were|past|ago|moved?|still)\b", re.IGNORECASE)
_PRESENT = re.compile(r"\b(?:is|are|am|does|do)\b|['’](?:s|re|m)\b", re.IGNORECASE)
# Words of questions for which what has ended is read as well; of the first list, only what held on
# the day that the question names, if it does.
_EVER = re.compile(
    r"\b(?:ever|before|previous\w*|former\w*|earlier|original\w*|first|until|since|used to|"
    r"how (?:long|often|many times)|any ?more|any longer|change[ds]?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class StatementAnswers:
    """Answers from what was told, by the statement network.

    The first hop attends to statements by vector, words and names, the second to those about the
    names in the best of them; the last reads all that was found together, each with the time for
    which it held.
    """

    store: MemoryStore
    encoder: Encoder
    reader: LazyStatementReader
    # Answers where the network is not installed; as ``ask``.
    otherwise: Callable[[str, int | None, int, Scope], Answer]
    on_read: Callable[[Mapping[int, float]], None]  # Takes the attention weights of each question

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        network = self.reader.load()
        if network is None or scope.where or is_foreign(question):  # it knows English alone
            return self.otherwise(question, hops, top_k, scope)
        started = time.perf_counter()
        dated = with_days(question, local_time(scope.moment()).date())
        with self.store.reading():
            found = self._find(question, dated, hops, scope, network)
            prior = weights_in_time(question, found.told, scope.moment())
            if found.chosen:
                prior *= found.weights**_PRIOR
            reading = network.answer(dated, found.passages, prior)
            if reading is not None:
                reading = _in_time(question, found, prior, network, reading, scope.moment())
            held = _held(question, scope.moment())
            ended: list[Ended] = []
            # "Who had the key?" is about the past, "Who is married?" is not.
            past = Clauses(question).tense_at(0) < 0 and _PRESENT.search(question) is None
            if held is not None and not past:
                ended = self._ended(found, held, network)
        if reading is not None:
            reading = decided(question, found.told, reading, scope.moment(), self.encoder.encode)
            reading = with_instead(question, found.told, found.ended, reading)
            reading = without_ended(reading, found.told, ended)
            reading = with_contradiction(found, reading)
            ids = (one.id for one in found.told)
            self.on_read(dict(zip(ids, attended(reading), strict=True)))
        return answer_of(question, found, reading, top_k, started)

    def _find(
        self, question: str, dated: str, hops: int | None, scope: Scope, network: StatementReader
    ) -> FoundStatements:
        """The statements to read; ``dated`` is the question as it is read."""
        statements = self.store.statements
        vector = self.encoder.encode([question])[0]
        last = statements.last(scope.namespace, _READ + 1)
        second: dict[int, str] = {}
        chosen = len(last) > _READ
        ranked = last
        if chosen:
            ranked = self._address(question, vector, scope)
            if hops != 1:
                second = self._lead_on(ranked[:_LED_ON], scope)
            changing = [
                slot
                for one in statements.told(ranked)
                for slot in (one.changed_by, *(change.changed_by for change in one.changes))
                if slot
            ]
            # What changed a statement that was found is read before what names lead to.
            ranked = list(dict.fromkeys([*ranked[:_BEST], *changing, *second, *ranked]))
        # What is known to have ended answers only questions about the past.
        held = _held(question, scope.moment())
        all_told = statements.told(ranked)
        known = {one.id: one for one in all_told if _is_read(one, scope, held)}
        ended = [one for one in all_told if one.change == "end" and one.id not in known]
        # However often something has changed, what holds is read as well.
        read = [known[slot] for slot in ranked if slot in known]
        now = scope.moment()
        holding = [one for one in read if not one.has_ended(now)]
        told = list({one.id: one for one in (*holding[:_HOLDING], *read)}.values())[:_READ]
        told = of_their_time(question, told, scope.moment())
        told = without_others(question, told, scope.moment(), self.encoder.encode, ended)
        weights = self._attention(question, vector, told)
        best = list(range(len(told)))
        if not chosen:
            best.sort(key=lambda index: -weights[index])
        changed = self._partly_changed(told)
        passages = [dated_passage(one, scope.moment(), changed.get(one.id)) for one in told]
        room = network.fitting(dated, [passages[index] for index in best])
        kept = sorted(best[:room], key=lambda index: (told[index].told, told[index].id))
        told = [told[index] for index in kept]
        slots = {one.id: one for one in self.store.fetch([one.id for one in told])}
        passages = [passages[index] for index in kept]
        return FoundStatements(told, slots, passages, weights[kept], second, chosen, ended)

    def _partly_changed(self, told: Sequence[Told]) -> dict[int, float]:
        """When a part of each statement ceased to hold, by its id, in seconds since the epoch."""
        changed_by = {
            one.id: change.changed_by
            for one in told
            if one.valid_until is None
            for change in one.changes
            if change.change != "contradict"
        }
        by = self.store.statements.told(list(changed_by.values()))
        times = {one.id: one.valid_from for one in by}
        return {slot: times[other] for slot, other in changed_by.items() if other in times}

    def _ended(self, found: FoundStatements, held: float, network: StatementReader) -> list[Ended]:
        """What has ended by a time, in seconds since the epoch, and what ended a part of it."""
        parts = [
            (one, change.changed_by)
            for one in found.told
            for change in one.changes
            if change.change == "end"
        ]
        by = {one.id: one for one in self.store.statements.told([slot for _, slot in parts])}
        pairs = [Ended(one, by[slot]) for one, slot in parts if slot in by]
        denying = {
            one.id
            for one in by.values()
            if one.valid_from <= held
            and (columns_of(one).negative or network.manner(one.text).negative > 0)
        }
        return [one for one in pairs if one.by.id in denying or parts_with(one.by, one.told)]

    def _address(self, question: str, vector: NDArray[np.float32], scope: Scope) -> list[int]:
        """Ids by vector, words and names together, best first (reciprocal rank fusion).

        Source: Cormack, Clarke and Büttcher 2009, equation 1.
        """
        ever = Scope(scope.namespace, None, frozenset(("statement",)), learned=True, past=True)
        nearest = self.store.nearest_statements(vector, _FOUND, scope.namespace)
        hits = self.store.search_lexical(query_terms(question), _FOUND, ever)
        names = maximal_names(self.store.search_symbolic(possible_names(question), _FOUND, ever))
        about = self.store.statements.ids_about(names, scope.namespace, _FOUND)
        scores: dict[int, float] = {}
        for ranking in (nearest, hits.ids[hits.mask].tolist(), about[::-1]):
            for rank, slot in enumerate(ranking):
                scores[slot] = scores.get(slot, 0.0) + 1 / (_RANK + rank)
        return sorted(scores, key=lambda slot: -scores[slot])

    def _lead_on(self, best: Sequence[int], scope: Scope) -> dict[int, str]:
        """Statements about what the best ones name, each with the name."""
        symbols = self.store.symbols(best).values()
        found: dict[int, str] = {}
        for name in dict.fromkeys(name for one in symbols for name in (*one.keys, *one.values)):
            for slot in self.store.statements.ids_about([name], scope.namespace, _OF_A_NAME):
                if slot not in best:
                    found.setdefault(slot, name)
        return found

    def _attention(
        self, question: str, vector: NDArray[np.float32], told: Sequence[Told]
    ) -> NDArray[np.float32]:
        """Attention of the first hop, by cosine of keys and by words: [K] float32."""
        keys = self.store.existing_keys([one.id for one in told]).vectors
        scores = keys @ vector + _LEXICAL * _shares_of_words(question, told)
        return softmax((scores / _TEMPERATURE).astype(np.float32))


def _in_time(
    question: str, found: FoundStatements, prior: NDArray[np.float32], network: StatementReader,
    reading: StatementReading, moment: float,
) -> StatementReading:  # fmt: skip
    """A reading with the pieces of one as of the days that a question names, where some are theirs.

    Of what held then and has ended that is all: its time is weighed by ``prior`` [K].
    """
    asked = asked_times(question, local_time(moment).date())
    if not asked:
        return reading
    question = without_spans(question, [(one.start, one.end) for one in asked])
    then = min(moment, start_of(max(place.days.last for place in asked)) + 86_399)
    passages = [dated_passage(one, then) for one in found.told]
    by_words = network.answer(question, passages, prior) or reading
    best = by_words.pieces[0].statement if by_words.pieces else 0
    if prior[best] == prior.max() and found.told[best].valid_until is not None:
        return by_words
    return reading._replace(pieces=by_words.pieces) if prior.max() == 1 else reading


def _held(question: str, moment: float) -> float | None:
    """A time before which what is read has not ended; None where all is read.

    "Does Clara work at Siemens?" is answered by what has ended, too: she did, until then.
    """
    if _EVER.search(question) or asks_whether(question):
        return None
    if asked := days_asked(question, moment):
        return min(moment, *(start_of(days.first) for days in asked))
    return None if _PAST.search(question) else moment


def _shares_of_words(question: str, told: Sequence[Told]) -> NDArray[np.float32]:
    """Share of the words of a question that each statement has, by IDF among these: [K]."""
    words = [set(query_terms(f"{one.subject} {one.text}")) for one in told]
    asked = set(query_terms(question))
    weights = {
        word: np.log((len(told) + 1) / (count + 0.5))
        for word in asked
        if (count := sum(word in one for one in words))
    }
    total = sum(weights.values()) or 1.0
    shares = [sum(weights.get(word, 0.0) for word in one) / total for one in words]
    return np.array(shares, np.float32)


def _is_read(one: Told, scope: Scope, held: float | None) -> bool:
    """Whether a statement was known at the time that is asked for, and held then if it must."""
    known = scope.as_of is None or min(one.told, one.valid_from) <= scope.as_of
    return known and not (held is not None and one.has_ended(held))
