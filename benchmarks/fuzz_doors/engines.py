"""Memories for the doors, and what must hold of their answers whatever comes in."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from benchmarks.cheap_encoder import CheapEncoder
from benchmarks.hostile_inputs import TEXTS
from memnet import Config, Document, Engine, Fact, MemoryStore
from memnet.cli.show import explain, show_answer
from memnet.encoders.protocol import Encoder
from memnet.facts.hops import FactModelConfig
from memnet.facts.model import AnswerRule
from memnet.facts.training import new_fact_model, save_fact_model
from memnet.storage import Scope
from memnet.stories.model import StoryModel, save_story_model
from memnet.stories.network import StoryModelConfig, Vocabulary


def engine_in(
    folder: Path,
    model: str = "untrained",
    config: Config | None = None,
    encoder: Encoder | None = None,
    reader: str = "sentences",
) -> Engine:
    """An engine on the store in a folder, which is made if there is none."""
    encoder = encoder or CheapEncoder()
    store = MemoryStore(
        folder, fingerprint=encoder.fingerprint, dimension=encoder.dimension, create=True
    )
    try:
        return Engine(store, encoder, config or Config(threads=1), model, reader)
    except BaseException:
        store.close()
        raise


def fill(engine: Engine) -> None:
    """Let a memory hold some of everything."""
    engine.ingest(
        *(
            Document(id=f"d{place}", title="Orre Light", text=text)
            for place, text in enumerate(TEXTS)
        ),
        Fact(subject="Orre Light", relation="built by", object="Edda Rank"),
        Fact(subject="Edda Rank", relation="born in", object="Kestle"),
        Document(id="b", title="Edda Rank", text="Edda Rank was born in Kestle in 1880."),
    )  # fmt: skip
    engine.tell("Ann moved to Paris. Ann moved to Rome. Bo likes the Orre Light.")


def tiny_models(work: Path) -> tuple[Path, Path]:
    """Folders of a story model and a fact model that learned nothing."""
    story, facts = work / "tiny-story", work / "tiny-facts"
    if not story.exists():
        words = Vocabulary(["mary", "john", "where", "is", "the", "moved", "to", "bathroom"])
        sizes = StoryModelConfig(width=8, heads=2, inner=8, hops=2, blocks=1, queries=2)
        save_story_model(story, StoryModel(words, sizes), {})
        small = FactModelConfig(width=8, heads=2, inner=8, hops=2)
        model = new_fact_model(small, CheapEncoder.dimension, ["0" * 32, "1" * 32])
        save_fact_model(facts, model, AnswerRule(0.5, 1.0, 3.0), {})
    return story, facts


def check_answer(engine: Engine, question: str, **options: Any) -> None:
    """Ask, and check that the answer can be shown and cites its evidence exactly."""
    answer = engine.ask(question, **options)
    answer.model_dump_json()
    with redirect_stdout(io.StringIO()):
        show_answer(answer)
        explain(answer)
    for item in answer.evidence:
        hold(len(item.text) == item.end - item.start, "evidence is not its span")


def check_spans(engine: Engine, path: Path, namespace: str) -> None:
    """Every slot of a document is the span of its source that it says."""
    source = engine.get(str(path), namespace)
    text = "" if source is None else source.text
    last = [
        slot for slot in engine.store.last_passages(5, Scope(namespace)) if slot.source == str(path)
    ]
    for slot in last:
        hold(text[slot.start : slot.end] == slot.text, "a slot is not its span")


def check_line(message: str) -> None:
    """Check that a message is one line."""
    hold("\n" not in message, "a message of several lines")


def hold(condition: bool, broken: str) -> None:
    """Fail with ``broken`` unless the condition holds."""
    if not condition:
        raise AssertionError(broken)
