"""Train the direct attention of the controller for documents, and the gate that gives its share.

    python -m benchmarks.train_direct --data DIR --stores STORES --out memnet/shipped/text

The hops of the model that ships stay as they are, the rest is learned anew. The questions, and the
memories that they are asked of, are some of those of ``benchmarks.train_query``; questions about
documents are asked as key words too, for which no link is to be followed. STORES keeps the
memories, so that a second run need not read them again.

Printed is how often a right passage comes first, and among five, by the hops and plain similarity
in equal parts and by what was learned, for questions of collections that nothing is learned from.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.train_query import all_memories, right_passages
from memnet import Engine
from memnet.attention.either import Weights
from memnet.checkpoints import MODEL, load_checkpoint, shipped_models
from memnet.documents.controller import HOP_PREFIXES, KIND, TextController, save_text_model
from memnet.documents.training.train import Example, fit_mixture, last_read
from memnet.learning import no_progress
from memnet.learning.loop import seeded, using_threads
from memnet.text.english import query_terms

# Documents count as much as chains do; what is asked as key words is the same questions again.
_WEIGHTS = {"documents": 2.0, "words": 0.5, "everyday": 1.0, "paragraphs": 0.5, "chains": 2.5}
_MOST = {"documents": 1200, "everyday": 10, "paragraphs": 700, "chains": 2700}  # Of one memory
_DEV = ("documents_dev", "everyday_dev")
_PASSAGES = 5
_SEED = 0

_Judged = Sequence[tuple[str, list[int]]]
"""Questions with the ids of right slots."""


def main() -> None:
    """Store the memories that are not stored yet, train, and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--stores", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.stores.mkdir(parents=True, exist_ok=True)
    arrays, description = load_checkpoint(shipped_models()[KIND], MODEL)
    hops = {name: array for name, array in arrays.items() if name.startswith(HOP_PREFIXES)}
    examples: dict[str, list[Example]] = {name: [] for name in _WEIGHTS}
    dev: list[tuple[str, Path, _Judged]] = []
    chosen = random.Random(_SEED)
    with using_threads(1), seeded(_SEED):
        for name, place, asked in _stored(options.data, options.stores):
            if name in _DEV:
                dev.append((name, place, asked))
                continue
            some = chosen.sample(asked, min(_MOST[name], len(asked)))
            examples[name] += _examples(place, hops, some)
            if name == "documents":
                words = [(" ".join(query_terms(text)), right) for text, right in some]
                examples["words"] += _examples(place, hops, words)
        print({name: len(of_name) for name, of_name in examples.items()}, flush=True)
        weighted = [
            example._replace(weight=_WEIGHTS[name] / len(of_name))
            for name, of_name in examples.items()
            for example in of_name
        ]
        with Engine.open(dev[0][1]) as engine:
            learned = fit_mixture(_controller(engine, hops), weighted, no_progress)
    print("before:", _found(dev, hops), flush=True)
    print("after:", _found(dev, learned.arrays()))
    notes = {
        "hops": description["trained"].get("hops", description["trained"]),
        "direct": {"made_by": "python -m benchmarks.train_direct", "questions": len(weighted)},
    }
    save_text_model(options.out, learned, notes)


def _controller(engine: Engine, arrays: Weights) -> TextController:
    config = engine.config.hop
    return TextController(config, TextController(config).arrays() | dict(arrays))


def _stored(data: Path, stores: Path) -> Iterator[tuple[str, Path, list[tuple[str, list[int]]]]]:
    """The memories of all groups that are wanted, with their questions."""
    for name, memories in all_memories(data):
        if name not in _MOST and name not in _DEV:
            continue
        for number, (documents, asked) in enumerate(memories):
            place = stores / f"{name}-{number}"
            if not place.exists():
                with tempfile.TemporaryDirectory(dir=stores) as scratch:
                    part = Path(scratch, "store")
                    with Engine.open(part, create=True) as engine:
                        engine.ingest(documents)
                    part.rename(place)
            with Engine.open(place) as engine:
                yield name, place, list(right_passages(engine.store, asked))


def _examples(place: Path, arrays: Weights, asked: _Judged) -> list[Example]:
    examples: list[Example] = []
    with Engine.open(place) as engine:
        controller = _controller(engine, arrays)
        for text, right in asked:
            candidates = last_read(engine, controller, text, len(HOP_PREFIXES)).candidates
            is_right = np.isin(candidates.ids, right).astype(np.float32)
            if is_right.any():
                examples.append(Example(candidates, is_right, 1.0))
    return examples


def _found(dev: Sequence[tuple[str, Path, _Judged]], arrays: Weights) -> Mapping[str, list[float]]:
    """Of 100 questions, for how many a right passage comes first, and among five, by group."""
    counts: dict[str, list[int]] = {name: [0, 0, 0] for name in _DEV}
    for name, place, asked in dev:
        with Engine.open(place) as engine:
            controller = _controller(engine, arrays)
            for text, right in asked:
                read = last_read(engine, controller, text, len(HOP_PREFIXES))
                is_right = np.isin(read.ids[:_PASSAGES], right)
                for index, one in enumerate((is_right[0], is_right.any(), True)):
                    counts[name][index] += int(one)
    return {
        name: [round(100 * first / count, 1), round(100 * five / count, 1)]
        for name, (first, five, count) in counts.items()
    }


if __name__ == "__main__":
    main()
