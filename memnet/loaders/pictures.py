"""Pictures of text: PNG, JPEG, TIFF and WebP files. Each is made a PDF file of its pages."""

import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from io import BytesIO

import numpy as np
import pypdfium2 as pdfium
from PIL import Image, ImageOps

from memnet.errors import InputError, Problem
from memnet.loaders import pdf
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile

# Pixels of the longer side, and points of so many: a larger picture is made smaller, as long as A4.
_PIXELS, _POINTS = 2600, 842.0


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The text in a picture. Raises InputError if it is none, damaged, or holds no text."""
    with closing(as_pdf(file.data)) as document:
        for item in pdf.load_pages(document, file):
            # Its other metadata are those of the PDF file, such as the date of today.
            pages = {"pages": len(document)}
            yield replace(item, metadata=pages) if isinstance(item, ParsedDocument) else item


def as_pdf(data: bytes) -> pdfium.PdfDocument:
    """A PDF file of a picture, or of all pages of a TIFF file. Raises InputError."""
    document = pdfium.PdfDocument.new()
    try:
        with warnings.catch_warnings(action="ignore"):  # of large pictures, odd tags and palettes
            image = Image.open(BytesIO(data), formats=("PNG", "JPEG", "TIFF", "WEBP"))
            for number in range(getattr(image, "n_frames", 1) if image.format == "TIFF" else 1):
                image.seek(number)
                _add(document, image)
    except Image.DecompressionBombError as error:
        raise InputError("has more than 178 megapixels, the limit; make it smaller") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise InputError(
            "is not a complete image; expected PNG, JPEG, TIFF or WebP: it is cut off, "
            "or not what its suffix says"
        ) from error
    return document


def _add(document: pdfium.PdfDocument, image: Image.Image) -> None:
    if image.mode.startswith(("I", "F")):  # of 16 bits
        values = np.asarray(image, np.float32)
        image = Image.fromarray((values * (255 / max(values.max(), 1.0))).astype(np.uint8))
    elif image.mode in ("1", "P"):  # which can't be made smaller as they are
        image = image.convert("L" if image.mode == "1" else "RGBA")
    image.thumbnail((_PIXELS, _PIXELS), reducing_gap=2.0)
    image = ImageOps.exif_transpose(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    image.convert("RGB").save(stream := BytesIO(), "JPEG", quality=92)
    scale = min(0.5, _POINTS / max(image.size))
    page = document.new_page(*(side * scale for side in image.size))
    picture = pdfium.PdfImage.new(document)
    picture.load_jpeg(stream, inline=True)
    picture.set_matrix(pdfium.PdfMatrix().scale(*page.get_size()))
    page.insert_obj(picture)
    page.gen_content()
