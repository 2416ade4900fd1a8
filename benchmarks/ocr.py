"""Words read from scans and photographs that are made of pages with known words.

    python -m benchmarks.ocr              # results/ocr.json
    python -m benchmarks.ocr --examples   # the files of examples/scans

Needs the extra ocr; the fonts are those of matplotlib. Pages are texts of the repository, an
invoice and a notice. F1 is over words as they are printed, in their order: the longest common
blocks. Seconds are processor time.
"""

import argparse
import json
import re
import statistics
import time
from difflib import SequenceMatcher
from io import BytesIO
from pathlib import Path
from unittest import mock

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from benchmarks.environment import environment
from memnet.loaders import pictures
from memnet.loaders.formats import SourceFile
from memnet.loaders.pdf import scans

_ROOT = Path(__file__).parents[1]
_FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
_TEXTS = ("docs/decisions/020-loaders.md", "docs/decisions/014-untrusted-input.md")
_SERIF, _SANS, _BOLD = "STIXGeneral.ttf", "DejaVuSans.ttf", "DejaVuSans-Bold.ttf"
_INVOICE = """Brisk & Daughters, Sailmakers
7 Rope Walk, Kestle

Invoice 2291
Date: 14 May 2024
Customer: Skellin Sailing School
Please pay by: 13 June 2024

Description|Number|Price|Amount
Mainsail repaired|2|140.00|280.00
Bronze shackle|12|6.50|78.00
Halyard, 30 metres|1|64.00|64.00
Total|||422.00

The sails can be fetched from the loft on weekdays until 17:30."""
_NOTICE = """Fenna Public Baths

Closed for repairs
from 3 to 21 November

The boiler is replaced. Season tickets
are valid three weeks longer.

Swimming lessons move to the
harbour school in Low Tassen.

Questions: Ida Marrow, office 4"""

Page = tuple[Image.Image, list[str]]


def _font(name: str, points: float, dpi: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(_FONTS / name), points * dpi / 72)


def text_page(
    text: str, dpi: int, font: str = _SERIF, points: float = 11, columns: int = 1
) -> Page:
    """A page of A4 as a grey picture, and its words in reading order."""
    unit = dpi / 72
    page = Image.new("L", (round(595 * unit), round(842 * unit)), 255)
    draw, letters = ImageDraw.Draw(page), _font(font, points, dpi)
    width = (475 - 24 * (columns - 1)) / columns
    waiting, shown = text.split()[::-1], []
    for column in range(columns):
        for number in range(int(680 / (1.3 * points))):
            line: list[str] = []
            while (
                waiting and draw.textlength(" ".join([*line, waiting[-1]]), letters) < width * unit
            ):
                line.append(waiting.pop())
            left, top = 60 + column * (width + 24), 80 + 1.3 * points * number
            draw.text((left * unit, top * unit), " ".join(line), 0, letters)
            shown += line
    return page, shown


def form_page(text: str, dpi: int, points: float = 11, size: tuple[int, int] = (595, 842)) -> Page:
    """A page of lines, whose cells are separated by bars; the first line is large."""
    unit = dpi / 72
    page = Image.new("L", (round(size[0] * unit), round(size[1] * unit)), 255)
    draw = ImageDraw.Draw(page)
    for number, line in enumerate(text.splitlines()):
        letters = _font(_SANS if number else _BOLD, points * (1 if number else 1.6), dpi)
        for column, cell in enumerate(line.split("|")):
            left, top = 60 + 120 * column + 60 * bool(column), 60 + 1.5 * points * number
            draw.text((left * unit, top * unit), cell, 0, letters)
    return page, text.replace("|", " ").split()


def scanned(page: Image.Image, seed: int = 0) -> Image.Image:
    """As a scanner gives it: paper that is not white, noise, a little blur, JPEG."""
    noise = np.random.default_rng(seed).normal(0, 6, (page.height, page.width))
    blurred = page.filter(ImageFilter.GaussianBlur(page.width / 3000))
    values = np.asarray(blurred, np.float32) * 0.86 + 25 + noise
    Image.fromarray(values.clip(0, 255).astype(np.uint8)).save(
        file := BytesIO(), "JPEG", quality=70
    )
    return Image.open(file)


def turned(page: Image.Image) -> Image.Image:
    """By two degrees."""
    return page.rotate(2, Image.Resampling.BICUBIC, expand=True, fillcolor=240)


def grey(page: Image.Image) -> Image.Image:
    """Faint print on grey paper."""
    return page.point([110 + value * 90 // 255 for value in range(256)])


def photographed(page: Image.Image, seed: int = 0) -> Image.Image:
    """Seen from the side, lit from a corner."""
    w, h = page.size
    corners = (-0.03 * w, -0.02 * h, 0.02 * w, 1.03 * h, 1.04 * w, 1.01 * h, 1.01 * w, -0.04 * h)
    seen = page.transform(
        page.size, Image.Transform.QUAD, corners, Image.Resampling.BICUBIC, fillcolor=90
    )
    down, across = np.mgrid[0 : 1 : h * 1j, 0 : 1 : w * 1j]
    light = 1 - 0.55 * np.hypot(down - 0.1, across - 0.2)
    values = np.asarray(seen.filter(ImageFilter.GaussianBlur(w / 2000)), np.float32) * light
    values += np.random.default_rng(seed).normal(0, 5, values.shape)
    return Image.fromarray(values.clip(0, 255).astype(np.uint8))


def _pages(dpi: int) -> dict[str, list[Page]]:
    texts = [re.sub(r"[#*`|<>\[\]_]", " ", (_ROOT / name).read_text("utf-8")) for name in _TEXTS]
    plain = [text_page(texts[0], dpi), text_page(texts[1], dpi, _SANS, 10)]
    columns = [text_page(texts[1], dpi, points=10, columns=2)]
    return {
        "text": [(scanned(page), words) for page, words in plain],
        "turned by 2 degrees": [(scanned(turned(page)), words) for page, words in plain],
        "faint, on grey": [(scanned(grey(page)), words) for page, words in plain],
        "photographed": [(photographed(page), words) for page, words in plain],
        "two columns": [(scanned(page), words) for page, words in columns],
        "invoice": [(scanned(turned(page)), words) for page, words in [form_page(_INVOICE, dpi)]],
        "notice, photographed": [
            (photographed(page), words) for page, words in [form_page(_NOTICE, dpi, 20)]
        ],
    }


def _read(page: Image.Image) -> tuple[list[str], float]:
    """The words of a page, and the seconds that reading its file takes."""
    page.save(file := BytesIO(), "PNG")
    started = time.process_time()
    documents = list(pictures.load(SourceFile("page.png", file.getvalue())))
    seconds = time.process_time() - started
    words = [word for one in documents for word in getattr(one, "text", "").split()]
    return [word for word in words if word != "|"], seconds


def _f1(expected: list[str], found: list[str]) -> float:
    blocks = SequenceMatcher(None, expected, found, autojunk=False).get_matching_blocks()
    return 2 * sum(block.size for block in blocks) / (len(expected) + len(found))


def main() -> None:
    """Measure, or write the examples."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", action="store_true")
    if parser.parse_args().examples:
        folder = _ROOT / "examples" / "scans"
        invoice, notice = form_page(_INVOICE, 110)[0], form_page(_NOTICE, 110, 20)[0]
        page, day = scanned(turned(invoice)), time.gmtime(1_715_763_600)
        dates = {"creationDate": day, "modDate": day}
        page.save(folder / "invoice-2291.pdf", "PDF", resolution=110, quality=45, **dates)
        photographed(notice).save(folder / "notice-on-the-door.jpg", quality=45)
        return
    with mock.patch.object(scans, "_FOLDER", Path("/dev/null")):  # nothing is kept
        _read(scanned(form_page(_NOTICE, 150)[0]))  # loads the models
        measured: dict[str, dict[str, dict[str, float]]] = {}
        for dpi in (300, 150):
            for kind, pages in _pages(dpi).items():
                read = [_read(page) for page, _ in pages]
                scores = [
                    _f1(words, found) for (_, words), (found, _) in zip(pages, read, strict=True)
                ]
                measured.setdefault(kind, {})[str(dpi)] = {
                    "words": statistics.mean(len(words) for _, words in pages),
                    "f1": round(statistics.mean(scores), 4),
                    "seconds": round(statistics.mean(one for _, one in read), 2),
                }
                print(dpi, kind, measured[kind][str(dpi)], flush=True)
    head = environment(("rapidocr", "onnxruntime", "pypdfium2"))
    out = _ROOT / "benchmarks" / "results" / "ocr.json"
    out.write_text(json.dumps({"environment": head, "pages": measured}, indent=1) + "\n")


if __name__ == "__main__":
    main()
