import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import pytest
from click.testing import CliRunner

from memnet import Engine, Scope
from memnet.cli import options
from memnet.cli.main import memnet as group
from memnet.cli.main import run as run_in_process
from tests.conftest import EXAMPLES
from tests.waiting import completed

ANSWER_FIELDS = {
    "question", "kind", "answer", "short", "quotes", "units", "confidence", "abstained", "shown",
    "contradiction", "candidates", "evidence", "hops", "model", "alignments", "unknown_words",
    "unseen_relations", "experts", "notes", "elapsed_ms", "carrying",
}  # fmt: skip
EVIDENCE_FIELDS = {
    "id", "kind", "source", "title", "start", "end", "text", "score", "hop", "metadata", "place",
    "copies",
}  # fmt: skip


def run(*arguments: object, store: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command line as a process would, in this one."""
    command = [*map(str, arguments)]
    out, err = StringIO(), StringIO()
    stdin = TextIOWrapper(BytesIO(given.encode()), encoding="utf-8")
    environment = {"MEMNET_STORE": str(store), "COLUMNS": "100"}
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.dict(os.environ, environment),
        patch("sys.stdin", stdin),
    ):
        code = run_in_process(command)
    return subprocess.CompletedProcess(command, code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def store(saltmere: Engine) -> Path:
    return Path(saltmere.info().path)


def _result(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def _error(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_ask_in_json(store: Path) -> None:
    answer = _result(run("ask", "Who built the Orre Light?", "--json", "--top-k", "4", store=store))
    assert answer.keys() == ANSWER_FIELDS
    assert len(answer["evidence"]) == 4
    assert answer["evidence"][0].keys() == EVIDENCE_FIELDS
    assert answer["hops"][0]["weights"][0].keys() >= {"id", "source", "weight"}
    assert answer["elapsed_ms"] > 0


def test_search_gives_evidence(store: Path) -> None:
    found = _result(run("search", "towers of granite", "--top-k", "3", "--json", store=store))
    assert found.keys() == {"query", "evidence"}
    assert len(found["evidence"]) == 3
    assert found["evidence"][0].keys() == EVIDENCE_FIELDS
    shown = run("search", "towers of granite", "--top-k", "3", store=store).stdout
    assert re.findall(r"^  \[(\d)\] hop", shown, re.MULTILINE) == ["1", "2", "3"]
    assert "granite" in shown
    nothing = run("search", "towers", "--namespace", "none", store=store)
    assert nothing.stdout == "Nothing similar is stored.\n"
    misspelt = run("search", "towers", "--where", "yaer=1990", store=store)
    assert "yaer" in misspelt.stderr


def test_sources_are_listed(store: Path) -> None:
    listed = _result(run("sources", "--json", store=store))["sources"]
    fields = {"id", "kind", "title", "namespace", "slots", "metadata", "origin"}
    assert listed[0].keys() == fields
    assert {item["kind"] for item in listed} == {"document", "facts"}
    lines = run("sources", store=store).stdout.splitlines()
    assert len(lines) == len(listed)
    expected = r"document +\d+  orre-light  Orre Light  in .*documents\.jsonl"
    assert any(re.fullmatch(expected, line) for line in lines)
    assert _result(run("sources", "--json", "--namespace", "x", store=store)) == {"sources": []}


def test_where_keeps_to_metadata(tmp_path: Path) -> None:
    lines = [
        {"id": name, "text": f"The old boat of {name}.", "metadata": {"year": year, "by": by}}
        for name, year, by in (("a", 1899, "Ann"), ("b", 1950, "Bo, sr."), ("c", "1999", "Cy"))
    ]
    run("ingest", "-", store=tmp_path, given="\n".join(map(json.dumps, lines)))

    def found(*where: str) -> set[str]:
        options = [word for one in where for word in ("--where", one)]
        done = run("search", "old boat", "--json", *options, store=tmp_path)
        return {item["source"] for item in _result(done)["evidence"]}

    assert found("by=Ann,Cy") == {"a", "c"}
    assert found("year=1999,1950") == {"b", "c"}
    assert found("year=1899..1950", "by=Ann") == {"a"}
    assert found("year=..1900") == {"a"}
    assert found('by="Bo, sr."') == {"b"}
    assert found("by=Bo, sr.") == set()
    asked = run("ask", "Whose boat is old?", "--json", "--where", "by=Cy", store=tmp_path)
    (item,) = _result(asked)["evidence"]
    assert item["metadata"] == {"year": "1999", "by": "Cy"}


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        ("Ann", ["Ann"]),
        ("Ann,1", ["Ann", "1", 1]),
        ("true", ["true", True]),
        ("NaN", ["NaN"]),
        ("9" * 400, ["9" * 400]),
        ("a=b", ["a=b"]),
        ("1..2.5", {"from": 1, "to": 2.5}),
        ("1990-01-01..", {"from": "1990-01-01"}),
        ("1..b", {"from": "1", "to": "b"}),
        ('"1,2"', "1,2"),
        ("[1, null]", [1, None]),
        ('{"to": 3}', {"to": 3}),
    ],
)
def test_conditions_are_read_as_they_are_meant(given: str, condition: object) -> None:
    taken: list[object] = []

    @click.command()
    @options.where
    def command(where: dict[str, Any]) -> None:
        taken.append(where)

    assert CliRunner().invoke(command, ["--where", f"k={given}"]).exit_code == 0
    assert repr(taken) == repr([{"k": condition}])
    Scope(where={"k": condition})


@pytest.mark.parametrize(
    ("where", "complaint"),
    [
        (["author"], "invalid condition 'author'"),
        (["=Ann"], "invalid condition '=Ann'"),
        (["a=1", "a=2"], "duplicate condition on 'a'"),
        (["a=[1"], "invalid JSON '[1'"),
        ([f"a={'[' * 100_000}"], "invalid JSON"),
    ],
)
def test_wrong_conditions_are_named(where: list[str], complaint: str) -> None:
    options = [word for one in where for word in ("--where", one)]
    done = CliRunner().invoke(group, ["search", "boats", *options])
    assert done.exit_code == 2
    assert complaint in done.output


def test_ask_for_people_with_an_explanation(store: Path) -> None:
    question = "In which town was the builder of the Orre Light born?"
    done = run("ask", question, "--explain", store=store)
    assert done.returncode == 0
    shown = done.stdout.replace("\n", " ")
    assert all(
        part in shown for part in ("Hop 1", "Hop 2", "documents.jsonl", '" in Orre Light', "█")
    )
    nothing = run("ask", "What is the boiling point of mercury?", store=store)
    assert nothing.returncode == 0
    assert nothing.stdout.startswith("The memory does not hold the answer.")


def test_a_life_of_a_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    _ = (tmp_path / "a.txt").write_text("The lamp at Kestle burns seal oil.")
    lines = '{"id": "b", "title": "Bee", "text": "The second lamp is electric."}\nbroken\n'
    first = run("ingest", tmp_path / "a.txt", "-", "--json", store=store, given=lines)
    assert first.returncode == 0
    assert "standard input, line 2: is not valid JSON" in first.stderr
    report = json.loads(first.stdout)
    assert report.keys() >= {"added", "updated", "unchanged", "removed", "slots", "seconds"}
    assert (report["added"], report["skipped"]) == (2, 1)

    info = _result(run("info", "--json", store=store))
    assert info.keys() >= {"slots", "documents", "facts", "encoder", "index", "bytes"}
    assert (info["documents"], info["slots"]) == (2, 2)

    assert run("verify", store=store).stdout == "No problems found.\n"
    (store / "vectors.faiss").write_bytes(b"garbage")
    found = run("verify", store=store)
    assert (found.returncode, found.stdout) == (1, "vector index: the file is missing or damaged\n")
    assert run("verify", "--repair", store=store).returncode == 0
    assert run("verify", store=store).returncode == 0

    command = [sys.executable, "-m", "memnet", "forget", "a.txt", "b", "--store", store]
    gone = completed(command, cwd=tmp_path)
    assert gone.stdout == "2 forgotten, 2 slots removed.\n"
    assert "no source 'b' is stored" in _error(run("forget", "b", store=store))
    apart = run("ingest", "-", "--namespace", "x", store=store, given='{"id": "c", "text": "Two."}')
    assert apart.returncode == 0
    refused = _error(run("forget", "c", store=store))
    assert "no source 'c' is stored in the default namespace" in refused
    assert "it is in namespace 'x': name that one" in refused
    gone = run("forget", "c", "--namespace", "x", store=store)
    assert gone.stdout == "1 forgotten, 1 slot removed.\n"
    answer = _result(run("ask", "Which lamp is electric?", "--json", store=store))
    assert (answer["answer"], answer["abstained"], answer["evidence"]) == (None, True, [])


def test_other_kinds_of_files_are_ingested_on_request_only(tmp_path: Path) -> None:
    _ = (tmp_path / "table.xyz").write_text("harbour,depth\nOrre,12\n")
    _ = (tmp_path / "photo.png").write_bytes(b"\x89PNG\0")
    table = tmp_path / "table.xyz"
    named = _error(run("ingest", table, store=tmp_path / ".store"))
    assert "table.xyz: is of the unknown kind '.xyz'" in named
    given = ("--as", "text", "--exclude", "*.png", "--json")
    report = _result(run("ingest", tmp_path, *given, store=tmp_path / ".store"))
    assert (report["added"], report["skipped_by_reason"]) == (1, {})


def test_eval_in_json(store: Path, tmp_path: Path) -> None:
    asked = tmp_path / "questions.jsonl"
    lines = (EXAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked.write_text("\n".join(lines[::3]), encoding="utf-8")
    scores = _result(run("eval", asked, "--json", store=store))
    assert scores.keys() == {
        "n", "recall@1", "recall@2", "recall@5", "recall@10", "hits@1", "em", "f1", "set_f1",
        "answerable_auroc", "ece", "reliability", "latency_ms",
    }  # fmt: skip
    assert scores["n"] == 20
    assert scores["recall@5"] >= 0.9
    assert 0 <= scores["ece"] <= 1
    assert scores["latency_ms"].keys() == {"p50", "p95"}
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"question": "Who built the Orre Light?"}\n')
    scores = _result(run("eval", bare, "--json", store=store))
    assert (scores["recall@5"], scores["em"], scores["hits@1"]) == (None, None, None)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["ask", ""], "the question is empty"),
        (["ingest", "nowhere"], "nowhere: no such file or folder"),
        (["ingest", "benchmarks/results/neighbours.svg"], "has the suffix '.svg' of images"),
        (["tell", " "], "the text holds no words"),
        (["tell", "Forget that Ann left."], "no stored statement matches"),
        (["eval", "nowhere.jsonl"], "nowhere.jsonl can't be read"),
    ],
)
def test_errors_are_one_line(tmp_path: Path, arguments: list[str], complaint: str) -> None:
    store = tmp_path / "store"
    _ = run("ingest", "-", store=store, given="A text.")
    assert complaint in _error(run(*arguments, store=store))


def test_store_errors_are_one_line(tmp_path: Path) -> None:
    assert "there is no memnet store at" in _error(run("ask", "who?", store=tmp_path / "none"))
    (tmp_path / "file").write_text("x")
    refused = _error(run("ingest", "-", store=tmp_path / "file", given="A text."))
    assert "is a file, but a store is a folder" in refused


@pytest.mark.parametrize(
    "line", ["ask --plot a.svg", "ask who? --hops 0", "nothing", "ingest --wrong", "ingest", "tell"]
)
def test_wrong_usage_exits_with_two(line: str) -> None:
    assert CliRunner().invoke(group, line.split()).exit_code == 2


@pytest.mark.parametrize("name", sorted(group.commands))
def test_every_command_has_help_with_an_example(name: str) -> None:
    shown = CliRunner().invoke(group, [name, "--help"])
    assert shown.exit_code == 0
    assert f"memnet {name}" in shown.output.partition("Example:")[2]
    options = [one for one in group.commands[name].params if isinstance(one, click.Option)]
    assert all(option.help for option in options)


@pytest.mark.parametrize("shown", ["memnet", "memnet train", "memnet models"])
def test_no_line_about_a_command_is_cut(shown: str) -> None:
    words = shown.split()[1:]
    listed = CliRunner().invoke(group, [*words, "--help"], terminal_width=80).output
    lines = listed.partition("Commands:")[2].splitlines()[1:]
    assert len(lines) > 1
    assert all(line.rstrip().endswith(".") and "..." not in line for line in lines)


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from memnet.cli.main import run; run(['--help']); "
        "print([m for m in ('torch', 'faiss', 'numpy', 'pydantic') if m in sys.modules])"
    )
    done = completed([sys.executable, "-c", code])
    assert done.stdout.endswith("[]\n")
    assert all(name in done.stdout for name in group.commands)
