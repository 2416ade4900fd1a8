"""Questions about collections of documents, with the windows that memnet itself makes of them.

Each collection is ingested into a store of its own; what is found there for a question are the
passages and the distractors. Collections whose files are not at hand are made of the passages that
come with the questions.
"""

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from benchmarks.questions import phrases, quotes, read_questions, unpack_everyday
from benchmarks.reader_data.files import Example, lines
from benchmarks.reader_data.held_out import Part, part_of_collection
from memnet import Engine, Evidence
from memnet.loaders.formats import FORMATS
from memnet.reader.rows import labelled, rows_of
from memnet.reader.training.examples import find_quote

TIMES = 6
"""How often each example with an answer is in the training file: they are few, and what the reader
is for."""
_KINDS = {
    "value": "value",
    "multi": "value",
    "definition": "definition",
    "how": "steps",
    "why": "statement",
    "compare": "statement",
    "list": "list",
}
"""Kinds of quoted answers by the type of a question."""
_SHORT = ("value", "multi", "yesno")
"""Types whose answers are short spans, or yes or no; of others only quotations are learned."""
_TOP_K = 8
_MAX_QUERY = 300
"""Characters of a quotation that is searched for."""
_MAX_RIGHT, _MAX_OTHERS = 3, 5
"""Passages of an example."""
_UNANSWERED, _OTHERS_UNANSWERED = 3, 2
"""Windows read by themselves as examples without an answer: of a question that has none, and of one
that other windows answer."""
_TOGETHER = 4
"""Windows read together as an example without an answer."""
_ROW = re.compile(r"[^,;|\t]*[,;|\t]")
_WORD = re.compile(r"[^\W_]+")
_MAX_LEFT_OUT = 0.3
"""Share of the words of a row, and two more, that its cells in a window may lack: empty headers, a
key that stands elsewhere."""
_READABLE = frozenset(suffix for known in FORMATS for suffix in known.suffixes)
_TARGET, _TAG = re.compile(r"\]\([^)]*\)"), re.compile(r"<[^>]+>")


class Found(NamedTuple):
    """What a store has for a question."""

    right: Sequence[Evidence]
    others: Sequence[Evidence]
    """Without an answer."""


def document_examples(
    data: Path, documents: Path | None, stores: Path | None
) -> Iterator[tuple[Part, Example]]:
    """Examples with their part; arguments as for ``memories``."""
    everyday = everyday_memories("train", "untrained", "sentences")
    sets = (("documents", memories(data, documents, stores)), ("everyday", everyday))
    for named, (name, asked, memory) in ((one, each) for one, some in sets for each in some):
        part = part_of_collection(name)
        lost = 0
        for question in asked:
            examples = list(_examples(memory, question, extra=part == "train"))
            lost += not examples
            for example in examples:
                yield part, {**example, "set": named, "collection": name}
        print(f"{name}: {len(asked)} questions, {lost} whose answer is in no window that is found")


def memories(
    data: Path, documents: Path | None, stores: Path | None
) -> Iterator[tuple[str, list[dict[str, Any]], Engine]]:
    """Collections of documents, each with its questions and a memory of its files, open meanwhile.

    Args:
        data: folder with ``docs_train``; the project's own questions come with it.
        documents: folder of collections, each a folder of its files; None: there is none.
        stores: folder to keep the stores of files in, which makes a second run fast; None: they
            are not kept.
    """
    with tempfile.TemporaryDirectory() as scratch:
        for name, asked in collections(data).items():
            files, kept_in = documents and documents / name, stores
            if files is None or not files.is_dir():
                files, kept_in = Path(scratch, "files", name), None
                write_passages(files, asked)
            store = (kept_in or Path(scratch, "stores")) / name
            store.parent.mkdir(parents=True, exist_ok=True)
            with Engine.open(
                store, create=True, answerer="untrained", reader="sentences"
            ) as memory:
                memory.ingest(files)
                yield name, asked, memory


def everyday_memories(
    part: Literal["train", "fit"], answerer: str, reader: str
) -> Iterator[tuple[str, list[dict[str, Any]], Engine]]:
    """As ``memories``, of a part of the everyday collections."""
    with tempfile.TemporaryDirectory() as scratch:
        for folder, asked in unpack_everyday(part, Path(scratch)):
            with Engine.open(
                folder / "store", create=True, answerer=answerer, reader=reader
            ) as memory:
                memory.ingest(folder / "files")
                yield folder.name, asked, memory


def collections(data: Path) -> dict[str, list[dict[str, Any]]]:
    """The questions about each collection: of ``docs_train``, and the project's own."""
    questions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for file in sorted((data / "docs_train").glob("*.jsonl")):
        questions[file.stem] += lines(file)
    for one in read_questions():
        questions[one["collection"]].append(one)
    return questions


def write_passages(folder: Path, asked: Sequence[dict[str, Any]]) -> None:
    """A collection of one file for each passage of its questions."""
    for number, question in enumerate(asked):
        for index, one in enumerate(question.get("passages") or [question]):
            path = folder / f"{number}-{index}" / one["source"]
            # What no loader reads by its suffix (TiddlyWiki's ".tid") is stored as Markdown.
            path = path if path.suffix in _READABLE else path.with_suffix(".md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(one["passage"], encoding="utf-8")


def _examples(memory: Engine, question: dict[str, Any], extra: bool) -> Iterator[Example]:
    """The example of a question, and ``extra`` ones without an answer; none if it is not found."""
    kind, asked = question["type"], question["question"]
    row = _row_of(memory, question)
    if row is not None:
        question = {**question, "best": [row.text], "evidence": []}
    if kind == "unanswerable":
        found = memory.search(asked, top_k=_TOP_K)
        yield from _unanswered(asked, found, _UNANSWERED if extra else 1, extra)
        if row is not None and extra:
            yield _alone(question, row)
        return
    windows = _found(memory, question)
    if not windows.right:
        return
    best = question.get("best") or quotes(question)
    example = {
        "question": asked,
        "answers": phrases(question) if kind in _SHORT else [],
        "quotes": [_as_read(one, windows.right) for one in best],
        "passages": [_passage(one) for one in windows.right[:_MAX_RIGHT]],
        "others": [_passage(one) for one in windows.others[:_MAX_OTHERS]],
        "phrases": phrases(question),
    }
    yield example if kind == "yesno" else {**example, "kind": _KINDS[kind]}
    if row is not None and extra:
        yield _alone(question, row)
    yield from _unanswered(asked, windows.others, _OTHERS_UNANSWERED if extra else 0, extra)


class _FoundRow(NamedTuple):
    title: str
    text: str  # As it stands in its window
    labelled: str  # With its headers, as ``memnet.reader.tables`` reads it


def _row_of(memory: Engine, question: dict[str, Any]) -> _FoundRow | None:
    """The row of a table that is the only quotation of a question about one of its cells.

    Rows of files with separators are stored with their headers, so that the quotation does not
    stand in a window.
    """
    quoted = quotes(question)
    if question["type"] not in (*_SHORT, "unanswerable") or len(quoted) != 1:
        return None
    if not _ROW.match(quoted[0]):
        return None
    wanted = _WORD.findall(quoted[0].casefold())
    found: dict[int, _FoundRow] = {}
    for window in memory.search(quoted[0][:_MAX_QUERY], top_k=_TOP_K):
        for cells in rows_of(window.text, window.title):
            said = _WORD.findall(" ".join(cell.text for cell in cells).casefold())
            whole = len(said) + 2 >= (1 - _MAX_LEFT_OUT) * len(wanted)
            if len(cells) > 1 and whole and {*said} <= {*wanted}:
                start = window.text.rfind("\n", 0, cells[0].start) + 1
                text = window.text[start:].partition("\n")[0]
                named = labelled(cells)[0]
                found.setdefault(len(said), _FoundRow(window.title, text, named))
    return found[max(found)] if found else None


def _alone(question: dict[str, Any], row: _FoundRow) -> Example:
    """The example of a row by itself."""
    example = {
        "question": question["question"],
        "answers": phrases(question),
        "passages": [{"title": row.title, "text": row.labelled}],
    }
    if question["type"] == "unanswerable":
        return example
    kind = {} if question["type"] == "yesno" else {"kind": "value"}
    return {**example, "quotes": [row.labelled], **kind}


def _unanswered(
    question: str, found: Sequence[Evidence], alone: int, together: bool
) -> Iterator[Example]:
    """Examples without an answer, of the first windows alone and of several together."""
    groups = [[one] for one in found[:alone]]
    if together and len(found) > 1:
        groups.append(list(found[:_TOGETHER]))
    for group in groups:
        yield {"question": question, "answers": [], "passages": [_passage(one) for one in group]}


def _found(memory: Engine, question: dict[str, Any]) -> Found:
    """Windows with a quotation: found for the question, or else for the quotation itself."""
    quoted = quotes(question)

    def answers(one: Evidence) -> bool:
        return any(find_quote(one.text, form) for quote in quoted for form in _forms(quote))

    found = memory.search(question["question"], top_k=_TOP_K)
    right = {one.id: one for one in found if answers(one)}
    if not right:
        for quote in quoted:
            near = memory.search(_forms(quote)[-1][:_MAX_QUERY], top_k=_TOP_K)
            first = next((one for one in near if answers(one)), None)
            if first is not None:
                right[first.id] = first
    wordings = [] if question["type"] == "yesno" else phrases(question)
    others = [
        one
        for one in found
        if one.id not in right and not any(find_quote(one.text, said) for said in wordings)
    ]
    return Found(list(right.values()), others)


def _forms(quote: str) -> list[str]:
    """A quotation as a file has it, without targets of links, and without what may be tags too."""
    without_targets = _TARGET.sub(" ", quote)
    forms = (quote, without_targets, _TAG.sub(" ", without_targets))
    return [form for form in dict.fromkeys(forms) if form.strip()]


def _as_read(quote: str, windows: Sequence[Evidence]) -> str:
    """The form of a quotation that stands in a window."""
    forms = _forms(quote)
    standing = (form for form in forms if any(find_quote(one.text, form) for one in windows))
    return next(standing, forms[-1])


def _passage(one: Evidence) -> dict[str, str]:
    return {"title": one.title, "text": one.text}
