"""Questions about collections of real documents: the project's own set, described in README.md."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from zipfile import ZipFile

FOLDER = Path(__file__).parent
FILE = FOLDER / "questions.jsonl.gz"
EVERYDAY = FOLDER / "everyday.zip"
KINDS = {
    "value": "a name, a number, a date, a setting",
    "definition": "what something is",
    "how": "what to do, often in steps",
    "list": "several items",
    "why": "a reason",
    "compare": "how two things differ",
    "yesno": "yes or no",
    "multi": "two passages are needed",
    "unanswerable": "the collection does not say it",
}
FIELDS = (
    "id", "collection", "repo", "source", "question", "type", "answers", "evidence", "best",
    "passage",
)  # fmt: skip


def read_questions(path: Path = FILE) -> list[dict[str, Any]]:
    """The questions of a file of JSON lines, compressed if its name ends in ``.gz``."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def unpack_everyday(
    part: Literal["train", "fit", "test"], folder: Path
) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """Collections of everyday files, each a folder with ``files`` in it, and their questions."""
    with ZipFile(EVERYDAY) as archive:
        archive.extractall(folder, [one for one in archive.namelist() if one.startswith(part)])
    for file in sorted(folder.glob("*/*/questions.jsonl")):
        yield file.parent, read_questions(file)


def phrases(question: Mapping[str, Any]) -> list[str]:
    """All phrases of which right answers consist; of a list those of all its items."""
    return [
        phrase
        for answer in question["answers"]
        for phrase in (answer if isinstance(answer, list) else [answer])
    ]


def quotes(question: Mapping[str, Any]) -> list[str]:
    """The quotations that answer, the smallest first."""
    return [*question.get("best", ()), *(one["quote"] for one in question["evidence"])]


def collapsed(text: str) -> str:
    """A text with single spaces for its white space, as quotations have it."""
    return re.sub(r"\s+", " ", text).strip()


def problems(question: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a question: fields, kind, or quotations that don't stand in passages."""
    missing = [field for field in FIELDS if field not in question]
    unknown = set(question) - {*FIELDS, "passages"}
    if missing or unknown:
        yield f"fields: {', '.join(missing) or 'none'} missing, {sorted(unknown)} unknown"
        return
    kind, answers = question["type"], question["answers"]
    if kind not in KINDS:
        yield f"kind {kind}"
    if kind == "unanswerable":
        if answers or question["best"] or question["evidence"]:
            yield "has an answer"
        return
    if not (answers and question["best"] and question["evidence"]):
        yield "has no answer, quotation or evidence"
    passages = {question["source"]: collapsed(question["passage"])}
    passages |= {one["source"]: collapsed(one["passage"]) for one in question.get("passages", ())}
    for one in question["evidence"]:
        if one["quote"] not in passages.get(one["source"], ""):
            yield f"stands in no passage: {one['quote'][:60]}"
    for quote in question["best"]:
        if not any(quote in passage for passage in passages.values()):
            yield f"stands in no passage: {quote[:60]}"
    if kind == "yesno":
        if answers not in (["yes"], ["no"]):
            yield f"answers {answers}"
        return
    quotes = [one["quote"] for one in question["evidence"]]
    for phrase in phrases(question):
        if not any(phrase in quote for quote in quotes):
            yield f"stands in no quotation: {phrase[:60]}"


def counts(questions: Sequence[Mapping[str, Any]]) -> str:
    """The table of kinds in the card."""
    kinds = Counter(one["type"] for one in questions)
    lines = ["| kind | asks for | questions |", "|---|---|---|"]
    lines += [f"| `{kind}` | {asked} | {kinds[kind]:,} |" for kind, asked in KINDS.items()]
    collections = len({one["collection"] for one in questions})
    return "\n".join([*lines, f"| all | {collections} collections | {len(questions):,} |"])
