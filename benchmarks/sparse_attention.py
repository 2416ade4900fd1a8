"""Sparse attention: how much of the softmax over a whole memory the slots that FAISS picks keep.

    python -m benchmarks.sparse_attention --train DIR --memory DIR

Trained queries: a multiplicative score is trained to attend to the passages that answer the
questions in the files of ``--train`` ({"question", "supporting": titles, "passages": [{"title",
"text"}]} a line). The memory is the first 10,000 passages of ``corpus.jsonl`` in ``--memory``, and
its queries are the questions of the other files there, none of them trained on.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.environment import environment
from memnet.attention import MultiplicativeScore, kept_mass
from memnet.encoders import MiniLMEncoder

_SLOTS = 10_000
_CANDIDATES = (8, 16, 32, 64, 128)
_STEPS = 300
_SCALE = 20.0
"""Of the score before training: an inverse temperature."""
_RESULTS = Path(__file__).parent / "results" / "sparse_attention.json"


def main() -> None:
    """Train, measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--memory", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    encoder = MiniLMEncoder(threads=2)
    score, loss = _trained(encoder, options.train)
    corpus = options.memory / "corpus.jsonl"
    passages = _lines(corpus)[:_SLOTS]
    asked = [
        line["question"]
        for file in sorted(options.memory.glob("*.jsonl"))
        if file != corpus
        for line in _lines(file)
    ]
    keys = encoder.encode([f"{line['title']}\n{line['text']}" for line in passages])
    results = {
        "environment": environment(),
        "slots": len(passages),
        "questions": len(asked),
        "loss": loss,
        "kept": _kept(score, encoder.encode(asked), keys),
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


@torch.no_grad()
def _kept(
    score: MultiplicativeScore, queries: NDArray[np.float32], keys: NDArray[np.float32]
) -> dict[str, dict[str, float]]:
    """For each number of candidates: mean and lowest mass kept, and where it is at least 0.99."""
    index = faiss.IndexFlatIP(keys.shape[1])
    index.add(keys)
    projected = score.query(torch.from_numpy(queries)).numpy()
    full = score(torch.from_numpy(queries), torch.from_numpy(keys))
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


def _trained(encoder: MiniLMEncoder, folder: Path) -> tuple[MultiplicativeScore, dict[str, float]]:
    """A score trained to attend to supporting passages among all passages of the files."""
    lines = [line for file in sorted(folder.glob("*.jsonl")) for line in _lines(file)]
    texts = {
        f"{passage['title']}\n{passage['text']}": passage["title"]
        for line in lines
        for passage in line["passages"]
    }
    titles = list(texts.values())
    places: dict[str, list[int]] = {}
    for place, title in enumerate(titles):
        places.setdefault(title, []).append(place)
    target = torch.zeros(len(lines), len(titles))
    for row, line in enumerate(lines):
        for title in line["supporting"]:
            target[row, places.get(title, [])] = 1.0
    target /= target.sum(dim=1, keepdim=True).clamp(min=1.0)
    keys = torch.from_numpy(encoder.encode(list(texts)))
    queries = torch.from_numpy(encoder.encode([line["question"] for line in lines]))
    score = MultiplicativeScore(queries.shape[1], keys.shape[1])
    with torch.no_grad():
        score.query.weight.copy_(_SCALE * torch.eye(queries.shape[1]))
    return score, _fit(score, queries, keys, target)


def _fit(
    score: MultiplicativeScore, queries: Tensor, keys: Tensor, target: Tensor
) -> dict[str, float]:
    optimizer = torch.optim.AdamW(score.parameters(), lr=1e-2, weight_decay=0.0)
    losses: list[float] = []
    for _ in range(_STEPS):
        rows = torch.randint(len(queries), (64,))
        loss = nn.functional.cross_entropy(score(queries[rows], keys), target[rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(float(loss.detach()))
    return {"first": float(np.mean(losses[:20])), "last": float(np.mean(losses[-20:]))}


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    main()
