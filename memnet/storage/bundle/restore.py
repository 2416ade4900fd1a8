"""A store as it is made from a bundle, and what is known of one before it is opened."""

import os
import shutil
import stat
from pathlib import Path
from tempfile import mkdtemp

from memnet.errors import StoreError
from memnet.storage.bundle.export import open_bundle, restore_rows
from memnet.storage.opened_store import DATABASE
from memnet.storage.store import MemoryStore
from memnet.storage.tables.records import Records


def stored_fingerprint(path: str | os.PathLike[str]) -> str | None:
    """The fingerprint of the encoder that a store was made with; None if there is no store.

    Raises:
        StoreError: the store can't be read.
    """
    folder = Path(path)
    if not (folder / DATABASE).is_file():
        return None
    records = Records(folder / DATABASE, read_only=not os.access(folder, os.W_OK))
    try:
        return records.property("encoder") if records.schema_version else None
    finally:
        records.close()


def import_bundle(
    bundle: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    fingerprint: str,
    dimension: int,
) -> None:
    """Make a store from a bundle, in the folder ``path``, where it appears whole or not at all.

    Args:
        bundle: a file that ``MemoryStore.export`` made; nothing in it is trusted.
        path: of a folder that is new or empty.
        fingerprint: of the encoder that is to be used with the store.
        dimension: D, width of its vectors.

    Raises:
        EncoderMismatchError: the bundle's vectors are of another encoder.
        StoreError: the bundle is damaged, or the folder is not empty or can't be written.
        DependencyError: FAISS is not installed.
    """
    folder = Path(path).absolute()
    try:
        if folder.exists() and any(folder.iterdir()):
            raise StoreError(f"{folder} is not empty; import into a new folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(mkdtemp(prefix=f".{folder.name}.", suffix=".import", dir=folder.parent))
    except OSError as error:
        raise StoreError(f"the store folder {folder} can't be made: {error}") from error
    try:
        with open_bundle(Path(bundle)) as reader:
            reader.check_encoder(fingerprint, dimension)
            store = MemoryStore(part, fingerprint=fingerprint, dimension=dimension, create=True)
            try:
                with store.writing(), store._records.transaction():
                    restore_rows(store._records, reader)
            finally:
                store.close()
        _put(part, folder)
    except OSError as error:
        raise StoreError(f"the store {folder} can't be put in its place: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _put(part: Path, folder: Path) -> None:
    """Give a store the place and the rights of an empty folder, if there is one."""
    if folder.exists():
        part.chmod(stat.S_IMODE(folder.stat().st_mode))
        # Windows renames nothing to the name of a folder that is there.
        folder.rmdir()
    part.rename(folder)
