"""The process that opens a PDF file, within limits: one that breaks PDFium breaks no server.

One request comes as JSON on standard input; the answer goes to standard output: the sizes of all
pages as JSON, or the picture of one as a PNG file.
"""

import json
import math
import os
import sys
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as raw
from numpy.typing import NDArray

from memnet.runtime.process import limit_process
from memnet.server.pdf.png import png
from memnet.server.pdf.words import Word, find_words, words

_MAX_PIXELS = 16_000_000
"""A larger picture is made smaller: 48 MB in memory."""
_MARK = np.array([255, 226, 89], np.uint16)
"""Colour of marked words: yellow, under black letters, as of a highlighter."""
_MARGIN = 1.0
"""Points around a marked word."""


def main() -> None:
    """Answer the request."""
    request = json.load(sys.stdin)
    # What a library prints is for nobody.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    limit_process(request["memory"], request["seconds"])
    document = pdfium.PdfDocument(request["path"])
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
    width, height = page.get_size()
    most = math.sqrt(_MAX_PIXELS / max(1.0, width * height))
    bitmap = page.render(scale=min(request["scale"], most), rev_byteorder=True)
    pixels = np.array(bitmap.to_numpy()[:, :, :3])
    to_bitmap = bitmap.get_posconv(page)
    for box in _boxes(page, request["text"], request["start"], request["end"]):
        corners = [to_bitmap.to_bitmap(x, y) for x in box[::2] for y in box[1::2]]
        _mark(pixels, corners)
    return png(pixels)


def _mark(pixels: NDArray[np.uint8], corners: list[tuple[int, int]]) -> None:
    """Multiply a rectangle of the picture by the colour of the mark."""
    across, down = zip(*corners, strict=True)
    part = pixels[
        max(0, min(down)) : max(0, max(down) + 1), max(0, min(across)) : max(0, max(across) + 1)
    ]
    part[:] = (part * _MARK // 255).astype(np.uint8)


def _boxes(
    page: pdfium.PdfPage, text: str, start: int, end: int
) -> list[tuple[float, float, float, float]]:
    """Rectangles (left, bottom, right, top), in points, of the words of a span."""
    if start >= end:
        return []
    text_page = page.get_textpage()
    # A hyphen that breaks a word at the end of a line: both its parts are one word here.
    page_text = text_page.get_text_range().replace("\ufffe", "\u00ad")
    on_page = words(page_text)
    return [
        box
        for index in find_words(words(text), on_page, start, end)
        for box in _word_boxes(text_page, page_text, on_page[index])
    ]


def _word_boxes(
    page: pdfium.PdfTextPage, text: str, word: Word
) -> list[tuple[float, float, float, float]]:
    """The rectangle of a word; two if it is broken."""
    boxes: list[tuple[float, float, float, float]] = []
    start = word.start
    for part in text[word.start : word.end].split("\u00ad"):
        indices = [
            raw.FPDFText_GetCharIndexFromTextIndex(page, position)
            for position in range(start, start + len(part))
        ]
        found = [page.get_charbox(index, loose=True) for index in indices if index >= 0]
        if found:
            lefts, bottoms, rights, tops = zip(*found, strict=True)
            boxes.append(
                (
                    min(lefts) - _MARGIN,
                    min(bottoms) - _MARGIN,
                    max(rights) + _MARGIN,
                    max(tops) + _MARGIN,
                )
            )
        start += len(part) + 1
    return boxes
