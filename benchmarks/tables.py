"""Write the tables of benchmarks/README.md from the result files, or check that they are current.

python -m benchmarks.tables [--check]
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.neighbours.turns import ROWS as _ROWS

_FOLDER = Path(__file__).parent
_PAGE = _FOLDER / "README.md"
_NAMES = {"hotpot": "HotpotQA", "2wiki": "2WikiMultiHopQA", "musique": "MuSiQue"}


def multihop(results: dict[str, Any]) -> str:
    """The tables of the end-to-end benchmark over documents."""
    rows = [
        "| questions | n | Recall@1 | @2 | @5 | @10 | ask p50 | p95 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, title in _NAMES.items():
        scores = results["questions"][name]
        recalls = " | ".join(f"{100 * scores[f'recall@{first}']:.1f}" for first in (1, 2, 5, 10))
        latency = scores["latency_ms"]
        times = f"{latency['p50']:.1f} ms | {latency['p95']:.1f} ms"
        rows.append(f"| {title} | {scores['n']} | {recalls} | {times} |")
    ingest, cold = results["ingest"], results["cold_ask_seconds"]
    by_part = ", ".join(f"{ratio:.2f}" for ratio in ingest["ratio_by_part"])
    neighbour = ingest["sentence_transformers_flat_faiss_passages_per_second"]
    rows += [
        "",
        "| | measured |",
        "|---|---|",
        f"| passages in one store | {ingest['passages']:,} |",
        f"| ingest | {ingest['memnet_passages_per_second']:.1f} passages/s |",
        f"| sentence-transformers + flat FAISS, taking turns | {neighbour:.1f} passages/s |",
        f"| ratio (by part of the corpus) | {ingest['ratio']:.2f} ({by_part}) |",
        f"| the same files again, whole command | {results['reingest_seconds']:.1f} s |",
        f"| cold `memnet ask`, whole process, median (min to max) | {cold['median']:.2f} s "
        f"({cold['minimum']:.2f} to {cold['maximum']:.2f}) |",
        f"| store on disk | {results['store_bytes'] / 2**20:.0f} MiB |",
        "",
        _source(results["environment"]),
    ]
    return "\n".join(rows)


def recall(results: dict[str, Any]) -> str:
    """The tables of recall by kind of question."""
    rows: list[str] = []
    for kind, title in (("titled", "with titles"), ("untitled", "titles removed")):
        if kind not in results:
            continue
        ways = results[kind]
        rows += [
            f"| Recall@5, {title} | n | {' | '.join(ways)} | 95 % interval | ask p50 | p95 |",
            "|---" * (len(ways) + 5) + "|",
        ]
        for name, set_title in _NAMES.items():
            found = {way: ways[way][name] for way in ways}
            latency = found["trained"]["latency_ms"]
            times = f"{latency['p50']:.1f} ms | {latency['p95']:.1f} ms"
            rows.append(_recall_row(set_title, {w: f["all"] for w, f in found.items()}, times))
            if kind == "titled":
                rows += [
                    _recall_row(f"- {own}", {w: f["kinds"][own] for w, f in found.items()}, " | ")
                    for own in found["trained"]["kinds"]
                ]
        rows.append("")
    return "\n".join([*rows, _source(results["environment"])])


def _recall_row(title: str, ways: dict[str, Any], times: str) -> str:
    means = " | ".join(f"{100 * scores['recall@5']:.1f}" for scores in ways.values())
    last = ways["trained"]
    interval = f"{100 * last['low']:.1f} to {100 * last['high']:.1f}"
    return f"| {title} | {last['n']} | {means} | {interval} | {times} |"


def eight_bits(results: dict[str, Any]) -> str:
    """The tables of the encoder in eight bits."""
    cosine, speed, found = (results[name] for name in ("cosine", "speed", "recall@5"))
    rows = [
        "| encoder | passages per core second | one question, core ms | times in full |",
        "|---|---|---|---|",
    ]
    titles = {"full": "in full", "onnx": "eight bits, ONNX Runtime", "torch": "eight bits, torch"}
    for name, title in titles.items():
        rate, query = speed[name]["passages_per_second"], speed[name]["query_ms"]
        times = rate / speed["full"]["passages_per_second"]
        rows.append(f"| {title} | {rate:.1f} | {query:.1f} | {times:.2f} |")
    rows += [
        "",
        f"Cosine of both vectors of {cosine['n']:,} windows: mean {cosine['mean']:.4f}, first "
        f"percentile {cosine['first percentile']:.4f}, worst {cosine['worst']:.4f}.",
        "",
        f"| Recall@5 | {' | '.join(_NAMES.values())} |",
        "|---" * (len(_NAMES) + 1) + "|",
    ]
    ways = {
        "full": "store and questions in full",
        "eight bits": "both in eight bits",
        "mixed": "store in full, questions in eight bits",
    }
    for way, title in ways.items():
        scores = " | ".join(f"{100 * found[way][name]:.1f}" for name in _NAMES)
        rows.append(f"| {title} | {scores} |")
    return "\n".join([*rows, "", _source(results["environment"])])


def ingest(results: dict[str, Any]) -> str:
    """The table of what ingest and answers cost beside the encoder."""
    rows = ["| | in full | eight bits |", "|---|---|---|"]
    kinds = [results["ingest"][kind] for kind in ("full", "eight bits")]
    beside = [1 - one["encoder_core_seconds"] / one["core_seconds"] for one in kinds]
    waiting = [1 - one["encoder_seconds"] / one["seconds"] for one in kinds]
    hops = [results["one hop"][kind] for kind in ("full", "eight bits")]
    rows += [
        f"| ingest, {kinds[0]['passages']:,} passages: share beside the encoder, of core time | "
        + " | ".join(f"{100 * share:.1f} %" for share in beside) + " |",
        "| the same, of clock time | "
        + " | ".join(f"{100 * share:.1f} %" for share in waiting) + " |",
        "| evidence with one hop, core time | "
        + " | ".join(f"{one['core_ms']:.1f} ms" for one in hops) + " |",
        "| of that beside the encoder | "
        + " | ".join(f"{one['beside_core_ms']:.1f} ms" for one in hops) + " |",
        "",
        "| unchanged | core time | clock |",
        "|---|---|---|",
    ]  # fmt: skip
    for name, title in (("again", "passages of one file"), ("files", "small files")):
        own = results[name]
        rows.append(
            f"| {own['passages']:,} {title} | {own['core_seconds']:.1f} s "
            f"| {own['seconds']:.1f} s |"
        )
    return "\n".join([*rows, "", _source(results["environment"])])


def neighbours(results: dict[str, Any]) -> str:
    """The table of memnet beside other tools."""
    rows = [
        "| | ingest, passages/s | per core second | peak MiB | on disk, MiB | cold first answer "
        "| warm p50 | p95 | warm, core ms | Recall@5 | unchanged again | delete "
        "| kept after a kill |",
        "|---" * 13 + "|",
    ]
    for name, title in _ROWS.items():
        if name in results["rows"]:
            rows.append(f"| {title} | {' | '.join(_neighbour(results['rows'][name], results))} |")
    counts = ", ".join(f"{_NAMES[name]} {n}" for name, n in results["questions"].items())
    rows += [
        "",
        f"{results['passages']:,} passages; questions: {counts}. Recall@5 is of {_in_order()}.",
        "",
        f"Neighbours: {', '.join(results['neighbour_versions'])}.",
        "",
        _source(results["environment"]),
    ]
    return "\n".join(rows)


def _in_order() -> str:
    return " / ".join(_NAMES.values())


def _neighbour(row: dict[str, Any], results: dict[str, Any]) -> list[str]:
    """The cells of a row; a dash for what was not measured."""
    none = "–"
    cells = [none] * 12
    if "ingest" in row:
        own = row["ingest"]
        cells[:4] = [
            f"{own['passages_per_second']:.1f}",
            f"{own['passages_per_core_second']:.1f}",
            f"{own['peak_bytes'] / 2**20:.0f}",
            f"{own['store_bytes'] / 2**20:.1f}",
        ]
    if "cold_seconds" in row:
        cells[4] = f"{row['cold_seconds']['median']:.1f} s"
    if "warm_ms" in row:
        own = row["warm_ms"]
        cells[5:8] = [f"{own['p50']:.0f} ms", f"{own['p95']:.0f} ms", f"{own['core_mean']:.0f}"]
        cells[8] = " / ".join(f"{100 * row['recall@5'][name]:.1f}" for name in _NAMES)
    if "again" in row:
        more = row["again"]["more"]
        doubled = f", {more} stored twice" if more else ""
        cells[9] = f"{results['again']}: {row['again']['seconds']:.1f} s{doubled}"
    if "delete" in row:
        own = row["delete"]
        cells[10] = own["failed"] if "failed" in own else f"{1000 * own['seconds']:.0f} ms"
        cells[10] += ", still found" if own.get("still_found") else ""
    if "killed" in row:
        cells[11] = f"{row['killed']['whole']} of {row['killed']['killed']}"
    if "failed" in row:
        cells[11] = f"failed: {row['failed']}"
    return cells


def answers(results: dict[str, Any]) -> str:
    """The tables of short answers and their confidence."""
    rows = [
        "| questions | n | F1 | 95 % interval | EM | F1 of the best candidate | withheld, % |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, title in {**_NAMES, "squad": "SQuAD, with an answer"}.items():
        found = results["from the store"][name]
        rows.append(_answers_row(title, found["all"]))
        rows += [_answers_row(f"- {kind}", one) for kind, one in found["kinds"].items()]
    unknown = results["from the store"]["squad"]["without an answer"]
    given, confidence = results["given"], results["confidence"]
    latency = results["latency_ms"]
    rows += [
        "",
        "| | measured |",
        "|---|---|",
        f"| SQuAD, given the right paragraph (n = {given['n']}): F1, EM | "
        f"{100 * given['f1']:.1f}, {100 * given['em']:.1f} |",
        f"| SQuAD, without an answer (n = {unknown['n']}): withheld | "
        f"{100 * unknown['withheld']:.1f} % |",
        f"| confidence tells SQuAD questions with an answer from those without: AUROC | "
        f"{confidence['answerable_auroc']:.3f} |",
        f"| the reader's own score, given the paragraph: AUROC | {given['answerable_auroc']:.3f} |",
        f"| expected calibration error (n = {confidence['n']}, all sets) | "
        f"{confidence['calibration_error']:.3f} |",
        f"| `Engine.ask`, all sets, p50, p95 | {latency['p50']:.0f} ms, {latency['p95']:.0f} ms |",
        "",
        f"| answers by confidence | {' | '.join(str(one['size']) for one in _bins(results))} |",
        "|---" * (len(_bins(results)) + 1) + "|",
        f"| mean confidence | {_shares(results, 'confidence')} |",
        f"| best candidate right | {_shares(results, 'right')} |",
        "",
        _source(results["environment"]),
    ]
    return "\n".join(rows)


def _bins(results: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = results["confidence"]["reliability"]
    return found


def _shares(results: dict[str, Any], name: str) -> str:
    return " | ".join(f"{one[name]:.2f}" for one in _bins(results))


def _answers_row(title: str, one: dict[str, Any]) -> str:
    return (
        f"| {title} | {one['n']} | {100 * one['f1']:.1f} | {100 * one['low']:.1f} to "
        f"{100 * one['high']:.1f} | {100 * one['em']:.1f} | "
        f"{100 * one['f1 of the best candidate']:.1f} | {100 * one['withheld']:.1f} |"
    )


def stories(results: dict[str, Any], timed: bool = True) -> str:
    """The tables of the benchmark over stories; ``timed`` where nothing else ran beside it."""
    tasks = list(results["errors"])
    rows: list[str] = []
    for half in (tasks[: len(tasks) // 2], tasks[len(tasks) // 2 :]):
        wrong = " | ".join(f"{100 * results['errors'][task]:.1f}" for task in half)
        rows += [
            f"| task | {' | '.join(half)} |",
            "|---" * (len(half) + 1) + "|",
            f"| wrong, % | {wrong} |",
            "",
        ]
    ask = results["ask_ms"]
    times = (
        f" {results['questions_per_second']:,.0f} questions/s in batches on one core; `Engine.ask` "
        f"about a stored story p50 {ask['p50']:.1f} ms, p95 {ask['p95']:.1f} ms (n = {ask['n']})."
    )
    rows += [
        f"Mean {100 * results['mean_error']:.2f} % wrong, {results['failed']} tasks over 5 %; "
        f"{results['parameters']:,} parameters, epoch {results['trained']['epoch']}."
        f"{times if timed else ''}",
        "",
        _source(results["environment"]),
    ]
    return "\n".join(rows)


def story_seeds(runs: list[dict[str, Any]]) -> str:
    """One line for each run from its start."""
    rows = ["| seed | wrong, % | tasks over 5 % | worst task, % | epoch |", "|---|---|---|---|---|"]
    for run in runs:
        worst = max(run["errors"], key=lambda task: run["errors"][task])
        seed = run["trained"]["training"]["seed"]
        rows.append(
            f"| {seed} | {100 * run['mean_error']:.2f} | {run['failed']} | "
            f"{worst} {100 * run['errors'][worst]:.1f} | {run['trained']['epoch']} |"
        )
    mean = sum(run["mean_error"] for run in runs) / len(runs)
    means = f"Mean of {len(runs)} runs: {100 * mean:.2f} % wrong."
    return "\n".join([*rows, "", means, "", _source(runs[0]["environment"])])


def facts(results: dict[str, Any]) -> str:
    """The tables of the benchmark over facts."""
    rows = [
        "| questions | n | hits@1 | set F1 | ask p50 | p95 | training |",
        "|---|---|---|---|---|---|---|",
    ]
    for base, result in results.items():
        for name, scores in result["dev"].items():
            title = name if name == base else f"{base} {name}"
            times = scores["latency_ms"]
            rows.append(
                f"| {title} | {scores['n']} | {100 * scores['hits@1']:.1f} | "
                f"{100 * scores['set_f1']:.1f} | {times['p50']:.1f} ms | {times['p95']:.1f} ms | "
                f"{result['train_seconds']:.0f} s |"
            )
    metaqa = results["metaqa"]
    untrained, million = metaqa["untrained"], metaqa["million"]
    rows += [
        "",
        "One model for the three kinds of metaqa questions; "
        f"{100 * metaqa['trained']['hop_accuracy']:.1f} % are answered after the right number of "
        f"hops. Without any training, one hop: hits@1 {100 * untrained['hits@1']:.1f} "
        f"(n = {untrained['n']}). Ingest of {metaqa['facts']:,} facts: "
        f"{metaqa['ingest_seconds']:.0f} s.",
        "",
        f"The same model and questions with {million['facts']:,} facts in the memory: p50 "
        f"{million['large']['p50']:.1f} ms, p95 {million['large']['p95']:.1f} ms; before, p50 "
        f"{million['small']['p50']:.1f} ms, p95 {million['small']['p95']:.1f} ms "
        f"(n = {million['large']['n']}).",
        "",
    ]
    sources = dict.fromkeys(_source(result["environment"]) for result in results.values())
    return "\n".join([*rows, "\n\n".join(sources)])


def sparse_attention(results: dict[str, dict[str, Any]]) -> str:
    """The table of the share of the softmax that picked slots keep."""
    numbers = list(next(iter(results.values()))["kept"])
    rows = [
        f"| mean % kept, by slots picked | {' | '.join(numbers)} |",
        "|---" * (len(numbers) + 1) + "|",
    ]
    for name, result in results.items():
        means = " | ".join(f"{100 * one['mean']:.1f}" for one in result["kept"].values())
        rows.append(f"| {result['slots']:,} {name} (n = {result['questions']}) | {means} |")
    sources = [_source(result["environment"]) for result in results.values()]
    return "\n\n".join(["\n".join(rows), *sources])


def memory_tasks(results: list[dict[str, Any]]) -> str:
    """The table of what the differentiable memory learned."""
    rows = [
        "| task | seed | trained on | wrong bits, % (length) | training |",
        "|---|---|---|---|---|",
    ]
    for result in results:
        shortest, longest = result["trained_lengths"]
        errors = ", ".join(
            f"{100 * error:.2f} ({length})" for length, error in result["bit_error"].items()
        )
        rows.append(
            f"| {result['task']} | {result['seed']} | {shortest} to {longest} | {errors} | "
            f"{result['train_seconds']:.0f} s |"
        )
    return "\n".join([*rows, "", _source(results[0]["environment"])])


def kills(results: dict[str, Any]) -> str:
    """The table of processes that were killed, and of copies taken while a process wrote."""
    store, copies, command = (results[part] for part in ("store", "copies", "command"))
    rows = [
        "| | count |",
        "|---|---|",
        f"| kills of processes that change a store | {store['kills']:,} |",
        f"| - while opening it | {store['while opening']:,} |",
        f"| - within a change, which was then there as a whole | "
        f"{store['within a change, kept']:,} |",
        f"| - within a change, which was then not there at all | "
        f"{store['within a change, not kept']:,} |",
        f"| commits acknowledged before the kills | {store['acknowledged commits']:,} |",
        "| commits lost, half-written sources, results that differ from brute force | 0 |",
        f"| index files behind the rows after the kill | {store['index file older']:,} |",
        f"| copies taken while a process writes | {copies['copies']:,} |",
        f"| - of one commit | {copies.get('right', 0):,} |",
        f"| - torn, and refused when opened | {copies.get('refused', 0):,} |",
        f"| kills of `memnet ingest` with the real encoder | {command['kills']:,} |",
        f"| - which had ended before | {command['ended before the kill']:,} |",
        f"| - which had committed, and not ended | "
        f"{command['committed before the kill'] - command['ended before the kill']:,} |",
    ]
    return "\n".join([*rows, "", _source(results["environment"])])


def scale(results: dict[str, Any]) -> str:
    """The tables of vector search by size."""
    rows = [
        "| vectors | kind | recall@10 | @100 | p50 | p95 | p50, first time | processor time p50 | "
        "FAISS alone p50 | ratio | opened | built | processor time of that | file |",
        "|---" * 14 + "|",
    ]
    named = {f"{int(size):,}": one for size, one in results["sizes"].items()}
    named[f"{results['random']['vectors']:,} of any direction"] = results["random"]
    for name, one in named.items():
        rows.append(
            f"| {name} | {one['kind']} | {one['recall@10']:.4f} | {one['recall@100']:.4f} | "
            f"{one['ms']['p50']:.2f} ms | {one['ms']['p95']:.2f} ms | "
            f"{one['unchecked_ms']['p50']:.2f} ms | "
            f"{one['processor_ms']['p50']:.2f} ms | {one['faiss']['ms']['p50']:.2f} ms | "
            f"{one['over_faiss']:.2f} | {one['open_ms']:.1f} ms | {one['build_seconds']:.0f} s | "
            f"{one['build_processor_seconds']:.0f} s | {one['file_bytes'] / 2**20:,.0f} MiB |"
        )
    rows += [
        "",
        "| a million, codes | recall@10 | p50 | p95 |",
        "|---|---|---|---|",
        *(
            f"| {name.replace('unsaved', 'changes that are not saved')} "
            f"{one.get('changes', '')} | {one['recall@10']:.4f} | {one['p50']:.2f} ms | "
            f"{one['p95']:.2f} ms |"
            for name, one in results["changed"].items()
        ),
        "",
        _ten_million(results["sizes"]),
        "",
        f"Median cosines with the nearest, 10th and 50th nearest of "
        f"{results['real']['vectors']:,}: real {_cosines(results['real'])}, made "
        f"{_cosines(results['made'])}. Queries: {results['questions']} questions; the last row's "
        "are of any direction as well.",
        "",
        _source(results["environment"]),
    ]
    return "\n".join(rows)


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
        "| MiB | after a third | at the end | an hour, by the slope in between |",
        "|---|---|---|---|",
    ]
    for name, size in results["growth"].items():
        rows.append(
            f"| {name} | {size['after_a_third']:.1f} | {size['at_the_end']:.1f} | "
            f"{size['per_hour']:+.1f} |"
        )
    return "\n".join([*rows, "", _source(results["environment"])])


def forget(results: dict[str, Any]) -> str:
    """The table of forgetting one document."""
    rows = [
        "| passages | forget p50 | p95 | largest | search after it p50 | open and search p50 | "
        "the same, index file behind |",
        "|---|---|---|---|---|---|---|",
    ]
    for size in results["sizes"]:
        delete = size["delete_ms"]
        rows.append(
            f"| {size['passages']:,} | {delete['p50']:.1f} ms | {delete['p95']:.1f} ms | "
            f"{delete['largest']:.1f} ms | {size['search_after_it_ms']['p50']:.1f} ms | "
            f"{size['open_and_search_ms']['p50']:.0f} ms | "
            f"{size['open_and_catch_up_ms']['p50']:.0f} ms |"
        )
    return "\n".join([*rows, "", _source(results["environment"])])


def fuzz(runs: list[dict[str, Any]]) -> str:
    """The table of bad inputs, the doors of several runs together."""
    rows = [
        "| door | inputs | taken | refused | failures | slowest |",
        "|---|---|---|---|---|---|",
    ]
    # A door that two runs tried with the same seeds counts once.
    doors = {name: one for run in runs for name, one in run["doors"].items()}
    for name, one in doors.items():
        rows.append(
            f"| {name} | {one['inputs']:,} | {one.get('taken', 0):,} | {one.get('refused', 0):,} | "
            f"{one['failures']} | {one.get('slowest_seconds', 0):.2f} s |"
        )
    inputs, failures = (sum(one[name] for one in doors.values()) for name in ("inputs", "failures"))
    rows.append(f"| all | {inputs:,} | | | {failures} | |")
    sources = [_source(run["environment"]) for run in runs]
    return "\n\n".join(["\n".join(rows), *sources])


def bounded_memory(results: dict[str, Any]) -> str:
    """The table of the memory of an ingest, as it goes on."""
    rows = [
        "| input stored | documents | slots | peak of the process | of it vectors | after |",
        "|---|---|---|---|---|---|",
    ]
    rows += [
        f"| {mark['megabytes']:,} MB | {mark['documents']:,} | {mark['slots']:,} | "
        f"{mark['peak_mib']:.0f} MiB | {mark['vectors_mib']:.1f} MiB | {mark['seconds']:,} s |"
        for mark in results["marks"]
    ]
    given = results["input"]
    made = f"Input of {given['bytes'] / 1e6:,.0f} MB in {given['files']:,} files"
    ended = "read to its end" if results["marks"][-1]["end"] else "the run was stopped before"
    return "\n".join([*rows, "", f"{made}; {ended}.", "", _source(results["environment"])])


def _source(environment: dict[str, Any]) -> str:
    machine = environment["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    return (
        f"`{environment['command']}` at {environment['commit'][:10]} on {machine['cores']} cores "
        f"of {machine['processor']}, {machine['memory_gib']} GiB; {versions}."
    )


def page() -> str:
    """The page with its tables as they should be."""
    text = _PAGE.read_text(encoding="utf-8")
    tables = {
        "kills": kills(_result("kills")),
        "soak": soak(_result("soak")),
        "forget": forget(_result("forget")),
        "multihop": multihop(_result("multihop")),
        "recall": recall(_result("recall")),
        "eight_bits": eight_bits(_result("eight_bits")),
        "ingest": ingest(_result("ingest")),
        "neighbours": neighbours(_result("neighbours")),
        "answers": answers(_result("answers")),
        "facts": facts(_result("facts")),
        "stories": stories(_result("stories")),
        "stories-1k": stories(_result("stories-1k"), timed=False),
        "story_seeds": story_seeds(
            [_result(path.stem) for path in sorted((_FOLDER / "results").glob("stories-seed-*"))]
        ),
        "sparse_attention": sparse_attention(
            {name: _result(f"sparse-{name}") for name in ("facts", "passages")}
        ),
        "scale": scale(_result("scale")),
        "memory_tasks": memory_tasks(
            [_result(path.stem) for path in sorted((_FOLDER / "results").glob("memory-*.json"))]
        ),
        "fuzz": fuzz(
            [_result(path.stem) for path in sorted((_FOLDER / "results").glob("fuzz-*.json"))]
        ),
        "bounded_memory": bounded_memory(_result("bounded_memory")),
    }
    for name, table in tables.items():
        start, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        before, _, rest = text.partition(start)
        text = before + start + table + end + rest.partition(end)[2]
    return text


def _result(name: str) -> Any:
    return json.loads((_FOLDER / "results" / f"{name}.json").read_text(encoding="utf-8"))


def main() -> None:
    """Write the page, or exit with 1 if ``--check`` finds it out of date."""
    if "--check" not in sys.argv:
        _PAGE.write_text(page(), encoding="utf-8")
    elif _PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{_PAGE} is out of date; run 'python -m benchmarks.tables'")


if __name__ == "__main__":
    main()
