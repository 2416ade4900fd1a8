"""Tables about documents: evidence, answers, the encoder and ingest."""

from typing import Any

from benchmarks.tables.markdown import SETS, head, interval, page_part, percent, row, times

_NO_TIMES = " | "
"""Two empty cells."""
_RULES_FROM = (
    "† Some of these questions served to make rules for questions about two things (decision 010), "
    "so that their F1 is higher than of others."
)


def multihop(results: dict[str, Any]) -> str:
    """The tables of the end-to-end benchmark over documents."""
    rows = head("questions", "n", "Recall@1", "@2", "@5", "@10", "ask p50", "p95")
    for name, title in SETS.items():
        scores = results["questions"][name]
        recalls = (percent(scores[f"recall@{first}"]) for first in (1, 2, 5, 10))
        rows.append(row(title, str(scores["n"]), *recalls, *times(scores["latency_ms"])))
    ingested, cold = results["ingest"], results["cold_ask_seconds"]
    by_part = ", ".join(f"{ratio:.2f}" for ratio in ingested["ratio_by_part"])
    neighbour = ingested["sentence_transformers_flat_faiss_passages_per_second"]
    rows += [
        "",
        *head("", "measured"),
        row("passages in one store", f"{ingested['passages']:,}"),
        row("ingest", f"{ingested['memnet_passages_per_second']:.1f} passages/s"),
        row("sentence-transformers + flat FAISS, taking turns", f"{neighbour:.1f} passages/s"),
        row("ratio (by part of the corpus)", f"{ingested['ratio']:.2f} ({by_part})"),
        row("the same files again, whole command", f"{results['reingest_seconds']:.1f} s"),
        row(
            "cold `memnet ask`, whole process, median (min to max)",
            f"{cold['median']:.2f} s ({cold['minimum']:.2f} to {cold['maximum']:.2f})",
        ),
        row("store on disk", f"{results['store_bytes'] / 2**20:.0f} MiB"),
    ]
    return page_part(rows, results["environment"])


def recall(results: dict[str, Any]) -> str:
    """The tables of recall by kind of question."""
    rows: list[str] = []
    for kind, title in (("titled", "with titles"), ("untitled", "titles removed")):
        if kind not in results:
            continue
        ways = results[kind]
        rows += head(f"Recall@5, {title}", "n", *ways, "95 % interval", "ask p50", "p95")
        for name, set_title in SETS.items():
            found = {way: ways[way][name] for way in ways}
            both = times(found["trained"]["latency_ms"])
            rows.append(_recall_row(set_title, {w: f["all"] for w, f in found.items()}, *both))
            if kind == "titled":
                rows += [
                    _recall_row(
                        f"- {own}", {w: f["kinds"][own] for w, f in found.items()}, _NO_TIMES
                    )
                    for own in found["trained"]["kinds"]
                ]
        rows.append("")
    return page_part(rows[:-1], results["environment"])


def _recall_row(title: str, ways: dict[str, Any], *latency: str) -> str:
    means = (percent(scores["recall@5"]) for scores in ways.values())
    last = ways["trained"]
    return row(title, str(last["n"]), *means, interval(last), *latency)


def ingest(results: dict[str, Any]) -> str:
    """The table of what ingest and answers cost beside the encoder."""
    one, hop = results["ingest"], results["one hop"]
    beside = 1 - one["encoder_core_seconds"] / one["core_seconds"]
    waiting = 1 - one["encoder_seconds"] / one["seconds"]
    rows = [
        *head("", "core time", "clock"),
        row(
            f"ingest, {one['passages']:,} passages: share beside the encoder",
            *(f"{percent(share)} %" for share in (beside, waiting)),
        ),
        row("evidence with one hop", f"{hop['core_ms']:.1f} ms", f"{hop['ms']:.1f} ms"),
        row(
            "beside the encoder's own",
            f"{hop['beside_core_ms']:.1f} ms",
            f"{hop['beside_ms']:.1f} ms",
        ),
        "",
        *head("unchanged", "core time", "clock"),
    ]
    for name, title in (("again", "passages of one file"), ("files", "small files")):
        own = results[name]
        seconds = (f"{own[clock]:.1f} s" for clock in ("core_seconds", "seconds"))
        rows.append(row(f"{own['passages']:,} {title}", *seconds))
    return page_part(rows, results["environment"])


def answers(results: dict[str, Any], every: dict[str, Any], without: dict[str, Any]) -> str:
    """The tables of short answers and their confidence.

    Args:
        results: of the benchmark.
        every: of the same, whatever the confidence.
        without: of that without rules of English.
    """
    rows = head(
        "questions", "n", "F1 of all", "95 % interval", "EM", "F1 without rules",
        "F1 of what is promised", "withheld, %",
    )  # fmt: skip
    marked = {name: f"{title} †" for name, title in SETS.items()}
    for name, title in {**marked, "squad": "SQuAD, with an answer"}.items():
        found = [one["from the store"][name] for one in (every, without, results)]
        rows.append(_answers_row(title, *(one["all"] for one in found)))
        rows += [
            _answers_row(f"- {kind}", *(one["kinds"][kind] for one in found))
            for kind in found[0]["kinds"]
        ]
    rows += ["", _RULES_FROM]
    unknown = results["from the store"]["squad"]["without an answer"]
    given, confidence = results["given"], results["confidence"]
    bins = confidence["reliability"]
    rows += [
        "",
        *head("", "measured"),
        row(
            f"SQuAD, given the right paragraph (n = {given['n']}): F1, EM",
            f"{percent(given['f1'])}, {percent(given['em'])}",
        ),
        row(
            f"SQuAD, without an answer (n = {unknown['n']}): withheld",
            f"{percent(unknown['withheld'])} %",
        ),
        row(
            "confidence tells SQuAD questions with an answer from those without: AUROC",
            f"{confidence['answerable_auroc']:.3f}",
        ),
        row(
            "the reader's own score, given the paragraph: AUROC",
            f"{given['answerable_auroc']:.3f}",
        ),
        row(
            f"expected calibration error (n = {confidence['n']}, all sets)",
            f"{confidence['calibration_error']:.3f}",
        ),
        row("`Engine.ask`, all sets, p50, p95", ", ".join(times(results["latency_ms"], digits=0))),
        "",
        *head("answers by confidence", *(str(one["size"]) for one in bins)),
        row("mean confidence", *(f"{one['confidence']:.2f}" for one in bins)),
        row("what is shown holds a right answer", *(f"{one['right']:.2f}" for one in bins)),
    ]
    return page_part(rows, results["environment"])


def _answers_row(
    title: str, one: dict[str, Any], without: dict[str, Any], shown: dict[str, Any]
) -> str:
    own = percent(one["f1"]), interval(one), percent(one["em"]), percent(without["f1"])
    return row(title, str(one["n"]), *own, percent(shown["f1"]), percent(shown["withheld"]))


def collections(results: dict[str, Any], without: dict[str, Any]) -> str:
    """The table of answers over collections of real documents; arguments as for ``answers``."""
    rows = head(
        "questions", "n", "right, %", "95 % interval", "without rules", "recall@1", "@5",
        "withheld, %", "AUROC right",
    )  # fmt: skip
    parts = {"all": (results["all"], without["all"])}
    for group in ("types", "collections"):
        parts |= {f"- {k}": (one, without[group][k]) for k, one in results[group].items()}
    for title, (one, other) in parts.items():
        recalls = (_percent_or_dash(one[name]) for name in ("recall@1", "recall@5"))
        withheld = one["answerable withheld"]
        first = one["unanswerable silent"] if withheld is None else withheld
        auroc = "-" if one["auroc right"] is None else f"{one['auroc right']:.2f}"
        own = percent(one["right"]), interval(one), percent(other["right"])
        rows.append(row(title, str(one["n"]), *own, *recalls, percent(first), auroc))
    silent = percent(results["all"]["unanswerable silent"])
    error = results["all"]["calibration error"]
    latency = ", ".join(times(results["all"]["ms"], digits=0))
    rows += [
        "",
        f"Withheld: of the questions with an answer; of those without one {silent} % are. "
        f"Calibration error {error:.3f}. `Engine.ask` p50, p95: {latency}.",
    ]
    return page_part(rows, results["environment"])


def _percent_or_dash(share: float | None) -> str:
    return "-" if share is None else percent(share)


def exact_questions(results: dict[str, Any]) -> str:
    """The table of questions for all of something, and of those that look alike."""
    rows = head("part", "right of 30 for all of something", "taken of 20 that look alike")
    for part, counts in results["parts"].items():
        seen = "looked at" if part in ("first", "third") else "run when the rules stood"
        rows.append(row(f"{part}, {seen}", str(counts["right"]), str(counts.get("taken", 0))))
    return page_part(rows, results["environment"])


def ocr(results: dict[str, Any]) -> str:
    """The table of words read from pictures of pages."""
    sizes = ("300", "150")
    rows = head("pages", "words", *(f"F1 at {dpi} dpi" for dpi in sizes), "core s at 300", "at 150")
    for kind, found in results["pages"].items():
        scores = (f"{found[dpi]['f1']:.3f}" for dpi in sizes)
        seconds = (f"{found[dpi]['seconds']:.1f}" for dpi in sizes)
        rows.append(row(kind, f"{found['300']['words']:.0f}", *scores, *seconds))
    return page_part(rows, results["environment"])


def languages(results: dict[str, Any]) -> str:
    """The table of passages found by questions in several languages."""
    rows = head("asked in", "passages in", "n", "recall@1", "@5", "shown", "words marked")
    for one in results["rows"]:
        counts = (f"{one[name]} of {one['of']}" for name in ("shown", "marked"))
        recalls = (f"{one[name]:.1f}" for name in ("first", "among five"))
        rows.append(row(one["asked"], one["stored"], str(one["questions"]), *recalls, *counts))
    return page_part(rows, results["environment"])
