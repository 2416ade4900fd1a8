"""Write docs/decisions/README.md, which lists the decisions, or check that it is current.

python -m docs.decisions [--check]
"""

from pathlib import Path

from docs.generated import write_or_check

_FOLDER = Path(__file__).parent / "decisions"
_PAGE = _FOLDER / "README.md"
_HEAD = """\
# Decisions

Why things are as they are: what was decided, what it was measured by, what was tried and left
out. Each is half a page. The list is made by `python -m docs.decisions`.

"""


def page() -> str:
    """The page as it should be: the title of each decision leads to it."""
    lines = [_HEAD]
    for path in sorted(_FOLDER.glob("[0-9]*.md")):
        title = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        lines.append(f"- [{title}]({path.name})\n")
    return "".join(lines)


def main() -> None:
    """Write the page, or exit with 1 if ``--check`` finds it out of date."""
    write_or_check(_PAGE, page(), "python -m docs.decisions")


if __name__ == "__main__":
    main()
