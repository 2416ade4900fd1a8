"""Boilerplate removal: main content against navigation, advertisements and the site's tools.

Several signals decide, none of them of one site: what the author said (elements and roles), how
much of a part is links and where they lead, and the words that generators and themes use in names
of classes. A name alone never removes the greater part of a page.
"""

import re
from collections import defaultdict
from functools import lru_cache

from memnet.loaders.document import one_line
from memnet.loaders.web.html_tree import (
    HEADINGS,
    HOLDS_BLOCKS,
    HOLDS_HEADING,
    Element,
    flat_text,
    is_service,
)

_ANY_WORD = re.compile(r"\w+")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_HIDDEN_STYLE = re.compile(r"(^|;)\s*(display\s*:\s*none|visibility\s*:\s*hidden)", re.I)

_CHROME_ROLES = frozenset(
    "navigation search menu menubar toolbar dialog alertdialog doc-toc doc-pagelist".split()
)
_EDGE_ROLES = {"banner": "header", "contentinfo": "footer", "complementary": "aside"}
# Words in classes of an ``aside`` that belongs to the text.
_NOTES = frozenset(
    "admonition note notes tip hint warning caution important danger info callout example footnote"
    " footnotes endnote endnotes topic sidebar starlight".split()
)
# Of classes: no content, whatever is in it.
_CHROME_WORDS = frozenset(
    "breadcrumb breadcrumbs pagination pager cookie cookies consent gdpr skiplink skipnav"
    " headerlink editsection editlink printfooter catlinks noprint navheader navfooter docnav"
    " navbar sphinxsidebar searchbox searchform sharing newsletter masthead backtotop linenos"
    " lineno linenodiv lnt tocmobile hiddenprint dprintnone printonly advert advertisement"
    " comments commentlist respond recommended trending popular promo signup outbrain taboola"
    " sponsored".split()
)
# Of classes: no content if it is short, and not within what is.
_EDGE_WORDS = frozenset("footer copyright colophon generator generated legal".split())
# Of classes: no content if it is short.
_SHARE_WORDS = frozenset("share sharing social sharedaddy".split())
_EDGE_NAMES = frozenset({"footer", "titlearea", "projectname"})
_GENERATOR = re.compile(
    r"(this [a-z]+ )?(was )?(generated|produced|created|built|powered|made) (by|with|using|on)\b",
    re.I,
)
# Of classes and ids: no content if most of it is links.
_LINK_WORDS = frozenset(
    "nav navigation navi menu submenu sidebar sidenav topnav toc header footer foot"
    " related social share banner toolbar tabs navrow navpath crumb crumbs siblings"
    " subscribe gtoc".split()
)
# Elements whose names say something of their use. Those of others come from their words.
_NAMED = frozenset(
    "a address aside button div dl footer form header li ol p section small span table td"
    " ul".split()
)
_NO_REST = HEADINGS | {"title", "head", "html"}
_SHORT = 40
_LONG = 400  # characters: no bar with links to other pages has that many


def choose(elements: list[Element], *, whole: bool) -> Element:
    """Mark boilerplate as ``dropped``, and return the element that holds the content.

    ``whole``: leave out only what is hidden, as mails and books have no navigation around them.
    """
    body = next((found for found in elements if found.tag == "body"), elements[0])
    ignored = {id(element) for element in elements if element.dropped}
    for strictness in (0,) if whole else (2, 1, 0):
        for element in elements:
            element.dropped = id(element) in ignored
        _drop(elements, body, strictness)
        if _rest(elements) > _SHORT:
            break
        # Nothing but headings is left of a page of links, as an index is one.
    return body if whole else _main(elements, body)


def outer_title(elements: list[Element], root: Element, window: str) -> str:
    """The heading of the first level that stands above the content, and not in it.

    The title of the page's window tells it from the name of the site.
    """
    above = ""
    within: set[int] = set()
    for element in elements:
        if element is root or id(element.parent) in within:
            within.add(id(element))
        if element.tag != "h1" or not element.text:
            continue
        if id(element) in within:
            if not element.dropped:
                return ""
            continue
        text = one_line(flat_text(element))
        # The last one before the content: the first is often the name of the site.
        if text and text.casefold() in window.casefold() and not (above and within):
            above = text
    return above


def promote_title(root: Element, window: str) -> None:
    """Make the title of a page a heading, where its generator only gave it a class.

    The title of the page's window has most words of it.
    """
    words = set(_ANY_WORD.findall(window.casefold()))
    pending = [root]
    while pending:
        element = pending.pop()
        if element.dropped:
            continue
        if element.tag == "h1" and element.text:
            return
        names = element.get("class").lower().split()
        if element.tag in ("div", "p") and 0 < element.text <= _LONG and "title" in names:
            found = set(_ANY_WORD.findall(flat_text(element).casefold()))
            if len(found & words) * 2 >= max(len(found), 1) and not element.holds:
                element.tag = "h1"
                return
        pending += reversed(list(element.elements()))


def _kept(elements: list[Element]) -> dict[int, int]:
    """Characters that are not dropped, by the id of each element."""
    counts: defaultdict[int, int] = defaultdict(int)
    for element in reversed(elements):
        if not element.dropped and element.tag != "head":
            counts[id(element)] += element.own
            counts[id(element.parent)] += counts[id(element)]
    return counts


def _rest(elements: list[Element]) -> int:
    """Characters that are neither dropped nor in headings or the head."""
    return sum(
        element.own
        for element in elements
        if element.own and not element.dropped and element.tag not in _NO_REST
        if element.parent is None or element.parent.tag != "head"
    )


def _main(elements: list[Element], body: Element) -> Element:
    counts = _kept(elements)
    best, total = body, counts[id(body)]
    for element in elements:
        # The innermost one that holds most of the text.
        marked = element.tag in ("main", "article") or element.get("role") == "main"
        if marked and counts[id(element)] * 2 > total:
            best = element
    return best


def _drop(elements: list[Element], body: Element, strictness: int) -> None:
    """Mark what is hidden; from strictness 1 boilerplate too, from 2 lists of links."""
    above = bool(body.holds & HOLDS_HEADING)  # the first heading
    for element in elements:
        parent = element.parent
        if element.dropped or parent is None:
            continue
        if parent.dropped:
            element.dropped = True
            continue
        role = element.get("role").lower()
        element.inside = parent.inside or element.tag in ("main", "article") or role == "main"
        if element is body or element.tag in ("html", "head"):
            continue
        # A script that shows the page may be why it is hidden.
        most = element.text * 2 > body.text
        if _is_hidden(element) and not most:
            element.dropped = True
        elif strictness:
            element.dropped = _is_chrome(element, role, most=most) or (
                strictness > 1 and _is_list_of_links(element, body, role, above=above)
            )
            above &= element.dropped or element.tag not in HEADINGS
        elif element.tag == "a" and element.links:
            element.dropped = element.local > 0 and is_service(element)


def _is_hidden(element: Element) -> bool:
    attributes = element.attributes
    if not attributes:
        return False
    if "hidden" in attributes:
        return attributes["hidden"] != "until-found" and element.get("role") != "tabpanel"
    if attributes.get("aria-hidden") == "true" or attributes.get("role") == "doc-pagebreak":
        return True
    if attributes.get("epub:type") == "pagebreak":
        return True
    # Formulas are hidden beside their pictures, for screen readers.
    return bool(_HIDDEN_STYLE.search(element.get("style"))) and not any(
        child.tag == "math" for child in element.elements()
    )


def _is_chrome(element: Element, role: str, *, most: bool) -> bool:
    tag = _EDGE_ROLES.get(role, element.tag)
    if tag == "button":
        return element.parent is None or element.parent.tag not in (*HEADINGS, "summary", "dt")
    if element.tag == "a" and element.links and is_service(element):
        return True
    if most or not element.text:
        return False
    if tag in ("dialog", "search") or role in ("search", "dialog", "alertdialog", "toolbar"):
        return True
    words = _words(element.get("class")[:_LONG])
    if tag in ("header", "footer", "aside") and _is_edge(element, tag, words):
        return True
    if element.tag not in _NAMED:
        return False
    if _is_bar(element) or not _CHROME_WORDS.isdisjoint(words):
        return True
    if element.text < _LONG // 2 and not _SHARE_WORDS.isdisjoint(words):
        return True
    if element.inside or element.text > _LONG:
        return False
    if element.get("id").lower() in _EDGE_NAMES or not _EDGE_WORDS.isdisjoint(words):
        return True
    return element.links > 0 and bool(_GENERATOR.match(flat_text(element).strip()))


def _is_list_of_links(element: Element, body: Element, role: str, *, above: bool) -> bool:
    if element.tag == "nav" or role in _CHROME_ROLES:
        return True
    if element.tag not in _NAMED or not element.text or element.text * 2 > body.text:
        return False
    if _is_own_contents(element) or (above and _is_site_bar(element)):
        return True
    if element.linked * 2 < element.text or element.links < 2:
        return False
    row = element.parent
    if element.tag == "td" and row is not None and element.text * 4 < row.text:
        # A narrow column of a page's layout.
        listed = element.linked * 10 >= element.text * 7 and element.links > 4
        return listed and bool(element.holds & HOLDS_BLOCKS)
    words = _words(element.get("class")[:_LONG])
    if element.tag != "section":
        words |= _words(element.get("id")[:_LONG])
    return not _LINK_WORDS.isdisjoint(words)


def _is_edge(element: Element, tag: str, words: frozenset[str]) -> bool:
    linked = element.linked * 2 >= element.text
    parent = element.parent
    if tag == "aside":
        belongs = not words.isdisjoint(_NOTES) or element.get("role").startswith("doc-")
        return linked or not (belongs or element.inside)
    if tag == "footer":
        quoted = parent is not None and parent.tag in ("blockquote", "figure")
        return not quoted and words.isdisjoint(_NOTES)
    # A header with a heading that leads nowhere is that of the text, not that of the site.
    level = [element]
    for _ in range(5):
        if any(child.tag == "h1" and not child.links for child in level):
            return False
        outside = [child for child in level if child.tag not in HEADINGS]
        level = [child for parent in outside for child in parent.elements()]
    return linked or not element.inside


def _is_bar(element: Element) -> bool:
    """Whether most links of it lead to the previous page, the next, or the contents."""
    if element.links > 5 and element.text <= element.links * 2:
        return True  # the alphabet, or numbers of pages
    return (
        0 < element.moves * 2 >= element.links
        and element.text < _LONG
        and element.text - element.linked <= 20 + element.linked // 2
        and element.tag not in ("a", "span", "li", "td")
    )


def _is_site_bar(element: Element) -> bool:
    """Whether it is a row of links, as stands at the top of pages."""
    return (
        element.tag in ("div", "p", "table", "tr", "ul", "ol")
        and element.links > 1
        and element.text < _LONG
        and element.linked * 10 >= element.text * 6
        and not element.holds & HOLDS_HEADING
    )


def _is_own_contents(element: Element) -> bool:
    """Whether it lists what the page holds further down."""
    return (
        2 < element.links == element.local
        and element.linked * 10 >= element.text * 7
        and element.tag in ("ul", "ol", "div", "dl", "table", "p", "section")
    )


@lru_cache(1024)
def _words(names: str) -> frozenset[str]:
    """The words of names of classes, and each name without its hyphens."""
    words: set[str] = set()
    for name in names.split():
        found = [word.lower() for word in _WORD.findall(name)]
        words.update(found, ["".join(found)])
    return frozenset(words)
