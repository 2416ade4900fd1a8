"""What an engine does with its store as a whole: forgets, exports, describes and checks it."""

import os
from contextlib import suppress

from memnet.config import Config
from memnet.device import find_device
from memnet.errors import InputError, StoreError
from memnet.ingest.limits import check_text, check_type
from memnet.statements.usage import Usage
from memnet.storage import MemoryStore
from memnet.types import StoreInfo, VerifyReport


class Keeping:
    """The part of an engine that keeps its store."""

    config: Config
    _store: MemoryStore
    _usage: Usage

    def forget(self, *source_ids: str, namespace: str = "") -> int:
        """Remove documents and fact files, with all that was made from them.

        Args:
            source_ids: ids as evidence cites them; a path may be given relative to the current
                folder.
            namespace: where they are; sources of the same ids elsewhere stay.

        Returns:
            How many slots were removed.

        Raises:
            InputError: an id is not in that namespace; nothing is removed then.
            StoreBusyError: another writer is at work.
        """
        check_text(namespace, "the namespace", self.config.limit.name)
        for given in source_ids:
            check_type(given, "a source id")
        with self._store.writing():
            paths = [os.path.abspath(given) for given in source_ids]
            known = self._store.namespaces([*source_ids, *paths])
            names: list[str] = []
            for given, path in zip(source_ids, paths, strict=True):
                here = [name for name in (given, path) if namespace in known.get(name, ())]
                if not here:
                    elsewhere = known.get(given) or known.get(path) or []
                    raise InputError(_not_stored(given, namespace, elsewhere))
                names.append(here[0])
            return self._store.delete(names, namespace)

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write the memory as one file, from which ``Engine.restore`` makes it again anywhere.

        It holds what was committed when the call began, whoever writes meanwhile, and appears
        whole or not at all. Equal memories give equal bytes.

        Args:
            path: of the bundle; a file that is there is replaced.

        Returns:
            How many slots it holds.

        Raises:
            StoreError: the file can't be written, or the store can't be read.
        """
        with suppress(StoreError, OSError):
            self._usage.save(wait=0)
        return self._store.export(path)

    def info(self) -> StoreInfo:
        """What the store holds."""
        counts, index = self._store.counts(), self._store.index_info()
        return StoreInfo(
            path=str(self._store.path),
            slots=counts.slots,
            superseded=counts.superseded,
            documents=counts.documents,
            facts=counts.facts,
            symbols=counts.symbols,
            encoder=self._store.fingerprint,
            dimension=self._store.dimension,
            schema_version=self._store.schema_version,
            generation=counts.generation,
            index=index.description,
            index_kind=index.kind,
            index_recall=index.recall,
            device=find_device(self.config.device),
            bytes=self._store.size_in_bytes(),
        )

    def verify(self, repair: bool = False) -> VerifyReport:
        """Check that rows, text search and vector index agree.

        Args:
            repair: make the text search and the vector index anew from the rows if they don't.
        """
        problems = self._store.verify()
        if problems and repair:
            self._store.rebuild()
            left = self._store.verify()
            return VerifyReport(problems=tuple(left or problems), repaired=not left)
        return VerifyReport(problems=tuple(problems), repaired=False)


def _not_stored(source_id: str, namespace: str, elsewhere: list[str]) -> str:
    """What is said of a source that a namespace does not hold, but others may."""
    where = f" in namespace {namespace!r}" if namespace else ""
    if elsewhere:
        found = ", ".join(repr(name) for name in elsewhere)
        return (
            f"no source {source_id!r} is stored{where or ' in the default namespace'}, so nothing "
            f"was forgotten; it is in namespace {found}: name that one"
        )
    return (
        f"no source {source_id!r} is stored{where}, so nothing was forgotten; "
        "source ids stand in the evidence of answers"
    )
