"""Rules for markdown-it: what notes and documentation add to CommonMark and its tables.

Footnotes and definition lists are plugins of ``mdit_py_plugins``; here are links, embeds, callouts
and comments of Obsidian, formulas, admonitions of MkDocs, Docusaurus and MyST, and MDX.
"""

import re
from collections.abc import Callable
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, paragraph
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

from memnet.loaders.document import admonition_label

# Levels of quotes, lists and items within each other; what is deeper is one paragraph. The time
# that brackets without a link take grows with it.
_MAX_DEPTH = 20
_MAX_SCRIPT = 200  # lines of an import or export
_MAX_HEAD = 1000  # characters of a line that opens an admonition

_CONTAINER = re.compile(r":{3,}[ \t]*(.*)|/{3,}[ \t]*(.*)")
_CONTAINER_TITLE = re.compile(
    r"\{?\.?([A-Za-z][\w-]*)\}?[ \t]*(?:\|[ \t]*)?(?:\[([^\]]*)\]|([^{}\[\]]*))"
)
_DIRECTIVE = re.compile(r"(`{3,})\{([\w:-]+)\}[ \t]*(.*)")
_DIRECTIVES = frozenset(
    "admonition attention caution danger error hint important note seealso tip warning dropdown "
    "margin sidebar topic".split()
)
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?)[ \t]+([A-Za-z][\w -]*?)?[ \t]*(?:\"(.*)\"[ \t]*)?$")
_TAB = re.compile(r"===[!+]?[ \t]+\"(.*)\"[ \t]*$")
_IMPORT = re.compile(r"(?:import|export)\s[^\n]*\sfrom\s+['\"][^'\"\n]+['\"];?\s*$")
_SCRIPT = re.compile(r"(?:export\s+(?:const|default|function|let|async)|import\s*[\w{*'\"])\b")
_COMPONENT = re.compile(r"</?[A-Z][\w.]*|<(?:div|section|figure)\b[^>\n]*\bmarkdown\b")
_CALLOUT = re.compile(r"\[!([\w -]+)(?:\|[^\]\n]*)?\][+-]?[ \t]*([^\n]*)(?:\n|$)")
_BLOCK_ID = re.compile(r"(?:^|[ \t\n])\^[A-Za-z0-9-]+$")
_WIKI_LINK = re.compile(r"!?\[\[[^\[\]|\n]{1,1000}(?:\|[^\[\]\n]{0,1000})?\]\]")
_FORMULA = re.compile(r"\$\$[^$]{1,10000}\$\$|\$(?![\s$])[^$\n]{0,1000}(?<![\s\\])\$(?!\d)")
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,500}+\}){0,500}\}){0,1000}\}"
# Of HTML or a component, whose attributes may be expressions in braces.
_TAG = re.compile(
    r"</?(?:[A-Za-z][\w.:-]{0,100}(?:[^<>\"'{}]{1,500}+|\"[^\"]{0,2000}+\"|'[^']{0,2000}+'|"
    + _BRACES
    + r"){0,40})?>"
)
_COMMENTS = (("%%", "%%"), ("{/*", "*/}"))  # of Obsidian and of MDX
# Short codes of Hugo, tags of Jekyll.
_TEMPLATE = re.compile(r"\{\{[<%][^{}]{0,1000}[%>]\}\}|\{%[^{}]{0,1000}%\}")
# Of what stands before: "{#id}", "{ .class }", "{: key=value }".
_ATTRIBUTES = re.compile(
    r"\{:[^{}\n]{0,1000}\}|"
    r"\{[ \t]*(?:[.#][\w-]{1,100}|[\w-]{1,100}=(?:\"[^\"\n]{0,500}\"|[\w-]{1,100}))"
    r"(?:[ \t][^{}\n]{0,1000})?\}"
)
_ICON = re.compile(r":(?:material|fontawesome|octicons|simple)-[a-z0-9-]{1,100}:")
_STOPS = ["paragraph", "reference", "blockquote", "list"]


# Of marked text; what stands in code is taken first.
_HIGHLIGHT = re.compile(r"(`[^`\n]{1,500}`)|(?<![\w=])==(?=[^\s=])([^\n]{0,500}?[^\s=])==(?![\w=])")


@cache  # setting one up takes as long as parsing a short note
def make_parser(*, components: bool) -> MarkdownIt:
    """A parser of CommonMark, tables and what is said above.

    ``components``: whether the text is MDX, whose tags of HTML are those of components too.
    """
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _MAX_DEPTH + 4})
    parser.enable(["table", "strikethrough"])
    footnote_plugin(parser, inline=False, move_to_end=False)
    deflist_plugin(parser)
    block = parser.block.ruler
    block.before("table", "too_deep", _too_deep)
    for rule in (_comment, _container, _directive, _admonition):
        block.before("fence", rule.__name__, rule, {"alt": _STOPS})
    block.before("fence", "import", _import)
    block.before("html_block", "after_comment", _after_comment)
    block.before("html_block", "component", _component, {"alt": _STOPS})
    if components:
        # Indented text is not code, and Markdown stands between tags.
        parser.disable(["code", "html_block"])
        block.before("fence", "script", _script)
        block.before("component", "tag", _any_tag, {"alt": ["paragraph"]})
    inline = parser.inline.ruler
    inline.before("link", "wiki_link", _kept("wiki_link", ("[[", "![["), _WIKI_LINK))
    inline.before("wiki_link", "open_bracket", _open_bracket)
    inline.before("escape", "braces", _braces)
    inline.before("escape", "formula", _kept("formula", "$", _FORMULA))
    # Attributes of components are none that HTML would allow.
    inline.before("html_inline", "tag", _kept("html_inline", "<", _TAG))
    parser.core.ruler.after("block", "marks", _marks)
    return parser


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _starts(state: StateBlock, line: int, *texts: str) -> bool:
    return state.src.startswith(texts, state.bMarks[line] + state.tShift[line])


def _paragraph(state: StateBlock, text: str, first: int, end: int) -> None:
    state.push("paragraph_open", "p", 1).map = [first, end]
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = text, [first, end], []
    state.push("paragraph_close", "p", -1)


def _too_deep(state: StateBlock, start: int, end: int, _silent: bool) -> bool:
    if state.level < _MAX_DEPTH:
        return False
    state.line = line = max(_indented_end(state, start, end, state.blkIndent), start + 1)
    text = state.getLines(start, line, state.blkIndent, False).strip()
    _paragraph(state, text, start, line)
    return True


def _indented_end(state: StateBlock, line: int, end: int, indent: int) -> int:
    """The first line that is not indented that far."""
    while line < end and (state.isEmpty(line) or state.sCount[line] >= indent):
        line += 1
    return line


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Obsidian's: from a line with "%%" to the next."""
    if not _starts(state, start, "%%") or _line(state, start).count("%%") > 1:  # within the line
        return False
    for line in range(start + 1, end):
        if "%%" in _line(state, line):
            break
        if state.sCount[line] < state.blkIndent and not state.isEmpty(line):
            return False
    else:
        return False
    if not silent:
        state.line = line + 1
    return True


def _container(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    """Lines that open and close an admonition; what is between them is text like any other."""
    if not _starts(state, start, ":::", "///"):
        return False
    found = _CONTAINER.fullmatch(_line(state, start).rstrip())
    if found is None or state.is_code_block(start):
        return False
    if silent:
        return True
    state.line = start + 1
    head = (found[1] or found[2] or "").strip()
    title = _CONTAINER_TITLE.match(head)
    if title is not None:
        _head(state, start, title[1], (title[2] or title[3] or "").strip())
    return True


def _directive(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """MyST's: a fence with "{note} Title" whose content is Markdown; "{code-block}" is code."""
    if not _starts(state, start, "```") or state.is_code_block(start):
        return False
    found = _DIRECTIVE.match(_line(state, start))
    if found is None or found[2] not in _DIRECTIVES:
        return False
    if silent:
        return True
    close = start + 1
    while close < end and not _starts(state, close, found[1]):
        close += 1
    _head(state, start, found[2], found[3])
    body = start + 1
    while body < close and _starts(state, body, ":"):
        body += 1
    _nested(state, body, close, state.blkIndent)
    state.line = min(close + 1, end)
    return True


def _head(state: StateBlock, line: int, kind: str, title: str) -> None:
    """Title of an admonition, or its kind, which then begins its first paragraph."""
    if title:
        _paragraph(state, title, line, line + 1)
    else:
        state.push("label", "", 0).content = kind


def _admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """MkDocs' admonitions and tabs, with an indented body."""
    if not _starts(state, start, "!!!", "???", "==="):
        return False
    line = _line(state, start).rstrip()
    if state.is_code_block(start) or len(line) > _MAX_HEAD:
        return False
    if tab := _TAB.match(line):
        kind, title = "", tab[1]
    elif (found := _ADMONITION.match(line)) and (found[1] or found[2]):
        kind, title = (found[1] or "").split(" ")[0], found[2] or ""
    else:
        return False
    if silent:
        return True
    _head(state, start, kind, title)
    _indented(state, start + 1, end, state.sCount[start] + 4)
    return True


def _indented(state: StateBlock, start: int, end: int, indent: int) -> None:
    """Parse the lines from ``start`` on that are indented that far."""
    line = _indented_end(state, start, end, indent)
    if line <= start + 1 or not state.isEmpty(line - 1):
        while line < end and not state.isEmpty(line) and line > start and _lazy(state, line):
            line += 1  # a paragraph that goes on without indent
    _nested(state, start, line, indent)
    state.line = line


def _lazy(state: StateBlock, line: int) -> bool:
    """Whether a line can go on a paragraph."""
    rules = state.md.block.ruler.getRules("paragraph")
    return state.sCount[line] >= state.blkIndent and not any(
        rule(state, line, state.lineMax, True) for rule in rules
    )


def _nested(state: StateBlock, start: int, end: int, indent: int) -> None:
    old_indent, old_max, old_parent = state.blkIndent, state.lineMax, state.parentType
    state.blkIndent, state.lineMax, state.parentType = indent, end, "blockquote"
    state.level += 1
    state.md.block.tokenize(state, start, end)
    state.level -= 1
    state.blkIndent, state.lineMax, state.parentType = old_indent, old_max, old_parent


def _component(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Tags of a component alone on their lines, between which Markdown stands."""
    return (
        _starts(state, start, "<")
        and _COMPONENT.match(_line(state, start)) is not None
        and _any_tag(state, start, end, silent)
    )


def _after_comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A paragraph that starts with a comment, which would end with the comment's line."""
    if silent or not _starts(state, start, "<!--"):
        return False
    rest = _line(state, start).partition("-->")[2].strip()
    return bool(rest) and not rest.startswith("<") and paragraph(state, start, end, silent)


def _any_tag(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    if not _starts(state, start, "<"):
        return False
    begin = state.bMarks[start] + state.tShift[start]
    found = _TAG.match(state.src, begin)
    if found is None:
        return False
    line = start
    while state.eMarks[line] < found.end():
        line += 1
    if line >= state.lineMax or state.src[found.end() : state.eMarks[line]].strip():
        return False
    if not silent:
        state.line = line + 1
        kind = "component" if found[0][1:2].isupper() else "html_block"
        state.push(kind, "", 0).content = found[0]
    return True


def _script(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Imports and exports of MDX, up to an empty line."""
    if state.level or state.sCount[start] or not _SCRIPT.match(_line(state, start)):
        return False
    last, open_braces = start, 0
    while last < end and (open_braces > 0 or not state.isEmpty(last)):
        line = _line(state, last)
        open_braces += line.count("{") - line.count("}")
        last += 1
        if last - start > _MAX_SCRIPT:
            return False
    if not silent:
        state.line = last
    return True


def _import(state: StateBlock, start: int, _end: int, silent: bool) -> bool:
    """A line that imports a component, as not only MDX does, or the text of another file."""
    line = _line(state, start)
    if not (line.startswith("import ") and _IMPORT.match(line)) and not line.startswith("--8<--"):
        return False
    if not silent:
        state.line = start + 1
    return True


def _open_bracket(state: StateInline, silent: bool) -> bool:
    """One that nothing closes is text; the rule for links would look to the end from each."""
    src, position = state.src, state.pos
    if src[position] != "[":
        return False
    known = state.env.get("last_bracket")
    if known is None or known[0] is not src:
        known = state.env["last_bracket"] = (src, src.rfind("]"))
    if known[1] > position:
        return False
    if not silent:
        state.pending += "["
    state.pos += 1
    return True


def _kept(
    kind: str, opening: str | tuple[str, ...], pattern: re.Pattern[str]
) -> Callable[[StateInline, bool], bool]:
    """A rule for what stays as it stands, as nothing in it is markup."""

    def rule(state: StateInline, silent: bool) -> bool:
        if not state.src.startswith(opening, state.pos):
            return False
        found = pattern.match(state.src, state.pos)
        if found is None:
            return False
        if not silent:
            state.push(kind, "", 0).content = found[0]
        state.pos = found.end()
        return True

    return rule


def _braces(state: StateInline, _silent: bool) -> bool:
    """Comments, attributes, tags of templates and icons are not text."""
    src, position = state.src, state.pos
    for opening, closing in _COMMENTS:
        if src.startswith(opening, position):
            end = src.find(closing, position + len(opening))
            if end >= 0:
                state.pos = end + len(closing)
                return True
    found = None
    if src[position] == "{":
        found = _ATTRIBUTES.match(src, position) or _TEMPLATE.match(src, position)
    elif src[position] == ":":
        found = _ICON.match(src, position)
    if found is None:
        return False
    state.pos = found.end()
    return True


def _text(text: str, level: int) -> list[Token]:
    """A paragraph."""
    return [
        Token("paragraph_open", "p", 1, level=level, block=True),
        Token("inline", "", 0, level=level + 1, content=text, children=[]),
        Token("paragraph_close", "p", -1, level=level, block=True),
    ]


def _marks(state: StateCore) -> None:
    """Admonitions and callouts become paragraphs, and what is not text of a block goes.

    Headings within quotes and lists become paragraphs, as most are not headings of the document.
    """
    tokens, state.tokens = state.tokens, []
    label = ""  # the kind of an admonition, with which its first paragraph begins
    quotes: list[bool] = []  # of each open quote whether it is a callout
    numbers: list[int] = []  # next number of each open list
    for index, token in enumerate(tokens):
        if label and token.type not in ("paragraph_open", "inline"):
            state.tokens += _text(label, token.level)
            label = ""
        match token.type:
            case "label":
                label = admonition_label(token.content)
                continue
            case "blockquote_open":
                first = tokens[index + 2] if index + 2 < len(tokens) else token
                found = _CALLOUT.match(first.content) if first.type == "inline" else None
                quotes.append(found is not None)
                if found:
                    first.content = first.content[found.end() :]
                    if found[2]:
                        state.tokens += _text(found[2], token.level)
                    else:
                        label = admonition_label(found[1])
                    continue
            case "blockquote_close":
                if quotes.pop():
                    continue
            case "bullet_list_open" | "ordered_list_open":
                numbers.append(int(token.attrGet("start") or 1) if token.attrs else 1)
            case "bullet_list_close" | "ordered_list_close":
                numbers.pop()
            case "list_item_open" if token.info:
                token.attrSet("data-marker", f"{numbers[-1]}{token.markup}")
                numbers[-1] += 1
            case "paragraph_open" if numbers and state.tokens[-1].type == "paragraph_close":
                state.tokens[-1] = Token("break", "br", 0)  # an item is one block
                continue
            case "heading_open" | "heading_close" if token.level:
                token.tag = "p"
            case "inline":
                text = _HIGHLIGHT.sub(r"\1\2", _BLOCK_ID.sub("", token.content))
                if label and text:
                    named = text.lower().startswith(label.lower())
                    text, label = text if named else f"{label}: {text}", ""
                token.content = text
        state.tokens.append(token)
    if label:
        state.tokens += _text(label, 0)
