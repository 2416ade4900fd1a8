"""Hops over a store: address, attend, update; for a question, then for its sub-questions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import softmax
from memnet.config import Config, HopConfig
from memnet.documents.candidates import (
    Candidates,
    QueryState,
    Scores,
    SlotFeature,
    find_links,
    links_with_features,
    nearest_to_cutoff,
    rescore,
)
from memnet.documents.controller import TextController
from memnet.documents.mails import without_quoted
from memnet.documents.messages import MessageAddressing
from memnet.documents.question import FetchedSlots, Question, relation_stems
from memnet.reader.decompose import Resolved, english
from memnet.reader.passages import RankedSlot, merge_copies, passages_titled, read_best
from memnet.reader.sequences import ASKS_FOR_CONTENTS, entries_of
from memnet.reader.spans import Reader
from memnet.storage import Keys
from memnet.text.english import OTHER_LETTER, is_foreign
from memnet.text.names import normalise
from memnet.types import Hop, SlotWeight

# Least value of the feature ``PREVIOUS``, and that of a slot that the last hop did not score.
_MIN_PREVIOUS = -1.0
# Share of a question's words that the memory has: in its own language 0.67 to 0.94, of questions in
# four others 0.02 to 0.29.
_KNOWN = 0.5
# Share of plain similarity where an encoder of many languages gives the cosines, from which no gate
# has learned; of a question in another language than the memory's it is all.
_EQUAL_SHARE = 0.5
_MAX_SUB_QUESTIONS = 3
_LOOKED_AT = 2  # Factor of the slots that are fetched to those that are wanted
_PER_HEADING = 5  # Slots that are looked at for each name in what may be a table of contents
# Part of the score that a table of contents lacks: all other passages that share a word with the
# question are read before it, and beside none of them it draws the attention of the reader.
_CONTENTS = 1.5
_MAX_PASSAGES = 4  # Passages that are read for a question after a part of it was answered
# Min. probability of the answer to a sub-question, for the memory to be searched with it.
_MIN_PROBABILITY = 0.25


class Addressing:
    """Picks candidates for the hops of one question; what does not change is looked up once."""

    def __init__(self, question: Question, config: HopConfig) -> None:
        self._question = question
        self._config = config
        # By words first: the vector may still be computed on another thread.
        self._lexical = _relative(question.sharing_words(config.candidates))
        self._dense = question.nearest(config.candidates)
        self._best_units: dict[int, float] = {}  # cosines; NaN for slots whose units have no keys
        self._messages = MessageAddressing(question) if question.has_messages else None
        # Messages that are candidates, with their relative BM25 for the question about them.
        self._of_messages = self._find_messages(config.candidates)
        by_name = question.slots_by_name
        # For each slot that the question names, the longest name by which it does.
        self._name_of = {slot: name for name in reversed(question.named) for slot in by_name[name]}
        # For each slot the words of the longest name of it in the question, whole or not.
        self._name_words = {
            slot: len(name.split())
            for name in sorted(by_name, key=lambda name: len(name.split()))
            for slot in by_name[name]
        }

    def candidates(self, state: QueryState) -> Candidates:
        """The slots that a query state reaches, each once."""
        question, fetched = self._question, self._question.fetched
        links = find_links(fetched.symbols(state.attended), question.store, question.scope)
        named = [slot for name in question.named for slot in question.slots_by_name[name]]
        linked = (link.slot for link in links)
        found = *self._dense, *self._lexical, *self._of_messages, *named, *state.attended, *linked
        ids = tuple(dict.fromkeys(found))
        fetched.slots(state.attended)  # in one query; the texts of senders are features of links
        keys = fetched.keys(ids)
        dense = self._similarity(keys)
        occurs = question.terms.occurrences(keys.ids)
        return Candidates(
            ids=ids,
            features=self._features(ids, dense, occurs, state),
            named=tuple(map(self._name_of.get, ids)),
            is_fact=keys.is_fact,
            links=links_with_features(links, state, question, ids, keys.vectors, dense, occurs),
            messages=None
            if self._messages is None
            else self._messages.features(keys, self._of_messages),
        )

    def _find_messages(self, limit: int) -> dict[int, float]:
        """Further candidates where the memory holds messages, with their relative BM25."""
        if self._messages is None:
            return {}
        asked = self._messages.question
        others = dict.fromkeys([*self._messages.of_days(), *asked.nearest(limit)], 0.0)
        return others | _relative(asked.sharing_words(limit))

    def _similarity(self, keys: Keys) -> NDArray[np.float32]:
        """Cosine [K] of each key with the question.

        For facts, of their relation and the question's words but the names, plus something for
        words that are shared: "who stars in" and "starred actors".
        """
        similarity: NDArray[np.float32] = keys.vectors @ self._question.vector
        if not keys.is_fact.any():
            return similarity
        vector, asked = self._question.relation
        stems = {name: relation_stems(name) for name in set(keys.relations)}
        shared = {name: len(own & asked) / max(1, len(own)) for name, own in stems.items()}
        relation = keys.vectors @ vector + self._config.relation_words_weight * np.array(
            [shared[name] for name in keys.relations], np.float32
        )
        return np.where(keys.is_fact, relation, similarity)

    def _of_best_units(self, ids: tuple[int, ...]) -> NDArray[np.float32]:
        """Cosine [K] of each slot's best unit with the question; NaN where units have no keys."""
        new = [slot for slot in ids if slot not in self._best_units]
        self._best_units.update(dict.fromkeys(new, math.nan))
        query = self._question.unit_vector
        if query is not None and new:
            keys = self._question.store.unit_keys(new)
            if len(keys.ids):
                best = np.maximum.reduceat(keys.rows @ query, keys.starts)
                self._best_units.update(zip(keys.ids.tolist(), best.tolist(), strict=True))
        return np.array([self._best_units[slot] for slot in ids], np.float32)

    def _features(
        self,
        ids: tuple[int, ...],
        dense: NDArray[np.float32],
        occurs: NDArray[np.float32],
        state: QueryState,
    ) -> NDArray[np.float32]:
        """[K, F] float32, as ``SlotFeature`` says."""
        features = np.zeros((len(ids), len(SlotFeature)), np.float32)
        features[:, SlotFeature.DENSE] = dense
        best = self._of_best_units(ids)
        features[:, SlotFeature.UNIT] = np.where(np.isnan(best), dense, best)
        features[:, SlotFeature.LEXICAL] = [self._lexical.get(slot, 0.0) for slot in ids]
        for index, slot in enumerate(ids):
            name = self._name_of.get(slot)
            if name is not None:
                features[index, SlotFeature.NAMED] = 1.0
                features[index, SlotFeature.NAMED_WORDS] = len(name.split()) / 3
                features[index, SlotFeature.NAMED_SHARE] = 1 / len(
                    self._question.slots_by_name[name]
                )
        features[:, SlotFeature.PART_OF_NAME] = [self._name_words.get(slot, 0) / 3 for slot in ids]
        features[:, SlotFeature.COVERED] = np.einsum(
            "kt,t->k", occurs, self._question.terms.weights
        )
        if state.logits:
            logits = np.array([state.logits.get(slot, -np.inf) for slot in ids])
            features[:, SlotFeature.PREVIOUS] = np.maximum(_MIN_PREVIOUS, logits / 10)
        return features


def _relative(found: Mapping[int, float]) -> dict[int, float]:
    """BM25 over the best of some slots, by slot."""
    scores = np.array(list(found.values()), np.float32)
    relative = scores / max(scores.max(initial=0.0), 1e-9)
    return dict(zip(found, relative.tolist(), strict=True))


@dataclass(frozen=True)
class HopRead:
    """What one hop attended to. K = candidates."""

    candidates: Candidates
    scores: Scores
    weights: NDArray[np.float32]  # [K] float32: attention
    # [A] int64: the candidates that were attended to, best first; all K, but for a sub-question
    # that was answered by what earlier hops had found
    order: NDArray[np.int64]
    query: str  # What the hop looked for: the question, a part of it, or a name
    via: str | None = None  # The name that led to all of them; None where each has its own

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """[A] the slots that were attended to, best first."""
        return tuple(self.candidates.ids[index] for index in self.order.tolist())

    def record(self, number: int, top_k: int, fetched: FetchedSlots) -> Hop:
        """The ``top_k`` most attended slots with the parts of their scores, as a public value."""
        shown: list[int] = self.order[:top_k].tolist()
        senders = [self._sender(index) for index in shown]
        fetched.slots([*self.ids[:top_k], *(sender for sender in senders if sender is not None)])
        weights: list[SlotWeight] = []
        for index, sender in zip(shown, senders, strict=True):
            [slot] = fetched.slots([self.candidates.ids[index]])
            link = self.scores.link[index]
            named = self.candidates.named[index] if link < 0 else self.candidates.links.names[link]
            weights.append(
                SlotWeight(
                    id=slot.id,
                    source=slot.source,
                    weight=float(self.weights[index]),
                    title=slot.title,
                    dense=float(self.scores.dense[index]),
                    lexical=float(self.scores.lexical[index]),
                    symbolic=float(self.scores.symbolic[index]),
                    learned=float(self.scores.learned[index]),
                    via=self.via or named,
                    via_source=None if sender is None else fetched.slots([sender])[0].source,
                )
            )
        return Hop(hop=number, query=self.query, weights=tuple(weights))

    def _sender(self, index: int) -> int | None:
        """The slot that gave the name by which a candidate was found; None for the question."""
        link = self.scores.link[index]
        return None if link < 0 or self.via else int(self.candidates.links.sender[link])


def read_in_hops(
    question: Question,
    controller: TextController,
    config: HopConfig,
    max_hops: int,
    passages: int = 5,
) -> list[HopRead]:
    """Read the memory up to ``max_hops`` times, at least once; fewer if a hop brings nothing new.

    Messages are read once: what chats name, greet and mention leads everywhere.
    Where stored vectors are quick ones, passages of the last hop are compared again: those next to
    the border between the best ``passages``, which are read for an answer, and the others.

    Source: Sukhbaatar et al. 2015, section 2.2 (hops); Miller et al. 2016, section 3.1 (key
    hashing and addressing).
    """
    addressing, state = Addressing(question, config), QueryState()
    reads: list[HopRead] = []
    # Damaged weights or extreme settings can give NaN, which the caller reports: no warnings.
    with np.errstate(all="ignore"):
        for hop in range(max_hops):
            candidates = addressing.candidates(state)
            scores = controller.score(candidates, hop)
            reads.append(_attend(candidates, controller, scores, question.sought))
            if candidates.messages is not None and candidates.messages.is_message.all():
                break  # no link leads to a message
            logits = controller.logits(reads[-1].scores)[reads[-1].order]
            previous, state = state, controller.update(reads[-1].ids, logits)
            if set(previous.attended) == set(state.attended):
                break
        last, scores = reads[-1], reads[-1].scores
        logits = controller.logits(scores)[last.order]
        best = last.order[nearest_to_cutoff(logits, passages, config.rescored)]
        found = rescore(last.candidates, best, question)
        if found is not last.candidates:
            scores = controller.score(found, len(reads) - 1)
        if question.full is not None and question.full.multilingual:
            # Of another language words say nothing, units less than passages, and hops learned
            # from English.
            known, features = question.terms.known, found.features.copy()
            dense, unit = features[:, SlotFeature.DENSE], features[:, SlotFeature.UNIT]
            features[:, SlotFeature.UNIT] = dense + known * (unit - dense)
            features[:, SlotFeature.LEXICAL] *= known
            alone = known < _KNOWN or is_foreign(question.sought)
            found = replace(found, features=features)
            scores = controller.mixed(scores, found, 1.0 if alone else _EQUAL_SHARE)
        # Of words in other scripts the cosines of an encoder of English say nothing.
        elif not OTHER_LETTER.search(question.sought):
            scores = controller.mixed(scores, found)
        if len(coded := question.terms.coded):
            named = np.isin(found.ids, coded) * np.float32(config.question_symbol_weight)
            scores = scores._replace(symbolic=scores.symbolic + named)
        reads[-1] = _attend(found, controller, scores, question.sought)
    return reads


def _attend(
    candidates: Candidates, controller: TextController, scores: Scores, query: str
) -> HopRead:
    logits = controller.logits(scores)
    return HopRead(candidates, scores, softmax(logits), np.argsort(-logits, kind="stable"), query)


class Retrieval:
    """All hops that one question needs, those of its sub-questions among them."""

    _latest: HopRead  # The last hop that addressed the whole memory

    def __init__(self, question: Question, controller: TextController, config: Config) -> None:
        self.reads: list[HopRead] = []  # In order of the hops
        self._question = question
        self._controller = controller
        self._config = config

    def search(
        self, max_hops: int, top_k: int, question: Question | None = None
    ) -> list[RankedSlot]:
        """The slots that hops for a question rank first, and all facts: a set of facts is whole.

        At least ``top_k``, and as many as the reader needs; ``question`` is a part of the question,
        None for the whole of it.
        """
        question = question or self._question
        hop, passages = self._config.hop, self._config.answer.passages
        reads = read_in_hops(question, self._controller, hop, max_hops, passages)
        first = len(self.reads) + 1
        self.reads += reads
        first_hop = {
            slot: number
            for number, read in reversed(list(enumerate(reads, start=first)))
            for slot in read.ids[:top_k]
        }
        last = self._latest = reads[-1]
        count = max(top_k, passages)
        is_fact = last.candidates.is_fact[last.order]
        # More than are wanted: copies are one passage, and tables of contents come last.
        chosen = last.order[(np.arange(len(last.order)) < _LOOKED_AT * count) | is_fact]
        total, dense = last.scores.total(), last.candidates.features[:, SlotFeature.DENSE]
        slots = question.fetched.slots([last.candidates.ids[index] for index in chosen.tolist()])
        ranked = [
            RankedSlot(
                slot,
                score=float(total[index]),
                similarity=float(dense[index]),
                attention=float(last.weights[index]),
                hop=first_hop.get(slot.id, len(self.reads)),
            )
            for slot, index in zip(slots, chosen.tolist(), strict=True)
        ]
        ranked = merge_copies(question.text, self._contents_last(without_quoted(ranked)))
        return [item for n, item in enumerate(ranked) if n < count or item.slot.kind != "passage"]

    def _contents_last(self, ranked: Sequence[RankedSlot]) -> list[RankedSlot]:
        """Slots, best first; a table of contents counts less than what it leads to.

        But for a question that asks for it.
        """
        if ASKS_FOR_CONTENTS.search(self._question.text):
            return list(ranked)
        entries = {
            item.slot.id: entries_of(item.slot.title, item.slot.text)
            for item in ranked
            if item.slot.kind == "passage" and not item.slot.has_usage
        }
        names = frozenset[str]().union(*(one.names for one in entries.values()))
        named = self._question.store.search_symbolic(names, _PER_HEADING) if names else {}
        ids = [slot for found in named.values() for slot in found]
        sources = {slot.id: slot.source for slot in self._question.fetched.slots(ids)}
        headings: dict[str, set[str]] = {}  # of each source
        for name, found in named.items():
            for slot in found:
                headings.setdefault(sources[slot], set()).add(name)
        factor = math.exp(-_CONTENTS / self._config.hop.temperature)
        weighted = list(ranked)
        for n, item in enumerate(ranked):
            one = entries.get(item.slot.id)
            spans = one.leading(headings.get(item.slot.source, ())) if one else ()
            if spans:
                weighted[n] = replace(item, contents=spans)
            if one and one.are_most(spans):
                less = item.score - _CONTENTS, item.attention * factor
                weighted[n] = replace(weighted[n], score=less[0], attention=less[1])
        return sorted(weighted, key=lambda item: -item.score)

    def look_up(self, text: str) -> list[RankedSlot]:
        """The passages that further hops find for a sub-question, best first."""
        question = self._question.sub_question(text)
        ranked = self.search(self._config.hop.hops, self._config.answer.passages, question)
        return [item for item in ranked if item.slot.kind == "passage"]

    def attend(
        self, passages: Sequence[RankedSlot], about: Sequence[RankedSlot], name: str
    ) -> tuple[RankedSlot, ...]:
        """One more hop, to some of the slots that the last one scored; all others are masked.

        The question names the slots ``about`` a name now, which adds the weight of a key symbol.
        """
        candidates, scores, config = self._latest.candidates, self._latest.scores, self._config.hop
        mask, named = (
            np.isin(candidates.ids, [item.slot.id for item in items]) for items in (passages, about)
        )
        added = np.where(named, np.float32(config.question_symbol_weight), np.float32(0))
        scores = scores._replace(symbolic=scores.symbolic + added)
        logits = self._controller.logits(scores)
        weights = softmax(logits, mask)
        order = np.argsort(np.where(mask, -logits, np.inf), kind="stable")[: mask.sum()]
        self.reads.append(HopRead(candidates, scores, weights, order, name, via=name))
        by_id = dict(zip(candidates.ids, weights.tolist(), strict=True))
        return tuple(replace(item, attention=by_id[item.slot.id]) for item in passages)

    def records(self, top_k: int) -> tuple[Hop, ...]:
        """All hops as public values."""
        fetched = self._question.fetched
        return tuple(read.record(n, top_k, fetched) for n, read in enumerate(self.reads, start=1))

    def attention_to(self, slots: Iterable[int]) -> dict[int, float]:
        """For each of some slots the most that a hop attended to it."""
        weights = dict.fromkeys(slots, 0.0)
        for read in self.reads:
            for slot, weight in zip(read.candidates.ids, read.weights.tolist(), strict=True):
                if slot in weights:
                    weights[slot] = max(weight, weights[slot])
        return weights


def answer_parts(
    text: str, passages: Sequence[RankedSlot], reader: Reader, retrieval: Retrieval
) -> list[Resolved]:
    """The question after each answer to a part of it, while their answers are known; none without.

    Each part is read in what the hops found (``passages``, best first), and its answer put in its
    place. A further hop then attends to the passages about that answer; where there are none, or
    the part names nothing, it searches the memory with the new question.

    Source: self-ask (Press et al. 2023) asks follow-up questions of a language model; here the
    question's own words are cut out, and a span is put in their place.
    """
    steps: list[Resolved] = []
    for _ in range(_MAX_SUB_QUESTIONS):
        last = steps[-1] if steps else None
        part = english.sub_question(last.question if last else text, passages, last)
        if part is None:
            break
        answer = read_best(part.question, part.passages, reader, prefer_names=True)
        if answer is None:
            break
        question = f"{part.before}{answer.text}{part.after}"
        probability = answer.score * (last.probability if last else 1.0)
        about = passages_titled(answer.text, passages, part.about)
        if not about and probability < _MIN_PROBABILITY:
            break
        searched = not about or part.about is None
        if searched:
            passages = retrieval.look_up(question)
            about = passages_titled(answer.text, passages)
        chosen = _to_read(answer.text, about, passages)
        if not searched:
            chosen = retrieval.attend(chosen, [passages[i] for i in about], answer.text)
        index = about[0] if about else None
        steps.append(Resolved(question, answer.text, chosen, index, probability))
    return steps


def _to_read(
    name: str, about: Sequence[int], passages: Sequence[RankedSlot]
) -> tuple[RankedSlot, ...]:
    """Passages to read next: those about a name, then those that mention it; if none, the best."""
    wanted = f" {normalise(name)} "
    mentioned = [i for i, item in enumerate(passages) if wanted in f" {item.normalised_text} "]
    chosen = dict.fromkeys((*about, *mentioned) or range(len(passages)))
    return tuple(passages[index] for index in chosen)[:_MAX_PASSAGES]
