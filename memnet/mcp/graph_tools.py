"""The nine tools of the protocol's reference server of a memory, over the facts of a store."""

from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from memnet.mcp.graph import FactGraph
from memnet.mcp.memory import ServedMemory
from memnet.mcp.tools import Arguments, Tool, argument


class Entity(BaseModel):
    """An entity with what is observed of it."""

    model_config = ConfigDict(populate_by_name=True)

    name: str
    entity_type: str = Field(
        validation_alias=AliasChoices("entityType", "entity_type", "type"),
        serialization_alias="entityType",
    )
    observations: list[str] = []


class Relation(BaseModel):
    """A relation in the active voice, from one entity to another."""

    model_config = ConfigDict(populate_by_name=True)

    source: str = Field(
        validation_alias=AliasChoices("from", "source", "subject"), serialization_alias="from"
    )
    target: str = Field(
        validation_alias=AliasChoices("to", "target", "object"), serialization_alias="to"
    )
    relation_type: str = Field(
        validation_alias=AliasChoices("relationType", "relation_type", "relation", "type"),
        serialization_alias="relationType",
    )


class Observations(BaseModel):
    """Sentences about an entity."""

    entity_name: str = Field(
        validation_alias=AliasChoices("entityName", "entity_name", "name", "entity"),
        serialization_alias="entityName",
    )
    contents: list[str] = Field(
        validation_alias=AliasChoices("contents", "observations", "texts"),
    )


class AddedObservations(BaseModel):
    """The sentences that were new."""

    entity_name: str = Field(serialization_alias="entityName")
    added: list[str] = Field(serialization_alias="addedObservations")


class Graph(BaseModel):
    """Entities, and the relations between them."""

    entities: list[Entity]
    relations: list[Relation]


class CreatedEntities(BaseModel):
    """Those that were new."""

    entities: list[Entity]


class CreatedRelations(BaseModel):
    """Those that were new."""

    relations: list[Relation]


class AddResult(BaseModel):
    """For each entity the sentences that were new."""

    results: list[AddedObservations]


class Deleted(BaseModel):
    """How many facts were removed."""

    success: bool
    message: str


class EntitiesArguments(Arguments):
    """Of ``create_entities``."""

    entities: list[Entity] = argument("Entities to create.", "entities", "entity", "nodes")


class RelationsArguments(Arguments):
    """Of ``create_relations`` and ``delete_relations``."""

    relations: list[Relation] = argument(
        "Relations, in the active voice.", "relations", "relation", "edges"
    )


class ObservationsArguments(Arguments):
    """Of ``add_observations``."""

    observations: list[Observations] = argument(
        "For each entity, sentences about it.", "observations", "additions"
    )


class NamesArguments(Arguments):
    """Of ``delete_entities`` and ``open_nodes``."""

    names: list[str] = argument(
        "Names of entities.", "names", "entityNames", "entity_names", "entities", "nodes"
    )


class DeleteEntitiesArguments(Arguments):
    """Of ``delete_entities``."""

    entity_names: list[str] = argument(
        "Names of the entities to delete.", "entityNames", "entity_names", "names", "entities"
    )


class Deletion(BaseModel):
    """Sentences about an entity that are to go."""

    entity_name: str = Field(
        validation_alias=AliasChoices("entityName", "entity_name", "name", "entity")
    )
    observations: list[str] = Field(
        validation_alias=AliasChoices("observations", "contents", "texts")
    )


class DeleteObservationsArguments(Arguments):
    """Of ``delete_observations``."""

    deletions: list[Deletion] = argument(
        "For each entity, the sentences to delete.", "deletions", "observations"
    )


class QueryArguments(Arguments):
    """Of ``search_nodes``."""

    query: str = argument(
        "Words of names, types or observations.", "query", "q", "question", "text"
    )


class NoArguments(Arguments):
    """Of ``read_graph``."""


def _create_entities(memory: ServedMemory, given: EntitiesArguments) -> tuple[BaseModel, str]:
    new = FactGraph(memory).create_entities(
        [(one.name, one.entity_type, one.observations) for one in given.entities]
    )
    created = [one for one in given.entities if " ".join(one.name.split()) in new]
    result = CreatedEntities(entities=created)
    return result, _json(result)


def _create_relations(memory: ServedMemory, given: RelationsArguments) -> tuple[BaseModel, str]:
    new = FactGraph(memory).create_relations(_triples(given.relations))
    result = CreatedRelations(relations=[_relation(*one) for one in new])
    return result, _json(result)


def _add_observations(memory: ServedMemory, given: ObservationsArguments) -> tuple[BaseModel, str]:
    added = FactGraph(memory).add_observations(
        [(one.entity_name, one.contents) for one in given.observations]
    )
    result = AddResult(
        results=[AddedObservations(entity_name=name, added=texts) for name, texts in added]
    )
    return result, _json(result)


def _delete_entities(memory: ServedMemory, given: DeleteEntitiesArguments) -> tuple[BaseModel, str]:
    return _deleted(FactGraph(memory).delete_entities(given.entity_names))


def _delete_observations(
    memory: ServedMemory, given: DeleteObservationsArguments
) -> tuple[BaseModel, str]:
    wanted = [(one.entity_name, one.observations) for one in given.deletions]
    return _deleted(FactGraph(memory).delete_observations(wanted))


def _delete_relations(memory: ServedMemory, given: RelationsArguments) -> tuple[BaseModel, str]:
    return _deleted(FactGraph(memory).delete_relations(_triples(given.relations)))


def _read_graph(memory: ServedMemory, _given: NoArguments) -> tuple[BaseModel, str]:
    return _graph(FactGraph(memory), None)


def _search_nodes(memory: ServedMemory, given: QueryArguments) -> tuple[BaseModel, str]:
    graph = FactGraph(memory)
    return _graph(graph, graph.matching(given.query))


def _open_nodes(memory: ServedMemory, given: NamesArguments) -> tuple[BaseModel, str]:
    return _graph(FactGraph(memory), {" ".join(name.split()) for name in given.names})


def _graph(graph: FactGraph, names: set[str] | None) -> tuple[BaseModel, str]:
    """The named entities, None for all, and the relations that touch one of them."""
    result = Graph(
        entities=[
            Entity(name=name, entity_type=kind, observations=texts)
            for name, kind, texts in graph.entities()
            if names is None or name in names
        ],
        relations=[
            _relation(*one)
            for one in graph.relations()
            if names is None or one[0] in names or one[2] in names
        ],
    )
    return result, _json(result)


def _deleted(count: int) -> tuple[BaseModel, str]:
    message = f"Removed {count} fact{'s' * (count != 1)}."
    return Deleted(success=True, message=message), message


def _triples(relations: list[Relation]) -> list[tuple[str, str, str]]:
    return [(one.source, one.relation_type, one.target) for one in relations]


def _relation(source: str, relation: str, target: str) -> Relation:
    return Relation(source=source, relation_type=relation, target=target)


def _json(result: BaseModel) -> str:
    return result.model_dump_json(by_alias=True)


GRAPH_TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        name="create_entities",
        title="Create entities",
        description="Create entities with their types and observations; one that exists already "
        "is left as it is.",
        arguments=EntitiesArguments,
        result=CreatedEntities,
        run=_create_entities,
        writes=True,
    ),
    Tool(
        name="create_relations",
        title="Create relations",
        description="Create relations between entities, in the active voice.",
        arguments=RelationsArguments,
        result=CreatedRelations,
        run=_create_relations,
        writes=True,
    ),
    Tool(
        name="add_observations",
        title="Add observations",
        description="Add sentences about entities that exist.",
        arguments=ObservationsArguments,
        result=AddResult,
        run=_add_observations,
        writes=True,
    ),
    Tool(
        name="delete_entities",
        title="Delete entities",
        description="Delete entities with their observations and relations.",
        arguments=DeleteEntitiesArguments,
        result=Deleted,
        run=_delete_entities,
        writes=True,
        destructive=True,
    ),
    Tool(
        name="delete_observations",
        title="Delete observations",
        description="Delete sentences about entities.",
        arguments=DeleteObservationsArguments,
        result=Deleted,
        run=_delete_observations,
        writes=True,
        destructive=True,
    ),
    Tool(
        name="delete_relations",
        title="Delete relations",
        description="Delete relations between entities.",
        arguments=RelationsArguments,
        result=Deleted,
        run=_delete_relations,
        writes=True,
        destructive=True,
    ),
    Tool(
        name="read_graph",
        title="Read the graph",
        description="All entities and relations.",
        arguments=NoArguments,
        result=Graph,
        run=_read_graph,
    ),
    Tool(
        name="search_nodes",
        title="Search entities",
        description="Entities whose name, type or observations hold all words of a query, with "
        "their relations.",
        arguments=QueryArguments,
        result=Graph,
        run=_search_nodes,
    ),
    Tool(
        name="open_nodes",
        title="Open entities",
        description="Entities by their names, with their relations.",
        arguments=NamesArguments,
        result=Graph,
        run=_open_nodes,
    ),
)
