"""Tables in text: values between commas, semicolons, tabs or bars (.csv, .tsv)."""

import csv
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import islice
from typing import Any

from memnet.errors import InputError, Problem
from memnet.io import decode
from memnet.loaders.document import DocumentBuilder, ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.tables.data_tables import Row, TableWriter

# By how seldom they stand in a value: the first of equally good ones is taken.
_DELIMITERS = "\t,;|"
_SAMPLE = 100_000  # characters at the start that show what delimits the values
_SAMPLE_ROWS = 200
# Characters of a value, as the standard library allows; more are an opening quote alone.
_MAX_FIELD = 131_072
_MAX_COLUMNS = 16_384  # of a row, as in a spreadsheet
# Of a value; the last one of a table may have more if a quote in it is never closed.
_MAX_LINES = 50
_MARK = "sep="  # a first line by which Excel says what the delimiter is


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The rows, each of which names its columns if the first row does."""
    text = decode(file.data)
    delimiter = find_delimiter(text)
    builder = DocumentBuilder()
    writer = TableWriter(builder, lambda row, _first, _last: f"line {row + 1}", file.max_characters)
    writer.table(_rows(text, delimiter), cells_placed=False)
    if not len(builder):
        raise InputError("holds no values; expected a table with some")
    yield file.document(builder)


def find_delimiter(text: str) -> str:
    """What delimits the values: what divides most rows into equally many, and into most."""
    if text[:4].lower() == _MARK and text[4:5].strip("\r\n"):
        return text[4]
    sample = text[:_SAMPLE]
    best, best_score = ",", 0.0
    for delimiter in _DELIMITERS:
        rows = _parsed(sample, delimiter, _SAMPLE_ROWS)
        lengths = Counter(len(row) for row in rows if any(row))
        width, count = max(lengths.items(), key=lambda found: (found[1], found[0]), default=(0, 0))
        share = count / max(lengths.total(), 1)
        score = share * share * min(width, 4)
        if width > 1 and score > best_score:
            best, best_score = delimiter, score
    return best


def _reader(lines: Iterable[str], delimiter: str, quoted: bool) -> Any:
    return csv.reader(
        lines,
        delimiter=delimiter,
        skipinitialspace=delimiter != "\t",
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
    )


def _parsed(text: str, delimiter: str, count: int) -> list[list[str]]:
    """The first rows."""
    try:
        return list(islice(_reader(StringIO(text, newline=""), delimiter, True), count))
    except csv.Error:  # a quote is opened and not closed for too long
        lines = (line[:_MAX_FIELD] for line in StringIO(text))
        return list(islice(_reader(lines, delimiter, False), count))


def _rows(text: str, delimiter: str) -> Iterator[Row]:
    """All rows that are not empty, with the numbers of the lines that they begin on, from 0."""
    quoted = _quotes_close(text, delimiter)
    reader = _reader(StringIO(text, newline=""), delimiter, quoted)
    line = 0
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise InputError(
                f"has a value of more than {_MAX_FIELD:,} characters after line {line + 1}, "
                "expected a table; give it the suffix .txt if it is text"
            ) from error
        if row is None:
            return
        start, line = line, reader.line_num
        if len(row) > _MAX_COLUMNS:
            raise InputError(
                f"has more than {_MAX_COLUMNS:,} values in line {start + 1}, expected a table; "
                "give it the suffix .txt if it is text"
            )
        if start == 0 and text[:4].lower() == _MARK:
            continue
        values = [value.strip() for value in row]
        if any(values):
            yield start, values


def _quotes_close(text: str, delimiter: str) -> bool:
    """Whether each quote that opens a value is closed: others are inches, or lost ones."""
    if '"' not in text:
        return True
    try:
        last = deque(_reader(StringIO(text, newline=""), delimiter, True), maxlen=1)
    except csv.Error:
        return False
    # One that is never closed takes all that follows into the last value.
    return not last or not last[0] or last[0][-1].count("\n") < _MAX_LINES
