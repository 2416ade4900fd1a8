"""PDF files: their text as it reads, with the page of each paragraph.

PDFium gives the characters of a page in the order of the file. What a page is made of is found by
how it is printed: lines are joined into paragraphs by their distances, ends and indents, headings
are known by the outline or by their fonts, tables by cells that stand under each other.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import PurePath
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.pdf.headings import Entry, body_size, mark_headings, match_outline, read_outline
from memnet.loaders.pdf.lines import Line, LineReader
from memnet.loaders.pdf.paragraphs import (
    Part,
    Words,
    find_leading,
    find_parts,
    goes_on_elsewhere,
    join_code,
    join_lines,
)
from memnet.loaders.pdf.running_headers import drop_running_headers
from memnet.loaders.pdf.tables import find_tables, split_columns

# PDFium's wrapper warns of odd outlines; without a handler logging prints that.
logging.getLogger("pypdfium2").addHandler(logging.NullHandler())

_MAX_PAGES = 100_000
# Titles that programs make up.
_JUNK_TITLE = re.compile(
    r"untitled|unbenannt|sans titre|(?:microsoft )?(?:word|powerpoint|excel)\b|.*\.\w{2,5}$"
    r"|document\d*$|\W*$|title$|slide 1$|print(?:ing)?$|full page|job \d|[\d\W]+$|\(anonymous\)",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?")
# Dots that lead to a page number, lines to write on.
_LEADER = re.compile(r"\s*(?:[.\u2024]\s?){4,}\s*|\s*_{8,}\s*|\s*(?:\u2026\s?){2,}")


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """Read a PDF file. Raises InputError if it is damaged, encrypted, or holds no text."""
    document = _open(file)
    try:
        yield from _load(document, file)
    finally:
        document.close()


def _open(file: SourceFile) -> pdfium.PdfDocument:
    try:
        return pdfium.PdfDocument(file.data)
    except pdfium.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise InputError(
                "the PDF is encrypted and opens with a password only; save a copy without one"
            ) from None
        found = "an empty file" if not file.data.strip() else "no whole PDF"
        raise InputError(
            f"found {found}, expected a PDF file; it may be cut off or damaged: get it again, or"
            " open it in a viewer and print it to a new PDF"
        ) from None


def _load(document: pdfium.PdfDocument, file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    count = len(document)
    if count > _MAX_PAGES:
        raise InputError(f"the PDF has {count:,} pages, {_MAX_PAGES:,} are read: split it")
    pages, silent, broken = _read_pages(document, file)
    if not any(pages):
        images = f", {silent} of them images" if silent else ""
        damaged = f", {broken} of them damaged" if broken else ""
        raise InputError(
            f"the PDF holds no text on its {_pages(count)}{images}{damaged}; if it is scanned,"
            " recognise its text first (OCR)"
        )
    if silent:
        yield Problem(file.name, f"{_pages(silent)} of {count} are images without text")
    if broken:
        yield Problem(file.name, f"{_pages(broken)} of {count} are damaged")
    labels = [document.get_page_label(number) for number in range(count)]
    yield _document(document, file, pages, labels)


def _pages(number: int) -> str:
    return "1 page" if number == 1 else f"{number:,} pages"


def _read_pages(
    document: pdfium.PdfDocument, file: SourceFile
) -> tuple[list[list[Line]], int, int]:
    """The lines of each page; how many pages are images, and how many can't be read."""
    reader = LineReader()
    pages: list[list[Line]] = []
    silent = broken = characters = 0
    forms = document.get_formtype() != raw.FORMTYPE_NONE
    for number in range(len(document)):
        try:
            page = document[number]
        except pdfium.PdfiumError:
            broken += 1
            pages.append([])
            continue
        try:
            if forms and raw.FPDFPage_GetAnnotCount(page) > 0:
                raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)  # makes filled fields text
                page.close()
                page = document[number]
            text_page = page.get_textpage()
            lines = reader.read(text_page)
            text_page.close()
            silent += not lines and _has_image(page)
        except pdfium.PdfiumError:
            broken += 1
            lines = []
        finally:
            page.close()
        characters += sum(len(line.text) for line in lines)
        if characters > file.max_characters:
            raise InputError(
                f"the PDF has more than {file.max_characters:,} characters of text, the most that"
                " one document may have; split it"
            )
        pages.append(lines)
    return pages, silent, broken


def _has_image(page: pdfium.PdfPage) -> bool:
    return any(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))


def _document(
    document: pdfium.PdfDocument,
    file: SourceFile,
    pages: list[list[Line]],
    labels: Sequence[str],
) -> ParsedDocument:
    outline = read_outline(document)
    body = body_size(pages)
    drop_running_headers(pages, labels, body)
    pages = [split_columns(lines) for lines in pages]
    heading_of: dict[int, int] = {}
    entries: list[Entry] = []
    for number in sorted(outline):
        if number < len(pages):
            match_outline(pages[number], outline[number], len(entries), heading_of)
            entries += outline[number]
    leading = find_leading(pages)
    parts = [_page_parts(lines, heading_of, leading) for lines in pages]
    mark_headings(parts, entries, heading_of, body)
    metadata = document.get_metadata_dict(skip_empty=True)
    title = _title(metadata.get("Title", ""), parts[0], file)
    builder = DocumentBuilder()
    _Writer(builder, labels, leading, Words(pages), body).write(parts)
    return builder.build(
        file.name, title, origin=file.name, metadata=_metadata(metadata, len(pages))
    )


def _page_parts(
    lines: list[Line], heading_of: dict[int, int], leading: dict[int, float]
) -> list[Part]:
    parts: list[Part] = []
    for found in find_tables(lines, heading_of):
        parts += [found] if isinstance(found, Part) else find_parts(found, heading_of, leading)
    return parts


class _Writer:
    """Writes parts as blocks."""

    def __init__(
        self,
        builder: DocumentBuilder,
        labels: Sequence[str],
        leading: dict[int, float],
        words: Words,
        body: float,
    ) -> None:
        self._builder = builder
        self._labels = labels
        self._leading = leading
        self._words = words
        self._body = body
        # Where the bullets of the lists begin that go on, the outermost first.
        self._lists: list[float] = []

    def write(self, pages: Sequence[list[Part]]) -> None:
        """Write all pages."""
        split = [self._split(parts) if parts else ([], []) for parts in pages]
        bodies = [body for body, _ in split]
        for number, (body, notes) in enumerate(split):
            self._builder.open(self._place(number, number))
            last = self._take_over(body[-1], bodies, number) if body else number
            for part in body[:-1]:
                self._write(part, self._place(number, number))
            if body:
                self._write(body[-1], self._place(number, last))
            for part in notes:
                self._write(part, self._place(number, number))

    def _split(self, parts: list[Part]) -> tuple[list[Part], list[Part]]:
        """The text of a page, and what does not stand in its flow: footnotes, turned lines."""
        turn = Counter(part.lines[0].turn for part in parts).most_common(1)[0][0]
        body = [part for part in parts if part.lines[0].turn == turn]
        notes = [part for part in parts if part.lines[0].turn != turn]
        flow: list[Part] = []
        for part in reversed(body):
            line = part.lines[0]
            small = line.size < 0.93 * self._body and part.kind in ("paragraph", "item")
            # Below it the page or its column ends.
            if small and (not flow or line.base < flow[-1].lines[0].base):
                notes.insert(0, part)
            elif flow and _goes_on_above(part, flow[-1]):
                part.lines += flow.pop().lines
                flow.append(part)
            else:
                flow.append(part)
        return flow[::-1], notes

    def _take_over(self, part: Part, bodies: Sequence[list[Part]], number: int) -> int:
        """Join to the last part of a page what goes on with it on the next; its last page."""
        last = number
        while last + 1 < len(bodies) and bodies[last + 1]:
            other = bodies[last + 1][0]
            if part.kind not in ("paragraph", "item") or other.kind != "paragraph":
                break
            if not goes_on_elsewhere(part.lines[-1], other.lines[0]):
                break
            # Of a line alone it is not known whether it reaches to the end of its column.
            if len(part.lines) == 1 and not other.lines[0].text[0].islower():
                break
            part.lines += other.lines
            last += 1
            del bodies[last][0]
            if bodies[last]:
                break
        return last

    def _write(self, part: Part, place: str) -> None:
        if part.kind == "table":
            self._write_table(part, place)
        elif part.kind == "code":
            self._builder.add("code", join_code(part.lines, self._leading), place=place)
        elif part.kind == "heading":
            self._lists.clear()
            text = one_line(join_lines(part.lines, self._words))
            self._builder.add("heading", text, level=part.level, place=place)
        else:
            text = _LEADER.sub(" \u2026 ", join_lines(part.lines, self._words))
            if part.kind == "paragraph":
                if self._lists and part.lines[0].left < self._lists[0] + 1:
                    self._lists.clear()
                self._builder.add("paragraph", text, place=place)
                return
            bullet = part.label.strip()
            if not bullet[:1].isalnum() and not bullet.startswith("("):
                text = "- " + text[len(part.label) :]
            level = self._level(part.lines[0].left)
            self._builder.add("item", text, level=level, place=place)

    def _write_table(self, part: Part, place: str) -> None:
        for number, row in enumerate(part.rows):
            names = part.rows[0] if part.header and number else [""] * len(row)
            cells = [
                (name, _LEADER.sub(" \u2026 ", text), "")
                for name, text in zip(names, row, strict=True)
                if text or part.header
            ]
            self._builder.add_row(cells, header=part.header and not number, place=place)

    def _level(self, left: float) -> int:
        while self._lists and self._lists[-1] > left + 3:
            self._lists.pop()
        if not self._lists or self._lists[-1] < left - 3:
            self._lists.append(left)
        return len(self._lists) - 1

    def _place(self, first: int, last: int) -> str:
        numbers = sorted({first, last})
        names = [str(number + 1) for number in numbers]
        labels = [self._labels[number] or str(number + 1) for number in numbers]
        place = ("p. " if len(names) == 1 else "pp. ") + "-".join(labels)
        return place if labels == names else f"{place} ({'-'.join(names)})"


def _goes_on_above(part: Part, other: Part) -> bool:
    """Whether a part goes on with another at the top of the next column."""
    return (
        part.kind in ("paragraph", "item")
        and other.kind == "paragraph"
        and other.lines[0].base > part.lines[-1].base
        and other.lines[0].left > part.lines[-1].right
        and goes_on_elsewhere(part.lines[-1], other.lines[0])
    )


def _title(given: str, parts: Sequence[Part], file: SourceFile) -> str:
    """The title that the file gives, unless a program made it up; else the largest text."""
    given = one_line(given)
    stem = PurePath(file.name).stem.casefold()
    if given and given.casefold() != stem and not _JUNK_TITLE.match(given):
        return given[: file.max_title]
    texts = [
        part
        for part in parts
        if part.kind in ("heading", "paragraph")
        and part.lines[0].turn <= 1
        and re.search(r"[^\W\d_]{3}", part.lines[0].text)
    ]
    if texts:
        largest = max(part.lines[0].size for part in texts)
        chosen = next(part for part in texts if part.lines[0].size > 0.95 * largest)
        text = one_line(" ".join(line.text for line in chosen.lines))
        if len(text) <= 200 and (chosen.kind == "heading" or len(texts) > 1):
            return text
    return file.title


def _metadata(given: dict[str, str], pages: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {"pages": pages}
    for name in ("Author", "Subject", "Keywords"):
        if text := one_line(given.get(name, "").replace("\x00", "")):
            metadata[name.lower()] = text
    found = _DATE.match(given.get("CreationDate", "")) or _DATE.match(given.get("ModDate", ""))
    if found:
        year, month, day = (int(part or 1) for part in found.groups())
        with suppress(ValueError):  # the 31st of February
            metadata["date"] = date(year, month, day).isoformat()
    return metadata
