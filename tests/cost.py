"""Measuring what a call costs, for tests that compare costs of small and large inputs."""

import sys
from collections.abc import Callable
from types import FrameType


def steps(call: Callable[[], object]) -> int:
    """How many functions a call calls, Python's own among them, on this thread.

    The same on each machine. What a function of another language does inside is not counted.
    """
    counted = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
    return counted
