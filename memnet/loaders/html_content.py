"""What of a page is its content, and what navigation, advertisement or a tool of the site.

Several signals decide, none of them of one site: what the author said (elements and roles), how
much of a part is links and where they lead, and the words that generators and themes use in names
of classes. A name alone never removes the greater part of a page.
"""

import re

from memnet.loaders.document import one_line
from memnet.loaders.html_tree import HEADINGS, Element, flat_text, is_service

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_HIDDEN_STYLE = re.compile(r"(^|;)\s*(display\s*:\s*none|visibility\s*:\s*hidden)", re.I)

_CHROME_ROLES = frozenset(
    "navigation search menu menubar toolbar dialog alertdialog doc-toc doc-pagelist".split()
)
_EDGE_ROLES = {"banner": "header", "contentinfo": "footer", "complementary": "aside"}
_NOTES = frozenset(
    "admonition note notes tip hint warning caution important danger info callout example footnote"
    " footnotes endnote endnotes topic sidebar starlight".split()
)
"""Words in classes of an ``aside`` that belongs to the text."""
_CHROME_WORDS = frozenset(
    "breadcrumb breadcrumbs pagination pager cookie cookies consent gdpr skiplink skipnav"
    " headerlink editsection editlink printfooter catlinks noprint navheader navfooter navbar"
    " sphinxsidebar searchbox searchform sharing newsletter masthead backtotop linenos lineno"
    " linenodiv lnt tocmobile hiddenprint dprintnone printonly advert advertisement".split()
)
"""Of classes: no content, whatever is in it."""
_LINK_WORDS = frozenset(
    "nav navigation navi menu submenu sidebar sidenav topnav toc header footer foot top bottom"
    " related social share banner toolbar tabs navrow navpath index mini crumb crumbs siblings"
    " actions tools subscribe widget links contents".split()
)
"""Of classes and ids: no content if most of it is links."""
_NAMED = frozenset(
    "a div dl footer form header ol p section span table td ul small li button aside".split()
)
"""Elements whose names say something of their use. Those of others come from their words."""
_LONG = 400
"""Characters: no bar with links to other pages has that many."""


def choose(elements: list[Element], *, whole: bool) -> Element:
    """Mark as ``dropped`` what is no content, and return the element that holds the content.

    Args:
        elements: of ``parse``; some are marked.
        whole: leave out only what is hidden, as mails and books have no navigation around them.
    """
    body = next((found for found in elements if found.tag == "body"), elements[0])
    ignored = [element for element in elements if element.dropped]
    _drop(elements, body, whole=whole, strict=True)
    if not whole and _rest(elements) < 40:
        # A page of links alone: an index.
        for element in elements:
            element.dropped = False
        for element in ignored:
            element.dropped = True
        _drop(elements, body, whole=whole, strict=False)
    return body if whole else _main(elements, body)


def outer_title(elements: list[Element], root: Element, window: str) -> str:
    """The heading of the first level that stands above the content, and not in it.

    Args:
        elements: all of the page.
        root: what holds its content.
        window: the title of the page's window, which tells it from the name of the site.
    """
    above = ""
    within = {id(root)}
    for element in elements:
        if id(element.parent) in within:
            within.add(id(element))
        if element.tag != "h1" or not element.text:
            continue
        if id(element) in within:
            if not element.dropped:
                return ""
            continue
        text = one_line(flat_text(element))
        if not above and text and text.casefold() in window.casefold():
            above = text
    return above


def kept(elements: list[Element]) -> dict[int, int]:
    """Characters that are not dropped, by the id of each element that has some."""
    counts: dict[int, int] = {}
    for element in reversed(elements):
        if element.dropped or element.tag == "head":
            continue
        count = counts.get(id(element), 0) + sum(
            len("".join(child.split())) for child in element.children if isinstance(child, str)
        )
        if not count:
            continue
        counts[id(element)] = count
        if element.parent is not None:
            counts[id(element.parent)] = counts.get(id(element.parent), 0) + count
    return counts


def _rest(elements: list[Element]) -> int:
    """Characters that are neither dropped nor in headings."""
    return sum(
        len("".join(child.split()))
        for element in elements
        if not element.dropped and element.tag not in HEADINGS and not _in_head(element)
        for child in element.children
        if isinstance(child, str)
    )


def _in_head(element: Element) -> bool:
    return element.tag in ("title", "head", "html") or (
        element.parent is not None and element.parent.tag == "head"
    )


def _main(elements: list[Element], body: Element) -> Element:
    counts = kept(elements)
    best, total = body, counts.get(id(body), 0)
    for element in elements:
        # The innermost one that holds most of the text.
        marked = element.tag in ("main", "article") or element.get("role") == "main"
        if marked and counts.get(id(element), 0) * 2 > total:
            best = element
    return best


def _drop(elements: list[Element], body: Element, *, whole: bool, strict: bool) -> None:
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
        elif not whole:
            element.dropped = _is_chrome(element, role, most=most, strict=strict)
        elif element.tag == "a" and element.links:
            element.dropped = element.local > 0 and is_service(element)


def _is_hidden(element: Element) -> bool:
    attributes = element.attributes
    if not attributes:
        return False
    if "hidden" in attributes:
        return attributes["hidden"] != "until-found" and element.get("role") != "tabpanel"
    if attributes.get("aria-hidden") == "true":
        return True
    return bool(_HIDDEN_STYLE.search(element.get("style"))) and not _holds_formula(element)


def _holds_formula(element: Element) -> bool:
    """Formulas are hidden beside their pictures, for screen readers."""
    return any(child.tag == "math" for child in element.elements())


def _is_chrome(element: Element, role: str, *, most: bool, strict: bool) -> bool:
    tag = _EDGE_ROLES.get(role, element.tag)
    if tag == "button":
        return element.parent is None or element.parent.tag not in (*HEADINGS, "summary", "dt")
    if tag in ("dialog", "search") or role in ("search", "dialog", "alertdialog", "toolbar"):
        return not most
    if element.tag == "a" and element.links and is_service(element):
        return True
    if strict and (tag == "nav" or role in _CHROME_ROLES):
        return True
    linked = element.linked * 2 >= element.text > 0
    words = _words(element.get("class"))
    if tag in ("header", "footer", "aside") and not most and _is_edge(element, tag, words, linked):
        return True
    if not strict or element.tag not in _NAMED or not element.text:
        return False
    if _is_bar(element) or _is_own_contents(element):
        return not most
    if not _CHROME_WORDS.isdisjoint(words):
        return not most
    if linked and element.links > 1:
        if element.tag != "section":
            words |= _words(element.get("id"))
        return not _LINK_WORDS.isdisjoint(words) and not most
    return False


def _is_edge(element: Element, tag: str, words: set[str], linked: bool) -> bool:
    parent = element.parent
    if tag == "aside":
        belongs = not words.isdisjoint(_NOTES) or element.get("role").startswith("doc-")
        return linked or not (belongs or element.inside)
    if tag == "footer":
        quoted = parent is not None and parent.tag in ("blockquote", "figure")
        return not quoted and words.isdisjoint(_NOTES)
    # A header with a heading that leads nowhere is that of the text, not that of the site.
    return not any(
        heading.tag == "h1" and not heading.links for heading in _headings_within(element)
    ) and (linked or not element.inside)


def _headings_within(element: Element) -> list[Element]:
    found, pending = [], [(element, 0)]
    while pending:
        current, depth = pending.pop()
        if current.tag in HEADINGS:
            found.append(current)
        elif depth < 4:
            pending += [(child, depth + 1) for child in current.elements()]
    return found


def _is_bar(element: Element) -> bool:
    """Whether most links of it lead to the previous page, the next, or the contents."""
    return (
        0 < element.moves * 2 >= element.links
        and element.text < _LONG
        and element.text - element.linked <= 20 + element.linked // 2
        and element.tag not in ("a", "span", "li", "td")
    )


def _is_own_contents(element: Element) -> bool:
    """Whether it lists what the page holds further down."""
    return (
        2 < element.links == element.local
        and element.linked * 10 >= element.text * 7
        and element.tag in ("ul", "ol", "div", "dl", "table", "p", "section")
    )


def _words(names: str) -> set[str]:
    """The words of names of classes, and each name without its hyphens."""
    words: set[str] = set()
    for name in names.split()[:20]:
        found = [word.lower() for word in _WORD.findall(name[:100])]
        words.update(found, ["".join(found)])
    return words
