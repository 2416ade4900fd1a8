"""The tables of a store on a database server."""

from typing import Any

from benchmarks.tables.markdown import SETS, head, page_part, percent, row, times


def postgres(results: dict[str, Any]) -> str:
    """The same questions to a store in a folder and on a server."""
    rows = head(
        "", "questions", "same answer", "same evidence", "R@5 folder", "R@5 server",
        "`ask` p50 folder", "server", "difference p50", "p95",
    )  # fmt: skip
    for name, one in results["files"].items():
        again = one["ask_ms"]["again"]
        rows += [
            row(
                SETS[name],
                f"{one['questions']}",
                f"{one['same_answer']}",
                f"{one['same_evidence']}",
                *map(percent, one["recall_at_5"].values()),
                f"{again['folder']['p50']:.1f} ms",
                f"{again['postgresql']['p50']:.1f} ms",
                f"{again['difference']['p50']:.1f} ms",
                f"{again['difference']['p95']:.1f} ms",
            )
        ]
    return page_part(rows, results["environment"])


def postgres_load(results: dict[str, Any]) -> str:
    """Writers and readers that are killed, and what was left."""
    events, killed = results["events"], results["killed"]
    wrong = len(results["wrong_reads"])
    rows = head(
        f"{results['writers']} writers, {results['readers']} readers, "
        f"{results['seconds'] / 60:.0f} minutes",
        "",
    )
    rows += [
        row("kills of writers, readers, the server", ", ".join(map(str, _killed(killed)))),
        row("changes acknowledged", f"{events['done']:,}"),
        row("errors that a process was told", f"{events.get('error', 0):,}"),
        row("lost or half-written sources", f"{len(results['lost_or_halved'])}"),
        row("reads; of them wrong", f"{events['read']:,}; {wrong}"),
        row("problems that `verify` finds", f"{len(results['problems'])}"),
    ]
    return page_part(rows, results["environment"])


def postgres_dense(results: dict[str, Any]) -> str:
    """Vector search by pgvector: its graph against a comparison with every vector."""
    rows = head(
        "slots", "every vector compared p50", "graph, best 10: recall", "p50", "p95",
        "best 100: recall", "p50", "p95", "a scope of a thousandth p50", "a hop p50", "graph",
    )  # fmt: skip
    for size, one in results["sizes"].items():
        graph = [
            cell
            for limit in (10, 100)
            for cell in (
                percent(one[f"hnsw@{limit}"]["recall"]), *times(one[f"hnsw@{limit}"]["ms"]),
            )
        ]  # fmt: skip
        rows += [
            row(
                f"{int(size):,}",
                f"{one['exact']['ms']['p50']:.0f} ms",
                *graph,
                f"{one['narrow_ms']['p50']:.1f} ms",
                f"{one['hop_ms']['p50']:.1f} ms",
                f"{one['bytes_of_graph'] / 2**20:,.0f} MiB",
            )
        ]
    return page_part(rows, results["environment"])


def _killed(killed: dict[str, int]) -> list[int]:
    return [killed.get(what, 0) for what in ("write", "read", "server")]
