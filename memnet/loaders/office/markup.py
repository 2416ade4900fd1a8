"""What office documents share: items of lists, which row names columns, charts as tables."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple
from xml.etree.ElementTree import Element

from memnet.loaders.document import one_line
from memnet.loaders.package import attribute, children, integer, local
from memnet.loaders.tables.data_tables import SAMPLE, header_rows, kind_of

BULLET = re.compile(r"[-–—•*▪●■◦‣·➢✓] +(?=\S)")  # that is typed in
PRIVATE = re.compile("[\ue000-\uf8ff]")  # characters of fonts that draw symbols
_UNNAMED = re.compile(r"Series ?\d+")  # a series of a chart that nobody named


class Cell(NamedTuple):
    """A cell of a table whose document does not mark its headers."""

    text: str
    bold: bool = False  # whether all of its text is


def names_columns(rows: Sequence[Sequence[Cell]]) -> bool:
    """Whether the first row of a table names its columns: it alone is bold, or reads so.

    Two columns without numbers may be a list of keys and values.
    """
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    bold = [all(cell.bold for cell in row if cell.text) for row in rows[:2]]
    texts = [[one_line(cell.text) for cell in row] for row in rows[:SAMPLE]]
    if bold[0]:
        return not bold[1]
    listed = len(rows[0]) == 2 and any(kind_of(row[-1]) == "text" for row in texts[1:])
    return not listed and header_rows(texts) > 0


def drawn_rows(root: Element) -> list[list[str]]:
    """What a chart or a diagram says: its titles and texts as rows of one cell, then the values.

    The first row with several cells has the names of the series, if any is named, below an empty
    corner; each further one holds a category with the value that each series has for it.

    Args:
        root: of the part of a chart (``chartSpace``) or of the data of a diagram (``dataModel``).
    """
    if local(root) == "dataModel":
        points = (element for element in root.iter() if local(element) == "pt")
        return [[line] for point in points for line in _lines(point)]
    titles = [element for element in root.iter() if local(element) == "title"]
    lines = [[one_line(" ".join(_lines(title)))] for title in titles]
    series = [element for element in root.iter() if local(element) == "ser"]
    names = [" ".join(_points(each, "tx").values()) for each in series]
    categories = next(filter(None, (_points(each, "cat", "xVal") for each in series)), {})
    values = [_points(each, "val", "yVal") for each in series]
    places = sorted({place for found in (categories, *values) for place in found})
    rows = [[categories.get(at, ""), *(found.get(at, "") for found in values)] for at in places]
    names = ["" if _UNNAMED.fullmatch(name) else name for name in names]
    if not rows:  # no values are stored with it
        lines += [[name] for name in names]
    elif any(names):
        rows.insert(0, ["", *names])
    return [line for line in lines if line[0]] + rows


def table_markup(rows: Sequence[Sequence[str]]) -> str:
    """HTML of the rows that ``drawn_rows`` gives."""
    lines = "".join(f"<p>{escape(row[0])}</p>" for row in rows if len(row) == 1)
    table = ""
    for row in (row for row in rows if len(row) > 1):
        # In bold a single name below an empty corner is one of a column, too.
        start, end = ("<td>", "</td>") if table or row[0] else ("<th><b>", "</b></th>")
        table += "<tr>" + "".join(f"{start}{escape(text)}{end}" for text in row) + "</tr>"
    return f"{lines}<table>{table}</table>"


def list_item(marker: str, markup: str, level: int = 0) -> str:
    """HTML of an item of a list with the marker that its program shows: "-", "iv)"."""
    item = f'<ul><li data-marker="{escape(marker)}">{markup}</li></ul>'
    return "<ul><li>" * level + item + "</li></ul>" * level


def _lines(element: Element) -> Iterator[str]:
    for paragraph in element.iter():
        if local(paragraph) == "p":
            text = "".join(part.text or "" for part in paragraph.iter() if local(part) == "t")
            if line := one_line(text):
                yield line


def _points(series: Element, *names: str) -> dict[int, str]:
    """By their number the cached values that a part of a series refers to."""
    found: dict[int, str] = {}
    for name in names:
        for point in (part for given in children(series, name) for part in given.iter()):
            if local(point) == "pt":
                text = one_line("".join(value.text or "" for value in children(point, "v")))
                found.setdefault(integer(attribute(point, "idx")), text)
    return found
