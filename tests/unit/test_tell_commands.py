"""``memnet tell --at``, ``undo``, ``history`` and ``ask --as-of``."""

import json
from pathlib import Path

import pytest

from memnet.cli.main import run
from memnet.cli.tell import _decision_line
from memnet.types import Decision


def _run(store: Path, capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run([*arguments, "--store", str(store)]) == code
    output = capsys.readouterr()
    return output.err if code else output.out


def test_commands_look_back_and_take_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "store"
    _run(store, capsys, "tell", "Ann moved to Paris.", "--at", "2026-01-10")
    _run(store, capsys, "tell", "Ann moved to Rome.", "--at", "2026-02-01T10:00")
    asked = json.loads(
        _run(store, capsys, "ask", "Where is Ann?", "--as-of", "2026-01-15", "--json")
    )
    assert asked["short"] == "Paris"
    assert asked["evidence"][0]["place"] == "told 2026-01-10, until 2026-02-01"
    assert "told 2026-02-01" in _run(store, capsys, "ask", "Where is Ann?")

    shown = _run(store, capsys, "history", "Ann").splitlines()
    assert shown[0].split()[:7] == [
        "2026-01-10", "-", "2026-02-01", "Ann", "moved", "to", "Paris.",
    ]  # fmt: skip
    assert shown[1].split() == ["Ann", "|", "moved", "to", "|", "Paris"]
    assert "superseded" in shown[2]
    found = json.loads(_run(store, capsys, "history", "--json"))["history"]
    assert [one["values"] for one in found] == [["Paris"], ["Rome"]]
    assert found[0]["changed_by_text"] == "Ann moved to Rome."

    assert _run(store, capsys, "undo").splitlines() == [
        'removed    "Ann moved to Rome." (told/2)', 'restored   "Ann moved to Paris." (told/1)',
    ]  # fmt: skip
    undone = json.loads(_run(store, capsys, "undo", "--json"))
    assert undone.keys() == {"removed", "restored", "slots", "elapsed_ms"}
    error = _run(store, capsys, "undo", code=1)
    assert error.startswith("Error: nothing was told in the default namespace")
    assert error.count("\n") == 1
    assert _run(store, capsys, "history", "Ann") == "No statement about it is stored.\n"
    error = _run(store, capsys, "tell", "Ann is ill.", "--at", "soon", code=1)
    assert error.startswith("Error: at is 'soon'; expected a date or time")


def test_a_contradiction_is_asked_back() -> None:
    decision = Decision(
        action="contradict", text="Ann is in Rome.", slot=2, source="told/2", other=1,
        other_text="Ann is in\nParis.", weight=0.9, reason="Both can't hold.",
    )  # fmt: skip
    assert _decision_line(decision) == (
        'contradict "Ann is in Paris." and "Ann is in Rome." (told/2): Both can\'t hold; '
        "which one is right?"
    )


def test_commands_have_room_for_so_much(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "store"
    _run(store, capsys, "tell", "Ann likes tea.", "--standing")
    assert "evict" in _run(store, capsys, "tell", "Bob likes tar. Eve likes rope.", "--capacity=2")
    error = _run(store, capsys, "tell", "Dan likes wind.", "--standing", "--capacity=1", code=1)
    assert "can't be evicted" in error
    assert error.count("\n") == 1
    told = json.loads(_run(store, capsys, "history", "--json"))["history"]
    assert [(one["text"], one["standing"]) for one in told] == [
        ("Ann likes tea.", True), ("Eve likes rope.", False),
    ]  # fmt: skip
    lines = [
        {"id": f"D1:{number}", "title": f"{'AB'[number % 2]}l, 2024-01-05", "text": "I own a boat."}
        for number in range(1, 6)
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    report = _run(store, capsys, "ingest", str(path), "--capacity=2", "--no-learn")
    assert "5 added, 0 updated, 0 unchanged, 0 removed, 3 evicted, 0 skipped" in report
    assert _run(store, capsys, "history", "Al", "--json") == '{"history": []}\n'
    evicted = json.loads(_run(store, capsys, "history", "--json"))["evicted"]
    assert [(one["kind"], one["source"]) for one in evicted] == [
        ("statement", "told/2"), ("message", "D1:1"), ("message", "D1:2"), ("message", "D1:3"),
    ]  # fmt: skip
    shown = _run(store, capsys, "history")
    assert all(f"{one['kind']} {one['source']}" in shown for one in evicted)
