"""``memnet tell --at``, ``undo``, ``history`` and ``ask --as-of``."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memnet.cli.tell import _decision_line
from memnet.types import Decision
from tests.conftest import Memnet


@pytest.fixture
def on_store(memnet: Memnet, tmp_path: Path) -> Callable[..., str]:
    """Runs a command on one store; gives its output, or its error where that is awaited."""
    store = ("--store", tmp_path / "store")
    return lambda *arguments, code=0: memnet(*arguments, *store, code=code)[code > 0]


def test_commands_look_back_and_take_back(on_store: Callable[..., str]) -> None:
    assert on_store("tell", "Ann moved to Paris.", "--at", "2026-01-10") == (
        'add        "Ann moved to Paris." as told/1: Nothing was told about its subject before.\n'
    )
    told = on_store("tell", "Ann moved to Rome.", "--at", "2026-02-01T10:00", "--json")
    report = json.loads(told)
    assert report.keys() == {"decisions", "slots", "elapsed_ms"}
    (decision,) = report["decisions"]
    assert decision.keys() == {
        "action", "text", "slot", "source", "other", "other_text", "weight", "reason",
    }  # fmt: skip
    assert (decision["action"], decision["other_text"]) == ("supersede", "Ann moved to Paris.")
    assert json.loads(on_store("info", "--json"))["superseded"] == 1
    asked = json.loads(on_store("ask", "Where is Ann?", "--as-of", "2026-01-15", "--json"))
    assert asked["short"] == "Paris"
    assert asked["evidence"][0]["place"] == "told 2026-01-10, until 2026-02-01"
    assert "told 2026-02-01" in on_store("ask", "Where is Ann?")

    shown = on_store("history", "Ann").splitlines()
    assert shown[0].split()[:7] == [
        "2026-01-10", "-", "2026-02-01", "Ann", "moved", "to", "Paris.",
    ]  # fmt: skip
    assert shown[1].split() == ["Ann", "|", "moved", "to", "|", "Paris"]
    assert "superseded" in shown[2]
    found = json.loads(on_store("history", "--json"))["history"]
    assert [one["values"] for one in found] == [["Paris"], ["Rome"]]
    assert found[0]["changed_by_text"] == "Ann moved to Rome."

    assert on_store("undo").splitlines() == [
        'removed    "Ann moved to Rome." (told/2)', 'restored   "Ann moved to Paris." (told/1)',
    ]  # fmt: skip
    undone = json.loads(on_store("undo", "--json"))
    assert undone.keys() == {"removed", "restored", "slots", "elapsed_ms"}
    error = on_store("undo", code=1)
    assert error.startswith("Error: nothing was told in the default namespace")
    assert error.count("\n") == 1
    assert on_store("history", "Ann") == "No statement about it is stored.\n"
    error = on_store("tell", "Ann is ill.", "--at", "soon", code=1)
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


def test_commands_have_room_for_so_much(tmp_path: Path, on_store: Callable[..., str]) -> None:
    on_store("tell", "Ann likes tea.", "--standing")
    assert "evict" in on_store("tell", "Bob likes tar. Eve likes rope.", "--capacity=2")
    error = on_store("tell", "Dan likes wind.", "--standing", "--capacity=1", code=1)
    assert "can't be evicted" in error
    assert error.count("\n") == 1
    told = json.loads(on_store("history", "--json"))["history"]
    assert [(one["text"], one["standing"]) for one in told] == [
        ("Ann likes tea.", True), ("Eve likes rope.", False),
    ]  # fmt: skip
    lines = [
        {"id": f"D1:{number}", "title": f"{'AB'[number % 2]}l, 2024-01-05", "text": "I own a boat."}
        for number in range(1, 6)
    ]
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    report = on_store("ingest", str(path), "--capacity=2")
    assert "5 added, 0 updated, 0 unchanged, 0 removed, 3 evicted, 0 skipped" in report
    assert on_store("history", "Al", "--json") == '{"history": []}\n'
    evicted = json.loads(on_store("history", "--json"))["evicted"]
    assert [(one["kind"], one["source"]) for one in evicted] == [
        ("statement", "told/2"), ("message", "D1:1"), ("message", "D1:2"), ("message", "D1:3"),
    ]  # fmt: skip
    shown = on_store("history")
    assert all(f"{one['kind']} {one['source']}" in shown for one in evicted)
