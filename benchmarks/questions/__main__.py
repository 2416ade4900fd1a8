"""Collect written questions into the set, with its table of sources and the counts of its card.

    python -m benchmarks.questions FOLDER ...

Each folder holds ``NAME.jsonl``, the questions about one collection, and ``NAME.license.txt`` with
lines "Collection: NAME (what it is)", "Repository: ", "Commit: ", "Licence: ", "Attribution: ".
A question with a problem is an error; a collection whose licence is not one of the known ones,
which all allow to redistribute its text, is left out. The same files give the same bytes.
"""

import gzip
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.questions import FIELDS, FILE, FOLDER, counts, problems, read_questions

_LICENCES = (
    (r"CC BY-(?:NC|ND)|NonCommercial|NoDeriv", ""),
    (r"CC[ -]BY-SA(?:[ -](?P<a>\d\.\d))?|Attribution-ShareAlike(?: (?P<b>\d\.\d))?", "CC BY-SA"),
    (r"CC[ -]BY(?:[ -](?P<a>\d\.\d))?(?!-)|Commons Attribution(?: (?P<b>\d\.\d))?(?!-)", "CC BY"),
    (r"CC0", "CC0 1.0"),
    (r"public domain|not subject to copyright|Unlicense", "public domain"),
    (r"\bMIT\b", "MIT"),
    (r"BSD 3-Clause|BSD-3-Clause", "BSD-3-Clause"),
    (r"Apache", "Apache-2.0"),
)
"""How licences are named in a statement, and in the table; empty: the text may not be copied."""
_COLUMNS = (
    "| collection | what it is | repository | commit | licence | as stated there | attribution "
    "| questions |\n|---|---|---|---|---|---|---|---|"
)
_EXTRACTED = "extracted text"
"""Words of a note on a collection whose passages are not as its files have them."""
_CHANGED = "Changed in form: passages are of the text extracted from the pages."
_WRITERS_OWN = re.compile(
    r"\s*\((?:(?:text in )?files/|here in this folder)[^)]*\)|[;,] (?:kept in )?files/[^);]*"
    r"|files/ and of |[;,] excerpts unchanged, quotes with white space collapsed"
    r"|\s*Quotations, passages and questions.*"
)
"""What a statement says of the folders in which the questions were written."""


def main() -> None:
    """Write the file, the table of sources and the counts of the card."""
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    questions: list[dict[str, Any]] = []
    rows: list[str] = []
    files = [file for folder in sys.argv[1:] for file in Path(folder).glob("*.jsonl")]
    for file in sorted(files, key=lambda one: one.name):
        source = _source(file.with_suffix(".license.txt"))
        written = [_fields(one) for one in read_questions(file)]
        licence = _licence(source["Licence"])
        if not licence:
            print(f"{file.stem}: left out, its licence is {source['Licence']}")
            continue
        for one in written:
            for problem in problems(one):
                raise SystemExit(f"{file}, {one.get('id')}: {problem}")
        questions += written
        rows.append(_row(file.stem, source, licence, len(written)))
    questions.sort(key=lambda one: one["id"])
    if len({one["id"] for one in questions}) < len(questions):
        raise SystemExit("two questions have the same id")
    lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in questions)
    FILE.write_bytes(gzip.compress(lines.encode(), 9, mtime=0))
    _replace(FOLDER / "SOURCES.md", "sources", "\n".join([_COLUMNS, *rows]))
    _replace(FOLDER / "README.md", "counts", counts(questions))
    print(f"{len(questions):,} questions about {len(rows)} collections, {FILE.stat().st_size:,} B")


def _fields(question: Mapping[str, Any]) -> dict[str, Any]:
    kept = (*FIELDS, "passages")
    return {field: question[field] for field in kept if field in question}


def _source(path: Path) -> dict[str, str]:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    fields = dict(line.split(": ", 1) for line in lines if re.match(r"[A-Z]\w+: ", line))
    if _EXTRACTED in text:
        fields["Attribution"] = f"{fields.get('Attribution', '')} {_CHANGED}".strip()
    if not {"Collection", "Licence"} <= set(fields):
        raise SystemExit(f"{path}: names no collection or no licence")
    return fields


def _licence(statement: str) -> str:
    """The short name of the licence that a statement names first; empty if it is not known."""
    found = [
        (match.start(), f"{name} {version}".strip() if name else "")
        for pattern, name in _LICENCES
        if (match := re.search(pattern, statement))
        for version in [next(filter(None, match.groups()), "")]
    ]
    return min(found, default=(0, ""), key=lambda one: one[0])[1]


def _row(name: str, source: Mapping[str, str], licence: str, number: int) -> str:
    what = re.sub(rf"^{re.escape(name)} \((.*)\)$", r"\1", source["Collection"])
    where = source.get("Repository") or source.get("Source", "")
    statement = source["Licence"]
    commit = source.get("Commit", "")
    cells = (name, what, where, commit, licence, statement, source.get("Attribution", ""), number)
    shown = (_WRITERS_OWN.sub("", str(cell)).replace("|", "\\|").strip() for cell in cells)
    return f"| {' | '.join(shown)} |"


def _replace(path: Path, name: str, content: str) -> None:
    """Put content between the marks of a name in a page."""
    start, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(start)
    path.write_text(before + start + content + end + rest.split(end)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
