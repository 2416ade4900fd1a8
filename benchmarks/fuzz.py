"""Bad inputs at every door: does memnet ever crash, hang, or show a traceback?

    python -m benchmarks.fuzz [--inputs N] [--seed S] [--door NAME ...] [--only SEED] [--out FILE]

Each door (``benchmarks/fuzz_doors``) is tried in a process of its own, so that one that dies is
found too. An input is made from its own seed and can be tried again: ``--door ask --only 12345``.
It fails if anything but one of memnet's own errors, in one line, comes out, or if it takes longer
than ``--seconds``.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from pydantic import ValidationError

from benchmarks.environment import environment
from benchmarks.fuzz_doors import DOORS
from memnet import MemnetError

_SHOWN = 40
_SEED_STEP = 1_000_003


class _TooSlowError(Exception):
    pass


def main() -> None:
    """Try the doors and write the result."""
    options = _options()
    if options.child:
        print(json.dumps(_tried(options)))
        return
    if options.only is not None:
        with tempfile.TemporaryDirectory(dir=options.scratch) as work:
            DOORS[options.door[0]][0](Path(work))(Random(options.only))
        return
    started = time.perf_counter()
    found: dict[str, dict[str, Any]] = {}
    for name in options.door or DOORS:
        found[name] = _door_in_child(name, options)
        result = _result(found, options, started)
        if options.out:
            options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{result['inputs']} inputs, {result['failures']} failures, {result['seconds']} s")
    sys.exit(1 if result["failures"] else 0)


def _result(
    found: dict[str, dict[str, Any]], options: argparse.Namespace, started: float
) -> dict[str, Any]:
    return {
        "environment": environment(),
        "seed": options.seed,
        "inputs": sum(one["inputs"] for one in found.values()),
        "failures": sum(one["failures"] for one in found.values()),
        "seconds": round(time.perf_counter() - started),
        "doors": found,
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--door", choices=DOORS, action="append")
    parser.add_argument("--only", type=int, help="seed of one input, which keeps its traceback")
    parser.add_argument("--seconds", type=int, default=20, help="most that an input may take")
    parser.add_argument("--scratch", help="folder for stores; one in memory is much faster")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _door_in_child(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Try one door in a process of its own."""
    inputs = max(1, options.inputs * DOORS[name][1] // 100)
    command = [
        sys.executable, "-X", "faulthandler", "-m", "benchmarks.fuzz", "--child", "--door", name,
        "--inputs", str(inputs), "--seed", str(options.seed), "--seconds", str(options.seconds),
    ]  # fmt: skip
    if options.scratch:
        command += ["--scratch", options.scratch]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        result: dict[str, Any] = {"inputs": inputs, "failures": 1, "died": done.returncode}
    else:
        result = json.loads(done.stdout.splitlines()[-1])
    print(f"{name:<14} {json.dumps(result)}", flush=True)
    return result


def _tried(options: argparse.Namespace) -> dict[str, Any]:
    """Try one door with all its inputs."""
    (name,) = options.door
    outcomes: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    examples: dict[str, int] = {}
    slowest = 0.0
    signal.signal(signal.SIGALRM, _too_slow)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=options.scratch) as work:
        door = DOORS[name][0](Path(work))
        for number in range(options.inputs):
            seed = options.seed * _SEED_STEP + number
            begun = time.perf_counter()
            signal.alarm(options.seconds)
            try:
                door(Random(seed))
                outcomes["taken"] += 1
            except (MemnetError, ValidationError) as error:
                outcomes["refused"] += 1
                if isinstance(error, MemnetError) and "\n" in str(error):
                    failures["message of several lines"] += 1
                    examples.setdefault("message of several lines", seed)
            except Exception as error:  # everything else is what is looked for
                what = _described(error)
                failures[what] += 1
                if examples.setdefault(what, seed) == seed:
                    print(f"{name} --only {seed}: {what}", file=sys.stderr, flush=True)
            finally:
                signal.alarm(0)
            slowest = max(slowest, time.perf_counter() - begun)
    return {
        "inputs": options.inputs,
        **outcomes,
        "failures": sum(failures.values()),
        "kinds": {what: examples[what] for what, _ in failures.most_common(_SHOWN)},
        "slowest_seconds": round(slowest, 2),
        "seconds": round(time.perf_counter() - started, 1),
    }


def _described(error: Exception) -> str:
    """Kind of the error and the line of memnet it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/site-packages/" not in frame.filename]
    last = own[-1]
    message = str(error).splitlines()[0][:100] if str(error) else ""
    return f"{type(error).__name__}: {message} ({Path(last.filename).name}:{last.lineno})"


def _too_slow(_number: int, _frame: FrameType | None) -> None:
    raise _TooSlowError


if __name__ == "__main__":
    main()
