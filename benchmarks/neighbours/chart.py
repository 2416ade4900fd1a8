"""The chart of the comparison with the neighbours."""

from pathlib import Path
from typing import Any

from benchmarks.neighbours.turns import ROWS

_PANELS = (
    ("passages/s, ingest", lambda row: row["ingest"]["passages_per_second"]),
    ("s, cold first answer", lambda row: row["cold_seconds"]["median"]),
    ("MiB, peak memory of ingest", lambda row: row["ingest"]["peak_bytes"] / 2**20),
    ("%, mean Recall@5", lambda row: 100 * sum(row["recall@5"].values()) / len(row["recall@5"])),
)


def draw(results: dict[str, Any], path: Path) -> None:
    """Bars of the main measurements, a panel each; what is missing has no bar."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "memnet"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(_PANELS), figsize=(13, 3.6), sharey=True)
    names = [name for name in ROWS if name in results["rows"]]
    colours = ["tab:blue" if name.startswith("memnet") else "tab:gray" for name in names]
    for axis, (title, value) in zip(axes, _PANELS, strict=True):
        bars = axis.barh(
            [ROWS[name] for name in names],
            [_value(results["rows"][name], value) for name in names],
            color=colours,
        )
        axis.bar_label(bars, fmt="%.3g", padding=2, fontsize=8)
        axis.set_title(title, fontsize=9)
        axis.margins(x=0.2)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _value(row: dict[str, Any], value: Any) -> float:
    try:
        return float(value(row))
    except KeyError:
        return 0.0
