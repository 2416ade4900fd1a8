"""The values that go into memnet and come out of it, all immutable."""

from html import escape
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Value(BaseModel):
    """Base of all public values and settings: frozen, finite, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Document(Value):
    """A text to remember."""

    id: str = Field(min_length=1)
    """Source id: what evidence cites and what ``forget`` takes."""
    text: str
    title: str = ""
    metadata: dict[str, Any] = {}


class Message(Value):
    """A message of a conversation to remember; numbers are taken as their digits."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    id: str = Field(min_length=1)
    """Source id, as of a document: no other message of the namespace has it."""
    session: str = ""
    """Messages of one session follow each other."""
    speaker: str = Field(min_length=1)
    """"user" is who asks: "I" in a question means him."""
    time: str = ""
    """Kept as it is written; its day is known if it is written out: "2024-03-01T10:00:00+02:00"."""
    text: str


class Fact(Value):
    """A triple to remember."""

    subject: str = Field(min_length=1)
    relation: str = Field(min_length=1)
    object: str = Field(min_length=1)


SourceKind = Literal["document", "story", "facts", "statement"]


class Source(Value):
    """What was stored under one id: a document, a story, a table of facts or a statement."""

    id: str
    """What evidence cites, and what ``get`` and ``forget`` take."""
    kind: SourceKind
    title: str
    namespace: str
    slots: int
    """Slots made from it."""
    metadata: dict[str, Any] = {}
    origin: str | None = None
    """The file that it came from, as an absolute path."""


class Copy(Value):
    """Where another source says the same."""

    source: str
    start: int
    end: int
    place: str | None = None
    """As ``Evidence.place``."""


class Evidence(Value):
    """A slot that supports an answer; ``text`` is exactly ``source_text[start:end]``."""

    id: int
    kind: Literal["passage", "fact"]
    source: str
    title: str
    start: int
    end: int
    text: str
    score: float
    """The controller's score: it ranks evidence of one question and is not a probability."""
    hop: int
    """The first hop, counted from 1, that ranked this slot as evidence."""
    metadata: dict[str, Any] = {}
    """Of its document."""
    place: str | None = None
    """Where in its source a reader finds it: "p. 8", "Settings > Hotkeys"; None if unknown."""
    copies: tuple[Copy, ...] = ()
    """Further places where other sources say the same, none of which is evidence of its own."""


class SlotWeight(Value):
    """How much one hop attended to one slot, and the parts of its score."""

    id: int
    source: str
    weight: float
    """Attention weight, 0..1; the weights of one hop sum to at most 1."""
    title: str = ""
    dense: float = 0.0
    """Part of the score that came from vector similarity."""
    lexical: float = 0.0
    """Part of the score that came from shared words (BM25)."""
    symbolic: float = 0.0
    """Part of the score that came from a name in the query state."""
    learned: float = 0.0
    """Part of the score that training added."""
    via: str | None = None
    """The name by which the hop found this slot, if any."""
    via_source: str | None = None
    """The source whose text mentions that name; None where the question itself names it."""


class Hop(Value):
    """One read of the memory."""

    hop: int
    query: str = ""
    """What it looked for, where that is known: the question, a part of it, or a name."""
    weights: tuple[SlotWeight, ...]


class Candidate(Value):
    """A possible answer."""

    text: str
    score: float
    evidence: int | None = None
    """Id of the slot that it was read in, if any."""
    start: int | None = None
    """Offsets in the source of that slot: ``text`` is ``source_text[start:end]``."""
    end: int | None = None


class Alignment(Value):
    """The attention under which one word of an answer was generated."""

    word: str
    weights: tuple[SlotWeight, ...]
    """Best first."""


class Word(Value):
    """A word in a source."""

    start: int
    end: int
    weight: float
    """Its share in what speaks for its unit, 0..1."""


class Cell(Value):
    """A cell of a table; ``text`` is ``source_text[start:end]``."""

    header: str
    """Of its column; empty without one."""
    text: str
    start: int
    end: int
    answers: bool = False
    """Whether it is the short answer, or holds it."""


class Quote(Value):
    """A piece of a source that is shown as the answer; ``text`` is ``source_text[start:end]``."""

    evidence: int
    """Id of the slot that it stands in."""
    source: str
    start: int
    end: int
    text: str
    weight: float
    """How much the last hop, which reads inside the passages, attended to it, 0..1."""
    words: tuple[Word, ...] = ()
    """Those of its words that speak most for it, in the order of the text."""
    rows: tuple[tuple[Cell, ...], ...] = ()
    """Where it is a piece of a table: its rows, without that of headers."""


class ExpertWeight(Value):
    """An expert that answered a question, and how much it counted."""

    name: str
    """"documents", "facts", "statements" or "stories"."""
    weight: float
    """Of the gate, 0..1; the weights of one question sum to at most 1."""
    confidence: float
    """In its answer, 0..1: the answer with the largest product of both wins. 0 where it has none;
    calibrated for documents only."""


AnswerKind = Literal[
    "value", "definition", "statement", "list", "steps", "table", "code", "yes", "no", "facts",
    "story", "none",
]  # fmt: skip


Shown = Literal["answer", "passage", "nothing"]
_CITED = 3  # Pieces of evidence that a notebook shows of an answer that quotes none


class Answer(Value):
    """The answer to a question, with its evidence."""

    question: str
    kind: AnswerKind = "none"
    """"value": a span of a passage; "table": a cell of a table; "statement": a whole sentence;
    "facts": the values of facts, all of them in ``candidates``; "story": generated word by word;
    "none": no answer."""
    answer: str | None
    """What a person reads: at most 300 characters, lists 600, made of the texts of ``quotes``,
    after what was computed from them; None when the memory does not hold the answer, but for a
    greeting, to which it says what can be asked about. A list with marks and steps are whole, up
    to 1,500 characters."""
    short: str | None = None
    """The shortest span that answers, "yes" or "no"; None where only a quotation does. Of what was
    told or said in a conversation, "yesterday" and the like are the day: "7 May 2023". Of a list of
    tasks, all that are asked for, or their number."""
    quotes: tuple[Quote, ...] = ()
    """The pieces that ``answer`` is made of, one a line."""
    units: tuple[Quote, ...] = ()
    """What the last hop attended to inside the passages, best first: sentences, items of lists,
    rows and lines."""
    confidence: float | None
    """A calibrated probability that the best candidate is right; None where nothing calibrated it,
    as for stories."""
    abstained: bool
    shown: Shown = "answer"
    """How it may be shown. "answer": as one, with its short form marked and a verdict. "passage":
    the sentences alone, which may hold what is asked; there is no short form and no verdict.
    "nothing": the memory does not hold the answer (``abstained``)."""
    contradiction: bool = False
    """Whether the quotes contradict each other and nothing decides between them: the answer asks
    which of them is right."""
    candidates: tuple[Candidate, ...]
    """Best first. Of the kind "facts" the whole set of values."""
    evidence: tuple[Evidence, ...]
    """Best first."""
    carrying: tuple[int, ...] = ()
    """Ids of the evidence that matters: what is quoted, and what a hop attended to at least half as
    much as to what it attended to most; of no answer, what has anything to do with the question.
    ``Engine.ask`` sets it."""
    hops: tuple[Hop, ...]
    alignments: tuple[Alignment, ...] = ()
    """For each word of an answer of the kind "story"."""
    unknown_words: tuple[str, ...] = ()
    """Words of the question that are not in a trained model's vocabulary, so that it abstains."""
    unseen_relations: tuple[str, ...] = ()
    """Relations on the way to the answer that were not in the training data of the model."""
    experts: tuple[ExpertWeight, ...] = ()
    """Which experts answered, the winner first; none where one model was asked for."""
    notes: tuple[str, ...] = ()
    """What the user should know about the models of the store, such as that one is out of date."""
    model: str
    elapsed_ms: float

    def __repr__(self) -> str:
        """Short, for an interactive session: ``model_dump`` has the rest."""
        return (
            f"Answer(question={self.question!r}, answer={self.answer!r}, "
            f"confidence={self.confidence and round(self.confidence, 2)}, shown={self.shown!r}, "
            f"{len(self.evidence)} evidence)"
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """The answer for a notebook, its value bold where it is one, with its quotes."""
        if self.answer is None:
            return f"<p>{escape(self.question)}</p><p>The memory does not hold the answer.</p>"
        text, value = escape(self.answer), escape(self.short or "")
        if self.shown == "answer" and value:
            before, found, after = text.partition(value)
            text = f"{before}<b>{value}</b>{after}" if found else f"<b>{value}</b>: {text}"
        quoted = [(one.text, one.source) for one in self.quotes]
        cited = quoted or [(one.text, one.source) for one in self.evidence[:_CITED]]
        items = "".join(
            f"<li><q>{escape(quote)}</q> ({escape(source)})</li>" for quote, source in cited
        )
        return f"<p>{escape(self.question)}</p><p>{text}</p><ul>{items}</ul>"

    @model_validator(mode="before")
    @classmethod
    def _shows_nothing_where_abstained(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {**values, "shown": "nothing"} if values.get("abstained") else values


class IngestReport(Value):
    """What an ingest did, in documents (a fact file is one document)."""

    added: int
    updated: int
    unchanged: int
    removed: int
    skipped: int
    """Files, lines or documents that could not be used; each was reported with its reason."""
    evicted: int = 0
    """Messages for which there was no room any longer (``Config.messages``)."""
    skipped_by_reason: dict[str, int] = {}
    """How many of them are "images", "empty", "of unknown kind" and so on, most first; "errors" are
    those where something is wrong."""
    kinds: dict[str, int] = {}
    """Files that were read, or compared and found unchanged, by what people call their format:
    "PDF files", "Markdown"."""
    slots: int
    """Slots in the store afterwards."""
    seconds: float


class WatchReport(IngestReport):
    """What ``watch`` did after changes in a folder, or when it first read its folders."""

    paths: tuple[str, ...] = ()
    """What was changed, made or removed, as absolute paths; none of the first reading."""


Action = Literal["add", "merge", "supersede", "correct", "end", "contradict", "erase", "evict"]
"""What ``tell`` did: "end" where nothing takes the place of a statement, which stays as history;
"erase" where it was to be forgotten, and "evict" where there was no room: it is gone for good."""
Change = Literal["supersede", "correct", "end", "contradict"]
"""How a statement was changed by a later one: it held until then; it never held; it held until then
and nothing took its place; both are said to hold, and can't."""
Certainty = Literal["is", "was", "planned", "maybe"]
"""How a statement is meant: of now, of the past, of the future, or as a guess."""


class Decision(Value):
    """What ``tell`` did with one sentence, or to one statement because of it."""

    action: Action
    text: str
    """The sentence."""
    slot: int | None
    """The slot that holds it now; None where it is not kept."""
    source: str | None
    """The source id of that slot, as ``forget`` takes it."""
    other: int | None
    """The slot that was merged with, superseded, corrected, ended, contradicted, erased or evicted;
    of an entry about an earlier time, the one that it ends at."""
    other_text: str | None
    weight: float | None
    """Attention weight, 0..1, of that slot; None where attention did not choose it."""
    reason: str
    """One sentence."""


class TellReport(Value):
    """What ``tell`` did with a text."""

    decisions: tuple[Decision, ...]
    """In the order of the sentences; several where one sentence affects several statements."""
    slots: int
    """Slots in the store afterwards."""
    elapsed_ms: float


class StatementChange(Value):
    """What another statement did to one that was told before."""

    changed_by: int | None
    """The slot of the other statement; None if there is none, or it is gone."""
    text: str | None
    """Of the other statement."""
    change: Change
    reason: str
    """Why, in one sentence."""


class Eviction(Value):
    """A message or statement for which there was no room any longer."""

    source: str
    """The source id that it had."""
    namespace: str
    kind: Literal["message", "statement"]
    evicted: float
    """When, in seconds since the epoch."""


class Statement(Value):
    """A sentence of ``tell``, taken apart, with when it was told and how long it held."""

    id: int
    source: str
    text: str
    valid_from: float
    """When it began to hold, in seconds since the epoch."""
    valid_until: float | None
    """When it ceased to hold, in seconds since the epoch; None while it does. What a correction
    replaced never held: it ends as it begins."""
    subject: str = ""
    """As written, with pronouns resolved; empty where none was found."""
    aliases: tuple[str, ...] = ()
    """Other names of the subject."""
    relation: str = ""
    """Words of the relation, without negation: "moved to"."""
    values: tuple[str, ...] = ()
    polarity: bool = True
    """False where it is denied."""
    certainty: Certainty = "is"
    told: float = 0.0
    """When the memory learned it, in seconds since the epoch."""
    changed_by: int | None = None
    """The slot of the statement that changed it; None if none did, or it is gone."""
    changed_by_text: str | None = None
    change: Change | None = None
    """How it was changed: what ended it, else the last change of a part of it or contradiction."""
    reason: str | None = None
    """Why, in one sentence."""
    changes: tuple[StatementChange, ...] = ()
    """All that changed it, in the order in which it was told: those that ended a part of it or
    contradict it, too. ``change`` is one of them."""
    standing: bool = False
    """Whether it is never evicted."""
    speaker: str | None = None
    """Who said it of himself in a message, which is its source; None for what was told."""
    start: int = 0
    end: int = 0
    """Its place in its source: ``text`` is ``source_text[start:end]``."""


class UndoReport(Value):
    """What ``undo`` took back: all that one ``tell`` did."""

    removed: tuple[Statement, ...]
    """What it had added, as it was until now."""
    restored: tuple[Statement, ...]
    """What it had changed or merged with, as it is again."""
    slots: int
    """Slots in the store afterwards."""
    elapsed_ms: float


class StoreModel(Value):
    """A model that was trained on a store and belongs to it."""

    name: str
    """"facts" or "text"."""
    used: bool
    """Whether questions are answered with it; False where it does not fit the store."""
    note: str | None
    """What is wrong or out of date, and what to do; None if nothing is."""


class StoreInfo(Value):
    """What a store holds."""

    path: str
    slots: int
    vectors: int
    """Of distinct texts."""
    vectors_full: int
    """Those of them that are full; the others are quick ones, which full ones are to replace."""
    superseded: int
    """Those of the slots that are valid no longer and kept as history."""
    sources: int
    documents: int
    facts: int
    symbols: int
    encoder: str
    dimension: int
    schema_version: int
    generation: int
    index: str
    index_kind: str
    """Of FAISS: "flat", where every vector is compared exactly, or "pq"; of a server: "exact", or
    "hnsw"."""
    index_recall: float
    """Share of the ten nearest vectors that it finds, as measured when it was built."""
    device: str
    """Where encoder, reader and story model run and vectors are compared: "cpu", or "cuda:0"."""
    bytes: int
    models: tuple[StoreModel, ...] = ()
    """Those that belong to the store."""


class VerifyReport(Value):
    """What a check of a store found."""

    problems: tuple[str, ...]
    """One line each; empty when everything agrees."""
    repaired: bool
    """Whether a repair was asked for and left no problem behind."""
    notes: tuple[str, ...] = ()
    """What does no harm and can be repaired, one line each."""


class ReliabilityBin(Value):
    """Answers of similar confidence."""

    size: int
    """Answers in it."""
    confidence: float
    """Mean, 0..1."""
    right: float
    """Share whose best candidate is right, 0..1."""


class Evaluation(Value):
    """Scores over a file of questions; None where the questions can't support a score."""

    n: int
    recall_at_1: float | None = Field(serialization_alias="recall@1")
    recall_at_2: float | None = Field(serialization_alias="recall@2")
    recall_at_5: float | None = Field(serialization_alias="recall@5")
    recall_at_10: float | None = Field(serialization_alias="recall@10")
    hits_at_1: float | None = Field(serialization_alias="hits@1")
    em: float | None
    f1: float | None
    set_f1: float | None = None
    """Mean F1 of the set of all candidates, where facts gave the answers."""
    answerable_auroc: float | None
    """Probability that confidence is higher for a question with an answer than for one without."""
    ece: float | None
    """Expected calibration error of the confidence in best candidates, 0..1, over 10 bins."""
    reliability: tuple[ReliabilityBin, ...] = ()
    latency_ms: dict[str, float]
    """p50 and p95 over the questions, in milliseconds."""
