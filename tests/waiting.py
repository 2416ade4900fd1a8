"""Waiting for other threads and processes: what hangs or fails there fails the test that waits."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

PATIENCE = 60.0
"""Seconds: a machine under load may be slow."""


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
