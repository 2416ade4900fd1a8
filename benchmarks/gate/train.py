"""Makes the gate that ships, from memories drawn at random (``worlds.py``).

python -m benchmarks.gate.train [--worlds 120] [--out memnet/shipped/gate]
"""

import argparse
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.gate.network import GateExample, fit_gate, save_gate
from benchmarks.gate.worlds import World, world
from memnet import Engine
from memnet.checkpoints import SHIPPED
from memnet.documents.question import Question
from memnet.experts.gate import EXPERTS, GATE, ExpertName, Gate, ModelVocabulary, features_of
from memnet.experts.registry import story_words
from memnet.storage import EVERYWHERE

_HELD_OUT = 5
"""Every fifth document, form of statement, relation and so on tells how well a gate does that was
trained on questions about the others only."""
_WITHOUT_MODEL = 7
"""Every seventh world has no fact model: its facts are the documents expert's to read."""
_HALF_KNOWN = 5
"""In every fifth world the fact model has not seen all relations."""


def main() -> None:
    """Make the worlds, train on most of them to see how well, then on all, and save that."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=120)
    parser.add_argument("--out", type=Path, default=SHIPPED / GATE)
    arguments = parser.parse_args()
    started = time.perf_counter()
    examples: list[GateExample] = []
    held_out: list[bool] = []
    encoder = ""
    for seed in range(arguments.worlds):
        with (
            tempfile.TemporaryDirectory() as folder,
            Engine.open(folder + "/store", create=True, answerer="untrained") as memory,
        ):
            encoder = memory.encoder.fingerprint
            given = world(seed)
            made = list(_examples(memory, given, seed))
            examples += made
            held_out += [zlib.crc32(one.about.encode()) % _HELD_OUT == 0 for one in given.asked][
                : len(made)
            ]
    parts = {
        part: [one for one, out in zip(examples, held_out, strict=True) if out == part]
        for part in (False, True)
    }
    trial = Gate(fit_gate(parts[False]), encoder)
    scores = {
        "with vector": _right(trial, parts[True], True),
        "without": _right(trial, parts[True], False),
    }
    notes = {
        "worlds": arguments.worlds,
        "questions": dict(Counter(one.expert for one in examples)),
        "right on what was held out": scores,
        "seed": 0,
    }
    save_gate(arguments.out, fit_gate(examples), encoder, notes)
    print(notes, f"{time.perf_counter() - started:.0f} s")


def _examples(memory: Engine, given: World, seed: int) -> Iterator[GateExample]:
    """The questions of a world with their features, asked of a memory that holds it."""
    inputs = [*given.documents, *given.facts]
    if given.story:
        path = memory.store.path.parent / "story.txt"
        path.write_text(given.story, encoding="utf-8")
        inputs.append(path)
    if inputs:
        memory.ingest(inputs)
    if given.statements:
        memory.tell(" ".join(given.statements))
    kinds = memory.store.contents.kinds()
    relations = sorted(memory.store.contents.relations())
    has_model = seed % _WITHOUT_MODEL != 0
    known = ModelVocabulary(
        frozenset(relations[:: 2 if seed % _HALF_KNOWN == 0 else 1] if has_model else ()),
        story_words() if "story" in kinds else frozenset(),
    )
    present: dict[ExpertName, bool] = {
        "documents": "document" in kinds or ("facts" in kinds and not has_model),
        "facts": "facts" in kinds and has_model,
        "statements": "statement" in kinds,
        "stories": "story" in kinds,
    }
    held = tuple(name for name in EXPERTS if present[name])
    if len(held) < 2:
        return
    vectors = memory.encoder.encode([one.question for one in given.asked])
    with memory.store.reading():
        for one, vector in zip(given.asked, vectors, strict=True):
            as_document = one.expert == "facts" and not has_model
            right = "documents" if as_document else one.expert
            rows = vector[None]
            asked = Question(one.question, memory.store, lambda _, rows=rows: rows, EVERYWHERE)  # type: ignore[misc]
            yield GateExample(features_of(asked, known), vector, held, right)


def _right(gate: Gate, examples: list[GateExample], with_vector: bool) -> float:
    """Share of questions whose expert has the largest weight."""
    right = [
        EXPERTS[
            int(gate.weigh(one.features, one.vector if with_vector else None, one.held).argmax())
        ]
        == one.expert
        for one in examples
    ]
    return round(float(np.mean(right)), 4)


if __name__ == "__main__":
    main()
