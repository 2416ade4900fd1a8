"""What a store is made of, and whether its parts agree, as public values."""

from memnet.arguments import find_sources
from memnet.config import Config, LimitConfig
from memnet.device import find_device
from memnet.errors import StoreError
from memnet.experts.owned import OwnedModels
from memnet.storage import MemoryStore
from memnet.types import Document, StoreInfo, StoreModel, VerifyReport


def describe(store: MemoryStore, config: Config) -> StoreInfo:
    """Sizes, versions, index and models of a store.

    Raises:
        DeviceError: the device of the settings is not there.
        StoreError: the store can't be read.
    """
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
    """Check that all parts of a store agree; make those anew that can be, if asked."""
    problems, notes = store.verify(), _notes(store)
    repaired = False
    if notes and repair:
        store.delete_unused()
        repaired = True
    if problems and repair:
        store.rebuild()
        left = store.verify()
        problems, repaired = left or problems, not left
    return VerifyReport(problems=tuple(problems), repaired=repaired, notes=notes)


def _notes(store: MemoryStore) -> tuple[str, ...]:
    """A line for each kind of rows that nothing uses."""
    counts = zip(store.count_unused(), ("symbols", "vectors"), strict=True)
    return tuple(
        f"database: {count:,} {what} are used by nothing, as a killed process leaves them"
        for count, what in counts
        if count
    )


def stored_document(
    store: MemoryStore, source_id: str, namespace: str, limits: LimitConfig
) -> Document | None:
    """As ``Engine.get``."""
    with store.reading():
        (name,) = find_sources(store, [source_id], namespace, limits)
        found = None if name is None else store.sources.get(name, namespace)
    if found is None:
        return None
    source, text = found
    return Document(id=source.id, text=text, title=source.title, metadata=source.metadata)
