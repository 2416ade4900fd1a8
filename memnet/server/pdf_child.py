"""The process that opens a PDF file or picture, within limits: one that breaks it breaks no server.

One request comes as JSON on standard input; the answer goes to standard output: the sizes of all
pages as JSON, or the picture of one as a PNG file.
"""

import io
import json
import math
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as raw
from numpy.typing import NDArray
from PIL import Image

from memnet.loaders.formats import reads_pictures
from memnet.loaders.pdf.scans import Box, read_scan, scan_words
from memnet.loaders.pictures import as_pdf
from memnet.runtime.process import limit_process, own_streams

_WORD = re.compile(r"\S+")
_NO_LETTER = re.compile(r"[\W_]+")
# Words of a page, and of its text, that are aligned: time grows with the product of both. A page in
# the smallest print has 2,000.
_MAX_ALIGNED = 4000


class Word(NamedTuple):
    """A word of a text."""

    # Its letters and digits, in lower case; hyphens, which may break it, left out.
    text: str
    start: int
    end: int


def words(text: str) -> list[Word]:
    """The words of a text."""
    found = (Word(_plain(one[0]), one.start(), one.end()) for one in _WORD.finditer(text))
    return [word for word in found if word.text]


def find_words(stored: Sequence[Word], page: Sequence[Word], start: int, end: int) -> list[int]:
    """Which words of a page, by rising index, are those of a span of its stored text.

    ``stored`` are the words of the part of the text that stands on this page, ``page`` the words of
    the page in the order of the file.
    """
    span = [index for index, word in enumerate(stored) if word.start < end and word.end > start]
    if not span:
        return []
    texts = [word.text for word in page]
    wanted = [stored[index].text for index in span]
    places = [
        first
        for first in range(len(texts) - len(wanted) + 1)
        if texts[first] == wanted[0] and texts[first : first + len(wanted)] == wanted
    ]
    if len(places) != 1:
        aligned = _aligned(stored, page, set(span))
        if aligned or not places:
            return aligned
    return [places[0] + offset for offset in range(len(wanted))]


def _aligned(stored: Sequence[Word], page: Sequence[Word], span: set[int]) -> list[int]:
    """The words of the page that an alignment of both texts gives those of the span."""
    if max(len(stored), len(page)) > _MAX_ALIGNED:
        return []
    matcher = SequenceMatcher(
        None, [word.text for word in stored], [word.text for word in page], autojunk=False
    )
    return [
        block.b + offset
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
        if block.a + offset in span
    ]


def _plain(word: str) -> str:
    return _NO_LETTER.sub("", normalize("NFKD", word)).casefold()


_MAX_PIXELS = 16_000_000  # A larger picture is made smaller: 48 MB in memory
# Colour of marked words: yellow, under black letters, as of a highlighter.
_MARK = np.array([255, 226, 89], np.uint16)
_MARGIN = 1.0  # points around a marked word


def main() -> None:
    """Answer the request."""
    requests, answers = own_streams()
    request = json.load(requests)
    limit_process(request["memory"], request["seconds"])
    path = Path(request["path"])
    is_pdf = path.suffix.lower() == ".pdf"
    document = pdfium.PdfDocument(path) if is_pdf else as_pdf(path.read_bytes())
    if request["page"] is None:
        sizes = [document.get_page_size(number) for number in range(len(document))]
        answers.write(json.dumps(sizes).encode())
    else:
        answers.write(_picture(document, request))
    answers.flush()


def _picture(document: pdfium.PdfDocument, request: dict[str, Any]) -> bytes:
    """A page as a PNG file, with the words of a span of its text marked."""
    document.init_forms()
    page = document[request["page"]]
    boxes = _boxes(page, request["text"], request["start"], request["end"])
    width, height = page.get_size()  # once it is upright
    most = math.sqrt(_MAX_PIXELS / max(1.0, width * height))
    bitmap = page.render(scale=min(request["scale"], most), rev_byteorder=True)
    pixels = np.array(bitmap.to_numpy()[:, :, :3])
    to_bitmap = bitmap.get_posconv(page)
    for box in boxes:
        corners = [to_bitmap.to_bitmap(x, y) for x in box[::2] for y in box[1::2]]
        _mark(pixels, corners)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def _mark(pixels: NDArray[np.uint8], corners: list[tuple[int, int]]) -> None:
    """Multiply a rectangle of the picture by the colour of the mark."""
    across, down = zip(*corners, strict=True)
    part = pixels[
        max(0, min(down)) : max(0, max(down) + 1), max(0, min(across)) : max(0, max(across) + 1)
    ]
    part[:] = (part * _MARK // 255).astype(np.uint8)


def _boxes(page: pdfium.PdfPage, text: str, start: int, end: int) -> list[Box]:
    """Rectangles (left, bottom, right, top), in points, of the words of a span."""
    if start >= end:
        return []
    text_page = page.get_textpage()
    # A hyphen that breaks a word at the end of a line: both its parts are one word here.
    page_text = text_page.get_text_range().replace("\ufffe", "\u00ad")
    on_page = words(page_text)
    if not on_page and reads_pictures():
        found = [(_plain(one), box) for one, box in scan_words(read_scan(page), page)]
        on_scan = [Word(one, 0, 0) for one, _ in found]
        return [found[index][1] for index in find_words(words(text), on_scan, start, end)]
    return [
        box
        for index in find_words(words(text), on_page, start, end)
        for box in _word_boxes(text_page, page_text, on_page[index])
    ]


def _word_boxes(page: pdfium.PdfTextPage, text: str, word: Word) -> list[Box]:
    """The rectangle of a word; two if it is broken."""
    boxes: list[Box] = []
    start = word.start
    for part in text[word.start : word.end].split("\u00ad"):
        indices = [
            raw.FPDFText_GetCharIndexFromTextIndex(page, position)
            for position in range(start, start + len(part))
        ]
        found = [page.get_charbox(index, loose=True) for index in indices if index >= 0]
        if found:
            lefts, bottoms, rights, tops = zip(*found, strict=True)
            left, bottom = min(lefts) - _MARGIN, min(bottoms) - _MARGIN
            boxes.append((left, bottom, max(rights) + _MARGIN, max(tops) + _MARGIN))
        start += len(part) + 1
    return boxes
