"""``memnet eval``."""

import sys
from pathlib import Path

import click

from memnet.cli.options import json_option, namespace_option, open_engine, store_option


@click.command("eval")
@click.argument("questions", type=click.Path(path_type=Path))
@click.option("--hops", type=click.IntRange(1, 10), help="Most reads of the memory.")
@namespace_option("Look only here.")
@store_option
@json_option
def evaluate(
    questions: Path, hops: int | None, namespace: str | None, store: Path | None, as_json: bool
) -> None:
    """Ask every question of a file and score the evidence, the answers and the time.

    QUESTIONS has a JSON object a line: {"question", "answers": [...], "gold": [source ids]?}.

    \b
    Example:
      memnet eval questions.jsonl --json
    """
    from memnet.evaluation import evaluate as run
    from memnet.evaluation import read_questions

    asked = read_questions(questions)
    with (
        open_engine(store) as engine,
        click.progressbar(
            length=len(asked), label="Asking", file=sys.stderr, hidden=not sys.stderr.isatty()
        ) as bar,
    ):
        result = run(engine, asked, hops=hops, namespace=namespace, on_answer=lambda: bar.update(1))
    if as_json:
        click.echo(result.model_dump_json(by_alias=True))
        return
    for name, value in result.model_dump(by_alias=True).items():
        click.echo(f"{name:<17} {_shown(value)}")


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:.1f}" for name, number in value.items())
    return f"{value:.3f}" if isinstance(value, float) else "-" if value is None else str(value)
