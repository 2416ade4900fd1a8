"""Pieces of Markdown that several tables share."""

from collections.abc import Iterable, Mapping
from typing import Any

SETS = {"hotpot": "HotpotQA", "2wiki": "2WikiMultiHopQA", "musique": "MuSiQue"}
"""Sets of questions and their names."""


def row(*cells: str) -> str:
    """A line of a table."""
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def head(*columns: str) -> list[str]:
    """The first two lines of a table."""
    return [row(*columns), "|---" * len(columns) + "|"]


def page_part(rows: Iterable[str], environment: Mapping[str, Any]) -> str:
    """Lines, and below them where they were measured."""
    return "\n".join([*rows, "", source(environment)])


def source(environment: Mapping[str, Any]) -> str:
    """The command that measured, and on what."""
    machine = environment["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    return (
        f"`{environment['command']}` at {environment['commit'][:10]} on {machine['cores']} cores "
        f"of {machine['processor']}, {machine['memory_gib']} GiB; {versions}."
    )


def percent(share: float, digits: int = 1) -> str:
    """A share in percent, without the sign."""
    return f"{100 * share:.{digits}f}"


def times(latency: Mapping[str, float], digits: int = 1) -> tuple[str, str]:
    """The cells p50 and p95 of milliseconds."""
    return f"{latency['p50']:.{digits}f} ms", f"{latency['p95']:.{digits}f} ms"


def interval(scores: Mapping[str, float]) -> str:
    """A 95 % interval in percent."""
    return f"{percent(scores['low'])} to {percent(scores['high'])}"
