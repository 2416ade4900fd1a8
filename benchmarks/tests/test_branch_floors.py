import pytest

from tests.branch_floors import shortfalls


def _report(**files: tuple[int, int]) -> dict[str, object]:
    return {
        "files": {
            path.replace("_", "/"): {"summary": {"covered_branches": taken, "num_branches": all_}}
            for path, (taken, all_) in files.items()
        }
    }


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ((95, 900), []),
        ((94, 900), ["storage/"]),
        ((100, 799), ["all"]),
        ((0, 0), ["storage/", "all"]),
    ],
)
def test_branches_are_counted_for_each_folder(taken: tuple[int, int], expected: list[str]) -> None:
    report = _report(storage_rows=(taken[0], 100), memnet_engine=(taken[1], 900))
    found = shortfalls(report, {"storage/": 95, "": 90})
    assert [line.partition("branches of ")[2].partition(",")[0] for line in found] == expected


def test_a_report_of_nothing_is_under_every_floor() -> None:
    assert len(shortfalls({"files": {}}, {"storage/": 95, "": 90})) == 2
