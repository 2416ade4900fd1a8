"""The encoder in eight bits beside the one in full: cosines, recall and speed.

    python -m benchmarks.eight_bits --data DIR --full STORE --eight STORE
    LD_PRELOAD=/tmp/without_vnni.so python -m benchmarks.eight_bits --data DIR --processor AVX2

DIR holds ``corpus.jsonl`` and question files with "question", "type" and "gold". The stores hold
the corpus, encoded in full and in eight bits; they are made where they are missing. "mixed" is the
store in full, asked in eight bits. For the speed the encoders take turns at parts of the corpus, on
one core each: torch in float32, ONNX Runtime in float32 and in int8. Without stores
only the speed is measured; ``benchmarks/without_vnni.c`` lets it run as on a processor with AVX2
only. Results of several calls are joined.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import environment
from memnet import Config, Engine
from memnet.encoders import MiniLMEncoder
from memnet.encoders.bert import BertNetwork
from memnet.encoders.weights import checked_folder
from memnet.learning.evaluation import recall
from memnet.storage import MemoryStore

_FIRST = 5
_PARTS, _PART = 5, 100
_QUERIES = 60


def main() -> None:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--full", type=Path)
    parser.add_argument("--eight", type=Path)
    parser.add_argument("--processor", default="VNNI", help="name of this one in the results")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results/eight_bits.json"
    )
    options = parser.parse_args()
    questions = {
        file.stem: [json.loads(line) for line in file.open(encoding="utf-8")]
        for file in sorted(options.data.glob("*.jsonl"))
        if file.name != "corpus.jsonl"
    }
    results = json.loads(options.out.read_text()) if options.out.exists() else {"speed": {}}
    results["environment"] = environment(["onnx", "onnxruntime"])
    results["speed"][options.processor] = _speed(options.data / "corpus.jsonl", questions["hotpot"])
    if options.full and options.eight:
        results |= _stores(options.data / "corpus.jsonl", options.full, options.eight, questions)
    options.out.write_text(json.dumps(results, indent=1) + "\n")


def _stores(
    corpus: Path, full: Path, eight: Path, questions: dict[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    """Cosines and recall of the two stores of a corpus, which are made where they are missing."""
    for store, bits in ((full, False), (eight, True)):
        if not store.exists():
            with Engine.open(store, create=True, config=Config(eight_bits=bits)) as memory:
                memory.ingest(corpus)
    ways = {"full": (full, False), "eight bits": (eight, True), "mixed": (full, True)}
    return {
        "cosine": _cosines(full, eight),
        "recall@5": {
            way: {name: _recall(*how, group) for name, group in questions.items()}
            for way, how in ways.items()
        },
    }


def _cosines(full: Path, eight: Path) -> dict[str, float]:
    """Cosine of the two vectors of each passage."""
    exact, rounded = (_vectors(store) for store in (full, eight))
    cosines = np.array([exact[key] @ rounded[key] for key in exact])
    low = np.percentile(cosines, 1)
    return {
        "n": len(cosines),
        "mean": float(cosines.mean()),
        "first percentile": float(low),
        "worst": float(cosines.min()),
    }


def _vectors(store: Path) -> dict[tuple[str, int], NDArray[np.float64]]:
    encoder = MiniLMEncoder()
    memory = MemoryStore(store, fingerprint=encoder.fingerprint, dimension=encoder.dimension)
    ids = memory.passage_ids().tolist()
    found: dict[tuple[str, int], NDArray[np.float64]] = {}
    for start in range(0, len(ids), 1000):
        part = ids[start : start + 1000]
        vectors = memory.keys(part).vectors.astype(np.float64)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        for slot, vector in zip(memory.fetch(part), vectors, strict=True):
            found[slot.source, slot.start] = vector
    memory.close()
    return found


def _recall(store: Path, eight: bool, questions: list[dict[str, Any]]) -> float:
    with Engine.open(store, config=Config(eight_bits=eight), reader="sentences") as memory:
        recalls = [
            recall(
                [item.source for item in memory.ask(asked["question"]).evidence],
                asked["gold"],
                _FIRST,
            )
            for asked in questions
        ]
    return float(np.mean(recalls))


def _speed(corpus: Path, questions: list[dict[str, Any]]) -> dict[str, Any]:
    """Passages a second of processor time, and milliseconds of one question, medians of parts."""
    texts = [f"{one['title']}\n{one['text']}" for one in map(json.loads, corpus.open("rb"))]
    asked = [one["question"] for one in questions[:_QUERIES]]
    encoders = {
        "torch": _torch(),
        "float32": MiniLMEncoder(eight_bits=False),
        "int8": MiniLMEncoder(eight_bits=True),
    }
    passages: dict[str, list[float]] = {name: [] for name in encoders}
    query: dict[str, list[float]] = {name: [] for name in encoders}
    for encoder in encoders.values():
        encoder.encode(texts[:10])
    for part in range(_PARTS):
        start = part * (len(texts) // _PARTS)
        for name, encoder in encoders.items():
            own = texts[start : start + _PART]
            passages[name].append(_PART / _seconds(encoder, own))
            query[name] += [1000 * _seconds(encoder, [one]) for one in asked[part::_PARTS]]
    return {
        name: {
            "passages_per_second": statistics.median(passages[name]),
            "query_ms": statistics.median(query[name]),
        }
        for name in encoders
    }


def _seconds(encoder: MiniLMEncoder, texts: list[str]) -> float:
    started = time.process_time()
    encoder.encode(texts)
    return time.process_time() - started


def _torch() -> MiniLMEncoder:
    """An encoder that calculates by torch, as where ONNX Runtime is not installed."""
    encoder = MiniLMEncoder()
    encoder.load()
    network: Any = BertNetwork.load(checked_folder() / "model.safetensors")
    encoder._embedding = network
    return encoder


if __name__ == "__main__":
    main()
