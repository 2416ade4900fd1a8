"""The settings of an ``Engine``, each with its reason."""

import os
from typing import Literal

from pydantic import Field

from memnet.types import Value


class WindowConfig(Value):
    """How a document is cut into slots."""

    characters: int = Field(default=1000, ge=100)
    """Longest window. 1,000 characters of English are about 220 tokens, just under the 256 the
    encoder was trained on; 94 % of encyclopaedia paragraphs fit whole."""
    min_characters: int = Field(default=300, ge=0)
    """A section below it shares a window with what follows. A sentence or two under a heading say
    too little by themselves: recall@5 of 200 questions about three manuals is 74.7 % without
    joining, 75.6 % with it, in a seventh fewer slots; 600 does no better."""


class IndexConfig(Value):
    """Kind of the vector index, and how far a search in it looks.

    Measured in docs/decisions/012-index-kinds.md.
    """

    kind: Literal["auto", "flat", "pq"] = "auto"
    """Of the next file: flat compares every vector exactly; pq compares four-bit codes of all
    (product quantisation) and reranks the best exactly; auto chooses by size."""
    max_flat: int = Field(default=75_000, ge=0)
    """Vectors up to which auto is flat: 5 ms on one core, more than the codes of a million take."""
    min_pq: int = Field(default=64, ge=16)
    """Fewer vectors are flat in any case: a codebook has 16 entries to learn."""
    training_size: int = Field(default=50_000, ge=64)
    """Vectors that the codebook is learned from, in about 2 s."""
    rerank: int = Field(default=200, ge=1)
    """Least number of candidates that pq reranks: of a million passages 200 hold 99.9 % of the ten
    nearest, 50 hold 96.7 %."""
    rerank_per_hit: int = Field(default=4, ge=1)
    """Candidates that pq reranks for each hit wanted, if that is more."""
    target_recall: float = Field(default=0.99, ge=0, le=1)
    """``rerank`` is doubled when a file is built until recall@10 is so high."""
    max_rerank: int = Field(default=3200, ge=1)
    """But not beyond this, or reading the vectors would take longer than comparing the codes."""
    recall_queries: int = Field(default=200, ge=1)
    """Queries that measure it: with 2,000 neighbours 98 % is known within 0.6."""
    max_flat_on_device: int = Field(default=4_000_000, ge=0)
    """Vectors up to which auto compares every one on a GPU, whatever the file: 6 GB, which its
    memory reads in 2 to 20 ms."""
    max_gather: int = Field(default=5_000, ge=0)
    """A search restricted to so few vectors compares just these, in about 5 ms: where vectors are
    read from the rows by their codes, and the best of them in full."""


class StoreConfig(Value):
    """What the store caches, and when it saves its vector index."""

    unsaved_share: float = Field(default=1 / 16, gt=0)
    """Changes that the index file may lack, as a share of its vectors, before it is written again.
    A changed slot then costs writing 16 at most, and opening a store reading a sixteenth of its
    vectors from the rows."""
    max_postings: int = Field(default=5_000, ge=0)
    """A word in more slots is left to the database's text search, which caches nothing. Questions
    skip such words where they have others."""
    cached_postings: int = Field(default=1_000_000, ge=0)
    """Postings, 16 bytes each, that are cached until the next commit, least recently used words
    dropped first. That is all words of 17,691 passages."""
    index: IndexConfig = IndexConfig()


class LimitConfig(Value):
    """Sizes above which input is refused, so that none can exhaust memory or take hours."""

    document: int = Field(default=25_000_000, ge=1)
    """Bytes of a file or of a line of JSON. A document is in memory while its windows are made,
    and parsed JSON takes up to 24 times its size: 600 MB."""
    file: int = Field(default=512 << 20, ge=1)
    """Bytes of a file that may hold more than text, such as pictures, and of what it unpacks to. It
    is in memory while it is read."""
    load_memory: int = Field(default=2 << 30, ge=256 << 20)
    """Bytes of address space of the process that reads such files: four times the largest one.
    Enforced on Linux; elsewhere only time is limited."""
    load_seconds: float = Field(default=60.0, gt=0)
    """Of processor time from one document of a file to the next; twice as long is waited. A PDF of
    5,000 pages takes about 20 s, a parser that a hostile file keeps busy hours."""
    title: int = Field(default=1000, ge=1)
    """Characters. A title stands in the key of every window of its document."""
    name: int = Field(default=4096, ge=1)
    """Characters of a source id or a namespace: as long as the longest path."""
    metadata: int = Field(default=100_000, ge=1)
    """Characters of a document's metadata as JSON."""
    fact: int = Field(default=10_000, ge=1)
    """Characters of a subject, a relation or an object."""
    question: int = Field(default=2_000, ge=1)
    """Characters: about 300 words. The cost of a question grows with its length times the number
    of names in it."""
    tell: int = Field(default=100_000, ge=1)
    """Characters of a text for ``tell``: it is one transaction, for which other writers wait."""
    hops: int = Field(default=100, ge=1)
    """Reads that a question may ask for. Each keeps a record of what it attended to."""
    evidence: int = Field(default=10_000, ge=1)
    """Pieces of evidence that a question may ask for."""


class IngestConfig(Value):
    """Batch sizes of an ingest."""

    batch_characters: int = Field(default=500_000, ge=1)
    """Max. text encoded and committed together: about 15 s of work on 2 cores, which a kill may
    lose, and enough for the encoder to batch windows of equal length."""
    batch_sources: int = Field(default=2000, ge=1)
    """Max. documents and facts of a batch: each costs memory besides its text."""
    min_quick: int = Field(default=200, ge=1)
    """New passages of one ingest from which on they get quick vectors, where the encoder has any,
    and full ones later: that many take the network 2 s on two cores."""
    commit_vectors: int = Field(default=256, ge=1)
    """Full vectors committed together: 2 s of work on two cores, which a kill may lose."""
    quick_batches: int = Field(default=4, ge=1)
    """Factor up to which batches grow where passages are encoded quickly: 3 s of work. A commit
    writes each page that it changes, and in a large store few rows of a batch share one."""


class HopConfig(Value):
    """The untrained controller: weights of the parts of a score.

    Chosen on 700 training questions of three multi-hop sets over a corpus of their own 5,995
    passages, never on the questions that results are reported on; those of messages on chats
    (docs/decisions/024-conversations.md, docs/decisions/030-messages-in-context.md).
    """

    hops: int = Field(default=2, ge=1, le=10)
    """Reads of the memory. A third hop changed Recall@5 by less than 0.3 points."""
    evidence: int = Field(default=10, ge=1, le=1000)
    """Slots returned as evidence."""
    candidates: int = Field(default=100, ge=1, le=100_000)
    """Slots that dense and lexical search each propose at a hop."""
    rescored: int = Field(default=4, ge=0)
    """Passages of the last hop that are encoded again where the stored vectors are quick ones: the
    nearest to the cutoff. Each takes 7 to 9 ms of processor time."""
    dense_weight: float = 1.0
    """Weight of the cosine of query and key, the unit of all others."""
    lexical_weight: float = 0.2
    """Weight of BM25 over the best BM25 of the question. More drowns linked passages, which share
    few words with the question."""
    question_symbol_weight: float = 0.2
    """Weight of a key symbol that the question names."""
    read_symbol_weight: float = 0.5
    """Weight of a key symbol that an attended slot mentions, times that slot's attention relative
    to the best: the usual cosine gap between the first passage of a chain and the second."""
    temperature: float = Field(default=0.15, gt=0)
    """Temperature of the softmax over scores: about ten slots share the attention."""
    attended: int = Field(default=10, ge=1)
    """Slots whose mentions the next hop follows."""
    speaker_weight: float = 0.25
    """Weight of a message's speaker, when the question asks about that person."""
    day_weight: float = 0.2
    """Weight of a message of the day that the question names; half of it on the days beside."""
    exchange_weight: float = 0.1
    """Weight of the better of the two messages beside one, by cosine and BM25."""
    session_weight: float = 0.2
    """Weight of the best message of the same session and day less the best of all."""
    reply_weight: float = 0.1
    """Weight of the message before one, where it ends with a question mark."""
    length_weight: float = 0.02
    """Weight of the logarithm of a message's length over 300 characters, if it is shorter: 30
    characters count 0.046 less."""
    relation_weight: float = 0.8
    """Weight of the cosine of a fact's relation words and the question without its names."""
    relation_words_weight: float = 0.2
    """Weight of the share of the relation's words that are in the question, added to that cosine.
    On 1,500 training questions about films 89.4 % of the best relations are right, 87.0 without."""
    question_fact_weight: float = 0.6
    """Weight of the subject of a fact, when the question names it."""
    read_fact_weight: float = 0.5
    """Weight of the subject of a fact that an attended slot gives: of two facts with one relation
    the one that the question is about comes first."""


class AnswerConfig(Value):
    """When to answer, and with what."""

    passages: int = Field(default=5, ge=1)
    """Passages that are read for an answer, less those that hops hardly attended to."""
    tokens: int = Field(default=384, ge=64, le=512)
    """Max. tokens that the reader takes at once, as in its training."""
    rules: bool = True
    """Whether rules of English may propose sub-questions, comparisons and denials; what was learned
    competes with them by probability, and answers alone where they are off."""
    threshold: float = Field(default=0.25, ge=0, le=1)
    """Min. confidence of what is shown at all. At the default 30 of 100 tempting questions that
    five collections, from which nothing was learned, don't answer are shown something, 10 an
    answer."""
    answer_threshold: float | None = Field(default=None, ge=0, le=1)
    """Min. confidence of what is shown as an answer, below which the sentences alone are; None for
    the one from which four of five answers were right where it was calibrated, of tables 0.5."""
    shared_words_weight: float = 0.5
    """Weight of the share of the question's words, names left out, that are in a sentence."""
    news_weight: float = 0.5
    """Weight of a number, where one is asked for, or else of a name that is not in the question."""
    later_hop_weight: float = 0.2
    """Weight of a passage that only a later hop found: more helps questions that need two passages
    and harms those that need one."""
    support_floor: float = 0.35
    """Cosine of question and best evidence below which nothing is shown where no confidence was
    calibrated. Questions about something else rarely reach it; nor do some about one line of a long
    note."""


class TellConfig(Value):
    """How ``tell`` compares statements, and how many it keeps.

    The floor was chosen on 68 pairs of statements "X is ...", where likeness has to decide, and
    tried on others (docs/decisions/006-writing.md).
    """

    same_relation_floor: float = 0.68
    """Cosine of two relations above which they are the same: to be ill and to be well. Lower, and
    "is kind" ends "is clever"; a change that is missed only leaves both statements standing."""
    same_verb_weight: float = 0.5
    """Added to that cosine where a rule says that two verbs speak of the same, as "lives in" and
    "moved to" do. Their cosines start at about 0.4, so the rule decides."""
    temperature: float = Field(default=0.05, gt=0)
    """Of the softmax. It changes no decision, only the weights that are reported: 0.1 above the
    floor is then about nine tenths of the attention."""
    clock_skew: float = Field(default=3600.0, ge=0)
    """Seconds by which the latest time in the store may lie ahead of the clock and still be taken
    as now. Clocks that are set by network differ by less than a second, one that missed the end of
    summer time by an hour; what is further ahead comes from a wrong clock."""
    capacity: int | None = Field(default=None, ge=1)
    """Maximum number of statements, superseded and standing ones included; None for no limit."""
    usage_half_life: float = Field(default=30 * 86_400.0, gt=0)
    """Seconds in which the usage of a statement halves: a month."""


class MessageConfig(Value):
    """How many messages of conversations are kept, and whether statements are made of them."""

    learn: bool = False
    """Whether what speakers plainly say of themselves becomes statements: "I live in Porto". For
    chats in which somebody tells about himself: what is said in passing, in a chat about something
    else, would answer questions about that. May be given with each ``ingest`` and ``remember``."""
    capacity: int | None = Field(default=None, ge=1)
    """Maximum number of slots of messages; None for no limit. Most messages are one slot. Chats
    that are a document are not counted: they mirror their file. Beyond it whole messages are
    evicted, the least used first; their usage decays as that of statements."""


class StoryConfig(Value):
    """How stored passages are read as a story."""

    longest: int = Field(default=1000, ge=1)
    """Number of sentences, the last ones, that are read. Every sentence attends to all before it:
    1,000 take about a second on 2 cores."""


class FactConfig(Value):
    """How a trained model follows facts."""

    budget: int = Field(default=50_000, ge=1)
    """Maximum number of facts that a hop follows from one name, the best scored first: about 0.1 s.
    A question about a hub needs all of its facts only if they are the answer."""


class Config(Value):
    """Everything that can be set about an ``Engine``."""

    window: WindowConfig = WindowConfig()
    limit: LimitConfig = LimitConfig()
    ingest: IngestConfig = IngestConfig()
    store: StoreConfig = StoreConfig()
    hop: HopConfig = HopConfig()
    answer: AnswerConfig = AnswerConfig()
    tell: TellConfig = TellConfig()
    messages: MessageConfig = MessageConfig()
    story: StoryConfig = StoryConfig()
    facts: FactConfig = FactConfig()
    threads: int = Field(default=0, ge=0)
    """Processor cores to use; 0 means as many as this process may run on."""
    device: str = "auto"
    """Where encoder and reader run and vectors are compared: cpu, cuda, cuda:N, or auto for a GPU
    where torch sees one."""
    lock_seconds: float = Field(default=2.0, ge=0)
    """How long a writer waits for another one before it raises StoreBusyError."""

    def cores(self) -> int:
        """Processor cores to use."""
        return self.threads or available_cores()


def available_cores() -> int:
    """Processor cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):  # on Linux only
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
