"""Org files of Emacs."""

import re
from collections.abc import Iterator, Sequence

from memnet.errors import Problem
from memnet.io import decode
from memnet.loaders.document import ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.markup.writing import MarkupWriter, admonition_label, anchor_name, link_names

_HEADING = re.compile(r"(\*+)\s+(?:\[#[A-Za-z0-9]\]\s+)?(\S.*)")
_PRIORITY = re.compile(r"\[#[A-Za-z0-9]\]\s*")
_TAGS = re.compile(r"(?<!\s)\s+:([\w@#%:]+):$")
_KEYWORD = re.compile(r"\s*#\+([\w-]+)(?:\[[^\]]*\])?:\s*(.*)")
_BEGIN = re.compile(r"\s*#\+begin_(\w+)(.*)", re.IGNORECASE)
_DRAWER = re.compile(r"\s*:([\w-]+):$")
_PROPERTY = re.compile(r"\s*:([\w+-]+):\s+(.*)")
_ITEM = re.compile(r"( *)([-+]|\d{1,9}[.)])(?:\s+(.*))?$")
_STAR_ITEM = re.compile(r"( +)(\*)(?:\s+(.*))?$")
_TERM = re.compile(r"(\S.{0,500}?)\s+::(?:\s+(.*)|$)")
_COOKIE = re.compile(r"\[@\d+\]\s*")
_RULE = re.compile(r"\s*-{5,}$")
_TABLE_RULE = re.compile(r"\s*\|[-+|]*-[-+|]*$")
_NOTE = re.compile(r"\[fn:[\w-]+\]\s*")
_CODE = frozenset({"src", "example", "latex"})
_SILENT = frozenset({"comment", "export"})
_METADATA = frozenset(
    {"author", "date", "email", "description", "keywords", "language", "subtitle"}
)
_MAX_DEPTH = 20

_MARKUP = re.compile(
    r"\[\[(?P<target>[^\[\]]{1,2000})\](?:\[(?P<shown>[^\n]{1,2000}?)\])?\]"
    r"|(?<![^\s(\[{'\"\-–—,;:|/*_+])(?P<mark>[=~])(?P<verbatim>\S|\S.{0,1000}?\S)(?P=mark)"
    r"(?![^\s)\]}'\".,;:!?|\-–—/*_+\\])"
    r"|(?<![^\s(\[{'\"\-–—,;:|/*_+=~])(?P<style>[*/_+])(?P<styled>[^\s*/_+]|[^\s].{0,1000}?\S)"
    r"(?P=style)(?![^\s)\]}'\".,;:!?|\-–—/*_+\\=~])"
    r"|\[fn:(?P<note>[\w-]{0,100})(?::(?P<note_text>[^\[\]]{0,2000}))?\]"
    r"|<<<(?P<radio>[^<>\n]{1,200})>>>|<<[^<>\n]{1,200}>>"
    r"|\{\{\{(?P<macro>[\w-]{1,100})(?:\((?P<arguments>[^{}]{0,1000})\))?\}\}\}"
    r"|@@[\w-]{1,20}:[^@]{0,1000}@@",
    re.DOTALL,
)
_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|pdf)$", re.IGNORECASE)
_PATH = re.compile(r"(?:file\+?\w*|attachment):")
_OTHER_LINK = re.compile(
    r"(?:id|roam|help|info|elisp|shell|doi|cite|citet?|eww|gnus):", re.IGNORECASE
)


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text without its markup; keywords in front of it are metadata."""
    text = decode(file.data).replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    writer = MarkupWriter(file)
    _Reader(writer).read([line.rstrip().expandtabs(8) for line in text.split("\n")])
    yield writer.finish()


class _Reader:
    def __init__(
        self, writer: MarkupWriter, macros: dict[str, str] | None = None, depth: int = 0
    ) -> None:
        self._writer = writer
        self._depth = depth
        self._indents: list[int] = []
        """Of the items that are open."""
        self._macros = {} if macros is None else macros
        self._tags: dict[str, None] = {}
        self._lines: Sequence[str] = ()
        self._last: dict[str, int] = {}
        """The last line of each kind that ends a block."""
        self._at = 0

    def read(self, lines: Sequence[str]) -> None:
        """Add all blocks."""
        self._lines = lines
        self._last = {
            line.strip().lower(): number
            for number, line in enumerate(lines)
            if line.lstrip()[:6].lower() in ("#+end_", ":end:")
        }
        empty = 0
        while self._at < len(lines):
            line = lines[self._at]
            if not line:
                self._at += 1
                empty += 1
                if empty > 1:
                    self._close_items(-1)
                continue
            empty = 0
            self._block(line)
        self._close_items(-1)
        if self._tags:
            self._writer.metadata["tags"] = list(self._tags)

    def _block(self, line: str) -> None:
        if heading := _HEADING.fullmatch(line):
            self._at += 1
            self._heading(heading[2], len(heading[1]))
        elif begin := _BEGIN.fullmatch(line):
            self._begin(begin[1].lower(), begin[2].strip())
        elif keyword := _KEYWORD.match(line):
            self._at += 1
            self._keyword(keyword[1].lower(), keyword[2])
        elif line.lstrip().startswith("#") and line.lstrip()[1:2] in ("", " ", "+"):
            self._at += 1
        elif drawer := _DRAWER.match(line):
            self._drawer(drawer[1].lower())
        elif _RULE.match(line):
            self._at += 1
        elif item := (_ITEM.match(line) or _STAR_ITEM.match(line)):
            self._item(len(item[1]), item[2], item[3] or "")
        else:
            self._close_items(len(line) - len(line.lstrip()))
            if line.lstrip().startswith("|"):
                self._table()
            elif line.lstrip().startswith((": ", ":\n")) or line.strip() == ":":
                self._fixed_width()
            else:
                self._text()

    def _close_items(self, indent: int) -> None:
        """Close the items to which a line with this indent does not belong."""
        while self._indents and self._indents[-1] >= indent:
            self._indents.pop()
            self._writer.close_item()

    def _heading(self, text: str, level: int) -> None:
        self._close_items(-1)
        if tags := _TAGS.search(text):
            text = text[: tags.start()]
            self._tags.update(dict.fromkeys(filter(None, tags[1].split(":"))))
        shown, links = self._inline(_PRIORITY.sub("", text, count=1))
        if not len(self._writer.builder):
            self._writer.title_levels = {level} if self._alone(level) else set()
        self._writer.heading(shown, level, links)

    def _alone(self, level: int) -> bool:
        """Whether no heading after this one is as high."""
        return not any(
            found and len(found[1]) <= level
            for found in (_HEADING.fullmatch(line) for line in self._lines[self._at :])
        )

    def _keyword(self, name: str, value: str) -> None:
        writer = self._writer
        if name == "title" and value:
            writer.title = f"{writer.title} {self._inline(value)[0]}".strip()
        elif name == "filetags":
            self._tags.update(dict.fromkeys(filter(None, re.split(r"[:\s]+", value))))
        elif name == "macro":
            macro, _, text = value.partition(" ")
            self._macros[macro.lower()] = text
        elif name == "caption":
            writer.paragraph(*self._inline(value))
        elif name == "include":
            writer.builder.add_links(link_names(value.strip('"').partition('"')[0]))
        elif name in _METADATA and value:
            writer.metadata.setdefault(name, self._inline(value)[0])

    def _begin(self, kind: str, rest: str) -> None:
        start = self._at + 1
        end_mark = f"#+end_{kind}"
        if self._last.get(end_mark, 0) < start:
            self._at += 1  # it has no end
            return
        end = start
        while self._lines[end].strip().lower() != end_mark:
            end += 1
        body = self._lines[start:end]
        if kind in _CODE:
            self._close_items(len(self._lines[start - 1]) - len(self._lines[start - 1].lstrip()))
            margin = min((len(one) - len(one.lstrip()) for one in body if one), default=0)
            self._writer.code(
                "\n".join(re.sub(r"^( *),(?=[*#,])", r"\1", one[margin:]) for one in body)
            )
            self._at = end + 1
        elif kind in _SILENT:
            self._at = end + 1
        elif kind == "verse":
            self._writer.quotes += 1
            self._writer.paragraph("\n".join(self._inline(one)[0] for one in body))
            self._writer.quotes -= 1
            self._at = end + 1
        else:
            self._nested(kind, rest, body, end)

    def _nested(self, kind: str, rest: str, body: Sequence[str], end: int) -> None:
        """A quote or an admonition, whose content is Org too."""
        if kind == "quote":
            self._writer.quotes += 1
        elif label := admonition_label(kind):
            self._writer.label(label)
        elif kind in ("details", "summary") and rest:
            self._writer.paragraph(rest)
        if self._depth >= _MAX_DEPTH:
            self._writer.paragraph(" ".join(body))
        else:
            _Reader(self._writer, self._macros, self._depth + 1).read(body)
        self._writer.end_label()
        self._writer.quotes -= kind == "quote"
        self._at = end + 1

    def _drawer(self, name: str) -> None:
        """Properties of the file become metadata; other drawers are no text."""
        end = self._at + 1
        if self._last.get(":end:", 0) < end:
            self._text()
            return
        while self._lines[end].strip().lower() != ":end:":
            if _HEADING.fullmatch(self._lines[end]):
                self._text()
                return
            end += 1
        if name == "properties" and not len(self._writer.builder):
            for line in self._lines[self._at + 1 : end]:
                if found := _PROPERTY.match(line):
                    self._property(found[1].lower().rstrip("+"), found[2].strip())
        self._at = end + 1

    def _property(self, name: str, value: str) -> None:
        if name == "roam_aliases":
            self._writer.names += [
                quoted or bare for quoted, bare in re.findall(r'"([^"]+)"|(\S+)', value)
            ]
        elif name in ("id", "custom_id"):
            self._writer.names.append(value)
        else:
            self._writer.metadata.setdefault(name, value)

    def _item(self, indent: int, marker: str, text: str) -> None:
        self._at += 1
        self._close_items(indent)
        self._indents.append(indent)
        is_number = marker[0].isalnum()
        text = _COOKIE.sub("", text, count=1)
        term = _TERM.fullmatch(text) if not is_number else None
        self._writer.open_item(marker if is_number else "-")
        if term:
            self._writer.label(*self._inline(term[1]))
            text = term[2] or ""
        lines = [text, *self._rest(indent + 1)] if text else []
        if lines:
            self._paragraph(lines)

    def _rest(self, indent: int) -> Iterator[str]:
        """The further lines of a paragraph that are indented so far."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line or len(line) - len(line.lstrip()) < indent or self._starts_block(line):
                return
            self._at += 1
            yield line.strip()

    def _starts_block(self, line: str) -> bool:
        start = line.lstrip()[:1]
        if start not in "#|:*-+" and not start.isalnum():
            return False
        return bool(
            _HEADING.fullmatch(line)
            or (start == "#" and (line.lstrip()[1:2] in ("+", " ", "")))
            or start == "|"
            or (start == ":" and (line.lstrip()[1:2] in (" ", "") or _DRAWER.match(line)))
            or ((item := _ITEM.match(line)) and (self._indents or not item[2][0].isalpha()))
            or (self._indents and _STAR_ITEM.match(line))
        )

    def _text(self) -> None:
        first = self._lines[self._at].strip()
        self._at += 1
        if note := _NOTE.match(first):
            first = first[note.end() :]
        self._paragraph([first, *self._rest(0)])

    def _paragraph(self, lines: Sequence[str]) -> None:
        text = " ".join(f"{line[:-2]}\v" if line.endswith("\\\\") else line for line in lines)
        self._writer.paragraph(*self._inline(text))

    def _fixed_width(self) -> None:
        lines = []
        while self._at < len(self._lines) and self._lines[self._at].lstrip()[:2].rstrip() == ":":
            lines.append(self._lines[self._at].lstrip()[2:])
            self._at += 1
        self._writer.code("\n".join(lines))

    def _table(self) -> None:
        rows: list[list[str]] = []
        rule = 0
        while self._at < len(self._lines) and self._lines[self._at].lstrip().startswith("|"):
            line = self._lines[self._at].strip()
            self._at += 1
            if _TABLE_RULE.match(line):
                rule = rule or len(rows)
            else:
                rows.append(line.strip("|").split("|"))
        header: list[str] = []
        for number, row in enumerate(rows):
            if all(re.fullmatch(r"\s*(?:<[lrc]?\d*>|)\s*", cell) for cell in row):
                continue  # widths of columns
            read = [self._inline(cell) for cell in row]
            texts = [text for text, _ in read]
            is_header = number < rule < len(rows)
            header = texts if is_header else header
            links = [name for _, names in read for name in names]
            self._writer.row(texts, header, is_header=is_header, links=links)

    def _inline(self, source: str, depth: int = 0) -> tuple[str, list[str]]:
        """A text without its markup, and the names of what it links to."""
        links: list[str] = []

        def replaced(found: re.Match[str]) -> str:
            if found["target"]:
                return self._link(found["target"], found["shown"] or "", links)
            if found["styled"]:
                if depth >= 4:
                    return found["styled"]
                text, names = self._inline(found["styled"], depth + 1)
                links.extend(names)
                return text
            if found["macro"]:
                return found["arguments"] or self._macros.get(found["macro"].lower(), "")
            if found["note_text"]:
                return f" ({found['note_text'].strip()})"
            return found["verbatim"] or found["radio"] or ""

        text = _MARKUP.sub(replaced, source)
        return "\n".join(filter(None, map(one_line, text.split("\v")))), links

    def _link(self, target: str, shown: str, links: list[str]) -> str:
        path = _PATH.sub("", target)
        if _OTHER_LINK.match(target):
            links.append(target.partition(":")[2])
            return self._inline(shown)[0] if shown else target.partition(":")[2]
        if target.startswith(("*", "#")):
            names: tuple[str, ...] = (anchor_name(target.lstrip("*#")),)
        else:
            path, _, inner = path.partition("::")
            names = link_names(path)
            names += tuple(filter(None, [anchor_name(inner.lstrip("*#/"))]))
        links += names
        if _IMAGE.search(path) and not shown:
            return ""
        return (
            self._inline(shown, 3)[0] if shown else target.lstrip("*#") if not names else names[-1]
        )
