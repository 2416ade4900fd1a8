"""``memnet train text``, ``reader`` and ``confidence``: what answers about documents."""

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
from memnet.cli.train.shared import ProgressLines, dev_option, out_option, seed_option, train_option
from memnet.learning import counted

if TYPE_CHECKING:
    from memnet.training import EpochReport


@click.command()
@click.option(
    "--train",
    "train_files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Questions to learn from; may be given several times, each file counts as much. Without "
    "any, questions are made from the documents.",
)
@out_option
@seed_option
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
    """Adapt the search for documents to those of a store.

    Each file has a JSON object a line: {"question", "gold": [source ids of the documents that hold
    the answer]}. A fifth of the questions is held out at first, to measure what training gains.

    \b
    Example:
      memnet ingest notes/
      memnet train text --out my-model
      memnet ask "Who raised the Orre Light?" --model my-model
    """
    from memnet.evaluation import read_questions
    from memnet.training import train_text

    groups = [read_questions(file) for file in train_files]
    with open_engine(store, model="untrained", device=device) as engine:
        report = train_text(
            engine,
            groups,
            out,
            seed=seed,
            on_stage=lambda stage: click.echo(stage, err=True),
            on_progress=ProgressLines(),
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


@click.command()
@train_option("Examples to learn from")
@dev_option("examples")
@out_option
@click.option(
    "--start",
    type=click.Path(path_type=Path),
    help="Folder of a reader to start from; the mean of both is saved where it is better.  "
    "[default: untrained]",
)
@click.option(
    "--made",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Number of questions to make from the documents of the store and learn from as well.",
)
@click.option(
    "--found/--given",
    default=False,
    show_default=True,
    help="Distractors: what the store finds for a question, or the example's own others.",
)
@click.option("--passes", type=click.IntRange(min=1), help="Over the examples.  [default: 3]")
@click.option(
    "--bfloat16/--float32",
    default=False,
    show_default=True,
    help="Precision of products; 16 bits are faster where the processor supports them.",
)
@click.option("--threads", type=click.IntRange(min=1), help="Processor cores.")
@seed_option
@device_option
@store_option
@json_option
def reader(
    train_files: tuple[Path, ...],
    dev_files: tuple[Path, ...],
    out: Path,
    start: Path | None,
    made: int,
    found: bool,
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
    "text"}], "others": [distractors]?}; answers stand word for word in a passage, or are yes or no;
    none: the passages hold no answer. The same command resumes a run that was stopped.

    \b
    Example:
      memnet train reader --train train.jsonl --dev dev.jsonl --out my-reader
      memnet ask "Who raised the Orre Light?" --reader my-reader
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from memnet.device import find_device
    from memnet.training import (
        read_reader_examples,
        reader_examples,
        retrieve_distractors,
        train_reader,
    )

    train, dev = (
        [example for file in files for example in read_reader_examples(file)]
        for files in (train_files, dev_files)
    )
    generated = []
    lines = ProgressLines()
    if found:
        with open_engine(store, reader="sentences") as engine:
            train = list(retrieve_distractors(engine, counted(train, "searching", lines)))
    if made:
        with open_engine(store, model="untrained") as engine:
            generated = reader_examples(engine, made, seed=seed, on_progress=lines)
    best = train_reader(
        train,
        dev,
        out,
        generated=generated,
        start=start,
        seed=seed,
        passes=passes,
        bfloat16=bfloat16,
        on_epoch=_show,
        threads=threads,
        device=find_device(device_name(device)),
        on_progress=lines,
    )
    if as_json:
        click.echo(json.dumps({"dev": best, "reader": str(out)}))
    else:
        click.echo(f"Best score on dev examples {100 * best:.1f} %; the reader is in {out}.")


def _show(report: "EpochReport") -> None:
    scores = ", ".join(f"{name} {100 * (1 - lost):.1f} %" for name, lost in report.errors.items())
    click.echo(
        f"part {report.epoch}: loss {report.loss:.4f}, dev {scores}, {report.seconds:.0f} s",
        err=True,
    )


@click.command()
@train_option("Questions that the reader was not trained on")
@out_option
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
    from memnet.evaluation import read_questions
    from memnet.training import calibrate

    questions = [question for file in train_files for question in read_questions(file)]
    with open_engine(store, model=model, reader=reader, device=device) as engine:
        report = calibrate(engine, questions, out, on_progress=ProgressLines())
    if as_json:
        click.echo(json.dumps({**report._asdict(), "reader": str(out)}))
        return
    click.echo(
        f"{report.questions} questions, {100 * report.right:.1f} % answered right; calibration "
        f"error {100 * report.calibration_error:.1f} % (cross-validated); the reader is in {out}."
    )
