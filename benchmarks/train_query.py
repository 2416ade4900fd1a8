"""Train the low-rank additions by which questions are encoded, with all keys frozen.

    python -m benchmarks.train_query --data DIR --keys KEYS --seconds 720 --out memnet/shipped/query

What is stored keeps its vectors: only questions are encoded anew. The questions and the memories
that they are asked of are those of ``all_memories``; KEYS keeps the vectors, keys of units and BM25
of each, so that a second run starts at once. The loss is that of the score which finds passages:
half the cosine of the passage, half that of its best unit, and 0.2 BM25, in a softmax over all
passages of the memory, of which the right ones are to have the weight. So the additions learn what
words do not find. Passages nearly the same as a right one are left out.

Saved is the moving average of the additions, shortened to ``_KEPT``, in half precision. Printed is
how often a right passage comes first, and among five, for questions of collections that nothing is
learned from.

Source: Hu et al. 2022 (LoRA); Karpukhin et al. 2020, section 3.2 (the loss), with passages frozen.
"""

import argparse
import math
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor, nn

from benchmarks.questions import collapsed, unpack_everyday
from benchmarks.reader_data.documents import collections
from benchmarks.reader_data.files import lines
from benchmarks.reader_data.held_out import part_of, part_of_collection
from memnet import Document, Engine
from memnet.checkpoints import save_checkpoint
from memnet.documents.question import Question
from memnet.encoders.bert import BertNetwork
from memnet.encoders.minilm import QUERY, MiniLMEncoder
from memnet.encoders.onnx_graph import DOWN, UP
from memnet.encoders.protocol import query_encode
from memnet.encoders.weights import (
    WEIGHTS_SHA256,
    internal_name,
    load_tokenizer,
    published_weights,
)
from memnet.storage import MemoryStore

_SETS = {
    "paragraphs": ("squad_train_parts", "squadshifts_wiki", "nq_oracle", "qed_nq", "popqa",
                   "quoref_ni", "timeqa"),
    "science": ("covidqa", "bioasq", "sleepqa", "tatqa", "relations_redocred"),
}  # fmt: skip
_LEAST, _MOST = 120, 26_000  # Characters of a paragraph, and questions of a group of sets
# How often a batch is drawn from each group of memories.
_SHARES = {"documents": 3, "everyday": 4, "paragraphs": 3, "chains": 1, "science": 1}
_DEV = ("documents_dev", "everyday_dev")
_RANK, _FIRST_LAYER = 16, 3
_BATCH, _MEMORIES = 128, 8  # Questions of a batch, and memories that it is of where they are small
_CANDIDATES = 192  # Passages with a gradient: the right ones and the likeliest others
_LEXICAL = 0.2  # Weight of BM25, as ``HopConfig.lexical_weight``
_TEMPERATURE = 0.05  # At the start; it is learned
_SAME = 0.88  # Cosine from which a passage says much the same as a right one
_DROPPED, _DROPOUT = 0.1, 0.1  # Tokens of questions, and inputs of the additions, that are left out
_WARM_UP, _DECAY, _RATE = 100, 0.98, 5e-4
# Share of the additions that is kept: between the encoder and what was learned lies what finds most
# in documents of other kinds (Wortsman et al. 2022, section 3).
_KEPT = 0.6
_MAX_TOKENS = 64

Asked = tuple[str, Sequence[tuple[str | None, str | None]]]
"""A question, and for each piece of evidence its source and a quotation of it, where known."""


@dataclass(frozen=True)
class _Memory:
    """The keys of one memory, and questions about it. N passages, M units."""

    vectors: Tensor  # [N, 384] float32
    units: Tensor  # [M, 128] float32, passage by passage
    sizes: Tensor  # [N] int64: units of each passage
    questions: Sequence[str]
    right: Sequence[NDArray[np.int64]]  # Passages, for each question
    sharing: Sequence[NDArray[np.int64]]  # Passages that share words with it
    lexical: Sequence[NDArray[np.float32]]  # Their BM25 over the best of them

    def scores(self, asked: Sequence[int], queries: Tensor, of_units: Tensor) -> "_Scores":
        """Scores [B, N] of all passages for some questions, whose vectors are given."""
        units = of_units @ self.units.T
        best = torch.segment_reduce(units.T.contiguous(), "max", lengths=self.sizes, axis=0).T
        cosines = queries @ self.vectors.T
        lexical = torch.zeros_like(cosines)
        for row, number in enumerate(asked):
            lexical[row, self.sharing[number]] = torch.from_numpy(self.lexical[number])
        best = torch.where(self.sizes > 0, best, cosines)
        return _Scores(0.5 * (cosines + best) + _LEXICAL * lexical, lexical, units)


class _Scores(NamedTuple):
    total: Tensor  # [B, N]
    lexical: Tensor  # [B, N]
    units: Tensor  # [B, M]: cosines of units


def main() -> None:
    """Prepare what is not prepared yet, train until the time is up, and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--keys", type=Path, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    groups = _prepared(options.data, options.keys)
    torch.manual_seed(0)
    random.seed(0)
    queries = _Queries()
    print("before:", {name: _found(queries, groups[name]) for name in _DEV}, flush=True)
    _train(queries, {name: groups[name] for name in _SHARES}, options.seconds)
    print("after:", {name: _found(queries, groups[name]) for name in _DEV})
    notes = {"encoder": WEIGHTS_SHA256, "made_by": "python -m benchmarks.train_query"}
    save_checkpoint(options.out, QUERY, queries.additions(), notes)


class Addition(nn.Module):
    """A linear layer with a low-rank addition to its weight."""

    def __init__(self, layer: nn.Linear, rank: int = _RANK, dropout: float = _DROPOUT) -> None:
        super().__init__()
        self.layer, self.dropout = layer, dropout
        scale = 1 / math.sqrt(layer.in_features)
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) * scale)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    # What ``MultiHeadAttention`` looks at to decide how to project.
    @property
    def weight(self) -> Tensor:
        """[out, in] float32, with the addition."""
        return self.layer.weight + self.up @ self.down

    @property
    def bias(self) -> Tensor:
        """[out] float32."""
        return self.layer.bias

    def forward(self, values: Tensor) -> Tensor:
        """[..., in] -> [..., out], in the dtype of the values."""
        kept = nn.functional.dropout(values, self.dropout, self.training)
        down, up = self.down.to(values.dtype), self.up.to(values.dtype)
        added: Tensor = self.layer(values) + nn.functional.linear(
            nn.functional.linear(kept, down), up
        )
        return added


def add_to(layers: nn.ModuleList, rank: int = _RANK, dropout: float = _DROPOUT) -> None:
    """Give all linear layers within some layers a low-rank addition."""
    for name, part in list(layers.named_modules()):
        if isinstance(part, nn.Linear):
            parent, _, last = name.rpartition(".")
            setattr(layers.get_submodule(parent), last, Addition(part, rank, dropout))


class _Queries(nn.Module):
    """The encoder for questions."""

    def __init__(self) -> None:
        super().__init__()
        self.network = BertNetwork.load()
        self.temperature = nn.Parameter(torch.tensor(math.log(_TEMPERATURE)))
        self.projection = torch.from_numpy(MiniLMEncoder().unit_projection().copy())
        self.tokenizer = load_tokenizer()
        add_to(self.network.encoder.layers[_FIRST_LAYER:])
        self.learned = [one for one in self.parameters() if one.requires_grad]
        self.averaged = [one.detach().clone() for one in self.learned]

    def forward(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        """The vectors of questions, [B, 384] and as units are compared with them [B, 128]."""
        rows = [self._tokens(one.ids) for one in self.tokenizer.encode_batch_fast(list(texts))]
        ids = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        mask = torch.arange(ids.shape[1]) < torch.tensor([[len(row)] for row in rows])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            states = self.network.tokens(ids, mask=mask)
        mean = (states.float() * mask.unsqueeze(2)).sum(dim=1)
        vectors = nn.functional.normalize(mean, dim=-1)
        return vectors, nn.functional.normalize(vectors @ self.projection, dim=-1)

    def _tokens(self, ids: list[int]) -> list[int]:
        first, *inner, last = ids[:_MAX_TOKENS]
        kept = [one for one in inner if not self.training or random.random() > _DROPPED]
        return [first, *kept, last]

    def average(self, step: int) -> None:
        """Move the average towards the weights, faster at the start."""
        with torch.no_grad():
            for mean, one in zip(self.averaged, self.learned, strict=True):
                mean.lerp_(one, 1 - min(_DECAY, step / (step + 10)))

    def use_average(self) -> None:
        """Take the average as weights, and shorten the additions."""
        with torch.no_grad():
            for mean, one in zip(self.averaged, self.learned, strict=True):
                one.copy_(mean)
            for part in self.modules():
                if isinstance(part, Addition):
                    part.up.mul_(_KEPT)

    def additions(self) -> dict[str, NDArray[np.float16]]:
        """By the published names of the weights that they are added to."""
        with safe_open(published_weights(), "np") as file:
            published = {internal_name(name): name for name in file.keys()}  # noqa: SIM118
        return {
            published[f"{name}.weight"] + end: one.detach().numpy().astype(np.float16)
            for name, part in self.network.named_modules()
            if isinstance(part, Addition)
            for end, one in ((DOWN, part.down), (UP, part.up))
        }


def _train(queries: _Queries, groups: Mapping[str, Sequence[_Memory]], seconds: float) -> None:
    optimizer = torch.optim.AdamW(queries.learned, lr=_RATE, weight_decay=0.01)
    began, step = monotonic(), 0
    queries.train()
    losses = dict.fromkeys(groups, 0.0)
    while (progress := (monotonic() - began) / seconds) < 1:
        share = min(1, (step + 1) / _WARM_UP) * (1 + math.cos(math.pi * progress)) / 2
        for group in optimizer.param_groups:
            group["lr"] = _RATE * share
        [name] = random.choices(list(groups), [_SHARES[one] for one in groups])
        drawn = _drawn(groups[name])
        texts = [memory.questions[number] for memory, numbers in drawn for number in numbers]
        vectors, of_units = queries(texts)
        ends = np.cumsum([len(numbers) for _, numbers in drawn])[:-1].tolist()
        parts = zip(vectors.tensor_split(ends), of_units.tensor_split(ends), strict=True)
        temperature = queries.temperature.exp()
        losses_of = [
            _loss(memory, numbers, own, own_units, temperature)
            for (memory, numbers), (own, own_units) in zip(drawn, parts, strict=True)
        ]
        loss = torch.stack(losses_of).sum() / len(texts)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(queries.learned, 1.0)
        optimizer.step()
        step += 1
        queries.average(step)
        losses[name] += 0.05 * (loss.item() - losses[name]) if losses[name] else loss.item()
        if step % 100 == 0:
            shown = ", ".join(f"{one} {value:.3f}" for one, value in losses.items())
            print(f"{monotonic() - began:.0f} s, step {step}: {shown}", flush=True)
    queries.use_average()
    queries.eval()


def _drawn(memories: Sequence[_Memory]) -> list[tuple[_Memory, list[int]]]:
    """Questions of a batch: of the one memory, or of some of the small ones."""
    each = _BATCH if len(memories) == 1 else _BATCH // _MEMORIES
    chosen = random.choices(
        memories,
        [len(one.questions) for one in memories],
        k=1 if len(memories) == 1 else _MEMORIES,
    )
    return [
        (one, random.sample(range(len(one.questions)), min(each, len(one.questions))))
        for one in chosen
    ]


def _loss(
    memory: _Memory, asked: Sequence[int], vectors: Tensor, of_units: Tensor, temperature: Tensor
) -> Tensor:
    """Sum of the negative log-likelihoods that the attention goes to a right passage."""
    with torch.no_grad():
        scores = memory.scores(asked, vectors, of_units)
        right = torch.zeros_like(scores.total, dtype=torch.bool)
        for row, number in enumerate(asked):
            right[row, memory.right[number]] = True
        count = min(_CANDIDATES, right.shape[1])
        chosen = (scores.total + 100 * right).topk(count, dim=1).indices
        right = right.gather(1, chosen)
        keys = memory.vectors[chosen]
        best = _best_units(memory, scores.units, chosen)
        first = keys[torch.arange(len(keys)), right.float().argmax(dim=1)]
        same = (torch.einsum("bkd,bd->bk", keys, first) > _SAME) & ~right
    cosines = torch.einsum("bd,bkd->bk", vectors, keys)
    units = torch.einsum("bd,bkd->bk", of_units, memory.units[best])
    units = torch.where(memory.sizes[chosen] > 0, units, cosines)
    total = 0.5 * (cosines + units) + _LEXICAL * scores.lexical.gather(1, chosen)
    logits = torch.log_softmax((total / temperature).masked_fill(same, -1e4), dim=1)
    return -torch.logsumexp(logits.masked_fill(~right, -1e4), dim=1).sum()


def _best_units(memory: _Memory, cosines: Tensor, chosen: Tensor) -> Tensor:
    """The best unit of each chosen passage: [B, K] rows of the units; any where it has none."""
    starts = (memory.sizes.cumsum(dim=0) - memory.sizes)[chosen]
    offsets = torch.arange(max(1, int(memory.sizes[chosen].max())))
    own = offsets < memory.sizes[chosen].unsqueeze(2)
    rows = torch.where(own, starts.unsqueeze(2) + offsets, 0)
    found = cosines.gather(1, rows.flatten(1)).view(rows.shape).masked_fill(~own, -2.0)
    return rows.gather(2, found.argmax(dim=2, keepdim=True)).squeeze(2)


def _found(queries: _Queries, memories: Sequence[_Memory]) -> tuple[float, float]:
    """Of 100 questions, for how many a right passage comes first, and among five."""
    first = five = count = 0
    with torch.inference_mode():
        for memory in memories:
            for start in range(0, len(memory.questions), _BATCH):
                asked = range(start, min(start + _BATCH, len(memory.questions)))
                vectors = queries.eval()([memory.questions[number] for number in asked])
                total = memory.scores(asked, *vectors).total
                best = total.topk(min(5, total.shape[1]), dim=1).indices.numpy()
                for row, number in zip(best, asked, strict=True):
                    is_right = np.isin(row, memory.right[number])
                    first, five = first + bool(is_right[0]), five + bool(is_right.any())
                    count += 1
    return round(100 * first / count, 1), round(100 * five / count, 1)


def _prepared(data: Path, keys: Path) -> dict[str, list[_Memory]]:
    """All memories by their group; what ``keys`` has is not made again."""
    for name, memories in all_memories(data):
        folder = keys / name
        if folder.exists():
            continue
        with tempfile.TemporaryDirectory(dir=keys.parent) as place:
            part = Path(place, "part")
            part.mkdir()
            for number, (stored, asked) in enumerate(memories):
                with Engine.open(Path(place, str(number)), create=True) as memory:
                    memory.ingest(stored)
                    found = _exported(memory, asked)
                if len(found["right_sizes"]):
                    np.savez(part / f"{number}.npz", **found)
            keys.mkdir(exist_ok=True)
            part.rename(folder)
        print(name, "prepared", flush=True)
    return {
        folder.name: [_loaded(file) for file in sorted(folder.iterdir())]
        for folder in sorted(keys.iterdir())
    }


def _exported(engine: Engine, asked: Sequence[Asked]) -> dict[str, Any]:
    """The keys of a memory, and the questions of which a passage is known to be right."""
    store = engine.store
    with store.reading():
        ids = store.passage_ids()
        units = store.unit_keys(ids.tolist())
        sizes = np.zeros(len(ids), np.int64)
        ends = np.r_[units.starts[1:], len(units.rows)]
        sizes[np.searchsorted(ids, units.ids)] = ends - units.starts
        kept: list[tuple[str, list[int], dict[int, float]]] = []
        for text, right in right_passages(store, asked):
            question = Question(text, store, query_encode(engine.encoder))
            shared = question.sharing_words(engine.config.hop.candidates)
            kept.append((text, np.searchsorted(ids, right).tolist(), shared))
        places = {slot: number for number, slot in enumerate(ids.tolist())}
        return {
            "vectors": store.existing_keys(ids.tolist()).vectors.astype(np.float16),
            "units": units.rows.astype(np.float16),
            "sizes": sizes,
            "questions": np.array([text for text, *_ in kept]),
            "right": np.array([number for _, right, _ in kept for number in right], np.int64),
            "right_sizes": np.array([len(right) for _, right, _ in kept], np.int64),
            "sharing": np.array([places[slot] for *_, own in kept for slot in own], np.int64),
            "lexical": np.array(
                [score / max(own.values()) for *_, own in kept for score in own.values()],
                np.float32,
            ),
            "sharing_sizes": np.array([len(own) for *_, own in kept], np.int64),
        }


def right_passages(store: MemoryStore, asked: Sequence[Asked]) -> Iterator[tuple[str, list[int]]]:
    """Questions of which passages are known to be right, with these as slot ids, ascending."""
    slots = store.fetch(store.passage_ids().tolist())
    texts = {slot.id: collapsed(slot.text) for slot in slots}
    of_source: dict[str, list[int]] = {}
    for slot in slots:
        of_source.setdefault(slot.source, []).append(slot.id)
    for question, evidence in asked:
        wanted = [(source, quote and collapsed(quote)) for source, quote in evidence]
        right = {
            slot
            for source, quote in wanted
            for slot in (texts if source is None else of_source.get(source, ()))
            if quote is None or quote in texts[slot]
        }
        if right:
            yield question, sorted(right)


def _loaded(file: Path) -> _Memory:
    with np.load(file) as arrays:
        right = np.cumsum(arrays["right_sizes"])[:-1]
        sharing = np.cumsum(arrays["sharing_sizes"])[:-1]
        return _Memory(
            vectors=torch.from_numpy(arrays["vectors"].astype(np.float32)),
            units=torch.from_numpy(arrays["units"].astype(np.float32)),
            sizes=torch.from_numpy(arrays["sizes"]),
            questions=arrays["questions"].tolist(),
            right=np.split(arrays["right"], right),
            sharing=np.split(arrays["sharing"], sharing),
            lexical=np.split(arrays["lexical"], sharing),
        )


_Stored = Sequence[Document] | Path
_Memories = Iterator[tuple[_Stored, Sequence[Asked]]]


def all_memories(data: Path) -> Iterator[tuple[str, _Memories]]:
    """Groups of memories: what is stored, and what is asked of it."""
    yield "documents", iter([_documents(data, dev=False)])
    yield "documents_dev", iter([_documents(data, dev=True)])
    yield "everyday", _everyday("train")
    yield "everyday_dev", _everyday("fit")
    for name, sets in _SETS.items():
        yield name, iter([_paragraphs(data, sets)])
    yield "chains", iter([_chains(data)])


def _documents(data: Path, dev: bool) -> tuple[list[Document], list[Asked]]:
    """The passages of the collections of documents, and the questions about them."""
    stored: dict[tuple[str, str], Document] = {}
    asked: dict[str, Asked] = {}
    chosen = (
        own
        for name, own in collections(data).items()
        if (part_of_collection(name) != "train") == dev
    )
    for one in chain.from_iterable(chosen):
        for passage in one.get("passages") or [one]:
            title, text = Path(passage["source"]).stem, passage["passage"]
            document = Document(id=f"document-{len(stored)}", title=title, text=text)
            stored.setdefault((title, text), document)
        quotes = [(None, found["quote"]) for found in one["evidence"]]
        asked.setdefault(one["question"], (one["question"], quotes))
    return list(stored.values()), list(asked.values())


def _everyday(part: Any) -> _Memories:
    with tempfile.TemporaryDirectory() as folder:
        for place, questions in unpack_everyday(part, Path(folder)):
            if (place / "files").is_dir():
                yield (
                    place / "files",
                    [
                        (one["question"], [(None, found["quote"]) for found in one["evidence"]])
                        for one in questions
                        if one["type"] != "unanswerable"
                    ],
                )


def _paragraphs(data: Path, sets: Sequence[str]) -> tuple[list[Document], list[Asked]]:
    """The paragraphs of some sets, and questions that one of them answers."""
    stored: dict[tuple[str, str], Document] = {}
    asked: list[Asked] = []
    for name in sets:
        file = data / "reader_more" / f"{name}.jsonl.gz"
        for one in lines(file if file.exists() else data / name / "train.jsonl"):
            title, text = one.get("title", ""), one["text"]
            known = one["question"] if name in ("nq_oracle", "popqa") else text
            if one.get("answers") and len(text) >= _LEAST and part_of(name, known) == "train":
                document = Document(id=f"paragraph-{len(stored)}", title=title, text=text)
                source = stored.setdefault((title, text), document).id
                asked.append((one["question"], [(source, None)]))
    return list(stored.values()), random.Random(0).sample(asked, min(_MOST, len(asked)))


def _chains(data: Path) -> tuple[list[Document], list[Asked]]:
    """The passages of all multi-hop sets, and the questions about them."""
    stored: dict[tuple[str, str], Document] = {}
    asked: list[Asked] = []
    files = sorted((data / "multihop_train").iterdir())
    for file in [data / "reader_more" / "multihop2.jsonl.gz", *files]:
        for one in lines(file):
            right: list[tuple[str | None, str | None]] = []
            for passage in one["passages"]:
                title, text = passage["title"], passage["text"]
                document = Document(id=f"chain-{len(stored)}", title=title, text=text)
                source = stored.setdefault((title, text), document).id
                if passage.get("supporting", title in one["supporting"]):
                    right.append((source, None))
            if part_of(file.name.partition(".")[0], one["question"]) == "train":
                asked.append((one["question"], right))
    return list(stored.values()), asked


if __name__ == "__main__":
    main()
