"""Doors for what was kept and comes back changed: models, bundles and databases."""

import hashlib
import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from safetensors.torch import load, save

from benchmarks.cheap_encoder import CheapEncoder
from benchmarks.fuzz_doors.door import Door
from benchmarks.fuzz_doors.engines import (
    check_answer,
    check_line,
    engine_in,
    fill,
    hold,
    tiny_models,
)
from benchmarks.hostile_inputs import TEXTS, changed_bytes, changed_json
from memnet import Document, Engine, MemnetError
from memnet.config import HopConfig
from memnet.experts.registry import load_model, model_folder
from memnet.storage import import_bundle

_FOREIGN = (
    "CREATE TRIGGER t AFTER INSERT ON slot BEGIN DELETE FROM source; END",
    "CREATE VIEW v AS SELECT * FROM slot",
    "CREATE TABLE other (a)",
    "DROP TRIGGER slot_text_insert",
    "DROP TABLE link",
    "DROP INDEX source_by_name",
    "PRAGMA user_version = 2",
)
"""What may be done to a schema."""


def models(work: Path) -> Door:
    """Model folders: changed descriptions, changed tensors with a right checksum, changed bytes."""
    originals = [model_folder("text"), *tiny_models(work)]
    engine = engine_in(work / "store")
    fill(engine)
    folder = work / "model"

    def open_door(random: Random) -> None:
        original = random.choice(originals)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(original, folder)
        _change_model(random, folder)
        load_model(folder, HopConfig())
        with engine_in(work / "store", str(folder)) as asked:
            check_answer(asked, "Who built the Orre Light?")

    return open_door


def _change_model(random: Random, folder: Path) -> None:
    described = folder / "model.json"
    description = json.loads(described.read_bytes())
    weights = folder / description["tensors"]
    kind = random.randrange(5)
    if kind == 0:
        described.write_bytes(changed_bytes(random, described.read_bytes()))
    elif kind == 1:
        weights.write_bytes(changed_bytes(random, weights.read_bytes()))
    elif kind == 2:
        changed = changed_json(random, description)
        described.write_text(json.dumps(changed), encoding="utf-8", errors="surrogatepass")
    else:
        data = weights.read_bytes()
        if kind == 3:
            data = changed_bytes(random, data[:2000]) + data[2000:]
        else:
            tensors = load(data)
            name = random.choice(list(tensors))
            if random.random() < 0.3:
                tensors[name] = tensors[name].flatten()[:-1].clone()
            else:
                tensors[name].fill_(random.choice((float("nan"), float("inf"), 3e38, -3e38, 0.0)))
            data = save(tensors)
        weights.write_bytes(data)
        description["sha256"] = hashlib.sha256(data).hexdigest()
        described.write_text(json.dumps(description))


def bundles(work: Path) -> Door:
    """Bundles: changed bytes, and members with changed bytes or values under a right checksum."""
    with engine_in(work / "store") as engine:
        fill(engine)
        engine.export_bundle(work / "memory.zip")
    whole = (work / "memory.zip").read_bytes()
    with zipfile.ZipFile(work / "memory.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    path, copy = work / "changed.zip", work / "copy"
    encoder = CheapEncoder()

    def open_door(random: Random) -> None:
        if random.random() < 0.3:
            path.write_bytes(changed_bytes(random, whole))
        else:
            _write_changed(random, members, path)
        try:
            import_bundle(path, copy, fingerprint=encoder.fingerprint, dimension=encoder.dimension)
            with engine_in(copy) as asked:
                hold(not asked.verify().problems, "an imported store does not verify")
                check_answer(asked, TEXTS[0])
                asked.history("Ann")
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    return open_door


def _write_changed(random: Random, members: dict[str, bytes], path: Path) -> None:
    chosen = random.choice(list(members))
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            changed, lines = data, data.splitlines()
            if name == chosen and lines and name.endswith(("json", "jsonl")):
                place = random.randrange(len(lines))
                value = changed_json(random, json.loads(lines[place]))
                lines[place] = json.dumps(value).encode()
                changed = b"\n".join([*lines, b""])
            elif name == chosen:
                changed = changed_bytes(random, data)
            archive.writestr(name, changed)


def databases(work: Path) -> Door:
    """Stores whose database was changed: its bytes, a value of a row, or its schema."""
    with engine_in(work / "store") as engine:
        fill(engine)
    folder = work / "changed"
    models = ("untrained", "text", *map(str, tiny_models(work)))

    def open_door(random: Random) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(work / "store", folder)
        database = folder / "memory.sqlite3"
        if random.random() < 0.8:
            _settle(database)
        if random.random() < 0.4:
            database.write_bytes(changed_bytes(random, database.read_bytes()))
        else:
            _change_rows(random, database)
        uses: list[Callable[[Engine], object]] = [
            lambda asked: check_answer(asked, random.choice(TEXTS[:3])),
            lambda asked: check_answer(asked, "Where was the builder of the Orre Light born?"),
            lambda asked: asked.history("Ann"),
            lambda asked: asked.info(),
            lambda asked: asked.tell("Ann moved to Oslo."),
            lambda asked: asked.ingest(Document(id="b", text="Another text about Orre.")),
            lambda asked: asked.forget("d1"),
            lambda asked: asked.verify(repair=True),
            lambda asked: asked.export_bundle(work / "out.zip"),
        ]
        # What one use refuses must not hide what another would make of it.
        random.shuffle(uses)
        refused: MemnetError | None = None
        with engine_in(folder, random.choice(models)) as asked:
            for use in uses:
                try:
                    use(asked)
                except MemnetError as error:
                    check_line(str(error))
                    refused = error
        if refused is not None:
            raise refused

    return open_door


def _settle(database: Path) -> None:
    """Let a database count as one that was opened where it is, which is not checked as a copy."""
    place = database.stat()
    connection = sqlite3.connect(database)
    try:
        with connection:
            connection.execute(
                "UPDATE property SET value = ? WHERE name = 'place'",
                (f"{place.st_dev} {place.st_ino}",),
            )
    finally:
        connection.close()


def _change_rows(random: Random, database: Path) -> None:
    connection = sqlite3.connect(database)
    tables = (
        "property", "source", "vector", "slot", "symbol", "slot_key", "mention", "link", "revision",
        "gone", "sqlite_sequence", "slot_text_data", "slot_text_docsize",
    )  # fmt: skip
    try:
        for _ in range(random.randint(1, 3)):
            table = random.choice(tables)
            columns = connection.execute(f"SELECT name FROM pragma_table_info('{table}')")
            column = random.choice([name for (name,) in columns] or ["none"])
            value = random.choice(
                (None, -1, 2**62, 0.5, 1e300, float("inf"), b"", b"\xff" * 64, "", "text", "\0")
            )
            with suppress(sqlite3.DatabaseError):
                if random.random() < 0.1:
                    connection.execute(random.choice(_FOREIGN))
                else:
                    where = random.choice(("1", "rowid % 2", "rowid = 3"))
                    connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))
        connection.commit()
    finally:
        connection.close()
