"""Rules for markdown-it within a text: links of notes, footnotes, formulas, comments, tags."""

import re

from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_CALLOUT = re.compile(r"\[!([\w -]+)(?:\|[^\]\n]*)?\][+-]?[ \t]*([^\n]*)(?:\n|$)")
_BLOCK_ID = re.compile(r"(?:^|[ \t\n])\^[A-Za-z0-9-]+$")
_WIKI_LINK = re.compile(r"!?\[\[([^\[\]|\n]{1,1000})(?:\|([^\[\]\n]{0,1000}))?\]\]")
_FOOTNOTE = re.compile(r"\[\^([^\]\s]{1,100})\]")
_FORMULA = re.compile(r"\$\$[^$]{1,10000}\$\$|\$(?![\s$])[^$\n]{0,1000}(?<![\s\\])\$(?!\d)")
_BRACES = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]{0,500}+\}){0,500}\}){0,1000}\}"
TAG = re.compile(
    r"</?(?:[A-Za-z][\w.:-]{0,100}(?:[^<>\"'{}]{1,500}+|\"[^\"]{0,2000}+\"|'[^']{0,2000}+'|"
    + _BRACES
    + r"){0,40})?>"
)
"""Of HTML or a component, whose attributes may be expressions in braces."""
_EXPRESSION_COMMENT = re.compile(r"\{/\*[^*]{0,1000}+(?:\*(?!/\})[^*]{0,1000}+){0,100}\*/\}")
_TEMPLATE = re.compile(r"\{\{[<%][^{}]{0,1000}[%>]\}\}|\{%[^{}]{0,1000}%\}")
"""Short codes of Hugo, tags of Jekyll."""
_ATTRIBUTES = re.compile(
    r"\{:[^{}\n]{0,1000}\}|"
    r"\{[ \t]*(?:[.#][\w-]{1,100}|[\w-]{1,100}=(?:\"[^\"\n]{0,500}\"|[\w-]{1,100}))"
    r"(?:[ \t][^{}\n]{0,1000})?\}"
)
"""Of what stands before: "{#id}", "{ .class }", "{: key=value }"."""
_ICON = re.compile(r":(?:material|fontawesome|octicons|simple)-[a-z0-9-]{1,100}:")


def open_bracket(state: StateInline, silent: bool) -> bool:
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


def wiki_link(state: StateInline, silent: bool) -> bool:
    """Links to notes, embeds, and references to footnotes."""
    src, position = state.src, state.pos
    if src.startswith("[[", position) or src.startswith("![[", position):
        found = _WIKI_LINK.match(src, position)
        if found is not None:
            if not silent:
                kind = "embed" if src[position] == "!" else "wiki_link"
                token = state.push(kind, "", 0)
                token.content, token.info = found[1], found[2] or ""
            state.pos = found.end()
            return True
    if src.startswith("[^", position):
        note = _FOOTNOTE.match(src, position)
        if note is not None and not src.startswith("(", note.end()):
            if not silent:
                state.push("footnote_ref", "", 0).content = note[1]
            state.pos = note.end()
            return True
    return False


def braces(state: StateInline, silent: bool) -> bool:
    """Comments, attributes, tags of templates and icons: no text."""
    del silent
    src, position = state.src, state.pos
    character = src[position]
    if character == "{":
        found = (
            _ATTRIBUTES.match(src, position)
            or _TEMPLATE.match(src, position)
            or _EXPRESSION_COMMENT.match(src, position)
        )
    elif character == ":":
        found = _ICON.match(src, position)
    elif src.startswith("%%", position):
        end = src.find("%%", position + 2)
        if end < 0:
            return False
        state.pos = end + 2
        return True
    else:
        return False
    if found is None:
        return False
    state.pos = found.end()
    return True


def formula(state: StateInline, silent: bool) -> bool:
    """Formulas as they stand: what looks like markup in them is none."""
    return state.src[state.pos] == "$" and _keep(state, silent, _FORMULA, "formula")


def inline_tag(state: StateInline, silent: bool) -> bool:
    """Tags of HTML and of components, whose attributes HTML would not allow."""
    return state.src[state.pos] == "<" and _keep(state, silent, TAG, "html_inline")


def _keep(state: StateInline, silent: bool, pattern: re.Pattern[str], kind: str) -> bool:
    """Make a token of what matches here, if anything does."""
    found = pattern.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push(kind, "", 0).content = found[0]
    state.pos = found.end()
    return True


def marks(state: StateCore) -> None:
    """Callouts become titles, and what marks a block at its end goes."""
    tokens = state.tokens
    for index, token in enumerate(tokens):
        if token.type != "inline":
            continue
        if "^" in token.content:
            token.content = _BLOCK_ID.sub("", token.content)
        if token.content.startswith("[!") and index > 1:
            _callout(tokens, index)


def _callout(tokens: list[Token], index: int) -> None:
    opening = tokens[index - 2]
    found = _CALLOUT.match(tokens[index].content)
    if opening.type == "blockquote_open" and found is not None:
        opening.meta = {"kind": found[1], "title": found[2]}
        tokens[index].content = tokens[index].content[found.end() :]
