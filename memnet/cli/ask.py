"""``memnet ask`` and ``memnet search``."""

import json
from pathlib import Path
from typing import Any

import click

from memnet.cli.options import (
    as_of_option,
    device_option,
    expert_option,
    hops_option,
    index_option,
    json_option,
    namespace_option,
    open_engine,
    plot_option,
    reader_option,
    store_option,
    top_k_option,
    where_option,
)
from memnet.cli.plot import check_plot, draw


@click.command()
@click.argument("question")
@hops_option
@top_k_option
@click.option("--explain", is_flag=True, help="Show what each hop attended to, and why.")
@plot_option("Draw the attention of each hop as a heat map: .png, .svg or .html.")
@expert_option
@reader_option
@index_option
@device_option
@where_option
@as_of_option
@namespace_option("Look only here.")
@store_option
@json_option
def ask(
    question: str,
    hops: int | None,
    top_k: int | None,
    explain: bool,
    plot: Path | None,
    where: dict[str, Any],
    as_of: str | None,
    namespace: str | None,
    as_json: bool,
    **opening: Any,
) -> None:
    """Answer a question from the memory, with the evidence.

    When the memory does not hold the answer, it says so; that is a result, not an error.

    \b
    Example:
      memnet ask "Where was the builder of the Orre Light born?" --explain
      memnet ask "Who saw the ship?" --where year=1990..2000 --where author=Ann,Bo
      memnet ask "Where does Ann live?" --as-of 2026-01-12
    """
    if plot is not None:
        check_plot(plot)
    with open_engine(**opening) as engine:
        engine.preload()
        answer = engine.ask(
            question, hops=hops, top_k=top_k, namespace=namespace, where=where, as_of=as_of
        )
    if plot is not None:
        draw(answer, plot)
    if as_json:
        click.echo(answer.model_dump_json())
        return
    from memnet.cli.show import show_answer, show_experts, show_hops

    for note in answer.notes:
        click.echo(f"Note: {note}.", err=True)
    show_answer(answer)
    if explain:
        show_experts(answer)
        show_hops(answer)


@click.command()
@click.argument("query")
@hops_option
@top_k_option
@index_option
@device_option
@where_option
@namespace_option("Look only here.")
@store_option
@json_option
def search(
    query: str,
    hops: int | None,
    top_k: int | None,
    where: dict[str, Any],
    namespace: str | None,
    as_json: bool,
    **opening: Any,
) -> None:
    """Find the evidence for a question, or for any words, without reading an answer in it.

    \b
    Example:
      memnet search "lighthouses of granite" --top-k 3
    """
    with open_engine(**opening) as engine:
        found = engine.search(query, top_k, hops=hops, namespace=namespace, where=where)
    if as_json:
        evidence = [item.model_dump(mode="json") for item in found]
        click.echo(json.dumps({"query": query, "evidence": evidence}, ensure_ascii=False))
        return
    from memnet.cli.show import show_found

    show_found(query, found)
