"""``memnet train facts``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memnet.cli.options import device_option, json_option, open_engine, store_option
from memnet.cli.train.options import dev_option, out_option, seed_option, train_option
from memnet.cli.train.progress import ProgressLines

if TYPE_CHECKING:
    from memnet.training.loop import EpochReport


@click.command()
@train_option("Questions to learn from")
@dev_option("questions")
@out_option
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the questions.")
@seed_option
@device_option
@store_option
@json_option
def facts(
    train_files: tuple[Path, ...],
    dev_files: tuple[Path, ...],
    out: Path,
    epochs: int | None,
    seed: int,
    device: str | None,
    store: Path | None,
    as_json: bool,
) -> None:
    """Learn to hop over the facts of a store, from questions and answers alone.

    Each file has a JSON object a line: {"question", "answers": [...], "hops": 2?}. Keeps the
    weights that answer most of the other questions. A run that was stopped goes on where it was
    when the same command is given again.

    \b
    Example:
      memnet ingest facts.tsv
      memnet train facts --train train.jsonl --dev dev.jsonl --out my-model
      memnet ask "Who directed the films that Ann Orre wrote?" --model my-model --explain
    """
    from memnet.evaluation.questions import read_questions

    learned, chosen_by = (
        [question for file in files for question in read_questions(file)]
        for files in (train_files, dev_files)
    )
    with open_engine(store, device=device) as engine:
        report = engine.train_facts(
            learned,
            chosen_by,
            out,
            seed=seed,
            epochs=epochs,
            on_epoch=_show,
            on_progress=ProgressLines(),
        )
    if as_json:
        click.echo(json.dumps({**report._asdict(), "model": str(out)}))
        return
    hops = "" if report.hop_accuracy is None else f", hops {100 * report.hop_accuracy:.1f} %"
    click.echo(
        f"Dev questions: best answer right {100 * report.hits_at_1:.1f} %, F1 of sets "
        f"{100 * report.f1:.1f} %{hops}; the model is in {out}."
    )
    if report.no_name or report.no_answer:
        click.echo(
            f"Of {report.questions} training questions {report.no_name} name nothing in the facts, "
            f"and {report.no_answer} have no answer there; they were left out.",
            err=True,
        )


def _show(report: "EpochReport") -> None:
    click.echo(
        f"epoch {report.epoch}: loss {report.loss:.4f}, best answer right "
        f"{100 * (1 - report.error):.1f} % (best {100 * (1 - report.best):.1f} %), "
        f"{report.seconds:.0f} s",
        err=True,
    )
