"""The encoder for questions: what is exported, the score that is learned on, and that it learns."""

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import train_query
from benchmarks.train_query import _best_units, _exported, _loaded, _loss, _Memory
from memnet import Document, Engine
from memnet.encoders.protocol import UnitEncoder

_LINES = [
    ("tide", "The sluice opens two hours before high tide. A horn is blown twice."),
    ("keys", "Spare keys hang behind the clock. Ask Mrs Pell for the boathouse key."),
    ("rules", "Dogs stay on the lead. No fires are lit on the shingle."),
]


def _made(passages: int = 7, questions: int = 4) -> _Memory:
    """A memory of random keys, some of whose passages have no units."""
    torch.manual_seed(1)
    sizes = torch.tensor([number % 4 for number in range(passages)])
    return _Memory(
        vectors=torch.nn.functional.normalize(torch.randn(passages, 6), dim=1),
        units=torch.nn.functional.normalize(torch.randn(int(sizes.sum()), 3), dim=1),
        sizes=sizes,
        questions=[f"question {number}" for number in range(questions)],
        right=[np.array([number, passages - 1]) for number in range(questions)],
        sharing=[np.array([number, number + 2]) for number in range(questions)],
        lexical=[np.array([1.0, 0.5], np.float32) for _ in range(questions)],
    )


def _slow_score(memory: _Memory, number: int, passage: int, query: torch.Tensor,
                of_units: torch.Tensor) -> float:  # fmt: skip
    start = int(memory.sizes[:passage].sum())
    cosine = float(memory.vectors[passage] @ query)
    own = memory.units[start : start + int(memory.sizes[passage])]
    best = max((float(unit @ of_units) for unit in own), default=cosine)
    shared = dict(zip(memory.sharing[number], memory.lexical[number], strict=True))
    return 0.5 * cosine + 0.5 * best + 0.2 * float(shared.get(passage, 0.0))


def _queries(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(2)
    return tuple(  # type: ignore[return-value]
        torch.nn.functional.normalize(torch.randn(count, width), dim=1) for width in (6, 3)
    )


def test_the_score_and_its_loss_agree_with_loops() -> None:
    memory = _made()
    asked = [3, 1]
    queries, of_units = _queries(2)
    slow = np.array(
        [
            [_slow_score(memory, number, passage, queries[row], of_units[row])
             for passage in range(7)]
            for row, number in enumerate(asked)
        ]
    )  # fmt: skip
    scores = memory.scores(asked, queries, of_units)
    np.testing.assert_allclose(scores.total, slow, atol=1e-6)
    chosen = torch.arange(7).expand(2, -1)
    best = _best_units(memory, scores.units, chosen)
    for row in range(2):
        for passage in range(7):
            start, size = int(memory.sizes[:passage].sum()), int(memory.sizes[passage])
            if size:
                own = (memory.units[start : start + size] @ of_units[row]).argmax()
                assert best[row, passage] == start + int(own)
    attention = np.exp(slow / 0.1)
    attention /= attention.sum(axis=1, keepdims=True)
    expected = -sum(
        np.log(attention[row, memory.right[number]].sum()) for row, number in enumerate(asked)
    )
    loss = _loss(memory, asked, queries, of_units, torch.tensor(0.1))
    assert float(loss) == pytest.approx(expected, rel=1e-4)


def test_a_copy_of_a_right_passage_counts_as_neither_right_nor_wrong() -> None:
    memory = _made()
    copied = _Memory(**{
        **memory.__dict__,
        "vectors": torch.cat((memory.vectors, memory.vectors[:1])),
        "sizes": torch.cat((memory.sizes, torch.tensor([0]))),
    })  # fmt: skip
    queries, of_units = _queries(1)
    losses = [
        float(_loss(one, [0], queries, of_units, torch.tensor(0.1))) for one in (memory, copied)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)


def test_what_is_exported_is_what_the_memory_holds(tmp_path: Path) -> None:
    asked: Sequence[train_query.Asked] = [
        ("When is the sluice opened?", [(None, "two hours  before")]),
        ("Who has the key?", [("keys", None)]),
        ("What does it cost?", [(None, "stands nowhere")]),
    ]
    with Engine.open(tmp_path / "store", create=True) as memory:
        memory.ingest([Document(id=name, title=name, text=text) for name, text in _LINES])
        found = _exported(memory, asked)
        encoder = memory.encoder
        assert isinstance(encoder, UnitEncoder)
        vectors = encoder.encode([f"{name}\n{text}" for name, text in _LINES])
    np.savez(tmp_path / "keys.npz", **found)
    loaded = _loaded(tmp_path / "keys.npz")
    assert list(loaded.questions) == [text for text, _ in asked[:2]]
    assert [one.tolist() for one in loaded.right] == [[0], [1]]
    assert len(loaded.vectors) == 3
    assert len(loaded.units) == int(loaded.sizes.sum()) > 0
    assert float((loaded.vectors * torch.from_numpy(vectors)).sum(dim=1).min()) > 0.9
    assert loaded.lexical[0].max() == 1
    assert 0 in loaded.sharing[0]


def test_training_finds_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine.open(tmp_path / "store", create=True) as memory:
        memory.ingest([Document(id=name, title=name, text=text) for name, text in _LINES])
        # What no word or meaning says can only be learned.
        found = _exported(memory, [("Which page is about zebras?", [("rules", None)])])
    np.savez(tmp_path / "keys.npz", **found)
    loaded = _loaded(tmp_path / "keys.npz")
    torch.manual_seed(0)
    queries = train_query._Queries()

    def loss() -> float:
        with torch.no_grad():
            vectors, of_units = queries.eval()(loaded.questions)
            return float(_loss(loaded, [0], vectors, of_units, torch.tensor(0.05)))

    before = loss()
    ticks = count()
    monkeypatch.setattr(train_query, "monotonic", lambda: next(ticks))
    train_query._train(queries, {"everyday": [loaded]}, 40)
    assert loss() < before
    names = queries.additions()
    assert {name.split(".")[2] for name in names} == {"3", "4", "5"}
    assert len(names) == 36
