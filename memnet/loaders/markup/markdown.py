"""Markdown: CommonMark with tables, notes of Obsidian, pages of MkDocs, Docusaurus and mdBook."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from math import isfinite
from pathlib import PurePath
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from memnet.errors import InputError, Problem
from memnet.io import decode
from memnet.loaders.document import BlockKind, DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.markup.markdown_html import HtmlReader, component_text, tag_text
from memnet.loaders.markup.markdown_rules import make_parser
from memnet.loaders.markup.writing import (
    MarkupWriter,
    admonition_label,
    anchor_name,
    image_text,
    link_names,
    path_name,
)

# Stands for code while marks in the text around it are looked for; the parser leaves none.
_KEPT = "\x00"
_GONE = "\x01"  # stands for an image or an embed that is no text
_GAP = re.compile(rf"[ \t]{{0,8}}{_GONE}(?=[.,;:!?)])")
_HIGHLIGHT = re.compile(r"(?<![\w=])==(?=[^\s=])([^\n]{0,500}?[^\s=])==(?![\w=])")
_TAG = re.compile(r"(?<![^\s(\[{,;])#([^\W_](?:[\w/-]*\w)?)")
_COLOUR = re.compile(r"(?=\D*\d|(.)\1+$)(?:[0-9a-f]{3}|[0-9a-f]{6}|[0-9a-f]{8})$", re.IGNORECASE)
_HEADING = re.compile(r"\s*(#{1,6})[ \t]+\S")
_MEDIA = re.compile(
    r"\.(?:png|jpe?g|gif|bmp|svg|webp|avif|mp[34]|webm|wav|m4a|ogg|mov|mkv|pdf)$", re.I
)
# Front matter: YAML between lines of "---", TOML between lines of "+++".
_MAX_FRONT = 64 * 1024
_MAX_NESTING = 20
_OPENING = re.compile(r"(---|\+\+\+)[ \t]*\n")
_CLOSING = {
    "---": re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.MULTILINE),
    "+++": re.compile(r"^\+\+\+[ \t]*(?:\n|\Z)", re.MULTILINE),
}
_PAIR = re.compile(r"([A-Za-z][\w -]{0,50}):[ \t]+(\S.*)")
_NEXT_KEY = re.compile(r"^(?=[A-Za-z])", re.MULTILINE)
_LIST_SEPARATOR = re.compile(r"[,\s]+")


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text without its markup, with its front matter as metadata."""
    text = decode(file.data).replace("\r\n", "\n").replace("\r", "\n")
    front = _front_matter(text)
    writer = MarkupWriter(file)
    writer.title, writer.names = front.title, list(front.names)
    writer.metadata = dict(front.metadata)
    description = one_line(str(front.metadata.get("description") or ""))
    if description and description not in one_line(text[front.end :]):
        writer.paragraph(description)  # often the only sentence that says what the page is about
    parser = make_parser(components=PurePath(file.name).suffix.lower() == ".mdx")
    _Walk(parser, writer).document(parser.parse(text[front.end :]))
    yield writer.finish()
    if front.problem:
        yield Problem(file.name, f"front matter {front.problem}; what could be read of it is kept")


def add_markdown(
    builder: DocumentBuilder, text: str, kinds: Mapping[BlockKind, BlockKind] | None = None
) -> str:
    """Add the blocks of a piece of Markdown to a document, at the builder's place.

    ``kinds`` are what blocks of some kinds become. Gives the heading that it begins with, if it
    is a title; else "".
    """
    # Behind an empty line "---" does not begin front matter.
    file = SourceFile("", f"\n{text}".encode("utf-8", "replace"))
    try:
        piece = next(load(file))
    except InputError:  # nothing but marks, such as an image
        return ""
    if isinstance(piece, Problem):  # which come after the document
        return ""
    if piece.title:
        # The heading that is the title is no block of a document, but one of this piece.
        found = _HEADING.match(text)
        kind = (kinds or {}).get("heading", "heading")
        builder.add(kind, piece.title, level=len(found[1]) if found else 1)
    if piece.text != piece.title:
        builder.add_document(piece, kinds)
    return piece.title


class _Walk:
    """Reads the tokens of a document from first to last."""

    def __init__(self, parser: MarkdownIt, writer: MarkupWriter) -> None:
        self._parser = parser
        self._writer = writer
        self._numbers: list[int] = []  # next number of each open list; -1 for one with bullets
        self._callouts: list[bool] = []  # of each open quote whether it is a callout
        self._notes: dict[str, list[Token]] = {}  # footnotes that are still to be added
        self._due: list[str] = []  # footnotes that were referred to since the last block
        self._tags: dict[str, None] = {}
        self._header: list[str] = []
        self._row: list[str] = []
        self._row_links: list[str] = []
        self._in_header = False

    def document(self, tokens: Sequence[Token]) -> None:
        """Add all tokens; a footnote comes after the block that refers to it."""
        tokens = self._without_notes(tokens)
        headings = [
            (int(token.tag[1]), tokens[index + 1])
            for index, token in enumerate(tokens)
            if token.type == "heading_open" and not token.level
        ]
        levels = [level for level, _ in headings]
        if levels and levels.count(min(levels)) == 1:
            self._writer.title_levels.add(min(levels))
        for index, token in enumerate(tokens):
            self._add(tokens, index)
            if not token.level and token.nesting <= 0:
                self._add_notes()
        self._due = list(self._notes)
        self._add_notes()
        if not self._writer.title and levels[:1] == [1] and levels.count(1) == 1:
            self._writer.title = self._inline(headings[0][1])[0]
        if self._tags:
            listed = self._writer.metadata.get("tags")
            given = [str(tag) for tag in listed] if isinstance(listed, list) else []
            self._writer.metadata["tags"] = list(dict.fromkeys([*given, *self._tags]))

    def _without_notes(self, tokens: Sequence[Token]) -> list[Token]:
        """The tokens without those of footnotes, which are kept by their labels."""
        rest: list[Token] = []
        note: list[Token] = []
        depth = 0
        for token in tokens:
            if token.type == "footnote_reference_open":
                depth += 1
                if depth == 1:
                    note = self._notes.setdefault(token.meta["label"], [])
            elif token.type == "footnote_reference_close":
                depth -= 1
            else:
                (note if depth else rest).append(token)
        return rest

    def _add_notes(self) -> None:
        while self._due:
            due, self._due = self._due, []
            for label in due:
                note = self._notes.pop(label, [])
                for index in range(len(note)):
                    self._add(note, index)

    def _add(self, tokens: Sequence[Token], index: int) -> None:
        token, writer = tokens[index], self._writer
        match token.type:
            case "inline":
                self._add_text(tokens[index - 1], token)
            case "bullet_list_open":
                self._numbers.append(-1)
            case "ordered_list_open":
                self._numbers.append(int(token.attrGet("start") or 1) if token.attrs else 1)
            case "bullet_list_close" | "ordered_list_close":
                self._numbers.pop()
            case "list_item_open":
                number = self._numbers[-1]
                writer.open_item("-" if number < 0 else f"{number}{token.markup}")
                self._numbers[-1] += number >= 0
            case "list_item_close":
                writer.close_item()
            case "blockquote_open":
                self._open_quote(token)
            case "blockquote_close":
                writer.quotes -= not self._callouts.pop()
            case "label":
                writer.label(admonition_label(token.content))
            case "fence" | "code_block":
                writer.code(token.content)
            case "component":
                texts, links = component_text(token.content)
                for text in texts:
                    writer.paragraph(text, links)
            case "html_block":
                HtmlReader(writer).read(token.content)
            case "thead_open" | "thead_close":
                self._in_header = token.nesting > 0
            case "tr_open":
                self._row, self._row_links = [], []
            case "tr_close":
                if self._in_header:
                    self._header = self._row
                writer.row(
                    self._row, self._header, is_header=self._in_header, links=self._row_links
                )

    def _open_quote(self, token: Token) -> None:
        kind, title = token.meta.get("kind", ""), token.meta.get("title", "")
        self._callouts.append(bool(kind))
        if not kind:
            self._writer.quotes += 1
        elif title:
            self._writer.paragraph(*self._inline(self._parser.parseInline(title)[0]))
        else:
            self._writer.label(admonition_label(kind))

    def _add_text(self, opening: Token, token: Token) -> None:
        """Add the text of a block that another token opens."""
        text, links = self._inline(token)
        if opening.type == "heading_open" and not opening.level:
            self._writer.heading(text, int(opening.tag[1]), links)
        elif opening.type in ("th_open", "td_open"):
            self._row.append(text)
            self._row_links += links
        elif opening.type == "dt_open":
            self._writer.label(text, links)
        else:
            self._writer.paragraph(text, links)
        if opening.type != "heading_open":
            self._tags.update(dict.fromkeys(_tags(token, text)))

    def _inline(self, token: Token) -> tuple[str, list[str]]:
        """The text of a block and the names that its links lead to."""
        parts: list[str] = []
        kept: list[str] = []
        links: list[str] = []
        for child in token.children or ():
            match child.type:
                case "text":
                    parts.append(child.content)
                case "softbreak":
                    parts.append(" ")
                case "hardbreak":
                    parts.append("\n")
                case "code_inline" | "formula":
                    kept.append(child.content)
                    parts.append(_KEPT)
                case "link_open":
                    links += link_names(str(child.attrGet("href") or ""))
                case "image":
                    described = image_text(child.content, str(child.attrGet("src") or ""))
                    parts.append(described or _GONE)
                case "html_inline":
                    parts.append(tag_text(child.content, links))
                case "wiki_link":
                    parts.append(_wiki_link(child.content, links))
                case "footnote_ref":
                    self._due.append(child.meta["label"])
        text = "".join(parts)
        if "==" in text:
            text = _HIGHLIGHT.sub(r"\1", text)
        if _GONE in text:
            text = _GAP.sub("", text).replace(_GONE, "")
        pieces = text.split(_KEPT)
        text = "".join(piece + code for piece, code in zip(pieces, [*kept, ""], strict=True))
        lines = (one_line(line) for line in text.split("\n"))
        return "\n".join(filter(None, lines)), links


def _wiki_link(written: str, links: list[str]) -> str:
    """What is shown of a link to a note, whose names are added to ``links``."""
    is_embed = written.startswith("!")
    address, _, label = written.removeprefix("!")[2:-2].partition("|")
    target, _, anchor = address.strip().rstrip("\\").partition("#")
    if is_embed and _MEDIA.search(target):
        return _GONE
    note = path_name(target)
    headings = [part.strip() for part in anchor.split("#") if not part.startswith("^")]
    links += [name for name in (note.partition("^")[0], *map(anchor_name, headings)) if name]
    return _GONE if is_embed else label or " > ".join(filter(None, [note, *headings]))


def _tags(token: Token, text: str) -> Iterator[str]:
    """Tags in a text, but not those in its code."""
    if "#" not in text:
        return
    outside = " ".join(child.content for child in token.children or () if child.type == "text")
    for tag in _TAG.findall(outside):
        if not tag.replace("/", "").isdigit() and not _COLOUR.match(tag):
            yield tag


class _FrontMatter(NamedTuple):
    """What stands in front of a text."""

    title: str = ""
    names: tuple[str, ...] = ()
    metadata: Mapping[str, object] = {}
    end: int = 0  # where the text starts
    # What is wrong with it; values that could not be read by themselves are texts or missing.
    problem: str = ""


def _front_matter(text: str) -> _FrontMatter:
    """The front matter of a text; empty without one."""
    opening = _OPENING.match(text)
    if opening is None:
        return _FrontMatter()
    closing = _CLOSING[opening[1]].search(text, opening.end(), opening.end() + _MAX_FRONT)
    if closing is None:
        return _FrontMatter()
    content, problem = text[opening.end() : closing.start()], ""
    values: Mapping[Any, object] | None
    try:
        values = tomllib.loads(content) if opening[1] == "+++" else _yaml(content)
    except (ValueError, RecursionError) as error:
        too_deep = isinstance(error, RecursionError)
        values, problem = _pairs(content), "is nested too deeply" if too_deep else str(error)
        if not values:
            return _FrontMatter()  # a text between two lines
    if values is None:
        return _FrontMatter() if content.strip() else _FrontMatter(end=closing.end())
    simple = {str(key).strip().lower(): _simple(value) for key, value in values.items()}
    metadata = {key: value for key, value in simple.items() if value not in (None, "", [])}
    title = str(metadata.pop("title", ""))
    aliases = [name for key in ("aliases", "alias") for name in _listed(metadata.pop(key, []), ",")]
    names = [path_name(alias) if alias.startswith("/") else alias for alias in aliases]
    names += [path_name(str(metadata[key])) for key in ("slug", "id") if key in metadata]
    if tags := [tag for key in ("tags", "tag") for tag in _listed(metadata.pop(key, []))]:
        metadata["tags"] = [tag.lstrip("#") for tag in tags]
    return _FrontMatter(title, tuple(names), metadata, closing.end(), problem)


def _listed(value: object, separator: str = "") -> list[str]:
    """A list, or a text with commas (or spaces too, as in tags) as one."""
    if isinstance(value, list):
        return [str(one) for one in value]
    parts = str(value).split(separator) if separator else _LIST_SEPARATOR.split(str(value))
    return [part.strip() for part in parts if part.strip()]


def _simple(value: object) -> object:
    """A value as JSON has it; None for one that is not simple."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | int):
        return value
    if isinstance(value, list):
        return [one for one in map(_simple, value) if one is not None and not isinstance(one, list)]
    return None


def _pairs(content: str) -> dict[object, object]:
    """The values that can be read by themselves; texts as they stand where they can't."""
    values: dict[object, object] = {}
    for part in _NEXT_KEY.split(content):
        try:
            values.update(_yaml(part) or {})
        except ValueError:
            pair = _PAIR.fullmatch(part.strip())
            if pair is not None:
                values[pair[1]] = pair[2].strip("\"'")
    return values


def _yaml(content: str) -> dict[object, object] | None:
    """None if it is not a mapping.

    Raises:
        ValueError: it is not valid, or refers to parts of itself, which can make it endless.
    """
    import yaml  # here, as most notes have no front matter

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        for event in yaml.parse(content, Loader=loader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise ValueError("has anchors or aliases")
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_NESTING:
                raise ValueError("is nested too deeply")
        values = loader(content).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in its line {mark.line + 1}" if mark else ""
        raise ValueError(f"is not valid YAML{line}") from error
    except (TypeError, OverflowError, AttributeError) as error:
        raise ValueError("is not valid YAML") from error
    return values if isinstance(values, dict) else None
