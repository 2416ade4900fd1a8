"""What belongs to a store: its models and whether they fit, its sources by name, its parts."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from memnet.checkpoints import MODEL, load_checkpoint
from memnet.config import Config, LimitConfig
from memnet.errors import InputError, ModelError, StoreError, one_line
from memnet.runtime.device import find_device
from memnet.storage import MemoryStore
from memnet.text.checks import check_text, check_type
from memnet.types import Document, StoreInfo, StoreModel, VerifyReport

# Share of the store's relations that a fact model must have seen in training to be used.
_MIN_KNOWN = 0.5
_MAX_NAMED = 3


class OwnedModel(NamedTuple):
    """A model in the folder of a store."""

    name: str
    used: bool
    note: str | None  # One line; None if all is well
    relations: frozenset[str] = frozenset()  # That a fact model has seen: digests in 32 hex digits


@dataclass
class OwnedModels:
    """The models of a store as they were when they were first looked at."""

    store: MemoryStore
    _failed: dict[str, str] = field(default_factory=dict)

    def current(self) -> dict[str, OwnedModel]:
        """Each by its name, as it fits what the store holds now; what is wrong is in its note."""
        found = {name: self._fit(name, one) for name, one in self._descriptions.items()}
        return found | {name: _unused(name, why) for name, why in self._failed.items()}

    def fail(self, name: str, error: ModelError) -> None:
        """Use a model no more: it could not be loaded."""
        self._failed[name] = str(error)

    @cached_property
    def _descriptions(self) -> dict[str, Mapping[str, Any]]:
        found: dict[str, Mapping[str, Any]] = {}
        for name in self.store.models.names():
            try:
                _, found[name] = load_checkpoint(self.store.models.folder(name), MODEL)
            except ModelError as error:
                self.fail(name, error)
        return found

    def _fit(self, name: str, description: Mapping[str, Any]) -> OwnedModel:
        advice = f"train it again with 'memnet train {name}'"
        kind = description.get("kind")
        if kind != name:
            return _unused(name, f"it is of kind {kind!r}; {advice}")
        notes = description.get("trained")
        encoder = notes.get("encoder") if isinstance(notes, Mapping) else None
        if encoder != self.store.fingerprint:
            return _unused(
                name,
                f"it was trained with encoder {encoder!r}, the store has "
                f"{self.store.fingerprint!r}; {advice}",
            )
        if name != "facts":
            return OwnedModel(name, True, None)
        given, held = description.get("relations"), self.store.contents.relations()
        known = frozenset(map(str, given)) if isinstance(given, list) else frozenset[str]()
        unseen = sorted({words for digest, words in held.items() if digest not in known})
        if not unseen:
            return OwnedModel(name, True, None, known)
        total = len(set(held.values()))
        named = ", ".join(map(repr, unseen[:_MAX_NAMED])) + ", ..." * (len(unseen) > _MAX_NAMED)
        why = f"{len(unseen)} of {total} relations came after its training ({named}); {advice}"
        if total - len(unseen) < _MIN_KNOWN * total:
            return _unused(name, why)
        note = one_line(f"the store's model {name!r} is out of date: {why}")
        return OwnedModel(name, True, note, known)


def _unused(name: str, why: str) -> OwnedModel:
    return OwnedModel(name, False, one_line(f"the store's model {name!r} is not used: {why}"))


def find_sources(
    store: MemoryStore, source_ids: Sequence[str], namespace: str, limits: LimitConfig
) -> list[str | None]:
    """For each source id, or path relative to the current folder, the stored id; None without one.

    InputError where an argument is not text, or too long.
    """
    check_text(namespace, "the namespace", limits.name)
    for given in source_ids:
        check_type(given, "a source id")
    paths = [os.path.abspath(given) for given in source_ids]
    known = store.sources.namespaces([*source_ids, *paths])
    return [
        next((name for name in names if namespace in known.get(name, ())), None)
        for names in zip(source_ids, paths, strict=True)
    ]


def existing_sources(
    store: MemoryStore, source_ids: Sequence[str], namespace: str, limits: LimitConfig
) -> list[str]:
    """As ``find_sources``; InputError where one of them is not in the namespace."""
    found = find_sources(store, source_ids, namespace, limits)
    if None not in found:
        return [name for name in found if name is not None]
    source_id = source_ids[found.index(None)]
    path = os.path.abspath(source_id)
    known = store.sources.namespaces([source_id, path])
    others = ", ".join(map(repr, known.get(source_id) or known.get(path) or []))
    searched = f" in namespace {namespace!r}" if namespace else ""
    if others:
        searched = searched or " in the default namespace"
        advice = f"it is in namespace {others}: name that one"
    else:
        advice = "'memnet sources' lists the ids of all"
    raise InputError(
        f"no source {source_id!r} is stored{searched}, so nothing was forgotten; {advice}"
    )


def describe(store: MemoryStore, config: Config) -> StoreInfo:
    """Sizes, versions, index and models of a store; DeviceError if its device is not there."""
    index, vectors = store.index_info(), store.quick.counts()
    return StoreInfo(
        path=store.place,
        **store.counts()._asdict(),
        vectors=vectors.vectors,
        vectors_full=vectors.full,
        encoder=store.fingerprint,
        dimension=store.dimension,
        schema_version=store.schema_version,
        index=index.description,
        index_kind=index.kind,
        index_recall=index.recall,
        device=find_device(config.device),
        bytes=store.size_in_bytes(),
        models=tuple(
            StoreModel(name=one.name, used=one.used, note=one.note)
            for one in OwnedModels(store).current().values()
        ),
    )


def summary(store: MemoryStore) -> str:
    """Path and size of a store, " 'memory': 2 sources, 3 slots", or why it can't be read."""
    try:
        counts = store.counts()
    except StoreError as error:
        return f": {error}"
    return f" {store.place!r}: {counts.sources:,} sources, {counts.slots:,} slots"


def check_store(store: MemoryStore, repair: bool) -> VerifyReport:
    """Check that all parts of a store agree; rebuild those that can be, if asked."""
    problems = store.verify()
    unused = zip(store.count_unused(), ("symbols", "vectors"), strict=True)
    notes = tuple(
        f"database: {count:,} {what} are used by nothing, as a killed process leaves them"
        for count, what in unused
        if count
    )
    repaired = bool(notes and repair)
    if repaired:
        store.delete_unused()
    if problems and repair:
        store.rebuild()
        left = store.verify()
        problems, repaired = left or problems, not left
    return VerifyReport(problems=tuple(problems), repaired=repaired, notes=notes)


def stored_document(
    store: MemoryStore, source_id: str, namespace: str, limits: LimitConfig
) -> Document | None:
    """One document as it is stored; None if there is no such source."""
    with store.reading():
        (name,) = find_sources(store, [source_id], namespace, limits)
        found = None if name is None else store.sources.get(name, namespace)
    if found is None:
        return None
    source, text = found
    return Document(id=source.id, text=text, title=source.title, metadata=source.metadata)
