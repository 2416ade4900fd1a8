"""Lines of a page joined into paragraphs, list items and code."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Literal

from memnet.loaders.document import FORM_LINE
from memnet.loaders.pdf.lines import Line

PartKind = Literal["heading", "paragraph", "item", "code", "table"]

BULLET = re.compile(r"[•◦▪●○■□‣⁃∙·–—▸►➢➤❖✓✔★*o+-](?=\s)\s*")
NUMBER = re.compile(
    r"(?:\d{1,3}[.)]|\(\d{1,3}\)|[a-z][.)]|\([a-z]\)|\([ivx]{1,5}\)|[ivx]{2,5}[.)])(?=\s)\s*"
)
_SENTENCE_END = re.compile(r"[.!?:;。！？…][\"'”’»)\]]*\d{0,2}$")
_CJK = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_LOWER = re.compile(r"[a-z]{4}")
_WORD_START = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010\u2011][^\W\d_]+)*")
# Where a line breaks inside of a word: after the dash of a range, in an address.
_BROKEN = re.compile(r"\w[–@]$|\w/$|://$|\w[&=]$")
_LAST_WORD = re.compile(r"[^\W\d_]+$")
_PUNCTUATION = ".,;:!?()[]{}<>\"'\u201c\u201d\u2018\u2019\u00ab\u00bb\u201e"
# What stands before a true hyphen of a code, a path or an address, and what after it; not a word
# with the number of a footnote.
_CODE_END = re.compile(r"[\d@/\\_=#&]|\w\.\w")
_CODE_START = re.compile(r"[^\W\d_]{0,3}\d|[\w.-]*[@_\\]|[\w./-]*\.[a-z]{2}")
_COMPOUND_END = re.compile(r"[^\W\d_][-\u2010\u2011][^\W\d_]+$")
_COMPOUND_START = re.compile(r"[^\W\d_]+[-\u2010\u2011][^\W\d_]")
# Words that are written with a hyphen, by how their parts begin.
_HYPHENATED = re.compile(
    r"self-(?!ish|less|same)|non-(?!sens|chal|pare)|co-o|(?:twen|thir|for|fif|six|seven|eigh|nine)ty-"
    r"|[^\W\d_]+-(?:in|up|on)$"
)
# Hyphenated before another word, and seldom the beginning of a word that ends like it.
_PREFIXES = frozenset("all anti co cross half multi quasi semi ultra vice well".split())
# After a hyphen that stands for a part of a word that follows: "pre- and post-war".
_SUSPENDED = re.compile(r"(?:and|und|oder|bis|sowie)\b")

_ENTRY = re.compile(r"(?:[.\u2026]\s?){2,}\s*(?:\d+|[ivxlc]+)$")
_NUMERALS = frozenset("0123456789ivxlc")
# How lines of a table of contents end, with dots and without.
_NUMBER_END = re.compile(r"[\s.\u2026](?:\d+|[ivxlc]+)$")

_INDENT = 0.7  # em: a line that begins further right than the one before is indented
# Lines further apart than this many times the usual distance belong to two paragraphs.
_LOOSE = 1.22
# Share by which the font sizes of a paragraph's lines differ, unless one has small capitals.
_SAME_SIZE = 0.12


@dataclass(slots=True)
class Part:
    """Lines of one page that belong together."""

    kind: PartKind
    lines: list[Line]
    level: int = 0
    rows: list[list[str]] = field(default_factory=list)  # of a table
    header: bool = False  # whether its first row names its columns
    label: str = ""  # bullet or number of an item


class Words:
    """The words of a document, by which hyphens at the ends of lines are judged."""

    def __init__(self, pages: Iterable[list[Line]]) -> None:
        self._count: Counter[str] = Counter()
        self._tokens: set[str] = set()
        for line in chain.from_iterable(pages):
            text = line.text.casefold()
            self._count.update(_WORD.findall(text))
            self._tokens.update(token.strip(_PUNCTUATION) for token in text.split())

    def keeps_hyphen(self, left: str, right: str) -> bool:
        """Whether what is broken after a hyphen, between two texts, is written with it.

        As the document writes it elsewhere. Else by what the parts look like: those of a code, an
        address, a name or a compound of several words have a true hyphen between them.
        """
        start, end = left.rsplit(None, 1)[-1], right.split(None, 1)[0]
        first = start.casefold().lstrip(_PUNCTUATION)
        second = end.casefold().rstrip(_PUNCTUATION)
        if (joined := first + second in self._tokens) != (f"{first}-{second}" in self._tokens):
            return not joined
        before, after = _LAST_WORD.search(left), _WORD_START.match(right)
        if before is None or after is None or _CODE_END.search(start) or _CODE_START.match(end):
            return True
        capitals = before[0].isupper(), after[0].isupper()
        if all(capitals):
            if min(len(before[0]), len(after[0])) == 1:
                return True
        elif after[0][0].isupper() or (capitals[0] and len(before[0]) > 1):
            return True
        one, other = before[0].casefold(), after[0].casefold()
        if self._count[one + other] or self._count[f"{one}-{other}"]:
            return self._count[f"{one}-{other}"] > self._count[one + other]
        if len(one) == 1 or _COMPOUND_END.search(start) or _COMPOUND_START.match(end):
            return True
        if _HYPHENATED.match(f"{one}-{other}"):
            return True
        # Two words more likely than the parts of one that stands nowhere else.
        word = one in _PREFIXES or (len(one) >= 4 and self._count[one] >= 2)
        return word and len(other) >= 4 and self._count[other] >= 2


def find_parts(lines: Sequence[Line]) -> list[Part]:
    """Parts of a page's lines, which are in reading order."""
    _find_edges(lines)
    parts: list[Part] = []
    for line in lines:
        if parts and _goes_on(parts[-1], line):
            parts[-1].lines.append(line)
        elif line.entry or line.mono:
            parts.append(Part("heading" if line.entry else "code", [line]))
        else:
            label = _label(line.text)
            parts.append(Part("item" if label else "paragraph", [line], label=label))
    return parts


def _label(text: str) -> str:
    found = BULLET.match(text) or NUMBER.match(text)
    return found[0] if found and found.end() < len(text) else ""


def _goes_on(part: Part, line: Line) -> bool:
    """Whether a line belongs to the part before it."""
    last = part.lines[-1]
    if line.entry is not last.entry or line.turn != last.turn:
        return False
    if part.kind == "heading":
        return True
    if not _same_size(last, line) and not _has_capitals(last, line):
        return False
    distance = last.base - line.base
    usual = last.leading
    if len(part.lines) > 1:
        usual = max(min(usual, part.lines[-2].base - last.base), last.size)
    if part.kind == "code" and _is_text(part, line, distance, usual):
        part.kind = "paragraph"
        return True
    if part.kind == "code":
        return line.mono and 0 < distance < 3 * usual
    if last.hyphen and distance < _LOOSE * usual:
        return True
    if distance <= 0.3 * last.size:  # a new column, or beside
        return goes_on_elsewhere(last, line) and line.left > last.right
    if distance > _LOOSE * usual or line.left > last.right or line.right < last.left:
        return False
    early = breaks_early(last, line)
    if line.bold != last.bold and early:
        return False
    if _label(line.text) and (early or part.kind == "item" or _ends(last)):
        return False
    return not (line.mono and early) and not _is_indented(part, last, line, early)


def _has_capitals(last: Line, line: Line) -> bool:
    """Whether a line looks smaller than the one it goes on with by its small capitals."""
    small, large = sorted((last, line), key=lambda one: one.size)
    looks_so = small.size > 0.7 * large.size and not _LOWER.search(small.text)
    return looks_so and not _ends(last) and not breaks_early(last, line)


def _same_size(last: Line, line: Line) -> bool:
    return abs(line.size - last.size) <= _SAME_SIZE * max(line.size, last.size)


def _is_text(part: Part, line: Line, distance: float, usual: float) -> bool:
    """Whether what looked like a line of code is one of a paragraph in which code is quoted."""
    last = part.lines[-1]
    return (
        len(part.lines) == 1
        and not line.mono
        and line.text[:1].islower()
        and 0 < distance < _LOOSE * usual
        and abs(line.left - last.left) < _INDENT * line.size
        and not breaks_early(last, line)
    )


def _is_indented(part: Part, last: Line, line: Line, early: bool) -> bool:
    """Whether a line begins a paragraph by where it begins."""
    indent = _INDENT * line.size
    shift = line.left - last.left
    if part.kind == "item":
        moved = shift < indent if len(part.lines) == 1 else abs(shift) > indent
        return early and _ends(last) and moved
    if shift > indent:
        return _ends(last) or (early and len(part.lines) > 1)
    if shift < -indent:
        return len(part.lines) > 1 or (early and _ends(last))
    return early and _ends(last)


def goes_on_elsewhere(last: Line, line: Line) -> bool:
    """Whether a line at the top of a column or page goes on with the last of the one before."""
    if line.mono != last.mono or not _same_size(last, line):
        return False
    if last.hyphen or _label(line.text) or _ends(last) or FORM_LINE.match(last.text):
        return last.hyphen
    return line.text[:1].islower() or (not breaks_early(last, line) and line.bold == last.bold)


def _ends(line: Line) -> bool:
    return _SENTENCE_END.search(line.text[-8:]) is not None


def breaks_early(last: Line, line: Line) -> bool:
    """Whether the first word of a line had fitted at the end of the one before."""
    return not last.hyphen and (_is_entry(last, line) or _free(last, line) > 0.3 * last.size)


def _free(last: Line, line: Line) -> float:
    """The width that remains at the end of a line with the first word of the next."""
    word = line.text.split(" ", 1)[0]
    return last.edge - last.right - (len(word) + 1) * line.advance


def _is_entry(last: Line, line: Line) -> bool:
    """Whether a line ends an entry of a table of contents."""
    if last.text[-1] not in _NUMERALS or not _NUMBER_END.search(last.text[-8:]):
        return False
    return bool(_ENTRY.search(last.text[-20:]) or _ENTRY.search(line.text[-20:]))


def _breaks(last: Line, line: Line) -> bool:
    """Whether the break between two lines of a paragraph is meant, as in an address."""
    # Between lines that are not spread to one width, some end early by chance.
    long = 0.2 * (last.edge - last.left)
    return breaks_early(last, line) and (_is_entry(last, line) or _free(last, line) > long)


def _find_edges(lines: Sequence[Line]) -> None:
    """Find the right edge of each line's column: as far as a line of those around it reaches."""
    for index, line in enumerate(lines):
        line.edge = line.right
        for other in lines[max(0, index - 12) : index + 13]:
            if (
                other.right > line.edge
                and abs(other.left - line.left) < 4 * line.size
                and abs(other.size - line.size) < 0.2 * line.size
            ):
                line.edge = other.right


def find_leading(pages: Sequence[list[Line]]) -> None:
    """Find the usual distance between lines of each font size, in half points."""
    seen: dict[int, Counter[int]] = {}
    for line, other in chain.from_iterable(map(pairwise, pages)):
        distance = line.base - other.base
        if 0.9 * line.size < distance < 2.5 * line.size and abs(line.size - other.size) < 0.5:
            seen.setdefault(round(line.size * 2), Counter())[round(distance * 4)] += 1
    usual = {size: counts.most_common(1)[0][0] / 4 for size, counts in seen.items()}
    for line in chain.from_iterable(pages):
        line.leading = usual.get(round(line.size * 2), 1.2 * line.size)


def join_lines(lines: Sequence[Line], words: Words) -> str:
    """The text of a paragraph; lines that end early keep their line break."""
    parts = [lines[0].text]
    form = 2 * sum(FORM_LINE.match(line.text) is not None for line in lines) >= max(3, len(lines))
    breaks = [
        _breaks(last, line) or (form and not line.text[0].islower())
        for last, line in pairwise(lines)
    ]
    if sum(breaks) == len(breaks) - 1 >= 2:  # what follows on the longest line seems not to fit
        breaks = [True] * len(breaks)
    for (last, line), meant in zip(pairwise(lines), breaks, strict=True):
        before = parts[-1]
        printed = before.endswith(("-", "\u2010")) and before[-2:-1].isalnum()
        if last.hyphen or printed:
            hyphen, stem = ("-", before) if last.hyphen else (before[-1], before[:-1])
            if _SUSPENDED.match(line.text):
                hyphen += " "
            elif not words.keeps_hyphen(stem, line.text):
                hyphen = ""
            parts[-1] = stem + hyphen
        elif not (
            _BROKEN.search(before[-4:]) or (_CJK.match(before[-1]) and _CJK.match(line.text[0]))
        ):
            parts.append("\n" if meant else " ")
        parts.append(line.text)
    if lines[-1].hyphen:
        parts.append("-")
    return "".join(parts)


def join_code(lines: Sequence[Line]) -> str:
    """The text of code, with its indentation and empty lines."""
    left = min(line.left for line in lines)
    widths = sorted(line.advance for line in lines if len(line.text) > 2)
    width = widths[len(widths) // 2] if widths else 0.6 * lines[0].size
    rows: list[str] = []
    for number, line in enumerate(lines):
        if number and lines[number - 1].base - line.base > 1.6 * line.leading:
            rows.append("")
        indent = round((line.left - left) / width) if width > 0 else 0
        hyphen = "-" if line.hyphen else ""
        rows.append(" " * min(indent, 120) + line.text + hyphen)
    return "\n".join(rows)
