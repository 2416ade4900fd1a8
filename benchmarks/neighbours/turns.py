"""One neighbour's turns: its tasks as processes, and what came of them."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

_ROOT = Path(__file__).resolve().parent.parent.parent
ROWS = {
    "memnet": "memnet",
    "memnet_one_hop": "memnet, one hop",
    "txtai": "txtai",
    "llama_index": "LlamaIndex + FAISS",
    "haystack": "Haystack",
    "langchain": "LangChain + FAISS",
    "chroma": "Chroma",
    "floor": "sentence-transformers + flat FAISS",
}
"""Adapters and what they are called."""
_OWN = "memnet"
_READERS = {"memnet_one_hop": "memnet"}
"""Rows that only ask, of another row's store."""
_KILLS = (1, 2, 4)
"""Changes of its files after which a process that adds passages is killed."""
_SECONDS = 1800


class TaskError(Exception):
    """A task that a neighbour could not do."""


class Neighbour:
    """One row of the table."""

    def __init__(self, name: str, python: str, folder: Path, model: Path) -> None:
        """Set up a row.

        Args:
            name: of the adapter's module.
            python: of the neighbours' environment; memnet runs in this one.
            folder: for stores and input files.
            model: folder with the weights.
        """
        self.found: dict[str, Any] = {}
        self.lost: str | None = None
        self._name = name
        self._python = sys.executable if name.startswith(_OWN) else python
        self._folder = folder
        self._model = model
        self.only_asks = name in _READERS
        self._store = folder / f"store-{_READERS.get(name, name)}"
        self._adds: list[dict[str, Any]] = []
        self._cold: list[float] = []

    def fail(self, why: str) -> None:
        """Leave the other tasks out and say why."""
        self.lost = self.found["failed"] = why

    def add(self, passages: Sequence[dict[str, Any]]) -> None:
        """Store a part of the passages."""
        done = self._last(self._run("add", self._store, passages))
        self._adds.append({**done, "passages": len(passages)})
        seconds, cores = (sum(one[of] for one in self._adds) for of in ("seconds", "core_seconds"))
        self.found["ingest"] = {
            "passages_per_second": sum(one["passages"] for one in self._adds) / seconds,
            "passages_per_core_second": sum(one["passages"] for one in self._adds) / cores,
            "by_part": [one["passages"] / one["seconds"] for one in self._adds],
            "peak_bytes": max(one["peak_bytes"] for one in self._adds),
            "store_bytes": _size(self._store),
            "count": done["count"],
        }

    def start(self, question: dict[str, Any]) -> None:
        """Time from nothing to a first answer."""
        started = time.perf_counter()
        process = self._process("ask", self._store, [question])
        assert process.stdout is not None  # noqa: S101
        line = process.stdout.readline()
        while line and not line.startswith(b"["):
            line = process.stdout.readline()
        seconds = time.perf_counter() - started
        process.communicate()
        if not line:
            raise TaskError("no first answer came")
        self._cold.append(seconds)
        self.found["cold_seconds"] = {
            "median": statistics.median(self._cold),
            "all": self._cold,
        }

    def ask(self, questions: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Ask all questions in one process; the first one warms it up."""
        done = self._last(self._run("ask", self._store, [questions[0], *questions]))
        p50, p95 = np.percentile(done["seconds"], [50, 95])
        self.found["warm_ms"] = {
            "p50": 1000 * p50,
            "p95": 1000 * p95,
            "core_mean": 1000 * done["core_seconds"] / len(questions),
        }
        found: list[list[str]] = done["found"]
        return found

    def add_again(self, passages: Sequence[dict[str, Any]]) -> None:
        """Give a copy of the store passages that it has, unchanged."""
        done = self._last(self._run("add", self._copy(), passages))
        self.found["again"] = {
            "seconds": done["seconds"],
            "more": done["count"] - self.found["ingest"]["count"],
        }

    def delete(self, passage: dict[str, Any]) -> None:
        """Delete a passage from a copy of the store, and look for it in a new process."""
        try:
            done = self._last(self._run("delete", self._copy(), [passage]))
        except TaskError as error:
            self.found["delete"] = {"failed": str(error)}
            return
        probe = self._last(self._run("probe", self._copied, [passage]))
        self.found["delete"] = {"seconds": done["seconds"], "still_found": bool(probe["found"])}

    def killed(self, new: Sequence[dict[str, Any]], stored: Sequence[dict[str, Any]]) -> None:
        """Kill a process that adds passages to a copy, at several changes of its files."""
        trials: list[dict[str, Any]] = []
        for changes in _KILLS:
            hit = self._kill(self._copy(), new, changes)
            try:
                probe = self._last(self._run("probe", self._copied, stored))
                whole = probe["found"] == len(stored)
                trials.append({"changes": changes, "killed": hit, "whole": whole})
            except TaskError as error:
                trials.append(
                    {"changes": changes, "killed": hit, "whole": False, "failed": str(error)}
                )
        self.found["killed"] = {
            "trials": trials,
            "killed": sum(one["killed"] for one in trials),
            "whole": sum(one["whole"] for one in trials if one["killed"]),
        }

    @property
    def _copied(self) -> Path:
        return self._folder / f"copy-{self._name}"

    def _copy(self) -> Path:
        """A fresh copy of the store."""
        shutil.rmtree(self._copied, ignore_errors=True)
        shutil.copytree(self._store, self._copied)
        return self._copied

    def _kill(self, store: Path, new: Sequence[dict[str, Any]], changes: int) -> bool:
        """Whether the process was still at work when its files had changed so often."""
        process = self._process("add", store, new)
        assert process.stdout is not None  # noqa: S101
        while (line := process.stdout.readline()) and line != b"adding\n":
            pass
        state, seen = _state(store), 0
        while process.poll() is None and seen < changes:
            now = _state(store)
            seen += now != state
            state = now
        hit = process.poll() is None and seen >= changes
        process.kill()
        process.communicate()
        return hit

    def _process(
        self, task: str, store: Path, lines: Sequence[dict[str, Any]]
    ) -> subprocess.Popen[bytes]:
        given = self._folder / f"lines-{self._name}.jsonl"
        given.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
        command = [
            self._python, "-m", "benchmarks.neighbours.worker", self._name, task,
            "--folder", str(store), "--model", str(self._model), "--lines", str(given),
        ]  # fmt: skip
        environment = os.environ | {
            "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_WAIT_POLICY": "PASSIVE",
        }  # fmt: skip
        with (self._folder / f"errors-{self._name}").open("wb") as errors:
            return subprocess.Popen(
                command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors
            )

    def _run(self, task: str, store: Path, lines: Sequence[dict[str, Any]]) -> bytes:
        process = self._process(task, store, lines)
        try:
            output, _ = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.communicate()
            raise TaskError(f"{task}: not done after {_SECONDS} s") from error
        if process.returncode:
            raise TaskError(f"{task}: {self._complaint()}")
        return output

    def _complaint(self) -> str:
        """The last line that a process wrote to standard error, shortened."""
        text = (self._folder / f"errors-{self._name}").read_text(errors="replace").strip()
        return text.splitlines()[-1][:200] if text else "ended without a word"

    def _last(self, output: bytes) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(output.splitlines()[-1])
        return found


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _state(folder: Path) -> list[tuple[str, int, int]]:
    """Names, sizes and times of change of a store's files; what only locks is passed over."""
    found: list[tuple[str, int, int]] = []
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".lock", "-shm")):
                continue
            path = os.path.join(parent, name)  # noqa: PTH118 - looked at as often as possible
            try:
                own = os.stat(path)  # noqa: PTH116
            except FileNotFoundError:
                continue
            found.append((path, own.st_size, own.st_mtime_ns))
    return sorted(found)
