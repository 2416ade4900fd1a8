"""What an ingest and an answer cost beside the encoder.

    python -m benchmarks.ingest --data DIR --store STORE [--passages 2000]

DIR holds ``corpus.jsonl`` and ``hotpot.jsonl``. STORE holds the corpus and is made where it is
missing; a copy of it is given the corpus again, and asked with one hop. Times are of processor
cores as well as of a clock: other work on the machine changes the former little.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.environment import environment
from memnet import Engine
from memnet.encoders.protocol import Encoder

_FILES = 10_000
_WORDS = "lamp keeper of the north pier sails at dawn with seven nets and a blue lantern".split()
_QUESTIONS = 100
_TURNS = 3
_EVIDENCE = 10


class _Times(NamedTuple):
    """Seconds that something took."""

    core: float
    clock: float


@contextmanager
def _timing(times: list[_Times]) -> Iterator[None]:
    """Add how long what is inside takes."""
    core, clock = time.process_time(), time.perf_counter()
    yield
    times.append(_Times(time.process_time() - core, time.perf_counter() - clock))


class _Timed:
    """An encoder that counts the time it takes."""

    def __init__(self, encoder: Encoder) -> None:
        self._encode = encoder.encode
        self.times: list[_Times] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with _timing(self.times):
            return self._encode(texts)


def main() -> None:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--passages", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results/ingest.json")
    options = parser.parse_args()
    corpus = options.data / "corpus.jsonl"
    if not options.store.exists():
        with Engine.open(options.store, create=True) as memory:
            memory.ingest(corpus)
    questions = [json.loads(line)["question"] for line in (options.data / "hotpot.jsonl").open()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy = Path(shutil.copytree(options.store, folder / "copy"))
        results = {
            "environment": environment(["onnx", "onnxruntime"]),
            "ingest": _ingest(corpus, folder / "part", options.passages),
            "again": _again(copy, corpus),
            "files": _files(folder),
            "one hop": _one_hop(copy, questions[:_QUESTIONS]),
        }
    options.out.write_text(json.dumps(results, indent=1) + "\n")


def _ingest(corpus: Path, folder: Path, passages: int) -> dict[str, float]:
    """Seconds of an ingest and of the encoder within it."""
    part = folder.with_suffix(".jsonl")
    with corpus.open("rb") as file:
        part.write_bytes(b"".join(line for line, _ in zip(file, range(passages), strict=False)))
    with Engine.open(folder, create=True) as memory:
        timed = _timed(memory)
        timed(["A first text, to load the weights."])
        timed.times.clear()
        core, clock = time.process_time(), time.perf_counter()
        memory.ingest(part)
        core, clock = time.process_time() - core, time.perf_counter() - clock
    return {
        "passages": passages,
        "core_seconds": core,
        "encoder_core_seconds": sum(one.core for one in timed.times),
        "seconds": clock,
        "encoder_seconds": sum(one.clock for one in timed.times),
    }


def _again(store: Path, corpus: Path) -> dict[str, float]:
    """Seconds of an ingest of what is stored already, each time by a newly opened store."""
    found: list[tuple[float, float]] = []
    for _ in range(_TURNS):
        with Engine.open(store) as memory:
            core, clock = time.process_time(), time.perf_counter()
            report = memory.ingest(corpus)
            found.append((time.process_time() - core, time.perf_counter() - clock))
            if report.added or report.updated:
                raise SystemExit(f"the store lacked {report.added + report.updated} passages")
    core, clock = (statistics.median(column) for column in zip(*found, strict=True))
    return {"passages": report.unchanged, "core_seconds": core, "seconds": clock}


def _files(folder: Path) -> dict[str, float]:
    """The same for a folder of many small files, stored with vectors that mean nothing."""
    notes = folder / "notes"
    notes.mkdir()
    chance = np.random.default_rng(0)
    for number in range(_FILES):
        words = " ".join(chance.choice(_WORDS, 60))
        (notes / f"note-{number}.txt").write_text(f"Note {number}. {words}.")
    store = folder / "notes-store"
    with Engine.open(store, create=True) as memory:
        _set_encode(memory, lambda texts: _unit(chance.standard_normal((len(texts), 384))))
        memory.ingest(notes)
    return _again(store, notes)


def _one_hop(store: Path, questions: Sequence[str]) -> dict[str, float]:
    """Milliseconds of finding a question's evidence, and of encoding it by itself; medians."""
    found: list[_Times] = []
    encoded: list[_Times] = []
    with Engine.open(store, reader="sentences") as memory:
        model: Any = memory.answerer
        memory.ask(questions[0], hops=1)
        for question in questions:
            with _timing(found):
                model._ranked(model._loop.run(question, 1), _EVIDENCE)
            with _timing(encoded):
                memory.encoder.encode([question])
    beside = [
        _Times(whole.core - own.core, whole.clock - own.clock)
        for whole, own in zip(found, encoded, strict=True)
    ]
    return {
        f"{name}{unit}": 1000 * statistics.median(getattr(one, kind) for one in times)
        for name, times in (("", found), ("encoder_", encoded), ("beside_", beside))
        for unit, kind in (("core_ms", "core"), ("ms", "clock"))
    }


def _timed(memory: Engine) -> _Timed:
    timed = _Timed(memory.encoder)
    _set_encode(memory, timed)
    return timed


def _set_encode(memory: Engine, encode: Any) -> None:
    """Put another function in the place of the encoder's."""
    memory.encoder.encode = encode  # type: ignore[method-assign]


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / lengths, np.float32)


if __name__ == "__main__":
    main()
