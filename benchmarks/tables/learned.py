"""Tables about models that are trained: stories, facts, attention and the differentiable memory."""

from typing import Any

from benchmarks.tables.markdown import head, page_part, percent, row, source, times


def stories(results: dict[str, Any], timed: bool = True) -> str:
    """The tables of the benchmark over stories; ``timed`` where nothing else ran beside it."""
    tasks = list(results["errors"])
    rows: list[str] = []
    for half in (tasks[: len(tasks) // 2], tasks[len(tasks) // 2 :]):
        wrong = (percent(results["errors"][task]) for task in half)
        rows += [*head("task", *half), row("wrong, %", *wrong), ""]
    ask = results["ask_ms"]
    p50, p95 = times(ask)
    spent = (
        f" {results['questions_per_second']:,.0f} questions/s in batches on one core; `Engine.ask` "
        f"about a stored story p50 {p50}, p95 {p95} (n = {ask['n']})."
    )
    rows.append(
        f"Mean {percent(results['mean_error'], 2)} % wrong, {results['failed']} tasks over 5 %; "
        f"{results['parameters']:,} parameters, epoch {results['trained']['epoch']}."
        f"{spent if timed else ''}"
    )
    return page_part(rows, results["environment"])


def story_seeds(runs: list[dict[str, Any]]) -> str:
    """One line for each run from its start."""
    rows = head("seed", "wrong, %", "tasks over 5 %", "worst task, %", "epoch")
    for run in runs:
        worst = max(run["errors"], key=lambda task: run["errors"][task])
        rows.append(
            row(
                str(run["trained"]["training"]["seed"]),
                percent(run["mean_error"], 2),
                str(run["failed"]),
                f"{worst} {percent(run['errors'][worst])}",
                str(run["trained"]["epoch"]),
            )
        )
    mean = sum(run["mean_error"] for run in runs) / len(runs)
    rows += ["", f"Mean of {len(runs)} runs: {percent(mean, 2)} % wrong."]
    return page_part(rows, runs[0]["environment"])


def gate(results: dict[str, Any]) -> str:
    """The table of which expert each question is sent to."""
    confusion = results["confusion"]
    rows = head("questions about", *(f"to {name}" for name in confusion))
    rows += [row(name, *map(str, sent.values())) for name, sent in confusion.items()]
    known, encoding = (
        results[f"gate_ms_{part}"] for part in ("with_vector_known", "with_encoding")
    )
    right = {
        name: percent(results[f"right_first{name}"]) for name in ("", "_hand", "_formed", "_later")
    }
    rows += [
        "",
        f"{results['questions']} questions, {right['']} % sent to the right expert first "
        f"({right['_hand']} % of those by hand, {right['_formed']} % of the others), "
        f"{percent(results['right_among_two'])} % to it among two; of 45 that were written after "
        f"the last change {right['_later']} %. The gate takes "
        f"{' / '.join(times(known))} (p50 / p95) beside the vector of the question, "
        f"{' / '.join(times(encoding))} with it.",
    ]
    return page_part(rows, results["environment"])


def facts(results: dict[str, Any]) -> str:
    """The tables of the benchmark over facts."""
    rows = head("questions", "n", "hits@1", "set F1", "ask p50", "p95", "training")
    for base, result in results.items():
        for name, scores in result["dev"].items():
            rows.append(
                row(
                    name if name == base else f"{base} {name}",
                    str(scores["n"]),
                    percent(scores["hits@1"]),
                    percent(scores["set_f1"]),
                    *times(scores["latency_ms"]),
                    f"{result['train_seconds']:.0f} s",
                )
            )
    metaqa = results["metaqa"]
    untrained, million = metaqa["untrained"], metaqa["million"]
    (large_p50, large_p95), (small_p50, small_p95) = (
        times(million[size]) for size in ("large", "small")
    )
    rows += [
        "",
        "One model for the three kinds of metaqa questions; "
        f"{percent(metaqa['trained']['hop_accuracy'])} % are answered after the right number of "
        f"hops. Without any training, one hop: hits@1 {percent(untrained['hits@1'])} "
        f"(n = {untrained['n']}). Ingest of {metaqa['facts']:,} facts: "
        f"{metaqa['ingest_seconds']:.0f} s.",
        "",
        f"The same model and questions with {million['facts']:,} facts in the memory: p50 "
        f"{large_p50}, p95 {large_p95}; before, p50 {small_p50}, p95 {small_p95} "
        f"(n = {million['large']['n']}).",
        "",
    ]
    sources = dict.fromkeys(source(result["environment"]) for result in results.values())
    return "\n".join([*rows, "\n\n".join(sources)])


def sparse_attention(results: dict[str, dict[str, Any]]) -> str:
    """The table of the share of the softmax that picked slots keep."""
    rows = head("mean % kept, by slots picked", *next(iter(results.values()))["kept"])
    rows += [
        row(
            f"{result['slots']:,} {name} (n = {result['questions']})",
            *(percent(one["mean"]) for one in result["kept"].values()),
        )
        for name, result in results.items()
    ]
    sources = [source(result["environment"]) for result in results.values()]
    return "\n\n".join(["\n".join(rows), *sources])


def memory_tasks(results: list[dict[str, Any]]) -> str:
    """The table of what the differentiable memory learned."""
    rows = head("task", "seed", "trained on", "wrong bits, % (length)", "training")
    for result in results:
        shortest, longest = result["trained_lengths"]
        errors = (
            f"{percent(error, 2)} ({length})" for length, error in result["bit_error"].items()
        )
        rows.append(
            row(
                result["task"],
                str(result["seed"]),
                f"{shortest} to {longest}",
                ", ".join(errors),
                f"{result['train_seconds']:.0f} s",
            )
        )
    return page_part(rows, results[0]["environment"])
