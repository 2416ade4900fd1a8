"""reStructuredText, with the directives and roles of Sphinx."""

import re
from collections.abc import Iterator, Sequence

from memnet.errors import Problem
from memnet.io import decode
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.markup.rst_inline import InlineReader
from memnet.loaders.markup.rst_tables import GRID, SIMPLE, Row, csv_rows, grid_rows, simple_rows
from memnet.loaders.markup.writing import MarkupWriter, admonition_label, image_text, link_names

_MAX_DEPTH = 20
"""Levels of lists, quotes and directives within each other; what is deeper is one paragraph."""
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*$")
_BULLET = re.compile(r"([*+•‣⁃-])(?:\s+|$)")
_NUMBER = re.compile(r"(\(?(?:\d{1,9}|#|[A-Za-z]|[ivxlcdmIVXLCDM]{1,9})[.)])(?:\s+|$)")
_FIELD = re.compile(r":(?![:\s])([^:\n]{1,200}(?<!\s)(?::[^:\s][^:\n]{0,200})?):(?:\s+|$)")
_OPTION = re.compile(
    r"((?:--?|/)[\w?][\w-]*(?:[ =][<\w][\w<>.|-]*)?"
    r"(?:, (?:--?|/)[\w?][\w-]*(?:[ =][<\w][\w<>.|-]*)?)*)(?:\s{2,}|$)"
)
_EXPLICIT = re.compile(r"\.\.(?:\s+|$)")
_DIRECTIVE = re.compile(r"(?:\|([^|]+)\|\s+)?([A-Za-z][\w:+.-]*?)\s?::(?:\s+|$)")
_TARGET = re.compile(r"_(?![\s_])(`[^`]+`|(?:\\.|[^:\\]|:(?!\s|$))+):(?:\s+|$)(.*)")
_NOTE = re.compile(r"\[([#*]?[\w.-]*)\](?:\s+|$)")
_LIST_ROW = re.compile(r"([*-]\s+)[*-](?:\s|$)")

_CODE = frozenset(
    "code code-block sourcecode parsed-literal literal-block prompt doctest testcode testsetup "
    "testoutput productionlist math ipython ipython3 jupyter-execute plot terminal cli".split()
)
_SILENT = frozenset(
    "include literalinclude raw contents sectnum section-numbering meta highlight default-role "
    "role index module currentmodule program tabularcolumns sectionauthor codeauthor moduleauthor "
    "title graphviz digraph graph uml mermaid testcleanup autosummary inheritance-diagram todolist "
    "bibliography default-domain tags local-toc sitemap video youtube".split()
)
_ARGUMENT_IS_NO_TEXT = frozenset(
    "only ifconfig ifnotconfig container class rst-class cssclass grid tab-set tabs grid-item "
    "compound list-table table csv-table hlist glossary align line-block pull-quote highlights "
    "epigraph sidebar-only availability-only".split()
)


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text without its markup; fields in front of it are metadata."""
    text = decode(file.data).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    lines = [line.rstrip() for line in text.expandtabs(8).split("\n")]
    writer = MarkupWriter(file)
    _Reader(writer, lines).read(lines, 0)
    yield writer.finish()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _dedented(lines: Sequence[str]) -> list[str]:
    """Lines without their common indent, and without empty ones around them."""
    margin = min((_indent(line) for line in lines if line), default=0)
    first = next((n for n, line in enumerate(lines) if line), len(lines))
    last = next((n for n in range(len(lines), 0, -1) if lines[n - 1]), 0)
    return [line[margin:] for line in lines[first:last]]


class _Reader:
    """Reads blocks of lines, by indent."""

    def __init__(self, writer: MarkupWriter, lines: Sequence[str]) -> None:
        self._writer = writer
        self._styles: list[str] = []
        """Adornments of headings, the highest first."""
        substitutions: dict[str, str] = {}
        self._targets: dict[str, str] = {}
        for line in lines:
            stripped = line.lstrip()
            if not stripped.startswith(".. "):
                continue
            rest = stripped[3:].lstrip()
            if (found := _DIRECTIVE.match(rest)) and found[1] and found[2] == "replace":
                substitutions[found[1]] = rest[found.end() :]
            elif target := _TARGET.match(rest):
                self._targets[target[1].strip("`").lower()] = target[2].strip()
        self._number = 0
        """Of the last item that is numbered automatically in the list that is open."""
        self._inline = InlineReader(substitutions, self._targets)

    def read(self, lines: Sequence[str], depth: int) -> None:
        """Add the blocks of lines that start at the margin."""
        if depth > _MAX_DEPTH:
            self._paragraph(" ".join(lines))
            return
        at = 0
        while at < len(lines):
            at = self._block(lines, at, depth) if lines[at] else at + 1

    def _paragraph(self, text: str) -> None:
        self._writer.paragraph(*self._inline.read(text))

    def _block(self, lines: Sequence[str], at: int, depth: int) -> int:
        """Add the block that starts at a line; the number of the line after it."""
        line = lines[at]
        if line[0] not in " #(":
            self._number = 0
        if line[0] == " ":
            end = _end_of_indented(lines, at, 1)
            self._writer.quotes += 1
            self.read(_dedented(lines[at:end]), depth + 1)
            self._writer.quotes -= 1
            return end
        if SIMPLE.match(line):
            return self._simple_table(lines, at)
        if _ADORNMENT.match(line) and (end := self._overlined(lines, at)):
            return end
        if explicit := _EXPLICIT.match(line):
            if line == ".." and not "".join(lines[at + 1 : at + 2]):
                return at + 1
            end = _end_of_indented(lines, at + 1, 1)
            self._explicit(line[explicit.end() :], lines[at + 1 : end], depth)
            return end
        if line.startswith("__ "):
            return at + 1
        if GRID.match(line):
            end = at
            while end < len(lines) and lines[end][:1] in ("+", "|"):
                end += 1
            self._rows(grid_rows(lines[at:end]))
            return end
        return self._text_block(lines, at, depth)

    def _text_block(self, lines: Sequence[str], at: int, depth: int) -> int:
        line = lines[at]
        if bullet := _BULLET.match(line):
            return self._item("-", bullet.end(), lines, at, depth)
        number = _NUMBER.match(line)
        if number and _is_enumerated(lines, at, number.end()):
            return self._item(number[1], number.end(), lines, at, depth)
        if field := _FIELD.match(line):
            return self._field(field[1], field.end(), lines, at, depth)
        if line.startswith(">>> "):
            end = _end_of_block(lines, at)
            self._writer.code("\n".join(lines[at:end]))
            return end
        if line == "|" or line.startswith("| "):
            end = _end_of_block(lines, at)
            verses = (self._inline.read(verse.lstrip("| ")) for verse in lines[at:end])
            texts, links = zip(*verses, strict=True)
            self._writer.paragraph("\n".join(texts), [name for names in links for name in names])
            return end
        following = lines[at + 1] if at + 1 < len(lines) else ""
        if _is_underline(line, following):
            self._heading(line, following[0])
            return at + 2
        option = _OPTION.match(line)
        if option and (option.end() < len(line) or following.startswith(" ")):
            return self._definition(option[1], option.end(), lines, at, depth)
        if following.startswith(" ") and not line.endswith("::"):
            return self._definition(line, len(line), lines, at, depth)
        return self._text(lines, at)

    # Headings

    def _overlined(self, lines: Sequence[str], at: int) -> int:
        """After a heading between two lines, or a line across; 0 if there is neither."""
        if at + 2 < len(lines) and lines[at + 2] == lines[at] and lines[at + 1].strip():
            self._heading(lines[at + 1].strip(), lines[at][0] * 2)
            return at + 3
        following = lines[at + 1] if at + 1 < len(lines) else ""
        return at + 1 if len(lines[at]) >= 4 and not following else 0

    def _heading(self, text: str, style: str) -> None:
        if style not in self._styles:
            self._styles.append(style)
        text, links = self._inline.read(text)
        self._writer.heading(text, min(self._styles.index(style) + 1, 9), links)

    # Lists

    def _item(self, marker: str, start: int, lines: Sequence[str], at: int, depth: int) -> int:
        end = _end_of_indented(lines, at + 1, 1)
        if marker.startswith("#"):
            self._number += 1
            marker = f"{self._number}{marker[1:]}"
        self._writer.open_item(marker)
        body = _dedented(lines[at + 1 : end])
        first = lines[at][start:]
        gap = at + 1 < len(lines) and not lines[at + 1]
        number, self._number = self._number, 0
        self.read([first, *([""] if gap else []), *body], depth + 1)
        self._number = number
        self._writer.close_item()
        return end

    def _field(self, name: str, start: int, lines: Sequence[str], at: int, depth: int) -> int:
        end = _end_of_indented(lines, at + 1, 1)
        value = [lines[at][start:], *_dedented(lines[at + 1 : end])]
        if depth == 0 and not len(self._writer.builder):
            text = self._inline.read(" ".join(value))[0]
            if text:
                self._writer.metadata[name.lower()] = text
        else:
            self._writer.label(self._inline.read(name)[0])
            self.read(value, depth + 1)
            self._writer.end_label()
        return end

    def _definition(self, term: str, start: int, lines: Sequence[str], at: int, depth: int) -> int:
        end = _end_of_indented(lines, at + 1, 1)
        text, links = self._inline.read(term)
        self._writer.label(text, links)
        first = lines[at][start:]
        self.read([*([first] if first else []), *_dedented(lines[at + 1 : end])], depth + 1)
        self._writer.end_label()
        return end

    # Text and code

    def _text(self, lines: Sequence[str], at: int) -> int:
        end = _end_of_block(lines, at)
        text = " ".join(lines[at:end])
        if not text.endswith("::"):
            self._paragraph(text)
            return end
        self._paragraph(text[:-2].rstrip() if text.endswith(" ::") or text == "::" else text[:-1])
        start = end
        while start < len(lines) and not lines[start]:
            start += 1
        if start < len(lines) and lines[start][0] == " ":
            end = _end_of_indented(lines, start, 1)
            self._writer.code("\n".join(_dedented(lines[start:end])))
        elif start < len(lines) and not lines[start][0].isalnum() and lines[start][0] != ".":
            end = start
            while end < len(lines) and lines[end][:1] == lines[start][0]:
                end += 1
            self._writer.code("\n".join(lines[start:end]))
        return end

    # Explicit markup

    def _explicit(self, head: str, body: Sequence[str], depth: int) -> None:
        if directive := _DIRECTIVE.match(head):
            name = directive[2].lower()
            if not directive[1]:
                self._directive(name, head[directive.end() :], body, depth)
        elif note := _NOTE.match(head):
            label = note[1] if note[1][:1] not in ("#", "*") and not note[1].isdigit() else ""
            if label:
                self._writer.label(f"[{label}]")
            self.read([head[note.end() :], *_dedented(body)], depth + 1)
        elif (target := _TARGET.match(head)) and not target[2] and not len(self._writer.builder):
            self._writer.names.append(target[1].strip("`"))

    def _directive(self, name: str, argument: str, body: Sequence[str], depth: int) -> None:
        last = name.rpartition(":")[2]
        arguments, options, content = _parts(argument, body)
        if last in _CODE:
            code = arguments if last == "math" else arguments[1:]
            self._writer.code("\n".join([*code, *content]))
        elif name in _SILENT or last in ("module", "currentmodule"):
            return
        elif last == "toctree":
            self._writer.builder.add_links(_entries(content))
        elif last in ("image", "figure"):
            self._writer.paragraph(image_text(options.get("alt", ""), argument))
            self.read(content, depth + 1)
        elif last in ("list-table", "csv-table", "table"):
            self._paragraph(" ".join(arguments))
            self._table(last, options, content, depth)
        elif label := admonition_label(last):
            self._admonition(last, label, arguments, content, depth)
        elif last in ("rubric", "centered", "admonition", "topic", "sidebar"):
            self._paragraph(" ".join(arguments))
            self.read(content, depth + 1)
        elif any(content) or not last.startswith("auto"):
            if last not in _ARGUMENT_IS_NO_TEXT:
                for text in arguments:  # signatures of functions and classes, titles of tabs
                    self._writer.label(text.replace("\\", ""))
            self.read(content, depth + 1)
            self._writer.end_label()

    def _admonition(
        self, name: str, label: str, arguments: Sequence[str], content: Sequence[str], depth: int
    ) -> None:
        if name == "deprecated":
            label = "Deprecated since version"
        if name.startswith(("version", "deprecated")):
            version, _, text = " ".join(arguments).partition(" ")
            label, arguments = f"{label} {version}", [text] if text else []
        self._writer.label(label)
        self.read([*arguments, *content], depth + 1)
        self._writer.end_label()

    # Tables

    def _simple_table(self, lines: Sequence[str], at: int) -> int:
        end, marks = at + 1, 1
        while end < len(lines) and marks < 3:
            if SIMPLE.match(lines[end]):
                marks += 1
                if marks == 2 and (end + 1 == len(lines) or not lines[end + 1]):
                    end += 1
                    break
            end += 1
        self._rows(simple_rows(lines[at:end]))
        return end

    def _table(
        self, kind: str, options: dict[str, str], content: Sequence[str], depth: int
    ) -> None:
        given = options.get("header-rows", "0")
        header_rows = int(given) if given.isdecimal() and len(given) < 5 else 0
        if kind == "csv-table":
            self._rows(csv_rows(content, options.get("header", ""), header_rows))
        elif kind == "list-table":
            self._rows(_list_rows(content, header_rows))
        else:
            self.read(content, depth + 1)

    def _rows(self, rows: Iterator[Row]) -> None:
        header: list[str] = []
        for cells, is_header in rows:
            texts, links = zip(*map(self._inline.read, cells), strict=True) if cells else ((), ())
            if is_header:
                header = list(texts)
            names = [name for found in links for name in found]
            self._writer.row(texts, header, is_header=is_header, links=names)


def _end_of_indented(lines: Sequence[str], at: int, indent: int) -> int:
    """After the lines that are indented; empty lines among them belong to them."""
    end = at
    while at < len(lines) and (not lines[at] or _indent(lines[at]) >= indent):
        at += 1
        end = at if lines[at - 1] else end
    return end


def _end_of_block(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and lines[at]:
        at += 1
    return at


def _is_underline(title: str, line: str) -> bool:
    return bool(_ADORNMENT.match(line)) and (len(line) >= len(title) or len(line) >= 4)


def _is_enumerated(lines: Sequence[str], at: int, start: int) -> bool:
    """Whether a line that starts like an item of a list with numbers is one."""
    following = lines[at + 1] if at + 1 < len(lines) else ""
    return not following or _indent(following) >= min(start, 2) or bool(_NUMBER.match(following))


def _parts(argument: str, body: Sequence[str]) -> tuple[list[str], dict[str, str], list[str]]:
    """Arguments, options and content of a directive."""
    lines = _dedented(body) if not body or body[0] else ["", *_dedented(body)]
    arguments = [argument] if argument else []
    at = 0
    while at < len(lines) and lines[at] and not _FIELD.match(lines[at]):
        arguments.append(lines[at].strip())
        at += 1
    options: dict[str, str] = {}
    name = ""
    while at < len(lines) and lines[at]:
        if field := _FIELD.match(lines[at]):
            name = field[1]
            options[name] = lines[at][field.end() :]
        elif name:
            options[name] += f" {lines[at].strip()}"
        at += 1
    return arguments, options, list(lines[at:])


def _entries(content: Sequence[str]) -> Iterator[str]:
    """Names of the documents of a table of contents."""
    for line in content:
        titled = re.fullmatch(r"(.*?)\s*<([^<>]*)>", line.strip())
        yield from link_names(titled[2] if titled else line)


def _list_rows(content: Sequence[str], header_rows: int) -> Iterator[Row]:
    """Rows of a list of lists."""
    rows: list[list[list[str]]] = []
    margin = 0
    for line in content:
        if found := _LIST_ROW.match(line):
            rows.append([[line[found.end() :].strip()]])
            margin = found.end(1)
        elif rows and re.match(r"[*-](?:\s|$)", line[margin:]) and not line[:margin].strip():
            rows[-1].append([line[margin + 1 :].strip()])
        elif rows:
            rows[-1][-1].append(line.strip())
    for number, row in enumerate(rows):
        yield [" ".join(filter(None, cell)) for cell in row], number < header_rows
