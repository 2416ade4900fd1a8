"""Models that belong to a store: whether they fit it, and what the user should know of them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from memnet.checkpoints import MODEL, load_checkpoint
from memnet.errors import ModelError, one_line
from memnet.storage import MemoryStore

# Share of the store's relations that a fact model must have seen in training to be used.
_MIN_KNOWN = 0.5
_MAX_NAMED = 3


class OwnedModel(NamedTuple):
    """A model in the folder of a store."""

    name: str
    used: bool
    note: str | None
    """One line; None if all is well."""
    relations: frozenset[str] = frozenset()
    """That a fact model has seen: digests in 32 hex digits."""


class OwnedModels:
    """The models of a store as they were when they were first looked at."""

    def __init__(self, store: MemoryStore) -> None:
        """Read nothing yet."""
        self._store = store
        self._failed: dict[str, str] = {}
        self._descriptions: dict[str, Mapping[str, Any]] | None = None

    def current(self) -> dict[str, OwnedModel]:
        """Each by its name, as it fits what the store holds now; what is wrong is in its note."""
        if self._descriptions is None:
            self._descriptions = self._read()
        found = {name: self._fit(name, one) for name, one in self._descriptions.items()}
        return found | {name: _unused(name, why) for name, why in self._failed.items()}

    def fail(self, name: str, error: ModelError) -> None:
        """Use a model no more: it could not be loaded."""
        self._failed[name] = str(error)

    def _read(self) -> dict[str, Mapping[str, Any]]:
        found: dict[str, Mapping[str, Any]] = {}
        for name in self._store.models.names():
            try:
                _, found[name] = load_checkpoint(self._store.models.folder(name), MODEL)
            except ModelError as error:
                self.fail(name, error)
        return found

    def _fit(self, name: str, description: Mapping[str, Any]) -> OwnedModel:
        kind = description.get("kind")
        if kind != name:
            return _unused(name, f"it is of kind {kind!r}; {_advice(name)}")
        notes = description.get("trained")
        encoder = notes.get("encoder") if isinstance(notes, Mapping) else None
        if encoder != self._store.fingerprint:
            return _unused(
                name,
                f"it was trained with encoder {encoder!r}, the store has "
                f"{self._store.fingerprint!r}; {_advice(name)}",
            )
        if name != "facts":
            return OwnedModel(name, True, None)
        return _with_relations(name, description.get("relations"), self._store.contents.relations())


def _with_relations(name: str, given: object, held: Mapping[str, str]) -> OwnedModel:
    """A fact model whose relations are given, for a store that holds some, by digest."""
    known = frozenset(map(str, given)) if isinstance(given, list) else frozenset[str]()
    unseen = sorted({words for digest, words in held.items() if digest not in known})
    if not unseen:
        return OwnedModel(name, True, None, known)
    total = len(set(held.values()))
    named = ", ".join(map(repr, unseen[:_MAX_NAMED])) + ", ..." * (len(unseen) > _MAX_NAMED)
    why = f"{len(unseen)} of {total} relations came after its training ({named}); {_advice(name)}"
    if total - len(unseen) < _MIN_KNOWN * total:
        return _unused(name, why)
    return OwnedModel(name, True, one_line(f"the store's model {name!r} is out of date: {why}"),
                      known)  # fmt: skip


def _unused(name: str, why: str) -> OwnedModel:
    return OwnedModel(name, False, one_line(f"the store's model {name!r} is not used: {why}"))


def _advice(name: str) -> str:
    return f"train it again with 'memnet train {name}'"
