"""Markup as a tree of elements, with what the choice of a page's content needs to know of each.

The tree is made of the parser's nodes once, as their attributes cost more to read, and read in
loops, not by recursion: a page may be nested as deeply as its author's generator liked.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from memnet.loaders.document import one_line

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
# Elements that begin and end a line of their own.
BLOCKS = HEADINGS | frozenset(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset"
    " figcaption figure footer form header hgroup hr html legend li main menu nav ol optgroup"
    " option p pre search section summary table tbody td tfoot th thead tr ul xmp listing"
    " plaintext".split()
)
# Elements whose content is not text, is shown only in place of something else, is entered, or is
# struck: it holds no more.
UNREAD = frozenset(
    "script style template svg canvas iframe object embed audio video noscript noframes noembed"
    " select textarea datalist progress meter rt rp s del strike".split()
)

HOLDS_HEADING, HOLDS_BLOCKS, HOLDS_TABLE, HOLDS_HEADER_CELL = 1, 2, 4, 8

_MOVE = re.compile(
    r"(go )?(to )?(the )?(previous|prev|next|up|home|contents|main contents|table of contents|toc"
    r"|top|back|back to [\w ]{1,30}|return to main contents|forward|start|first|last|older|newer"
    r"|index"
    r"|(previous|prev|next|older|newer) (page|chapter|section|topic|post|entry|entries|posts))"
)
_SERVICE = re.compile(
    r"(skip|jump) to [\w ]{1,30}|(edit|improve|view|suggest)[\w ]{0,20}"
    r" (page|source|github|gitlab|edits?|wiki)|(show|page|view|open) (this )?(page )?source"
    r"|report (a|an) (bug|issue|error|problem)[\w ]{0,20}|source|src|edit|edit source|view code"
    r"|copy|copy link|permalink|(copy )?(direct )?link to [\w ]{1,30}|print|print this page|share"
)
_RELATIONS = frozenset("prev previous next up start first last top contents toc index".split())
_NO_LETTER = re.compile(r"[\W_]*")

_XHTML = re.compile(r"\s*<\?xml|[^<]{0,100}<!DOCTYPE[^>]{0,200}XHTML|[^\0]{0,1000}xmlns=", re.I)
_EMPTY = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr)\b)"
    r"([a-zA-Z][\w.-]*)(\s[^<>]*)?/>"
)

# What stands before, between and after the parts of a formula.
_BETWEEN = {
    "mfrac": ("(", ")/(", ")"),
    "msup": ("", "^", ""),
    "mover": ("", "^", ""),
    "msub": ("", "_", ""),
    "munder": ("", "_", ""),
    "mroot": ("√(", ")^1/", ""),
    "msqrt": ("√(", " ", ")"),
}
_STYLE = "{\\displaystyle "


@dataclass(slots=True, eq=False)
class Element:
    """An element with its children, which are elements and texts.

    Counts are of characters that are not white space.
    """

    tag: str
    attributes: dict[str, str | None]
    parent: "Element | None"
    children: "list[Element | str]" = field(default_factory=list)
    own: int = 0  # characters of its own texts
    text: int = 0  # characters within it
    linked: int = 0  # of these, in links
    links: int = 0  # number of links within it
    local: int = 0  # of these, to the same page
    moves: int = 0  # of these, to the previous or next page, the contents or another language
    holds: int = 0  # union of HOLDS_...: what stands within it
    inside: bool = False  # whether it is in what the author marked as the main part or an article
    dropped: bool = False  # whether it is left out

    def get(self, name: str) -> str:
        """An attribute, empty if it is missing."""
        return self.attributes.get(name) or ""

    def elements(self) -> Iterator["Element"]:
        """Its children that are elements."""
        return (child for child in self.children if isinstance(child, Element))


def parse(markup: str) -> list[Element]:
    """All elements in the order of the document; the first one is the root."""
    # What UTF-8 can't hold, the parser can't take.
    text = _as_html(markup).encode("utf-8", "replace").decode()
    try:
        parser = LexborHTMLParser(text)
    except SelectolaxError as error:  # of HTML it takes anything
        raise MemoryError from error
    node = parser.root
    elements = [Element("html", {} if node is None else node.attributes, None)]
    above = [elements[0]]
    node = None if node is None else node.first_child
    while node is not None:
        if node.is_text_node:
            above[-1].children.append(node.text_content or "")
        elif node.is_element_node:
            tag = node.tag or ""
            element = Element(tag, node.attributes, above[-1])
            above[-1].children.append(element)
            elements.append(element)
            inner = None if tag in UNREAD else node.first_child
            if inner is not None:
                above.append(element)
                node = inner
                continue
            if element.get("type") == "application/ld+json":
                element.children.append(node.text())
        following = node.next
        while following is None and node is not None:
            above.pop()
            node = node.parent if above else None
            following = None if node is None else node.next
        node = following
    _measure(elements)
    return elements


def _as_html(markup: str) -> str:
    """XHTML in the way HTML writes it."""
    if not _XHTML.match(markup):
        return markup
    first, *sections = markup.split("<![CDATA[")
    parts = [first]
    for section in sections:
        verbatim, end, after = section.partition("]]>")
        parts += [escape(verbatim, quote=False), after] if end else [section]
    return _EMPTY.sub(r"<\1\2></\1>", "".join(parts))


def _measure(elements: list[Element]) -> None:
    """Sum up, from the leaves to the root, what stands in each element."""
    for element in reversed(elements):
        tag = element.tag
        if tag in UNREAD:
            element.dropped = True
        else:
            for child in element.children:
                if isinstance(child, str):
                    element.own += len("".join(child.split()))
            element.text += element.own
        if tag == "a" and "href" in element.attributes:
            element.linked, element.links = element.text, 1
            element.local = element.get("href").startswith("#")
            element.moves = _moves(element)
        parent = element.parent
        if parent is None or element.dropped or tag == "head":
            continue
        parent.text += element.text
        parent.linked += element.linked
        parent.links += element.links
        parent.local += element.local
        parent.moves += element.moves
        parent.holds |= element.holds
        if tag in HEADINGS:
            parent.holds |= HOLDS_HEADING | HOLDS_BLOCKS
        elif tag == "table":
            parent.holds |= HOLDS_TABLE | HOLDS_BLOCKS
        elif tag == "th":
            parent.holds |= HOLDS_HEADER_CELL
        elif tag in BLOCKS and tag not in ("tbody", "thead", "tfoot", "tr", "td", "caption"):
            parent.holds |= HOLDS_BLOCKS


def _moves(link: Element) -> bool:
    around = link.parent.get("class") if link.parent is not None else ""
    relations = f"{link.get('rel')} {link.get('class')} {around}".lower().split()
    if not _RELATIONS.isdisjoint(relations) or link.get("hreflang"):
        return True
    if link.text > 60 or is_service(link):
        return False
    words = label(link)
    return bool(_NO_LETTER.fullmatch(words) or _MOVE.fullmatch(words))


def is_service(link: Element) -> bool:
    """Whether a link is a mark of the page's own: "¶", "[source]", "Edit this page"."""
    if link.text > 60:
        return False
    words = label(link)
    return bool(_SERVICE.fullmatch(words)) or (
        link.get("href").startswith("#") and bool(_NO_LETTER.fullmatch(words))
    )


def label(element: Element) -> str:
    """The words of an element in lower case, without the punctuation around them."""
    return " ".join(flat_text(element).lower().split()).strip(" []()<>|«»‹›←→↑:¶#§")


def flat_text(element: Element) -> str:
    """All text in an element."""
    parts: list[str] = []
    pending: list[Element | str] = [element]
    while pending:
        child = pending.pop()
        if isinstance(child, str):
            parts.append(child)
        elif child is element or not child.dropped:
            if child.tag in BLOCKS or child.tag == "br":
                parts.append(" ")
            pending += reversed(child.children)
    return "".join(parts)


def formula(math: Element) -> str:
    """A formula: in TeX where the page has that too, else in a line."""
    written = _annotation(math) or one_line(math.get("alttext"))
    if "\\" in written:  # not words for it, or none at all
        if written.startswith(_STYLE) and written.endswith("}"):
            written = written[len(_STYLE) : -1].strip()
        if written:
            return written
    parts: list[str] = []
    pending: list[Element | str] = [math]
    while pending:
        child = pending.pop()
        if isinstance(child, str):
            parts.append(child)
        elif child.tag in _BETWEEN:
            before, between, after = _BETWEEN[child.tag]
            inner: list[Element | str] = [before]
            for number, part in enumerate(child.elements()):
                inner += [between, part] if number else [part]
            pending += reversed([*inner, after])
        elif not child.tag.startswith("annotation"):
            pending += reversed(child.children)
    return one_line("".join(parts))


def _annotation(math: Element) -> str:
    pending = [math]
    while pending:
        element = pending.pop()
        if element.tag == "annotation" and "tex" in element.get("encoding").lower():
            return one_line("".join(child for child in element.children if isinstance(child, str)))
        pending += element.elements()
    return ""
