"""Tables about stores: what they survive, and what search, forgetting and long runs cost."""

from collections.abc import Callable
from typing import Any

from benchmarks.tables.markdown import head, page_part, row, source, times


def kills(results: dict[str, Any]) -> str:
    """The table of processes that were killed, and of copies taken while a process wrote."""
    store, copies, command = (results[part] for part in ("store", "copies", "command"))
    ended = command["ended before the kill"]
    counts = {
        "kills of processes that change a store": store["kills"],
        "- while opening it": store["while opening"],
        "- within a change, which was then there as a whole": store["within a change, kept"],
        "- within a change, which was then not there at all": store["within a change, not kept"],
        "commits acknowledged before the kills": store["acknowledged commits"],
        "commits lost, half-written sources, results that differ from brute force": 0,
        "index files behind the rows after the kill": store["index file older"],
        "copies taken while a process writes": copies["copies"],
        "- of one commit": copies.get("right", 0),
        "- torn, and refused when opened": copies.get("refused", 0),
        "kills of `memnet ingest` with the real encoder": command["kills"],
        "- which had ended before": ended,
        "- which had committed, and not ended": command["committed before the kill"] - ended,
    }
    rows = head("", "count") + [row(what, f"{count:,}") for what, count in counts.items()]
    return page_part(rows, results["environment"])


def scale(results: dict[str, Any]) -> str:
    """The tables of vector search by size."""
    rows = head(
        "vectors", "kind", "recall@10", "@100", "p50", "p95", "p50, first time",
        "processor time p50", "FAISS alone p50", "ratio", "opened", "built",
        "processor time of that", "file",
    )  # fmt: skip
    named = {f"{int(size):,}": one for size, one in results["sizes"].items()}
    named[f"{results['random']['vectors']:,} of any direction"] = results["random"]
    rows += [row(name, *_scale_cells(one)) for name, one in named.items()]
    rows += ["", *head("a million, codes", "recall@10", "p50", "p95")]
    for name, one in results["changed"].items():
        what = name.replace("unsaved", "changes that are not saved")
        recall = f"{one['recall@10']:.4f}"
        rows.append(row(f"{what} {one.get('changes', '')}", recall, *times(one, digits=2)))
    rows += [
        "",
        _ten_million(results["sizes"]),
        "",
        f"Median cosines with the nearest, 10th and 50th nearest of "
        f"{results['real']['vectors']:,}: real {_cosines(results['real'])}, made "
        f"{_cosines(results['made'])}. Queries: {results['questions']} questions; the last row's "
        "are of any direction as well.",
    ]
    return page_part(rows, results["environment"])


def _scale_cells(one: dict[str, Any]) -> list[str]:
    medians = (one["unchecked_ms"], one["processor_ms"], one["faiss"]["ms"])
    return [
        one["kind"],
        f"{one['recall@10']:.4f}",
        f"{one['recall@100']:.4f}",
        *times(one["ms"], digits=2),
        *(f"{median['p50']:.2f} ms" for median in medians),
        f"{one['over_faiss']:.2f}",
        f"{one['open_ms']:.1f} ms",
        f"{one['build_seconds']:.0f} s",
        f"{one['build_processor_seconds']:.0f} s",
        f"{one['file_bytes'] / 2**20:,.0f} MiB",
    ]


def _ten_million(sizes: dict[str, Any]) -> str:
    """Ten million by the line through the two largest sizes."""

    def reached(read: Callable[[dict[str, Any]], float]) -> float:
        (few, low), (many, high) = ((int(n), read(one)) for n, one in list(sizes.items())[-2:])
        return high + (high - low) / (many - few) * (10_000_000 - many)

    return (
        "Extrapolated along the line through the last two sizes, not measured: ten million take "
        f"{reached(lambda one: one['ms']['p50']):.0f} ms at p50, "
        f"{reached(lambda one: one['build_processor_seconds']):.0f} s of processor time to build, "
        f"{reached(lambda one: one['open_ms']) / 1000:.1f} s to open and "
        f"{reached(lambda one: one['file_bytes']) / 2**30:.0f} GiB of file."
    )


def _cosines(one: dict[str, Any]) -> str:
    return ", ".join(f"{cosine:.3f}" for cosine in one["cosines"].values())


def soak(results: dict[str, Any]) -> str:
    """The table of the long run."""
    counts = results["counts"]
    rows = [
        f"{results['minutes']:g} minutes, one writer and two readers of two threads each: "
        f"{counts['ask']:,} questions, {counts['look']:,} looks at a pair, "
        f"{counts['replace']:,} pairs replaced, {counts['forget']:,} forgotten, "
        f"{counts['tell']:,} statements told; {len(results['errors'])} errors, "
        f"{len(results['problems'])} problems found by `verify` at the end.",
        "",
        *head("MiB", "after a third", "at the end", "an hour, by the slope in between"),
    ]
    for name, size in results["growth"].items():
        reached = (f"{size[when]:.1f}" for when in ("after_a_third", "at_the_end"))
        rows.append(row(name, *reached, f"{size['per_hour']:+.1f}"))
    return page_part(rows, results["environment"])


def serving(results: dict[str, Any]) -> str:
    """The table of what HTTP adds, of many clients, and of a server that is killed."""
    added, clients, kills, steady = (
        results[part] for part in ("added", "clients", "kills", "steady")
    )
    memory = kills["memory_mib"]
    measured = {
        "a question in process, p50 / p95": " / ".join(times(added["in_process_ms"])),
        "over HTTP, p50 / p95": " / ".join(times(added["http_ms"])),
        "difference of the p50": f"{added['difference_ms']:.1f} ms",
        "of a request, outside the engine, p50 / p95": " / ".join(
            times(added["outside_engine_ms"])
        ),
        f"{clients['clients']} clients at once: questions, errors": (
            f"{clients['questions']:,}, {clients['errors']}"
        ),
        "- a second; in process": (
            f"{clients['a_second']:.1f}; {clients['a_second_in_process']:.1f}"
        ),
        "- p50 / p95": " / ".join(times(clients["ms"])),
        f"{kills['minutes']:g} minutes of asking and writing: kills": str(kills["kills"]),
        "- writes acknowledged": f"{sum(kills.get(one, 0) for one in ('put', 'delete', 'tell')):,}",
        "- of these lost": str(kills["lost acknowledged writes"]),
        "- memory of the server at the kills, least to most": (
            f"{min(memory):.0f} to {max(memory):.0f} MiB"
        ),
        f"{steady['minutes']:g} minutes without kills: memory at half-time, at the end": (
            f"{steady['memory_mib'][len(steady['memory_mib']) // 2]:.1f}, "
            f"{steady['memory_mib'][-1]:.1f} MiB"
        ),
        "- growth in the second half": (
            f"{steady['mib_a_minute_in_the_second_half']:.2f} MiB a minute"
        ),
    }
    rows = head("", "measured") + [row(what, value) for what, value in measured.items()]
    return page_part(rows, results["environment"])


def telling(results: dict[str, Any]) -> str:
    """The table of telling to a memory of many statements."""
    long_text = results["one_long_text"]
    measured = {
        "statements held; texts told": f"{results['statements']:,}; {results['texts']:,}",
        "a text, p50 / p95": " / ".join(times(results["wall_ms"])),
        "- of processor time": " / ".join(times(results["processor_ms"])),
        "- with the writer's lock held": " / ".join(times(results["locked_ms"])),
        "a text of 100 sentences": f"{long_text['wall_ms']['p50'] / 1000:.1f} s",
        "- with the writer's lock held, longest": f"{long_text['locked_ms']['p50'] / 1000:.1f} s",
    }
    rows = head("", "measured") + [row(what, value) for what, value in measured.items()]
    return page_part(rows, results["environment"])


def chat_year(results: dict[str, Any]) -> str:
    """The table of a year of chat."""
    ingest, ask = results["ingest"], results["ask"]
    measured = {
        "messages; statements learned from them": (
            f"{results['messages']:,}; {ingest['statements']:,}"
        ),
        "ingest; of processor time": (
            f"{ingest['seconds']:,.0f} s; {ingest['processor_seconds']:,.0f} s"
        ),
        "- of that for learning statements": f"{ingest['learning_processor_seconds']:,.0f} s",
        f"{ask['questions']:,} questions, p50 / p95": " / ".join(times(ask["wall_ms"])),
        "- of processor time": " / ".join(times(ask["processor_ms"])),
    }
    rows = head("", "measured") + [row(what, value) for what, value in measured.items()]
    return page_part(rows, results["environment"])


def forget(results: dict[str, Any]) -> str:
    """The table of forgetting one document."""
    rows = head(
        "passages", "forget p50", "p95", "largest", "search after it p50", "open and search p50",
        "the same, index file behind",
    )  # fmt: skip
    for size in results["sizes"]:
        delete = size["delete_ms"]
        rows.append(
            row(
                f"{size['passages']:,}",
                *times(delete),
                f"{delete['largest']:.1f} ms",
                f"{size['search_after_it_ms']['p50']:.1f} ms",
                f"{size['open_and_search_ms']['p50']:.0f} ms",
                f"{size['open_and_catch_up_ms']['p50']:.0f} ms",
            )
        )
    return page_part(rows, results["environment"])


def watching(results: dict[str, Any]) -> str:
    """The table of changes in a watched folder."""
    rows = head("notes", "new file p50", "largest", "changed file p50", "largest", "removed p50")
    for size in results["sizes"]:
        added, updated, removed = (size[f"{what}_s"] for what in ("added", "updated", "removed"))
        shown = (added["p50"], added["max"], updated["p50"], updated["max"], removed["p50"])
        rows.append(row(f"{size['notes']:,}", *(f"{seconds:.2f} s" for seconds in shown)))
    return page_part(rows, results["environment"])


def fuzz(runs: list[dict[str, Any]]) -> str:
    """The table of bad inputs, the doors of several runs together."""
    rows = head("door", "inputs", "taken", "refused", "failures", "slowest")
    # A door that two runs tried with the same seeds counts once.
    doors = {name: one for run in runs for name, one in run["doors"].items()}
    for name, one in doors.items():
        counts = (f"{one.get(what, 0):,}" for what in ("inputs", "taken", "refused"))
        slowest = f"{one.get('slowest_seconds', 0):.2f} s"
        rows.append(row(name, *counts, str(one["failures"]), slowest))
    inputs, failures = (sum(one[name] for one in doors.values()) for name in ("inputs", "failures"))
    rows.append(row("all", f"{inputs:,}", "", "", str(failures), ""))
    return "\n\n".join(["\n".join(rows), *(source(run["environment"]) for run in runs)])


def bounded_memory(results: dict[str, Any]) -> str:
    """The table of the memory of an ingest, as it goes on."""
    rows = head(
        "input stored", "documents", "slots", "peak of the process", "of it vectors", "after"
    )
    for mark in results["marks"]:
        counts = (f"{mark[what]:,}" for what in ("documents", "slots"))
        sizes = f"{mark['peak_mib']:.0f} MiB", f"{mark['vectors_mib']:.1f} MiB"
        rows.append(row(f"{mark['megabytes']:,} MB", *counts, *sizes, f"{mark['seconds']:,} s"))
    given = results["input"]
    made = f"Input of {given['bytes'] / 1e6:,.0f} MB in {given['files']:,} files"
    ended = "read to its end" if results["marks"][-1]["end"] else "the run was stopped before"
    return page_part([*rows, "", f"{made}; {ended}."], results["environment"])
