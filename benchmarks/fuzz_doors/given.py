"""Doors for what is given at a call: texts, files, streams, values, questions and settings."""

import io
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.fuzz_doors.door import Door
from benchmarks.fuzz_doors.engines import (
    check_answer,
    check_line,
    check_spans,
    engine_in,
    fill,
    tiny_models,
)
from benchmarks.hostile_inputs import (
    TEXTS,
    changed_json,
    hostile_bytes,
    hostile_text,
    hostile_value,
    json_line,
)
from memnet import Config, Document, Fact
from memnet.config import TellConfig
from memnet.encoders.minilm import MiniLMEncoder
from memnet.learning.evaluation import read_questions
from memnet.stories.answers import evaluate_stories, read_story_questions
from memnet.stories.network import load_story_model

_SUFFIXES = (".txt", ".md", ".jsonl", ".tsv")
_KEPT_FILES = 40
_TOLD = 60


def ask(work: Path) -> Door:
    """Questions, to every kind of model."""
    story, facts = tiny_models(work)
    engines = [
        engine_in(work / f"store-{place}", model)
        for place, model in enumerate(("untrained", "text", str(facts), str(story)))
    ]
    for engine in engines:
        fill(engine)

    def open_door(random: Random) -> None:
        engine = random.choice(engines)
        check_answer(
            engine,
            hostile_text(random, TEXTS[:3]),
            hops=random.choice((None, None, 1, 3, 0, -1, 2**70)),
            top_k=random.choice((None, None, 1, 50, 0, -5, 2**70)),
            namespace=random.choice((None, None, "", "a", hostile_text(random))),
        )

    return open_door


def tell(work: Path) -> Door:
    """Texts that are told, and names whose history is asked for."""
    engine = engine_in(work / "store", config=Config(tell=TellConfig(capacity=_TOLD)))

    def open_door(random: Random) -> None:
        if random.random() < 0.2:
            engine.history(hostile_text(random), namespace=random.choice((None, "", "\ud800")))
            return
        namespace = random.choice(("", "", "", hostile_text(random)))
        report = engine.tell(hostile_text(random, TEXTS[1:3]), namespace=namespace)
        report.model_dump_json()

    return open_door


def forget(work: Path) -> Door:
    """Source ids to forget."""
    engine = engine_in(work / "store")
    fill(engine)

    def open_door(random: Random) -> None:
        engine.forget(*(hostile_text(random, ["b", "told/1"]) for _ in range(random.randint(0, 3))))

    return open_door


def files(work: Path) -> Door:
    """Files of every kind, by names of every kind, as documents and as facts."""
    engine = engine_in(work / "store")

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
            on_problem=lambda problem: check_line(str(problem)),
        )
        if report.unchanged + report.updated + report.added and not report.skipped:
            check_spans(engine, path, namespace)

    return open_door


def stream(work: Path) -> Door:
    """Standard input."""
    engine = engine_in(work / "store")

    def open_door(random: Random) -> None:
        engine.ingest(
            io.BytesIO(hostile_bytes(random)),
            facts=random.random() < 0.4,
            on_problem=lambda problem: check_line(str(problem)),
        )
        if engine.info().documents > _KEPT_FILES * 10:
            engine.forget(*(row.source for row in engine.store.fetch(range(1, 10**6))))

    return open_door


def documents(work: Path) -> Door:
    """Documents and facts as values of a program."""
    engine = engine_in(work / "store")

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
        engine.ingest(value, on_problem=lambda problem: check_line(str(problem)))

    return open_door


def questions(work: Path) -> Door:
    """Question files and files of stories, which are answered."""
    story, _ = tiny_models(work)
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


def configuration(work: Path) -> Door:
    """Settings."""
    engine = engine_in(work / "store")
    fill(engine)
    engine.close()

    def open_door(random: Random) -> None:
        value = changed_json(random, Config().model_dump())
        config = Config.model_validate(value)
        with engine_in(work / "store", config=config) as asked:
            asked.ingest(Document(id="c", text=TEXTS[random.randrange(4)]))
            asked.tell("Ann moved to Rome.")
            check_answer(asked, TEXTS[0])

    return open_door


def real(work: Path) -> Door:
    """Questions, told texts and documents with the encoder and the reader that ship."""
    encoder = MiniLMEncoder()
    config = Config(tell=TellConfig(capacity=_TOLD), threads=1)
    engine = engine_in(work / "store", "text", config, encoder, "spans")
    fill(engine)

    def open_door(random: Random) -> None:
        kind = random.randrange(3)
        text = hostile_text(random, TEXTS[:4])
        if kind == 0:
            check_answer(engine, text)
        elif kind == 1:
            engine.tell(text)
        else:
            engine.ingest(io.BytesIO(hostile_bytes(random)), on_problem=lambda _: None)

    return open_door
