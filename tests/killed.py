"""A process that changes a store until it is killed, and what must be true of the store then.

It says what it is about to do and says again when that is done. So of all that it did at most one
change is in doubt, and that must be there as a whole or not at all. Imports no torch: it starts in
no time, and starts often.
"""

import functools
import hashlib
import multiprocessing
import random
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.config import StoreConfig
from memnet.errors import StoreError
from memnet.storage import MemoryStore, NewSlot, NewSource, Slot
from memnet.storage.place import StorePlace
from memnet.storage.sqlite import connection as sqlite_connection
from memnet.storage.tables.vectors import digest_of
from memnet.storage.vectors.cache import find_commit
from memnet.storage.vectors.file import read_header
from memnet.text.english import query_terms
from tests.exact_store import ExactStore
from tests.waiting import ended, hear

DIMENSION = 16
_WORDS = "light boat harbour ferry keeper storm island herring lamp rope".split()
_NAMES = [f"document {number}" for number in range(12)]
_ABOUT = ["ann", "ben", "orre"]

START = multiprocessing.get_context("forkserver")
START.set_forkserver_preload(["tests.killed", "faiss"])

Step = tuple[str, Any]
"""A change, which is one commit, and what it is about."""


def encode(texts: Sequence[str]) -> NDArray[np.float32]:
    """Bags of hashed words."""
    rows = [np.sum([_vector(word) for word in re.findall(r"\w+", text)], axis=0) for text in texts]
    vectors = np.array(rows, np.float32).reshape(-1, DIMENSION)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float16).astype(np.float32)  # as a store keeps them


@functools.cache
def _vector(word: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest())
    return np.random.default_rng(seed).normal(size=DIMENSION)


def open_store(
    path: StorePlace, *, unsaved_share: float = 1 / 16, create: bool = True
) -> MemoryStore:
    return MemoryStore(
        path,
        fingerprint="killed/16",
        dimension=DIMENSION,
        create=create,
        config=StoreConfig(unsaved_share=unsaved_share),
    )


def document(name: str, version: int) -> NewSource:
    """One of the documents, as it is in this version: passages and a fact."""
    chance = random.Random(f"{name} {version}")
    slots = []
    for place in range(chance.randint(1, 4)):
        text = f"{' '.join(chance.choices(_WORDS, k=5))} {name} {version}.{place}"
        about, mentioned = chance.sample(_ABOUT, 2)
        start = 100 * place
        slots.append(
            NewSlot("passage", name, text, start, start + len(text), text, (about,), (mentioned,))
        )
    text = f"{name}\tversion\t{version}"
    value = str(version)
    slots.append(
        NewSlot("fact", name, text, 0, len(text), "version", (name,), (value,), "version", value)
    )
    return NewSource(name, digest_of(name, version), slots)


def statement(text: str, about: str) -> NewSource:
    """Something told; the source has the name of its text."""
    slot = NewSlot(
        "passage", about, text, 0, len(text), text, (about,), relation=text, valid_from=1.0
    )
    return NewSource(text, digest_of(text), [slot], kind="statement")


@dataclass
class Model:
    """What a store should hold, as a plain dictionary would."""

    documents: dict[str, int] = field(default_factory=dict)
    """Versions by their names."""
    told: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """About whom, and whether it is valid, by texts."""

    def after(self, step: Step) -> "Model":
        """What it holds after a change."""
        kind, what = step
        documents, told = dict(self.documents), dict(self.told)
        if kind == "put":
            documents.update(what)
        elif kind == "delete":
            for name in what:
                documents.pop(name, None)
        elif kind in ("tell", "supersede"):
            text, about, *ended = what
            for old in ended:
                told[old] = (told[old][0], False)
            told[text] = (about, True)
        elif kind == "end":
            told[what] = (told[what][0], False)
        elif kind == "erase":
            del told[what]
        return Model(documents, told)

    def sources(self) -> list[NewSource]:
        """All of it, as it would be put into a store."""
        documents = [document(name, version) for name, version in self.documents.items()]
        return documents + [statement(text, about) for text, (about, _) in self.told.items()]

    def content(self) -> set[tuple[Any, ...]]:
        """Each slot, with its source and whether it is valid."""
        return {
            (source.name, slot.text, slot.start, slot.key_symbols, slot.value_symbols, valid)
            for source in self.sources()
            for valid in [self.told.get(source.name, ("", True))[1]]
            for slot in source.slots
        }


def random_step(model: Model, chance: random.Random) -> Step:
    """A change that makes sense now."""
    valid = [text for text, (_, is_valid) in model.told.items() if is_valid]
    kind = chance.choice(["put", "put", "put", "delete", "tell", "supersede", "end", "erase"])
    if kind == "delete":
        return kind, chance.sample(_NAMES, chance.randint(1, 2))
    if kind == "put" or (kind != "tell" and not valid):
        names = chance.sample(_NAMES, chance.randint(1, 3))
        return "put", {name: model.documents.get(name, 0) + chance.randint(0, 2) for name in names}
    new = f"{' '.join(chance.choices(_WORDS, k=3))} {chance.getrandbits(40)}"
    if kind == "tell":
        return kind, (new, chance.choice(_ABOUT))
    if kind == "supersede":
        return kind, (new, chance.choice(_ABOUT), *chance.sample(valid, min(len(valid), 2)))
    return kind, chance.choice(valid)


def take(store: MemoryStore, step: Step) -> None:
    """Do a change to a store, as one commit."""
    kind, what = step
    if kind == "put":
        store.put([document(name, version) for name, version in what.items()], encode)
    elif kind == "delete":
        store.delete(what)
    elif kind in ("tell", "supersede"):
        text, about, *ended = what
        with store.changing():
            for old in ended:
                store.statements.end(_ids(store, old), 2.0)
            store.append(statement(text, about), encode)
    elif kind == "end":
        store.statements.end(_ids(store, what), 2.0)
    elif kind == "erase":
        store.statements.erase(_ids(store, what))


def vacuum_always() -> None:
    """Let this process give each free page back, of which a store of this size has few."""
    sqlite_connection._MIN_FREE_PAGES = 0
    sqlite_connection._MAX_FREE_SHARE = 0


def work(path: StorePlace, model: Model, seed: int, said: Connection) -> None:
    """Change the store for ever, saying what is begun and what is done."""
    vacuum_always()
    chance = random.Random(seed)
    store = open_store(path, unsaved_share=chance.choice([1e-6, 1 / 16, 1.0]))
    said.send("open")
    while True:
        if chance.random() < 0.2:
            store.search_dense(encode(["storm"])[0], 3)
        with store.writing():
            for _ in range(chance.choice([1, 1, 5])):
                step = random_step(model, chance)
                said.send(step)
                take(store, step)
                said.send("done")
                model = model.after(step)


def started(
    target: Callable[..., None], *arguments: Any, context: Any = START
) -> tuple[BaseProcess, Connection]:
    """A process that does something, given a connection last, and what it says there."""
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(*arguments, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, ours


class Kill(NamedTuple):
    """What a kill met with."""

    held: Model
    """What the store holds."""
    acknowledged: int
    """Commits that the process had said were done."""
    opened: bool
    """Whether the process had opened the store."""
    in_doubt: bool | None
    """Whether the change under way was kept; None without one."""
    index_file: str
    """What the kill left of the index file: current, older, or not of these rows."""


def kill_one(path: StorePlace, model: Model, chance: random.Random, longest: float) -> Kill:
    """Let a process change the store, kill it, and check what it left.

    Args:
        path: of the store, or where it is to be made.
        model: what it holds.
        chance: says what is done and when it ends.
        longest: seconds after opening the store that the process may live.
    """
    process, ours = started(work, path, model, chance.getrandbits(32))
    if chance.random() < 0.9:
        ours.poll(60)
    time.sleep(chance.random() ** 2 * longest)
    process.kill()
    acknowledged, possible, opened = _heard(model, ours)
    ended(process)
    process.close()
    ours.close()
    # A copy leaves the next process what the kill left, rather than what opening it here makes.
    looked_at, copy = path, None
    if chance.random() < 0.5 and isinstance(path, Path) and path.exists():
        looked_at = copy = path.with_name("copy")
        shutil.copytree(path, copy)
    with closing(open_store(looked_at)) as store:
        index = _index_state(store)
        held = check(store, possible)
    if copy is not None:
        shutil.rmtree(copy)
    in_doubt = None if len(possible) == 1 else held is possible[1]
    return Kill(held, acknowledged, opened, in_doubt, index)


def _heard(model: Model, said: Connection) -> tuple[int, list[Model], bool]:
    """Changes acknowledged; the store after them, and after the one under way; if it was open."""
    messages = _messages(said)
    history = _history(model, messages)
    acknowledged = messages.count("done")
    return acknowledged, history[acknowledged:], "open" in messages


def _messages(said: Connection) -> list[Any]:
    """All that a process says, until it ends."""
    messages: list[Any] = []
    while True:
        try:
            messages.append(hear(said))
        except (EOFError, ConnectionResetError):
            return messages


def _history(model: Model, messages: Sequence[Any]) -> list[Model]:
    """What the store held after each change that was begun, and before the first."""
    history = [model]
    for message in messages:
        if message not in ("open", "done"):
            history.append(history[-1].after(message))
    return history


def copy_while_written(folder: Path, chance: random.Random, copies: int) -> Counter[str]:
    """Copy a store file by file while a process changes it; each copy is right or refused.

    Args:
        folder: where store and copies are made.
        chance: says what is written, and in which order and how fast files are copied.
        copies: how many.

    Returns:
        How many copies were right, and how many were refused.
    """
    process, ours = started(work, folder / "store", Model(), chance.getrandbits(32))
    ours.poll(60)
    with ThreadPoolExecutor(1) as pool:
        messages = pool.submit(_messages, ours)
        time.sleep(0.5)
        for number in range(copies):
            _copy_slowly(folder / "store", folder / f"copy {number}", chance)
        process.kill()
        history = _history(Model(), messages.result())
    ended(process)
    process.close()
    ours.close()
    counts: Counter[str] = Counter()
    for number in range(copies):
        try:
            with closing(open_store(folder / f"copy {number}")) as store:
                check(store, history)
        except StoreError as error:
            if not re.search("is damaged|not a readable|could not be", str(error)):
                raise
            counts["refused"] += 1
        else:
            counts["right"] += 1
        shutil.rmtree(folder / f"copy {number}")
    return counts


def _copy_slowly(source: Path, target: Path, chance: random.Random) -> None:
    """As ``cp -r`` does it, only slower, so that more is written meanwhile."""
    target.mkdir()
    files = list(source.iterdir())
    chance.shuffle(files)
    pause = chance.choice([0, 0, 0.001, 0.01])
    for file in files:
        # The log of a store that is checkpointed and closed may be gone by now.
        with (
            suppress(FileNotFoundError),
            file.open("rb") as old,
            (target / file.name).open("wb") as new,
        ):
            while data := old.read(chance.choice([4096, 65_536])):
                new.write(data)
                time.sleep(chance.random() * pause)


def _index_state(store: MemoryStore) -> str:
    header = read_header(store.path / "vectors.faiss")
    with store.reading():
        revision = None if header is None else find_commit(store.connection, header.commit_id)
        if revision is None:
            return "not of these rows"
        return "current" if revision == store.connection.revision() else "older"


def check(store: MemoryStore, possible: Sequence[Model], queries: int = 3) -> Model:
    """That a store holds exactly what one of the models does, and finds it; gives that model."""
    slots = store.fetch(range(1, store.connection.last_id("slot") + 1))
    symbols = store.symbols([slot.id for slot in slots])
    content = {
        (
            slot.source, slot.text, slot.start, *map(tuple, symbols[slot.id]),
            slot.valid_until is None,
        )
        for slot in slots
    }  # fmt: skip
    assert len(content) == len(slots)
    fitting = [model for model in possible if model.content() == content]
    assert fitting, [sorted(model.content() ^ content) for model in possible]
    model = fitting[0]
    states = store.sources.states([*_NAMES, *model.told])
    assert {name: state.digest for name, state in states.items()} == {
        source.name: source.digest for source in model.sources()
    }
    _compare_searches(store, model, queries)
    assert store.verify() == []
    return model


def _compare_searches(store: MemoryStore, model: Model, queries: int) -> None:
    twin = ExactStore(DIMENSION)
    documents = len(model.documents)
    twin.put(model.sources()[:documents], encode)
    for source in model.sources()[documents:]:
        ids = twin.append(source, encode)
        if not model.told[source.name][1]:
            twin.statements.end(ids, 2.0)
    for query in random.Random(len(model.told)).sample(_WORDS, queries):
        own, exact = (
            (
                _scores(one, one.search_dense(encode([query])[0], 200)),
                _scores(one, one.search_lexical(query_terms(query), 200)),
            )
            for one in (store, twin)
        )
        for place in range(2):
            assert own[place].keys() == exact[place].keys()
            for text, score in own[place].items():
                assert abs(score - exact[place][text]) < 1e-4, text
    own_keys, exact_keys = (one.search_symbolic(_ABOUT, 500) for one in (store, twin))
    assert {name: len(ids) for name, ids in own_keys.items()} == {
        name: len(ids) for name, ids in exact_keys.items()
    }


def _scores(store: MemoryStore | ExactStore, hits: Any) -> dict[str, float]:
    slots: list[Slot] = store.fetch(hits.ids[hits.mask].tolist())
    scores = {slot.text: float(score) for slot, score in zip(slots, hits.scores, strict=False)}
    assert len(scores) == int(hits.mask.sum())
    return scores


def _ids(store: MemoryStore, text: str) -> list[int]:
    return [
        slot.id
        for name in _ABOUT
        for slot in store.statements.told(store.statements.ids_about([name]))
        if slot.text == text
    ]
