"""The facts of a store as entities, observations about them, and relations between them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from memnet.errors import InputError
from memnet.ingest.graph import IS_A, OBSERVATION, entity_facts, observation_fact, relation_fact
from memnet.mcp.memory import ServedMemory
from memnet.types import Fact

Triple = tuple[str, str, str]
"""Subject, relation, object."""


class FactGraph:
    """The facts of a namespace when this was made, and changes of them.

    A subject is an entity. What it "is a" is its type, an "observation" a sentence about it, and
    any other fact a relation. Facts of tables that were ingested can be read, not deleted.
    """

    def __init__(self, memory: ServedMemory) -> None:
        """Read all facts."""
        self._engine = memory.engine()
        self._namespace = memory.namespace or ""
        self._sources: dict[Triple, str] = {}
        for source in self._engine.sources(memory.namespace):
            if source.kind != "facts":
                continue
            document = self._engine.get(source.id, source.namespace)
            for triple in _triples(source.id, "" if document is None else document.text):
                self._sources.setdefault(triple, source.id)

    def entities(self) -> Iterator[tuple[str, str, list[str]]]:
        """Name, type and observations of each entity; "" for a type that is not known."""
        kinds: dict[str, str] = {}
        observations: dict[str, list[str]] = {}
        for subject, relation, value in self._sources:
            texts = observations.setdefault(subject, [])
            if relation == IS_A:
                kinds.setdefault(subject, value)
            elif relation == OBSERVATION:
                texts.append(value)
        for name, texts in observations.items():
            yield name, kinds.get(name, ""), texts

    def relations(self) -> list[Triple]:
        """All facts that are neither types nor observations."""
        return [one for one in self._sources if one[1] not in (IS_A, OBSERVATION)]

    def matching(self, query: str) -> set[str]:
        """Names of the entities whose name, type and observations hold all words of a query."""
        words = query.casefold().split()
        return {
            name
            for name, kind, texts in self.entities()
            if all(word in " ".join((name, kind, *texts)).casefold() for word in words)
        }

    def create_entities(self, entities: Iterable[tuple[str, str, Sequence[str]]]) -> set[str]:
        """Add those that are new; returns their names.

        Raises:
            InputError: a name, type or observation is blank; nothing is stored then.
        """
        known = {name for name, _, _ in self.entities()}
        wanted = [entity_facts(*one) for one in entities]
        new = [facts for facts in wanted if facts[0].subject not in known]
        self._add(chain.from_iterable(new))
        return {facts[0].subject for facts in new}

    def create_relations(self, relations: Iterable[Triple]) -> list[Triple]:
        """Add those that are new, and return them.

        Raises:
            InputError: a part of one is blank; nothing is stored then.
        """
        return self._add(relation_fact(*one) for one in relations)

    def add_observations(
        self, observations: Iterable[tuple[str, Sequence[str]]]
    ) -> list[tuple[str, list[str]]]:
        """Add those that are new; returns them for each entity.

        Raises:
            InputError: an entity does not exist, or a text is blank; nothing is stored then.
        """
        known = {name for name, _, _ in self.entities()}
        wanted = [
            (" ".join(name.split()), [observation_fact(name, text) for text in texts])
            for name, texts in observations
        ]
        for name, _ in wanted:
            if name not in known:
                raise InputError(
                    f"there is no entity {name!r}; create it with 'create_entities' first"
                )
        new = set(self._add(chain.from_iterable(facts for _, facts in wanted)))
        return [
            (name, [one.object for one in facts if _triple(one) in new]) for name, facts in wanted
        ]

    def delete_entities(self, names: Iterable[str]) -> int:
        """Delete all facts from and to some entities; returns how many they were."""
        gone = {" ".join(name.split()) for name in names}
        return self._delete(
            one
            for one in self._sources
            if one[0] in gone or (one[2] in gone and one[1] not in (IS_A, OBSERVATION))
        )

    def delete_observations(self, observations: Iterable[tuple[str, Sequence[str]]]) -> int:
        """Delete sentences about entities; returns how many there were."""
        facts = [observation_fact(name, text) for name, texts in observations for text in texts]
        return self._delete(map(_triple, facts))

    def delete_relations(self, relations: Iterable[Triple]) -> int:
        """Delete relations; returns how many there were."""
        return self._delete([_triple(relation_fact(*one)) for one in relations])

    def _add(self, facts: Iterable[Fact]) -> list[Triple]:
        new = {triple: fact for fact in facts if (triple := _triple(fact)) not in self._sources}
        if new:
            self._engine.ingest(list(new.values()), namespace=self._namespace)
        return list(new)

    def _delete(self, triples: Iterable[Triple]) -> int:
        """Delete those that are stored, all or none.

        Raises:
            InputError: one is a line of a table of facts.
        """
        found = {one: self._sources[one] for one in triples if one in self._sources}
        for triple, source in found.items():
            if source != _source_id(triple):
                raise InputError(
                    f"the fact {_source_id(triple)!r} is a line of {source!r}; change it there, or "
                    "forget the whole table"
                )
        if found:
            self._engine.forget(*found.values(), namespace=self._namespace)
        return len(found)


def _triples(source_id: str, text: str) -> Iterator[Triple]:
    """The facts of a source: one by itself, or a line each of a table."""
    whole = _split(text)
    if whole is not None and _source_id(whole) == source_id:
        yield whole
        return
    for line in text.split("\n"):
        triple = _split(line)
        if triple is not None:
            yield triple


def _split(line: str) -> Triple | None:
    parts = [part.strip() for part in line.split("\t" if "\t" in line else "|", 2)]
    return (parts[0], parts[1], parts[2]) if len(parts) == 3 else None


def _triple(fact: Fact) -> Triple:
    return fact.subject, fact.relation, fact.object


def _source_id(triple: Triple) -> str:
    """The id under which a fact by itself is stored."""
    return " | ".join(triple)
