"""Training questions of multi-hop sets as documents and questions that ``memnet`` reads.

    python -m benchmarks.prepare_reader --data DIR --out READER
    python -m benchmarks.prepare_multihop --data DIR/multihop_train --corpus corpus.jsonl --out OUT
        --held-out READER/held_out.jsonl
    memnet ingest OUT/documents.jsonl READER/documents.jsonl --finish --store STORE
    memnet train text --train OUT/hotpot.jsonl --train OUT/2wiki.jsonl --train OUT/musique.jsonl
        --train READER/single.jsonl --store STORE --out MODEL

The first folder holds ``<set>.jsonl``, each line with "question", "answers", "supporting" titles
and "passages" of its own. The passages of all sets go into one memory, together with the corpus,
which makes the right ones as hard to find as they will be there. Questions whose answers need one
passage, from other sets, teach when to follow nothing; what is held out for confidence is left
out.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def main() -> None:
    """Write documents and questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--held-out", type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    left_out = {one["question"] for one in _lines(options.held_out)} if options.held_out else set()
    ids: dict[tuple[str, str], str] = {}
    for document in _lines(options.corpus):
        ids.setdefault((document["title"], document["text"]), document["id"])
    for file in sorted(options.data.glob("*.jsonl")):
        with (options.out / file.name).open("w", encoding="utf-8") as questions:
            for asked in _lines(file):
                question = _question(asked, ids)
                if asked["question"] not in left_out:
                    questions.write(json.dumps(question) + "\n")
    with (options.out / "documents.jsonl").open("w", encoding="utf-8") as documents:
        for (title, text), name in ids.items():
            documents.write(json.dumps({"id": name, "title": title, "text": text}) + "\n")


def _question(asked: dict[str, Any], ids: dict[tuple[str, str], str]) -> dict[str, Any]:
    """The question with the ids of its right passages; all its passages get an id."""
    gold: list[str] = []
    for passage in asked["passages"]:
        name = ids.setdefault((passage["title"], passage["text"]), f"train-{len(ids)}")
        if passage.get("supporting", passage["title"] in asked["supporting"]):
            gold.append(name)
    return {"question": asked["question"], "answers": asked["answers"], "gold": gold}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


if __name__ == "__main__":
    main()
