"""HTML in Markdown: its tags are told from its text by a pattern.

A parser of HTML can be made to take minutes, and Markdown is read in the main process.
"""

import re
from html import unescape

from memnet.loaders.document import one_line
from memnet.loaders.markup.writing import MarkupWriter, image_text, link_names

_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(/?)([A-Za-z][\w:.-]{0,100})"
    r"((?:[^<>\"']{1,1000}+|\"[^\"]{0,2000}+\"|'[^']{0,2000}+'){0,40})>|<[!?][^<>]{0,1000}>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"\b(alt|src|href|title)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_VALUE = re.compile(r"\s([A-Za-z][\w-]{0,50})=\{?(?:\"([^\"]*)\"|'([^']*)')")
_TITLES = frozenset({"title", "label", "description", "summary", "caption", "heading", "header"})
_NO_TEXT = frozenset(
    "class className style id src srcSet sizes viewBox d path points transform rel client icon alt "
    "import".split()
)
_SILENT = frozenset({"script", "style", "svg", "template", "noscript", "head", "iframe"})
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big button cite code data del dfn em font i img input ins kbd label "
    "mark math meter output picture q rp rt ruby s samp select small source span strike strong sub "
    "sup time tt u var wbr video audio object embed canvas".split()
)
_BLOCK_TAGS = frozenset(
    "address article aside blockquote body br caption center col colgroup dd details dialog dir "
    "div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 header hr "
    "html legend li link main map menu meta nav ol optgroup option p param pre section search "
    "summary table tbody td tfoot th thead title tr track ul".split()
)
_KNOWN_TAGS = _INLINE | _BLOCK_TAGS | _SILENT


def _attributes(tag: str) -> dict[str, str]:
    """Those attributes of a tag that name or describe something."""
    return {
        name: unescape(double or single or bare)
        for name, double, single, bare in _ATTRIBUTE.findall(tag)
    }


def component_text(tag: str) -> tuple[list[str], tuple[str, ...]]:
    """Texts among the attributes of a component's tag, and the names that it links to.

    Those are its title and the like, and values of several words: <Tabs npm="npm run build" />.
    """
    texts: list[str] = []
    links: tuple[str, ...] = ()
    for name, double, single in _VALUE.findall(tag):
        value = unescape(double or single).strip()
        if name in ("href", "to", "link"):
            links += link_names(value)
        elif name in _TITLES or (" " in value and name not in _NO_TEXT):
            texts.append(value)
    return texts, links


def tag_text(tag: str, links: list[str]) -> str:
    """What is read in the place of a tag within a text; the names it links to are added."""
    found = re.match(r"</?[A-Za-z][\w.:-]*", tag)
    name = found[0][1:].lower() if found else ""  # with "/" before that of one that closes
    if name == "br":
        return "\n"
    if name == "img":
        return _picture(tag)
    if name == "a":
        links += link_names(_attributes(tag).get("href", ""))
    if name.lstrip("/") in _BLOCK_TAGS:
        return " "
    # "<name>" that HTML does not know is a placeholder.
    return tag if tag[1:-1].isidentifier() and name not in _KNOWN_TAGS else ""


def _picture(tag: str) -> str:
    given = _attributes(tag)
    return image_text(given.get("alt", ""), given.get("src", ""))


class HtmlReader:
    """Adds the text of a piece of HTML to a document, as blocks."""

    def __init__(self, writer: MarkupWriter) -> None:
        self._writer = writer
        self._text: list[str] = []
        self._links: list[str] = []
        self._heading = 0
        self._in_code = False
        self._items = 0
        # Of each list that is open the next number, or 0 for one without numbers.
        self._lists: list[int] = []
        self._header: list[str] = []
        self._row: list[str] | None = None
        self._row_is_header = False
        self._in_cell = False

    def read(self, html: str) -> None:
        """Add all of it; lists and tables that it leaves open are closed."""
        position, silent = 0, ""
        for tag in _TAG.finditer(html):
            if not silent:
                self._add(html[position : tag.start()])
            position = tag.end()
            name = (tag[2] or "").lower()
            if silent:
                silent = "" if name == silent and tag[1] else silent
            elif name in _SILENT and not tag[1]:
                silent = "" if tag[3].endswith("/") else name
            elif name and tag[1]:
                self._close(name)
            elif name:
                self._open(name, tag[0])
        if not silent:
            self._add(html[position:])
        self._close_row()
        self._end()
        while self._items:
            self._close_item()

    def _add(self, text: str) -> None:
        self._text.append(unescape(text))

    def _open(self, name: str, tag: str) -> None:
        if name == "a":
            self._links += link_names(_attributes(tag).get("href", ""))
        elif name == "img":
            self._text.append(_picture(tag))
        elif name == "br":
            self._text.append("\n" if self._in_code else "\x00")
        elif name in ("td", "th"):
            self._end_cell()
            self._row = self._row if self._row is not None else []
            self._row_is_header = name == "th" and (self._row_is_header or not self._row)
            self._in_cell = True
        elif self._row is not None and name not in ("tr", "table"):
            self._text.append(" " if name in _BLOCK_TAGS else "")
        elif name not in _INLINE:
            self._open_block(name)

    def _open_block(self, name: str) -> None:
        self._end()
        if name in ("ul", "ol"):
            self._lists.append(int(name == "ol"))
        elif name == "li":
            if self._items and self._items == len(self._lists):
                self._close_item()
            number = self._lists[-1] if self._lists else 0
            self._writer.open_item(f"{number}." if number else "-")
            self._items += 1
            if number:
                self._lists[-1] += 1
        elif name == "tr":
            self._close_row()
            self._row = []
        elif name == "table":
            self._close_row()
            self._header = []
        elif name == "pre":
            self._in_code = True
        elif name in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._heading = int(name[1])

    def _close(self, name: str) -> None:
        if name in ("tr", "table", "thead", "tbody"):
            self._close_row()
        elif name in ("td", "th"):
            self._end_cell()
        elif self._row is None and name not in _INLINE:
            self._end()
            if name in ("ul", "ol") and self._lists:
                if self._items >= len(self._lists):
                    self._close_item()
                self._lists.pop()
            elif name == "li" and self._items:
                self._close_item()

    def _close_item(self) -> None:
        self._writer.close_item()
        self._items -= 1

    def _end_cell(self) -> None:
        text, self._text = "".join(self._text).replace("\x00", " "), []
        if self._row is not None and (self._in_cell or text.strip()):
            self._row.append(one_line(text))
        self._in_cell = False

    def _close_row(self) -> None:
        if self._row is None:
            return
        self._end_cell()
        row, self._row = self._row, None
        if self._row_is_header:
            self._header = row
        links, self._links = self._links, []
        self._writer.row(row, self._header, is_header=self._row_is_header, links=links)
        self._row_is_header = False

    def _end(self) -> None:
        """Make a block of the text so far."""
        text, self._text = "".join(self._text), []
        links, self._links = self._links, []
        if self._in_code:
            self._in_code = False
            self._writer.code(text.replace("\x00", "\n"))
        elif self._heading:
            level, self._heading = self._heading, 0
            self._writer.heading(text.replace("\x00", " "), level, links)
        else:
            lines = (one_line(line) for line in text.split("\x00"))
            self._writer.paragraph("\n".join(filter(None, lines)), links)
