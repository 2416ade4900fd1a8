"""What the tools of a memory return, as clients and their models read it."""

from typing import Any

from pydantic import BaseModel

from memnet.text.citations import source_url
from memnet.types import AnswerKind, Change, Evidence, SourceKind


class Passage(BaseModel):
    """A passage or fact that supports an answer; text is exactly source text[start:end]."""

    id: str
    """Of its source, as ``fetch`` takes it."""
    title: str
    url: str
    text: str
    place: str | None
    start: int
    end: int
    score: float


class Quotation(BaseModel):
    """A verbatim piece of the answer, text == source text[start:end]."""

    id: str
    """Of its source."""
    start: int
    end: int
    text: str


class AskResult(BaseModel):
    """An answer; null where the memory does not hold it."""

    answer: str | None
    short: str | None
    """The shortest span that answers, if there is one."""
    kind: AnswerKind
    abstained: bool
    contradiction: bool
    """Whether the quotations contradict each other and nothing decides between them."""
    confidence: float | None
    """Calibrated probability that the answer is right; null where nothing calibrated it."""
    values: list[str]
    """All values, where facts answer."""
    quotations: list[Quotation]
    evidence: list[Passage]


class SearchHit(BaseModel):
    """A source, with its best passage."""

    id: str
    title: str
    url: str
    text: str
    place: str | None


class SearchResult(BaseModel):
    """Sources, best first."""

    results: list[SearchHit]


class FetchResult(BaseModel):
    """A source; text is its text[start:end], which has ``length`` characters in all."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]
    start: int
    end: int
    length: int


class RememberedSentence(BaseModel):
    """What was done with one sentence."""

    action: str
    text: str
    id: str | None
    """Of the source that it is kept as, as ``forget`` takes it."""
    other: str | None
    """The statement that it was merged with, or that it ended."""
    reason: str


class RememberResult(BaseModel):
    """What was done with a text, sentence by sentence."""

    decisions: list[RememberedSentence]


class HistoryItem(BaseModel):
    """A statement with when it held, in ISO 8601; until is null while it holds."""

    id: str
    text: str
    since: str
    until: str | None
    change: Change | None
    """How a later statement changed it."""
    changed_by: str | None
    reason: str | None


class HistoryResult(BaseModel):
    """Statements in the order in which they began to hold."""

    statements: list[HistoryItem]
    total: int


class ForgetResult(BaseModel):
    """How many sources, and slots of theirs, were removed."""

    sources: int
    slots: int


class ListedSource(BaseModel):
    """A source."""

    id: str
    title: str
    kind: SourceKind
    url: str
    namespace: str
    slots: int


class ListResult(BaseModel):
    """Sources in the order in which they came; next is null when these are the last."""

    sources: list[ListedSource]
    next: str | None
    """Id to give as ``after`` for more."""


def passage(item: Evidence) -> Passage:
    """A piece of evidence as tools return it."""
    return Passage(
        id=item.source,
        title=item.title,
        url=source_url(item.source, item.metadata),
        text=item.text,
        place=item.place,
        start=item.start,
        end=item.end,
        score=item.score,
    )
