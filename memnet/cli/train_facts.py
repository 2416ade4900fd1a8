"""``memnet train facts`` and ``memnet train babi``."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memnet.cli import options
from memnet.cli.output import show_note
from memnet.cli.train import (
    ProgressLines,
    dev_option,
    out_option,
    own_out_option,
    read_all,
    seed_option,
    show_result,
    threads_option,
    train,
    train_option,
)
from memnet.storage.place import StorePlace

if TYPE_CHECKING:
    from memnet.training import EpochReport

# Error rate above which a bAbI task counts as failed (Weston et al. 2015).
_FAILED = 0.05


@train.command()
@train_option("Questions to learn from")
@dev_option("questions")
@own_out_option
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the questions.")
@seed_option
@options.device
@options.store
@options.as_json
def facts(
    train_files: tuple[Path, ...],
    dev_files: tuple[Path, ...],
    out: Path | None,
    epochs: int | None,
    seed: int,
    device: str | None,
    store: StorePlace | None,
    as_json: bool,
) -> None:
    """Learn to hop over the facts of a store, from questions and answers alone.

    Each file has a JSON object a line: {"question", "answers": [...], "hops": 2?}. Saves the
    weights that answer most of the dev questions. The same command resumes an interrupted run.

    \b
    Example:
      memnet ingest facts.tsv
      memnet train facts --train train.jsonl --dev dev.jsonl
      memnet ask "Who directed the films that Ann Orre wrote?" --explain
    """
    from memnet.learning.evaluation import read_questions
    from memnet.training import train_facts

    with options.open_engine(store, device=device) as engine:
        folder = out or engine.store.models.folder("facts")
        report = train_facts(
            engine,
            read_all(train_files, read_questions),
            read_all(dev_files, read_questions),
            out,
            seed=seed,
            epochs=epochs,
            on_epoch=_show_facts,
            on_progress=ProgressLines(),
        )
    hops = "" if report.hop_accuracy is None else f", hops {100 * report.hop_accuracy:.1f} %"
    show_result(
        as_json,
        {**report._asdict(), "model": str(folder)},
        f"Dev questions: best answer right {100 * report.hits_at_1:.1f} %, F1 of sets "
        f"{100 * report.f1:.1f} %{hops}; the model is in {folder}.",
    )
    if not as_json and (report.no_name or report.no_answer):
        show_note(
            f"Of {report.questions} training questions {report.no_name} name nothing in the facts, "
            f"and {report.no_answer} have no answer there; they were left out."
        )


def _show_facts(report: "EpochReport") -> None:
    show_note(
        f"epoch {report.epoch}: loss {report.loss:.4f}, best answer right "
        f"{100 * (1 - report.error):.1f} % (best {100 * (1 - report.best):.1f} %), "
        f"{report.seconds:.0f} s"
    )


@train.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of <task>_train.txt and <task>_valid.txt files in the bAbI format.",
)
@out_option
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    help="Of 240,000 sentences and questions each.  [default: 100]",
)
@seed_option
@threads_option
@click.option(
    "--supports/--answers-only",
    default=True,
    show_default=True,
    help="Learn also from the numbers of supporting sentences, or from answers alone.",
)
@click.option(
    "--renaming/--as-written",
    default=True,
    show_default=True,
    help="In bAbI's tasks, swap names within a story, or leave stories as they are.",
)
@options.device
@options.as_json
def babi(
    data: Path,
    out: Path,
    epochs: int | None,
    seed: int,
    threads: int | None,
    supports: bool,
    renaming: bool,
    device: str | None,
    as_json: bool,
) -> None:
    """Train one model on stories with questions, all tasks together.

    Saves the weights with the lowest error on the valid files. The same command resumes an
    interrupted run.

    \b
    Example:
      memnet train babi --data stories/ --out my-model
      memnet ask "Where is Mary?" --model my-model
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from memnet.learning.loop import TrainingConfig
    from memnet.runtime.device import find_device
    from memnet.stories.layers import StoryModelConfig
    from memnet.training import read_story_data, train_stories

    config = TrainingConfig(seed=seed)
    if epochs is not None:
        config = config.model_copy(update={"epochs": epochs})
    best = train_stories(
        read_story_data(data),
        out,
        StoryModelConfig(),
        config,
        _show_stories,
        supports=supports,
        renaming=renaming,
        device=find_device(options.device_name(device)),
        threads=threads,
        on_progress=ProgressLines(),
    )
    show_result(
        as_json,
        {"valid_error": best, "model": str(out)},
        f"Lowest mean valid error {100 * best:.2f} %; the model is in {out}.",
    )


def _show_stories(report: "EpochReport") -> None:
    failed = [task for task, error in report.errors.items() if error > _FAILED]
    worst = max(report.errors, key=lambda task: report.errors[task])
    show_note(
        f"epoch {report.epoch}: loss {report.loss:.4f}, valid error {100 * report.error:.2f} % "
        f"(best {100 * report.best:.2f} %), {len(failed)} tasks over 5 %, "
        f"worst {worst} {100 * report.errors[worst]:.1f} %, {report.seconds:.0f} s"
    )
