"""Answers over collections of real documents: right, wrong and withheld, by kind of question.

    python -m benchmarks.documents COLLECTION... --stores DIR [--reader READER] [--without-rules]

A collection is a folder with ``files/``, which is ingested as it is, and ``questions.jsonl`` in the
format of ``benchmarks/questions``. An answer is right where it is short enough to be read at a
glance (300 characters, lists 600) and holds one of the accepted phrases as whole words, of a list
60 % of its items; to a question for yes or no, where that is its first word; to one without an
answer, where nothing is answered. Intervals are bootstrapped over questions.
"""

import argparse
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environment import environment
from memnet import Answer, Config, Engine
from memnet.config import AnswerConfig
from memnet.learning.evaluation import area_under_roc, calibration_error, reliability
from memnet.reader.loading import SPANS

_MAX_CHARACTERS, _MAX_LIST = 300, 600
_ENOUGH = 0.6
"""Share of the items of a list, and of the words of a quotation."""
_RUN = 3
"""Words in a row of a quotation that count as found."""
_MARKS = re.compile(r"[`*_~|>#\[\]]+")
_PLAIN = str.maketrans(
    {"’": "'", "“": '"', "”": '"', "\u00ad": None} | dict.fromkeys("‐‑‒–—―", "-")
)
"""Curly quotation marks, soft hyphens and dashes."""
_RESAMPLES = 10_000


def main() -> None:
    """Ask all questions, and write the scores with every answer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--stores", type=Path, required=True)
    parser.add_argument("--reader", default=SPANS)
    parser.add_argument("--without-rules", action="store_true")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results/documents.json"
    )
    parser.add_argument("--answers", type=Path, help="Where to write every answer, as JSON lines.")
    options = parser.parse_args()
    config = Config(answer=AnswerConfig(rules=not options.without_rules))
    rows: list[dict[str, Any]] = []
    for folder in options.collections:
        with Engine.open(
            options.stores / folder.name, create=True, config=config, reader=options.reader
        ) as memory:
            memory.ingest(folder / "files")
            memory.ask("Who?")
            questions = map(json.loads, (folder / "questions.jsonl").open(encoding="utf-8"))
            rows += [_row(folder.name, one, memory.ask(one["question"])) for one in questions]
    results = {
        "environment": environment(["onnx", "onnxruntime"]),
        "rules": not options.without_rules,
        "all": _scores(rows),
        "types": {name: _scores(part) for name, part in _groups(rows, "type")},
        "collections": {name: _scores(part) for name, part in _groups(rows, "collection")},
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if options.answers is not None:
        options.answers.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def _row(collection: str, asked: dict[str, Any], answer: Answer) -> dict[str, Any]:
    found = [
        [item.source.endswith(one["source"]) and _shows(item.text, one["quote"]) for one in quoted]
        for quoted in [asked["evidence"]]
        for item in answer.evidence
    ]
    return {
        "collection": collection,
        "type": asked["type"],
        "question": asked["question"],
        "right answers": asked["answers"],
        "answer": answer.answer,
        "short": answer.short,
        "kind": answer.kind,
        "confidence": answer.confidence,
        "right": is_right(asked, answer.answer),
        "recall": {str(k): _recall(found[:k]) for k in (1, 3, 5)} if asked["evidence"] else None,
        "ms": answer.elapsed_ms,
    }


def is_right(asked: dict[str, Any], answer: str | None) -> bool:
    """Whether an answer is right, as the head of this file says; None for a withheld one."""
    kind, right = asked["type"], asked["answers"]
    if kind == "unanswerable" or answer is None:
        return kind == "unanswerable" and answer is None
    if kind == "yesno":
        return f"{plain(answer)} ".startswith((f"{right[0]} ", f"{right[0]}:", f"{right[0]},"))
    if kind == "list":
        held = sum(any(holds(answer, form) for form in item) for item in right)
        return len(answer) <= _MAX_LIST and held >= _ENOUGH * len(right)
    return len(answer) <= _MAX_CHARACTERS and any(holds(answer, phrase) for phrase in right)


def plain(text: str) -> str:
    """In lower case, with plain quotation marks and hyphens, without marks of Markdown."""
    text = unicodedata.normalize("NFKC", text).translate(_PLAIN)
    return " ".join(_MARKS.sub(" ", text).split()).strip(" .,:;!?\"'()").lower()


def holds(text: str, phrase: str) -> bool:
    """Whether a text holds a phrase as whole words."""
    wanted = re.escape(plain(phrase))
    return re.search(rf"(?<!\w){wanted}(?!\w)", plain(text)) is not None


def _shows(text: str, quote: str) -> bool:
    """Whether a passage holds most of a quotation, in runs of some words."""
    wanted, words = plain(quote).split(), plain(text).split()
    blocks = SequenceMatcher(None, wanted, words, autojunk=False).get_matching_blocks()
    run = min(_RUN, len(wanted))
    return sum(one.size for one in blocks if one.size >= run) >= _ENOUGH * len(wanted)


def _recall(found: Sequence[Sequence[bool]]) -> float:
    """Share of the quotations that one of some passages shows."""
    return float(np.mean([any(column) for column in zip(*found, strict=True)])) if found else 0.0


def _groups(rows: Iterable[dict[str, Any]], key: str) -> list[tuple[str, list[dict[str, Any]]]]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return sorted(groups.items())


def _scores(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    right = np.array([row["right"] for row in rows], np.float64)
    chosen = np.random.default_rng(0).integers(len(right), size=(_RESAMPLES, len(right)))
    low, high = np.percentile(right[chosen].mean(axis=1), [2.5, 97.5])
    unknown = [row["answer"] is None for row in rows if row["type"] == "unanswerable"]
    known = [row["answer"] is None for row in rows if row["type"] != "unanswerable"]
    recalls = [row["recall"] for row in rows if row["recall"] is not None]
    given = [row for row in rows if row["answer"] is not None and row["confidence"] is not None]
    sure, so = [row["confidence"] for row in given], [bool(row["right"]) for row in given]
    return {
        "n": len(rows),
        "right": float(right.mean()),
        "low": float(low),
        "high": float(high),
        "unanswerable silent": float(np.mean(unknown)) if unknown else None,
        "answerable withheld": float(np.mean(known)) if known else None,
        **{f"recall@{k}": _mean(one[k] for one in recalls) for k in ("1", "3", "5")},
        "auroc right": area_under_roc(sure, so),
        "calibration error": calibration_error(sure, [float(one) for one in so]),
        "reliability": [one.model_dump() for one in reliability(sure, [float(one) for one in so])],
        "ms": dict(
            zip(
                ("p50", "p95"),
                np.percentile([r["ms"] for r in rows], [50, 95]).tolist(),
                strict=True,
            )
        ),
    }


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None


if __name__ == "__main__":
    main()
