"""Write docs/commands.md from the help texts of the command line, or check that it is current.

python -m docs.commands [--check]
"""

from collections.abc import Iterator
from pathlib import Path

from click import Command, Context, Group

from docs.generated import write_or_check
from memnet.cli.main import memnet

_PAGE = Path(__file__).parent / "commands.md"


def page() -> str:
    """The page as it should be."""
    parts = ["# Commands\n", "Made from the help texts by `python -m docs.commands`.\n"]
    root = Context(memnet, info_name="memnet", terminal_width=100, **memnet.context_settings)
    parts.append(f"```text\n{memnet.get_help(root)}\n```\n")
    for name, command in sorted(memnet.commands.items()):
        parts += _sections(name, command, root)
    return "\n".join(parts)


def _sections(name: str, command: Command, parent: Context) -> Iterator[str]:
    """A command's section, and those of its own commands."""
    context = Context(command, info_name=name, parent=parent, terminal_width=100)
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, Group):
        for own, below in sorted(command.commands.items()):
            yield from _sections(own, below, context)


def main() -> None:
    """Write the page, or exit with 1 if ``--check`` finds it out of date."""
    write_or_check(_PAGE, page(), "python -m docs.commands")


if __name__ == "__main__":
    main()
