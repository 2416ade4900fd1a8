"""The tables of what a memory costs by its size."""

from collections.abc import Callable
from typing import Any

from benchmarks.tables.markdown import head, page_part, row

_LARGEST = 10_000_000
"""Passages up to which costs are extrapolated."""
_SHARES = 12
"""Tables and files of which the bytes are listed."""

_Read = Callable[[dict[str, Any]], float]


def by_size(results: dict[str, Any]) -> str:
    """Cost by size, measured and extrapolated; and bytes by table at the largest size measured."""
    sizes = {int(size): one for size, one in results["sizes"].items()}
    rows = head(
        "passages", "slots", "ingest, a passage", "clock", "search again p50", "p95",
        "first time p50", "p95", "ask again p50", "clock", "forget p50", "verify", "on disk",
        "a passage", "peak memory",
    )  # fmt: skip
    rows += [row(f"{size:,}", *_cells(size, one)) for size, one in sizes.items()]
    rows += ["", _extrapolated(sizes), ""]
    size, largest = max(sizes.items())
    rows += head(f"of {size:,} passages", "bytes a slot")
    parts = sorted(largest["bytes"].items(), key=lambda part: -part[1])
    rows += [row(name, f"{count / largest['slots']:,.0f}") for name, count in parts[:_SHARES]]
    return page_part(rows, results["environment"])


def _cells(size: int, one: dict[str, Any]) -> list[str]:
    added, on_disk = one["added"], _on_disk(one)
    ingest = one["ingest_and_index"]
    return [
        f"{one['slots']:,}",
        f"{1000 * ingest['processor_seconds'] / added:.2f} ms",
        f"{1000 * ingest['seconds'] / added:.2f} ms",
        *(
            f"{one[what][f'processor_{share}_ms']:.0f} ms"
            for what, share in (
                ("search", "p50"),
                ("search", "p95"),
                ("search_first", "p50"),
                ("search_first", "p95"),
                ("ask", "p50"),
            )
        ),
        f"{one['ask']['p50_ms']:.0f} ms",
        f"{one['forget']['processor_p50_ms']:.1f} ms",
        f"{one['verify']['processor_seconds']:.1f} s",
        f"{on_disk / 2**20:,.0f} MiB",
        f"{on_disk / size:,.0f}",
        f"{one['peak_bytes'] / 2**20:,.0f} MiB",
    ]


def _on_disk(one: dict[str, Any]) -> float:
    return float(sum(one["bytes"].values()))


def _extrapolated(sizes: dict[int, Any]) -> str:
    """The largest size by the line through the two largest ones that were measured."""
    (few, less), (many, more) = sorted(sizes.items())[-2:]

    def reached(read: _Read) -> float:
        # What fell between the two, by chance, is not expected to fall further.
        slope = max(0.0, read(more) - read(less)) / (many - few)
        return read(more) + slope * (_LARGEST - many)

    ingest = more["ingest_and_index"]["processor_seconds"] / more["added"]
    return (
        f"Extrapolated along the line through the last two sizes, not measured: {_LARGEST:,} "
        f"passages take {_LARGEST * ingest / 3600:.1f} h of processor time to ingest, "
        f"{reached(lambda one: one['search']['processor_p50_ms']):.0f} ms a search at p50, "
        f"{reached(_on_disk) / 2**30:.0f} GiB on disk and "
        f"{reached(lambda one: one['peak_bytes']) / 2**30:.0f} GiB of memory while the index is "
        "built."
    )
