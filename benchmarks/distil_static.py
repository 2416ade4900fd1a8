"""Fit the table of quick vectors that ships with memnet to the vectors of the default encoder.

    python -m benchmarks.distil_static --data DIR --scratch DIR2 --out memnet/shipped/static

DIR holds public research data: ``multihop_train``, ``reader_more`` and ``docs_train``. Texts that
are in the corpus of ``multihop``, by which the result is measured, are left out. DIR2 keeps the
encoded texts, so that a run that was stopped goes on.

1. The default encoder encodes every token of its vocabulary by itself.
2. Rows are weighted by smooth inverse frequency in the texts and reduced to principal components,
   as model2vec does; components are the first projection.
3. Table and projection are fitted to the vectors that the encoder gives whole texts, as tokenlearn
   does: the loss is one minus the cosine of both vectors, and the squared difference of the cosines
   that the encoder's vectors of a batch have among themselves and with the quick ones. A token is
   held to its first vector, most where few texts have it.
4. Rows are rounded to eight bits, each with a scale.

Source: Tulkens and van Dongen 2024 (model2vec, tokenlearn); Arora et al. 2017 (smooth inverse
frequency).
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, normalize

from memnet.checkpoints import save_checkpoint
from memnet.encoders.bert import BertNetwork
from memnet.encoders.minilm import RANK, STATIC, VOCABULARY, MiniLMEncoder
from memnet.encoders.weights import load_tokenizer

_CHARACTERS = 1000
"""Of a text: as long as a window of a document."""
_PART = 2000
"""Texts of a file of vectors."""
_SETS = (
    ("multihop_train", 9_999),
    ("multihop2", 12_000),
    ("single", 6_000),
    ("questions", 5_000),
)
"""Most texts of each kind."""
_SINGLE = (
    "squadshifts_wiki", "fairytaleqa", "tatqa", "friendsqa", "covidqa", "squadshifts_reddit",
    "sleepqa",
)  # fmt: skip
_HELD_OUT = 1000
_FREQUENCY = 1e-3
"""Constant a of the weights a / (a + p)."""
_CLS, _SEP = 101, 102

FloatArray = NDArray[np.float32]


def main() -> None:
    """Encode, fit and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", type=int, help=f"use the first parts of {_PART} texts only")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--hold", type=float, default=3.0, help="how far tokens keep their vectors")
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    parts = _encoded(_texts(options.data), options.scratch, options.parts)
    texts = [text for part, _ in parts for text in part]
    wanted = np.concatenate([vectors for _, vectors in parts])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    tokenizer = load_tokenizer()
    tokens = [np.array(one.ids) for one in tokenizer.encode_batch_fast(texts)]
    fitted = _fit(tokens, wanted, _token_vectors(options.scratch), options.epochs, options.hold)
    arrays = _rounded(*fitted)
    seen = slice(len(texts) - _HELD_OUT, None)
    cosine = _cosines(arrays, tokens[seen], wanted[seen])
    notes = {
        "texts": len(texts) - _HELD_OUT, "held_out": _HELD_OUT, "held_out_cosine": cosine,
        "epochs": options.epochs, "hold": options.hold,
        "versions": {name: version(name) for name in ("torch", "numpy", "tokenizers")},
    }  # fmt: skip
    save_checkpoint(options.out, STATIC, arrays, {"kind": STATIC, "trained": notes})
    print(json.dumps(notes, indent=1))


def _texts(data: Path) -> list[str]:
    """Passages as they are encoded, with their titles, and questions, in random order."""
    measured = {one["text"] for one in _lines(data / "multihop/corpus.jsonl")}
    found: dict[str, set[str]] = {name: set() for name, _ in _SETS}
    for name in ("hotpot", "musique", "2wiki"):
        for one in _lines(data / f"multihop_train/{name}.jsonl"):
            found["questions"].add(one["question"])
            found["multihop_train"] |= _passages(one, measured)
    for one in _lines(data / "reader_more/multihop2.jsonl.gz"):
        found["multihop2"] |= _passages(one, measured)
    for name in _SINGLE:
        for one in _lines(data / f"reader_more/{name}.jsonl.gz"):
            found["questions"].add(one["question"])
            title = f"{one['title']}\n" if one["title"] else ""
            found["single"].add(title + one["text"][:_CHARACTERS])
    for file in (data / "docs_train").glob("*.jsonl"):
        for one in _lines(file):
            found["questions"].add(one["question"])
            found["single"].add(one["passage"][:_CHARACTERS])
    rng = random.Random(0)
    chosen: dict[str, None] = {}
    for name, most in _SETS:
        texts = sorted(found[name] - chosen.keys())
        rng.shuffle(texts)
        chosen |= dict.fromkeys(texts[:most])
    texts = list(chosen)
    rng.shuffle(texts)
    return texts


def _passages(asked: dict[str, Any], measured: set[str]) -> set[str]:
    return {
        f"{one['title']}\n{one['text']}"[:_CHARACTERS]
        for one in asked["passages"]
        if one["text"] not in measured
    }


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _encoded(
    texts: Sequence[str], scratch: Path, most: int | None
) -> list[tuple[list[str], FloatArray]]:
    """Parts of the texts with their vectors [N, 384] float32; encodes what no file has yet."""
    encoder = MiniLMEncoder(threads=2)
    parts: list[tuple[list[str], FloatArray]] = []
    for start in list(range(0, len(texts), _PART))[:most]:
        part, file = list(texts[start : start + _PART]), scratch / f"{start:06}.npy"
        kept = file.with_suffix(".json")
        if not file.exists() or json.loads(kept.read_text()) != part:
            np.save(file, encoder.encode(part).astype(np.float16))
            kept.write_text(json.dumps(part))
        parts.append((part, np.load(file).astype(np.float32)))
    return parts


def _token_vectors(scratch: Path) -> FloatArray:
    """Every token between [CLS] and [SEP], encoded: [V, 384] float32."""
    file = scratch / "tokens.npy"
    if not file.exists():
        network = BertNetwork.load()
        ids = np.arange(VOCABULARY)
        texts = np.stack([np.full_like(ids, _CLS), ids, np.full_like(ids, _SEP)], axis=1)
        np.save(file, np.concatenate([network.embed(one) for one in np.array_split(texts, 60)]))
    vectors: FloatArray = np.load(file)
    return vectors


def _fit(
    tokens: Sequence[NDArray[np.int64]],
    wanted: FloatArray,
    alone: FloatArray,
    epochs: int,
    hold: float,
    batch: int = 256,
) -> tuple[FloatArray, FloatArray]:
    """Table [V, R] and projection [R, 384], float32.

    Args:
        tokens: ids of each of N texts; the last ones are held out.
        wanted: [N, 384] float32: their vectors.
        alone: [V, 384] float32: vectors of single tokens.
        epochs: rounds over all texts.
        hold: weight of the squared distance of a token from its first vector.
        batch: texts of a step.
    """
    counts = np.bincount(np.concatenate(tokens[:-_HELD_OUT]), minlength=VOCABULARY)
    share = counts / counts.sum()
    centred = alone - alone.mean(axis=0)
    _, _, components = np.linalg.svd(centred[::3], full_matrices=False)
    weight = (_FREQUENCY / (_FREQUENCY + share)).astype(np.float32)
    first = torch.tensor(centred @ components[:RANK].T * weight[:, None])
    table, projection = nn.Parameter(first.clone()), nn.Parameter(torch.tensor(components[:RANK]))
    optimizer = torch.optim.Adam(
        [{"params": [table], "lr": 2e-3}, {"params": [projection], "lr": 1e-3}]
    )
    steps = epochs * ((len(tokens) - _HELD_OUT) // batch)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    rng, targets = np.random.default_rng(0), torch.tensor(wanted)
    for epoch in range(epochs):
        order = rng.permutation(len(tokens) - _HELD_OUT)
        for start in range(0, len(order) - batch + 1, batch):
            chosen = order[start : start + batch]
            used, target = [tokens[one] for one in chosen], targets[chosen]
            vectors = normalize(_pooled(table, used) @ projection, dim=1)
            near = 1 - (vectors * target).sum(dim=1).mean()
            likeness = nn.functional.mse_loss(target @ vectors.T, target @ target.T)
            present = torch.tensor(np.unique(np.concatenate(used)))
            moved = (table[present] - first[present]).square().sum(dim=1)
            rare = torch.tensor(1 / (1 + counts[present.numpy()]), dtype=torch.float32)
            loss = near + 5 * likeness + hold * (moved * rare).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
        found = {"table": table.detach().numpy(), "projection": projection.detach().numpy()}
        cosine = _cosines(found, tokens[-_HELD_OUT:], wanted[-_HELD_OUT:])
        print(f"epoch {epoch + 1}: cosine of held-out texts {cosine:.4f}", flush=True)
    return table.detach().numpy(), projection.detach().numpy()


def _pooled(table: Tensor, tokens: Sequence[NDArray[np.int64]]) -> Tensor:
    """Mean rows of the table: [N, R] float32."""
    starts = np.cumsum([0, *(len(one) for one in tokens[:-1])])
    ids = torch.tensor(np.concatenate(tokens))
    return embedding_bag(ids, table, torch.tensor(starts), mode="mean")


def _cosines(
    arrays: dict[str, Any], tokens: Sequence[NDArray[np.int64]], wanted: FloatArray
) -> float:
    """Mean cosine of quick vectors with those wanted."""
    scale = arrays.get("scale", np.ones(VOCABULARY, np.float32))
    table = torch.tensor(arrays["table"] * scale[:, None])
    with torch.inference_mode():
        vectors = normalize(_pooled(table, tokens) @ torch.tensor(arrays["projection"]), dim=1)
    return float((vectors.numpy() * wanted).sum(axis=1).mean())


def _rounded(table: FloatArray, projection: FloatArray) -> dict[str, NDArray[Any]]:
    """The arrays of a ``StaticEncoder``."""
    scale = np.maximum(np.abs(table).max(axis=1), 1e-9).astype(np.float32) / 127
    return {
        "table": np.rint(table / scale[:, None]).astype(np.int8),
        "scale": scale,
        "projection": np.ascontiguousarray(projection, np.float32),
    }


if __name__ == "__main__":
    main()
