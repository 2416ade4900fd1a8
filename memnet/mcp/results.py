"""What the tools return, as clients and their models read it."""

from typing import Any

from pydantic import BaseModel

from memnet.text.citations import source_url
from memnet.types import AnswerKind, Cell, Change, Copy, Evidence, Shown, Source


class Passage(BaseModel):
    """A passage or fact; text == source text[start:end]."""

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
            title=item.title or item.source,
            url=source_url(item.source, item.metadata),
            copies=list(item.copies),
            **item.model_dump(include={"text", "place", "start", "end", "score"}),
        )


class Quotation(BaseModel):
    """A verbatim piece of the answer, text == source text[start:end]."""

    id: str
    place: str | None
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


class SearchResult(BaseModel):
    """Sources, best first, each with its best passage."""

    results: list[Passage]


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


class ListedSource(Source):
    """A source, with its address."""

    url: str


class ListResult(BaseModel):
    """Sources in the order in which they were added; next is what ``after`` takes."""

    sources: list[ListedSource]
    next: str | None
