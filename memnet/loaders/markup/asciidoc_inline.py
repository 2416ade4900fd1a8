"""Markup within the text of AsciiDoc."""

import re
from collections.abc import Mapping
from html import unescape

from memnet.loaders.document import one_line
from memnet.loaders.markup.writing import anchor_name, image_text, link_names

_MAX_VALUE = 10_000
"""Characters of an attribute after the attributes in it are put in."""

_ATTRIBUTE = re.compile(r"(\\)?\{([A-Za-z0-9_][\w-]{0,100})\}")
_CHARACTERS = {
    "nbsp": " ", "sp": " ", "empty": "", "blank": "", "zwsp": "", "wj": "", "amp": "&", "lt": "<",
    "gt": ">", "quot": '"', "apos": "'", "startsb": "[", "endsb": "]", "vbar": "|", "caret": "^",
    "asterisk": "*", "tilde": "~", "backslash": "\\", "backtick": "`", "plus": "+",
    "two-colons": "::", "two-semicolons": ";;",
    "cpp": "C++", "ldquo": "“", "rdquo": "”", "lsquo": "‘", "rsquo": "’",
    "deg": "°", "litdd": "--",
}  # fmt: skip
_MARKUP = re.compile(
    r"(?P<pass>\+\+\+(?P<pass3>[^+]{1,2000})\+\+\+|(?<!\w)`\+(?P<literal>[^`]{1,2000}?)\+`(?!\w)|"
    r"pass:[a-z,]*\[(?P<passed>[^\]]{0,2000})\])"
    r"|(?P<index>\(\(\([^()]{1,500}\)\)\)|indexterm:\[[^\]]{0,500}\])"
    r"|\(\((?P<term>[^()]{1,500})\)\)(?!\))"
    r"|(?P<anchor>\[\[[\w:.,# -]{1,200}\]\]|anchor:[\w-]{1,100}\[[^\]]{0,200}\])"
    r"|<<(?P<cross>[^<>,\n]{1,300})(?:,(?P<cross_text>[^<>]{1,1000}))?>>"
    r"|(?P<url>(?:https?|ftp|irc|mailto):[^\s\[\]<>]{1,2000})(?:\[(?P<url_text>[^\]]{0,2000})\])?"
    r"|(?<![\w/])(?P<macro>[a-zA-Z][\w-]{0,30}):(?P<target>[^\s:\[\]][^\s\[\]]{0,500}|)"
    r"\[(?P<text>(?:[^\[\]\\]|\\.|\[[^\[\]]{0,200}\]){0,2000})\]"
    r"|(?<!\w)(?:\[[\w.#%, -]{1,100}\])?(?P<mark>\*\*|__|``|##|[*_`#])(?P<marked>\S|\S.{0,1000}?\S)"
    r"(?P=mark)(?![\w*_`#])"
    r"|(?P<wide>\*\*|__|``)(?P<widened>[^*_`\n]{1,1000})(?P=wide)"
    r"|(?<=[\w\])}])(?P<script>[\^~])(?P<scripted>[^\s^~]{1,100})(?P=script)"
    r"|\\(?P<escaped>[*_`#^~{\[<(:'\"])",
    re.DOTALL,
)
_OLD_QUOTES = re.compile(r"``([^`'\n]{1,200})''")
_CONTENT = frozenset({"footnote", "footnoteref", "kbd", "btn", "latexmath", "asciimath", "stem"})
_LINKS = frozenset({"xref", "link"})
_SILENT = frozenset({"icon", "video", "audio", "toc", "include", "indexterm2", "counter"})
_MAX_NESTED = 4


class InlineReader:
    """Reads texts of a document with its attributes."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self._attributes = attributes

    def expanded(self, text: str) -> str:
        """A text with the values of the attributes in it."""
        if "{" not in text:
            return text
        return _ATTRIBUTE.sub(self._value, text[:_MAX_VALUE])[:_MAX_VALUE] + text[_MAX_VALUE:]

    def read(self, source: str) -> tuple[str, list[str]]:
        """A text without its markup, and the names of what it links to."""
        links: list[str] = []
        text = self.expanded(source)
        if "``" in text:
            text = _OLD_QUOTES.sub(r'"\1"', text)
        text = self._read(text, links, 0)
        text = re.sub(r'"`|`"', '"', text) if '`"' in text or '"`' in text else text
        if "&" in text:
            text = unescape(text)
        return "\n".join(filter(None, map(one_line, text.split("\v")))), links

    def _value(self, found: re.Match[str]) -> str:
        name = found[2].lower()
        if found[1]:
            return found[0][1:]
        return self._attributes.get(name, _CHARACTERS.get(name, found[0]))

    def _read(self, text: str, links: list[str], depth: int) -> str:
        if depth > _MAX_NESTED:
            return text
        return _MARKUP.sub(lambda found: self._replaced(found, links, depth), text)

    def _replaced(self, found: re.Match[str], links: list[str], depth: int) -> str:
        if found["pass"]:
            return found["pass3"] or found["literal"] or found["passed"] or ""
        if found["index"] or found["anchor"]:
            return ""
        if found["marked"]:
            return self._read(found["marked"], links, depth + 1)
        if found["cross"]:
            return self._cross(found["cross"], found["cross_text"] or "", links, depth)
        if found["url"]:
            shown = (found["url_text"] or "").partition(",window=")[0].rstrip("^").strip('"')
            if found["url_text"] is None:
                return found["url"]
            return self._read(shown, links, depth + 1) or found["url"]
        if found["macro"]:
            return self._macro(found["macro"], found["target"], found["text"], links, depth)
        return found["term"] or found["widened"] or found["scripted"] or found["escaped"] or ""

    def _cross(self, target: str, shown: str, links: list[str], depth: int) -> str:
        """A reference within the document, or to another one."""
        names = link_names(target if "#" in target or "." in target else f"#{target}")
        links += names
        if shown:
            return self._read(shown.strip().strip('"'), links, depth + 1)
        return names[-1].lstrip("_ ") if names else target

    def _macro(self, name: str, target: str, text: str, links: list[str], depth: int) -> str:
        if name in _LINKS:
            if name == "xref" or not shown_of(text):
                return self._cross(target, shown_of(text), links, depth)
            links += link_names(target)
            return self._read(shown_of(text), links, depth + 1)
        if name == "image":
            return image_text(shown_of(text), target)
        if name == "menu":
            return " > ".join(filter(None, [target, *re.split(r"\s*>\s*", text)]))
        if name in _CONTENT or not target:
            shown = self._read(text, links, depth + 1)
            return f" ({shown})" if name.startswith("footnote") and shown else shown
        if name in _SILENT:
            return ""
        links.append(anchor_name(target))
        shown = shown_of(text)
        return f"{target}({shown})" if shown else target


def shown_of(text: str) -> str:
    """The text of a macro among its named attributes."""
    return re.sub(r"(?:^|,)\s*\w+=(?:\"[^\"]*\"|[^,]*)", "", text).strip().strip('"').rstrip("^")
