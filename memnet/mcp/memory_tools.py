"""The tools of memnet: ask, search, fetch, remember, history, forget, list_sources, status."""

from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any

from pydantic import BaseModel

from memnet.errors import InputError
from memnet.mcp.memory import ServedMemory
from memnet.mcp.resources import find_source, source_id, source_namespace
from memnet.mcp.results import (
    AskResult,
    FetchResult,
    ForgetResult,
    HistoryItem,
    HistoryResult,
    ListedSource,
    ListResult,
    Quotation,
    RememberedSentence,
    RememberResult,
    SearchHit,
    SearchResult,
    passage,
)
from memnet.mcp.tools import Arguments, Tool, argument
from memnet.text.checks import FIRST_ERROR
from memnet.text.citations import SOURCE_SCHEME, answer_text, source_url
from memnet.types import Source, SourceKind, Statement, StoreInfo

_QUESTIONS = ("question", "query", "q", "text", "prompt", "input")
_LIMITS = ("limit", "top_k", "k", "n", "max_results", "count")
_MAX_FETCHED = 50_000
"""Characters of a source that are sent at once, a quarter of what the largest models read."""
_MAX_LISTED = 1000


class AskArguments(Arguments):
    """Of ``ask``."""

    question: str = argument("A question in plain language.", *_QUESTIONS)
    limit: int | None = argument(
        "Pieces of evidence to return.", *_LIMITS, default=None, ge=1, le=100
    )
    as_of: str | None = argument(
        "Of what was told, look at what held then: ISO 8601, such as 2026-01-12.",
        "as_of", "at", "date", default=None,
    )  # fmt: skip
    where: dict[str, Any] | None = argument(
        'Conditions on the metadata of documents: {"author": "Ann", "year": {"from": 1990}}.',
        "where", "filter", "filters", default=None,
    )  # fmt: skip


def _ask(memory: ServedMemory, given: AskArguments) -> tuple[BaseModel, str]:
    answer = memory.engine().ask(
        given.question,
        top_k=given.limit,
        namespace=memory.namespace,
        where=given.where,
        as_of=given.as_of,
    )
    result = AskResult(
        answer=answer.answer,
        short=answer.short,
        kind=answer.kind,
        abstained=answer.abstained,
        contradiction=answer.contradiction,
        confidence=answer.confidence,
        values=[one.text for one in answer.candidates] if answer.kind == "facts" else [],
        quotations=[
            Quotation(id=one.source, start=one.start, end=one.end, text=one.text)
            for one in answer.quotes
        ],
        evidence=[passage(item) for item in answer.evidence],
    )
    return result, answer_text(answer).text


class SearchArguments(Arguments):
    """Of ``search``."""

    query: str = argument("A question, or any words.", "query", "question", *_QUESTIONS[2:])
    limit: int = argument("Sources to return.", *_LIMITS, default=10, ge=1, le=100)
    where: dict[str, Any] | None = argument(
        'Conditions on the metadata of documents: {"author": "Ann", "year": {"from": 1990}}.',
        "where", "filter", "filters", default=None,
    )  # fmt: skip


def _search(memory: ServedMemory, given: SearchArguments) -> tuple[BaseModel, str]:
    found = memory.engine().search(
        given.query, given.limit, namespace=memory.namespace, where=given.where
    )
    hits: dict[str, SearchHit] = {}
    for item in found:
        hit = SearchHit(
            id=item.source,
            title=item.title or item.source,
            url=source_url(item.source, item.metadata),
            text=item.text,
            place=item.place,
        )
        hits.setdefault(item.source, hit)
    result = SearchResult(results=list(hits.values()))
    return result, result.model_dump_json()


class FetchArguments(Arguments):
    """Of ``fetch``."""

    id: str = argument(
        "Id of a source, or its memnet:// address.",
        "id", "source", "source_id", "document_id", "doc_id", "uri", "url", "name",
    )  # fmt: skip
    start: int = argument("Offset of the first character.", "start", "offset", default=0, ge=0)
    length: int = argument(
        "Most characters to return.", "length", "limit", "max_length",
        default=_MAX_FETCHED, ge=1, le=_MAX_FETCHED,
    )  # fmt: skip


def _fetch(memory: ServedMemory, given: FetchArguments) -> tuple[BaseModel, str]:
    document = find_source(memory, _plain_id(given.id))
    text = document.text[given.start : given.start + given.length]
    result = FetchResult(
        id=document.id,
        title=document.title or document.id,
        text=text,
        url=source_url(document.id, document.metadata),
        metadata=document.metadata,
        start=given.start,
        end=given.start + len(text),
        length=len(document.text),
    )
    return result, result.model_dump_json()


class RememberArguments(Arguments):
    """Of ``remember``."""

    text: str = argument(
        "Plain sentences, one for each thing, with names instead of pronouns: 'Ann moved to Rome.'",
        "text", "content", "fact", "memory", "statement", "note", "observation", "sentence",
        "message", "data",
    )  # fmt: skip
    at: str | None = argument(
        "When it was said, if not now: ISO 8601, such as 2026-01-12.",
        "at", "time", "date", "when", "timestamp", default=None,
    )  # fmt: skip


def _remember(memory: ServedMemory, given: RememberArguments) -> tuple[BaseModel, str]:
    report = memory.engine().tell(given.text, at=given.at, namespace=memory.namespace or "")
    decisions = [
        RememberedSentence(
            action=one.action,
            text=one.text,
            id=one.source,
            other=one.other_text,
            reason=one.reason,
        )
        for one in report.decisions
    ]
    lines = [f'{one.action} "{one.text}": {one.reason}' for one in decisions]
    return RememberResult(decisions=decisions), "\n".join(lines)


class HistoryArguments(Arguments):
    """Of ``history``."""

    subject: str | None = argument(
        "Name that the statements are about; without one all statements.",
        "subject", "name", "entity", "about", "query", "topic", "person", default=None,
    )  # fmt: skip
    limit: int = argument("Latest statements to return.", *_LIMITS, default=50, ge=1, le=1000)


def _history(memory: ServedMemory, given: HistoryArguments) -> tuple[BaseModel, str]:
    found = memory.engine().history(given.subject, namespace=memory.namespace)
    shown = [_history_item(one) for one in found[-given.limit :]]
    lines = [f"{one.since} - {one.until or 'now'}: {one.text}" for one in shown]
    result = HistoryResult(statements=shown, total=len(found))
    return result, "\n".join(lines) or "Nothing was told about it."


def _history_item(one: Statement) -> HistoryItem:
    return HistoryItem(
        id=one.source,
        text=one.text,
        since=_iso(one.valid_from),
        until=None if one.valid_until is None else _iso(one.valid_until),
        change=one.change,
        changed_by=one.changed_by_text,
        reason=one.reason,
    )


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


class ForgetArguments(Arguments):
    """Of ``forget``."""

    id: str | Annotated[list[str], FIRST_ERROR] = argument(
        "Id of the source to remove, or several.",
        "id", "ids", "source", "source_id", "source_ids", "sources", "uri", "url",
    )  # fmt: skip


def _forget(memory: ServedMemory, given: ForgetArguments) -> tuple[BaseModel, str]:
    ids = [given.id] if isinstance(given.id, str) else given.id
    if not ids:
        raise InputError("forget: no id is given; 'list_sources' and 'search' give the ids")
    names = [_plain_id(one) for one in ids]
    engine = memory.engine()
    spaces = {source_namespace(memory, name) for name in names}
    if len(spaces) > 1:
        raise InputError("forget: the sources are in several namespaces; forget one at a time")
    slots = engine.forget(*names, namespace=spaces.pop())
    plural = "s" * (len(names) != 1)
    text = f"Forgot {len(names)} source{plural} with {slots} slots."
    return ForgetResult(sources=len(names), slots=slots), text


class ListArguments(Arguments):
    """Of ``list_sources``."""

    kind: SourceKind | None = argument("Only those of this kind.", "kind", "type", default=None)
    prefix: str = argument(
        "Only those whose id begins with this.", "prefix", "path", "folder", default=""
    )
    after: str | None = argument(
        "Go on after the source of this id.", "after", "cursor", "next", default=None
    )
    limit: int = argument("Sources to return.", *_LIMITS, default=100, ge=1, le=_MAX_LISTED)


def _list_sources(memory: ServedMemory, given: ListArguments) -> tuple[BaseModel, str]:
    sources = memory.engine().sources(memory.namespace)
    # "all" stops behind the source that it looks for.
    if given.after is not None and all(one.id != given.after for one in sources):
        raise InputError(f"no source {given.after!r} is stored to go on after; leave 'after' out")
    wanted = (
        one for one in sources if given.kind in (None, one.kind) and one.id.startswith(given.prefix)
    )
    page = list(islice(wanted, given.limit + 1))
    more = len(page) > given.limit
    shown = [_listed(one) for one in page[: given.limit]]
    lines = [f"{one.id} ({one.kind}): {one.title}".rstrip(": ") for one in shown]
    result = ListResult(sources=shown, next=shown[-1].id if more else None)
    return result, "\n".join(lines) or "Nothing is stored."


def _listed(source: Source) -> ListedSource:
    return ListedSource(
        id=source.id,
        title=source.title,
        kind=source.kind,
        url=source_url(source.id, source.metadata),
        namespace=source.namespace,
        slots=source.slots,
    )


class StatusArguments(Arguments):
    """Of ``status``: none."""


def _status(memory: ServedMemory, _given: StatusArguments) -> tuple[BaseModel, str]:
    info = memory.engine().info()
    return info, (
        f"{info.sources} sources ({info.documents} documents, {info.facts} facts), "
        f"{info.slots} slots in {info.path}"
    )


def _plain_id(given: str) -> str:
    """The id of a source that is given by its id or its address."""
    return source_id(given) if given.startswith(SOURCE_SCHEME) else given


MEMORY_TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        name="ask",
        title="Ask the memory",
        description="Answer a question from the memory, with verbatim quotations and their "
        "sources. Says so when the memory does not hold the answer.",
        arguments=AskArguments,
        result=AskResult,
        run=_ask,
    ),
    Tool(
        name="search",
        title="Search the memory",
        description="Find the sources that fit a question or any words, each with its best "
        "passage; 'fetch' reads one whole.",
        arguments=SearchArguments,
        result=SearchResult,
        run=_search,
    ),
    Tool(
        name="fetch",
        title="Read a source",
        description="The text of a source by the id that 'search', 'ask' or 'list_sources' gave.",
        arguments=FetchArguments,
        result=FetchResult,
        run=_fetch,
    ),
    Tool(
        name="remember",
        title="Remember statements",
        description="Keep plain sentences. Each is compared with earlier ones: the same thing is "
        "kept once, and what it makes out of date ends, and stays as history. 'Forget that ...' "
        "deletes a statement.",
        arguments=RememberArguments,
        result=RememberResult,
        run=_remember,
        writes=True,
        destructive=True,
    ),
    Tool(
        name="history",
        title="History of what was told",
        description="What was told about someone or something, from when until when it held, and "
        "what changed it.",
        arguments=HistoryArguments,
        result=HistoryResult,
        run=_history,
    ),
    Tool(
        name="forget",
        title="Forget sources",
        description="Remove documents, facts or statements by their ids, for good.",
        arguments=ForgetArguments,
        result=ForgetResult,
        run=_forget,
        writes=True,
        destructive=True,
        idempotent=False,
    ),
    Tool(
        name="list_sources",
        title="List sources",
        description="What is stored: ids, titles and kinds, in the order in which it came.",
        arguments=ListArguments,
        result=ListResult,
        run=_list_sources,
    ),
    Tool(
        name="status",
        title="Status of the memory",
        description="How much the memory holds, and where.",
        arguments=StatusArguments,
        result=StoreInfo,
        run=_status,
    ),
)
