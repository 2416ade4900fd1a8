"""The reader preset: learns to point at short answers in passages."""

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from memnet.encoders.weights import checked_folder, load_tokenizer
from memnet.errors import InputError
from memnet.evaluation.metrics import area_under_roc, f1
from memnet.reader.network import (
    SpanNetwork,
    load_span_network,
    new_span_network,
    save_span_network,
    score_packs,
    span_loss,
)
from memnet.reader.spans import ExtractiveReader, Packer, Passage, Reading
from memnet.reader.training.examples import (
    PackedExample,
    ReaderExample,
    batches_of,
    packed_example,
)
from memnet.training.loop import EpochReport, Training, TrainingConfig, mean
from memnet.training.progress import OnProgress, counted, no_progress
from memnet.training.torch_state import seeded, using_threads

_TOKENS = 384
"""Most that are read together."""
_BATCH_TOKENS = 3072
_DROPOUT = 0.1
_PART = 2500
"""Examples between two looks at the dev questions, where a run that was stopped goes on."""
_LEARNING_RATE = 1.5e-4
_LEARNING_RATE_FROM_READER = 5e-5
"""Of a reader that goes on from another: more makes it forget what that one knew."""
_WARM_UP = 160
_PASSES = 3


class ReaderData(NamedTuple):
    """What is learned from."""

    train: Sequence[ReaderExample]
    dev: Sequence[ReaderExample]
    """Others, to choose the best weights by."""
    made: Sequence[ReaderExample] = ()
    """Made from the documents themselves; seen in the first pass only."""


def train_reader(
    data: ReaderData,
    out: Path,
    *,
    start: Path | None = None,
    seed: int = 0,
    passes: int | None = None,
    bfloat16: bool = False,
    on_epoch: Callable[[EpochReport], None] = lambda _: None,
    threads: int | None = None,
    device: str = "cpu",
    on_progress: OnProgress = no_progress,
) -> float:
    """Train a reader and keep it in ``out``; a run that was stopped goes on from there.

    Where the run started from another reader, the mean of the weights of both is kept instead if it
    does better on the dev examples: it forgets less of what the other had learned.

    Source: Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", section 3.

    Args:
        data: examples.
        out: folder of the reader, to be given to ``Engine.open``.
        start: folder of a reader to start from; None for one that has not learned to read.
        seed: of all that is random.
        passes: over the examples; None for 3.
        bfloat16: multiply in 16 bits, faster where the processor has instructions for it.
        on_epoch: called after each part of a pass.
        threads: processor cores to use; None leaves torch's setting.
        device: of torch, that is there.
        on_progress: called after each batch and each dev example.

    Returns:
        What the kept reader reached on the dev examples, 0..1: the mean F1 of those that have an
        answer and, where some have none, of that and of how well it tells these apart (AUROC).

    Raises:
        InputError: no example can be learned from.
        ModelError: ``out`` can't be written, or holds another unfinished run; ``start`` holds no
            whole reader.
    """
    with seeded(seed):
        network = (
            new_span_network(_DROPOUT) if start is None else load_span_network(start, _DROPOUT)
        )
    for embedding in (network.encoder.words, network.encoder.positions):
        embedding.requires_grad_(False)
    task = _Reading(network, data, seed, bfloat16, device, on_progress)
    config = TrainingConfig(
        epochs=task.parts(passes or _PASSES),
        patience=task.parts(passes or _PASSES),
        learning_rate=_LEARNING_RATE if start is None else _LEARNING_RATE_FROM_READER,
        warm_up=_WARM_UP,
        seed=seed,
    )
    notes = {
        "seed": seed,
        "data": _digest(data),
        "start": None if start is None else start.name,
        "examples": [len(data.train), len(data.made)],
        "bfloat16": bfloat16,
        "torch": torch.__version__,
    }

    def keep(report: EpochReport) -> None:
        save_span_network(out, network, {**notes, "dev": 1 - report.error, "epoch": report.epoch})

    with using_threads(threads):
        error = Training(network, task, config, out, keep, notes).run(on_epoch, on_progress)
        if start is not None:
            network.load_state_dict(_mean_weights(start, out))
            mixed = mean(task.valid_errors())
            if mixed < error:
                error = mixed
                save_span_network(
                    out, network, {**notes, "dev": 1 - error, "mean_with_start": True}
                )
    return 1 - error


def _mean_weights(one: Path, other: Path) -> dict[str, Tensor]:
    """The mean of two readers' weights."""
    weights = load_span_network(other).state_dict()
    return {
        name: (tensor + weights[name]) / 2
        for name, tensor in load_span_network(one).state_dict().items()
    }


class _Reading:
    """Reading passages, as a task for the training loop."""

    def __init__(
        self,
        network: SpanNetwork,
        data: ReaderData,
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
        self._packer = Packer(load_tokenizer(checked_folder()), _TOKENS)
        if not any(self._packed(data.train, random.Random(seed))):
            raise InputError(
                "there is nothing to learn from: no answer stands in the passages of its "
                "question; expected answers as they are written there, or none"
            )

    def parts(self, passes: int) -> int:
        """Parts of so many passes."""
        return sum(len(self._starts(number)) for number in range(passes))

    def batches(self, epoch: int) -> Iterator[list[PackedExample]]:
        """The batches of one part of a pass."""
        number = 0
        while epoch >= len(self._starts(number)):
            epoch -= len(self._starts(number))
            number += 1
        chance = random.Random(self._seed * 1_000_003 + number)
        examples = self._examples(number)
        chance.shuffle(examples)
        start = self._starts(number)[epoch]
        chance = random.Random((self._seed * 1_000_003 + number) * 1_009 + epoch)
        packed = list(self._packed(examples[start : start + _PART], chance))
        yield from batches_of(packed, _BATCH_TOKENS, chance)

    def loss(self, batch: list[PackedExample], _progress: float) -> Tensor:
        """Mean negative log-likelihood of what is right."""
        token_ids, segments, allowed, mask = (part.to(self._device) for part in _padded(batch))
        with torch.autocast(token_ids.device.type, dtype=torch.bfloat16, enabled=self._bfloat16):
            scores = self._network(token_ids, segments, allowed, mask)
        kinds = torch.tensor([example.kind for example in batch], device=self._device)
        return span_loss(scores, [example.spans for example in batch], kinds)

    def valid_errors(self) -> dict[str, float]:
        """One minus the mean F1 of the dev questions that have an answer.

        Where some have none, also one minus how well the reader tells these from the others.
        """
        reader = ExtractiveReader(score_packs(self._network), self._packer)
        dev = self._data.dev
        read = [
            reader.read(one.question, _passages(one))
            for one in counted(dev, "reading dev examples", self._on_progress)
        ]
        lost = [
            1 - f1(_answer(reading, one), one.answers)
            for one, reading in zip(dev, read, strict=True)
            if one.answers
        ]
        told = area_under_roc(
            [reading.answerable for reading in read], [bool(one.answers) for one in dev]
        )
        errors = {"f1": sum(lost) / max(1, len(lost))}
        return errors if told is None else {**errors, "answerable": 1 - told}

    def state(self) -> dict[str, Any]:
        """Nothing is left for the next part."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Nothing to go on from."""

    def _examples(self, number: int) -> list[ReaderExample]:
        return [*self._data.train, *(self._data.made if number == 0 else ())]

    def _starts(self, number: int) -> range:
        """First examples of the parts of a pass."""
        return range(0, len(self._data.train) + (0 if number else len(self._data.made)), _PART)

    def _packed(
        self, examples: Sequence[ReaderExample], chance: random.Random
    ) -> Iterator[PackedExample]:
        for example in examples:
            packed = packed_example(example, self._packer, chance)
            if packed is not None:
                yield packed


def _passages(example: ReaderExample) -> list[Passage]:
    return [Passage(one.title, one.text) for one in example.passages]


def _answer(reading: Reading, example: ReaderExample) -> str:
    if max(reading.yes, reading.no) > 1 / 2:
        return "yes" if reading.yes > reading.no else "no"
    if not reading.spans:
        return ""
    best = reading.spans[0]
    return example.passages[best.passage].text[best.start : best.end]


def _padded(batch: Sequence[PackedExample]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Token ids, segments, allowed tokens and mask of a batch, each [B, T]."""
    longest = max(len(example.pack.token_ids) for example in batch)
    token_ids = np.zeros((len(batch), longest), np.int64)
    segments = np.zeros_like(token_ids)
    allowed = np.zeros_like(token_ids, np.bool_)
    mask = np.zeros_like(allowed)
    for row, example in enumerate(batch):
        size = len(example.pack.token_ids)
        token_ids[row, :size], segments[row, :size], allowed[row, :size] = (
            part[0] for part in example.pack.inputs()
        )
        mask[row, :size] = True
    return (
        torch.from_numpy(token_ids),
        torch.from_numpy(segments),
        torch.from_numpy(allowed),
        torch.from_numpy(mask),
    )


def _digest(data: ReaderData) -> str:
    digest = hashlib.sha256()
    for part in data:
        for example in part:
            digest.update(example.model_dump_json().encode())
    return digest.hexdigest()
