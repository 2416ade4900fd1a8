"""The nine tools of the protocol's reference memory server, and memory files of it."""

import json
from pathlib import Path
from typing import Any

from memnet import Engine, Problem
from tests.unit.test_mcp import call, error_of

ANN = {
    "name": "Ann Rank",
    "entityType": "person",
    "observations": ["Speaks Danish", "Likes | pipes\tand tabs"],
}
TOWN = {"name": "Kestle", "entityType": "town", "observations": []}
BORN = {"from": "Ann Rank", "to": "Kestle", "relationType": "born in"}
NAMES = {
    "create_entities", "create_relations", "add_observations", "delete_entities",
    "delete_observations", "delete_relations", "read_graph", "search_nodes", "open_nodes",
}  # fmt: skip


def graph(engine: Engine, name: str, arguments: dict[str, Any]) -> Any:
    result = call(engine, name, arguments, tools="memory-graph")
    assert not result.is_error, result.content
    return result.structured_content


def filled(engine: Engine) -> Engine:
    graph(engine, "create_entities", {"entities": [ANN, TOWN]})
    graph(engine, "create_relations", {"relations": [BORN]})
    return engine


def test_what_is_created_is_read_again(toy_engine: Engine) -> None:
    created = graph(toy_engine, "create_entities", {"entities": [ANN, TOWN]})
    assert created == {"entities": [ANN, TOWN]}
    assert graph(toy_engine, "create_entities", {"entities": [ANN]}) == {"entities": []}
    assert graph(toy_engine, "create_relations", {"relations": [BORN, BORN]}) == {
        "relations": [BORN]
    }
    whole = graph(toy_engine, "read_graph", {})
    tidy = ANN | {"observations": ["Speaks Danish", "Likes | pipes and tabs"]}
    assert whole == {"entities": [tidy, TOWN], "relations": [BORN]}


def test_facts_answer_questions(toy_engine: Engine) -> None:
    filled(toy_engine)
    assert toy_engine.ask("Where was Ann Rank born in?").answer == "Kestle"


def test_observations_come_and_go(toy_engine: Engine) -> None:
    filled(toy_engine)
    wanted = [{"entityName": "Ann Rank", "contents": ["Speaks Danish", "Owns a boat"]}]
    added = graph(toy_engine, "add_observations", {"observations": wanted})
    assert added == {"results": [{"entityName": "Ann Rank", "addedObservations": ["Owns a boat"]}]}
    gone = [{"entityName": "Ann Rank", "observations": ["Owns a boat", "Never said"]}]
    assert "1 fact." in graph(toy_engine, "delete_observations", {"deletions": gone})["message"]
    (ann,) = graph(toy_engine, "open_nodes", {"names": ["Ann Rank"]})["entities"]
    assert "Owns a boat" not in ann["observations"]
    unknown = [{"entityName": "Nobody", "contents": ["x"]}]
    before = len(toy_engine)
    assert "'Nobody'" in error_of(
        toy_engine, "add_observations", {"observations": [*wanted, *unknown]}, tools="memory-graph"
    )
    assert len(toy_engine) == before


def test_entities_go_with_their_relations(toy_engine: Engine) -> None:
    filled(toy_engine)
    graph(toy_engine, "delete_entities", {"entityNames": ["Kestle"]})
    whole = graph(toy_engine, "read_graph", {})
    assert [one["name"] for one in whole["entities"]] == ["Ann Rank"]
    assert whole["relations"] == []


def test_relations_are_deleted_alone(toy_engine: Engine) -> None:
    filled(toy_engine)
    graph(toy_engine, "delete_relations", {"relations": [BORN]})
    whole = graph(toy_engine, "read_graph", {})
    assert len(whole["entities"]) == 2
    assert whole["relations"] == []


def test_nodes_are_found_by_words_and_names(toy_engine: Engine) -> None:
    filled(toy_engine)
    for query, names in (("danish", ["Ann Rank"]), ("TOWN", ["Kestle"]), ("zirconium", [])):
        nodes = graph(toy_engine, "search_nodes", {"query": query})
        assert [one["name"] for one in nodes["entities"]] == names
        assert nodes["relations"] == ([BORN] if names else [])
    assert graph(toy_engine, "open_nodes", {"names": ["Nobody"]}) == {
        "entities": [], "relations": [],
    }  # fmt: skip


def test_tables_are_read_and_not_changed(toy_engine: Engine, tmp_path: Path) -> None:
    table = tmp_path / "facts.tsv"
    table.write_text("Orre Light\tis a\tlighthouse\nOrre Light\tbuilt by\tUna Thale\n")
    toy_engine.ingest(table)
    whole = graph(toy_engine, "read_graph", {})
    assert whole["entities"] == [
        {"name": "Orre Light", "entityType": "lighthouse", "observations": []}
    ]
    assert "facts.tsv" in error_of(
        toy_engine, "delete_entities", {"names": ["Orre Light"]}, tools="memory-graph"
    )
    assert graph(toy_engine, "read_graph", {}) == whole


def test_bad_parts_are_refused_whole(toy_engine: Engine) -> None:
    blank = {"name": " ", "entityType": "person"}
    assert "blank 'name'" in error_of(
        toy_engine, "create_entities", {"entities": [TOWN, blank]}, tools="memory-graph"
    )
    assert graph(toy_engine, "read_graph", {}) == {"entities": [], "relations": []}


def test_a_memory_file_is_ingested_as_facts(toy_engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    lines: list[dict[str, Any]] = [
        {"type": "entity", **ANN},
        {"type": "entity", **TOWN},
        {"type": "relation", **BORN},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert toy_engine.ingest(file).added == 5
    assert toy_engine.ingest(file).unchanged == 5
    whole = graph(toy_engine, "read_graph", {})
    assert whole["relations"] == [BORN]
    assert [one["name"] for one in whole["entities"]] == ["Ann Rank", "Kestle"]
    # What the file lacks now goes.
    file.write_text("".join(json.dumps(line) + "\n" for line in lines[:2]))
    assert toy_engine.ingest(file).removed == 1
    assert graph(toy_engine, "read_graph", {})["relations"] == []
    bad = {"type": "relation", "from": "Kestle", "to": 3, "relationType": "is"}
    file.write_text("".join(json.dumps(line) + "\n" for line in [lines[0], lines[1], bad]))
    problems: list[Problem] = []
    toy_engine.ingest(file, on_problem=problems.append)
    (problem,) = problems
    assert "line 3" in str(problem)
    assert "'to'" in str(problem)


def test_all_nine_tools_are_there(toy_engine: Engine) -> None:
    from tests.unit.test_mcp import with_client

    async def use(client: Any) -> None:
        assert {tool.name for tool in (await client.list_tools()).tools} == NAMES

    with_client(toy_engine, use, tools="memory-graph")
