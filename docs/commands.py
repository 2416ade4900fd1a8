"""Write docs/commands.md from the help texts of the command line, or check that it is current.

python -m docs.commands [--check]
"""

import sys
from pathlib import Path

from click import Context

from memnet.cli.main import memnet

_PAGE = Path(__file__).parent / "commands.md"


def page() -> str:
    """The page as it should be."""
    parts = ["# Commands\n", "Made from the help texts by `python -m docs.commands`.\n"]
    root = Context(memnet, info_name="memnet", terminal_width=100)
    for name, command in sorted(memnet.commands.items()):
        context = Context(command, info_name=name, parent=root, terminal_width=100)
        parts.append(f"## memnet {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def main() -> None:
    """Write the page, or exit with 1 if ``--check`` finds it out of date."""
    if "--check" not in sys.argv:
        _PAGE.write_text(page(), encoding="utf-8")
    elif not _PAGE.exists() or _PAGE.read_text(encoding="utf-8") != page():
        sys.exit(f"{_PAGE} is out of date; run 'python -m docs.commands'")


if __name__ == "__main__":
    main()
