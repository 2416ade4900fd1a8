"""AsciiDoc, as Asciidoctor reads it, with the two-line titles of older files."""

import re
from collections.abc import Iterator, Sequence

from memnet.errors import Problem
from memnet.io import decode
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.markup.asciidoc_inline import InlineReader, shown_of
from memnet.loaders.markup.asciidoc_tables import table_rows
from memnet.loaders.markup.writing import (
    MarkupWriter,
    admonition_label,
    image_text,
    link_names,
)

_TITLE = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)")
_UNDERLINES = "=-~^+"
_ATTRIBUTE = re.compile(r":(!?[A-Za-z0-9_][\w-]*!?):(?:\s+(.*))?$")
_BLOCK_ATTRIBUTES = re.compile(r"\[(.*)\]$")
_BLOCK_TITLE = re.compile(r"\.(?![\s.])(.+)")
_BLOCK_MACRO = re.compile(r"([a-z][\w-]*)::(\S*?)\[(.*)\]$")
_ITEM = re.compile(r"\s*(\*{1,20}|-|\.{1,20}|\d{1,9}\.|[a-zA-Z]\.|<(?:\d+|\.)>|•)\s+(\S.*)")
_TERM = re.compile(r"\s*(\S.{0,500}?)(:{2,4}|;;)(?:\s+(\S.*)|\s*)$")
_ADMONITION = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):\s+(\S.*)")
_KINDS = frozenset({"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"})
_CODE = re.compile(r"(-{4,}|\.{4,}|`{3,})(\w*)$")
_TABLE = re.compile(r"[|,:!]={3,}$")
_TRANSPARENT = re.compile(r"(={4,}|\*{4,}|--)$")
_QUOTE = re.compile(r"_{4,}$")
_SKIPPED = re.compile(r"(/{4,}|\+{4,})$")
_RULE = re.compile(r"(?:'{3,}|<{3,}|(?:-\s?){3}|(?:\*\s?){3})$")
_CONDITION = re.compile(r"(?:ifdef|ifndef|ifeval|endif)::\S*\[.*\]$")
_MAX_TERMS = 20
"""That share a text."""
_METADATA = {
    "author": "author", "authors": "author", "revdate": "date", "date": "date",
    "description": "description", "keywords": "keywords", "revnumber": "version",
    "email": "email", "lang": "language",
}  # fmt: skip


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text without its markup; attributes of its header are metadata."""
    text = decode(file.data).replace("\r\n", "\n").replace("\r", "\n")
    writer = MarkupWriter(file)
    _Reader(writer, [line.rstrip() for line in text.split("\n")]).read()
    yield writer.finish()


class _Context:
    """Lists that are open, in a document or in a block in it."""

    def __init__(self, closing: str) -> None:
        self.closing = closing
        """The line that ends it."""
        self.markers: list[str] = []
        """Of the lists that are open."""
        self.numbers: list[int] = []
        self.is_quote = False


class _Reader:
    def __init__(self, writer: MarkupWriter, lines: Sequence[str]) -> None:
        self._writer = writer
        self._lines = lines
        self._at = 0
        self._attributes: dict[str, str] = {}
        self._inline = InlineReader(self._attributes)
        self._style = ""
        """What stands between brackets above the block that comes."""
        self._contexts = [_Context("")]
        self._attached = False
        """Whether a line "+" ties the block that comes to the item before it."""
        self._terms = 0
        """How many terms wait for the text that they share."""
        self._after_blank = True

    def read(self) -> None:
        """Add all blocks."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line:
                self._at += 1
                self._after_blank = True
                continue
            self._block(line)
            self._after_blank = False
        while len(self._contexts) > 1:
            self._close_context()
        self._close_lists()

    def _block(self, line: str) -> None:
        following = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        if self._delimited(line):
            return
        if line.startswith("//") or _CONDITION.match(line) or _RULE.match(line):
            self._at += 1
        elif line == "+":
            self._at += 1
            self._attached = True
        elif attribute := _ATTRIBUTE.match(line):
            self._set(attribute[1], attribute[2] or "")
        elif (title := _TITLE.fullmatch(line)) and self._style != "discrete":
            self._heading(title[2], len(title[1]))
            self._at += 1
        elif _is_two_line_title(line, following) and not self._closes(following):
            self._heading(line, _UNDERLINES.index(following[0]) + 1)
            self._at += 2
        elif macro := _BLOCK_MACRO.match(line):
            self._at += 1
            self._macro(macro[1], macro[2], macro[3])
        elif (found := _BLOCK_ATTRIBUTES.match(line)) and not line.startswith("[."):
            self._at += 1
            self._style = self._style if line.startswith("[[") else found[1]
            if line.startswith("[[") and not len(self._writer.builder):
                self._writer.names.append(line.strip("[]").partition(",")[0])
        elif found := _BLOCK_TITLE.fullmatch(line):
            self._at += 1
            self._leave_lists()
            self._writer.paragraph(*self._inline.read(found[1]))
        else:
            self._text(line)

    def _closes(self, line: str) -> bool:
        """Whether a line ends a block that is open."""
        return any(context.closing == line for context in self._contexts)

    # Delimited blocks

    def _delimited(self, line: str) -> bool:
        if code := _CODE.match(line):
            self._begin_block()
            content = self._until(code[1])
            if self._style.startswith("verse"):
                self._paragraph(content)
            else:
                self._writer.code("\n".join(content))
        elif _SKIPPED.match(line):
            self._begin_block()
            self._until(line)
        elif _TABLE.match(line):
            self._begin_block()
            self._table(self._until(line), line[0])
        elif _TRANSPARENT.match(line) or _QUOTE.match(line):
            self._at += 1
            if self._closes(line):
                while self._contexts[-1].closing != line:
                    self._close_context()
                self._close_context()
                return True
            self._begin_block()
            self._contexts.append(_Context(line))
            if _QUOTE.match(line) or self._style.startswith(("quote", "verse")):
                self._contexts[-1].is_quote = True
                self._writer.quotes += 1
            elif self._style.split(",")[0] in _KINDS:
                self._writer.label(admonition_label(self._style.split(",")[0]))
        else:
            return False
        self._style = ""
        return True

    def _until(self, closing: str) -> list[str]:
        """The lines of a block, to its end or that of the text."""
        start = self._at = self._at + 1
        while self._at < len(self._lines) and self._lines[self._at] != closing:
            self._at += 1
        self._at += 1
        return list(self._lines[start : self._at - 1])

    def _close_context(self) -> None:
        self._close_lists()
        context = self._contexts.pop()
        self._writer.quotes -= context.is_quote
        self._writer.end_label()

    def _begin_block(self) -> None:
        """Leave the lists unless the block is tied to them."""
        if not self._attached:
            self._leave_lists()
        self._attached = False

    # Lists

    def _leave_lists(self) -> None:
        if self._after_blank and not self._attached:
            self._close_lists()

    def _close_lists(self, keep: int = 0) -> None:
        context = self._contexts[-1]
        while len(context.markers) > keep:
            context.markers.pop()
            context.numbers.pop()
            self._writer.close_item()
        self._writer.end_label()

    def _open_item(self, marker: str) -> None:
        context = self._contexts[-1]
        kind = "1." if marker[0].isdigit() else "a." if marker[0].isalpha() else marker
        kind = "<>" if marker[0] == "<" else kind
        number = 1
        if kind in context.markers:
            place = context.markers.index(kind)
            number = context.numbers[place] + 1
            self._close_lists(place)
        context.markers.append(kind)
        context.numbers.append(number)
        is_number = kind[0] in "1a<."
        self._writer.open_item(f"{number}." if is_number else "-")

    def _term(self, term: str, mark: str, text: str) -> None:
        context = self._contexts[-1]
        shown, links = self._inline.read(term)
        if self._in_term() and context.markers[-1] == mark and self._terms < _MAX_TERMS:
            self._terms += 1
            above = self._writer.take_label()
            self._writer.label(f"{above}, {shown}", links)
            self._text_of_term(text)
            return
        self._terms = 1
        if mark in context.markers:
            self._close_lists(context.markers.index(mark))
        context.markers.append(mark)
        context.numbers.append(0)
        self._writer.open_item("")
        self._writer.label(shown, links)
        self._text_of_term(text)

    def _text_of_term(self, text: str) -> None:
        if text:
            self._paragraph([text, *self._rest_of_paragraph()])

    # Text

    def _text(self, line: str) -> None:
        style, self._style = self._style.split(",")[0], ""
        if item := _ITEM.fullmatch(line):
            self._at += 1
            self._open_item(item[1])
            self._attached = False
            self._paragraph([item[2], *self._rest_of_paragraph()])
        elif term := _TERM.fullmatch(line):
            self._at += 1
            self._attached = False
            self._term(term[1], term[2], term[3] or "")
        elif line[0] in " \t" and not self._in_term():
            self._literal()
        else:
            self._at += 1
            tied, self._attached = self._attached or self._in_term(), False
            if self._after_blank and not tied:
                self._close_lists()
            admonition = _ADMONITION.fullmatch(line)
            if admonition or style in _KINDS:
                self._writer.label(admonition_label(admonition[1] if admonition else style))
            lines = [admonition[2] if admonition else line.strip(), *self._rest_of_paragraph()]
            if style in ("source", "listing", "literal"):
                self._writer.code("\n".join(lines))
                return
            self._writer.quotes += style in ("quote", "verse")
            self._paragraph(lines)
            self._writer.quotes -= style in ("quote", "verse")

    def _in_term(self) -> bool:
        """Whether the last thing was a term, whose text comes on lines of its own."""
        return self._writer.has_label and bool(self._contexts[-1].markers)

    def _literal(self) -> None:
        """Lines that are indented: code."""
        start = self._at
        while self._at < len(self._lines) and self._lines[self._at]:
            if self._lines[self._at] == "+" or _ITEM.fullmatch(self._lines[self._at]):
                break
            self._at += 1
        self._at = max(self._at, start + 1)
        lines = self._lines[start : self._at]
        margin = min(len(line) - len(line.lstrip()) for line in lines)
        self._writer.code("\n".join(line[margin:] for line in lines))

    def _rest_of_paragraph(self) -> Iterator[str]:
        """The further lines of a paragraph."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line or line == "+" or _ends_paragraph(line):
                return
            if self._contexts[-1].markers and (_ITEM.fullmatch(line) or _TERM.fullmatch(line)):
                return
            self._at += 1
            if not line.startswith("//") and not _CONDITION.match(line):
                yield line.strip()

    def _paragraph(self, lines: Sequence[str]) -> None:
        text = " ".join(f"{line[:-2]}\v" if line.endswith(" +") else line for line in lines)
        self._writer.paragraph(*self._inline.read(text))

    # The rest

    def _heading(self, text: str, level: int) -> None:
        while len(self._contexts) > 1 and not self._contexts[-1].closing.startswith("="):
            self._close_context()
        self._close_lists()
        self._style = ""
        opens = not len(self._writer.builder) and not self._writer.title
        self._writer.heading(*self._swapped(self._inline.read(text), level))
        if opens and level == 1:
            self._header()

    @staticmethod
    def _swapped(read: tuple[str, list[str]], level: int) -> tuple[str, int, list[str]]:
        return read[0], level, read[1]

    def _header(self) -> None:
        """Author and revision below the title."""
        at = self._at + 1
        if self._lines[self._at][:1] not in "=#":
            at += 1
        names = self._lines[at : at + 1]
        if names and re.match(r"[\w.' -]+(?:<[^<>]*>)?(?:;|$)", names[0]) and names[0]:
            self._writer.metadata["author"] = re.sub(r"\s*<[^<>]*>", "", names[0]).strip()
            revision = self._lines[at + 1] if at + 1 < len(self._lines) else ""
            skipped = 1
            if re.match(r"v?\d", revision):
                skipped = 2
                found = re.search(r"\d{4}-\d{2}-\d{2}", revision)
                if found:
                    self._writer.metadata["date"] = found[0]
            self._at += skipped

    def _set(self, name: str, value: str) -> None:
        self._at += 1
        while value.endswith(("\\", " +")) and self._at < len(self._lines):
            value = value.rstrip("\\+").rstrip() + " " + self._lines[self._at].strip()
            self._at += 1
        name = name.lower()
        if name.startswith("!") or name.endswith("!"):
            self._attributes.pop(name.strip("!"), None)
            return
        value = self._inline.expanded(value)
        self._attributes[name] = value
        if name in _METADATA and value and not len(self._writer.builder):
            self._writer.metadata.setdefault(_METADATA[name], value)

    def _macro(self, name: str, target: str, text: str) -> None:
        if name == "include":
            self._writer.builder.add_links(link_names(self._inline.expanded(target)))
            return
        self._begin_block()
        if name == "image":
            self._writer.paragraph(image_text(shown_of(text.partition(",")[0]), target))
        elif name not in ("toc", "video", "audio") and text:
            self._writer.paragraph(*self._inline.read(text))

    def _table(self, lines: Sequence[str], separator: str) -> None:
        header: list[str] = []
        for cells, is_header in table_rows(lines, separator, self._style):
            read = [self._inline.read(cell) for cell in cells]
            texts = [text for text, _ in read]
            header = texts if is_header else header
            links = [name for _, names in read for name in names]
            self._writer.row(texts, header, is_header=is_header, links=links)


def _is_two_line_title(line: str, following: str) -> bool:
    return (
        len(following) >= 3
        and following[0] in _UNDERLINES
        and following == following[0] * len(following)
        and abs(len(following) - len(line)) <= 2
        and any(character.isalnum() for character in line)
        and line[0] not in ".[ "
        and not _ITEM.fullmatch(line)
    )


def _ends_paragraph(line: str) -> bool:
    return bool(
        _CODE.match(line)
        or _TABLE.match(line)
        or _TRANSPARENT.match(line)
        or _QUOTE.match(line)
        or _SKIPPED.match(line)
        or (line[0] == "[" and re.fullmatch(r"\[(?:\[[^\]]*\]|[A-Za-z#.%][^\]]*)\]", line))
    )
