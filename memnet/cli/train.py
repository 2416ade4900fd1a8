"""``memnet train facts`` and ``babi``, their group, and what its commands share."""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from memnet.cli import options
from memnet.cli.output import show_note
from memnet.learning import TrainingProgress
from memnet.storage.place import StorePlace

if TYPE_CHECKING:
    from memnet.training import EpochReport

_INTERVAL = 60.0  # seconds between two lines of progress

_Item = TypeVar("_Item")
_Command = TypeVar("_Command", bound=Callable[..., Any])


@click.group()
def train() -> None:
    """Train a model for the store, or to be used with --model.

    \b
    Example:
      memnet train babi --data stories/ --out my-model
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before torch is imported


_PATH = click.Path(path_type=Path)
out_option = click.option("--out", type=_PATH, required=True, help="Folder of the model.")
own_out_option = click.option(
    "--out",
    type=_PATH,
    help="Folder of the model.  [default: the store's own, where 'memnet ask' uses it by itself]",
)
threads_option = click.option(
    "--threads", type=click.IntRange(min=1), help="Processor cores.  [default: all that are free]"
)
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)


def files_option(name: str, what: str) -> Callable[[_Command], _Command]:
    """``--train FILE`` or ``--dev FILE``, once or more."""
    return click.option(
        f"--{name}",
        f"{name}_files",
        type=_PATH,
        required=True,
        multiple=True,
        help=f"{what}; may be given several times.",
    )


def read_all(files: Iterable[Path], read: Callable[[Path], Iterable[_Item]]) -> list[_Item]:
    """What all files hold, one after the other."""
    return [item for file in files for item in read(file)]


def show_result(as_json: bool, values: Mapping[str, Any], text: str) -> None:
    """Print what a training reached, as JSON or as a sentence."""
    click.echo(json.dumps(values) if as_json else text)


class ProgressLines:
    """Prints a line of progress a minute, on a terminal and in a log alike."""

    def __init__(self) -> None:
        self._shown = time.monotonic()
        self._starts: dict[str, tuple[float, TrainingProgress]] = {}

    def __call__(self, progress: TrainingProgress) -> None:
        """Show the progress if the last line is a minute old."""
        now = time.monotonic()
        began, first = self._starts.get(progress.stage, (now, progress))
        if progress.examples <= first.examples:  # the stage is new, or begins again
            began, first = self._starts[progress.stage] = (now, progress)
        if now - self._shown >= _INTERVAL:
            self._shown = now
            show_note(_line(progress, first, now - began))


def _line(now: TrainingProgress, first: TrainingProgress, seconds: float) -> str:
    parts = [f"{now.stage}: {100 * now.share:.0f} % done"]
    if now.loss is not None:
        parts.append(f"loss {now.loss:.4f}")
    examples, share = now.examples - first.examples, now.share - first.share
    if examples > 0 and share > 0 and seconds > 0:
        parts.append(f"{examples / seconds:.1f} examples/s")
        parts.append(f"{_duration(seconds * (1 - now.share) / share)} left")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    """Seconds as text: "45 s", "3 min", "2 h 5 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


# Error rate above which a bAbI task counts as failed (Weston et al. 2015).
_FAILED = 0.05


@train.command()
@files_option("train", "Questions to learn from")
@files_option("dev", "Other questions, to choose the best weights by")
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
    device: str | None,
    store: StorePlace | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Learn to hop over the facts of a store. Questions and answers are enough.

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
            on_epoch=_show_facts,
            on_progress=ProgressLines(),
            **settings,
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
    type=_PATH,
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
    device: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Train one model on stories of all tasks together.

    Saves the weights with the lowest error on the valid files. The same command resumes an
    interrupted run.

    \b
    Example:
      memnet train babi --data stories/ --out my-model
      memnet ask "Where is Mary?" --model my-model
    """
    from memnet.learning.loop import TrainingConfig
    from memnet.runtime.device import find_device
    from memnet.stories.network import StoryModelConfig
    from memnet.training import read_story_data, train_stories

    config = TrainingConfig(seed=seed, **({} if epochs is None else {"epochs": epochs}))
    best = train_stories(
        read_story_data(data),
        out,
        StoryModelConfig(),
        config,
        _show_stories,
        device=find_device(options.device_name(device)),
        on_progress=ProgressLines(),
        **settings,
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
