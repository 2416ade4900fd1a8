"""reStructuredText by docutils, which is told how to read the directives and roles of Sphinx."""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.parsers.rst import Directive, directives, roles

from memnet.errors import InputError, Problem
from memnet.io import decode
from memnet.loaders.document import (
    DocumentBuilder,
    ParsedDocument,
    admonition_label,
    image_text,
    one_line,
    path_name,
)
from memnet.loaders.formats import SourceFile
from memnet.loaders.web import html

_SETTINGS = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "halt_level": 5,  # never
    "report_level": 5,  # nothing
    "line_length_limit": 1_000_000,
    "doctitle_xform": False,
    "docinfo_xform": False,
    "initial_header_level": 1,
    "strip_comments": True,
    "footnote_backlinks": False,
    "toc_backlinks": False,
    "embed_stylesheet": False,
    "stylesheet_path": None,
    "syntax_highlight": "none",
    "math_output": "LaTeX",
    "output_encoding": "unicode",
}
_RECURSION = 5_000  # calls within each other: docutils needs some 30 for each level of a list
_CODE = frozenset(
    "code code-block sourcecode parsed-literal literal-block prompt doctest testcode testsetup "
    "testoutput productionlist math ipython ipython3 jupyter-execute plot terminal cli".split()
)
_SILENT = frozenset(
    "include literalinclude raw contents sectnum section-numbering meta highlight default-role "
    "index module currentmodule program tabularcolumns sectionauthor codeauthor moduleauthor "
    "title graphviz digraph graph uml mermaid testcleanup autosummary inheritance-diagram todolist "
    "bibliography default-domain tags local-toc sitemap video youtube header footer".split()
)
_ARGUMENT_IS_NO_TEXT = frozenset(
    "only ifconfig ifnotconfig container class rst-class cssclass grid tab-set tabs grid-item "
    "compound hlist glossary align pull-quote highlights epigraph".split()
)
# Directives and roles that docutils itself reads as is meant here.
_OF_DOCUTILS = frozenset(
    "replace unicode date role table csv-table list-table line-block emphasis strong literal sub "
    "subscript sup superscript title-reference t pep-reference rfc-reference".split()
)
_DIRECTIVE = re.compile(
    r"^\s*\.\.\s+(?:\|[^|\n]+\|\s+)?([A-Za-z][\w:+.-]*?)\s?::(?:\s|$)", re.MULTILINE
)
_ROLE = re.compile(r":([A-Za-z][\w:+.-]*):`|`:([A-Za-z][\w:+.-]*):")
# An empty one would mean none.
_ANY_OPTIONS: dict[str, Callable[[str], Any]] = defaultdict(
    lambda: directives.unchanged, {"class": directives.unchanged}
)
_LABEL = re.compile(r"\.\. _(?![\s_])`?([^:`\n]+)`?:\s*")
_TITLED = re.compile(r"(.*?)\s*<([^<>]*)>\Z", re.DOTALL)
_ADMONITION_TITLE = re.compile(r'<p class="admonition-title">([^<>]*?):?</p>\s*<p>')
_NUMBERED = {"pep": "PEP ", "rfc": "RFC ", "bpo": "bpo-", "cve": "CVE "}
_VERSIONS = frozenset("versionadded versionchanged versionremoved deprecated".split())


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text without its markup; fields in front of it are metadata."""
    text = decode(file.data).replace("\0", "\ufffd")
    entries: list[str] = []  # documents that its tables of contents name
    for name in {found.lower() for found in _DIRECTIVE.findall(text)} - _OF_DOCUTILS:
        directives.register_directive(name, _directive(name, entries))
    for name in {"".join(found).lower() for found in _ROLE.findall(text)} - _OF_DOCUTILS:
        roles.register_local_role(name, _role)
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(_RECURSION)
    try:
        tree = publish_doctree(text, settings_overrides=_SETTINGS)
        _clean(tree)
        title, metadata = _front(tree)
        markup = publish_from_doctree(tree, writer="html5", settings_overrides=_SETTINGS)
    except RecursionError as error:
        raise InputError("is nested too deep to be read; flatten it") from error
    finally:
        sys.setrecursionlimit(usual)
    builder = DocumentBuilder()
    markup = _ADMONITION_TITLE.sub(r"<p>\1: ", markup)
    html.add(builder, markup, whole=True, max_heading=file.max_title)
    builder.add_links(filter(None, map(path_name, entries)))
    yield file.document(builder, title[: file.max_title], metadata, _labels(text))


def _clean(tree: nodes.document) -> None:
    """Write what docutils has complaints about as the author did."""
    for message in list(tree.findall(nodes.system_message)):
        code = [child for child in message.children if isinstance(child, nodes.literal_block)]
        is_text = not any(child.astext().lstrip().startswith(".. auto") for child in code)
        message.parent.replace(message, code if is_text else [])
    for problem in list(tree.findall(nodes.problematic)):
        text = problem.astext()
        shown = text.strip("`*|_ ")
        link = nodes.reference(shown, shown, refuri=f"#{quote(shown)}")
        is_link = text.endswith("_") and shown
        problem.parent.replace(problem, link if is_link else nodes.Text(shown))
    for kind in list(tree.findall(nodes.classifier)):
        item: Any = kind.parent
        item[0].append(nodes.Text(f" : {kind.astext()}"))  # to the term
        item.remove(kind)
    for verses in list(tree.findall(nodes.line_block)):
        if verses.parent is not None:
            paragraph = nodes.paragraph()
            for line in verses.findall(nodes.line):
                paragraph.extend([*line.children, nodes.raw("", "<br>", format="html")])
            verses.parent.replace(verses, paragraph)
    for image in list(tree.findall(nodes.image)):
        text = image_text(image.get("alt", ""), image.get("uri", ""))
        image.parent.replace(image, nodes.inline(text, text) if text else [])


def _front(tree: nodes.document) -> tuple[str, dict[str, str]]:
    """Take the title and the fields that a document begins with out of it."""
    title = ""
    metadata: dict[str, str] = {}
    parent: nodes.Element = tree
    at = 0
    while at < len(parent):
        child = parent[at]
        if isinstance(child, nodes.section) and not title:
            parent, at = child, 0
        elif isinstance(child, nodes.title):
            title = one_line(child.astext())
            parent.remove(child)
        elif isinstance(child, nodes.field_list):
            for field in child.children:
                name, body = field.children
                if value := one_line(body.astext()):
                    metadata[name.astext().lower()] = value
            parent.remove(child)
        elif isinstance(child, (nodes.target, nodes.comment, nodes.substitution_definition)):
            at += 1
        else:
            break
    return title, metadata


def _labels(text: str) -> Iterator[str]:
    """Names by which other documents refer to this one: the labels that it begins with."""
    for line in text.splitlines():
        if found := _LABEL.fullmatch(line):
            yield found[1]
        elif line.strip() and not line.startswith((".. ", " ", ":")):
            return


def _directive(name: str, entries: list[str]) -> type[Directive]:
    """A reader of a directive that docutils does not know, or is too strict about."""
    last = name.rpartition(":")[2]

    class Lenient(Directive):
        optional_arguments = 1
        final_argument_whitespace = True
        option_spec = _ANY_OPTIONS
        has_content = True

        def run(self) -> list[nodes.Node]:
            return _run(self, name, last, entries)

    return Lenient


def _run(given: Directive, name: str, last: str, entries: list[str]) -> list[nodes.Node]:
    arguments = [line.strip() for line in " ".join(given.arguments).split("\n") if line.strip()]
    content = list(given.content)
    if last in _CODE:
        code = arguments if last == "math" else arguments[1:]
        text = "\n".join([*code, *content])
        return [nodes.literal_block(text, text)] if text.strip() else []
    if name in _SILENT or last in ("module", "currentmodule"):
        return []
    if last == "toctree":
        for line in content:
            titled = _TITLED.fullmatch(line.strip())
            entries.append(titled[2] if titled else line)
        return []
    if last in ("image", "figure"):
        text = image_text(given.options.get("alt", ""), " ".join(arguments))
        if isinstance(given.state_machine.node, nodes.substitution_definition) and text:
            return [nodes.Text(text)]
        return [*([nodes.paragraph("", text)] if text else []), *_nested(given)]
    if last.startswith("auto") and not content:
        return []
    label = admonition_label(last)
    if last in _VERSIONS:
        version, _, text = " ".join(arguments).partition(" ")
        since = " since version" if last == "deprecated" else ""
        label, arguments = f"{label}{since} {version}", [text] if text else []
    if label:
        return _labelled(given, f"{label}: ", " ".join(arguments))
    if last in _ARGUMENT_IS_NO_TEXT:
        return _nested(given)
    if last in ("rubric", "centered", "admonition", "topic", "sidebar"):
        return [_paragraph(given, " ".join(arguments)), *_nested(given)]
    if not arguments:
        return _nested(given)
    if not content:
        return [_paragraph(given, argument) for argument in arguments]
    terms = [nodes.term("", "", nodes.Text(argument.replace("\\", ""))) for argument in arguments]
    definition = nodes.definition_list_item("", *terms, nodes.definition("", *_nested(given)))
    return [nodes.definition_list("", definition)]


def _nested(given: Directive) -> list[nodes.Node]:
    """The content of a directive."""
    holder = nodes.Element()
    given.state.nested_parse(given.content, given.content_offset, holder, match_titles=True)
    return list(holder.children)


def _paragraph(given: Directive, text: str) -> nodes.paragraph:
    inline, _messages = given.state.inline_text(text, given.lineno)
    return nodes.paragraph(text, "", *inline)


def _labelled(given: Directive, label: str, argument: str) -> list[nodes.Node]:
    """The content of an admonition, whose first paragraph begins with its kind."""
    content: list[nodes.Node] = [_paragraph(given, argument)] if argument else []
    content += _nested(given)
    if not content or not isinstance(content[0], nodes.paragraph):
        content.insert(0, nodes.paragraph())
    first: Any = content[0]
    first.insert(0, nodes.Text(label if len(first) else label.rstrip(": ")))
    return content


def _role(
    role: str,
    _raw: str,
    text: str,
    _line: int,
    _inliner: Any,
    options: Mapping[str, Any] | None = None,  # noqa: ARG001  docutils passes them by name
    content: Any = None,  # noqa: ARG001
) -> Any:
    """What a reader sees of a role of Sphinx, and where it leads."""
    text = nodes.unescape(text)
    given = _TITLED.fullmatch(text)
    shown, target = (given[1], given[2]) if given else ("", text)
    last = role.lower().rpartition(":")[2]
    address = ""
    if last in ("doc", "download"):
        shown, address = shown or path_name(target), quote(target)
    elif last in ("ref", "any", "term", "numref"):
        words = target if last == "term" or " " in target else re.sub("[-_]", " ", target)
        shown, address = shown or words, f"#{quote(target)}"
    elif last in _NUMBERED:
        shown = shown or _NUMBERED[last] + target.partition("#")[0]
    elif last in ("index", "raw", "label"):
        return [], []
    elif last in ("menuselection", "guilabel"):
        shown = re.sub("&(?!&)", "", text.replace("-->", ">"))
    elif last in ("math", "samp", "code", "kbd", "literal", "file", "command", "abbr"):
        return [nodes.literal(text, text)], []
    elif not shown:
        shown = target.rpartition(".")[2] if target.startswith("~") else target.lstrip("!.")
    if address:
        return [nodes.reference(shown, shown, refuri=address)], []
    return [nodes.inline(shown, shown)], []
