"""The eight tools, and what they return.

They are ask, search, fetch, remember, history, forget, list_sources and status.
"""

import threading
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import unquote

from mcp.server import MCPServer
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from memnet.errors import InputError
from memnet.text.checks import FIRST_ERROR
from memnet.text.citations import SOURCE_SCHEME, answer_text, source_url
from memnet.text.dates import local_time
from memnet.types import (
    AnswerKind,
    Cell,
    Change,
    Copy,
    Document,
    Evidence,
    Shown,
    Source,
    SourceKind,
    StoreInfo,
    TellReport,
)

if TYPE_CHECKING:
    from memnet.engine import Engine


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


WRITING = frozenset({"remember", "forget"})
# Other names that models use for an argument, by its name in a tool.
_QUESTIONS = ("question", "query", "q", "text", "prompt", "input")
_IDS = ("ids", "source", "source_id", "source_ids", "sources", "document_id", "doc_id")
_TEXTS = ("content", "fact", "memory", "statement", "note", "observation", "sentence", "message")
ALIASES: dict[str, tuple[str, ...]] = {
    "question": _QUESTIONS,
    "query": _QUESTIONS,
    "limit": ("top_k", "k", "n", "max_results", "count"),
    "as_of": ("at", "date"),
    "where": ("filter", "filters"),
    "id": (*_IDS, "uri", "url", "name"),
    "start": ("offset",),
    "length": ("limit", "max_length"),
    "text": (*_TEXTS, "data"),
    "at": ("time", "date", "when", "timestamp"),
    "subject": ("name", "entity", "about", "query", "topic", "person"),
    "kind": ("type",),
    "prefix": ("path", "folder"),
    "after": ("cursor", "next"),
}
# Max. characters of a source in one result: a quarter of what the largest models read.
_MAX_FETCHED = 50_000
_MOST_PASSAGES = 1_000  # That are searched through for sources

_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_Text = Annotated[str, Field(coerce_numbers_to_str=True)]
_Where = Annotated[
    dict[str, Any] | None,
    Field(
        description="Conditions on the metadata of documents: "
        '{"author": "Ann", "year": {"from": 1990}}.'
    ),
]


class ServedMemory:
    """A memory that is opened when it is first needed; may be shared between threads.

    ``namespace`` is where to read and write; None reads all and writes into the default one.
    """

    def __init__(self, open_engine: "Callable[[], Engine]", namespace: str | None = None) -> None:
        self.namespace = namespace
        self._open = open_engine
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def engine(self) -> "Engine":
        """The memory itself. If it could not be opened, the next call tries again."""
        with self._lock:
            if self._engine is None:
                self._engine = self._open()
            return self._engine

    def close(self) -> None:
        """Close it, if it is open."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
                self._engine = None


def find_source(memory: ServedMemory, name: str) -> Document:
    """A source with its text, by its id or address.

    Without a namespace to keep to, the default one comes before the others.

    Raises:
        InputError: none is stored under that id.
    """
    document = memory.engine().get(name, _namespace_of(memory, name))
    if document is None:
        raise InputError(f"no source {name!r} is stored; 'list_sources' and 'search' give the ids")
    return document


def _namespace_of(memory: ServedMemory, name: str) -> str:
    if memory.namespace is not None:
        return memory.namespace
    found = memory.engine().store.sources.namespaces([name]).get(name, [""])
    return "" if "" in found else found[0]


def _plain_id(given: str) -> str:
    """The id of a source given by its id or its address."""
    address = given.startswith(SOURCE_SCHEME)
    return unquote(given.removeprefix(SOURCE_SCHEME)) if address else given


def add_tools(server: MCPServer[Any], memory: ServedMemory, read_only: bool) -> None:
    """Register the tools of a memory; without those that write if it is read-only."""

    @server.tool(title="Ask the memory", annotations=_READS)
    def ask(
        question: Annotated[_Text, Field(description="A question in plain language.")],
        limit: Annotated[
            int | None, Field(ge=1, le=100, description="Pieces of evidence to return.")
        ] = None,
        as_of: Annotated[
            str | None,
            Field(description="Use the statements that held then: 2026-01-12, 2024, yesterday."),
        ] = None,
        where: _Where = None,
    ) -> Annotated[CallToolResult, AskResult]:
        """Answer a question from the memory, with verbatim quotations and their sources.

        Says so when the memory does not hold the answer.
        """
        answer = memory.engine().ask(
            question, top_k=limit, namespace=memory.namespace, where=where, as_of=as_of
        )
        places = {item.id: item.place for item in answer.evidence}
        result = AskResult(
            **answer.model_dump(
                include={"answer", "short", "kind", "abstained", "shown", "confidence"}
            ),
            contradiction=answer.contradiction,
            values=[one.text for one in answer.candidates] if answer.kind == "facts" else [],
            quotations=[
                Quotation(
                    id=one.source,
                    place=places.get(one.evidence),
                    **one.model_dump(include={"start", "end", "text", "rows"}),
                )
                for one in answer.quotes
            ],
            evidence=[Passage.of(item) for item in answer.evidence],
        )
        return _result(result, answer_text(answer).text)

    @server.tool(title="Search the memory", annotations=_READS)
    def search(
        query: Annotated[_Text, Field(description="A question, or any words.")],
        limit: Annotated[int, Field(ge=1, le=100, description="Sources to return.")] = 10,
        where: _Where = None,
    ) -> Annotated[CallToolResult, SearchResult]:
        """Find the sources that match a question or any words, each with its best passage.

        'fetch' reads one whole.
        """
        hits: dict[str, Passage] = {}
        passages = limit
        while True:
            found = memory.engine().search(query, passages, namespace=memory.namespace, where=where)
            for item in found:
                hits.setdefault(item.source, Passage.of(item))
            if len(hits) >= limit or len(found) < passages or passages >= _MOST_PASSAGES:
                return _result(SearchResult(results=list(hits.values())[:limit]))
            passages = min(4 * passages, _MOST_PASSAGES)  # many of them are of one source

    @server.tool(title="Read a source", annotations=_READS)
    def fetch(
        id: Annotated[_Text, Field(description="Id of a source, or its memnet:// address.")],  # noqa: A002
        start: Annotated[int, Field(ge=0, description="Offset of the first character.")] = 0,
        length: Annotated[
            int, Field(ge=1, le=_MAX_FETCHED, description="Most characters to return.")
        ] = _MAX_FETCHED,
    ) -> Annotated[CallToolResult, FetchResult]:
        """The text of a source by the id that 'search', 'ask' or 'list_sources' gave."""
        document = find_source(memory, _plain_id(id))
        text = document.text[start : start + length]
        result = FetchResult(
            id=document.id,
            title=document.title or document.id,
            text=text,
            url=source_url(document.id, document.metadata),
            metadata=document.metadata,
            start=start,
            end=start + len(text),
            length=len(document.text),
        )
        return _result(result)

    @server.tool(title="History of statements", annotations=_READS)
    def history(
        subject: Annotated[
            _Text | None, Field(description="Name that the statements are about; all without one.")
        ] = None,
        limit: Annotated[int, Field(ge=1, le=1000, description="Latest ones to return.")] = 50,
    ) -> Annotated[CallToolResult, HistoryResult]:
        """What was said about someone or something, when it held, and what changed it."""
        found = memory.engine().history(subject, namespace=memory.namespace)
        shown = [
            HistoryItem(
                id=one.source,
                text=one.text,
                since=_iso(one.valid_from),
                until=None if one.valid_until is None else _iso(one.valid_until),
                change=one.change,
                changed_by=one.changed_by_text,
                reason=one.reason,
            )
            for one in found[-limit:]
        ]
        lines = [f"{one.since} - {one.until or 'now'}: {one.text}" for one in shown]
        result = HistoryResult(statements=shown, total=len(found))
        return _result(result, "\n".join(lines) or "No statement about it is stored.")

    @server.tool(title="List sources", annotations=_READS)
    def list_sources(
        kind: Annotated[SourceKind | None, Field(description="Only those of this kind.")] = None,
        prefix: Annotated[_Text, Field(description="Only ids that begin with this.")] = "",
        after: Annotated[_Text | None, Field(description="Continue after this id.")] = None,
        limit: Annotated[int, Field(ge=1, le=1000, description="Sources to return.")] = 100,
    ) -> Annotated[CallToolResult, ListResult]:
        """What is stored: ids, titles and kinds, in the order in which they were added."""
        sources = memory.engine().sources(memory.namespace)
        # "all" stops behind the source that it looks for.
        if after is not None and all(one.id != after for one in sources):
            raise InputError(f"no source {after!r} is stored to continue after; omit 'after'")
        wanted = (one for one in sources if kind in (None, one.kind) and one.id.startswith(prefix))
        page = list(islice(wanted, limit + 1))
        shown = [
            ListedSource(url=source_url(one.id, one.metadata), **one.model_dump())
            for one in page[:limit]
        ]
        lines = [f"{one.id} ({one.kind}): {one.title}".rstrip(": ") for one in shown]
        result = ListResult(sources=shown, next=shown[-1].id if len(page) > limit else None)
        return _result(result, "\n".join(lines) or "Nothing is stored.")

    @server.tool(title="Status of the memory", annotations=_READS)
    def status() -> Annotated[CallToolResult, StoreInfo]:
        """How much the memory holds, and where."""
        info = memory.engine().info()
        return _result(
            info,
            f"{info.sources} sources ({info.documents} documents, {info.facts} facts), "
            f"{info.slots} slots in {info.path}",
        )

    if not read_only:
        _add_writing(server, memory)


def _add_writing(server: MCPServer[Any], memory: ServedMemory) -> None:
    writes = _READS.model_copy(update={"read_only_hint": False, "destructive_hint": True})

    @server.tool(title="Remember statements", annotations=writes)
    def remember(
        text: Annotated[
            _Text,
            Field(
                description="Plain sentences, one per fact, with names instead of pronouns: "
                "'Ann moved to Rome.'"
            ),
        ],
        at: Annotated[
            str | None, Field(description="When it was said, if not now: ISO 8601.")
        ] = None,
    ) -> Annotated[CallToolResult, TellReport]:
        """Keep plain sentences, each compared with earlier ones.

        The same statement is kept once; one that is out of date ends and stays as history.
        'Forget that ...' deletes a statement.
        """
        report = memory.engine().tell(text, at=at, namespace=memory.namespace or "")
        lines = [f'{one.action} "{one.text}": {one.reason}' for one in report.decisions]
        return _result(report, "\n".join(lines))

    forgets = writes.model_copy(update={"idempotent_hint": False})

    @server.tool(title="Forget sources", annotations=forgets)
    def forget(
        id: Annotated[  # noqa: A002
            _Text | Annotated[list[str], FIRST_ERROR],
            Field(description="Id of the source to remove, or several."),
        ],
    ) -> Annotated[CallToolResult, ForgetResult]:
        """Remove documents, facts or statements by their ids, for good."""
        names = [_plain_id(one) for one in ([id] if isinstance(id, str) else id)]
        if not names:
            raise InputError("forget: no id is given; 'list_sources' and 'search' give the ids")
        spaces = {_namespace_of(memory, name) for name in names}
        if len(spaces) > 1:
            raise InputError("forget: the sources are in several namespaces; forget one at a time")
        slots = memory.engine().forget(*names, namespace=spaces.pop())
        text = f"Forgot {len(names)} source{'s' * (len(names) != 1)} with {slots} slots."
        return _result(ForgetResult(sources=len(names), slots=slots), text)


def _result(value: BaseModel, text: str | None = None) -> CallToolResult:
    """A structured result with a text that says the same; without one the structure as JSON."""
    return CallToolResult(
        content=[TextContent(type="text", text=value.model_dump_json() if text is None else text)],
        structured_content=value.model_dump(mode="json"),
    )


def _iso(seconds: float) -> str:
    return local_time(seconds).isoformat(timespec="seconds")
