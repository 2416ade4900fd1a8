"""Questions for two experts: facts give a set of names, documents choose among them.

"Which of the ships built by Kerrin Yard does the handbook call unsafe?" The facts answer "which
ships built by Kerrin Yard"; their values are the symbols of a further hop, which addresses the
passages about them or that mention them, attends to their sentences by the rest of the question,
and keeps those names of which a sentence says it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from memnet.attention.arrays import softmax
from memnet.documents.question import relation_stems
from memnet.encoders.protocol import Encoder
from memnet.reader.decompose.negation import negated
from memnet.reader.passages import evidence_of
from memnet.storage import MemoryStore, Scope, Slot
from memnet.text.english import query_terms, sentences
from memnet.text.names import normalise, without_brackets
from memnet.types import Answer, Candidate, Evidence, ExpertWeight, Hop, SlotWeight

_ASKED = re.compile(
    r"(?:which|what|who) (?:ones? )?of (?:all )?(?:the |these |those )?(?=\S)", re.IGNORECASE
)
_VERB = re.compile(
    r" (?=(?:do|does|did|is|are|was|were|has|have|had|can|could|may|might|must|need|needs|should|"
    r"will|would|got|gets?|lost|won|sank|leaks?|took|takes?|burnt|burned|lies?|stands?|came|"
    r"became|fell|lacks?|wants?|received?|keeps?|kept)\b)"
)
_ENDS = " \t\n?!.,;:\"')”’"  # Characters at the end of a question
# Separators of parts of a sentence, of which one may be negated and another not.
_PART = re.compile(r"[,;:]|\b(?:and|but|though|or)\b")
_RELATIVE = re.compile(r"\b(?:that|which|who|whose|whom)$")
_IN_SOURCE = re.compile(r"\S,? (?:in|of|from|listed in|named in) (?:the )?(?=\S)")
# Words of a question that say that a text says something, and not what.
_SAYING = relation_stems(
    "call say says said name mention describe list according consider "
    "state tell told note report write"
)
_MAX_NAMES = 200  # Max. names taken from the set that the facts give.
_MAX_SLOTS = 20  # Passages of one name
_MAX_SENTENCES = 256  # Max. sentences that are compared with the question, each encoded once.
_TEMPERATURE = 0.15  # Temperature of the softmax over sentences, as in the hops over documents
# Min. share of the asked words that a sentence has, or min. cosine with them, to say what is asked.
# Chosen on the questions of ``benchmarks/gate/joined_dev.jsonl``.
_MIN_COVERED, _MIN_SIMILAR = 0.6, 0.55
Ask = Callable[[str], Answer]


class _Set(NamedTuple):
    """What the facts give."""

    names: Sequence[str]
    evidence: tuple[Evidence, ...] = ()
    hops: tuple[Hop, ...] = ()
    model: str = "facts"


class _Found(NamedTuple):
    """A sentence that says of a name what is asked."""

    name: str
    slot: Slot
    start: int
    end: int  # Of the sentence in the text of its slot
    score: float


def split_question(question: str) -> Iterator[tuple[str, str]]:
    """The ways to read a question as one about some of a set, the shortest set first.

    What the facts are asked for, "ships built by Kerrin Yard", and what documents say of some of
    the set: "does the handbook call unsafe".
    """
    asked = question.strip().rstrip(_ENDS)
    begin = _ASKED.match(asked)
    if begin is None:
        return
    rest = asked[begin.end() :]
    for verb in _VERB.finditer(rest):
        head = rest[: verb.start()]
        if not _RELATIVE.search(head):
            yield head, rest[verb.end() :]


def answer_by_both(
    question: str, top_k: int, scope: Scope, store: MemoryStore, encoder: Encoder, ask_facts: Ask
) -> Answer | None:
    """The answer, within ``reading``, to a question for facts and documents; None for any other.

    It abstains where the facts give a set and no document says of any of it what is asked.
    """
    for asked, rest in split_question(question):
        by_facts = _set_of(asked, scope, store, ask_facts)
        if by_facts.names:
            found = _said_of(by_facts.names, rest, scope, store, encoder)
            return _answer(question, by_facts, found, top_k)
    return None


def _set_of(asked: str, scope: Scope, store: MemoryStore, ask_facts: Ask) -> _Set:
    """The set that a phrase means: the subjects of a source that it names, else what facts say."""
    within = _IN_SOURCE.search(asked)
    if within is not None:
        wanted = normalise(asked[within.end() :])
        for source in store.sources.all(scope.namespace):
            path = PurePath(source.id)
            if source.kind == "facts" and wanted in (normalise(path.name), normalise(path.stem)):
                return _Set(store.contents.fact_subjects(source.id, source.namespace, _MAX_NAMES))
    answer = ask_facts(f"Which {asked}?")
    names = [one.text for one in answer.candidates[:_MAX_NAMES]] if answer.kind == "facts" else []
    return _Set(names, answer.evidence, answer.hops, answer.model)


def _said_of(
    names: Sequence[str], rest: str, scope: Scope, store: MemoryStore, encoder: Encoder
) -> list[_Found]:
    """For each name the sentence that says most of what is asked, best first, if one says it."""
    documents = replace(scope, kinds=frozenset(("document",)))
    symbols = {normalise(form): name for name in names for form in (name, without_brackets(name))}
    slots = _passages(list(symbols), documents, store)
    spoken = list(_sentences(symbols, slots))[:_MAX_SENTENCES]
    if not spoken:
        return []
    titles = relation_stems(" ".join(f"{found.slot.title} {found.slot.source}" for found in spoken))
    asked = relation_stems(" ".join(query_terms(rest))) - _SAYING
    said = asked - titles or asked
    texts = [found.slot.text[found.start : found.end] for found in spoken]
    claim = " ".join(word for word in query_terms(rest) if not relation_stems(word) & _SAYING)
    vectors = encoder.encode([claim, *_without_names(texts, symbols.values())])
    best: dict[str, _Found] = {}
    for found, text, cosine in zip(spoken, texts, (vectors[1:] @ vectors[0]).tolist(), strict=True):
        covered = len(said & relation_stems(text)) / len(said) if said else 0.0
        if max(covered - _MIN_COVERED, cosine - _MIN_SIMILAR) < 0:
            continue
        if _denied(text, said) != negated(rest):
            continue
        score = (covered + max(0.0, cosine)) / 2
        if found.name not in best or score > best[found.name].score:
            best[found.name] = found._replace(score=score)
    return sorted(best.values(), key=lambda found: -found.score)


def _denied(text: str, said: frozenset[str]) -> bool:
    """Whether the parts of a sentence that say what is asked are negated."""
    parts = [part for part in _PART.split(text) if said & relation_stems(part)]
    return all(map(negated, parts or [text]))


def _without_names(texts: Sequence[str], names: Iterable[str]) -> list[str]:
    """Texts without some names, so that what they say of them is compared."""
    longest_first = sorted(set(names), key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
    return [" ".join(pattern.sub(" ", text).split()) or text for text in texts]


def _passages(names: Sequence[str], scope: Scope, store: MemoryStore) -> dict[int, Slot]:
    """The passages that are about some names or mention them."""
    about = store.search_symbolic(names, _MAX_SLOTS, scope)
    mentioning = store.search_mentions(names, _MAX_SLOTS, scope)
    found = [slots for by_name in (about, mentioning) for slots in by_name.values()]
    ids = list(dict.fromkeys(slot for slots in found for slot in slots))
    return {slot.id: slot for slot in store.fetch_existing(ids) if slot.kind == "passage"}


def _sentences(symbols: Mapping[str, str], slots: Mapping[int, Slot]) -> Iterator[_Found]:
    """The sentences that name one of some names, and all of a passage whose title is one."""
    for slot in slots.values():
        title = symbols.get(normalise(without_brackets(slot.title)))
        for start, end in sentences(slot.text):
            text = f" {normalise(slot.text[start:end])} "
            named = {name for symbol, name in symbols.items() if f" {symbol} " in text}
            for name in named or ({title} if title else ()):
                yield _Found(name, slot, start, end, 0.0)


def _answer(question: str, by_facts: _Set, found: Sequence[_Found], top_k: int) -> Answer:
    weights = softmax(np.array([one.score for one in found], np.float32) / np.float32(_TEMPERATURE))
    number = len(by_facts.hops) + 1
    spoken = tuple(
        evidence_of(
            one.slot, one.score, number,
            Candidate(text=one.name, score=one.score, evidence=one.slot.id,
                      start=one.slot.start + one.start, end=one.slot.start + one.end),
        )
        for one in found
    )  # fmt: skip
    hop = Hop(
        hop=number,
        weights=tuple(
            SlotWeight(id=one.slot.id, source=one.slot.source, weight=float(weight),
                       title=one.slot.title, via=normalise(one.name))
            for one, weight in zip(found, weights.tolist(), strict=True)
        ),
    )  # fmt: skip
    first: dict[int, Evidence] = {}
    for one in (*spoken, *by_facts.evidence):
        first.setdefault(one.id, one)
    confidence = found[0].score if found else 0.0
    return Answer(
        question=question,
        kind="facts" if found else "none",
        answer=found[0].name if found else None,
        confidence=None,
        abstained=not found,
        candidates=tuple(Candidate(text=one.name, score=one.score) for one in found),
        evidence=tuple(first.values())[:top_k],
        hops=(*by_facts.hops, hop),
        experts=(
            ExpertWeight(name="documents", weight=0.5, confidence=min(1.0, confidence)),
            ExpertWeight(name="facts", weight=0.5, confidence=1.0),
        ),
        model=by_facts.model,
        elapsed_ms=0.0,
    )
