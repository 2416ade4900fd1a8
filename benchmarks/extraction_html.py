"""The main text of pages and books by lxml: generators' navigation is named by hand."""

import posixpath
import zipfile
from pathlib import Path
from urllib.parse import unquote

import lxml.etree
import lxml.html
import trafilatura

MAIN = (
    "//main",
    "//*[@role='main']",
    "//article",
    "//div[@id='page-content' or @id='apicontent' or @class='body' or @class='markdown-body']",
)
"""Where generators put the text of a page; the first that holds most of the text counts."""
AROUND = (
    # DocBook, Publican, gtk-doc, Boost
    "//*[@class='navheader' or @class='navfooter' or @class='reportbug' or @class='nav']",
    "//ul[starts-with(@class, 'docnav')] | //table[@class='navigation'] | //div[@class='footer']",
    "//body/table[.//a[.='Libraries'] and .//a[.='FAQ']] | //*[@class='copyright-footer']",
    "//div[@class='spirit-nav']",
    "//*[@role='navigation']",
    # Sphinx
    "//div[@class='related' or @class='nav' or @class='sphinxsidebar' or @class='mobile-nav']",
    "//div[@id='hd' or @id='sidebar' or @id='ft' or @id='docs-bottom-navigation']",
    "//div[@id='docs-top-navigation-container' or @id='fixed-sidebar']",
    "//div[@id='global-nav' or @class='nav_container'] | //*[@class='viewcode-link']",
    # Texinfo, LaTeX2HTML
    "//div[@class='header' and .//a[@rel]] | //table[@class='header'] | //div[@class='navigation']",
    "//div[@class='nav-panel'] | //*[contains(@class, 'navigation')]/following-sibling::hr",
    # Doxygen, Haddock, Javadoc
    "//span[@class='lineno'] | //div[@id='top' or @id='nav-path'] | //address[@class='footer']",
    "//div[@class='header']/div[@class='summary']",
    "//div[@id='package-header' or @id='footer' or @id='nav_flow']",
    "//a[@class='link' and .='Source'] | //a[@class='selflink']",
    "//div[@class='topNav' or @class='bottomNav' or @class='subNav'] | //p[@class='legalCopy']",
    # Apache, SQLite, Node.js, MkDocs, Markdown books
    "//*[@class='toplang' or @class='bottomlang' or @id='page-header' or @id='path']",
    "//div[@class='nosearch'] | //div[@id='column2'] | //table[@summary='Canned page header']",
    "//div[@id='tocframe'] | //*[@role='dialog']",
    "//div[@id='menu-bar'] | //nav | //*[@class='nav-chapters']",
    "//a[.='[src]' or .='Source' or .='Edit on GitHub' or .='Report a bug']",
)
"""What generators put around and into the text."""
OWN_CONTENTS = "//*[contains(@class, 'toc') or contains(@class, 'contents') or @id='toc']"
NO_TEXT = (
    "//script | //style | //noscript | //template | //button | //select | //input | //textarea"
    " | //svg | //object | //audio | //video | //rt | //rp | //annotation | //comment()"
    " | //*[@hidden] | //*[@aria-hidden='true']"
    " | //*[contains(concat(' ', @class, ' '), ' headerlink ')]"
)
BLOCKS = frozenset(
    "address article aside blockquote br caption dd div dl dt figcaption figure footer h1 h2 h3 h4"
    " h5 h6 header hr li main ol p pre section summary table td th tr ul".split()
)
PAGES = frozenset({"application/xhtml+xml", "text/html"})


def text_of(element: lxml.html.HtmlElement) -> str:
    """All text within an element, with white space between blocks."""
    parts: list[str] = []
    for event, node in lxml.etree.iterwalk(element, events=("start", "end")):
        between = " " if node.tag in BLOCKS else ""
        if event == "start":
            parts += [between, number_of(node), node.text or ""]
        else:
            parts += [between, (node.tail or "") if node is not element else ""]
    return "".join(parts)


def number_of(element: lxml.html.HtmlElement) -> str:
    """The number that is shown before an item of a list."""
    above = element.getparent()
    if element.tag != "li" or above is None or above.tag != "ol":
        return ""
    start = above.get("start", "1")
    number = int(start) if start.isdigit() else 1
    before = len(list(element.itersiblings("li", preceding=True)))
    return f"{element.get('value') or number + before}. "


def prune(tree: lxml.html.HtmlElement, query: str) -> None:
    """Remove elements with their text."""
    for element in tree.xpath(query):
        if element.getparent() is not None:
            element.drop_tree()


def length(text: str) -> int:
    """Characters that are not white space."""
    return len("".join(text.split()))


def html(path: Path) -> str:
    """The main text of a page: what a person would mark.

    Raises:
        ValueError: neither the page nor trafilatura says which it is.
    """
    data = path.read_bytes()
    tree = lxml.html.document_fromstring(data)
    prune(tree, NO_TEXT)
    before = length(text_of(tree.find("body")))
    for query in AROUND:
        prune(tree, query)
    for element in tree.xpath(OWN_CONTENTS):
        # A table of contents of the page itself says nothing that its headings do not.
        links = [link.get("href", "") for link in element.iter("a")]
        if links and all(link.startswith("#") for link in links) and not element.findall(".//p"):
            element.drop_tree()
    body = text_of(tree.find("body"))
    for query in MAIN:
        longest = max((text_of(element) for element in tree.xpath(query)), key=len, default="")
        if length(longest) * 2 > length(body):
            return longest
    linked = sum(length(link.text_content()) for link in tree.iter("a"))
    if length(body) < before or linked * 10 < length(body):
        return body  # of a generator named above, or a page without navigation
    text = trafilatura.extract(data, favor_recall=True, include_comments=False)
    if not text:
        raise ValueError("no main text")
    return str(text)


def epub(path: Path) -> str:
    """The text of all chapters of a book."""
    texts: list[str] = []
    with zipfile.ZipFile(path) as book:
        container = lxml.etree.fromstring(book.read("META-INF/container.xml"))
        package = container.xpath("string(//*[local-name()='rootfile']/@full-path)")
        tree = lxml.etree.fromstring(book.read(package))
        items = {item.get("id"): item for item in tree.xpath("//*[local-name()='item']")}
        for reference in tree.xpath("//*[local-name()='itemref']"):
            item = items[reference.get("idref")]
            if item.get("media-type") not in PAGES or "nav" in item.get("properties", ""):
                continue
            part = posixpath.join(posixpath.dirname(package), unquote(item.get("href")))
            page = lxml.etree.fromstring(
                book.read(posixpath.normpath(part)), lxml.etree.XMLParser(recover=True)
            )
            page = lxml.html.fromstring(lxml.etree.tostring(page, method="html"))
            prune(page, NO_TEXT)
            texts.append(text_of(page.find("body")))
    return "\n".join(texts)
