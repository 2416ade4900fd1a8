"""Answers from statements: those that a question concerns are read in the order of their time."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import softmax
from memnet.encoders import Encoder
from memnet.reader.passages import evidence_of
from memnet.reader.spans import Passage
from memnet.statements.heads import AnswerForm
from memnet.statements.loading import LazyStatementReader
from memnet.statements.reading import Piece, StatementReader, StatementReading
from memnet.statements.times import dated_passage
from memnet.storage import MemoryStore, Scope, Slot, Told
from memnet.text.english import query_terms
from memnet.text.names import maximal_names, possible_names
from memnet.types import Answer, AnswerKind, Candidate, Evidence, Hop, Quote, SlotWeight

_READ = 24
"""Statements that are read at most; where no more were told, all of them."""
_FOUND = 16
"""Statements that each way of addressing proposes."""
_LED_ON = 4
"""Best statements whose names lead on to others."""
_OF_A_NAME = 8
"""Last statements about each of these names."""
_RANK = 10.0
"""Constant of reciprocal rank fusion."""
_NONE = 0.5
"""Probability that the statements hold no answer from which none is given."""
_TEMPERATURE = 0.1
"""Of the attention over cosines, as ``HopConfig`` has it for passages."""
_LEXICAL = 0.3
"""Weight of the words that a question shares with a statement, beside the cosine."""
_PRIOR = 0.5
"""Exponent of the attention of the first hop, as the prior of what is read in a statement. Where
all that was told is read, it is worth nothing: -1.7 points on 688 questions held out."""
_PAST = re.compile(
    r"\b(?:did|was|were|ever|before|previous\w*|former\w*|earlier|original\w*|first|past|ago|"
    r"until|since|used to|how (?:often|many times)|still|any ?more|any longer|change[ds]?|"
    r"moved?)\b",
    re.IGNORECASE,
)
"""Words of questions for which what has ended is read as well."""
_MAX_SHOWN = 3
_KINDS: Mapping[AnswerForm, AnswerKind] = {
    "none": "none", "value": "value", "list": "list", "count": "value", "yes": "yes", "no": "no",
}  # fmt: skip


class _Answerer(Protocol):
    """What answers where the network is not installed."""

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        ...


class _Found(NamedTuple):
    """Statements that are read, in the order of their time."""

    told: list[Told]
    passages: list[Passage]
    """As the network reads them."""
    weights: NDArray[np.float32]
    """[K] attention of the first hop."""
    second: dict[int, str]
    """Ids that a second hop added, each with the name that led to it."""
    chosen: bool
    """Whether there are others, that are not read."""


class StatementAnswers:
    """Answers from what was told, by the statement network.

    The first hop attends to statements by vector, words and names, the second to those about the
    names in the best of them; the last reads all that was found together, each with the time for
    which it held.
    """

    def __init__(
        self,
        store: MemoryStore,
        encoder: Encoder,
        reader: LazyStatementReader,
        otherwise: _Answerer,
        on_read: Callable[[Mapping[int, float]], None],
    ) -> None:
        """Join a memory and a network.

        Args:
            store: the memory.
            encoder: of its keys.
            reader: of statements.
            otherwise: answers where the network is not installed.
            on_read: given the attention weights of statements after each question.
        """
        self._store = store
        self._encoder = encoder
        self._reader = reader
        self._otherwise = otherwise
        self._on_read = on_read

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        network = self._reader.load()
        if network is None or scope.where:
            return self._otherwise.ask(question, hops, top_k, scope)
        started = time.perf_counter()
        with self._store.reading():
            found = self._find(question, hops, scope, network)
            prior = found.weights**_PRIOR if found.chosen else None
            reading = network.answer(question, found.passages, prior)
            slots = {one.id: one for one in self._store.fetch([one.id for one in found.told])}
        if reading is not None:
            ids = (one.id for one in found.told)
            self._on_read(dict(zip(ids, _attended(reading), strict=True)))
        return _answer(question, found, slots, reading, top_k, started)

    def _find(
        self, question: str, hops: int | None, scope: Scope, network: StatementReader
    ) -> _Found:
        """The statements to read."""
        statements = self._store.statements
        vector = self._encoder.encode([question])[0]
        last = statements.last(scope.namespace, _READ + 1)
        second: dict[int, str] = {}
        chosen = len(last) > _READ
        ranked = last
        if chosen:
            ranked = self._address(question, vector, scope)
            if hops != 1:
                second = self._lead_on(ranked[:_LED_ON], scope)
            changing = [one.changed_by for one in statements.told(ranked) if one.changed_by]
            # What changed a statement that was found is read before what names lead to.
            ranked = list(dict.fromkeys([*ranked[:_FOUND], *changing, *second, *ranked]))[:_READ]
        # What is known to have ended answers only questions about the past.
        held = None if _PAST.search(question) else scope.moment()
        told = [one for one in statements.told(ranked) if _is_read(one, scope, held)]
        weights = self._attention(question, vector, told)
        by_rank = {slot: rank for rank, slot in enumerate(ranked)}
        best = sorted(
            range(len(told)),
            key=lambda index: by_rank[told[index].id] if chosen else -weights[index],
        )
        passages = [dated_passage(one, scope.as_of) for one in told]
        room = network.fitting(question, [passages[index] for index in best])
        kept = sorted(best[:room], key=lambda index: (told[index].valid_from, told[index].id))
        return _Found(
            [told[index] for index in kept], [passages[index] for index in kept], weights[kept],
            second, chosen,
        )  # fmt: skip

    def _address(self, question: str, vector: NDArray[np.float32], scope: Scope) -> list[int]:
        """Ids by vector, words and names together, best first (reciprocal rank fusion).

        Source: Cormack, Clarke and Büttcher 2009, equation 1.
        """
        ever = Scope(scope.namespace, None, frozenset(("statement",)), learned=True, past=True)
        nearest = self._store.nearest_statements(vector, _FOUND, scope.namespace)
        hits = self._store.search_lexical(query_terms(question), _FOUND, ever)
        names = maximal_names(self._store.search_symbolic(possible_names(question), _FOUND, ever))
        about = self._store.statements.ids_about(names, scope.namespace, _FOUND)
        scores: dict[int, float] = {}
        for ranking in (nearest, hits.ids[hits.mask].tolist(), about[::-1]):
            for rank, slot in enumerate(ranking):
                scores[slot] = scores.get(slot, 0.0) + 1 / (_RANK + rank)
        return sorted(scores, key=lambda slot: -scores[slot])

    def _lead_on(self, best: Sequence[int], scope: Scope) -> dict[int, str]:
        """Statements about what the best ones name, each with the name."""
        symbols = self._store.symbols(best).values()
        found: dict[int, str] = {}
        for name in dict.fromkeys(name for one in symbols for name in (*one.keys, *one.values)):
            for slot in self._store.statements.ids_about([name], scope.namespace, _OF_A_NAME):
                if slot not in best:
                    found.setdefault(slot, name)
        return found

    def _attention(
        self, question: str, vector: NDArray[np.float32], told: Sequence[Told]
    ) -> NDArray[np.float32]:
        """Attention of the first hop, by cosine of keys and by words: [K] float32."""
        if not told:
            return np.zeros(0, np.float32)
        keys = self._store.existing_keys([one.id for one in told]).vectors
        scores = keys @ vector + _LEXICAL * _shares_of_words(question, told)
        return softmax((scores / _TEMPERATURE).astype(np.float32))


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
    ended = one.valid_until is not None and held is not None and one.valid_until <= held
    return known and not ended


def _answer(
    question: str,
    found: _Found,
    slots: Mapping[int, Slot],
    reading: StatementReading | None,
    top_k: int,
    started: float,
) -> Answer:
    """The public answer."""
    forms = {} if reading is None else reading.forms
    abstained = reading is None or forms["none"] > _NONE
    shown, short, quotes = (None, None, ()) if reading is None else _shown(found, slots, reading)
    abstained = abstained or shown is None
    relevance: Sequence[float] = () if reading is None else reading.relevance
    quoted = {quote.evidence for quote in quotes}
    by_relevance: list[int] = np.argsort(-np.array(relevance), kind="stable").tolist()
    order = [
        index
        for index in by_relevance
        # What holds no longer is evidence where it is needed.
        if relevance[index] > 1 / 2
        or found.told[index].valid_until is None
        or found.told[index].id in quoted
    ]
    return Answer(
        question=question,
        kind="none" if abstained or reading is None else _KINDS[reading.form],
        answer=None if abstained else shown,
        short=None if abstained else short,
        quotes=() if abstained else quotes,
        confidence=None if reading is None else 1 - forms["none"],
        abstained=abstained,
        candidates=() if reading is None else _candidates(found, slots, reading),
        evidence=tuple(
            _evidence(slots[found.told[index].id], relevance[index], found)
            for index in order[:top_k]
        ),
        hops=_hops(found, slots, [] if reading is None else _attended(reading), top_k),
        model="statements",
        elapsed_ms=(time.perf_counter() - started) * 1000,
    )


def _attended(reading: StatementReading) -> list[float]:
    """How much the answer attends to each statement: weights that sum to one."""
    total = sum(reading.relevance)
    return [share / total for share in reading.relevance]


def _evidence(slot: Slot, relevance: float, found: _Found) -> Evidence:
    return evidence_of(slot, relevance, 2 if slot.id in found.second else 1)


def _shown(
    found: _Found, slots: Mapping[int, Slot], reading: StatementReading
) -> tuple[str | None, str | None, tuple[Quote, ...]]:
    """What a person reads, the short answer, and the pieces that they are made of."""
    form = reading.form
    if form == "list" and reading.items:
        items = list({_text(found, piece).casefold(): piece for piece in reading.items}.values())
        quotes = tuple(_quote(found, slots, piece, reading) for piece in items)
        return ", ".join(quote.text for quote in quotes), None, quotes
    if form in ("value", "list"):
        if not reading.pieces:
            return None, None, ()
        best = reading.pieces[0]
        own = found.told[best.statement].text
        quote = _quote(found, slots, Piece(best.statement, 0, len(own), best.probability), reading)
        return own, _text(found, best), (quote,)
    needed = [index for index, share in enumerate(reading.relevance) if share > 1 / 2]
    needed = needed or [int(np.argmax(reading.relevance))]
    quotes = tuple(
        _quote(found, slots, Piece(index, 0, len(found.told[index].text), 1.0), reading)
        for index in needed[-_MAX_SHOWN:]
    )
    short = str(reading.number) if form == "count" else form
    texts = "\n".join(quote.text for quote in quotes)
    return f"{short.capitalize()}. {texts}", short, quotes


def _text(found: _Found, piece: Piece) -> str:
    return found.told[piece.statement].text[piece.start : piece.end]


def _quote(
    found: _Found, slots: Mapping[int, Slot], piece: Piece, reading: StatementReading
) -> Quote:
    slot = slots[found.told[piece.statement].id]
    return Quote(
        evidence=slot.id,
        source=slot.source,
        start=slot.start + piece.start,
        end=slot.start + piece.end,
        text=_text(found, piece),
        weight=reading.relevance[piece.statement],
    )


def _candidates(
    found: _Found, slots: Mapping[int, Slot], reading: StatementReading
) -> tuple[Candidate, ...]:
    """Possible answers, best first."""
    if reading.form in ("yes", "no", "count"):
        text = str(reading.number) if reading.form == "count" else reading.form
        return (Candidate(text=text, score=reading.forms[reading.form]),)
    pieces = reading.items if reading.form == "list" and reading.items else reading.pieces
    return tuple(
        Candidate(
            text=_text(found, piece),
            score=piece.probability,
            evidence=found.told[piece.statement].id,
            start=slots[found.told[piece.statement].id].start + piece.start,
            end=slots[found.told[piece.statement].id].start + piece.end,
        )
        for piece in pieces
    )


def _hops(
    found: _Found, slots: Mapping[int, Slot], attended: Sequence[float], top_k: int
) -> tuple[Hop, ...]:
    """What the first hop attended to, and what the reader did."""
    hops: list[Hop] = []
    for number, weights in enumerate((found.weights.tolist(), attended), start=1):
        order = np.argsort(-np.array(weights), kind="stable").tolist()[:top_k]
        hops.append(
            Hop(
                hop=number,
                weights=tuple(
                    SlotWeight(
                        id=found.told[index].id,
                        source=slots[found.told[index].id].source,
                        weight=weights[index],
                        title=found.told[index].text,
                        via=found.second.get(found.told[index].id),
                    )
                    for index in order
                ),
            )
        )
    return tuple(hops)
