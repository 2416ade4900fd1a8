"""The command in a process without torch: ``python -m tests.without_torch hidden|installed ...``.

Torch takes several times as long to import as all else that a cold ``memnet ask`` does.
"""

import sys

from memnet.cli.main import run


def main() -> None:
    """Run it; if it succeeds without having imported torch, end as it does."""
    if sys.argv.pop(1) == "hidden":
        sys.modules["torch"] = None  # type: ignore[assignment]
    code = run(sys.argv[1:])
    assert code or sys.modules.get("torch") is None, "torch was imported"
    sys.exit(code)


if __name__ == "__main__":
    main()
