"""Elements of a page as the blocks of a document."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from memnet.io import with_line_feeds
from memnet.loaders.document import BlockKind, DocumentBuilder, one_line
from memnet.loaders.web.html_table import Table, is_data_table, is_line
from memnet.loaders.web.html_tree import (
    BLOCKS,
    HEADINGS,
    HOLDS_HEADING,
    Element,
    flat_text,
    formula,
)

_SPACE = re.compile(r"\s+")
_SPACES = re.compile(r" {2,}")
_BREAK = re.compile(r" ?\n ?")
_GAP = re.compile(r"\n{2,}")
# Marks of where a word may be broken, and of nothing.
_UNSEEN = {ord(mark): None for mark in "\u00ad\u200b\u2060\ufeff\0"}
_EXPONENT = re.compile(r"[-+−]?\d+")
_FILE = re.compile(r"\S+\.\w{2,4}")
_NUMBER = re.compile(r"^(fig\w*|abb\w*|image|table)\W*\d[\d.]*\W*")
_CAPTIONS = frozenset("p figcaption caption b strong h1 h2 h3 h4 h5 h6 td th li dt dd".split())
_MAX_CAPTION = 300  # characters
_PREFORMATTED = frozenset({"pre", "listing", "xmp", "plaintext"})
_INDEX = frozenset({"index", "default", "readme"})
_MAX_NAME = 100  # characters of the name of a link's target


class BlockWriter:
    """Walks through an element, and adds the blocks that it holds."""

    def __init__(self, builder: DocumentBuilder, *, max_heading: int, budget: int) -> None:
        self._builder = builder
        self._max_heading = max_heading  # characters; a longer heading is a paragraph
        self._budget = budget  # characters that cells may repeat over all rows that they span
        self._parts: list[str] = []
        self._links: list[str] = []
        self._flat = 0  # number of open elements that are one line, whatever stands in them
        self._in_code = False
        self._quotes = 0
        # Of each open list item its bullet or number, until it is written.
        self._items: list[str] = []
        # Of each open list the number of its next item; None without numbers.
        self._numbers: list[int | None] = []
        self._terms: list[str] = []  # those that wait for their definition
        self._table: Table | None = None
        self._root: Element | None = None
        # What is not to be repeated as the description of an image, from the first one on.
        self._captions: set[str] | None = None
        self.titles: list[str] = []  # texts of the headings of the first level

    def write(self, root: Element) -> None:
        """Add all blocks of an element."""
        self._root = root
        open_elements: list[tuple[Iterator[Element | str], Iterator[None]]] = []
        open_elements.append((iter(root.children), iter(())))
        while open_elements:
            children, rest = open_elements[-1]
            for child in children:
                if isinstance(child, str):
                    self._parts.append(child if self._in_code else _SPACE.sub(" ", child))
                elif not child.dropped and not self._replace(child):
                    opened = (
                        self._block(child)
                        if child.tag in BLOCKS or child.get("role") == "heading"
                        else self._inline(child)
                    )
                    next(opened)
                    open_elements.append((iter(child.children), opened))
                    break
            else:
                open_elements.pop()
                next(rest, None)
        self._flush()

    def _replace(self, element: Element) -> bool:
        """Write an element that is not read child by child; False for any other."""
        tag = element.tag
        if tag == "br":
            self._parts.append("\n" if self._in_code or not self._flat else " ")
        elif tag == "img":
            self._picture(element)
        elif tag == "math":
            self._parts.append(formula(element))
        elif tag == "hr":
            self._flush()
        elif tag == "input" and is_task_box(element):
            self._parts.append("[x] " if "checked" in element.attributes else "[ ] ")
        else:
            return False
        return True

    def _picture(self, image: Element) -> None:
        if not image.get("alt") or self._root is None:
            return
        if self._captions is None:
            self._captions = captions(self._root)
        self._parts.append(description(image, self._captions))

    # An element's content is written where these functions yield.

    def _inline(self, element: Element) -> Iterator[None]:
        """Write an element within a line."""
        tag, after = element.tag, ""
        if tag == "a" and element.text:
            self._links += link_names(element)
        elif tag == "q":
            self._parts.append("“")
            after = "”"
        elif tag == "sup" and element.text <= 10 and not self._in_code:
            text = one_line(flat_text(element))
            if element.links and text.isalnum():  # a footnote
                self._parts.append("[")
                after = "]"
            elif _EXPONENT.fullmatch(text) and self._parts and self._parts[-1][-1:].isalnum():
                self._parts.append("^")
        yield
        if after:
            self._parts.append(after)

    def _block(self, element: Element) -> Iterator[None]:
        """Write an element with lines of its own."""
        tag = element.tag
        if self._flat:
            self._separate(element)
            yield
            if self._in_code:
                self._end_line()
            else:
                self._parts.append(" ")
            return
        self._flush()
        if tag in HEADINGS or element.get("role") == "heading":
            yield from self._heading(element)
        elif tag in _PREFORMATTED:
            yield from self._code()
        elif tag == "li" and element.holds & HOLDS_HEADING:  # a section, not an item
            self._define()
            yield
            self._flush()
        elif tag in ("li", "dd"):
            self._items.append(self._bullet(element) if tag == "li" else "")
            yield
            self._flush()
            self._define()
            self._items.pop()
        elif tag in ("ul", "ol", "dir", "menu"):
            self._define()
            self._numbers.append(_number(element, "start", 1) if tag == "ol" else None)
            yield
            self._flush()
            self._numbers.pop()
        elif tag == "dl":
            self._define()
            yield
            self._flush()
            self._define()
        elif tag in ("table", "tr", "td", "th"):
            yield from self._part_of_table(element)
        elif tag == "blockquote":
            self._define()
            self._quotes += 1
            yield
            self._flush()
            self._quotes -= 1
        elif tag == "dt":
            yield from self._flattened()
            text, self._links = self._take()
            if text:
                self._terms.append(text)
        elif tag in ("summary", "caption", "figcaption"):
            yield from self._one_line()
        else:
            yield
            self._flush()

    def _separate(self, element: Element) -> None:
        """Keep two blocks apart that stand in one line."""
        if self._in_code:
            self._end_line()
        elif element.tag == "li" and any(part.strip() for part in self._parts[-3:]):
            parent = element.parent
            first = next(parent.elements(), None) if parent is not None else None
            self._parts.append(" " if first is element else "; ")
        else:
            self._parts.append(" ")

    def _end_line(self) -> None:
        if self._parts and not self._parts[-1].endswith("\n"):
            self._parts.append("\n")

    def _flattened(self) -> Iterator[None]:
        """Write what is one line, for the caller to take."""
        self._flat += 1
        yield
        self._flat -= 1

    def _one_line(self) -> Iterator[None]:
        yield from self._flattened()
        self._flush()

    def _heading(self, element: Element) -> Iterator[None]:
        self._define()
        given = element.get("aria-level") if element.tag not in HEADINGS else element.tag[1:]
        level = int(given) if given.isascii() and given.isdigit() and len(given) == 1 else 2
        yield from self._flattened()
        text, links = self._take()
        if len(text) > self._max_heading:
            self._builder.add("paragraph", text, links=links)
            return
        self._builder.add("heading", text, level=max(1, level), links=links)
        if level == 1 and text:
            self.titles.append(text)

    def _code(self) -> Iterator[None]:
        self._define()
        self._in_code = True
        yield from self._flattened()
        self._in_code = False
        text = "".join(self._parts).translate(_UNSEEN).replace("\xa0", " ")
        self._parts.clear()
        self._builder.add("code", with_line_feeds(text), links=self._take_links())

    def _bullet(self, element: Element) -> str:
        if marker := element.get("data-marker"):  # as loaders of office documents give it
            return f"{marker} "
        number = self._numbers[-1] if self._numbers else None
        if number is None:
            return "- "
        number = _number(element, "value", number)
        self._numbers[-1] = number + 1
        style = element.parent.get("type") if element.parent is not None else ""
        if style in ("a", "A") and 0 < number <= 26:
            return f"{chr(ord(style) + number - 1)}. "
        return f"{number}. "

    def _part_of_table(self, element: Element) -> Iterator[None]:
        tag, table = element.tag, self._table
        if tag == "table":
            self._define()
            if is_data_table(element):
                self._table = table = Table(self._budget)
                yield
                table.write(self._builder)
                self._budget, self._table = table.budget, None
                self._flush()
                return
            in_line = is_line(element) and element.text <= _MAX_CAPTION
        elif table is not None and tag == "tr":
            parent = element.parent
            table.open_row(in_head=parent is not None and parent.tag == "thead")
            yield
            return
        elif table is not None:
            yield from self._flattened()
            table.add_cell(element, *self._take())
            return
        else:
            in_line = tag == "tr" and is_line(element)
        if in_line:
            yield from self._one_line()
        else:
            yield
            self._flush()

    def _define(self) -> None:
        """Write terms whose definition is not a line of text, or which have none."""
        terms, self._terms = self._terms, []
        for term in terms:
            self._put(term, self._take_links(), "item")

    def _flush(self) -> None:
        """Write the text so far as a block."""
        text, links = self._take()
        if not any(map(str.isalnum, text)):  # nothing, or what stood between links
            self._links = links if self._terms else []
            return
        if self._terms:
            term = ", ".join(self._terms)
            between = " " if term.endswith((":", "?", "!", ".")) else ": "
            text, self._terms = f"{term}{between}{text}", []
        for part in _GAP.split(text):
            self._put(part, links)

    def _put(self, text: str, links: list[str], kind: BlockKind = "paragraph") -> None:
        names = dict.fromkeys(links)
        if self._items:
            mark, self._items[-1] = self._items[-1], ""
            self._builder.add("item", mark + text, level=len(self._items) - 1, links=names)
        else:
            if self._quotes and kind == "paragraph":
                kind = "quote"
            self._builder.add(kind, text, links=names)

    def _take(self) -> tuple[str, list[str]]:
        text = _SPACES.sub(" ", "".join(self._parts).translate(_UNSEEN))
        self._parts.clear()
        return _BREAK.sub("\n", text).strip(), self._take_links()

    def _take_links(self) -> list[str]:
        links, self._links = self._links, []
        return links


def is_task_box(element: Element) -> bool:
    """Whether a check box says of an item if it is done; others belong to forms and menus."""
    above = element.parent
    if above is not None and above.tag in ("label", "p"):
        above = above.parent
    return element.get("type").lower() == "checkbox" and above is not None and above.tag == "li"


def captions(root: Element) -> set[str]:
    """The short texts of an element in which there may be images with descriptions."""
    texts: set[str] = set()
    pending = [root]
    while pending:
        element = pending.pop()
        if element.text <= _MAX_CAPTION and element.tag in _CAPTIONS:
            texts.add(_NUMBER.sub("", one_line(flat_text(element)).casefold()))
        else:
            pending += element.elements()
    return texts


def description(image: Element, known: set[str]) -> str:
    """The alternative text of an image, if it says something that no caption does."""
    text = one_line(image.get("alt"))
    if {"math", "tex", "latex"} & set(image.get("class").lower().replace("-", " ").split()):
        return f" {text} "
    # One or two words name an icon, a file or what the text says beside it.
    if text.count(" ") < 2 or _FILE.fullmatch(text) or text.casefold() in known:
        return ""
    known.add(text.casefold())
    return f" {text} "


def link_names(link: Element) -> list[str]:
    """Names of what a link within the same collection leads to."""
    try:
        target = urlsplit(link.get("href").strip())
        path = PurePosixPath(unquote(target.path))
    except ValueError:
        return []
    if target.scheme or target.netloc:
        return []
    stem = path.parent.name if path.stem.lower() in _INDEX else path.stem
    place = one_line(unquote(target.fragment).replace("-", " ").replace("_", " "))
    return [
        name
        for name in (stem, place)
        if len(name) <= _MAX_NAME and any(character.isalpha() for character in name)
    ]


def _number(element: Element, name: str, default: int) -> int:
    value = element.get(name).strip()
    return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else default
