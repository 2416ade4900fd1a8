"""PDF files: their text as it reads, with the page of each paragraph.

PDFium gives the characters of a page in the order of the file. What a page is made of is found by
how it is printed: lines are joined into paragraphs by their distances, ends and indents, headings
are known by the outline or by their fonts, tables by cells that stand under each other.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePath
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import OCR_ADVICE, SourceFile, reads_pictures
from memnet.loaders.pdf.headings import (
    body_size,
    mark_headings,
    match_outline,
    read_outline,
    take_running_headers,
)
from memnet.loaders.pdf.lines import Entry, Line, LineReader, fill_in
from memnet.loaders.pdf.paragraphs import (
    Part,
    Words,
    find_leading,
    find_parts,
    goes_on_elsewhere,
    join_code,
    join_lines,
)
from memnet.loaders.pdf.scans import read_scan, scan_lines
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
    with closing(_open(file)) as document:
        yield from load_pages(document, file)


def _open(file: SourceFile) -> pdfium.PdfDocument:
    try:
        return pdfium.PdfDocument(file.data)
    except pdfium.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise InputError(
                "the PDF is encrypted and opens with a password only; save a copy without one"
            ) from None
        found = "an empty file" if not file.data.strip() else "data that is not a complete PDF"
        raise InputError(
            f"found {found}, expected a PDF file; it may be cut off or damaged: get it again, or"
            " open it in a viewer and print it to a new PDF"
        ) from None


def load_pages(
    document: pdfium.PdfDocument, file: SourceFile
) -> Iterator[ParsedDocument | Problem]:
    """The document of all pages, which may have been made of a picture."""
    count = len(document)
    if count > _MAX_PAGES:
        raise InputError(f"the PDF has {count:,} pages, {_MAX_PAGES:,} are read: split it")
    pages, silent, broken = _read_pages(document, file)
    if not any(pages):
        images = f", {silent} of them images" if silent else ""
        damaged = f", {broken} of them damaged" if broken else ""
        what = "no text is recognised in them" if reads_pictures() else OCR_ADVICE
        raise InputError(
            f"the file holds no text on its {_pages(count)}{images}{damaged}; {what}",
            "images" if silent else "",
        )
    if silent and not reads_pictures():
        what = f"are images without text; {OCR_ADVICE}"
        yield Problem(file.name, f"{_pages(silent)} of {count} {what}")
    if broken:
        yield Problem(file.name, f"{_pages(broken)} of {count} are damaged")
    yield _document(document, file, pages)


def _pages(number: int) -> str:
    return "1 page" if number == 1 else f"{number:,} pages"


def _read_pages(
    document: pdfium.PdfDocument, file: SourceFile
) -> tuple[list[list[Line]], int, int]:
    """The lines of each page; how many pages are images, and how many can't be read."""
    reader = LineReader()
    pages: list[list[Line]] = []
    silent = broken = characters = 0
    if document.get_formtype() != raw.FORMTYPE_NONE:
        document.init_forms()  # before any page is loaded
    for number in range(len(document)):
        lines: list[Line] = []
        try:
            page = document[number]
            with closing(page):
                lines = reader.read(page)
                if document.formenv is not None and fill_in(lines, page, document.formenv):
                    lines += _of_annotations(page, reader, lines)
                if not lines and any(page.get_objects([raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)):
                    if reads_pictures():
                        file.advance(number + 1, len(document))
                        lines = scan_lines(read_scan(page), page.get_height())
                    silent += not lines
        except pdfium.PdfiumError:
            broken += 1
        characters += sum(len(line.text) for line in lines)
        if characters > file.max_characters:
            raise InputError(
                f"the PDF has more than {file.max_characters:,} characters of text, the most that"
                " one document may have; split it"
            )
        pages.append(lines)
    return pages, silent, broken


def _of_annotations(page: pdfium.PdfPage, reader: LineReader, lines: Sequence[Line]) -> list[Line]:
    """The lines of stamps and other texts over a page, beside those that were read."""
    raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)  # makes them text
    known = "\n".join(line.text for line in lines)
    return [line for line in reader.read(page) if line.text not in known]


def _document(
    document: pdfium.PdfDocument, file: SourceFile, pages: list[list[Line]]
) -> ParsedDocument:
    labels = [document.get_page_label(number) for number in range(len(pages))]
    body = body_size(pages)
    headers = take_running_headers(pages, labels, body)
    pages = [split_columns(lines) for lines in pages]
    entries: list[Entry] = []
    for number, named in read_outline(document).items():
        if number < len(pages):
            match_outline(pages[number], named)
            entries += named
    find_leading(pages)
    words = Words(pages)
    parts = [_page_parts(lines, words) for lines in pages]
    mark_headings(parts, entries, body)
    given = document.get_metadata_dict(skip_empty=True)
    title = _title(given.get("Title", ""), parts[0], words, file)
    metadata = _metadata(given, len(pages))
    writer = _Writer(labels, words, body)
    writer.write(parts, headers)
    return writer.builder.build(file.name, title, metadata=metadata)


def _page_parts(lines: list[Line], words: Words) -> list[Part]:
    parts: list[Part] = []
    for found in find_tables(lines, words):
        parts += [found] if isinstance(found, Part) else find_parts(found)
    return parts


@dataclass
class _Writer:
    """Writes parts as blocks."""

    labels: Sequence[str]
    words: Words
    body: float
    builder: DocumentBuilder = field(default_factory=DocumentBuilder)
    lists: list[float] = field(default_factory=list)
    """Where the bullets of the lists begin that go on, the outermost first."""

    def write(
        self, pages: Sequence[list[Part]], headers: Sequence[tuple[list[Line], list[Line]]]
    ) -> None:
        """Write all pages, each between its running headers and footers."""
        split = [self._split(parts) if parts else ([], []) for parts in pages]
        bodies = [body for body, _ in split]
        for number, (body, notes) in enumerate(split):
            self.builder.open(self._place(number, number))
            end = body[-1] if body else None
            last = self._take_over(end, bodies, number) if end else number
            above, below = ([Part("paragraph", [line]) for line in one] for one in headers[number])
            for part in [*above, *body, *notes, *below]:
                self._write(part, self._place(number, last if part is end else number))

    def _split(self, parts: list[Part]) -> tuple[list[Part], list[Part]]:
        """The text of a page, and what does not stand in its flow: footnotes, turned lines."""
        turn = Counter(part.lines[0].turn for part in parts).most_common(1)[0][0]
        body = [part for part in parts if part.lines[0].turn == turn]
        notes = [part for part in parts if part.lines[0].turn != turn]
        flow: list[Part] = []
        for part in reversed(body):
            line = part.lines[0]
            small = line.size < 0.93 * self.body and part.kind in ("paragraph", "item")
            # Below it the page or its column ends.
            if small and (not flow or line.base < flow[-1].lines[0].base):
                notes.insert(0, part)
                continue
            if (
                flow
                and flow[-1].lines[0].base > part.lines[-1].base
                and flow[-1].lines[0].left > part.lines[-1].right
                and _goes_on(part, flow[-1])
            ):
                part.lines += flow.pop().lines
            flow.append(part)
        return flow[::-1], notes

    def _take_over(self, part: Part, bodies: Sequence[list[Part]], number: int) -> int:
        """Join to the last part of a page what goes on with it on the next; its last page."""
        last = number
        while last + 1 < len(bodies) and bodies[last + 1]:
            other = bodies[last + 1][0]
            # Of a line alone it is not known whether it reaches to the end of its column.
            unsure = len(part.lines) == 1 and not other.lines[0].text[0].islower()
            if unsure or not _goes_on(part, other):
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
            self.builder.add("code", join_code(part.lines), place=place)
        elif part.kind == "heading":
            self.lists.clear()
            text = one_line(join_lines(part.lines, self.words))
            self.builder.add("heading", text, level=part.level, place=place)
        else:
            text = _LEADER.sub(" \u2026 ", join_lines(part.lines, self.words))
            if part.kind == "paragraph":
                if self.lists and part.lines[0].left < self.lists[0] + 1:
                    self.lists.clear()
                self.builder.add("paragraph", text, place=place)
                return
            bullet = part.label.strip()
            if not bullet[:1].isalnum() and not bullet.startswith("("):
                text = "- " + text[len(part.label) :]
            level = self._level(part.lines[0].left)
            self.builder.add("item", text, level=level, place=place)

    def _write_table(self, part: Part, place: str) -> None:
        for number, row in enumerate(part.rows):
            names = part.rows[0] if part.header and number else [""] * len(row)
            cells = [
                (name, _LEADER.sub(" \u2026 ", text), "")
                for name, text in zip(names, row, strict=True)
                if text or part.header
            ]
            self.builder.add_row(cells, header=part.header and not number, place=place)

    def _level(self, left: float) -> int:
        while self.lists and self.lists[-1] > left + 3:
            self.lists.pop()
        if not self.lists or self.lists[-1] < left - 3:
            self.lists.append(left)
        return len(self.lists) - 1

    def _place(self, first: int, last: int) -> str:
        numbers = sorted({first, last})
        names = [str(number + 1) for number in numbers]
        labels = [self.labels[number] or str(number + 1) for number in numbers]
        place = ("p. " if len(names) == 1 else "pp. ") + "-".join(labels)
        return place if labels == names else f"{place} ({'-'.join(names)})"


def _goes_on(part: Part, other: Part) -> bool:
    """Whether a part goes on with another at the top of the next column or page."""
    return (
        part.kind in ("paragraph", "item")
        and other.kind == "paragraph"
        and goes_on_elsewhere(part.lines[-1], other.lines[0])
    )


def _title(given: str, parts: Sequence[Part], words: Words, file: SourceFile) -> str:
    """The title that the file gives, unless a program made it up; else the largest text."""
    given = one_line(given)
    stem = PurePath(file.name).stem.casefold()
    if given and given.casefold() != stem and not _JUNK_TITLE.match(given):
        return given[: file.max_title]
    texts = [part for part in parts if part.kind in ("heading", "paragraph")]
    texts = [part for part in texts if part.lines[0].turn <= 1]
    texts = [part for part in texts if re.search(r"[^\W\d_]{3}", part.lines[0].text)]
    if texts:
        largest = max(part.lines[0].size for part in texts)
        chosen = next(part for part in texts if part.lines[0].size > 0.95 * largest)
        text = one_line(join_lines(chosen.lines, words))
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
