"""Texts of office documents by python-docx, python-pptx, openpyxl, xlrd and odfpy."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def docx(path: Path) -> str:
    """Paragraphs and tables of the body by python-docx, without tables of contents."""
    from docx import Document

    return "\n".join(_docx_texts(Document(str(path))))


def _docx_texts(container: Any) -> Iterator[str]:
    for item in container.iter_inner_content():
        if not hasattr(item, "rows"):
            style = item.style.name.lower() if item.style is not None and item.style.name else ""
            if not style.startswith("toc "):
                yield item.text
            continue
        for row in item.rows:
            seen: list[Any] = []
            for cell in row.cells:
                if not any(cell._tc is other for other in seen):  # cells over several columns
                    seen.append(cell._tc)
                    yield from _docx_texts(cell)


def pptx(path: Path) -> str:
    """Shapes, tables and notes of all slides by python-pptx."""
    from pptx import Presentation

    texts: list[str] = []
    for slide in Presentation(str(path)).slides:
        texts += _pptx_texts(slide.shapes)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            texts.append(slide.notes_slide.notes_text_frame.text)
    return "\n".join(texts)


def _pptx_texts(shapes: Any) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _pptx_texts(shape.shapes)
        elif shape.is_placeholder and shape.placeholder_format.type in (13, 15, 16):
            continue  # slide number, footer, date
        elif getattr(shape, "has_table", False) and shape.has_table:
            for row in shape.table.rows:
                yield from (cell.text_frame.text for cell in row.cells if not cell.is_spanned)
        elif shape.has_text_frame:
            yield shape.text_frame.text
