"""``memnet eval``."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memnet.cli import options
from memnet.cli.output import shows_bar
from memnet.cli.plot import check_plot, draw_reliability
from memnet.storage.place import StorePlace

if TYPE_CHECKING:
    from collections.abc import Callable

    from memnet.engine import Engine
    from memnet.ingest.babi import Story
    from memnet.types import Evaluation


@click.command("eval")
@click.argument("questions", type=click.Path(path_type=Path))
@options.hops
@options.plot("Draw how often answers of each confidence are right: .png, .svg or .html.")
@options.expert
@options.reader
@options.index
@options.device
@options.namespace("Search only here.")
@options.store
@options.as_json
def evaluate(
    questions: Path,
    hops: int | None,
    plot: Path | None,
    model: str | None,
    reader: str,
    index: str | None,
    device: str | None,
    namespace: str | None,
    store: StorePlace | None,
    as_json: bool,
) -> None:
    """Ask every question of a file and score the evidence, the answers and the time.

    QUESTIONS has a JSON object a line: {"question", "answers": [...], "gold": [source ids]?}, or is
    a file of stories in the bAbI format, which need no store.

    \b
    Example:
      memnet eval questions.jsonl --json
      memnet eval qa1_valid.txt
    """
    from memnet.experts.registry import STORIES
    from memnet.stories.answers import read_story_questions

    if plot is not None:
        check_plot(plot)
    stories = read_story_questions(questions)
    if stories is None:
        opened = partial(
            options.open_engine, store, model=model, reader=reader, device=device, index=index
        )
        result = _ask_lines(questions, hops, namespace, opened)
    else:
        result = _ask_stories(
            questions, stories, hops, model or STORIES, options.device_name(device)
        )
    if plot is not None:
        draw_reliability(result, plot)
    if as_json:
        click.echo(result.model_dump_json(by_alias=True))
        return
    for name, value in result.model_dump(by_alias=True, exclude={"reliability"}).items():
        click.echo(f"{name:<17} {_shown(value)}")


def _ask_lines(
    questions: Path,
    hops: int | None,
    namespace: str | None,
    opened: "Callable[[], Engine]",
) -> "Evaluation":
    from memnet.learning.evaluation import evaluate as run
    from memnet.learning.evaluation import read_questions

    asked = read_questions(questions)
    with opened() as engine, _progress(len(asked)) as bar:
        return run(engine, asked, hops=hops, namespace=namespace, on_answer=lambda: bar.update(1))


def _ask_stories(
    questions: Path, stories: "list[Story]", hops: int | None, model: str, device: str
) -> "Evaluation":
    from memnet.errors import ModelError
    from memnet.experts.registry import TEXT, model_folder
    from memnet.runtime.device import find_device
    from memnet.stories.answers import evaluate_stories
    from memnet.stories.model import load_story_model

    if model == TEXT:
        raise ModelError(
            f"the model '{TEXT}' can't answer the stories in {questions}; "
            "give --model babi, or one that 'memnet train babi' made"
        )
    trained = load_story_model(model_folder(model)).to(find_device(device))
    with _progress(len(stories)) as bar:
        return evaluate_stories(trained, stories, hops=hops, on_answer=lambda: bar.update(1))


def _progress(length: int) -> Any:
    return click.progressbar(length=length, label="Asking", file=sys.stderr, hidden=not shows_bar())


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:.1f}" for name, number in value.items())
    return f"{value:.3f}" if isinstance(value, float) else "-" if value is None else str(value)
