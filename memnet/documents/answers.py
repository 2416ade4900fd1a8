"""Answers about documents and facts: plan the question, hop, read, answer."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from operator import attrgetter

from memnet.config import AnswerConfig, Config
from memnet.documents.controller import TextController
from memnet.documents.excerpts import read_excerpts
from memnet.documents.facts import read_facts
from memnet.documents.hops import HopRead, Retrieval, answer_parts
from memnet.documents.mails import answer_to_quoted, is_mail
from memnet.documents.messages import (
    as_stored,
    day_sent,
    introduced_messages,
    is_of_another,
    later_messages,
    with_introductions,
    without_asides,
    without_messages,
)
from memnet.documents.question import FullVectors, Question
from memnet.documents.requests import in_full, list_all, requested
from memnet.documents.versions import as_changed, by_later, weigh_versions
from memnet.encoders.protocol import Encoder, query_encode
from memnet.reader.answers import (
    Prediction,
    asks_whether,
    judged,
    predict_spans,
    rank_sentences,
)
from memnet.reader.cells import CELL_CONFIDENCE
from memnet.reader.decompose import Resolved, english
from memnet.reader.loading import LazyReader
from memnet.reader.passages import RankedSlot, evidence_of
from memnet.reader.quotes import Quotation, quote_around
from memnet.reader.references import Reference, read_linked, reference_in, whole_row
from memnet.reader.rows import labelled_row, pieces_of
from memnet.reader.spans import Reader, Reading
from memnet.reader.support import read_alone, without_others
from memnet.reader.tables import PROMISE, read_cells
from memnet.reader.tasks import read_tasks
from memnet.runtime.device import in_background
from memnet.storage import EVERYWHERE, MemoryStore, Scope
from memnet.text.english import is_foreign
from memnet.text.names import normalise
from memnet.text.relative import day_said, times_in
from memnet.types import Answer, Candidate, Cell, Evidence, Quote, Word

# Kinds of answers that, if something is added to their quotations, are counted or computed.
_OF_RECORDS = ("table", "list", "yes", "no")
# What the logit of its best unit counts beside the log of the attention to a passage, in the order
# of evidence. Of 480 questions about documents from which nothing was learned the first evidence is
# right for 71.7 %, for 65.8 % by attention alone; 0.15 to 0.5 differ by less than two points.
_UNIT_SHARE = 0.25
_MIN_SUPPORT = 0.5  # Share of the most attention from which that of an answer in parts is the first
# Share of the most attention, and cosine, below both of which a slot is no evidence. Of the gold
# passages of 90 multi-hop questions 97.2 % are among the first ten with and without it.
_LEAST, _UNLIKE = 0.002, 0.3
# Share of the most attention below which a passage is not read: none of 152 questions about four
# manuals was answered from such a one. With 0.05 a sixth of the reading is saved in place of a
# twelfth, and 154 of 250 answers of ``benchmarks.reliability`` are right in place of 156.
_LEAST_READ = 0.02
_PROBABILITY = attrgetter("probability")  # Of proposals, of which the likeliest answers
_MAX_REFERENCES = 3  # Cells of tables that a question is followed through
_SURE_CELL = 0.95  # Confidence of a cell that counts whatever the reader attends to
_SAME_ROW = 0.5  # Share of confidence of what stands in the row that a cell was referred to by


class TextAnswers:
    """Answers from documents, facts and statements."""

    def __init__(
        self,
        store: MemoryStore,
        encoder: Encoder,
        controller: TextController,
        reader: LazyReader,
        name: str,
        config: Config,
        on_read: Callable[[Mapping[int, float]], None],
        full: FullVectors | None = None,
    ) -> None:
        """Join a memory and a controller.

        Args:
            store: the memory.
            encoder: of its keys.
            controller: trained or not.
            reader: of short answers; where it has no weights, sentences are the answers.
            name: of the model, as answers give it.
            config: settings; they may switch the rules of English off.
            on_read: given the attention weights of statements and messages after each question.
            full: what the best passages of a hop are compared by.
        """
        self._name = name
        self._reader = reader
        self._store = store
        self._encoder = encoder
        self.controller = controller
        self._config = config
        self._on_read = on_read
        self._full = full

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question; arguments as for ``Engine.ask``."""
        with self._store.reading():
            return self.answer(self.question(question, scope), hops, top_k)

    def question(self, text: str, scope: Scope) -> Question:
        """A question of this memory, within ``reading``; no more is looked up than its spelling."""
        background = getattr(self._encoder, "releases_gil", False)
        encode = query_encode(self._encoder)
        asked = Question(text, self._store, encode, scope, background, self._full)
        return asked.mended()

    def answer(self, question: Question, hops: int | None, top_k: int) -> Answer:
        """Answer a question, within ``reading``; other arguments as for ``Engine.ask``."""
        started = time.perf_counter()
        retrieval, ranked, prediction = self._answer(question, hops, top_k)
        prediction = requested(question.text, ranked, prediction)
        records = retrieval.records(top_k)
        day = self._day_said(question, prediction)
        used = [item.slot.id for item in ranked if item.slot.has_usage]
        if used:
            self._on_read(retrieval.attention_to(used))
        abstained = prediction.abstained or not prediction.candidates
        answer = None if abstained else prediction.candidates[0]
        promised = prediction.promised
        verdict = prediction.kind in ("yes", "no")
        kind = "statement" if verdict and not promised else prediction.kind
        # Nothing but the records has to do with what is counted.
        others = [] if prediction.added and prediction.kind in _OF_RECORDS else ranked
        if day is not None:
            prediction = prediction._replace(told=f"{day}. ", short=day)
        relevance = prediction.relevance
        evidence = rank_evidence(others, prediction.resolved, prediction.support, relevance)
        if top_k == 1 and answer is not None:  # whose passage is evidence in any case
            evidence = [*prediction.support[:1], *evidence]
        evidence = evidence[:top_k]
        return Answer(
            question=question.text,
            kind="none" if abstained else kind,
            answer=None if answer is None else prediction.shown,
            short=None if answer is None or not promised else prediction.short,
            shown="answer" if promised else "passage",
            quotes=tuple(
                piece
                for one in (() if answer is None else prediction.quotes)
                for piece in _in_pieces(one, answer if promised else None)
            ),
            units=tuple(map(_public, prediction.attended)),
            confidence=prediction.confidence,
            abstained=abstained,
            candidates=prediction.candidates,
            evidence=tuple(
                evidence_of(item.slot, item.score, item.hop, answer, item.copies)
                for item in evidence
            ),
            hops=records,
            model=self._name,
            elapsed_ms=(time.perf_counter() - started) * 1000,
        )

    def _day_said(self, question: Question, prediction: Prediction) -> str | None:
        """The day that the short answer of a message or statement names; None where it is none."""
        short = prediction.short or ""
        for one in prediction.quotes if short else ():
            slot, place = one.item.slot, one.text.find(short)
            # "ten days" of "in ten days" is a time there alone.
            sent = None
            if place >= 0 and times_in(one.text, date.today()):
                sent = day_sent(question, slot)
            if sent is not None:
                start = one.start + place
                return day_said(question.text, slot.text, start, start + len(short), sent)
        return None

    def search(
        self, query: str, hops: int | None, top_k: int, scope: Scope
    ) -> tuple[Evidence, ...]:
        """What the hops find, best first, without a reader; arguments as for ``ask``."""
        with self._store.reading():
            return self.find(self.question(query, scope), hops, top_k)

    def find(self, question: Question, hops: int | None, top_k: int) -> tuple[Evidence, ...]:
        """As ``search``, within ``reading``."""
        _, ranked = self._search(question, hops, top_k)
        return tuple(
            evidence_of(item.slot, item.score, item.hop, copies=item.copies)
            for item in ranked[:top_k]
        )

    def predict(self, question: str) -> Prediction:
        """Possible answers to a question with their signals: to learn confidence from."""
        with self._store.reading():
            asked = self.question(question, EVERYWHERE)
            return self._answer(asked, None, self._config.hop.evidence)[2]

    def _search(
        self, question: Question, hops: int | None, top_k: int, before: Sequence[HopRead] = ()
    ) -> tuple[Retrieval, list[RankedSlot]]:
        retrieval = Retrieval(question, self.controller, self._config)
        retrieval.reads += before
        return retrieval, retrieval.search(hops or self._config.hop.hops, top_k)

    def _answer(
        self, question: Question, hops: int | None, top_k: int, after: tuple[Retrieval, ...] = ()
    ) -> tuple[Retrieval, list[RankedSlot], Prediction]:
        """The hops of a question, what those for the whole of it ranked, and possible answers.

        Those ``after`` which it is asked are of the questions that referred to cells of tables.

        Facts, cells of tables and what is read in passages are proposals, and the likeliest is
        chosen. Facts are proposed only where the question names something: what else shares words
        with a relation is not what is asked about. Readers know English alone: what is asked or
        said in another language is no more than a passage. An encoder of many languages chooses its
        sentence better than the reader does; with one of English, what is said in others is rare.
        """
        text = question.text
        if (listed := list_all(question)) is not None:  # counted, not read
            return Retrieval(question, self.controller, self._config), [], listed
        retrieval, ranked = self._search(question, hops, top_k, after[-1].reads if after else ())
        if (explained := in_full(question)) is not None:
            return retrieval, ranked, explained
        passages = [item for item in ranked if item.slot.kind == "passage"]
        by_facts, whole = self._by_facts(question, ranked)
        if not passages or whole:
            return retrieval, ranked, by_facts
        if question.full is not None and question.full.multilingual:
            if is_foreign(text) or is_foreign(passages[0].slot.text):
                settings = self._config.answer
                supported = passages[0].similarity >= settings.support_floor
                shown = _best_sentence(text, passages[:1], settings) if supported else Prediction()
                shown = shown._replace(promised=False)
                return retrieval, ranked, max(by_facts, shown, key=_PROBABILITY)
            passages = [item for item in passages if not is_foreign(item.slot.text)]
        follows = self._config.answer.rules and len(after) < _MAX_REFERENCES
        reference = reference_in(text, passages) if follows else None
        if reference is not None and reference.name:
            further = self.question(reference.question, question.scope)
            last, found, prediction = self._answer(further, hops, top_k, (*after, retrieval))
            if prediction.candidates and not prediction.abstained:
                prediction = after_reference(prediction, reference)
                return last, [*found, reference.row.item], prediction
        proposed = self._by_passages(question, passages, reference, retrieval)
        return retrieval, ranked, max(*proposed, by_facts, key=_PROBABILITY)

    def _by_facts(
        self, question: Question, ranked: Sequence[RankedSlot]
    ) -> tuple[Prediction, bool]:
        """What facts propose, and whether that needs no passage beside it: a set that is whole."""
        if not question.named or not ranked or ranked[0].slot.kind == "passage":
            return Prediction(), False
        facts = [item for item in ranked if item.slot.kind != "passage"]
        found = read_facts(question, facts, self._reader.load().reader, self._config.answer)
        subjects = {normalise(item.slot.title) for item in found.support}
        named = any(f" {one} " in f" {normalise(question.sought)} " for one in subjects)
        compares = self._config.answer.rules and english.is_comparison(question.text)
        return found, found.promised and named and not compares

    def _by_passages(
        self,
        question: Question,
        passages: Sequence[RankedSlot],
        reference: Reference | None,
        retrieval: Retrieval,
    ) -> tuple[Prediction, Prediction]:
        """What is read in passages, and a cell of their tables.

        A cell that is only referred to is not the one that is asked for, nor is its row the answer.
        """
        count = self._config.answer.passages
        first, others, undecided, text = weigh_versions(question, passages[:count])
        first, asides = without_asides(question, first)
        reader, judge, attended = self._reader.load().reader, self._judge(), first
        least = _LEAST_READ * max(item.attention for item in first)
        needed = {item.slot.id for versions in undecided for item in versions}
        unread = [item for item in first if item.attention < least and item.slot.id not in needed]
        first = [item for item in first if item not in unread]
        rest = [*unread, *passages[count:]]
        read = self._read(question, text, [first, asides, others], undecided, rest, retrieval)
        if not read.promised or read.abstained:
            linked = self._linked(text, [*first, *rest])
            linked = linked._replace(relevance=read.relevance, resolved=read.resolved)
            read = max(read, linked, key=_PROBABILITY)
        conversing = question.has_messages or any(is_mail(one.slot) for one in passages)
        if conversing and reader is not None and judge is not None:
            within = read_excerpts(question, passages, reader, judge, read)
            read = read if within is read else self._judged(within)
        by_cell = Prediction()
        if reference is None:
            terms = dict(zip(question.terms.words, question.terms.weights.tolist(), strict=True))
            passages_of, programs = self._store.passages_of, self._reader.load_programs
            # In a chat "Bea: 24 May" says who writes: it is not a label with its value.
            without = without_messages(question, attended)
            by_cell = read_cells(text, terms, without, passages_of, read, reader, judge, programs)
            if by_cell.candidates:
                by_cell = self._judged(by_cell, promise=PROMISE)
        by_cell, read = masked(by_cell, read)
        by_cell = by_cell._replace(relevance=read.relevance)
        if reference is not None and any(map(whole_row(reference.row).overlaps, read.quotes)):
            read = read._replace(abstained=True)
        if is_foreign(text):
            by_cell, read = (one._replace(promised=False) for one in (by_cell, read))
        return read, by_cell

    def _linked(self, text: str, passages: Sequence[RankedSlot]) -> Prediction:
        """What two units say that have a name in common."""
        reader = self._reader.load().reader
        if reader is None or not self._config.answer.rules or asks_whether(text):
            return Prediction()
        return self._judged(read_linked(text, passages, reader, self._judge()))

    def _judge(self) -> Reader | None:
        """The network for verdicts; None where it is left out, or another reader gives them."""
        verdicts = self._reader.load_verdicts()
        return None if verdicts is self._reader.load().reader else verdicts

    def _judged(
        self, prediction: Prediction, supported: bool = True, promise: float | None = None
    ) -> Prediction:
        """A prediction by its confidence, or without one by whether it is ``supported``.

        It is an answer from ``promise`` on, unless the settings say another; None: that of the
        reader.
        """
        settings, calibration = self._config.answer, self._reader.load().calibration
        threshold = settings.threshold if supported or calibration is not None else math.inf
        if settings.answer_threshold is not None:
            promise = settings.answer_threshold
        return judged(prediction, calibration, threshold, promise)

    def _read(
        self,
        question: Question,
        text: str,
        apart: Sequence[Sequence[RankedSlot]],
        undecided: Sequence[Sequence[RankedSlot]],
        rest: Sequence[RankedSlot],
        retrieval: Retrieval,
    ) -> Prediction:
        """What is read in passages.

        The network reads all that may be needed once, with ``text`` for the question. ``apart`` are
        the passages that are looked at first, what speakers say of themselves, and other versions:
        these count where the first do not answer. To parts of the question the ``rest`` may answer,
        too.
        """
        settings, reader = self._config.answer, self._reader.load().reader
        supported = max(item.similarity for item in apart[0]) >= settings.support_floor
        if reader is None:
            return _best_sentence(text, apart[0], settings) if supported else Prediction()
        dated = introduced_messages(question, [*chain.from_iterable(apart), *rest])
        first, asides, others, rest = (
            [dated[item.slot.id].read if item.slot.id in dated else item for item in some]
            for some in (*apart, rest)
        )
        read = [*first, *asides, *others]
        places = {item.slot.id: place for place, item in enumerate(read)}
        # The network reads on other threads, while this one looks for parts of the question.
        reading = in_background(reader.read, text, [item.passage for item in read])
        resolved: list[Resolved] = []
        further = compared = None
        beside = self._store.passage_beside
        if settings.rules:
            resolved = answer_parts(text, [*first, *rest], reader, retrieval)
            if resolved:
                last = resolved[-1]
                further = reader.read(last.question, [item.passage for item in last.passages])
            compared = english.compare(text, [*first, *rest], reader, retrieval.look_up)

        def look_at(some: Sequence[RankedSlot]) -> Prediction:
            chosen = [places[item.slot.id] for item in some]
            some = [read[place] for place in chosen]
            found = reading.result().of(chosen)
            return look_in(some, with_introductions(found, some, dated))

        def look_apart(some: Sequence[RankedSlot]) -> Prediction:
            return look_in(some, reader.read(text, [item.passage for item in some]))

        def look_in(some: Sequence[RankedSlot], found: Reading) -> Prediction:
            prediction = predict_spans(
                text, some, found, resolved, further, compared, settings.rules, beside,
                self._judge(),
            )  # fmt: skip
            asked = resolved[-1].question if resolved else text
            if compared is None:
                verdicts = self._reader.load_verdicts
                prediction = read_alone(asked, prediction, reader, verdicts)
                if settings.rules and not resolved:
                    prediction = without_others(text, prediction, self._encoder.encode)
            prediction = as_stored(prediction, dated)
            first_quote = prediction.quotes[:1]
            if any(is_of_another(question, one.item.slot, one.text) for one in first_quote):
                prediction = Prediction()
            by_tasks = read_tasks(text, [*some, *rest], prediction, reader, self._store.passages_of)
            shown = by_tasks if by_tasks.candidates else self._judged(prediction, supported)
            return shown._replace(relevance=prediction.relevance)

        prediction = look_at(first)
        if asides and prediction.abstained:
            prediction = look_at(sorted([*first, *asides], key=lambda item: -item.attention))
        if others and prediction.abstained:
            prediction = look_at([*first, *others])
            old = {item.slot.id for item in others}
            if any(one.item.slot.id in old for one in prediction.quotes):
                prediction = prediction._replace(promised=False)  # It held once.
        if prediction.quotes and not prediction.abstained:
            own = prediction.quotes[0].item.slot
            later = later_messages(question, own, read)
            reply = answer_to_quoted(prediction)
            if later:
                known = [item for item in later if item.slot.id in places]
                prediction = by_later(text, prediction, known, later, look_at)
            elif reply is not None:
                prediction = by_later(text, prediction, [reply], [reply], look_apart)
            if own is prediction.quotes[0].item.slot and settings.rules:
                items = [item for item in (*read, *rest) if item not in later]
                prediction = as_changed(question, prediction, items, look_apart)
            if own is prediction.quotes[0].item.slot:
                for versions in undecided:
                    prediction = _with_other_version(prediction, versions, look_at)
        return prediction


def _best_sentence(text: str, passages: Sequence[RankedSlot], settings: AnswerConfig) -> Prediction:
    found = rank_sentences(text, passages, settings)[: settings.passages]
    [own] = (item for item in passages if item.slot.id == found[0].evidence)
    start = (found[0].start or 0) - own.slot.start
    shown = quote_around(own, start, start + len(found[0].text))
    return Prediction(found, (own,), "statement", quotes=shown)


def _with_other_version(
    read: Prediction,
    versions: Sequence[RankedSlot],
    look_at: Callable[[Sequence[RankedSlot]], Prediction],
) -> Prediction:
    """A prediction by one of several versions, with what another one says instead.

    Nothing says which of them holds: both are shown, and neither as the answer.
    """
    own = read.quotes[0].item.slot.id if read.quotes else None
    if read.abstained or read.short is None or own not in {item.slot.id for item in versions}:
        return read
    for other in (look_at([item]) for item in versions if item.slot.id != own):
        if other.short is not None and normalise(other.short) != normalise(read.short):
            both = (*read.quotes[:1], *other.quotes[:1])
            support = (*read.support[:1], *other.support[:1])
            return read._replace(quotes=both, support=support, promised=False)
    return read


def _in_pieces(quotation: Quotation, answer: Candidate | None) -> Iterator[Quote]:
    """A quotation, rows of tables apart from what stands above and below them."""
    slot = quotation.item.slot
    pieces = pieces_of(slot.text, slot.title, quotation.start, quotation.end)
    if not any(piece.rows for piece in pieces):
        yield _public(quotation)
        return
    at = answer.start if answer is not None and answer.evidence == slot.id else None
    for piece in pieces:
        words = tuple(one for one in quotation.words if piece.start <= one.start < piece.end)
        own = _public(quotation._replace(start=piece.start, end=piece.end, words=words))
        rows = tuple(
            tuple(
                Cell(
                    header=one.header, text=one.text, start=start, end=end,
                    answers=at is not None and start <= at < end,
                )
                for one in row
                for start, end in [(slot.start + one.start, slot.start + one.end)]
            )
            for row in piece.rows
        )  # fmt: skip
        yield own.model_copy(update={"rows": rows})


def _public(quotation: Quotation) -> Quote:
    slot = quotation.item.slot
    return Quote(
        evidence=slot.id,
        source=slot.source,
        start=slot.start + quotation.start,
        end=slot.start + quotation.end,
        text=quotation.text,
        weight=min(1.0, quotation.weight),
        words=tuple(
            Word(start=slot.start + one.start, end=slot.start + one.end, weight=one.weight)
            for one in quotation.words
        ),
    )


def after_reference(prediction: Prediction, reference: Reference) -> Prediction:
    """A prediction about the cell that a question referred to, with the row that it stands in.

    What stands in that same row may be said of the row, and not of the cell: no answer.
    """
    row = whole_row(reference.row)
    own_row = any(map(row.overlaps, prediction.quotes))
    step = Resolved(reference.question, reference.name, (row.item,), None, CELL_CONFIDENCE)
    confidence = prediction.confidence
    return prediction._replace(
        confidence=confidence and confidence * (_SAME_ROW if own_row else CELL_CONFIDENCE),
        quotes=prediction.quotes if own_row else (*prediction.quotes, row),
        promised=prediction.promised and not own_row,
        support=(*prediction.support, row.item),
        resolved=(step, *prediction.resolved),
    )


def masked(by_cell: Prediction, read: Prediction) -> tuple[Prediction, Prediction]:
    """A cell of a table and what was read, each only where the other leaves it possible.

    A cell is one that the last hop attends to, unless it was computed from a whole table, or row
    and column are named without doubt. What is read in a row of a table does not count beside
    another answer that is given of a table of the same file: of 110 questions about tables held out
    to which programs alone and a row gave two answers 70 were answered right by the program, and 20
    by the row. Nor does a row answer that is unlikely to with its headers, unless they stand in it,
    where the reader saw them.
    """
    if by_cell.abstained:
        headed = bool(by_cell.candidates) and read.promised
        refuted = any(
            one.overlaps(two)
            for one in by_cell.quotes
            for two in read.quotes[:1]
            if not (headed and labelled_row(two.text, 0, len(two.text)))
        )
        return by_cell, read._replace(abstained=True) if refuted else read
    # Without a reader, the last hop attends to all.
    attended = read.attended if not read.abstained else ()
    overlap = [by_cell.quotes[0].overlaps(one) for one in attended] if by_cell.quotes else []
    sure = (by_cell.confidence or 0.0) >= _SURE_CELL
    if not (by_cell.added or not attended or any(overlap) or sure):
        return Prediction(), read
    differs = normalise(read.short or "") != normalise(by_cell.short or "")
    sources = {one.item.source for one in by_cell.quotes}
    in_row = any(
        one.item.source in sources
        and (" | " in one.text or labelled_row(one.text, 0, len(one.text)))
        for one in read.quotes[:1]
    )
    if read.confidence is not None and differs and in_row:
        read = read._replace(abstained=True)
    return by_cell, read


def rank_evidence(
    ranked: Sequence[RankedSlot],
    resolved: Sequence[Resolved],
    support: Sequence[RankedSlot],
    relevance: Mapping[int, float] = {},
) -> list[RankedSlot]:
    """All evidence of a question, best first.

    Every slot counts by the most attention that a hop paid to it, for a sub-question times the
    probability of its answer, and by its ``relevance``: the highest logit that the reader gives a
    unit of it, by the ids of slots. What was not read counts as the least relevant of what was.
    The passage of the answer is the second at least. Before all stands what supports it and was
    found by no hop, such as the rows that something was computed from. What hardly had any
    attention is left out.

    Source: Nogueira and Cho 2019 (passages ordered by a network that reads each with the question).
    """
    slots = {item.slot.id: item for item in ranked}
    weights = {item.slot.id: item.attention for item in ranked}
    for step in resolved:
        for item in step.passages:
            weight = step.probability * item.attention
            slots.setdefault(item.slot.id, item)
            weights[item.slot.id] = max(weight, weights.get(item.slot.id, 0.0))
    unread = min(relevance.values(), default=0.0)
    # What leads from one part of a question to the next answers none of it: there the passage of
    # the answer is the first, unless another had far more attention.
    share = 0.0 if resolved else _UNIT_SHARE
    chosen = support[0].slot.id if resolved and support else None
    if chosen is not None and weights.get(chosen, 0.0) < _MIN_SUPPORT * max(weights.values()):
        chosen = None

    def order(slot: int) -> tuple[bool, float]:
        return slot == chosen, weights[slot] * math.exp(share * relevance.get(slot, unread))

    least = _LEAST * max(weights.values(), default=0.0)
    supporting = {item.slot.id for item in support}
    found = [
        slots[slot]
        for slot in sorted(slots, key=order, reverse=True)
        if slot in supporting or weights[slot] >= least or slots[slot].similarity >= _UNLIKE
    ]
    second = [item for item in found[2:] if item.slot.id == support[0].slot.id] if support else []
    found = [*found[:1], *second, *(item for item in found[1:] if item not in second)]
    return [*(item for item in support if item.slot.id not in slots), *found]
