"""Where texts for people are printed."""

from rich.console import Console
from rich.table import Table

_UNLIMITED = 100_000
"""Characters of a line in a file or a pipe: what reads it needs whole ids and texts."""


def make_console() -> Console:
    """Standard output; lines are as wide as the terminal, and of any width where it is none.

    Texts are printed as they are: what is remembered holds no markup for this terminal.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _UNLIMITED
    return console


def print_table(console: Console, table: Table) -> None:
    """Print a table; where it is no terminal, without spaces up to its longest line."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as printed:
        console.print(table)
    lines = (line.rstrip() for line in printed.get().splitlines())
    console.print("\n".join(lines), soft_wrap=True)
