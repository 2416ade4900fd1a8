"""``memnet ask`` and ``memnet search``."""

import json
import logging
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memnet.cli import options
from memnet.cli.plot import check_plot, draw

if TYPE_CHECKING:
    from memnet.types import Answer

_log = logging.getLogger("memnet")


@click.command()
@options.words("question")
@options.hops
@options.top_k
@click.option("--explain", is_flag=True, help="Show what each hop attended to, and why.")
@options.plot("Draw the attention of each hop as a heat map: .png, .svg or .html.")
@options.expert
@options.reader
@options.index
@options.device
@options.where
@options.as_of
@options.namespace("Search only here.")
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
    show = partial(print_answer, as_json=as_json, explained=explain)
    with options.open_engine(**opening) as engine:
        engine.preload()
        if question is None:
            from memnet.cli.conversation import hold_conversation

            return hold_conversation(engine, show, namespace, as_json, **asking)
        answer = engine.ask(question, namespace=namespace, **asking)
    if plot is not None:
        draw(answer, plot)
    show(answer)
    return 0


def print_answer(answer: "Answer", *, as_json: bool, explained: bool) -> None:
    """Print an answer as JSON, or for people, with or without what each hop attended to."""
    _log.info("answered by %s in %.1f ms", answer.model, answer.elapsed_ms)
    for hop in answer.hops:
        _log.debug("hop %d attended to %d slots", hop.hop, len(hop.weights))
    if as_json:
        click.echo(answer.model_dump_json())
        return
    from memnet.cli.show import show_answer

    show_answer(answer, explained)


@click.command()
@options.words("query", required=True)
@options.hops
@options.top_k
@options.index
@options.device
@options.where
@options.namespace("Search only here.")
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
    """Find passages and facts for a question or any words, without reading an answer in them.

    \b
    Example:
      memnet search "lighthouses of granite" --top-k 3
    """
    with options.open_engine(**opening) as engine:
        found = engine.search(query, top_k, hops=hops, namespace=namespace, where=where)
    if as_json:
        evidence = [item.model_dump(mode="json") for item in found]
        click.echo(json.dumps({"query": query, "evidence": evidence}, ensure_ascii=False))
        return
    from memnet.cli.show import show_found

    show_found(query, found)
