"""Sparse attention: how much of the softmax over a whole memory the slots that FAISS picks keep.

    python -m benchmarks.sparse_attention facts --data DIR
    python -m benchmarks.sparse_attention passages --data DIR --corpus DIR

Trained queries over two memories of 10,000 slots. In both a multiplicative score is trained to
attend to the right slots and then asked questions that it was not trained on.

Passages: trained on the question files of ``--data`` ({"question", "supporting": titles,
"passages": [{"title", "text"}]} a line) over their own passages; the memory is the first 10,000
passages of ``corpus.jsonl`` in ``--corpus``, asked the questions of the other files there. Many
passages are about right for such a question.

Facts: ``facts.tsv`` and the ``1hop`` questions ({"question", "answers"} a line) of ``--data``;
keys are subject and relation, and the facts that answer are known.
"""

import argparse
import json
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import faiss
import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.environment import environment
from memnet.attention import MultiplicativeScore, kept_mass
from memnet.encoders.minilm import MiniLMEncoder

_SLOTS = 10_000
_CANDIDATES = (8, 16, 32, 64, 128)
_STEPS = {"facts": 1500, "passages": 300}
_QUESTIONS = {"dev": 400, "train": 8000}
"""First so many of each file, as far as the facts that answer them are among the slots."""
_SCALE = 20.0
"""Of the score before training: an inverse temperature."""
_RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Train, measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("memory", choices=("facts", "passages"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    encoder = MiniLMEncoder(threads=2)
    if options.memory == "facts":
        memory = _facts(encoder, options.data)
    else:
        memory = _passages(encoder, options.data, options.corpus)
    torch.manual_seed(options.seed)
    score = MultiplicativeScore(encoder.dimension, encoder.dimension)
    with torch.no_grad():
        score.query.weight.copy_(_SCALE * torch.eye(encoder.dimension))
    loss = _fit(score, memory, _STEPS[options.memory])
    results: dict[str, Any] = {
        "environment": environment(),
        "seed": options.seed,
        "slots": len(memory.keys),
        "trained_on": len(memory.train_queries),
        "questions": len(memory.queries),
        "loss": loss,
        "kept": _kept(score, memory.queries, memory.keys),
    }
    path = options.out / f"sparse-{options.memory}.json"
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


@torch.no_grad()
def _kept(score: MultiplicativeScore, queries: Tensor, keys: Tensor) -> dict[str, dict[str, float]]:
    """For each number of candidates: mean and lowest mass kept, and where it is at least 0.99."""
    index = faiss.IndexFlatIP(keys.shape[1])
    index.add(keys.numpy())
    projected = score.query(queries).numpy()
    full = score(queries, keys)
    kept: dict[str, dict[str, float]] = {}
    for candidates in _CANDIDATES:
        ids = torch.from_numpy(index.search(projected, candidates)[1])
        mass = kept_mass(full, ids, torch.ones_like(ids, dtype=torch.bool))
        kept[str(candidates)] = {
            "mean": float(mass.mean()),
            "lowest": float(mass.min()),
            "share_at_least_0.99": float((mass >= 0.99).float().mean()),
        }
    return kept


class _Memory(NamedTuple):
    """Vectors [., D] float32 to train on and to measure with."""

    train_queries: Tensor
    train_keys: Tensor
    targets: Tensor
    """[training questions, training slots] float32: rows sum to one."""
    queries: Tensor
    keys: Tensor


def _facts(encoder: MiniLMEncoder, folder: Path) -> _Memory:
    """The facts that the first questions are about, filled up with others to 10,000."""
    triples = [line.split("\t") for line in (folder / "facts.tsv").read_text().splitlines()]
    about: dict[str, list[tuple[str, str, str]]] = {}
    for subject, relation, value in triples:
        about.setdefault(subject, []).append((subject, relation.replace("_", " "), value))
    asked = {
        split: _lines(folder / "1hop" / f"{split}.jsonl")[:count]
        for split, count in _QUESTIONS.items()
    }
    answering = {
        split: [_answering(about, line) for line in lines] for split, lines in asked.items()
    }
    needed = [fact for lists in answering.values() for facts in lists for fact in facts]
    rest = (fact for facts in about.values() for fact in facts)
    slots = list(islice(dict.fromkeys(chain(needed, rest)), _SLOTS))
    places = {fact: place for place, fact in enumerate(slots)}
    keys = torch.from_numpy(encoder.encode([f"{fact[0]} {fact[1]}" for fact in slots]))
    queries: dict[str, Tensor] = {}
    targets = torch.zeros(0)
    for split, lines in asked.items():
        kept = [
            row
            for row, facts in enumerate(answering[split])
            if facts and places.keys() >= set(facts)
        ]
        queries[split] = torch.from_numpy(encoder.encode([lines[row]["question"] for row in kept]))
        if split == "train":
            targets = torch.zeros(len(kept), len(slots))
            for number, row in enumerate(kept):
                targets[number, [places[fact] for fact in answering[split][row]]] = 1.0
    return _Memory(queries["train"], keys, _shares(targets), queries["dev"], keys)


def _answering(
    about: dict[str, list[tuple[str, str, str]]], line: dict[str, Any]
) -> list[tuple[str, str, str]]:
    """The facts of a subject that the question names whose values are its answers."""
    question, answers = line["question"], set(line["answers"])
    named = [subject for subject in about if subject in question]
    if not named:
        return []
    facts = about[max(named, key=len)]
    relations = {fact[1] for fact in facts if fact[2] in answers}
    return [fact for fact in facts if fact[1] in relations] if len(relations) == 1 else []


def _passages(encoder: MiniLMEncoder, folder: Path, corpus_folder: Path) -> _Memory:
    """Training questions over all their passages, and others over the head of a corpus."""
    lines = [line for file in sorted(folder.glob("*.jsonl")) for line in _lines(file)]
    texts = {
        f"{passage['title']}\n{passage['text']}": passage["title"]
        for line in lines
        for passage in line["passages"]
    }
    places: dict[str, list[int]] = {}
    for place, title in enumerate(texts.values()):
        places.setdefault(title, []).append(place)
    targets = torch.zeros(len(lines), len(texts))
    for row, line in enumerate(lines):
        for title in line["supporting"]:
            targets[row, places.get(title, [])] = 1.0
    corpus = corpus_folder / "corpus.jsonl"
    slots = [f"{line['title']}\n{line['text']}" for line in _lines(corpus)[:_SLOTS]]
    asked = [
        line["question"]
        for file in sorted(corpus_folder.glob("*.jsonl"))
        if file != corpus
        for line in _lines(file)
    ]
    train, keys, queries, memory = (
        torch.from_numpy(encoder.encode(given))
        for given in ([line["question"] for line in lines], list(texts), asked, slots)
    )
    return _Memory(train, keys, _shares(targets), queries, memory)


def _shares(targets: Tensor) -> Tensor:
    return targets / targets.sum(dim=1, keepdim=True).clamp(min=1.0)


def _fit(score: MultiplicativeScore, memory: _Memory, steps: int) -> dict[str, float]:
    optimizer = torch.optim.AdamW(score.parameters(), lr=1e-2, weight_decay=0.0)
    decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    losses: list[float] = []
    for _ in range(steps):
        rows = torch.randint(len(memory.train_queries), (64,))
        scores = score(memory.train_queries[rows], memory.train_keys)
        loss = nn.functional.cross_entropy(scores, memory.targets[rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        decay.step()
        losses.append(float(loss.detach()))
    return {"first": float(np.mean(losses[:20])), "last": float(np.mean(losses[-20:]))}


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
