"""Passages found for questions in several languages, in the same one and over English.

    python -m benchmarks.languages --data DIR [--encoder NAME ...]

DIR holds ``LANG.corpus.jsonl`` (``id``, ``text``) and ``LANG.questions.jsonl`` (``question``,
``gold``), where the passage en-7 is a translation of de-7. For each encoder a store is made of each
language, and asked each question by ``Engine.search``: is the passage first? By ``Engine.ask``
every tenth question looks whether words of what is not English were marked, or given a verdict.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.environment import environment
from memnet import Document, Engine
from memnet.encoders.multilingual import MULTILINGUAL

_RESULTS = Path(__file__).parent / "results" / "languages.json"
_LANGUAGES = ("en", "de", "es", "ru", "zh")
_DEFAULT = "all-MiniLM-L6-v2"


def main() -> None:
    """Ask in each language, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", nargs="+", default=[_DEFAULT, MULTILINGUAL])
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for encoder in options.encoder:
        for stored in _LANGUAGES:
            for row in _measured(options.data, encoder, stored):
                rows.append({"encoder": encoder, **row})
                print(json.dumps(rows[-1]), flush=True)
    results = {"environment": environment(), "rows": rows}
    options.out.write_text(json.dumps(results, indent=1) + "\n")


def _measured(data: Path, encoder: str, stored: str) -> Iterator[dict[str, Any]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        Engine.open(Path(folder) / "store", create=True, encoder=encoder) as memory,
    ):
        passages = _lines(data / f"{stored}.corpus.jsonl")
        memory.ingest(*(Document(id=one["id"], title="", text=one["text"]) for one in passages))
        for asked in _LANGUAGES if stored == "en" else (stored,):
            questions = _lines(data / f"{asked}.questions.jsonl")
            found = [memory.search(one["question"], top_k=5) for one in questions]
            ranks = [
                [item.source for item in items].index(gold)
                if gold in {i.source for i in items}
                else 5
                for one, items in zip(questions, found, strict=True)
                for gold in [f"{stored}-{one['gold'][0].partition('-')[2]}"]
            ]
            answers = [memory.ask(one["question"]) for one in questions[::10]]
            yield {
                "asked": asked, "stored": stored, "questions": len(questions),
                "first": round(100 * sum(rank == 0 for rank in ranks) / len(ranks), 1),
                "among five": round(100 * sum(rank < 5 for rank in ranks) / len(ranks), 1),
                "shown": sum(not one.abstained for one in answers),
                "marked": sum(one.short is not None or one.shown == "answer" for one in answers),
                "of": len(answers),
            }  # fmt: skip


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
