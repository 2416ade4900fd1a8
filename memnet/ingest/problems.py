"""Problems of an ingest: counted, and reported one by one."""

import logging
from collections import Counter
from collections.abc import Callable

from memnet.errors import InputError, Problem

_log = logging.getLogger("memnet")


class Problems:
    """Counts and reports problems; the only one of a run that used nothing becomes its error."""

    def __init__(self, report: Callable[[Problem], None] | None = None) -> None:
        """Count nothing yet; ``report`` is called for each problem, None logs it."""
        self.count = 0
        self._reasons: Counter[str] = Counter()
        self._report = report or _log_problem
        self._first: Problem | None = None

    def add(self, problem: Problem) -> None:
        """Count a problem, and report it."""
        self.count += 1
        self._reasons[problem.reason] += 1
        if self.count == 1:
            self._first = problem
            return
        self._report_first()
        self._report(problem)

    def finish(self, *, nothing_used: bool) -> None:
        """Report what was held back.

        Raises:
            InputError: nothing at all was used.
        """
        if nothing_used and self._first is not None:
            raise InputError(str(self._first))
        self._report_first()
        if nothing_used and self.count:
            raise InputError(
                f"nothing was ingested: all {self.count} inputs were skipped"
                + (", see above" if self._reasons[""] else f" ({self._counted()})")
            )

    def by_reason(self) -> dict[str, int]:
        """How many there were, most first; those where something is wrong as "errors"."""
        return {reason or "errors": count for reason, count in self._reasons.most_common()}

    def _counted(self) -> str:
        return ", ".join(f"{count:,} {reason}" for reason, count in self.by_reason().items())

    def _report_first(self) -> None:
        if self._first is not None:
            self._report(self._first)
            self._first = None


def _log_problem(problem: Problem) -> None:
    level = logging.INFO if problem.reason else logging.WARNING
    _log.log(level, "skipped: %s", problem)
