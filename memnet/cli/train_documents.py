"""``memnet train text``, ``reader``, ``questions`` and ``confidence``: answers about documents."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memnet.cli import options
from memnet.cli.output import show_note, write_file
from memnet.cli.train import (
    ProgressLines,
    files_option,
    out_option,
    own_out_option,
    read_all,
    seed_option,
    show_result,
    threads_option,
    train,
)
from memnet.learning import counted
from memnet.storage.place import StorePlace

if TYPE_CHECKING:
    from memnet.training import EpochReport


@train.command()
@click.option(
    "--train",
    "train_files",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Questions to learn from; may be given several times, each file counts as much. Without "
    "any, questions are made from the documents.",
)
@own_out_option
@seed_option
@options.device
@options.store
@options.as_json
def text(
    train_files: tuple[Path, ...],
    out: Path | None,
    seed: int,
    as_json: bool,
    **opening: Any,
) -> None:
    """Adapt the search for documents to those of a store.

    Each file has a JSON object a line: {"question", "gold": [source ids of the documents that hold
    the answer]}. A fifth of the questions is held out first; without any, what training gains is
    measured by questions that ship with memnet. The store uses the trained model only if it finds
    more; else it is set aside (see 'memnet models').

    \b
    Example:
      memnet ingest notes/
      memnet train text
      memnet ask "Who raised the Orre Light?"
    """
    from memnet.learning.evaluation import read_questions
    from memnet.training import train_text

    groups = [read_questions(file) for file in train_files]
    with options.open_engine(model="untrained", **opening) as engine:
        engine.encode_full()  # a large ingest may have left quick vectors
        report = train_text(
            engine, groups, out, seed=seed, on_stage=show_note, on_progress=ProgressLines()
        )
    measured = "held-out" if report.measured_on == "held out" else "shipped"
    if out is not None:
        result = f"the model is in {out}"
    elif report.installed:
        result = "the store uses the trained model"
    else:
        result = (
            "it is not better, and the store keeps the one before; 'memnet models use text-aside' "
            "would use it all the same"
        )
    show_result(
        as_json,
        {**report._asdict(), "model": None if out is None else str(out)},
        f"Right documents among the first 5, on {measured} questions: "
        f"{100 * report.recall_before:.1f} % before, {100 * report.recall_trained:.1f} % trained; "
        f"{result}.",
    )
    if report.unusable and not as_json:
        show_note(
            f"{report.unusable} questions give no stored document as 'gold'; they were left out."
        )


@train.command()
@files_option("train", "Examples to learn from")
@files_option("dev", "Other examples, to choose the best weights by")
@out_option
@click.option(
    "--start",
    type=click.Path(path_type=Path),
    help="Reader to start from: spans, the shipped one, or a folder. Weights are saved only if "
    "they do better than it.  [default: untrained]",
)
@click.option(
    "--made",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Number of further questions to generate from the documents of the store.",
)
@click.option(
    "--found/--given",
    default=False,
    show_default=True,
    help="Distractors: what the store finds for a question, or the example's own others.",
)
@click.option("--passes", type=click.IntRange(min=1), help="Over the examples.  [default: 3]")
@click.option(
    "--learning-rate",
    type=click.FloatRange(min=0, min_open=True),
    help="The highest, after the warm-up.  [default: 1.5e-4, or 5e-5 with --start]",
)
@click.option(
    "--dropout",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.1,
    show_default=True,
    help="0 is faster, and enough for one pass over many examples.",
)
@click.option(
    "--bfloat16/--float32",
    default=False,
    show_default=True,
    help="Precision of matrix products; 16 bits are faster on processors that support them.",
)
@threads_option
@seed_option
@options.device
@options.store
@options.as_json
def reader(
    train_files: tuple[Path, ...],
    dev_files: tuple[Path, ...],
    out: Path,
    made: int,
    found: bool,
    seed: int,
    start: Path | None,
    device: str | None,
    store: StorePlace | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Train a reader of short answers, to be used with --reader.

    Each file, plain or .gz, has a JSON object a line: {"question", "answers": [...], "quotes":
    [...]?, "kind"?, "passages": [{"title", "text"}], "others": [distractors]?}; answers and quotes
    stand word for word in a passage, or the answer is yes or no; neither: the passages hold no
    answer. A kind is value, definition, statement, list or steps. The same command resumes an
    interrupted run.

    \b
    Example:
      memnet train reader --train train.jsonl --dev dev.jsonl --out my-reader
      memnet ask "Who raised the Orre Light?" --reader my-reader
    """
    from memnet.checkpoints import SHIPPED
    from memnet.reader.loading import SPANS
    from memnet.runtime.device import find_device
    from memnet.training import (
        read_reader_examples,
        reader_examples,
        retrieve_distractors,
        train_reader,
    )

    examples = read_all(train_files, read_reader_examples)
    dev = read_all(dev_files, read_reader_examples)
    generated = []
    lines = ProgressLines()
    if found:
        with options.open_engine(store, reader="sentences") as engine:
            examples = list(retrieve_distractors(engine, counted(examples, "searching", lines)))
    if made:
        with options.open_engine(store, model="untrained") as engine:
            generated = reader_examples(engine, made, seed=seed, on_progress=lines)
    report = train_reader(
        examples,
        dev,
        out,
        generated=generated,
        start=SHIPPED / SPANS if start == Path(SPANS) else start,
        seed=seed,
        on_epoch=_show,
        device=find_device(options.device_name(device)),
        on_progress=lines,
        **settings,
    )
    show_result(
        as_json,
        {**report._asdict(), "reader": str(out) if report.saved else None},
        f"Best score on dev examples {100 * report.dev:.1f} %"
        + ("" if report.before is None else f", {100 * report.before:.1f} % before")
        + (f"; the reader is in {out}." if report.saved else "; it is not better and not saved."),
    )


@train.command()
@options.out_file(help="File of the questions; an existing one is replaced.")
@options.store
@options.as_json
def questions(out: Path, store: StorePlace | None, as_json: bool) -> None:
    """Make questions for a reader from headings of documents.

    "Installing plugins" becomes "How do I install plugins?", "Requirements" with a list "What are
    the requirements for ...?", a name that its section begins to define "What is ...?". Headings
    that name no subject, such as "Overview", make none. Read the file before you train with it: it
    has a JSON object a line, as 'memnet train reader' takes it.

    \b
    Example:
      memnet train questions --out questions.jsonl
      memnet train reader --train questions.jsonl --dev dev.jsonl --out my-reader
    """
    from memnet.errors import InputError
    from memnet.training import heading_examples

    with options.open_engine(store, model="untrained", reader="sentences") as engine:
        examples = heading_examples(engine, on_progress=ProgressLines())
    if not examples:
        raise InputError(
            "no heading of the documents makes a question; expected some like 'Installing plugins'"
        )
    lines = "".join(example.model_dump_json() + "\n" for example in examples)
    write_file(out, lines.encode())
    kinds = Counter(example.kind or "other" for example in examples)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    show_result(
        as_json,
        {"questions": len(examples), "kinds": kinds, "file": str(out)},
        f"{len(examples)} questions ({counts}) are in {out}.",
    )


def _show(report: "EpochReport") -> None:
    scores = ", ".join(f"{name} {100 * (1 - lost):.1f} %" for name, lost in report.errors.items())
    show_note(f"part {report.epoch}: loss {report.loss:.4f}, dev {scores}, {report.seconds:.0f} s")


@train.command()
@files_option("train", "Questions that the reader was not trained on")
@out_option
@options.model
@options.reader
@options.device
@options.store
@options.as_json
def confidence(train_files: tuple[Path, ...], out: Path, as_json: bool, **opening: Any) -> None:
    """Learn how often the reader is right about a store.

    Each file has a JSON object a line: {"question", "answers": [...]}; no answers where the store
    does not hold one. Of a question for yes or no, "quotes" are the sentences that answer it. The
    folder gets the reader with its new calibration.

    \b
    Example:
      memnet train confidence --train questions.jsonl --out my-reader
      memnet ask "Who raised the Orre Light?" --reader my-reader
    """
    from memnet.learning.evaluation import read_questions
    from memnet.training import calibrate

    questions = read_all(train_files, read_questions)
    with options.open_engine(**opening) as engine:
        report = calibrate(engine, questions, out, on_progress=ProgressLines())
    show_result(
        as_json,
        {**report._asdict(), "reader": str(out)},
        f"{report.questions} questions, {100 * report.right:.1f} % answered right; calibration "
        f"error {100 * report.calibration_error:.1f} % (cross-validated); the reader is in {out}.",
    )
