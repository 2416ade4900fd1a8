"""Markdown: CommonMark with tables, notes of Obsidian, pages of MkDocs, Docusaurus and mdBook."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time
from html import escape, unescape
from itertools import pairwise
from math import isfinite
from pathlib import PurePath
from typing import Any, NamedTuple
from urllib.parse import quote

from markdown_it.token import Token
from selectolax.lexbor import LexborHTMLParser

from memnet.errors import InputError, Problem
from memnet.io import decode, with_line_feeds
from memnet.loaders.document import (
    FORM_LINE,
    BlockKind,
    DocumentBuilder,
    ParsedDocument,
    image_text,
    one_line,
    path_name,
)
from memnet.loaders.formats import SourceFile
from memnet.loaders.markup.markdown_rules import make_parser
from memnet.loaders.web import html
from memnet.loaders.web.html_blocks import link_names
from memnet.loaders.web.html_tree import BLOCKS, UNREAD, flat_text, parse

_BESIDE = 9  # Tokens of a line that are looked at for its label
_GONE = "\x01"  # stands for an image or an embed that is not text
_GAP = re.compile(rf"[ \t]{{0,8}}{_GONE}(?=[.,;:!?)])")
_AROUND = frozenset({"html", "head", "body"})
_NAME = re.compile(r"</?[A-Za-z][\w.:-]*")
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big br button cite code data del dfn em font i img input ins kbd "
    "label mark math meter output picture q rp rt ruby s samp small source span strike strong sub "
    "sup time tt u var wbr".split()
)
_STYLE = re.compile(
    r"</?(?:b|big|code|em|font|i|nobr|plaintext|small|strong|tt|u)(?=[\s/>])[^<>]{0,1000}>",
    re.IGNORECASE,
)
_STRUCK = re.compile(r"(</?)(?:s|strike|del)(?=[\s/>])", re.IGNORECASE)
# Attributes of components.
_VALUE = re.compile(r"\s([A-Za-z][\w-]{0,50})=\{?(?:\"([^\"]*)\"|'([^']*)')")
_TITLES = frozenset({"title", "label", "description", "summary", "caption", "heading", "header"})
_NO_TEXT = frozenset(
    "class className style id src srcSet sizes viewBox d path points transform rel client icon alt "
    "import".split()
)
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
    text = with_line_feeds(decode(file.data))
    front = _front_matter(text)
    metadata = dict(front.metadata)
    builder = DocumentBuilder()
    description = one_line(str(metadata.get("description") or ""))
    if description and description not in one_line(text[front.end :]):
        builder.add("paragraph", description)  # often all that says what the page is about
    is_mdx = PurePath(file.name).suffix.lower() == ".mdx"
    parser = make_parser(components=is_mdx)
    for name, rule in _RENDERED.items():
        parser.add_render_rule(name, staticmethod(rule))  # else they get the renderer, too
    tokens = _with_notes(parser.parse(text[front.end :]))
    given = {"embedded": list[str]()}

    def markup(tokens: Sequence[Token]) -> str:
        rendered = str(parser.renderer.render(tokens, parser.options, given))
        return _GAP.sub("", rendered).replace(_GONE, "")

    def shown(token: Token) -> str:
        return one_line(flat_text(parse(markup([token]))[0]))

    title = _take_title(tokens, front.title, shown, file.max_title)
    page = html.add(builder, markup(tokens), whole=True, max_heading=file.max_title)
    builder.add_links(given["embedded"])
    listed = metadata.get("tags")
    tags = [str(tag) for tag in listed] if isinstance(listed, list) else []
    for heading, token in pairwise(tokens):
        if token.type == "inline" and heading.type != "heading_open":
            tags += _tags(token)
    if tags:
        metadata["tags"] = list(dict.fromkeys(tags))
    yield file.document(builder, title or page.title, metadata, front.names)
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
        # The heading that is the title is not a block of a document, but one of this piece.
        found = _HEADING.match(text)
        kind = (kinds or {}).get("heading", "heading")
        builder.add(kind, piece.title, level=len(found[1]) if found else 1)
    if piece.text != piece.title:
        builder.add_document(piece, kinds)
    return piece.title


# How what is not plain CommonMark is written as HTML: functions of the tokens, the number of one,
# the parser's options, and a table whose "embedded" takes names of links without a text.


def _formula(tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """As it stands."""
    return escape(tokens[index].content).replace("\n", "<br>")


def _softbreak(tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """A line break between lines of a form, as people write them in notes; else they are prose."""
    before, after = (
        "".join("\n" if one.type == "softbreak" else one.content for one in side)
        for side in (
            tokens[max(0, index - _BESIDE) : index],
            tokens[index + 1 : index + 1 + _BESIDE],
        )
    )
    form = FORM_LINE.match(before.rpartition("\n")[2]) and FORM_LINE.match(after)
    return "<br>\n" if form else "\n"


def _image(tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """Its description."""
    token = tokens[index]
    return escape(image_text(token.content, str(token.attrGet("src") or ""))) or _GONE


def _wiki_link(tokens: Sequence[Token], index: int, _options: Any, env: Any) -> str:
    """A link to a note, or what is shown of one."""
    written = tokens[index].content
    address, _, label = written.removeprefix("!")[2:-2].partition("|")
    target, _, anchor = address.strip().rstrip("\\").partition("#")
    headings = [part.strip() for part in anchor.split("#") if not part.startswith("^")]
    note = path_name(target)
    link = "#".join([quote(note.partition("^")[0]), *map(quote, headings[-1:])])
    if written.startswith("!"):
        if not _MEDIA.search(target):
            env["embedded"] += filter(None, (note, *headings))
        return _GONE
    shown = label or " > ".join(filter(None, [note, *headings]))
    return f'<a href="{link}">{escape(shown)}</a>'


def _html_inline(tokens: Sequence[Token], index: int, _options: Any, env: Any) -> str:
    """What a tag within a text shows and leads to."""
    tag = tokens[index].content
    element = next((one for one in parse(tag) if one.tag not in _AROUND), None)
    name = (_NAME.match(tag) or [""])[0].strip("</").lower()
    if element is not None and name == "a":
        env["embedded"] += link_names(element)
    if element is not None and name == "img":
        return escape(image_text(element.get("alt"), element.get("src")))
    if name == "br":
        return "<br>"
    if _STRUCK.match(tag):
        return _STRUCK.sub(r"\1del", tag)
    known = name in BLOCKS or name in UNREAD or name in _INLINE
    if tag[1:-1].isidentifier() and not known:
        return escape(tag)  # a placeholder
    return " " if name in BLOCKS else ""


def _html_block(tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    """A piece of HTML with all that it opens closed.

    Styles go: each one that is left open is opened again in each paragraph, but for "del".
    """
    content = _STRUCK.sub(r"\1del", _STYLE.sub("", tokens[index].content))
    body = LexborHTMLParser(content).body
    return "" if body is None else body.inner_html or ""


def _component(tokens: Sequence[Token], index: int, _options: Any, env: Any) -> str:
    """Texts among its attributes: titles, and values of several words."""
    texts = []
    for name, double, single in _VALUE.findall(tokens[index].content):
        value = unescape(double or single).strip()
        if name in ("href", "to", "link"):
            env["embedded"] += filter(None, [path_name(value.partition("#")[0])])
        elif name in _TITLES or (" " in value and name not in _NO_TEXT):
            texts.append(f"<p>{escape(value)}</p>")
    return "".join(texts)


_RENDERED = {
    "formula": _formula,
    "softbreak": _softbreak,
    "image": _image,
    "wiki_link": _wiki_link,
    "html_inline": _html_inline,
    "html_block": _html_block,
    "component": _component,
}


def _take_title(tokens: list[Token], title: str, shown: Callable[[Token], str], most: int) -> str:
    """The title of a document, if not ``title``; a heading that opens it and says that goes."""
    levels = [int(one.tag[1]) for one in tokens if one.type == "heading_open" and not one.level]
    if tokens and tokens[0].type == "heading_open":
        heading = shown(tokens[1])
        opens = levels[0] == 1 or (levels[0] == min(levels) and levels.count(levels[0]) == 1)
        is_title = title.casefold() == heading.casefold() if title else opens
        if is_title and len(heading) <= most:
            del tokens[:3]
            return title or heading
    if not title and levels[:1] == [1] and levels.count(1) == 1:
        at = next(index for index, one in enumerate(tokens) if one.tag == "h1")
        title = shown(tokens[at + 1])
    return title


def _with_notes(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with each footnote after the block that refers to it first."""
    blocks: list[list[Token]] = [[]]
    notes: dict[str, list[Token]] = {}
    note: list[Token] | None = None
    for token in tokens:
        if token.type == "footnote_reference_open" and note is None:
            note = notes.setdefault(token.meta["label"], [])
        elif token.type == "footnote_reference_close" and not token.level:
            note = None
        elif not token.type.startswith("footnote_reference"):
            (blocks[-1] if note is None else note).append(token)
            if note is None and not token.level and token.nesting <= 0:
                blocks.append([])
    ordered: list[Token] = []
    blocks.reverse()
    while blocks:
        block = blocks.pop()
        due = [
            child.meta["label"]
            for token in block
            for child in token.children or ()
            if child.type == "footnote_ref"
        ]
        blocks += [notes.pop(label) for label in dict.fromkeys(reversed(due)) if label in notes]
        ordered += block
    for token in ordered:
        token.children = [one for one in token.children or () if one.type != "footnote_ref"]
    return [*ordered, *(token for left in notes.values() for token in left)]


def _tags(token: Token) -> Iterator[str]:
    """Tags in a text, but not those in its code."""
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
