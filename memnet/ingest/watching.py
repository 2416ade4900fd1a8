"""Follow folders: what changes in them is ingested at once."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from memnet.errors import InputError, Problem, StoreBusyError
from memnet.ingest.pipeline import Progress
from memnet.ingest.selection import Exclusions, FolderChanges, is_left_out
from memnet.types import IngestReport, WatchReport

# Changes are read when there was none for so long: an editor writes a file in several steps.
_QUIET_MS: Final = 100
# Max. wait for a quiet moment, or a file that grows all the time would hold back all others.
_LONGEST_MS: Final = 500
_WAKE_MS: Final = 250  # to look whether to stop, and try again what another writer held back
_POLL_MS: Final = 1000  # interval of polling, where the system reports no changes
# Max. changes taken one by one: of more the system may have dropped some (Linux queues 16,384), so
# the whole folder is compared; that costs a second for 20,000 unchanged files.
_MOST_CHANGES: Final = 4_000
# Full vectors that are made between two looks for changes: half a second on two cores.
_VECTORS: Final = 64
# Starts of the types of file systems that others change: Linux tells only of changes made here.
_REMOTE: Final = tuple("nfs cifs smb 9p afs ceph glusterfs fuse. vboxsf drvfs".split())


class Watching(Protocol):
    """What ingests the changes: an ``Engine``, or anything with these methods of one."""

    def ingest(self, *inputs: Any, **options: Any) -> IngestReport:
        """As ``Engine.ingest``."""
        ...

    def encode_full(self, most: int | None = None) -> int:
        """As ``Engine.encode_full``."""
        ...


def watch(
    memory: Watching,
    *folders: str | os.PathLike[str],
    namespace: str = "",
    facts: bool = False,
    key: str | None = None,
    read_as: str | None = None,
    exclude: Sequence[str] = (),
    on_progress: Callable[[Progress], None] | None = None,
    on_problem: Callable[[Problem], None] | None = None,
    stop: threading.Event | None = None,
) -> Iterator[WatchReport]:
    """Ingest folders, and then all that is changed, made or removed in them, until it is stopped.

    ::

        for report in memnet.watch(memory, "notes/"):
            print(report.paths, report.slots)

    Others can ask and write between two changes: the store is held only while one is ingested.
    Full vectors of many new files are made between two changes, too. A file that can't be read is a
    problem and ends nothing.

    Args:
        memory: to ingest into.
        folders: to follow, with all folders in them.
        namespace: as all that follow but the last, as in ``Engine.ingest``.
        facts: see there.
        key: see there.
        read_as: see there.
        exclude: see there.
        on_progress: see there; called while the folders are first read.
        on_problem: see there.
        stop: ends the iteration when it is set.

    Yields:
        What the first reading did, and then what each change did, if anything: it is stored.

    Raises:
        InputError: a folder does not exist, or no longer.
        StoreBusyError: something else writes to the store when the folders are first read; later
            changes wait for their turn.
    """
    roots = tuple(dict.fromkeys(_root(folder) for folder in folders))
    if not roots:
        raise InputError("no folder to watch; name one")
    ingest = partial(
        memory.ingest,
        namespace=namespace,
        facts=facts,
        key=key,
        read_as=read_as,
        exclude=exclude,
        on_problem=on_problem,
        full=False,
    )
    changes = _changes(roots, Exclusions(exclude), stop)

    def follow() -> Iterator[WatchReport]:
        pending = next(changes, set())  # from here on none is missed
        first = ingest(roots, on_progress=on_progress)
        yield WatchReport(**dict(first))
        for changed in changes:
            pending |= changed
            if not pending:
                with suppress(StoreBusyError):
                    memory.encode_full(most=_VECTORS)
                continue
            try:
                done = ingest(_by_folder(roots, pending))
            except StoreBusyError:
                continue
            paths = tuple(sorted(map(str, pending)))
            pending = set()
            if done.added or done.updated or done.removed or done.skipped:
                yield WatchReport(**dict(done), paths=paths)

    return follow()


def _root(folder: str | os.PathLike[str]) -> Path:
    root = Path(os.path.abspath(folder))
    if not root.is_dir():
        raise InputError(f"{root}: not a folder; only folders can be watched")
    return root


def _by_folder(roots: Sequence[Path], paths: Set[Path]) -> list[Path | FolderChanges]:
    """What to ingest after these changes."""
    below = {root: {path for path in paths if path.is_relative_to(root)} for root in roots}
    return [
        root if len(paths) > _MOST_CHANGES else FolderChanges(root, frozenset(changed))
        for root, changed in below.items()
        if changed
    ]


def _changes(
    roots: Sequence[Path], exclusions: Exclusions, stop: threading.Event | None
) -> Iterator[set[Path]]:
    """Paths that were changed, made or removed; an empty set now and then.

    Raises:
        InputError: a folder is gone, or can't be followed.
    """
    # The system may name a folder by its real path where it was given by a link.
    real = {root.resolve(): root for root in roots}
    for events in _events(tuple(real), stop):
        for root in roots:
            if not root.is_dir():
                raise InputError(f"{root}: the folder is gone; what is stored of it stays")
        yield {
            path
            for name in events
            for resolved, root in real.items()
            if name.is_relative_to(resolved)
            for path in [root / name.relative_to(resolved)]
            if not is_left_out(path, root, exclusions)
        }


def _events(folders: Sequence[Path], stop: threading.Event | None) -> Iterator[list[Path]]:
    from watchfiles import Change, watch  # only where it is needed: it takes 20 ms

    polling = any(map(_is_remote, folders))
    while True:
        try:
            for events in watch(
                *folders,
                watch_filter=None,
                debounce=_LONGEST_MS,
                step=_QUIET_MS,
                rust_timeout=_WAKE_MS,
                yield_on_timeout=True,
                stop_event=stop,
                force_polling=polling or None,  # else as WATCHFILES_FORCE_POLLING says
                poll_delay_ms=_POLL_MS,
                ignore_permission_denied=True,
            ):
                yield [
                    Path(name)
                    for change, name in events
                    # A folder is called changed when a file in it is, which is told by itself.
                    if not (change == Change.modified and Path(name).is_dir())
                ]
        except OSError as error:
            if polling:
                raise InputError(f"the folders can't be followed: {error}") from error
            polling = True  # too many folders for the system to tell of each
        else:
            return


def _is_remote(path: Path) -> bool:
    """Whether a path lies on a file system of another machine, as far as Linux says so."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return False
    found = ("", "")
    for _, mounted, kind, *_ in map(str.split, mounts.splitlines()):
        folder = mounted.replace(r"\040", " ")
        if path.is_relative_to(folder) and len(folder) >= len(found[0]):
            found = (folder, kind)
    return found[1].startswith(_REMOTE)
