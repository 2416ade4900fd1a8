"""The table of memnet beside other tools."""

from typing import Any

from benchmarks.neighbours.turns import ROWS
from benchmarks.tables.markdown import SETS, head, page_part, percent, row, times

_NONE = "–"


def neighbours(results: dict[str, Any]) -> str:
    """The table, with what its columns need to be read."""
    rows = head(
        "", "ingest, passages/s", "per core second", "peak MiB", "on disk, MiB",
        "cold first answer", "warm p50", "p95", "warm, core ms", "Recall@5", "unchanged again",
        "delete", "kept after a kill",
    )  # fmt: skip
    rows += [
        row(title, *_cells(results["rows"][name], results))
        for name, title in ROWS.items()
        if name in results["rows"]
    ]
    counts = ", ".join(f"{SETS[name]} {n}" for name, n in results["questions"].items())
    rows += [
        "",
        f"{results['passages']:,} passages; questions: {counts}. Recall@5 is of "
        f"{' / '.join(SETS.values())}.",
        "",
        f"Neighbours: {', '.join(results['neighbour_versions'])}.",
    ]
    return page_part(rows, results["environment"])


def _cells(one: dict[str, Any], results: dict[str, Any]) -> list[str]:
    """The cells of a row; a dash for what was not measured."""
    cells = [_NONE] * 12
    if "ingest" in one:
        own = one["ingest"]
        cells[:4] = [
            f"{own['passages_per_second']:.1f}",
            f"{own['passages_per_core_second']:.1f}",
            f"{own['peak_bytes'] / 2**20:.0f}",
            f"{own['store_bytes'] / 2**20:.1f}",
        ]
    if "cold_seconds" in one:
        cells[4] = f"{one['cold_seconds']['median']:.1f} s"
    if "warm_ms" in one:
        cells[5:8] = [*times(one["warm_ms"], digits=0), f"{one['warm_ms']['core_mean']:.0f}"]
        cells[8] = " / ".join(percent(one["recall@5"][name]) for name in SETS)
    if "again" in one:
        more = one["again"]["more"]
        doubled = f", {more} stored twice" if more else ""
        cells[9] = f"{results['again']}: {one['again']['seconds']:.1f} s{doubled}"
    if "delete" in one:
        own = one["delete"]
        cells[10] = own["failed"] if "failed" in own else f"{1000 * own['seconds']:.0f} ms"
        cells[10] += ", still found" if own.get("still_found") else ""
    if "killed" in one:
        cells[11] = f"{one['killed']['whole']} of {one['killed']['killed']}"
    if "failed" in one:
        cells[11] = f"failed: {one['failed']}"
    return cells
