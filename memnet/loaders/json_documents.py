"""JSON files: exports of chats, and objects that are documents: {"title": ..., "text": ...}."""

from collections.abc import Iterator

from memnet.errors import InputError, Problem
from memnet.loaders.chats.exports import chat_documents
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line, paragraphs
from memnet.loaders.formats import SourceFile
from memnet.loaders.json_text import JsonObject, part_name, read_json, string

_TEXT = ("text", "content", "body")
_TITLE = ("title", "name", "subject", "headline")
_ID = ("id", "uuid", "url")
_SIMPLE = (str, int, float, bool)
_MAX_VALUE = 1000  # characters; a longer string is no metadata


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The conversations or documents of a file.

    Raises:
        InputError: it is no JSON, or holds neither.
    """
    data = read_json(file.data)
    chats = chat_documents(file, data)
    if chats is not None:
        yield from chats
        return
    items = data if isinstance(data, list) else [data]
    found = [item for item in items if isinstance(item, dict) and _text(item)]
    if not found:
        kind = {list: "a list", dict: "an object"}.get(type(data), "a value")
        raise InputError(
            f"holds {kind} without a text, expected a chat's export or objects such as "
            '{"title": ..., "text": ...}; pass it with --as text to read it as it stands',
            "data files",
        )
    used: set[str] = set()
    for number, item in enumerate(items, 1):
        if not isinstance(item, dict) or not _text(item):
            yield Problem(f"{file.name}#{number}", f"has no text ({', '.join(_TEXT)}); add it")
            continue
        many = isinstance(data, list)
        keys = [item.get(key) for key in _ID]
        yield _document(item, part_name(file.name, used, *keys) if many else file.name, file)


def _document(item: JsonObject, name: str, file: SourceFile) -> ParsedDocument:
    builder = DocumentBuilder()
    key, text = _text(item) or ("", "")
    for start, end in paragraphs(text):
        builder.add("paragraph", text[start:end])
    title_key = next((key for key in _TITLE if string(item.get(key)).strip()), "")
    title = one_line(string(item.get(title_key)))
    metadata = {
        field.lower(): value
        for field, value in item.items()
        if field not in (key, title_key)
        and isinstance(value, _SIMPLE)
        and len(str(value)) <= _MAX_VALUE
    }
    if len(title) > file.max_title:
        title = ""
    return builder.build(name, title or file.title, metadata=metadata)


def _text(item: JsonObject) -> tuple[str, str] | None:
    """The name and the value of the field that holds the text."""
    return next(((key, text) for key in _TEXT if (text := string(item.get(key)).strip())), None)
