"""Whether what is shown can be relied on, over collections that nothing was learned from.

    python -m benchmarks.reliability FOLDER [--only collections verdicts tables] [--out FILE]

FOLDER holds collections (each ``files/`` and ``questions.jsonl``, as for ``benchmarks.documents``),
``verdicts.jsonl`` (a passage, a question for yes or no, and the verdict that the passage gives) and
``tables/`` (tables in several formats with ``questions.jsonl``). What is printed, each in percent:

- collections: of the answerable questions those shown as an answer, and how many of these are
  right; of all that is shown how much holds the right answer; of the unanswerable ones those shown
  as an answer, or at all.
- verdicts: right verdicts, verdicts that contradict the passage, and verdicts given where the
  passage has none.
- tables: right cells by shape and format.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.documents import holds, is_right
from memnet import Document, Engine

_PARTS = ("collections", "verdicts", "tables")


def main() -> None:
    """Ask, and print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=list(_PARTS))
    parser.add_argument("--out", type=Path, help="all answers, as JSON lines")
    options = parser.parse_args()
    asked: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {
        "collections": _collections, "verdicts": _verdicts, "tables": _tables,
    }  # fmt: skip
    rows = [row for part in options.only for row in asked[part](options.folder)]
    if options.out:
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for part in options.only:
        _report(part, [row for row in rows if row["part"] == part])


def _collections(folder: Path) -> Iterator[dict[str, Any]]:
    for collection in sorted(one.parent for one in folder.glob("*/questions.jsonl")):
        if not (collection / "files").is_dir():
            continue
        with tempfile.TemporaryDirectory() as store, Engine.open(store, create=True) as memory:
            memory.ingest(collection / "files")
            for question in _lines(collection / "questions.jsonl"):
                answer = memory.ask(question["question"])
                text = answer.answer or ""
                short = answer.short or ""
                whole = is_right(question, answer.answer)
                bold = whole and (
                    not short
                    or question["type"] not in ("value", "multi")
                    or any(holds(short, phrase) for phrase in question["answers"])
                )
                yield {
                    "part": "collections", "of": collection.name, "type": question["type"],
                    "question": question["question"], "gold": question["answers"],
                    "answer": text, "short": short, "kind": answer.kind,
                    "confidence": answer.confidence, "shown": answer.shown,
                    "answerable": question["type"] != "unanswerable",
                    "right": whole, "marked": bold,
                }  # fmt: skip


def _verdicts(folder: Path) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as store, Engine.open(store, create=True) as memory:
        for number, one in enumerate(_lines(folder / "verdicts.jsonl")):
            memory.ingest(Document(id="one", title="", text=one["passage"]), namespace=str(number))
            answer = memory.ask(one["question"], namespace=str(number))
            given = answer.kind if answer.kind in ("yes", "no") else "unknown"
            yield {
                "part": "verdicts", "of": one["kind"], "question": one["question"],
                "passage": one["passage"], "gold": one["verdict"], "given": given,
                "answer": answer.answer, "confidence": answer.confidence, "shown": answer.shown,
            }  # fmt: skip


def _tables(folder: Path) -> Iterator[dict[str, Any]]:
    questions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in _lines(folder / "tables" / "questions.jsonl"):
        for file in (one["file"], *one.get("also", ())):
            questions[file].append(one)
    for file, asked in questions.items():
        with tempfile.TemporaryDirectory() as store, Engine.open(store, create=True) as memory:
            memory.ingest(folder / "tables" / file)
            for one in asked:
                answer = memory.ask(one["question"])
                gold = one["answer"]
                text = answer.short or answer.answer or ""
                found = answer.shown != "answer" if gold is None else holds(text, str(gold))
                yield {
                    "part": "tables", "of": f"{one['shape']} {file.rpartition('.')[2]}",
                    "question": one["question"], "file": file, "gold": gold, "answer": text,
                    "whole": answer.answer, "kind": answer.kind, "confidence": answer.confidence,
                    "shown": answer.shown, "right": found,
                }  # fmt: skip


def _report(part: str, rows: Sequence[Mapping[str, Any]]) -> None:
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        groups["all"].append(row)
        groups[row["of"]].append(row)
        if part == "collections":
            groups[f"type {row['type']}"].append(row)
    measured = {"collections": _of_collections, "verdicts": _of_verdicts, "tables": _of_tables}
    print(part)
    for name, group in groups.items():
        print(f"  {name:24} n {len(group):4}  {measured[part](group)}")


def _of_collections(rows: Sequence[Mapping[str, Any]]) -> str:
    able = [row for row in rows if row["answerable"]]
    unable = [row for row in rows if not row["answerable"]]
    answers = [row for row in rows if row["shown"] == "answer"]
    seen = [row for row in able if row["shown"] != "nothing"]
    return (
        "  ".join(
            f"{name} {_share(hits)}"
            for name, hits in (
                ("right", (row["right"] for row in rows)),
                ("marked", (row["marked"] for row in rows)),
                ("shown as answer", (row["shown"] == "answer" for row in able)),
                ("of these right", (row["marked"] for row in answers)),
                ("shown and right", (row["right"] for row in seen)),
                ("unanswerable answered", (row["shown"] == "answer" for row in unable)),
                ("or shown", (row["shown"] != "nothing" for row in unable)),
            )
        )
        + f"  cover80 {_cover(rows, 0.8)}  cover90 {_cover(rows, 0.9)}"
    )


def _of_verdicts(rows: Sequence[Mapping[str, Any]]) -> str:
    opposite = {("yes", "no"), ("no", "yes")}
    return "  ".join(
        f"{name} {_share(hits)}"
        for name, hits in (
            ("right", (row["given"] == row["gold"] for row in rows)),
            ("contradicts", ((row["given"], row["gold"]) in opposite for row in rows)),
            (
                "without ground",
                (row["given"] != "unknown" and row["gold"] == "unknown" for row in rows),
            ),
        )
    )


def _of_tables(rows: Sequence[Mapping[str, Any]]) -> str:
    return f"right {_share(row['right'] for row in rows)}"


def _cover(rows: Sequence[Mapping[str, Any]], precision: float) -> str:
    """Of 100 answerable questions those answered at the confidence from which so many are right."""
    shown = sorted(
        (row for row in rows if row["shown"] != "nothing"),
        key=lambda row: -(row["confidence"] or 0),
    )
    best = good = 0
    for count, row in enumerate(shown, start=1):
        good += row["marked"]
        if good >= precision * count:
            best = count
    able = sum(row["answerable"] for row in rows)
    return f"{100 * best / able:.1f}" if able else "-"


def _share(hits: Iterable[bool]) -> str:
    found = list(hits)
    return f"{100 * sum(found) / len(found):.1f}" if found else "-"


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


if __name__ == "__main__":
    main()
