"""``memnet ask``, ``search`` and ``eval``."""

import json
import logging
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memnet.cli import options
from memnet.cli.output import show_note, shows_bar
from memnet.cli.plot import check_plot, draw, draw_reliability

if TYPE_CHECKING:
    from memnet.engine import Engine
    from memnet.ingest.babi import Story
    from memnet.types import Answer, Evaluation, Evidence

_log = logging.getLogger("memnet")


@click.command()
@options.words("question")
@options.hops
@options.top_k
@click.option("--explain", is_flag=True, help="Show what each hop attended to, and why.")
@options.plot(help="Draw the attention of each hop as a heat map: .png, .svg or .html.")
@options.expert
@options.reader
@options.index
@options.device
@options.where
@options.as_of
@options.namespace(help="Search only here.")
@options.store
@options.as_json
def ask(
    question: str | None,
    hops: int | None,
    top_k: int | None,
    explain: bool,
    plot: Path | None,
    where: dict[str, Any],
    as_of: str | None,
    namespace: str | None,
    as_json: bool,
    **opening: Any,
) -> int:
    """Answer a question from the memory, with the evidence.

    When the memory does not hold the answer, it says so; that is a result, not an error.

    Without a QUESTION it is a conversation: Tab completes names from the memory, /help lists the
    commands, Ctrl-D ends it. "And where was she born?" refers to a name in the previous question or
    answer; the chosen one is shown. If standard input is not a terminal, each line is a question.

    \b
    Example:
      memnet ask "Where was the builder of the Orre Light born?" --explain
      memnet ask "Who saw the ship?" --where year=1990..2000 --where author=Ann,Bo
      memnet ask "Where does Ann live?" --as-of 2026-01-12
      memnet ask
      memnet ask --json < questions.txt
    """
    if plot is not None:
        if question is None:
            raise click.UsageError("--plot needs a QUESTION")
        check_plot(plot)
    asking: dict[str, Any] = {"hops": hops, "top_k": top_k, "where": where, "as_of": as_of}
    with options.open_engine(**opening) as engine:
        show = partial(print_answer, engine=engine, as_json=as_json, explained=explain)
        engine.preload()
        if question is None:
            from memnet.cli.conversation import hold_conversation

            return hold_conversation(engine, show, namespace, as_json, **asking)
        answer = engine.ask(question, namespace=namespace, **asking)
        if not as_json:
            _note_empty(where, answer.evidence)
        if plot is not None:
            draw(answer, plot)
        show(answer)
    return 0


def print_answer(answer: "Answer", *, engine: "Engine", as_json: bool, explained: bool) -> None:
    """Print an answer as JSON, or for people, with or without what each hop attended to."""
    _log.info("answered by %s in %.1f ms", answer.model, answer.elapsed_ms)
    for hop in answer.hops:
        _log.debug("hop %d attended to %d slots", hop.hop, len(hop.weights))
    if as_json:
        click.echo(answer.model_dump_json())
        return
    from memnet.cli.show import show_answer

    evidence = _with_files(engine, answer.evidence)
    show_answer(answer.model_copy(update={"evidence": evidence}), explained)


def _with_files(engine: "Engine", evidence: "Sequence[Evidence]") -> "tuple[Evidence, ...]":
    """The same, with the file that can be opened instead of an id that is not a path."""
    states = engine.store.sources.states({one.source for one in evidence})
    files = {name: one.origin for name, one in states.items() if not name.startswith(one.origin)}
    return tuple(
        one.model_copy(update={"source": files[one.source], "title": one.title or one.source})
        if one.source in files
        else one
        for one in evidence
    )


def _note_empty(where: Mapping[str, Any], evidence: "Sequence[Evidence]") -> None:
    """Say what to look at if conditions leave nothing, as a misspelt key does."""
    if where and not evidence:
        show_note(
            f"Note: no evidence fits --where {', '.join(where)}; 'memnet sources --json' shows the "
            "metadata of each document."
        )


@click.command()
@options.words("query", required=True)
@options.hops
@options.top_k
@options.index
@options.device
@options.where
@options.namespace(help="Search only here.")
@options.store
@options.as_json
def search(
    query: str,
    hops: int | None,
    top_k: int | None,
    where: dict[str, Any],
    namespace: str | None,
    as_json: bool,
    **opening: Any,
) -> None:
    """Find passages and facts for a question or any words.

    \b
    Example:
      memnet search "lighthouses of granite" --top-k 3
    """
    with options.open_engine(**opening) as engine:
        found = engine.search(query, top_k, hops=hops, namespace=namespace, where=where)
        listed = _with_files(engine, found)
    if as_json:
        evidence = [item.model_dump(mode="json") for item in found]
        click.echo(json.dumps({"query": query, "evidence": evidence}, ensure_ascii=False))
        return
    from memnet.cli.show import show_found

    show_found(query, listed)
    _note_empty(where, found)


@click.command("eval")
@click.argument("questions", type=click.Path(path_type=Path))
@options.hops
@options.plot(help="Draw how often answers of each confidence are right: .png, .svg or .html.")
@options.expert
@options.reader
@options.index
@options.device
@options.namespace(help="Search only here.")
@options.store
@options.as_json
def evaluate(
    questions: Path,
    hops: int | None,
    plot: Path | None,
    namespace: str | None,
    as_json: bool,
    **opening: Any,
) -> None:
    """Ask every question of a file and score the answers.

    QUESTIONS has a JSON object a line: {"question", "answers": [...], "gold": [source ids]?}, or is
    a file of stories in the bAbI format, which need no store.

    \b
    Example:
      memnet eval questions.jsonl --json
      memnet eval qa1_valid.txt
    """
    from memnet.learning.evaluation import evaluate as ask_all
    from memnet.learning.evaluation import read_questions
    from memnet.stories.answers import read_story_questions

    if plot is not None:
        check_plot(plot)
    stories = read_story_questions(questions)
    if stories is None:
        asked = read_questions(questions)
        with options.open_engine(**opening) as engine, _progress(len(asked)) as bar:
            counted = partial(bar.update, 1)
            result = ask_all(engine, asked, hops=hops, namespace=namespace, on_answer=counted)
    else:
        result = _ask_stories(questions, stories, hops, opening)
    if plot is not None:
        draw_reliability(result, plot)
    if as_json:
        click.echo(result.model_dump_json(by_alias=True))
        return
    for name, value in result.model_dump(by_alias=True, exclude={"reliability"}).items():
        click.echo(f"{name:<17} {_shown(value)}")


def _ask_stories(
    questions: Path, stories: "list[Story]", hops: int | None, opening: dict[str, Any]
) -> "Evaluation":
    from memnet.errors import ModelError
    from memnet.experts.registry import STORIES, TEXT, model_folder
    from memnet.stories.answers import evaluate_stories
    from memnet.stories.network import load_story_model

    model = opening["model"] or STORIES
    if model == TEXT:
        raise ModelError(
            f"the model '{TEXT}' can't answer the stories in {questions}; "
            "give --model babi, or one that 'memnet train babi' made"
        )
    trained = load_story_model(model_folder(model))
    with _progress(len(stories)) as bar:
        return evaluate_stories(trained, stories, hops=hops, on_answer=lambda: bar.update(1))


def _progress(length: int) -> Any:
    return click.progressbar(
        length=length, label="Asking", file=sys.stderr, hidden=not shows_bar(), width=0
    )


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:.1f}" for name, number in value.items())
    return f"{value:.3f}" if isinstance(value, float) else "-" if value is None else str(value)
