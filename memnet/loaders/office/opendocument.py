"""OpenDocument texts and presentations (.odt, .ott, .odp, .otp, and flat ones) as HTML."""

import re
from collections.abc import Iterable, Iterator
from html import escape
from xml.etree.ElementTree import Element

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.office.markup import BULLET, PRIVATE, Cell, list_item, names_columns
from memnet.loaders.office.numbering import written
from memnet.loaders.package import (
    PROTECTED,
    Package,
    attribute,
    child,
    children,
    integer,
    local,
    open_document_properties,
    parse_xml,
)
from memnet.loaders.web import html

# Elements whose texts stand where they stand; a table of contents is not among them.
_CONTAINERS = frozenset(
    "section frame text-box custom-shape rect ellipse circle line connector polygon polyline path "
    "g caption regular-polygon measure numbered-paragraph note-body index-body index-title "
    "alphabetical-index bibliography user-index".split()
)
_DROPPED = frozenset({"annotation", "ruby-text", "script", "tracked-changes", "title", "desc"})
_ROW_GROUPS = frozenset({"table-rows", "table-row-group", "table-header-rows"})
_FURNITURE = frozenset({"date-time", "header", "footer", "page-number", "page"})  # of each slide
_FLAT = b"\xef\xbb\xbf \t\r\n"  # what may stand before the first tag of a flat document
_MAX_REPEATED = 100  # times that a row or a cell with text may say that it is repeated
_MAX_CHAIN = 50  # styles that are based on each other


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text with its lists, tables and notes; of a presentation one slide after the other."""
    content, styles, meta = _parts(file.data)
    body = child(content, "body")
    builder = DocumentBuilder()
    metadata = open_document_properties(meta)
    title = metadata.pop("title", "")
    writer = _Writer(styles, content)

    def add(markup: str) -> None:
        markup = PRIVATE.sub("", markup.replace("</pre><pre>", "\n"))
        html.add(builder, markup, whole=True, max_heading=file.max_title)

    if (text := child(body, "text")) is not None:
        add(writer.markup(text))
        first = builder.build("", "")
        opening = first.blocks[0] if first.blocks else None
        if opening and opening.kind == "heading" and not title:
            title = first.text[opening.start : opening.end]
        title = writer.title or title
    elif (slides := child(body, "presentation")) is not None:
        for number, page in enumerate(children(slides, "page"), start=1):
            builder.open(f"slide {number}")
            heading, markup = _slide(writer, page)
            add(markup)
            title = heading if heading and number == 1 else title
    else:
        kinds = ", ".join(map(local, children(body)))
        raise InputError(
            f"holds {kinds or 'nothing'}; expected an OpenDocument text or presentation: give it "
            "the suffix of what it is"
        )
    if not len(builder):
        raise InputError("holds no text; expected a document with some")
    title = one_line(title or file.title)[: file.max_title]
    yield builder.build(file.name, title, metadata=metadata)


def _parts(data: bytes) -> tuple[Element, Element | None, Element | None]:
    """The roots of the content, the styles and the metadata; in a flat document all one."""
    if data[:100].lstrip(_FLAT).startswith(b"<"):
        root = parse_xml(data, "document")
        return root, None, root
    package = Package(data)
    content = package.read("content.xml")
    if content is None:
        raise InputError(
            "is a zip package without a content.xml; expected an OpenDocument file: give it the "
            "suffix of what it is"
        )
    for entry in children(package.xml_if_sound("META-INF/manifest.xml")):
        if attribute(entry, "full-path") == "content.xml" and len(entry):
            raise InputError(PROTECTED)
    root = parse_xml(content, "content.xml")
    return root, package.xml_if_sound("styles.xml"), package.xml_if_sound("meta.xml")


def _slide(writer: "_Writer", page: Element) -> tuple[str, str]:
    """The title of a slide, and its HTML."""
    title = ""
    parts: list[str] = []
    for shape in page:
        role = attribute(shape, "class")
        if role in _FURNITURE or attribute(shape, "placeholder") == "true":
            continue
        if local(shape) == "notes":
            frames = [frame for frame in shape if attribute(frame, "class") == "notes"]
            frames = [each for each in frames if attribute(each, "placeholder") != "true"]
            notes = filter(None, map(plain_text, frames))
            parts += [f"<p>Notes: {escape(note)}</p>" for note in notes]
        elif role == "title" and not title:
            title = plain_text(shape)
            parts.insert(0, f"<h2>{escape(title)}</h2>")
        elif role == "subtitle":
            parts.append(f"<p>{escape(plain_text(shape))}</p>")
        else:
            parts.append(writer.markup([shape]))
    return title, "".join(parts)


class _Writer:
    """Writes the elements of a body as HTML, in order."""

    def __init__(self, *roots: Element | None) -> None:
        self.title = ""  # of a paragraph in the style of titles
        self._parents: dict[str, str] = {}
        self._lists: dict[str, dict[int, Element]] = {}  # by style the shape of each level
        # How far headings have counted on each level; by style and id of a list how far that has.
        self._headings: dict[int, int] = {}
        self._counts: dict[str, dict[int, int]] = {}
        groups = (group for root in roots for group in children(root))
        styles = (group for group in groups if local(group) in ("styles", "automatic-styles"))
        for element in (each for group in styles for each in group):
            name = attribute(element, "name")
            if local(element) == "style" and attribute(element, "family") == "paragraph":
                self._parents[name] = attribute(element, "parent-style-name")
            elif (kind := local(element)) in ("list-style", "outline-style"):
                levels = {integer(attribute(level, "level")) - 1: level for level in element}
                self._lists[name if kind == "list-style" else "outline"] = levels

    def markup(self, parent: Iterable[Element]) -> str:
        """Texts and tables of a part of the document."""
        return "".join(map(self._element, parent))

    def _element(self, element: Element) -> str:
        name = local(element)
        if name in ("p", "h"):
            return self._paragraph(element)
        if name == "list":
            return self._outer_list(element)
        if name == "table":
            return self._table(element)
        if name == "a" or (name in _CONTAINERS and attribute(element, "display") != "none"):
            return self.markup(element)
        return ""

    def _paragraph(self, element: Element, marker: str | None = None) -> str:
        after: list[Element] = []
        text = self._inline(element, after)
        names = self._styles(attribute(element, "style-name"))
        following = self.markup(after)
        if not text.strip():
            return following
        if local(element) == "h":
            depth = max(1, integer(attribute(element, "outline-level"), default=1))
            if marker is None and attribute(element, "is-list-header") != "true":
                marker = self._marker("outline", depth - 1, self._headings)
            marker = f"{escape(marker)} " if marker and marker != "-" else ""
            depth = min(depth, 6)
            return f"<h{depth}>{marker}{text.replace('<br>', ' ')}</h{depth}>{following}"
        if "title" in names:
            self.title = self.title or plain_text(element)
            return f"<h1>{text}</h1>{following}"
        if "preformatted text" in names:
            return f"<pre>{text.replace('<br>', chr(10))}</pre>{following}"
        if typed := BULLET.match(text):
            return list_item("-", text[typed.end() :]) + following
        if "quotations" in names:
            return f"<blockquote><p>{text}</p></blockquote>{following}"
        return f"<p>{text}</p>{following}"

    def _styles(self, name: str) -> list[str]:
        """The names of a style and those that it is based on."""
        found: list[str] = []
        while name and len(found) < _MAX_CHAIN:
            found.append(name.replace("_20_", " ").lower())
            name = self._parents.get(name, "")
        return found

    def _inline(self, parent: Element, after: list[Element]) -> str:
        """The text of a paragraph; frames and notes within it go to what follows it."""
        parts = [escape((parent.text or "").replace("\n", " "))]
        for element in parent:
            name = local(element)
            if name == "s":
                parts.append("\xa0" * min(integer(attribute(element, "c"), default=1), 1000))
            elif name == "tab":
                parts.append("\t")
            elif name == "line-break":
                parts.append("<br>")
            elif name == "a":
                inner, href = self._inline(element, after), attribute(element, "href")
                parts.append(inner if href[:1] in "#" else f'<a href="{escape(href)}">{inner}</a>')
            elif name == "note":
                after += children(element, "note-body")
            elif name in _CONTAINERS:
                after.append(element)
            elif name not in _DROPPED:
                parts.append(self._inline(element, after))
            parts.append(escape((element.tail or "").replace("\n", " ")))
        return "".join(parts)

    def _outer_list(self, element: Element) -> str:
        """A list that stands in no other; all those within it count together."""
        style = attribute(element, "style-name")
        goes_on = attribute(element, "continue-numbering") == "true"
        before = attribute(element, "continue-list") or (style if goes_on else "")
        counts = self._counts.get(before, {}) if before else {}
        self._counts[style] = self._counts[attribute(element, "id")] = counts
        return self._list(element, style, 0, counts)

    def _list(self, element: Element, style: str, level: int, counts: dict[int, int]) -> str:
        style = attribute(element, "style-name") or style
        return "".join(self._item(item, style, level, counts) for item in element)

    def _item(self, item: Element, style: str, level: int, counts: dict[int, int]) -> str:
        """One item with the paragraphs and lists that stand in it."""
        parts: list[str] = []
        lines: list[str] = []
        after: list[Element] = []
        marker: str | None = None
        pending = local(item) == "list-item"

        def finish() -> None:
            text = "<br>".join(lines)
            if text:
                parts.append(list_item(marker, text, level) if marker else f"<p>{text}</p>")
            parts.append(self.markup(after))
            lines.clear()
            after.clear()

        for element in item:
            name = local(element)
            if name in ("p", "h") and pending:
                start = attribute(item, "start-value")
                marker = self._marker(style, level, counts, integer(start) if start else None)
                pending = False
            if name == "p":
                text = self._inline(element, after)
                lines += [text] if text.strip() else []
                continue
            finish()
            if name == "h":
                parts.append(self._paragraph(element, marker or ""))
                marker = None
            elif name == "list":
                parts.append(self._list(element, style, level + 1, counts))
            else:
                parts.append(self._element(element))
        finish()
        return "".join(parts)

    def _marker(
        self, style: str, level: int, counts: dict[int, int], start: int | None = None
    ) -> str | None:
        """What stands before the next item of a level; None if nothing does."""
        levels = self._lists.get(style, {})
        shape = levels.get(level)
        if shape is None:
            return None if levels or style == "outline" else "-"
        first = integer(attribute(shape, "start-value"), default=1)
        counts[level] = counts.get(level, first - 1) + 1 if start is None else start
        for deeper in [other for other in counts if other > level]:
            del counts[deeper]
        if local(shape) in ("list-level-style-bullet", "list-level-style-image"):
            return "-"
        if not attribute(shape, "num-format"):
            return None

        def number(at: int) -> str:
            kind = attribute(levels.get(at, shape), "num-format")
            return written(counts.get(at, 1), kind) if kind else ""

        if pattern := attribute(shape, "num-list-format"):
            text = re.sub("%([1-9])%", lambda found: number(int(found[1]) - 1), pattern)
        else:
            shown = max(1, min(integer(attribute(shape, "display-levels")), 10))
            numbers = filter(None, map(number, range(max(0, level + 1 - shown), level + 1)))
            text = attribute(shape, "num-prefix") + ".".join(numbers)
            text += attribute(shape, "num-suffix")
        return text.strip() or None

    def _table(self, element: Element) -> str:
        rows = list(_rows(element, False))
        texts = [
            [
                Cell(plain_text(cell), self._is_heading(cell))
                for cell in row
                if local(cell) in ("table-cell", "covered-table-cell")
            ]
            for row, _ in rows
        ]
        skipped = 0
        while len(texts) - skipped > 2 and sum(bool(cell.text) for cell in texts[skipped]) == 1:
            skipped += 1  # a title over all columns
        guessed = not any(header for _, header in rows) and names_columns(texts[skipped:])
        parts: list[str] = []
        for number, (row, header) in enumerate(rows):
            tag = "th" if header or (guessed and number == skipped) else "td"
            markup = "".join(self._cell(cell, tag) for cell in children(row, "table-cell"))
            repeated = integer(attribute(row, "number-rows-repeated"), default=1)
            parts += [f"<tr>{markup}</tr>"] * max(1, min(repeated, _MAX_REPEATED))
        return f"<table>{''.join(parts)}</table>"

    def _is_heading(self, cell: Element) -> bool:
        paragraphs = children(cell, "p")
        return bool(paragraphs) and all(
            "table heading" in self._styles(attribute(each, "style-name")) for each in paragraphs
        )

    def _cell(self, cell: Element, tag: str) -> str:
        columns = escape(attribute(cell, "number-columns-spanned"))
        rows = escape(attribute(cell, "number-rows-spanned"))
        repeated = integer(attribute(cell, "number-columns-repeated"), default=1)
        markup = f'<{tag} colspan="{columns}" rowspan="{rows}">{self.markup(cell)}</{tag}>'
        return markup * max(1, min(repeated, _MAX_REPEATED))


def plain_text(element: Element) -> str:
    """All texts of an element in one line, without notes."""
    return one_line("".join(_texts(element)))


def _texts(element: Element) -> Iterator[str]:
    if local(element) in ("p", "h", "s", "tab", "line-break"):
        yield " "
    yield element.text or ""
    for part in element:
        if local(part) not in _DROPPED and local(part) != "note":
            yield from _texts(part)
        yield part.tail or ""


def _rows(table: Element, header: bool) -> Iterator[tuple[Element, bool]]:
    """All rows, each with whether it is one of the headers."""
    for element in table:
        name = local(element)
        if name == "table-row":
            yield element, header
        elif name in _ROW_GROUPS:
            yield from _rows(element, header or name == "table-header-rows")
