"""Hostile files through the process of the loaders: does one crash, hang or exhaust memnet?

    python -m benchmarks.fuzz_loaders SAMPLES [--inputs N] [--format NAME ...] [--out FILE]
    python -m benchmarks.fuzz_loaders --bombs [--only NAME]

SAMPLES is a folder with files of any formats; those of up to 300 kB are changed, each input from
its own seed, ``--only SEED`` tries one again. Counted are documents, problems that a loader names,
parsers that are confused (an exception that no loader expects), and broken children: processes
that a crash or a limit of memory or time ended. Every file must come to its end within the limit.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.environment import environment
from benchmarks.hostile_files import BOMBS, hostile_file
from memnet.errors import InputError, Problem
from memnet.loaders.formats import FORMATS, HEAD, find_format
from memnet.loaders.process import LoaderProcess
from memnet.loaders.reading import FileToLoad, LoadLimits

_LARGEST = 300_000
_MOST_SAMPLES = 100
_SHOWN = 20
_BROKEN = ("crashes its parser", "takes more than", "made the system end", "ends the process")
_CONFUSED = ("can't be read as one of", "is nested too deep to be read", "return invalid data")


def main() -> None:
    """Try the files and write the result."""
    options = _options()
    warnings.filterwarnings("ignore", "Duplicate name", UserWarning)  # which is wanted
    limits = LoadLimits(512 << 20, 25_000_000, 1000, options.memory << 20, options.seconds)
    result: dict[str, Any] = {"environment": environment(), "limits": vars(limits)}
    if options.bombs:
        result["bombs"] = _bombs(options, limits)
    for name, samples in _samples(options).items():
        tried = _changed(name, samples, options, limits)
        result[name] = tried
        print(f"{name:<14} {json.dumps(tried)}", flush=True)
        if options.out:
            options.out.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(any(tried.get("late") for tried in result.values() if isinstance(tried, dict)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("samples", type=Path, nargs="?")
    parser.add_argument("--bombs", action="store_true", help="try the files that are made to break")
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", action="append", choices=[known.name for known in FORMATS])
    parser.add_argument("--only", help="seed of one input, or name of a bomb")
    parser.add_argument("--memory", type=int, default=2048, help="megabytes")
    parser.add_argument("--seconds", type=float, default=10.0, help="of processor time")
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


def _samples(options: argparse.Namespace) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    if options.samples:
        for path in sorted(options.samples.rglob("*")):
            if path.is_file() and 0 < path.stat().st_size <= _LARGEST:
                try:
                    with path.open("rb") as file:
                        known = find_format(path.name, file.read(HEAD))
                except InputError:
                    continue
                if known and (not options.format or known.name in options.format):
                    found.setdefault(known.name, []).append(path)
    return {name: paths[:_MOST_SAMPLES] for name, paths in sorted(found.items())}


def _changed(
    name: str, paths: list[Path], options: argparse.Namespace, limits: LoadLimits
) -> dict[str, Any]:
    samples = [path.read_bytes() for path in paths]
    seeds = (
        [int(options.only)] if options.only else range(options.seed, options.seed + options.inputs)
    )
    tries = _Tries(limits)
    with LoaderProcess(limits) as loaders, tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            random = Random(seed)
            suffix = Path(random.choice(paths)).suffix
            path = Path(folder, f"input{suffix}")
            path.write_bytes(hostile_file(random, samples))
            tries.read(loaders, FileToLoad(str(path), str(seed), name), str(seed))
    return {"samples": len(samples), **tries.result()}


def _bombs(options: argparse.Namespace, limits: LoadLimits) -> dict[str, Any]:
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, make in BOMBS.items():
            if options.only not in (None, name):
                continue
            path = Path(folder, name)
            path.write_bytes(make())
            known = None
            try:
                with path.open("rb") as file:
                    known = find_format(name, file.read(HEAD))
            except InputError as error:
                print(f"{name:<16} {error}", flush=True)
            if known is None:
                continue
            tries = _Tries(limits)
            with LoaderProcess(limits) as loaders:
                said = tries.read(loaders, FileToLoad(str(path), name, known.name), name)
            path.unlink()
            results[name] = {**tries.result(), "problem": said[:200]}
            one = results[name]
            print(
                f"{name:<16} {one['slowest_seconds']:7.2f} s {one['child_megabytes']:6} MB "
                f"{one['documents']:6} documents  {said[:150]}", flush=True,
            )  # fmt: skip
    return results


class _Tries:
    """Counts what became of files."""

    def __init__(self, limits: LoadLimits) -> None:
        self._limits = limits
        self._counts: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._seeds: dict[str, str] = {}
        self._slowest = (0.0, "")
        self._peak = 0

    def read(self, loaders: LoaderProcess, file: FileToLoad, seed: str) -> str:
        """Read a file; the first of its problems."""
        started = last = time.perf_counter()
        first, longest = "", 0.0
        for item in loaders.load(file):
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
            if isinstance(item, Problem):
                first = first or item.what
                self._count(item.what, seed)
            else:
                self._counts["documents"] += 1
        now = time.perf_counter()
        longest = max(longest, now - last)
        self._counts["files"] += 1
        # What is waited for each document is limited; a second more is for another child's start.
        if longest > 2 * self._limits.seconds + 1:
            self._counts["late"] += 1
        self._slowest = max(self._slowest, (now - started, seed))
        if loaders._child is not None:
            self._peak = max(self._peak, _peak_memory(loaders._child._process.pid))
        return first

    def _count(self, what: str, seed: str) -> None:
        if any(mark in what for mark in _BROKEN):
            kind = "broken"
        elif any(mark in what for mark in _CONFUSED):
            kind = "confused"
        else:
            self._counts["problems"] += 1
            return
        self._counts[kind] += 1
        self._kinds[what[:160]] += 1
        if self._seeds.setdefault(what[:160], seed) == seed:
            print(f"  --only {seed}: {what[:160]}", file=sys.stderr, flush=True)

    def result(self) -> dict[str, Any]:
        """The counts, with the seeds of the worst."""
        kinds = ("files", "documents", "problems", "confused", "broken", "late")
        return {
            **{kind: self._counts[kind] for kind in kinds},
            "slowest_seconds": round(self._slowest[0], 2),
            "slowest": self._slowest[1],
            "child_megabytes": self._peak >> 10,
            "kinds": {
                what: [count, self._seeds[what]] for what, count in self._kinds.most_common(_SHOWN)
            },
        }


def _peak_memory(pid: int) -> int:
    """Largest resident memory of a process so far, in kilobytes; 0 where it is not known."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


if __name__ == "__main__":
    main()
