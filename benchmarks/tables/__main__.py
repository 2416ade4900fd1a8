"""Write the tables of benchmarks/README.md from the result files, or check that they are current.

python -m benchmarks.tables [--check]
"""

import json
from pathlib import Path
from typing import Any

from benchmarks.tables import documents, learned, stores
from benchmarks.tables.by_size import by_size
from benchmarks.tables.neighbours import neighbours
from benchmarks.tables.server import postgres, postgres_dense, postgres_load
from docs.generated import write_or_check

_PAGE = Path(__file__).parents[1] / "README.md"
_RESULTS = _PAGE.parent / "results"


def page() -> str:
    """The page with its tables as they should be."""
    text = _PAGE.read_text(encoding="utf-8")
    for name, table in _tables().items():
        start, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        if text.count(start) != 1 or end not in text.partition(start)[2]:
            raise SystemExit(f"{_PAGE} has no place for the table {name!r}: {start!r} to {end!r}")
        before, _, rest = text.partition(start)
        text = before + start + table + end + rest.partition(end)[2]
    return text


def _tables() -> dict[str, str]:
    """Each table by its name on the page."""
    sparse = {name: _result(f"sparse-{name}") for name in ("facts", "passages")}
    return {
        "kills": stores.kills(_result("kills")),
        "soak": stores.soak(_result("soak")),
        "serving": stores.serving(_result("serving")),
        "telling": stores.telling(_result("telling")),
        "chat_year": stores.chat_year(_result("chat_year")),
        "forget": stores.forget(_result("forget")),
        "watching": stores.watching(_result("watching")),
        "multihop": documents.multihop(_result("multihop")),
        "recall": documents.recall(_result("recall")),
        "ingest": documents.ingest(_result("ingest")),
        "neighbours": neighbours(_result("neighbours")),
        "answers": documents.answers(
            *map(_result, ("answers", "answers-of-all", "answers-without-rules"))
        ),
        "collections": documents.collections(
            _result("documents"), _result("documents-without-rules")
        ),
        "exact_questions": documents.exact_questions(_result("exact_questions")),
        "ocr": documents.ocr(_result("ocr")),
        "languages": documents.languages(_result("languages")),
        "gate": learned.gate(_result("gate")),
        "facts": learned.facts(_result("facts")),
        "stories": learned.stories(_result("stories")),
        "stories-1k": learned.stories(_result("stories-1k"), timed=False),
        "story_seeds": learned.story_seeds(_results("stories-seed-*")),
        "sparse_attention": learned.sparse_attention(sparse),
        "scale": stores.scale(_result("scale")),
        "by_size": by_size(_result("by_size")),
        "postgres": postgres(_result("postgres")),
        "postgres_load": postgres_load(_result("postgres_load")),
        "postgres_dense": postgres_dense(_result("postgres_dense")),
        "memory_tasks": learned.memory_tasks(_results("memory-*.json")),
        "fuzz": stores.fuzz(_results("fuzz-*.json")),
        "bounded_memory": stores.bounded_memory(_result("bounded_memory")),
    }


def _results(pattern: str) -> list[Any]:
    return [_result(path.stem) for path in sorted(_RESULTS.glob(pattern))]


def _result(name: str) -> Any:
    return json.loads((_RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def main() -> None:
    """Write the page, or exit with 1 if ``--check`` finds it out of date."""
    write_or_check(_PAGE, page(), "python -m benchmarks.tables")


if __name__ == "__main__":
    main()
