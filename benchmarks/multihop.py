"""Documents end to end: ingest a corpus, ask multi-hop questions, time everything.

    python -m benchmarks.multihop --data DIR

DIR holds ``corpus.jsonl`` ({"id", "title", "text"} a line) and question files
({"question", "answers", "gold"} a line). The ingest is compared with the plainest neighbour,
sentence-transformers with the same weights and a flat FAISS index: the two take turns at each part
of the corpus, so that a change in the machine's speed meets both.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import torch
from sentence_transformers import SentenceTransformer

from benchmarks.environment import environment
from memnet import Document, Engine
from memnet.config import available_cores
from memnet.encoders.weights import model_folder

_PARTS = 6
_COLD_RUNS = 7
_RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, help="keep the store here")
    parser.add_argument("--out", type=Path, default=_RESULTS / "multihop.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder, "store")
        parts = _split(options.data / "corpus.jsonl", Path(folder))
        results = {
            "environment": environment(),
            "ingest": _ingest(parts, store),
            "reingest_seconds": _command("ingest", *map(str, parts), "--json", store=store)[0],
            "questions": {
                file.stem: json.loads(_command("eval", str(file), "--json", store=store)[1])
                for file in sorted(options.data.glob("*.jsonl"))
                if file.name != "corpus.jsonl"
            },
            "cold_ask_seconds": _cold_ask(options.data, store),
            "store_bytes": json.loads(_command("info", "--json", store=store)[1])["bytes"],
        }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


def _split(corpus: Path, folder: Path) -> list[Path]:
    lines = corpus.read_text(encoding="utf-8").splitlines(keepends=True)
    size = -(-len(lines) // _PARTS)
    parts: list[Path] = []
    for start in range(0, len(lines), size):
        parts.append(folder / f"part-{start // size}.jsonl")
        parts[-1].write_text("".join(lines[start : start + size]), encoding="utf-8")
    return parts


def _ingest(parts: Sequence[Path], store: Path) -> dict[str, Any]:
    neighbour = SentenceTransformer(str(model_folder()), device="cpu")
    index = faiss.IndexFlatIP(384)
    cores = available_cores()
    ours: list[float] = []
    theirs: list[float] = []
    passages = 0
    with Engine.open(store, create=True) as memory:
        memory.ingest(Document(id="warm-up", text="A first text, to load the weights."))
        memory.forget("warm-up")
        for part in parts:
            started = time.perf_counter()
            memory.ingest(part)
            ours.append(time.perf_counter() - started)

            torch.set_num_threads(cores)
            started = time.perf_counter()
            documents = [json.loads(line) for line in part.open(encoding="utf-8")]
            texts = [f"{document['title']}\n{document['text']}" for document in documents]
            index.add(neighbour.encode(texts, normalize_embeddings=True))
            theirs.append(time.perf_counter() - started)
            passages += len(documents)
    return {
        "passages": passages,
        "memnet_passages_per_second": passages / sum(ours),
        "sentence_transformers_flat_faiss_passages_per_second": passages / sum(theirs),
        "ratio": sum(theirs) / sum(ours),
        "ratio_by_part": [other / own for own, other in zip(ours, theirs, strict=True)],
    }


def _cold_ask(data: Path, store: Path) -> dict[str, float]:
    """Wall time of ``memnet ask`` as a new process, once the files are in the page cache."""
    line = (data / "hotpot.jsonl").open(encoding="utf-8").readline()
    question = json.loads(line)["question"]
    seconds = [_command("ask", question, store=store)[0] for _ in range(_COLD_RUNS + 1)][1:]
    return {
        "minimum": min(seconds),
        "median": statistics.median(seconds),
        "maximum": max(seconds),
    }


def _command(*arguments: str, store: Path) -> tuple[float, str]:
    """Seconds that a command takes as a process, and what it prints."""
    # Without bytecode kept beside the modules a start compiles them all, which takes 0.7 s.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "memnet", *arguments, "--store", str(store)],
        capture_output=True,
        text=True,
        check=True,
        env=kept,
    )
    return time.perf_counter() - started, done.stdout


if __name__ == "__main__":
    main()
