"""The reader preset: learns to point at short answers in passages."""

import hashlib
import math
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from memnet.encoders.weights import load_tokenizer
from memnet.errors import InputError
from memnet.learning import OnProgress, counted, no_progress
from memnet.learning.evaluation import area_under_roc, f1
from memnet.learning.loop import EpochReport, Training, TrainingConfig, mean, seeded, using_threads
from memnet.reader.network import (
    SpanNetwork,
    load_span_network,
    new_span_network,
    reading_loss,
    save_span_network,
    score_packs,
)
from memnet.reader.spans import ExtractiveReader, Packer, Passage, Reading
from memnet.reader.training.examples import (
    PackedExample,
    ReaderExample,
    batches_by_length,
    find_quote,
    packed_example,
    padded,
)

_MAX_TOKENS = 384  # Max. tokens of a pack
_BATCH_TOKENS = 4096
_DROPOUT = 0.1
# Min. examples of an epoch of the loop, after which the dev examples are read and the state is
# saved; and max. epochs in a pass over all examples, which takes hours.
_EPOCH_EXAMPLES, _EPOCHS_OF_A_PASS = 2500, 12
_LEARNING_RATE = 1.5e-4
# For a reader that starts from another: more makes it forget what that one had learned.
_LEARNING_RATE_FROM_READER = 5e-5
_WARM_UP = 160
_PASSES = 3


class _Data(NamedTuple):
    train: Sequence[ReaderExample]
    dev: Sequence[ReaderExample]
    generated: Sequence[ReaderExample]


class ReaderReport(NamedTuple):
    """What came of a training; scores as ``train_reader`` says, 0..1."""

    dev: float
    """Of the best weights on the dev examples."""
    before: float | None
    """Of the reader that it started from; None without one."""
    saved: bool
    """Whether they are saved: not where that reader does as well."""


def train_reader(
    train: Sequence[ReaderExample],
    dev: Sequence[ReaderExample],
    out: str | os.PathLike[str],
    *,
    generated: Sequence[ReaderExample] = (),
    start: Path | None = None,
    seed: int = 0,
    passes: int | None = None,
    learning_rate: float | None = None,
    dropout: float = _DROPOUT,
    bfloat16: bool = False,
    on_epoch: Callable[[EpochReport], None] = lambda _: None,
    threads: int | None = None,
    device: str = "cpu",
    on_progress: OnProgress = no_progress,
) -> ReaderReport:
    """Train a reader and save it in ``out``; a run that was stopped is resumed.

    Where the run started from another reader, weights are saved only if they do better on the dev
    examples; the mean of the weights of both, if it is better still: it forgets less of what the
    other had learned.

    Source: Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", section 3.

    Args:
        train: examples to learn from.
        dev: others, to choose the best weights by.
        out: folder of the reader, to be given to ``Engine.open``.
        generated: examples made from the documents themselves; read in the first pass only.
        start: folder of a reader to start from; None for an untrained one.
        seed: of all that is random.
        passes: over the examples; None for 3.
        learning_rate: the highest, reached after the warm-up; None for 1.5e-4, or 5e-5 from a
            reader.
        dropout: rate in training; none is faster, and does for one pass over many examples.
        bfloat16: multiply in 16 bits, faster where the processor has instructions for it.
        on_epoch: called after each 2,500 examples.
        threads: processor cores to use; None leaves torch's setting.
        device: of torch, that is there.
        on_progress: called after each batch and each dev example.

    Returns:
        Scores on the dev examples: the mean F1 of those that have an answer and, where some have
        none, the mean of that and of the AUROC of telling them apart.

    Raises:
        InputError: no example can be learned from.
        ModelError: ``out`` can't be written, or holds another unfinished run; ``start`` holds no
            whole reader.
    """
    folder, data = Path(out), _Data(train, dev, generated)
    with seeded(seed):
        network = new_span_network(dropout) if start is None else load_span_network(start, dropout)
    for embedding in (network.encoder.words, network.encoder.positions):
        embedding.requires_grad_(False)
    task = _ReaderTask(network, data, seed, bfloat16, device, on_progress)
    epochs = task.epochs(passes or _PASSES)
    config = TrainingConfig(
        epochs=epochs,
        patience=epochs,
        learning_rate=learning_rate
        or (_LEARNING_RATE if start is None else _LEARNING_RATE_FROM_READER),
        warm_up=_WARM_UP,
        seed=seed,
    )
    identity = {
        "seed": seed,
        "data": _digest(data),
        "start": None if start is None else start.name,
        "examples": [len(train), len(generated)],
        "dropout": dropout,
        "bfloat16": bfloat16,
        "torch": torch.__version__,
    }

    def save(error: float, **notes: Any) -> None:
        save_span_network(folder, network, {**identity, "dev": 1 - error, **notes})

    def save_best(report: EpochReport) -> None:
        if report.error < before:
            save(report.error, epoch=report.epoch)

    with using_threads(threads):
        before = math.inf if start is None else mean(task.valid_errors())
        training = Training(network, task, config, folder, save_best, identity)
        error = training.run(on_epoch, on_progress)
        if start is not None:
            trained = load_span_network(folder) if error < before else network
            network.load_state_dict(_mean_weights(start, trained.state_dict()))
            mean_error = mean(task.valid_errors())
            if mean_error < min(error, before):
                save(mean_error, mean_with_start=True)
            error = min(error, mean_error)
    return ReaderReport(1 - error, None if start is None else 1 - before, error < before)


def _mean_weights(start: Path, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {
        name: (tensor + weights[name].to(tensor.device)) / 2
        for name, tensor in load_span_network(start).state_dict().items()
    }


class _ReaderTask:
    """Reading passages, as a task for the training loop; epochs are parts of a *pass* over all."""

    def __init__(
        self,
        network: SpanNetwork,
        data: _Data,
        seed: int,
        bfloat16: bool,
        device: str,
        on_progress: OnProgress,
    ) -> None:
        self._network = network.to(device)
        self._device = device
        self._data = data
        self._seed = seed
        self._bfloat16 = bfloat16
        self._on_progress = on_progress
        self._packer = Packer(load_tokenizer(), _MAX_TOKENS)
        if not any(self._packed(data.train, random.Random(seed))):
            raise InputError(
                "there is nothing to learn from: no answer stands in the passages of its "
                "question; expected answers as they are written there, or none"
            )

    def epochs(self, passes: int) -> int:
        return sum(len(self._starts(number)) for number in range(passes))

    def batches(self, epoch: int) -> Iterator[list[PackedExample]]:
        number = 0
        while epoch >= len(self._starts(number)):
            epoch -= len(self._starts(number))
            number += 1
        examples = [*self._data.train, *(() if number else self._data.generated)]
        random.Random(self._seed * 1_000_003 + number).shuffle(examples)
        start = self._starts(number)[epoch]
        rng = random.Random((self._seed * 1_000_003 + number) * 1_009 + epoch)
        packed = list(self._packed(examples[start : start + self._starts(number).step], rng))
        yield from batches_by_length(packed, _BATCH_TOKENS, rng)

    def loss(self, batch: list[PackedExample], _progress: float) -> Tensor:
        inputs = [part.to(self._device) for part in padded(batch)]
        with torch.autocast(inputs[0].device.type, dtype=torch.bfloat16, enabled=self._bfloat16):
            scores = self._network(*inputs)
        return reading_loss(scores, [example.right for example in batch])

    def valid_errors(self) -> dict[str, float]:
        """One minus the scores of the dev examples, those that there are examples of.

        "f1": mean F1 of short answers; "quoted": share of the examples of a known kind whose
        most relevant unit belongs to a right quotation; "answerable": AUROC of telling those
        with an answer from those without.
        """
        reader = ExtractiveReader(score_packs(self._network), self._packer)
        dev = self._data.dev
        readings = [
            reader.read(one.question, [Passage(other.title, other.text) for other in one.passages])
            for one in counted(dev, "reading dev examples", self._on_progress)
        ]
        pairs = list(zip(dev, readings, strict=True))
        short = [
            f1(_answer(reading, one), one.answers)
            for one, reading in pairs
            if one.answers and one.kind is None
        ]
        quoted = [float(_quotes_right(reading, one)) for one, reading in pairs if one.kind]
        auroc = area_under_roc(
            [reading.answerable for reading in readings],
            [bool(one.answers or one.quotes) for one in dev],
        )
        scores = {"f1": _mean(short), "quoted": _mean(quoted), "answerable": auroc}
        return {name: 1 - score for name, score in scores.items() if score is not None}

    def state(self) -> dict[str, Any]:
        """None: the order of the examples depends on the epoch alone."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Nothing to restore."""

    def _starts(self, number: int) -> range:
        """First examples of the epochs of a pass."""
        examples = len(self._data.train) + (0 if number else len(self._data.generated))
        return range(0, examples, max(_EPOCH_EXAMPLES, -(-examples // _EPOCHS_OF_A_PASS)))

    def _packed(
        self, examples: Sequence[ReaderExample], rng: random.Random
    ) -> Iterator[PackedExample]:
        for example in examples:
            packed = packed_example(example, self._packer, rng)
            if packed is not None:
                yield packed


def _answer(reading: Reading, example: ReaderExample) -> str:
    if max(reading.yes, reading.no) > 1 / 2:
        return "yes" if reading.yes > reading.no else "no"
    if not reading.spans:
        return ""
    best = reading.spans[0]
    return example.passages[best.passage].text[best.start : best.end]


def _quotes_right(reading: Reading, example: ReaderExample) -> bool:
    best = max(reading.units, key=lambda one: one.logit, default=None)
    if best is None:
        return False
    text = example.passages[best.passage].text
    return any(
        start < best.unit.end and best.unit.start < end
        for quote in example.quotes or example.answers
        for start, end in find_quote(text, quote)
    )


def _mean(scores: Sequence[float]) -> float | None:
    return sum(scores) / len(scores) if scores else None


def _digest(data: _Data) -> str:
    digest = hashlib.sha256()
    for examples in data:
        for example in examples:
            digest.update(example.model_dump_json().encode())
    return digest.hexdigest()
