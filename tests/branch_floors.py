"""Ask that the tests take enough of the branches.

``coverage report --fail-under`` counts lines and branches together, so that many covered lines make
up for branches that no test takes. Run as ``coverage json -o - | python -m tests.branch_floors``.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

FLOORS = {"memnet/storage/": 95.0, "": 90.0}
"""Percent of the branches in files whose paths start so."""


def shortfalls(report: Mapping[str, Any], floors: Mapping[str, float] = FLOORS) -> list[str]:
    """What of a report in coverage's JSON is under its floor."""
    found = []
    for folder, floor in floors.items():
        counts = [
            one["summary"] for path, one in report["files"].items() if path.startswith(folder)
        ]
        taken = sum(count["covered_branches"] for count in counts)
        branches = sum(count["num_branches"] for count in counts)
        percent = 100 * taken / branches if branches else 0.0
        print(f"branches of {folder or 'all'}: {taken} of {branches}, {percent:.1f} %")  # noqa: T201
        if percent < floor:
            found.append(
                f"tests take {percent:.1f} % of the branches of {folder or 'all'}, expected "
                f"{floor:g} %; 'coverage report' lists what they leave out"
            )
    return found


if __name__ == "__main__":
    sys.exit("\n".join(shortfalls(json.load(sys.stdin))) or None)
