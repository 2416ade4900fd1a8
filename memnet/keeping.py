"""What an engine does with its store as a whole: forgets, exports, describes and checks it."""

import os
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from memnet.config import Config
from memnet.device import find_device
from memnet.errors import InputError, StoreError
from memnet.storage import MemoryStore
from memnet.types import StoreInfo, VerifyReport
from memnet.usage import Usage

_Keeper = TypeVar("_Keeper", bound="Keeping")
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def unless_damaged(
    method: "Callable[Concatenate[_Keeper, _Given], _Result]",
) -> "Callable[Concatenate[_Keeper, _Given], _Result]":
    """Let a method that fails over a damaged store say so; any other failure stays as it is."""

    @wraps(method)
    def guarded(self: _Keeper, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        try:
            return method(self, *args, **kwargs)
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
            problem = self._damage()
            if problem is None:
                raise
            raise StoreError(f"the store is damaged ({problem}); restore it from a copy") from error

    return guarded


class Keeping:
    """The part of an engine that keeps its store."""

    config: Config
    _store: MemoryStore
    _usage: Usage

    @unless_damaged
    def forget(self, *source_ids: str) -> int:
        """Remove documents and fact files, with all that was made from them.

        Args:
            source_ids: ids as evidence cites them; a path may be given relative to the current
                folder.

        Returns:
            How many slots were removed.

        Raises:
            InputError: an id is not in the store; nothing is removed then.
            StoreBusyError: another writer is at work.
        """
        with self._store.writing():
            known = self._store.known([*source_ids, *map(os.path.abspath, source_ids)])
            names = [name if name in known else os.path.abspath(name) for name in source_ids]
            unknown = [
                given for given, name in zip(source_ids, names, strict=True) if name not in known
            ]
            if unknown:
                raise InputError(
                    f"no source {unknown[0]!r} is stored, so nothing was forgotten; "
                    "source ids stand in the evidence of answers"
                )
            return self._store.delete(names)

    @unless_damaged
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

    @unless_damaged
    def info(self) -> StoreInfo:
        """What the store holds."""
        counts, index = self._store.counts(), self._store.index_details()
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
            index=self._store.index_description(),
            index_kind=index["kind"],
            index_recall=index["recall"],
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

    def _damage(self) -> str | None:
        """What is wrong with the rows of the store, if anything is."""
        try:
            return next((one for one in self._store.verify() if one.startswith("database")), None)
        except StoreError as error:
            return str(error)
