"""Every door by which something from outside comes into memnet, to be tried with bad inputs.

A door is made once in a folder of its own and then opened with one source of randomness after the
other. What it may raise is a ``MemnetError``, or pydantic's error where a caller makes a value.
"""

from collections.abc import Callable
from pathlib import Path

from benchmarks.fuzz_doors import given, kept
from benchmarks.fuzz_doors.door import Door

DOORS: dict[str, tuple[Callable[[Path], Door], int]] = {
    "ask": (given.ask, 26),
    "tell": (given.tell, 14),
    "forget": (given.forget, 4),
    "files": (given.files, 20),
    "stream": (given.stream, 8),
    "documents": (given.documents, 7),
    "questions": (given.questions, 9),
    "models": (kept.models, 4),
    "bundles": (kept.bundles, 2),
    "databases": (kept.databases, 1),
    "configuration": (given.configuration, 2),
    "real": (given.real, 3),
}
"""Each door and its share of the inputs, in hundredths."""
