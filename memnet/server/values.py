"""Bodies of requests and responses that are not values of the library."""

from typing import Any

from fastapi.responses import Response
from pydantic import BaseModel, Field, model_validator

from memnet.text.follow_ups import Asked
from memnet.types import Cell, Evidence, IngestReport, Source, Statement, Value


class Request(Value):
    """Base of the bodies of requests."""

    @model_validator(mode="before")
    @classmethod
    def _keep_first_unknown(cls, given: object) -> object:
        """Drop all unknown fields but the first, the only one that is reported."""
        if not isinstance(given, dict) or len(given) <= len(cls.model_fields):
            return given
        known = {name: value for name, value in given.items() if name in cls.model_fields}
        first = next(name for name in given if name not in known)
        return {**known, first: given[first]}


class _Options(Request):
    namespace: str | None = None
    hops: int | None = None
    top_k: int | None = None
    as_of: str | None = None
    where: dict[str, Any] | None = None


class AskRequest(_Options):
    """Body of ``POST /ask``; all fields but ``after`` are arguments of ``Engine.ask``."""

    question: str
    after: Asked | None = None
    """The question and short answer before it, which a follow-up may mean: "And Ann?"."""


class SearchRequest(_Options):
    """Body of ``POST /search``; the fields are the arguments of ``Engine.search``."""

    query: str


class Found(Value):
    """What a search found."""

    evidence: tuple[Evidence, ...]  # best first
    elapsed_ms: float


class PutRequest(Request):
    """Body of ``PUT /sources/{id}``: a document without its id."""

    text: str
    title: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)
    namespace: str = ""


class TellRequest(Request):
    """Body of ``POST /tell``; the fields are the arguments of ``Engine.tell``."""

    text: str
    at: str | None = None
    namespace: str = ""


class UndoRequest(Request):
    """Body of ``POST /undo``."""

    namespace: str = ""


class SourcePage(Value):
    """Some of the sources, in the order in which they were added."""

    sources: tuple[Source, ...]
    # What ``after`` takes for the page that follows; None after the last one.
    next: int | None
    total: int  # sources on all pages


class SourceText(Value):
    """A source with its text, or a part of it."""

    source: Source
    # The characters [start:end] of the source's text, counted in Unicode code points.
    text: str
    start: int
    end: int
    length: int  # characters of the whole text
    # Of this part, each with its offset in the whole text. Those within a passage are not known.
    headings: tuple[tuple[int, str], ...] = ()
    # Where its passages stand: "p. 8", "2024-03-01 Ann"; each with its offset in the whole text.
    places: tuple[tuple[int, str], ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()  # of sheets and tables that are passages of their own


class Forgotten(Value):
    """What ``DELETE /sources/{id}`` did."""

    forgotten: int  # slots that were removed


class UploadedFile(Value):
    """The result of one file of an upload."""

    name: str
    report: IngestReport | None = None
    error: str | None = None  # why it was not stored; None if it was


class UploadReport(Value):
    """The results of an upload."""

    reports: tuple[UploadedFile, ...]


class History(Value):
    """Statements in the order in which they began to hold."""

    statements: tuple[Statement, ...]


class FactNode(Value):
    """Something that facts are about."""

    id: str
    label: str  # as a fact writes it


class FactEdge(Value):
    """A fact: it leads from the node of its subject to that of its object."""

    source: str
    target: str
    relation: str
    slot: int


class FactGraph(Value):
    """The facts around an entity."""

    nodes: tuple[FactNode, ...]  # the nearest first
    edges: tuple[FactEdge, ...]


class PdfPage(Value):
    """A page of a PDF file and the part of the source's text that stands on it."""

    page: int  # counted from 1
    width: float  # points: 1/72 inch
    height: float
    start: int
    end: int


class PdfPages(Value):
    """The pages of a PDF file."""

    pages: tuple[PdfPage, ...]


class Health(Value):
    """That the server answers."""

    status: str = "ok"


def json_response(value: BaseModel) -> Response:
    """A value as JSON, as the command line prints it."""
    return Response(value.model_dump_json(), media_type="application/json")
