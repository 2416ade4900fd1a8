"""Options that the presets of ``memnet train`` share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])

out_option = click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder of the model."
)
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)


def train_option(what: str) -> Callable[[_Command], _Command]:
    """``--train FILE``, once or more."""
    return _files("--train", "train_files", what)


def dev_option(what: str) -> Callable[[_Command], _Command]:
    """``--dev FILE``, once or more."""
    return _files("--dev", "dev_files", f"Other {what}, to choose the best weights by")


def _files(name: str, variable: str, what: str) -> Callable[[_Command], _Command]:
    return click.option(
        name,
        variable,
        type=click.Path(path_type=Path),
        required=True,
        multiple=True,
        help=f"{what}; may be given several times.",
    )
