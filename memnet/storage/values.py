"""What goes into a store and comes out of it, and what a search covers, as plain values."""

import math
import re
import reprlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from memnet.errors import InputError
from memnet.types import Certainty, Change, SourceKind

# Texts -> their vectors [N, D] float32, of length one.
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


Nearest = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Rows [K] int64 and their inner products [K] float32, best first."""


class Searcher(Protocol):
    """A way to search N vectors of width D."""

    def nearest(
        self, query: NDArray[np.float32], limit: int, allowed: NDArray[np.bool_] | None
    ) -> Nearest:
        """The ``limit`` vectors nearest to a query [D] among ``allowed`` [N] bool; None: all."""
        ...


ToDevice = Callable[[NDArray[np.float32]], Searcher | None]
"""Copies vectors [N, D] float32 to a device; gives None where it has no room for them."""


class VectorData(bytes):
    """A vector as it is stored: D float16, little-endian. A server has a type of its own for it."""


class PassageVectors(NamedTuple):
    """What an encoder made of the key texts of passages."""

    vectors: NDArray[np.float32]  # [N, D] float32, of length one
    quick: bool = False  # whether full vectors are to replace them
    units: Sequence[bytes] = ()  # [N] keys of the units of each as they are stored; () for none


EncodePassages = Callable[[Sequence[str]], PassageVectors]
SlotKind = Literal["passage", "fact", "reverse"]


@dataclass(frozen=True, slots=True)
class Structure:
    """What a statement says, taken apart; its subject is the title of its slot."""

    aliases: tuple[str, ...] = ()  # other names of the subject, as written
    relation: str = ""  # words of the relation, as written and without negation: "moved to"
    # As written. Relation and values in their order are all that it says of its subject.
    values: tuple[str, ...] = ()
    polarity: bool = True  # false where it is denied, or said to hold no longer
    certainty: Certainty = "is"
    told: float | None = None  # seconds since the epoch; None for the time from which it is valid
    standing: bool = False  # whether it is never evicted
    # Who said it of himself, in the message that it is a slot of; None for what was told.
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class NewSlot:
    """A slot to store. Two slots of one source with the same content are the same slot."""

    kind: SlotKind
    title: str
    text: str  # ``source text[start:end]``, exactly
    start: int
    end: int
    key_text: str  # what the key vector encodes; slots with the same key text share one vector
    key_symbols: tuple[str, ...] = ()  # normalised names of what the slot is about
    # Normalised names that the slot mentions, or, for a fact, leads to.
    value_symbols: tuple[str, ...] = ()
    # Words of the relation of a fact or statement; that of a statement has a vector as well.
    relation: str = ""
    value: str = ""  # the object of a fact as written; empty for a passage
    # Where parts of the text stand in the source, as people find them: each the offset in ``text``
    # from which it holds, in rising order, and "p. 8" or "Settings > Hotkeys".
    places: tuple[tuple[int, str], ...] = ()
    # For a statement when it began to hold, in seconds since the epoch; None: always valid.
    valid_from: float | None = None
    valid_until: float | None = None  # for a statement when it ceased to hold, if it did
    structure: Structure = Structure()  # of a statement


class SourceFilter(NamedTuple):
    """Which sources are listed; by default all."""

    namespace: str | None = None
    kind: SourceKind | None = None
    name: str | None = None
    query: str = ""  # what its title or id holds; large letters from A to Z are as small ones
    days: tuple[str, str] | None = None  # first and last one, ISO 8601, of a date in its metadata
    word: str = ""  # in small letters; what its title, id or metadata holds


EVERY_SOURCE = SourceFilter()


@dataclass(frozen=True, slots=True)
class NewSource:
    """A document, a file of facts or a statement, with the slots made from it."""

    name: str
    digest: bytes  # of everything the slots were made from: an equal digest means nothing to do
    slots: Sequence[NewSlot]
    namespace: str = ""
    kind: SourceKind = "document"
    origin: str = ""  # the file this came from, absolute; empty when it came from no file
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    # Parts of the text that are in no slot, each with its offset, in rising order.
    headings: Sequence[tuple[int, str]] = ()
    # For a message when it is written, in seconds since the epoch, which uses its slots as a read
    # does; 0 for documents and facts, whose usage is not kept.
    used: float = 0.0


@dataclass(frozen=True, slots=True)
class Slot:
    """A stored slot."""

    id: int
    kind: SlotKind
    source: str
    namespace: str
    title: str
    text: str
    start: int
    end: int
    relation: str
    value: str
    # Seconds since the epoch; None for what is not a statement: it is valid as long as its source.
    valid_from: float | None = None
    valid_until: float | None = None  # seconds since the epoch; None while it is valid
    places: tuple[tuple[int, str], ...] = ()  # as ``NewSlot.places``
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)  # of its source
    told: float | None = None  # of a statement: seconds since the epoch at which it was told
    # Whether it is counted how much reads attend to it, as of statements and messages.
    has_usage: bool = False


class ChangeBy(NamedTuple):
    """What another statement did to one that still holds, or a part of which does."""

    changed_by: int  # its slot
    change: Change
    reason: str  # Why, in one sentence


# What a sentence asks for: to be remembered, to end what it denies, or to erase what it says.
Act = Literal["tell", "end", "forget"]


@dataclass(frozen=True, slots=True)
class Told:
    """A statement with everything that is stored of it; or a new one, which has no id yet."""

    text: str
    subject: str  # as written, with pronouns resolved; empty where none was found
    aliases: tuple[str, ...]  # other names of the subject, as written
    relation: str  # words of the relation, without negation: "moved to"
    values: tuple[str, ...]
    polarity: bool  # false where it is denied, or said to hold no longer
    certainty: Certainty
    told: float  # seconds since the epoch at which it was told
    valid_from: float  # seconds since the epoch at which it began to hold
    # Seconds since the epoch at which it ceased to hold; None while it holds. One that never held,
    # as was told later, ends as it begins.
    valid_until: float | None
    relation_vector: NDArray[np.float32] = field(compare=False, repr=False)  # [D] float32
    id: int = 0  # of its slot
    source: str = ""
    namespace: str = ""
    # The slot that ended it, or else the last that changed a part of it or contradicts it; None
    # where none did, none was added, or it is gone.
    changed_by: int | None = None
    change: Change | None = None  # how it was changed by that
    reason: str | None = None  # Why, in one sentence
    # What changed a part of it or contradicts it, in the order of telling.
    changes: tuple[ChangeBy, ...] = ()
    standing: bool = False  # whether it is never evicted
    # Who said it of himself in a message, which is its source; None for what was told.
    speaker: str | None = None
    start: int = 0
    end: int = 0  # its place in its source
    act: Act = "tell"  # of a new one what it asks for; what is stored was told

    def has_ended(self, moment: float) -> bool:
        """Whether it holds no longer at a time, in seconds since the epoch."""
        return self.valid_until is not None and self.valid_until <= moment


class Hits(NamedTuple):
    """The result of a search, padded to a fixed width."""

    ids: NDArray[np.int64]  # [K] int64; 0 where ``mask`` is False
    scores: NDArray[np.float32]  # [K] float32, best first; 0 where ``mask`` is False
    mask: NDArray[np.bool_]  # [K] bool; True where there is a hit

    @classmethod
    def padded(
        cls,
        ids: Sequence[int] | NDArray[np.int64],
        scores: Sequence[float] | NDArray[np.float32],
        width: int,
    ) -> "Hits":
        """At most ``width`` ids and scores, best first, padded to this width."""
        mask = np.arange(width) < len(ids)
        hits = cls(np.zeros(width, np.int64), np.zeros(width, np.float32), mask)
        hits.ids[mask], hits.scores[mask] = ids, scores
        return hits


class IndexInfo(NamedTuple):
    """What an index is made of."""

    kind: Literal["flat", "pq", "hnsw", "exact"]
    description: str  # Kind, size and quality, for people
    recall: float  # Recall@10, measured when it was built; 1 where all vectors are compared
    rerank: int  # least number of candidates that are reranked; 0 but for "pq"


class Within(NamedTuple):
    """Slots among which to search, as each kind of vector index takes them."""

    # Gives their ids [N] int64, rising; others than passages may be among them.
    ids: Callable[[], NDArray[np.int64]]
    condition: str  # on a row of ``slot``, as SQL: "AND ..."
    parameters: Sequence[Any]  # of the condition


class Keys(NamedTuple):
    """Key vectors of some slots."""

    # [K] int64: those of the slots asked for that are stored, in the order asked.
    ids: NDArray[np.int64]
    vectors: NDArray[np.float32]  # [K, D] float32
    is_fact: NDArray[np.bool_]  # [K] bool: True for facts, forward and reverse
    relations: tuple[str, ...]  # [K] words of a fact's relation; empty for a passage


UNIT_WIDTH = 128  # R, width of the key of a unit


class UnitKeys(NamedTuple):
    """Keys of the units of those of some slots that have any."""

    ids: NDArray[np.int64]  # [K] int64: the slots
    starts: NDArray[np.int64]  # [K] int64: the first row of each
    rows: NDArray[np.float32]  # [M, R] float32, of length one: all units, slot by slot

    @staticmethod
    def packed(keys: NDArray[np.float32]) -> bytes:
        """Keys [U, R] as they are stored: int8, each as large as it can be; its length is lost."""
        largest = np.abs(keys).max(axis=1, keepdims=True, initial=1e-9)
        packed: bytes = np.round(keys * (127 / largest)).astype(np.int8).tobytes()
        return packed


class Symbols(NamedTuple):
    """Normalised names, each once, in alphabetical order."""

    keys: list[str]  # of what a slot is about
    values: list[str]  # those that it mentions, or, for a fact, leads to


class Usage(NamedTuple):
    """How much a slot of a statement or message is used."""

    id: int
    # Attention that writes and reads gave it, as of the time ``used``; it has decayed since.
    usage: float
    used: float  # seconds since the epoch
    # When it ceases to hold, in seconds since the epoch; infinite where that is not known.
    until: float

    def decayed(self, at: float, half_life: float) -> float:
        """The usage at a later time, if it halves every ``half_life`` seconds."""
        return self.usage * math.pow(0.5, max(0.0, at - self.used) / half_life)


class NewVector(NamedTuple):
    """A vector to store."""

    digest: bytes  # of the text that it encodes
    data: NDArray[np.float32]  # [D] float32
    text: str | None = None  # the text where the vector is a quick one, to encode it in full later
    units: bytes = b""  # keys of its units as they are stored; empty for none


class VectorUse(NamedTuple):
    """What a stored vector is of."""

    id: int
    digest: bytes  # of the text that it encodes
    text: str | None  # that text where the vector is a quick one
    slot: int | None  # the first slot whose key it is, if any
    relation: str | None  # words of a relation of statements whose vector it is, if any


class VectorCounts(NamedTuple):
    """How many vectors of texts a store has."""

    vectors: int
    full: int  # those that are not quick ones, which full ones are to replace


class PutCounts(NamedTuple):
    """What a ``put`` did, in sources."""

    added: int
    updated: int
    unchanged: int


class Revision(NamedTuple):
    """A commit that changed what is stored."""

    generation: int  # how many there were, this one included
    commit_id: int  # a random number: two stores, or two histories of one, never share it
    last_slot: int  # the highest id that a slot ever had


class Changes(NamedTuple):
    """How the slots that vector search covers changed."""

    added: NDArray[np.int64]  # ids [A] int64
    removed: NDArray[np.int64]  # ids [R] int64; some may have come and gone in between


class StoreCounts(NamedTuple):
    """How much a store holds."""

    slots: int
    documents: int
    facts: int
    symbols: int
    generation: int
    superseded: int  # statements that ended; ``slots`` counts them too
    sources: int


class SourceState(NamedTuple):
    """What a store knows of a source without reading its slots."""

    digest: bytes
    origin: str


_MAX_CONDITIONS = 100
_MAX_DEPTH = 10
_MAX_VALUES = 10_000
_LEARNED = (
    "EXISTS (SELECT 1 FROM statement "
    "WHERE statement.slot = slot.id AND statement.speaker IS NOT NULL)"
)
_TOLD = f" AND (slot.valid_from IS NULL OR NOT {_LEARNED})"
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PERIOD = re.compile(r"[0-9]{4}(?:-[0-9]{2}){0,2}")  # A year, a month or a day
MetadataCondition = Callable[[str, Any], tuple[str, list[Any]]]
DAY_OF_TIME = "substr({0}, 11, 1) IN ('T', ' ') AND substr({0}, 14, 1) = ':' AND substr({0}, 1, 10)"
"""SQL for the day of a text such as "2024-03-01T10:00:00Z"; to be compared."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A namespace, conditions on the metadata of sources, their kinds, and a time.

    Empty, it covers all sources, and of the statements those that hold now.

    A condition is a key of the metadata (dots lead into nested objects) and one of

    - a value: ``{"author": "Ann"}``; true, numbers, strings and null never equal one another,
    - a list of values, any of which matches: ``{"author": ["Ann", "Bo"]}``,
    - a range with one or both of its ends, which belong to it: ``{"year": {"from": 1990,
      "to": 2000}}``. Numbers compare with numbers. Strings compare with strings by code points,
      which orders ISO dates: ``{"date": {"from": "1990-01-01", "to": "2000-12-31"}}``.

    A day covers all of its times, as they are written: "2024-03-01" those such as
    "2024-03-01T10:00:00Z", as a value and as the end of a range; a month or a year does as the end
    of a range.
    Metadata that is a list matches if one of its elements does. A source without the key matches
    no condition on it; all conditions must hold.
    """

    namespace: str | None = None  # none for all
    where: Mapping[str, Any] | None = field(default=None, hash=False)  # none or nothing for all
    kinds: frozenset[SourceKind] | None = None  # of sources; None for all
    # Statements that held then, in seconds since the epoch; None for those that hold now. One that
    # is to begin later holds already: a plan is known from when it was told.
    as_of: float | None = None
    # Whether statements that messages made are covered too, whatever the kinds. Else the messages
    # themselves are found, which say the same.
    learned: bool = False
    # Whether statements are covered whenever they held, those that were corrected too.
    past: bool = False

    def __post_init__(self) -> None:
        """Check the conditions; an InputError for one of no form that ``Scope`` documents."""
        where = self.where or {}
        if not isinstance(where, Mapping):
            raise InputError(
                f"where is of type {type(where).__name__}; expected a mapping of metadata keys "
                "to values"
            )
        if len(where) > _MAX_CONDITIONS:
            raise InputError(
                f"where has {len(where):,} conditions, the limit is {_MAX_CONDITIONS}; ask for less"
            )
        for key, wanted in where.items():
            if not (_is_text(key) and all(key.split(".")) and key.count(".") < _MAX_DEPTH):
                raise InputError(
                    f"where has the key {reprlib.repr(key)}; expected a name, or up to "
                    f"{_MAX_DEPTH} names joined by dots"
                )
            if not _is_condition(wanted):
                raise InputError(
                    f"where[{reprlib.repr(key)}] is {reprlib.repr(wanted)}; expected a string, "
                    "number, true, false or null, a list of them, or a range like "
                    '{"from": 1990, "to": 2000}'
                )

    @property
    def covers_all_sources(self) -> bool:
        """Whether no source is left out."""
        return self.namespace is None and not self.where and self.kinds is None

    def moment(self) -> float:
        """The time whose statements are covered, in seconds since the epoch."""
        return time.time() if self.as_of is None else self.as_of

    def validity(self) -> tuple[str, list[Any]]:
        """Which statements are covered, as a condition on a row of ``slot``, and parameters."""
        told = "" if self.learned else _TOLD
        if self.past:
            return told, []
        if self.as_of is None:
            return (
                f"{told} AND (slot.valid_until IS NULL OR "
                "(slot.valid_until > ? AND slot.valid_until > slot.valid_from))",
                [self.moment()],
            )
        return (
            f"{told} AND (slot.valid_from IS NULL OR (slot.valid_from <= ? "
            "AND (slot.valid_until IS NULL OR slot.valid_until > ?)))",
            [self.as_of, self.as_of],
        )

    def sql(self, metadata: MetadataCondition) -> tuple[str, list[Any]]:
        """Conditions on a row of ``source``, " AND ..." or none, and parameters."""
        statement, parameters = "", list[Any]()
        if self.namespace is not None:
            statement += " AND source.namespace = ?"
            parameters.append(self.namespace)
        if self.kinds is not None:
            stored = sorted(self.kinds)
            of_kinds = f"source.kind IN ({', '.join('?' * len(stored))})"
            statement += f" AND ({of_kinds} OR {_LEARNED})" if self.learned else f" AND {of_kinds}"
            parameters += stored
        for key, wanted in (self.where or {}).items():
            condition, values = metadata(key, _to_its_end(wanted))
            statement += f" AND {condition}"
            parameters += values
        return statement, parameters


EVERYWHERE = Scope()


def days_among(values: Sequence[Any]) -> list[str]:
    """The values that are days in ISO form."""
    return [value for value in values if isinstance(value, str) and _DAY.fullmatch(value)]


def _to_its_end(wanted: Any) -> Any:
    """A condition, in which a range to a day, month or year ends after the last of its times."""
    end = wanted.get("to") if isinstance(wanted, Mapping) else None
    if isinstance(end, str) and _PERIOD.fullmatch(end):
        return {**wanted, "to": f"{end}~"}
    return wanted


def _is_text(value: Any) -> bool:
    """Whether a value is a string that has an encoding: no half of a surrogate pair is in it."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _is_number(value: Any) -> bool:
    # The bounds are finite: they leave out NaN, infinity and integers that no float comes near.
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300


def _is_value(value: Any) -> bool:
    return value is None or isinstance(value, bool) or _is_number(value) or _is_text(value)


def _is_condition(wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        ends = [value for value in wanted.values() if value is not None]
        same_kind = all(map(_is_number, ends)) or all(map(_is_text, ends))
        return bool(ends) and set(wanted) <= {"from", "to"} and same_kind
    if isinstance(wanted, list | tuple):
        return len(wanted) <= _MAX_VALUES and all(map(_is_value, wanted))
    return _is_value(wanted)
