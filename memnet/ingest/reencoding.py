"""The vectors of a store made anew, by another encoder.

The new ones are collected in files beside the database, so that an interrupted run goes on where it
was, while questions are answered by the old ones. At the end all are exchanged in one commit.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.numpy import load, save

from memnet.encoders.protocol import Encoder
from memnet.errors import StoreBusyError, StoreError
from memnet.ingest.messages import texts_of_message
from memnet.ingest.slots import passage_key, relation_key
from memnet.ingest.vectors import encode_passages
from memnet.io import replace_file
from memnet.storage import Encode, MemoryStore, PassageVectors, Slot
from memnet.storage.tables.vectors import digest_of, uses_after
from memnet.storage.values import NewVector, VectorUse

_FOLDER = "encoder.part"
_LOCK = "lock"
_PAGE = 512  # vectors that are made and kept together: some seconds of work
_DIGEST = 16  # bytes


class _Text(NamedTuple):
    digest: bytes  # under which its vector is stored
    text: str
    is_passage: bool  # whether it is encoded as text that is stored, not as a question is


def encode_anew(
    store: MemoryStore,
    encoder: Encoder,
    quick: Encode | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> int:
    """Put vectors of another encoder in the place of all vectors of a store; gives how many.

    Nothing is locked until all are made; others ask and write meanwhile, by the old encoder. Then
    they get an EncoderMismatchError, and have to open the store again. A run that was interrupted
    is continued by the next one to the same encoder.

    Args:
        store: in a folder; it goes on with the new encoder.
        encoder: gives the new vectors.
        quick: encodes passages instead of it.
        on_progress: called with how many vectors are made, and how many there are.

    Raises:
        StoreBusyError: another process does so, or writes for longer than a write waits.
        StoreError: the store or its folder can't be written; the store is as it was.
    """
    folder = store.path / _FOLDER
    if encoder.fingerprint == store.fingerprint:
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed after its commit
        return 0
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        with FileLock(folder / _LOCK, mode=0o600).acquire(timeout=0):
            count = _encode_all(store, encoder, quick, on_progress)
    except Timeout as error:
        raise StoreBusyError(
            f"another process encodes the store {store.place} anew; wait until it is done"
        ) from error
    except OSError as error:
        raise StoreError(
            f"the new vectors can't be kept in {folder} ({error}); the store is as it was: check "
            "free space and permissions"
        ) from error
    shutil.rmtree(folder, ignore_errors=True)
    return count


def _encode_all(
    store: MemoryStore,
    encoder: Encoder,
    quick: Encode | None,
    on_progress: Callable[[int, int], None] | None,
) -> int:
    made = _Made(store.path / _FOLDER, encoder.fingerprint)

    def make() -> None:
        for texts in _missing(store, made.digests):
            made.add(texts, _encode(texts, encoder, quick))
            if on_progress is not None:
                on_progress(len(made.digests), store.quick.counts().vectors)

    make()
    with store.writing():
        make()  # of what came since
        count = store.quick.counts().vectors
        store.change_encoder(encoder.fingerprint, encoder.dimension, made.vectors())
    return count


def _missing(store: MemoryStore, known: set[bytes]) -> Iterator[list[_Text]]:
    """Texts whose vectors are not ``known``, some at a time; vectors of no use are left out."""
    last = 0
    while True:
        with store.reading() as connection:
            uses = uses_after(connection, last, _PAGE)
            if not uses:
                return
            last = uses[-1].id
            used = [use for use in uses if use.slot is not None or use.relation is not None]
            uses = [use for use in used if use.digest not in known]
            slots = store.fetch([use.slot for use in uses if use.slot is not None])
            by_id = {slot.id: slot for slot in slots}
            texts = [_text(store, use, by_id.get(use.slot or 0)) for use in uses]
        if texts:
            yield texts


def _text(store: MemoryStore, use: VectorUse, slot: Slot | None) -> _Text:
    """What a vector encodes: the text of its slot that has its digest.

    The key of a short message holds what was said before it, which may be forgotten meanwhile: such
    a message is encoded alone, with its speaker.
    """
    if use.text is not None:
        return _Text(use.digest, use.text, True)
    if slot is None:
        return _Text(use.digest, use.relation or "", False)
    is_passage = slot.kind == "passage" and slot.valid_from is None
    keys = list(_keys(store, slot))
    found = (text for text in keys if digest_of(text) == use.digest)
    return _Text(use.digest, next(found, keys[-1]), is_passage)


def _keys(store: MemoryStore, slot: Slot) -> Iterator[str]:
    """Texts that the key of a slot may encode."""
    if slot.kind != "passage":
        yield relation_key(slot.relation, slot.kind)
        return
    yield passage_key(slot.title, slot.text)  # of a statement that does not name its subject, too
    yield slot.text
    yield from texts_of_message(store, slot)


def _encode(texts: list[_Text], encoder: Encoder, quick: Encode | None) -> PassageVectors:
    """Vectors of texts, in their order."""
    vectors = np.empty((len(texts), encoder.dimension), np.float32)
    keys = [b""] * len(texts)
    for of_passages in (True, False):
        places = [place for place, one in enumerate(texts) if one.is_passage == of_passages]
        if not places:
            continue
        chosen = [texts[place].text for place in places]
        if not of_passages:
            vectors[places] = encoder.encode(chosen)
        elif quick is not None:
            vectors[places] = quick(chosen)
        else:
            found = encode_passages(encoder, chosen)
            vectors[places] = found.vectors
            for place, key in zip(places, found.units, strict=False):
                keys[place] = key
    return PassageVectors(vectors, units=keys)


class _Made:
    """Vectors of another encoder in files of a folder, each file whole or not there."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder = folder / digest_of(fingerprint).hex()
        for other in folder.iterdir():
            if other.is_dir() and other != self._folder:  # of a run to yet another encoder
                shutil.rmtree(other)
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._files: list[Path] = []
        self.digests: set[bytes] = set()
        for file in sorted(self._folder.glob("*.safetensors")):
            # One that was cut off when the machine stopped is made again.
            with suppress(OSError, SafetensorError):
                self.digests |= {one.digest for one in _read(file)}
                self._files.append(file)

    def add(self, texts: list[_Text], made: PassageVectors) -> None:
        """Keep the vectors of some texts."""
        last = int(self._files[-1].stem) if self._files else 0
        file = self._folder / f"{last + 1:08d}.safetensors"
        digests, keys = b"".join(one.digest for one in texts), b"".join(made.units)
        arrays = {
            "digests": np.frombuffer(digests, np.uint8),
            "vectors": made.vectors.astype("<f2"),
            "lengths": np.array([*map(len, made.units)], np.int64),
            "keys": np.frombuffer(keys, np.uint8),
        }
        replace_file(file, save(arrays))
        self._files.append(file)
        self.digests |= {one.digest for one in texts}

    def vectors(self) -> Iterator[NewVector]:
        """All that are kept."""
        return chain.from_iterable(map(_read, self._files))


def _read(file: Path) -> Iterator[NewVector]:
    arrays = load(file.read_bytes())
    digests, keys = arrays["digests"].tobytes(), arrays["keys"].tobytes()
    vectors, start = arrays["vectors"].astype(np.float32), 0
    for place, length in enumerate(arrays["lengths"].tolist()):
        digest = digests[place * _DIGEST : (place + 1) * _DIGEST]
        yield NewVector(digest, vectors[place], units=keys[start : start + length])
        start += length
