"""Markup within the text of reStructuredText."""

import re
from collections.abc import Mapping

from memnet.loaders.document import one_line
from memnet.loaders.markup.writing import anchor_name, link_names, path_name

_MARKUP = re.compile(
    r"\\(?P<escaped>.?)"
    r"|``(?P<literal>[^`](?:[^`]|`(?!`)){0,5000}?)``(?!`)"
    r"|(?P<role>:[A-Za-z][\w:+.-]{0,100}:)?`(?P<text>[^`\\]+(?:\\.[^`\\]*)*)`"
    r"(?P<after>__?|:[A-Za-z][\w:+.-]{0,100}:)?"
    r"|(?<![\w*])\*\*(?=\S)(?P<strong>[^*]{1,2000}?)(?<=\S)\*\*(?![\w*])"
    r"|(?<![\w*])\*(?=[^\s*])(?P<emphasis>[^*]{1,2000}?)(?<=\S)\*(?![\w*])"
    r"|\|(?P<name>[^|\s](?:[^|\n]{0,200}[^|\s])?)\|_{0,2}"
    r"|(?<![\w\]])\[(?P<note>[#*]?[\w.-]{0,100})\]_(?!\w)"
    r"|(?<!\w)(?P<reference>[^\W_](?:[\w.+-]{0,200}[^\W_])?)__?(?!\w)",
    re.DOTALL,
)
_TARGET = re.compile(r"(.*?)\s*<([^<>]*)>\Z", re.DOTALL)
_NUMBERED = {"pep": "PEP", "rfc": "RFC", "bpo": "bpo-", "cve": "CVE"}
_DOCUMENTS = frozenset({"doc", "download"})
_LABELS = frozenset({"ref", "any", "term", "numref", "std:ref", "std:term"})
_NO_TEXT = frozenset({"index", "raw", "label"})


class InlineReader:
    """Reads texts of a document with its substitutions and the targets of its references."""

    def __init__(self, substitutions: Mapping[str, str], targets: Mapping[str, str]) -> None:
        self._substitutions = substitutions
        self._targets = targets

    def read(self, source: str) -> tuple[str, list[str]]:
        """A text without its markup, and the names of what it links to."""
        links: list[str] = []
        if not re.search(r"[\\`*|_]", source):
            return one_line(source), links
        text = _MARKUP.sub(lambda found: self._replaced(found, links), source)
        return one_line(text), links

    def _replaced(self, found: re.Match[str], links: list[str]) -> str:
        kind = found.lastgroup
        if kind in ("text", "after"):
            role = found["role"] or (found["after"] if found["after"] not in ("_", "__") else "")
            text = re.sub(r"\\(.)", r"\1", found["text"])
            if role:
                return _role_text((role or "").strip(":").lower(), text, links)
            return self._reference(text, links) if found["after"] else text
        if kind == "escaped":
            return found["escaped"].strip()
        if kind == "name":
            name = found["name"]
            if name in self._substitutions:
                return self._substitutions[name]
            return name if re.fullmatch(r"[\w.-]+", name) else found[0]
        if kind == "note":
            note = found["note"]
            return "" if note[:1] in ("", "#", "*") or note.isdigit() else f"[{note}]"
        if kind == "reference":
            return self._reference(found["reference"], links)
        return found[kind] if kind else ""

    def _reference(self, text: str, links: list[str]) -> str:
        """Text of a reference to a target of the document, or with an address of its own."""
        given = _TARGET.fullmatch(text)
        shown, target = (given[1] or given[2], given[2]) if given else (text, "")
        if not target:
            target = self._targets.get(one_line(shown).lower(), "")
        links += link_names(target) if target else [one_line(shown)]
        return shown


def _role_text(role: str, text: str, links: list[str]) -> str:
    given = _TARGET.fullmatch(text)
    shown, target = (given[1], given[2]) if given else ("", text)
    last = role.rpartition(":")[2]
    if last in _DOCUMENTS:
        links += link_names(target)
        return shown or path_name(target)
    if role in _LABELS:
        links.append(anchor_name(target))
        is_term = last == "term"
        return shown or (target if is_term or " " in target else anchor_name(target))
    if last in _NUMBERED:
        label = _NUMBERED[last]
        return shown or f"{label}{'' if label.endswith('-') else ' '}{target.partition('#')[0]}"
    if last in _NO_TEXT:
        return ""
    if last in ("menuselection", "guilabel"):
        return text.replace("-->", ">").replace("&&", "\0").replace("&", "").replace("\0", "&")
    if last in ("math", "samp", "code", "kbd", "literal", "file", "command", "abbr"):
        return text
    if target.startswith("~"):
        target = target.rpartition(".")[2]
    return shown or target.lstrip("!~.")
