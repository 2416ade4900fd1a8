"""``memnet train``."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memnet.cli.options import json_option

if TYPE_CHECKING:
    from memnet.training.loop import EpochReport

_FAILED = 0.05
"""Share of wrong answers above which a task counts as failed, as is usual for bAbI."""


@click.group()
def train() -> None:
    """Train a model, to be used with --model.

    \b
    Example:
      memnet train babi --data stories/ --out my-model
    """


@train.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder of <task>_train.txt and <task>_valid.txt files in the bAbI format.",
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the model.")
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the stories.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--threads", type=click.IntRange(min=1), help="Processor cores.  [default: all that are free]"
)
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
    help="In bAbI's tasks, let names change places within a story, or leave stories as they are.",
)
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda or cuda:N.")
@json_option
def babi(
    data: Path,
    out: Path,
    epochs: int | None,
    seed: int,
    threads: int | None,
    supports: bool,
    renaming: bool,
    device: str,
    as_json: bool,
) -> None:
    """Train one model on stories with questions, all tasks together.

    Keeps the weights with the lowest error on the valid files. A run that was stopped goes on where
    it was when the same command is given again.

    \b
    Example:
      memnet train babi --data stories/ --out my-model --epochs 60
      memnet ask "Where is Mary?" --model my-model
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import json

    from memnet.models.story import StoryModelConfig
    from memnet.training.loop import TrainingConfig
    from memnet.training.stories import read_story_data, train_stories

    config = TrainingConfig(seed=seed)
    if epochs is not None:
        config = config.model_copy(update={"epochs": epochs})
    best = train_stories(
        read_story_data(data),
        out,
        StoryModelConfig(),
        config,
        _show,
        supports=supports,
        renaming=renaming,
        device=device,
        threads=threads,
    )
    if as_json:
        click.echo(json.dumps({"valid_error": best, "model": str(out)}))
    else:
        click.echo(f"Lowest mean valid error {100 * best:.2f} %; the model is in {out}.")


def _show(report: "EpochReport") -> None:
    failed = [task for task, error in report.errors.items() if error > _FAILED]
    worst = max(report.errors, key=lambda task: report.errors[task])
    click.echo(
        f"epoch {report.epoch}: loss {report.loss:.4f}, valid error {100 * report.error:.2f} % "
        f"(best {100 * report.best:.2f} %), {len(failed)} tasks over 5 %, "
        f"worst {worst} {100 * report.errors[worst]:.1f} %, {report.seconds:.0f} s",
        err=True,
    )
