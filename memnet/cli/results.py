"""An answer as ``memnet ask`` prints it."""

import logging
from typing import TYPE_CHECKING

import click

from memnet.cli.verbosity import is_quiet

if TYPE_CHECKING:
    from memnet.types import Answer

_log = logging.getLogger("memnet")


class ShowAnswer:
    """Prints answers."""

    def __init__(self, *, as_json: bool, explained: bool) -> None:
        """Choose JSON, or a text with or without what each hop attended to."""
        self.as_json = as_json
        self._explained = explained

    def __call__(self, answer: "Answer") -> None:
        """Print an answer."""
        _log.info("answered by %s in %.1f ms", answer.model, answer.elapsed_ms)
        for hop in answer.hops:
            _log.debug("hop %d attended to %d slots", hop.hop, len(hop.weights))
        if self.as_json:
            click.echo(answer.model_dump_json())
            return
        from memnet.cli.show import show_answer

        if not is_quiet():
            for note in answer.notes:
                click.echo(f"Note: {note}.", err=True)
        show_answer(answer)
        if self._explained:
            explain(answer)


def explain(answer: "Answer") -> None:
    """Print what each hop attended to, and why."""
    from memnet.cli.show import show_experts, show_hops

    show_experts(answer)
    show_hops(answer)
