"""Pages that are made of the code and of other files."""

import sys
from pathlib import Path


def write_or_check(page: Path, text: str, command: str) -> None:
    """Write a page, or exit with 1 if ``--check`` is given and the page has another text."""
    if "--check" not in sys.argv:
        page.write_text(text, encoding="utf-8")
    elif not page.exists() or page.read_text(encoding="utf-8") != text:
        sys.exit(f"{page} is out of date; run '{command}'")
