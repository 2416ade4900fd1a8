"""The statement network learns to read statements, from scenarios."""

import hashlib
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.statements.examples import (
    AnswerExample,
    PackedAnswer,
    PackedWrite,
    WriteExample,
    answer_examples,
    packed_answer,
    packed_write,
    with_distractors,
    with_earlier_distractors,
    without_ends,
    write_examples,
)
from benchmarks.statements.format import Scenario
from benchmarks.statements.losses import answer_loss, freeze, from_reader, split_tensors, write_loss
from benchmarks.statements.network import StatementNetwork, load_statement_network, score_statements
from memnet.encoders.weights import load_tokenizer
from memnet.errors import InputError
from memnet.learning import OnProgress, counted, no_progress
from memnet.learning.loop import (
    EpochReport,
    Training,
    TrainingConfig,
    arrays_of,
    seeded,
    using_threads,
)
from memnet.reader.checkpoint import save_weights
from memnet.reader.network import load_span_network
from memnet.reader.spans import Packer
from memnet.reader.training.examples import batches_by_length, padded
from memnet.statements.protocol import Label
from memnet.statements.reading import STATEMENTS, StatementReader

MAX_TOKENS = 384
"""Of a pack."""
_BATCH_TOKENS = 3_000
_LEARNING_RATE = 1e-4
_WARM_UP = 60
_PASSES = 5
_FROZEN_LAYERS = 2
"""Lowest layers that are not trained where the start is a statement network: -30 % of time."""


def train_statements(
    train: Sequence[Scenario],
    dev: Sequence[Scenario],
    out: str | os.PathLike[str],
    *,
    start: Path,
    seed: int = 0,
    passes: int | None = None,
    learning_rate: float | None = None,
    on_epoch: Callable[[EpochReport], None] = lambda _: None,
    threads: int | None = None,
    on_progress: OnProgress = no_progress,
) -> float:
    """Train a statement network and save it in ``out``; a run that was stopped is resumed.

    Args:
        train: scenarios to learn from.
        dev: others, to choose the best weights by.
        out: folder of the network.
        start: folder of the reader of passages, or of the statement network, to start from.
        seed: of all that is random.
        passes: over the examples; None for 5.
        learning_rate: the highest; None for 1e-4.
        on_epoch: called after each pass.
        threads: processor cores to use; None leaves torch's setting.
        on_progress: called after each batch and each dev example.

    Returns:
        The score of the saved network on the dev scenarios, 0..1.

    Raises:
        InputError: no example can be learned from.
        ModelError: ``out`` can't be written, or holds another unfinished run; ``start`` holds no
            whole reader.
    """
    folder = Path(out)
    with seeded(seed):
        goes_on = (start / f"{STATEMENTS.name}.json").is_file()
        network = (
            load_statement_network(start) if goes_on else from_reader(load_span_network(start))
        )
    freeze(network, _FROZEN_LAYERS if goes_on else 0)
    task = _StatementTask(network, train, dev, seed, on_progress)
    epochs = passes or _PASSES
    config = TrainingConfig(
        epochs=epochs,
        patience=epochs,
        learning_rate=learning_rate or _LEARNING_RATE,
        warm_up=_WARM_UP,
        seed=seed,
    )
    identity = {
        "seed": seed,
        "data": _digest([*train, *dev]),
        "start": start.name,
        "scenarios": len(train),
        "torch": torch.__version__,
    }

    def save_best(report: EpochReport) -> None:
        notes = {**identity, "dev": 1 - report.error, "epoch": report.epoch}
        save_weights(folder, arrays_of(network.state_dict()), notes, STATEMENTS)

    with using_threads(threads):
        training = Training(network, task, config, folder, save_best, identity)
        return 1 - training.run(on_epoch, on_progress)


class _StatementTask:
    """Answering questions, as a task for the training loop; an epoch is a pass."""

    def __init__(
        self,
        network: StatementNetwork,
        train: Sequence[Scenario],
        dev: Sequence[Scenario],
        seed: int,
        on_progress: OnProgress,
    ) -> None:
        self._network = network
        self._seed = seed
        self._on_progress = on_progress
        self._scenarios = train
        self._packer = Packer(load_tokenizer(), MAX_TOKENS)
        self._answers = [one for scenario in train for one in answer_examples(scenario)]
        self._writes = [one for scenario in train for one in write_examples(scenario)]
        self._dev_answers = [one for scenario in dev for one in answer_examples(scenario)]
        self._dev_writes = [one for scenario in dev for one in write_examples(scenario)]
        if not self._answers or not self._writes:
            raise InputError(
                "there is nothing to learn from: expected scenarios with statements and questions"
            )

    def batches(self, epoch: int) -> Iterator[list[PackedAnswer | PackedWrite]]:
        """All examples in batches of about one length, with texts of other scenarios."""
        rng = random.Random(self._seed * 1_000_003 + epoch)
        questions = (
            without_ends(with_distractors(one, self._scenarios, rng), rng) for one in self._answers
        )
        packed: list[PackedAnswer | PackedWrite] = [
            one for example in questions if (one := packed_answer(example, self._packer))
        ]
        packed += [
            packed_write(with_earlier_distractors(one, self._scenarios, rng), self._packer)
            for one in self._writes
        ]
        yield from batches_by_length(packed, _BATCH_TOKENS, rng)

    def loss(self, batch: list[PackedAnswer | PackedWrite], _progress: float) -> Tensor:
        """Mean negative log-likelihood of what is right."""
        token_ids, segments, answers, mask = padded(batch)
        scores = split_tensors(*self._network(token_ids, segments, mask))
        total = torch.zeros(())
        for row, one in enumerate(batch):
            total = total + (
                answer_loss(scores, row, answers[row], one.right)
                if isinstance(one, PackedAnswer)
                else write_loss(scores, row, one.right)
            )
        return total / len(batch)

    def valid_errors(self) -> dict[str, float]:
        """One minus the scores of the dev scenarios.

        "answers": share of questions whose form is right and, for values, lists and counts, the
        span, three fifths of the items or the number. "changes": F1 of changes to earlier
        statements, of the right kind. "values": F1 of what new statements say.
        """
        reader = StatementReader(lambda pack: score_statements(self._network, pack), self._packer)
        answered = [
            _is_right(reader, one)
            for one in counted(self._dev_answers, "reading dev questions", self._on_progress)
        ]
        writes = counted(self._dev_writes, "reading dev statements", self._on_progress)
        return {"answers": 1 - float(np.mean(answered)), **_write_errors(reader, writes)}

    def state(self) -> dict[str, Any]:
        """None: the order of the examples depends on the epoch alone."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Nothing to restore."""


def _is_right(reader: StatementReader, example: AnswerExample) -> bool:
    reading = reader.answer(example.question, example.tells)
    if reading is None:
        return example.form == "none"
    form = "none" if reading.forms["none"] > 1 / 2 else reading.form
    if form != example.form:
        return False
    if form == "count":
        return reading.number == example.number
    if form == "value":
        best = reading.pieces[0] if reading.pieces else None
        return best is not None and any(
            (best.statement == index and best.start < end and start < best.end)
            for index, start, end in example.spans
        )
    if form == "list":
        wanted = {(index, start, end) for index, start, end in example.spans}
        got = {(one.statement, one.start, one.end) for one in reading.items}
        return len(wanted & got) >= 0.6 * len(wanted)
    return True


def _write_errors(reader: StatementReader, examples: Iterable[WriteExample]) -> dict[str, float]:
    changes, values = Counter[str](), Counter[str]()
    for one in examples:
        reading = reader.write(one.text, one.earlier)
        for wanted, probabilities in zip(one.changes, reading.changes, strict=True):
            best = int(probabilities.argmax())
            changes["right"] += best == wanted != Label.NONE
            changes["all"] += (wanted != Label.NONE) + (best != Label.NONE)
        values["right"] += len(set(one.values) & set(reading.tagged.values))
        values["all"] += len(one.values) + len(reading.tagged.values)
    return {
        name: 1 - 2 * counts["right"] / max(1, counts["all"])
        for name, counts in (("changes", changes), ("values", values))
    }


def _digest(scenarios: Sequence[Scenario]) -> str:
    digest = hashlib.sha256()
    for scenario in scenarios:
        digest.update(scenario.model_dump_json().encode())
    return digest.hexdigest()
