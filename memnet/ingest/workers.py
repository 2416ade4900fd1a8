"""What leads the workers of an ingest: batches for them, what became of them, their processes."""

import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self

from memnet.errors import Problem, StoreError
from memnet.ingest.formats import Parsed
from memnet.ingest.parsed import packed
from memnet.storage import PutCounts

if TYPE_CHECKING:
    from memnet.storage.postgres.queue import ShareResult, WorkQueue

_log = logging.getLogger("memnet")
MOST_PENDING = 32
"""Batches that wait for workers: enough for many of them, and little room on the server."""
_PAUSE = 0.05
_MOST_STARTS = 4
"""Times that each process is started: one that ends, as for want of memory, is started again."""
_GRACE = 5.0
"""Seconds that a process has to end by itself."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Finished(NamedTuple):
    """A batch that has left the queue."""

    counts: PutCounts
    problems: list[Problem]
    characters: int
    documents: int


class Workers:
    """A run of the queue, and processes of this machine that work for it.

    A context manager: both end with it. One thread uses it.
    """

    def __init__(self, queue: "WorkQueue", recipe: str, processes: int, cores: int) -> None:
        """Begin a run; processes are started once there is something to do.

        Args:
            queue: of the store, which is closed in the end.
            recipe: what slots are made by.
            processes: to start; 0 leaves the work to those of other machines.
            cores: that they share.
        """
        self._queue = queue
        try:
            self._run = queue.start_run(recipe)
        except BaseException:
            queue.close()
            raise
        self._count = processes
        self._cores = max(1, cores // max(1, processes))
        self._processes: list[subprocess.Popen[bytes]] = []
        self._starts = 0
        self._next = 0
        self._pending: dict[int, tuple[str, list[str], int, int]] = {}
        """By number what is waited for: names of the first and last source, origins, characters,
        documents."""
        self._files: list[tuple[int, Mapping[str, bytes]]] = []
        """Digests of files, by path, that are stored once the batches below a number are."""
        self._failed: set[str] = set()
        """Origins of sources of the present ingest that are not stored."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._queue.end_run(self._run)
        except StoreError as failure:
            _log.info("the run is left to the next ingest: %s", failure)
        finally:
            self._queue.close()
            self._end_processes(at_once=error is not None)

    @property
    def run(self) -> int:
        """Number of the run."""
        return self._run

    def begin(self) -> None:
        """Another ingest begins, which tries again what failed in the one before."""
        self._failed.clear()

    def add(self, batch: Sequence[tuple[Parsed, bytes]], namespace: str) -> None:
        """Leave a batch, none of it messages, to the workers."""
        self._start_processes()
        self._queue.add(self._run, self._next, namespace, packed(batch))
        names = [parsed.name for parsed, _ in batch]
        label = f"{names[0]} to {names[-1]}" if names[1:] else names[0]
        origins = [parsed.origin for parsed, _ in batch]
        characters = sum(parsed.size() for parsed, _ in batch)
        self._pending[self._next] = (label, origins, characters, len(batch))
        self._next += 1

    def add_files(self, files: Mapping[str, bytes]) -> None:
        """Note that all of some files was added: their digests by path."""
        if files:
            self._files.append((self._next, files))

    def stored_files(self) -> dict[str, bytes]:
        """Digests of files of which all is stored by now, each given once."""
        first = min(self._pending, default=self._next)
        stored = [files for number, files in self._files if number <= first]
        self._files = self._files[len(stored) :]
        return {
            path: digest
            for files in stored
            for path, digest in files.items()
            if path not in self._failed
        }

    def finished(self, most: int) -> Iterator[Finished]:
        """What was stored since the last call; waits until at most ``most`` batches are left.

        Raises:
            StoreError: the run is lost, or its processes end again and again.
        """
        while True:
            done = self._queue.finished(self._run)
            for number in done.keys() & self._pending.keys():
                yield self._finished(number, done[number])
            if done:
                self._queue.taken(self._run, [*done])
            if len(self._pending) <= most:
                return
            if not done:
                self._start_processes()
                time.sleep(_PAUSE)

    def end_reading(self) -> None:
        """All is stored: workers go on with full vectors."""
        self._queue.end_reading(self._run)

    def wait(self, seconds: float) -> None:
        """Wait, and see that the processes run and the run is not lost; errors as ``finished``."""
        self._start_processes()
        self._queue.finished(self._run)
        time.sleep(seconds)

    def _finished(self, number: int, result: "ShareResult | None") -> Finished:
        label, origins, characters, documents = self._pending.pop(number)
        if result is None:
            self._failed.update(origins)
            what = (
                f"{documents} documents are not stored: each process that worked on them ended; "
                "ingest them without workers to see why"
            )
            return Finished(PutCounts(0, 0, 0), [Problem(label, what)], characters, documents)
        if result.problems:
            # A problem's place is no path where the source came from no file.
            self._failed.update(where for where, _ in result.problems)
            if any(where not in origins for where, _ in result.problems):
                self._failed.update(origins)
        return Finished(
            PutCounts(result.added, result.updated, result.unchanged),
            [Problem(where, what) for where, what in result.problems],
            characters,
            documents,
        )

    def _start_processes(self) -> None:
        """Start the processes, and those again that have ended."""
        for process in [one for one in self._processes if one.poll() is not None]:
            self._processes.remove(process)
            _log.warning(
                "a worker ended with code %s; its batch is done by another", process.returncode
            )
        while len(self._processes) < self._count:
            if self._starts == _MOST_STARTS * self._count:
                raise StoreError(
                    f"the workers ended {self._starts - len(self._processes)} times; what was "
                    "stored stays: see their messages, or ingest without --workers"
                )
            self._starts += 1
            self._processes.append(self._start())

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, **self._queue.environment()}
        # Several processes share the cores.
        environment |= {name: str(self._cores) for name in _THREADS}
        command = [sys.executable, "-m", "memnet", "worker", "--run", str(self._run)]
        return subprocess.Popen(  # noqa: S603 - this program itself
            [*command, "--threads", str(self._cores)],
            env=environment,
            stdin=subprocess.DEVNULL,
            # Ctrl+C is for the process that leads, which ends them.
            start_new_session=True,
        )

    def _end_processes(self, *, at_once: bool) -> None:
        """Wait until all have seen that the run is over; end those that don't."""
        for process in self._processes:
            if at_once:
                process.terminate()
            try:
                process.wait(_GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
