"""Jupyter notebooks: text, code and results of each cell, placed by the cell's number."""

import re
from collections.abc import Iterator
from typing import Any

from memnet.errors import InputError, Problem
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile
from memnet.loaders.json_text import JsonObject, inner, objects, read_json, string, text
from memnet.loaders.markup.markdown import add_markdown

_MAX_OUTPUT = 2000  # characters of a cell's results; people do not read more of a log either
_ESCAPE = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")  # colours of a terminal
# What stands for a picture or an object that has no text.
_OBJECT = re.compile(
    r"\[?<[\w.]+(?: object)? at 0x[0-9a-f]+>\]?|<(?:Figure|matplotlib)[^<>]{0,200}>"
)


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The cells of a notebook of format 3 or 4."""
    data = read_json(file.data)
    cells = _cells(data)
    if cells is None:
        raise InputError('is no notebook, expected JSON with "cells"; save it again in Jupyter')
    builder = DocumentBuilder()
    problems: list[str] = []
    titles: list[str] = []
    for number, cell in enumerate(cells, 1):
        builder.place = f"cell {number}"
        _add_cell(builder, cell, titles, problems)
    if not len(builder):
        raise InputError("is a notebook without text or code; leave it out", "empty")
    about = inner(data, "metadata")
    title = next(filter(None, [one_line(string(about.get("title"))), *titles]), "")
    yield file.document(builder, title[: file.max_title], _metadata(about))
    yield from (Problem(file.name, problem) for problem in problems)


def _cells(data: Any) -> list[JsonObject] | None:
    """The cells: of format 4 in one list, of format 3 in worksheets; None if there are none."""
    if not isinstance(data, dict):
        return None
    sheets = [data] if isinstance(data.get("cells"), list) else data.get("worksheets")
    if not isinstance(sheets, list):
        return None
    return [cell for sheet in objects(sheets) for cell in objects(sheet.get("cells"))]


def _add_cell(
    builder: DocumentBuilder, cell: JsonObject, titles: list[str], problems: list[str]
) -> None:
    kind = string(cell.get("cell_type"))
    source = _joined(cell.get("source", cell.get("input")))
    if kind == "markdown":
        title = add_markdown(builder, source)
        if title and not titles:
            titles.append(title)
    elif kind == "heading":  # format 3
        level = cell.get("level")
        builder.add("heading", one_line(source), level=level if isinstance(level, int) else 1)
    elif kind == "code":
        builder.add("code", source)
        builder.add("code", _results(cell))
    elif kind == "raw":
        builder.add("paragraph", source)
    elif source.strip():
        problems.append(f"{builder.place} is of unknown kind {kind!r} and left out")


def _results(cell: JsonObject) -> str:
    """What a cell printed and gave as text; errors are none of the notebook's text."""
    parts = []
    for output in objects(cell.get("outputs")):
        kind = string(output.get("output_type"))
        if kind == "stream" and output.get("name", output.get("stream")) != "stderr":
            parts.append(_joined(output.get("text")))
        elif kind in ("execute_result", "display_data", "pyout"):
            data = output.get("data", output)
            plain = data.get("text/plain", data.get("text")) if isinstance(data, dict) else ""
            shown = _joined(plain)
            parts.append("" if _OBJECT.fullmatch(shown.strip()) else shown)
    said = _ESCAPE.sub("", "\n".join(part.strip("\n") for part in parts if part.strip()))
    if len(said) <= _MAX_OUTPUT:
        return said
    return f"{said[:_MAX_OUTPUT].rpartition(chr(10))[0] or said[:_MAX_OUTPUT]}\n..."


def _joined(source: Any) -> str:
    """A text, which may be a list of its lines."""
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return string(source)


def _metadata(about: JsonObject) -> dict[str, str]:
    language = text(inner(about, "language_info"), "name")
    authors = [text(author, "name") for author in objects(about.get("authors"))]
    found = {
        "language": language or text(inner(about, "kernelspec"), "language"),
        "author": ", ".join(filter(None, authors)),
    }
    return {key: value for key, value in found.items() if value}
