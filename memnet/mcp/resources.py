"""Sources as resources of the protocol, ``memnet://source/{id}``."""

import re
from itertools import islice
from urllib.parse import quote, unquote

import mcp_types as types

from memnet.errors import InputError, one_line
from memnet.mcp.memory import ServedMemory
from memnet.text.citations import SOURCE_SCHEME
from memnet.types import Document, Source

_PAGE = 100
_CURSOR = re.compile(r"[0-9]{1,18}")
"""The number of sources before a page."""
_MIME_TYPE = "text/plain"
SOURCE_TEMPLATE = types.ResourceTemplate(
    uri_template=f"{SOURCE_SCHEME}{{+id}}",
    name="source",
    title="Source",
    description="The text of a stored source, by its id.",
    mime_type=_MIME_TYPE,
)


def list_sources_page(memory: ServedMemory, cursor: str | None) -> types.ListResourcesResult:
    """The sources after the first ``cursor`` ones.

    Raises:
        InputError: the cursor is none of this server's.
    """
    if cursor is not None and not _CURSOR.fullmatch(cursor):
        raise InputError(f"the cursor is {cursor!r}; expected one that a list has given")
    start = 0 if cursor is None else int(cursor)
    sources = memory.engine().sources(memory.namespace)
    page = list(islice(sources, start, start + _PAGE + 1))
    more = len(page) > _PAGE
    return types.ListResourcesResult(
        resources=[_resource(source) for source in page[:_PAGE]],
        next_cursor=str(start + _PAGE) if more else None,
    )


def read_source(memory: ServedMemory, uri: str) -> types.ReadResourceResult:
    """The text of a source.

    Raises:
        InputError: it is no address of a source, or none is stored there.
    """
    document = find_source(memory, source_id(uri))
    text = types.TextResourceContents(uri=uri, mime_type=_MIME_TYPE, text=document.text)
    return types.ReadResourceResult(contents=[text])


def source_id(uri: str) -> str:
    """The id that an address of a source stands for.

    Raises:
        InputError: it is no such address.
    """
    if not uri.startswith(SOURCE_SCHEME):
        raise InputError(f"{uri!r} is no address of a source; expected {SOURCE_SCHEME}ID")
    return unquote(uri.removeprefix(SOURCE_SCHEME))


def find_source(memory: ServedMemory, name: str) -> Document:
    """A source with its text.

    Where the memory keeps to no namespace, the default one comes before the others.

    Raises:
        InputError: none is stored under that id.
    """
    document = memory.engine().get(name, source_namespace(memory, name))
    if document is None:
        raise InputError(f"no source {name!r} is stored; 'list_sources' and 'search' give the ids")
    return document


def source_namespace(memory: ServedMemory, name: str) -> str:
    """The namespace that a source is looked for in."""
    if memory.namespace is not None:
        return memory.namespace
    found = memory.engine().store.sources.namespaces([name]).get(name, [""])
    return "" if "" in found else found[0]


def _resource(source: Source) -> types.Resource:
    title = one_line(source.title)
    return types.Resource(
        uri=SOURCE_SCHEME + quote(source.id, safe="/"),
        name=source.id,
        title=title or None,
        description=f"{source.kind}, {source.slots} slots",
        mime_type=_MIME_TYPE,
    )
