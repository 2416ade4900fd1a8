"""Every door by which something from outside comes into memnet, to be tried with bad inputs.

A door is made once in a folder of its own and then opened with one source of randomness after the
other. What it may raise is a ``MemnetError``, or pydantic's error where a caller makes a value.
"""

import hashlib
import io
import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from pathlib import Path
from random import Random
from typing import Any

from safetensors.torch import load, save

from benchmarks.cheap_encoder import CheapEncoder
from benchmarks.hostile_inputs import (
    TEXTS,
    changed_bytes,
    changed_json,
    hostile_bytes,
    hostile_text,
    hostile_value,
    json_line,
)
from memnet import Config, Document, Engine, Fact, MemoryStore
from memnet.cli.show import show_answer, show_hops
from memnet.config import HopConfig, WriteConfig
from memnet.encoders import Encoder, MiniLMEncoder
from memnet.encoders.vocabulary import Vocabulary
from memnet.evaluation.stories import evaluate_stories, read_story_questions
from memnet.ingest.questions import read_questions
from memnet.models.facts import AnswerRule, FactModel, FactModelConfig
from memnet.models.stored import (
    load_model,
    load_story_model,
    model_folder,
    save_fact_model,
    save_story_model,
)
from memnet.models.story import StoryModel, StoryModelConfig
from memnet.storage import import_bundle

Door = Callable[[Random], None]

_SUFFIXES = (".txt", ".md", ".jsonl", ".tsv")
_KEPT_FILES = 40
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
_TOLD = 60


def ask(work: Path) -> Door:
    """Questions, to every kind of model."""
    story, facts = _tiny_models(work)
    engines = [
        _engine(work / f"store-{place}", model)
        for place, model in enumerate(("untrained", "text", str(facts), str(story)))
    ]
    for engine in engines:
        _fill(engine)

    def open_door(random: Random) -> None:
        engine = random.choice(engines)
        _check_answer(
            engine,
            hostile_text(random, TEXTS[:3]),
            hops=random.choice((None, None, 1, 3, 0, -1, 2**70)),
            top_k=random.choice((None, None, 1, 50, 0, -5, 2**70)),
            namespace=random.choice((None, None, "", "a", hostile_text(random))),
        )

    return open_door


def tell(work: Path) -> Door:
    """Texts that are told, and names whose history is asked for."""
    engine = _engine(work / "store", config=Config(write=WriteConfig(capacity=_TOLD)))

    def open_door(random: Random) -> None:
        if random.random() < 0.2:
            engine.history(hostile_text(random), namespace=random.choice((None, "", "\ud800")))
            return
        namespace = random.choice(("", "", "", hostile_text(random)))
        report = engine.write(hostile_text(random, TEXTS[1:3]), namespace=namespace)
        report.model_dump_json()

    return open_door


def forget(work: Path) -> Door:
    """Source ids to forget."""
    engine = _engine(work / "store")
    _fill(engine)

    def open_door(random: Random) -> None:
        engine.forget(*(hostile_text(random, ["b", "told/1"]) for _ in range(random.randint(0, 3))))

    return open_door


def files(work: Path) -> Door:
    """Files of every kind, by names of every kind, as documents and as facts."""
    engine = _engine(work / "store")

    def open_door(random: Random) -> None:
        path = work / f"file-{random.randrange(_KEPT_FILES)}{random.choice(_SUFFIXES)}"
        if path.suffix == ".jsonl" and random.random() < 0.5:
            lines = [json_line(random, ("id", "title", "text", "metadata")) for _ in range(3)]
            path.write_text("\n".join(lines), encoding="utf-8", errors="surrogatepass")
        else:
            path.write_bytes(hostile_bytes(random))
        namespace = random.choice(("", "", "", "", hostile_text(random)))
        report = engine.ingest(
            random.choice((path, path, path, work / f"x{hostile_text(random)}")),
            namespace=namespace,
            facts=random.random() < 0.3,
            on_problem=lambda problem: _one_line(str(problem)),
        )
        if report.unchanged + report.updated + report.added and not report.skipped:
            _check_spans(engine, path, namespace)

    return open_door


def stream(work: Path) -> Door:
    """Standard input."""
    engine = _engine(work / "store")

    def open_door(random: Random) -> None:
        engine.ingest(
            io.BytesIO(hostile_bytes(random)),
            facts=random.random() < 0.4,
            on_problem=lambda problem: _one_line(str(problem)),
        )
        if engine.info().documents > _KEPT_FILES * 10:
            engine.forget(*(row.source for row in engine._store.fetch(range(1, 10**6))))

    return open_door


def documents(work: Path) -> Door:
    """Documents and facts as values of a program."""
    engine = _engine(work / "store")

    def open_door(random: Random) -> None:
        value: Any
        if random.random() < 0.5:
            value = Document.model_validate(
                {
                    "id": random.choice(("a", "b", hostile_text(random))),
                    "text": random.choice((*TEXTS, hostile_value(random))),
                    "title": random.choice(("", "Orre", hostile_text(random))),
                    "metadata": random.choice(({}, {"a": hostile_value(random)})),
                }
            )
        else:
            value = Fact.model_validate(
                {
                    name: random.choice((name, hostile_text(random)))
                    for name in ("subject", "relation", "object")
                }
            )
        engine.ingest(value, on_problem=lambda problem: _one_line(str(problem)))

    return open_door


def questions(work: Path) -> Door:
    """Question files and files of stories, which are answered."""
    story, _ = _tiny_models(work)
    model = load_story_model(story)
    path = work / "questions.jsonl"

    def open_door(random: Random) -> None:
        if random.random() < 0.4:
            fields = ("id", "question", "answers", "gold", "hops")
            path.write_text(json_line(random, fields), encoding="utf-8", errors="surrogatepass")
        else:
            path.write_bytes(hostile_bytes(random, (TEXTS[5], TEXTS[5], TEXTS[7])))
        stories = read_story_questions(path)
        if stories is None:
            read_questions(path)
        else:
            evaluate_stories(model, stories)

    return open_door


def models(work: Path) -> Door:
    """Model folders: changed descriptions, changed tensors with a right checksum, changed bytes."""
    originals = [model_folder("text"), *_tiny_models(work)]
    engine = _engine(work / "store")
    _fill(engine)
    folder = work / "model"

    def open_door(random: Random) -> None:
        original = random.choice(originals)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(original, folder)
        _change_model(random, folder)
        load_model(folder, HopConfig())
        with _engine(work / "store", str(folder)) as asked:
            _check_answer(asked, "Who built the Orre Light?")

    return open_door


def bundles(work: Path) -> Door:
    """Bundles: changed bytes, and members with changed bytes or values under a right checksum."""
    with _engine(work / "store") as engine:
        _fill(engine)
        engine.export(work / "memory.zip")
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
            with _engine(copy) as asked:
                _hold(not asked.verify().problems, "an imported store does not verify")
                _check_answer(asked, TEXTS[0])
                asked.history("Ann")
        finally:
            shutil.rmtree(copy, ignore_errors=True)

    return open_door


def databases(work: Path) -> Door:
    """Stores whose database was changed: its bytes, a value of a row, or its schema."""
    with _engine(work / "store") as engine:
        _fill(engine)
    folder = work / "changed"

    def open_door(random: Random) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(work / "store", folder)
        database = folder / "memory.sqlite3"
        if random.random() < 0.4:
            database.write_bytes(changed_bytes(random, database.read_bytes()))
        else:
            _change_rows(random, database)
        with _engine(folder) as asked:
            _check_answer(asked, random.choice(TEXTS[:3]))
            asked.history("Ann")
            asked.info()
            asked.write("Ann moved to Oslo.")
            asked.ingest(Document(id="b", text="Another text about the Orre Light."))
            asked.verify(repair=True)
            asked.export(work / "out.zip")

    return open_door


def configuration(work: Path) -> Door:
    """Settings."""
    engine = _engine(work / "store")
    _fill(engine)
    engine.close()

    def open_door(random: Random) -> None:
        value = changed_json(random, Config().model_dump())
        config = Config.model_validate(value)
        with _engine(work / "store", config=config) as asked:
            asked.ingest(Document(id="c", text=TEXTS[random.randrange(4)]))
            asked.write("Ann moved to Rome.")
            _check_answer(asked, TEXTS[0])

    return open_door


def real(work: Path) -> Door:
    """Questions, told texts and documents with the encoder and the reader that ship."""
    encoder = MiniLMEncoder()
    config = Config(write=WriteConfig(capacity=_TOLD), threads=1)
    engine = _engine(work / "store", "text", config, encoder, "spans")
    _fill(engine)

    def open_door(random: Random) -> None:
        kind = random.randrange(3)
        text = hostile_text(random, TEXTS[:4])
        if kind == 0:
            _check_answer(engine, text)
        elif kind == 1:
            engine.write(text)
        else:
            engine.ingest(io.BytesIO(hostile_bytes(random)), on_problem=lambda _: None)

    return open_door


def _engine(
    folder: Path,
    model: str = "untrained",
    config: Config | None = None,
    encoder: Encoder | None = None,
    reader: str = "sentences",
) -> Engine:
    encoder = encoder or CheapEncoder()
    store = MemoryStore(
        folder, fingerprint=encoder.fingerprint, dimension=encoder.dimension, create=True
    )
    try:
        return Engine(store, encoder, config or Config(threads=1), model, reader)
    except BaseException:
        store.close()
        raise


def _fill(engine: Engine) -> None:
    engine.ingest(
        *(
            Document(id=f"d{place}", title="Orre Light", text=text)
            for place, text in enumerate(TEXTS)
        ),
        Fact(subject="Orre Light", relation="built by", object="Edda Rank"),
        Fact(subject="Edda Rank", relation="born in", object="Kestle"),
        Document(id="b", title="Edda Rank", text="Edda Rank was born in Kestle in 1880."),
    )  # fmt: skip
    engine.write("Ann moved to Paris. Ann moved to Rome. Bo likes the Orre Light.")


def _check_answer(engine: Engine, question: str, **options: Any) -> None:
    answer = engine.ask(question, **options)
    answer.model_dump_json()
    with redirect_stdout(io.StringIO()):
        show_answer(answer)
        show_hops(answer)
    for item in answer.evidence:
        _hold(len(item.text) == item.end - item.start, "evidence is not its span")


def _check_spans(engine: Engine, path: Path, namespace: str) -> None:
    """Every slot of a document is the span of the file that it says."""
    if path.suffix == ".jsonl":
        return
    data = path.read_bytes()
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    last = [slot for slot in engine._store.last_passages(5, namespace) if slot.source == str(path)]
    for slot in last:
        _hold(text[slot.start : slot.end] == slot.text, "a slot is not its span")


def _one_line(message: str) -> None:
    _hold("\n" not in message, "a message of several lines")


def _write_changed(random: Random, members: dict[str, bytes], path: Path) -> None:
    chosen = random.choice(list(members))
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            changed = data
            if name == chosen and name.endswith("json") | name.endswith("jsonl"):
                lines = data.splitlines()
                place = random.randrange(len(lines))
                value = changed_json(random, json.loads(lines[place]))
                lines[place] = json.dumps(value).encode()
                changed = b"\n".join([*lines, b""])
            elif name == chosen:
                changed = changed_bytes(random, data)
            archive.writestr(name, changed)


def _change_rows(random: Random, database: Path) -> None:
    connection = sqlite3.connect(database)
    tables = ("property", "source", "vector", "slot", "symbol", "slot_key", "mention", "link")
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


def _hold(condition: bool, broken: str) -> None:
    if not condition:
        raise AssertionError(broken)


def _tiny_models(work: Path) -> tuple[Path, Path]:
    story, facts = work / "tiny-story", work / "tiny-facts"
    if not story.exists():
        words = Vocabulary(["mary", "john", "where", "is", "the", "moved", "to", "bathroom"])
        sizes = StoryModelConfig(width=8, heads=2, inner=8, hops=2, blocks=1, queries=2)
        save_story_model(story, StoryModel(words, sizes), {})
        small = FactModelConfig(width=8, heads=2, inner=8, hops=2)
        model = FactModel(small, CheapEncoder.dimension, ["0" * 32, "1" * 32])
        save_fact_model(facts, model, AnswerRule(0.5, 0.01), {})
    return story, facts


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


DOORS: dict[str, tuple[Callable[[Path], Door], int]] = {
    "ask": (ask, 26),
    "tell": (tell, 14),
    "forget": (forget, 4),
    "files": (files, 20),
    "stream": (stream, 8),
    "documents": (documents, 7),
    "questions": (questions, 9),
    "models": (models, 4),
    "bundles": (bundles, 2),
    "databases": (databases, 1),
    "configuration": (configuration, 2),
    "real": (real, 3),
}
"""Each door and its share of the inputs, in hundredths."""
