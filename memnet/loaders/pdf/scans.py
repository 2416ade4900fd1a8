"""Pages that are pictures of text: their lines, by RapidOCR.

What is read of a page is kept in the user's cache folder for some days, by a digest of its picture:
an ingest that was stopped does not read it again, and the words of an answer are found in it.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cache
from importlib import import_module
from importlib.metadata import version
from math import cos, sin
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np
import pypdfium2 as pdfium
from numpy.typing import NDArray
from PIL import Image, ImageFont
from platformdirs import user_cache_path

from memnet.loaders.pdf.lines import Line, clean, same_line

# A text and the corners of its box, in points from the upper left one of the page, clockwise.
ScanLine: TypeAlias = tuple[str, list[tuple[float, float]]]
Box: TypeAlias = tuple[float, float, float, float]  # left, bottom, right, top
_PIXELS, _SHARPEST = 2000, 300 / 72  # of the longer side of a page, and for a point at most
# Shares of its width that a picture is narrowed to, and of its size at which lines are looked for:
# what is recognised stays the same (``benchmarks/ocr.py``), and costs a third less.
_NARROW, _COARSE = 0.7, 0.64
_CONFIDENCE = 0.75  # of a line: what is less likely is seen in photographs without text
_FOLDER = user_cache_path("memnet") / "ocr"
_KEPT = 7 * 86_400  # seconds since what was read was last used
# Shares of the height of a line's box: the size of its font, and what lies beside its letters.
_EM, _BESIDE = 0.83, 0.17


def read_scan(page: pdfium.PdfPage) -> list[ScanLine]:
    """The lines in the picture of a page, which is turned until they are upright."""
    picture, scale = _picture(page)
    digest = hashlib.blake2b(picture.tobytes(), digest_size=16)
    digest.update(repr((picture.shape, version("rapidocr"), _CONFIDENCE)).encode())
    path = _FOLDER / f"{digest.hexdigest()}.json"
    lines: list[ScanLine]
    with suppress(OSError, ValueError, TypeError):
        turn, lines = json.loads(path.read_bytes())
        page.set_rotation(turn)
        os.utime(path)
        return lines
    lines = _recognise(page, picture, scale)
    with suppress(OSError):  # without a cache it is read again
        path.parent.mkdir(0o700, parents=True, exist_ok=True)
        forget_scans(_KEPT)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps((page.get_rotation(), lines)), encoding="utf-8")
        part.replace(path)
    return lines


def forget_scans(seconds: float = 0.0) -> None:
    """Remove what was not used for so long."""
    for path in _FOLDER.glob("*.json"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime >= seconds:
                path.unlink()


def _picture(page: pdfium.PdfPage) -> tuple[NDArray[np.uint8], float]:
    """The picture of a page, and its pixels for a point."""
    scale = min(_PIXELS / max(*page.get_size(), 1.0), _SHARPEST)
    with closing(page.render(scale=scale)) as bitmap:
        return np.array(bitmap.to_numpy()), scale


def _recognise(page: pdfium.PdfPage, picture: NDArray[np.uint8], scale: float) -> list[ScanLine]:
    result: Any = None
    for _ in range(2):
        height, width = picture.shape[:2]
        narrow = Image.fromarray(picture).resize((max(1, round(width * _NARROW)), height))
        _engine().turn = 0
        result = _engine()(np.asarray(narrow))
        if not _engine().turn:
            break
        page.set_rotation((page.get_rotation() + _engine().turn) % 360)
        picture, _ = _picture(page)
    boxes = np.round(result.boxes / [scale * _NARROW, scale], 2).tolist() if result else []
    return [one for one in zip(map(clean, result.txts or ()), boxes, strict=True) if one[0]]


@cache
def _engine() -> Any:
    rapidocr: Any = import_module("rapidocr")

    class Engine(rapidocr.RapidOCR):  # type: ignore[misc]
        turn = 0  # degrees, clockwise, by which the last picture is to be turned

        def crop_text_regions(self, img: Any, det_boxes: Any) -> Any:
            width, height = np.ptp(det_boxes, axis=1).T
            self.turn = 270 * bool(np.median(height > 1.5 * width) > 0.5)
            return super().crop_text_regions(img, det_boxes)

        def cls_and_rotate(self, img: Any) -> Any:
            _, found = super().cls_and_rotate(img)
            down = [label == "180" and score > 0.9 for label, score in found.cls_res]
            self.turn += 180 * bool(np.median(down) > 0.5)
            return img, found

    models = Path(rapidocr.__file__).with_name("models")
    given: dict[str, Any] = {
        "Global.log_level": "critical",
        "Global.max_side_len": 2 * _PIXELS,
        "Global.text_score": _CONFIDENCE,
        "Det.limit_type": "max",
        "Det.limit_side_len": round(_COARSE * _PIXELS),
        "EngineConfig.onnxruntime.intra_op_num_threads": min(4, os.cpu_count() or 1),
    }
    for kind in ("Det", "Cls", "Rec"):  # without a path it would look for a model, and download one
        given[f"{kind}.model_path"] = str(next(models.glob(f"*_{kind.lower()}_*.onnx")))
    return Engine(params=given)


def scan_words(scan: list[ScanLine], page: pdfium.PdfPage) -> Iterator[tuple[str, Box]]:
    """The words of lines, as a usual font spaces them, in their order."""
    to_page = pdfium.PdfPosConv(page, (0, 0, *(round(10 * side) for side in page.get_size()), 0))
    font = ImageFont.load_default(20)
    for text, corners in scan:
        one, two, three, four = np.array(corners)
        whole = font.getlength(text)
        for word in re.finditer(r"\S+", text):
            shares = np.array([[font.getlength(text[:at]) / whole] for at in word.span()])
            places = np.concatenate([one + shares * (two - one), four + shares * (three - four)])
            at = [to_page.to_page(*np.round(10 * place).astype(int).tolist()) for place in places]
            yield word[0], (*np.min(at, axis=0).tolist(), *np.max(at, axis=0).tolist())


def scan_lines(scan: list[ScanLine], height: float) -> list[Line]:
    """The lines of a page of that height, from the top; those beside each other are one."""
    boxes = np.array([corners for _, corners in scan]).reshape(-1, 4, 2)
    along, down = boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 0]
    level = along[along[:, 0] > 3 * abs(along[:, 1])]
    angle = float(np.median(np.arctan2(level[:, 1], level[:, 0]))) if len(level) else 0.0
    boxes = boxes @ np.array([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])
    heights = np.linalg.norm(down, axis=1)
    usual = float(np.median(np.repeat(heights, [len(text) for text, _ in scan]) if scan else 0))
    rows: list[list[Line]] = []
    found = zip(boxes[:, :, 1].mean(axis=1), scan, boxes.tolist(), heights.tolist(), strict=True)
    for middle, (text, _), box, tall in sorted(found):
        size = _EM * (usual if abs(tall / usual - 1) < 0.2 else tall)  # heights vary by letters
        lefts = [corner[0] for corner in box]
        left, right = min(lefts) + _BESIDE * tall, max(lefts) - _BESIDE * tall
        base = height - float(middle) - 0.3 * size
        line = Line(text, left, right, base, size, False, False, 0, False)
        line.margin = min(max(base, 0.0), height - base) / height
        is_beside = rows and rows[-1][0].base - base < 0.6 * min(size, rows[-1][0].size)
        rows[-1].append(line) if is_beside else rows.append([line])
    lines: list[Line] = []
    for row in rows:
        base = median(line.base for line in row)
        for line in sorted(row, key=lambda line: line.left):
            line.base = base
            joined = same_line(lines[-1], line) if lines and lines[-1].base == base else None
            lines[-1:] = [joined] if joined else [*lines[-1:], line]
    return lines
