"""``memnet train``."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memnet.cli.options import (
    device_name,
    device_option,
    json_option,
    model_option,
    open_engine,
    reader_option,
    store_option,
)

if TYPE_CHECKING:
    from memnet.training.loop import EpochReport
    from memnet.training.reader_data import ReaderExample

_FAILED = 0.05
"""Share of wrong answers above which a task counts as failed, as is usual for bAbI."""


_out_option = click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder of the model."
)
_seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)


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
@_out_option
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    help="Of 240,000 sentences and questions each.  [default: 100]",
)
@_seed_option
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
@device_option
@json_option
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

    Keeps the weights with the lowest error on the valid files. A run that was stopped goes on where
    it was when the same command is given again.

    \b
    Example:
      memnet train babi --data stories/ --out my-model
      memnet ask "Where is Mary?" --model my-model
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from memnet.device import find_device
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
        device=find_device(device_name(device)),
        threads=threads,
    )
    if as_json:
        click.echo(json.dumps({"valid_error": best, "model": str(out)}))
    else:
        click.echo(f"Lowest mean valid error {100 * best:.2f} %; the model is in {out}.")


@train.command()
@click.option(
    "--train",
    "train_files",
    type=click.Path(path_type=Path),
    required=True,
    multiple=True,
    help="Questions to learn from; may be given several times.",
)
@click.option(
    "--dev",
    "dev_files",
    type=click.Path(path_type=Path),
    required=True,
    multiple=True,
    help="Other questions, to choose the best weights by; may be given several times.",
)
@_out_option
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the questions.")
@_seed_option
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
    from memnet.ingest.questions import read_questions

    learned, chosen_by = (
        [question for file in files for question in read_questions(file)]
        for files in (train_files, dev_files)
    )
    with open_engine(store, device=device) as engine:
        report = engine.train_facts(
            learned, chosen_by, out, seed=seed, epochs=epochs, on_epoch=_show_hits
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


@train.command()
@click.option(
    "--train",
    "train_files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Questions to learn from; given several times, the files count alike. Without any, "
    "questions are made from the documents.",
)
@_out_option
@_seed_option
@device_option
@store_option
@json_option
def text(
    train_files: tuple[Path, ...],
    out: Path,
    seed: int,
    device: str | None,
    store: Path | None,
    as_json: bool,
) -> None:
    """Adapt the reading of documents to those of a store.

    Each file has a JSON object a line: {"question", "gold": [source ids of the documents that hold
    the answer]}. A fifth of the questions is held out at first, to tell what the training gives.

    \b
    Example:
      memnet ingest notes/
      memnet train text --out my-model
      memnet ask "Who raised the Orre Light?" --model my-model
    """
    from memnet.ingest.questions import read_questions

    groups = [read_questions(file) for file in train_files]
    with open_engine(store, model="untrained", device=device) as engine:
        report = engine.train_text(
            groups, out, seed=seed, on_stage=lambda stage: click.echo(stage, err=True)
        )
    if as_json:
        click.echo(json.dumps({**report._asdict(), "model": str(out)}))
        return
    click.echo(
        f"Right documents among the first 5, on questions held out: "
        f"{100 * report.recall_untrained:.1f} % untrained, {100 * report.recall_trained:.1f} % "
        f"trained; the model is in {out}."
    )
    if report.unusable:
        click.echo(
            f"{report.unusable} questions give no stored document as 'gold'; they were left out.",
            err=True,
        )


@train.command()
@click.option(
    "--train",
    "train_files",
    type=click.Path(path_type=Path),
    required=True,
    multiple=True,
    help="Examples to learn from; may be given several times.",
)
@click.option(
    "--dev",
    "dev_files",
    type=click.Path(path_type=Path),
    required=True,
    multiple=True,
    help="Other examples, to choose the best weights by; may be given several times.",
)
@_out_option
@click.option(
    "--start",
    type=click.Path(path_type=Path),
    help="Folder of a reader to go on from.  [default: one that can't read yet]",
)
@click.option(
    "--made",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="So many more questions, made from the documents of the store.",
)
@click.option("--passes", type=click.IntRange(min=1), help="Over the examples.  [default: 3]")
@click.option(
    "--bfloat16/--float32",
    default=False,
    show_default=True,
    help="Multiply in 16 bits, where the processor has instructions for it.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Processor cores.")
@_seed_option
@device_option
@store_option
@json_option
def reader(
    train_files: tuple[Path, ...],
    dev_files: tuple[Path, ...],
    out: Path,
    start: Path | None,
    made: int,
    passes: int | None,
    bfloat16: bool,
    threads: int | None,
    seed: int,
    device: str | None,
    store: Path | None,
    as_json: bool,
) -> None:
    """Train a reader of short answers, to be used with --reader.

    Each file has a JSON object a line: {"question", "answers": [...], "passages": [{"title",
    "text"}], "others": [passages that don't help]?}; answers stand word for word in a passage, or
    are yes or no; none: the passages hold no answer. A run that was stopped goes on where it was.

    \b
    Example:
      memnet train reader --train train.jsonl --dev dev.jsonl --out my-reader
      memnet ask "Who raised the Orre Light?" --reader my-reader
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from memnet.device import find_device
    from memnet.training.reader import ReaderData, train_reader
    from memnet.training.reader_data import read_reader_examples

    learned, chosen_by = (
        [example for file in files for example in read_reader_examples(file)]
        for files in (train_files, dev_files)
    )
    best = train_reader(
        ReaderData(learned, chosen_by, _made(store, made, seed)),
        out,
        start=start,
        seed=seed,
        passes=passes,
        bfloat16=bfloat16,
        on_epoch=_show_f1,
        threads=threads,
        device=find_device(device_name(device)),
    )
    if as_json:
        click.echo(json.dumps({"dev": best, "reader": str(out)}))
    else:
        click.echo(f"Best score on dev examples {100 * best:.1f} %; the reader is in {out}.")


def _made(store: Path | None, most: int, seed: int) -> "list[ReaderExample]":
    if not most:
        return []
    with open_engine(store, model="untrained") as engine:
        return engine.reader_examples(most, seed=seed)


@train.command()
@click.option(
    "--train",
    "train_files",
    type=click.Path(path_type=Path),
    required=True,
    multiple=True,
    help="Questions that the reader was not trained on; may be given several times.",
)
@_out_option
@model_option
@reader_option
@device_option
@store_option
@json_option
def confidence(
    train_files: tuple[Path, ...],
    out: Path,
    model: str,
    reader: str,
    device: str | None,
    store: Path | None,
    as_json: bool,
) -> None:
    """Learn how often the reader is right about the documents of a store.

    Each file has a JSON object a line: {"question", "answers": [...]}; no answers where the store
    does not hold one. The folder gets the reader with its new calibration.

    \b
    Example:
      memnet train confidence --train questions.jsonl --out my-reader
      memnet ask "Who raised the Orre Light?" --reader my-reader
    """
    from memnet.ingest.questions import read_questions

    questions = [question for file in train_files for question in read_questions(file)]
    with open_engine(store, model=model, reader=reader, device=device) as engine:
        report = engine.train_confidence(questions, out)
    if as_json:
        click.echo(json.dumps({**report._asdict(), "reader": str(out)}))
        return
    click.echo(
        f"{report.questions} questions, {100 * report.right:.1f} % answered right; calibration "
        f"error {100 * report.calibration_error:.1f} % (cross-validated); the reader is in {out}."
    )


def _show_f1(report: "EpochReport") -> None:
    scores = ", ".join(f"{name} {100 * (1 - lost):.1f} %" for name, lost in report.errors.items())
    click.echo(
        f"part {report.epoch}: loss {report.loss:.4f}, dev {scores}, {report.seconds:.0f} s",
        err=True,
    )


def _show_hits(report: "EpochReport") -> None:
    click.echo(
        f"epoch {report.epoch}: loss {report.loss:.4f}, best answer right "
        f"{100 * (1 - report.error):.1f} % (best {100 * (1 - report.best):.1f} %), "
        f"{report.seconds:.0f} s",
        err=True,
    )


def _show(report: "EpochReport") -> None:
    failed = [task for task, error in report.errors.items() if error > _FAILED]
    worst = max(report.errors, key=lambda task: report.errors[task])
    click.echo(
        f"epoch {report.epoch}: loss {report.loss:.4f}, valid error {100 * report.error:.2f} % "
        f"(best {100 * report.best:.2f} %), {len(failed)} tasks over 5 %, "
        f"worst {worst} {100 * report.errors[worst]:.1f} %, {report.seconds:.0f} s",
        err=True,
    )
