"""Texts of office documents by python-docx, python-pptx, openpyxl, xlrd and odfpy."""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

from memnet.loaders.tables.sheets import cell_text


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


def sheets(path: Path) -> str:
    """Values of all cells by openpyxl, xlrd or odfpy, dates and numbers as people write them."""
    if path.suffix.lower() == ".ods":
        return _odf_texts(path)
    if path.suffix.lower() == ".xls":
        import xlrd

        with xlrd.open_workbook(str(path), logfile=StringIO()) as book:
            return "\n".join(
                text
                for sheet in book.sheets()
                for text in (
                    sheet.name,
                    *(
                        _value(_xls_value(cell, book.datemode))
                        for row in sheet.get_rows()
                        for cell in row
                    ),
                )
            )
    from openpyxl import load_workbook

    workbook = load_workbook(path, data_only=True)
    return "\n".join(
        text
        for sheet in workbook.worksheets
        for text in (
            sheet.title,
            *(_value(value) for row in sheet.iter_rows(values_only=True) for value in row),
        )
    )


def _xls_value(cell: Any, datemode: int) -> Any:
    from xlrd import XL_CELL_BOOLEAN, XL_CELL_DATE, XL_CELL_ERROR
    from xlrd.xldate import xldate_as_datetime

    if cell.ctype == XL_CELL_DATE:
        day = xldate_as_datetime(cell.value, datemode)
        return day.time() if cell.value < 1 else day
    if cell.ctype == XL_CELL_ERROR:
        return None
    return bool(cell.value) if cell.ctype == XL_CELL_BOOLEAN else cell.value


def _value(value: Any) -> str:
    if value is None or (isinstance(value, str) and value.startswith("#")):
        return ""  # nothing, or an error
    return cell_text(value)


def opendocument(path: Path) -> str:
    """Headings and paragraphs by odfpy, without tables of contents, comments and deleted text."""
    return _odf_texts(path)


def _odf_texts(path: Path) -> str:
    from odf.opendocument import load

    texts: list[str] = []
    pending: list[Any] = [load(str(path)).body]
    while pending:
        element = pending.pop()
        name = element.qname[1]
        if name in ("table-of-content", "tracked-changes", "annotation"):
            continue
        if name in ("h", "p"):
            texts.append(_odf_text(element))
        # Paragraphs within paragraphs, of notes and text boxes, are found on their own.
        pending += (child for child in element.childNodes if hasattr(child, "qname"))
    return "\n".join(texts)


def _odf_text(element: Any) -> str:
    parts: list[str] = []
    for child in element.childNodes:
        if not hasattr(child, "qname"):
            parts.append(str(child))
        elif child.qname[1] in ("s", "tab", "line-break"):
            parts.append(" ")
        elif child.qname[1] not in ("note", "frame", "annotation", "custom-shape", "h", "p"):
            parts.append(_odf_text(child))
    return "".join(parts)
