"""What the tools return, as clients and their models read it."""

from typing import Any

from pydantic import BaseModel

from memnet.text.citations import source_url
from memnet.types import AnswerKind, Cell, Change, Copy, Evidence, Shown, Source, SourceKind


class Passage(BaseModel):
    """A passage or fact that supports an answer; text == source text[start:end]."""

    id: str  # of its source, as "fetch" takes it
    title: str
    url: str
    text: str
    place: str | None
    start: int
    end: int
    score: float
    copies: list[Copy]  # other sources that say the same

    @classmethod
    def of(cls, item: Evidence) -> "Passage":
        """A piece of evidence as tools return it."""
        return cls(
            id=item.source,
            url=source_url(item.source, item.metadata),
            copies=list(item.copies),
            **item.model_dump(include={"title", "text", "place", "start", "end", "score"}),
        )


class Quotation(BaseModel):
    """A verbatim piece of the answer, text == source text[start:end]."""

    id: str
    start: int
    end: int
    text: str
    rows: list[list[Cell]]  # of the table that it is a piece of, without the row of headers


class AskResult(BaseModel):
    """An answer; null where the memory does not hold it."""

    answer: str | None
    short: str | None  # the shortest span that answers
    kind: AnswerKind
    abstained: bool
    shown: Shown  # "answer", or "passage" for sentences that may answer, or "nothing"
    contradiction: bool  # the quotations contradict each other and nothing decides between them
    confidence: float | None  # calibrated probability that it is right; null if not calibrated
    values: list[str]  # all values, if facts answer
    quotations: list[Quotation]
    evidence: list[Passage]


class SearchHit(BaseModel):
    """A source, with its best passage."""

    id: str
    title: str
    url: str
    text: str
    place: str | None

    @classmethod
    def of(cls, item: Evidence) -> "SearchHit":
        """A piece of evidence as a hit."""
        return cls(
            id=item.source,
            title=item.title or item.source,
            url=source_url(item.source, item.metadata),
            text=item.text,
            place=item.place,
        )


class SearchResult(BaseModel):
    """Sources, best first."""

    results: list[SearchHit]


class FetchResult(BaseModel):
    """A source; text is its text[start:end], of ``length`` characters in all."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, Any]
    start: int
    end: int
    length: int


class RememberedSentence(BaseModel):
    """What was done with one sentence; ``other`` is what it was merged with, or ended."""

    action: str
    text: str
    id: str | None
    other: str | None
    reason: str


class RememberResult(BaseModel):
    """What was done with a text, sentence by sentence."""

    decisions: list[RememberedSentence]


class HistoryItem(BaseModel):
    """A statement and when it held, in ISO 8601; until is null while it holds."""

    id: str
    text: str
    since: str
    until: str | None
    change: Change | None
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

    @classmethod
    def of(cls, source: Source) -> "ListedSource":
        """A source as it is listed."""
        return cls(
            url=source_url(source.id, source.metadata),
            **source.model_dump(include={"id", "title", "kind", "namespace", "slots"}),
        )


class ListResult(BaseModel):
    """Sources in the order in which they were added; next is what ``after`` takes."""

    sources: list[ListedSource]
    next: str | None
