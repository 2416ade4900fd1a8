"""Waiting for other threads and processes: what hangs or fails there fails the test that waits."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

_Result = TypeVar("_Result")
PATIENCE = 60.0
"""Seconds: a machine under load may be slow."""
_COMMAND = 200.0
"""Seconds for a command, which may import torch and train a model."""


@contextmanager
def repeating(function: Callable[[], object], threads: int = 3) -> Iterator[None]:
    """Call a function again and again on other threads until the block ends, however it ends.

    Fails if a call raised an error.
    """
    stop, errors = threading.Event(), list[BaseException]()

    def repeat() -> None:
        try:
            while not stop.is_set():
                function()
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=repeat, daemon=True) for _ in range(threads)]
    for thread in started:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in started:
            thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in started)
    assert errors == []


def in_thread(function: Callable[[], _Result]) -> _Result:
    """What a function gives, or raises, on a thread of its own."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def until(holds: Callable[[], bool], otherwise: str = "it does not come true") -> None:
    """Wait until something holds; fails, saying what is so otherwise, if that takes too long."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def hear(connection: Connection) -> Any:
    """What a process sends next; fails if it sends nothing or has ended."""
    assert connection.poll(PATIENCE), "the other process says nothing"
    return connection.recv()


def ended(process: BaseProcess) -> None:
    """Wait for the end of a process; fails if it goes on."""
    process.join(PATIENCE)
    assert process.exitcode is not None, "the other process does not end"


def ended_fork(child: int) -> int:
    """Wait for the end of a forked child, and return its exit code; -9 if it had to be killed."""
    deadline = time.monotonic() + PATIENCE
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            break
        time.sleep(0.005)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def without_coverage() -> dict[str, str]:
    """The environment for a process that is interrupted: coverage is not measured there.

    coverage takes a lock when code of another file runs first; an interrupt between taking and
    holding it leaves it locked, and the process waits for it for ever.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


def completed(
    command: Sequence[object], *, check: bool = True, given: str | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; one that hangs is ended, and the error shows where it hung.

    Args:
        command: to run.
        check: whether an exit code other than 0 is an error.
        given: what it reads from standard input.
        options: of ``subprocess.Popen``.
    """
    environment = {**(options.pop("env", None) or os.environ), "PYTHONFAULTHANDLER": "1"}
    with subprocess.Popen(
        list(map(str, command)),
        stdin=subprocess.DEVNULL if given is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        **options,
    ) as process:
        try:
            out, err = process.communicate(given, timeout=_COMMAND)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # Python shows the stacks of its threads
            try:
                _, err = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                err = "it did not end when it was told to"
            raise AssertionError(f"{command} hangs: {err}") from None
    done = subprocess.CompletedProcess(process.args, process.returncode, out, err)
    assert not check or done.returncode == 0, err
    return done
