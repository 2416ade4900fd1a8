"""The training loop: epochs, learning rate, early stopping, and resuming after a kill."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from memnet.checkpoints import check_tensors, delete_checkpoint, load_checkpoint, save_checkpoint
from memnet.errors import ModelError
from memnet.learning import OnProgress, TrainingProgress, no_progress
from memnet.types import Value


def arrays_of(tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Tensors of any device as arrays of a checkpoint."""
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def tensors_of(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
    """The arrays of a checkpoint as tensors."""
    return {name: torch.tensor(array) for name, array in arrays.items()}


def load_state(module: nn.Module, arrays: Mapping[str, NDArray[Any]], source: Path) -> None:
    """Load a module's weights, by name.

    ModelError if one is missing, has another shape or dtype, is not of this module, or holds
    numbers that are not weights.
    """
    expected = {
        name: (tuple(tensor.shape), torch.empty(0, dtype=tensor.dtype, device="cpu").numpy().dtype)
        for name, tensor in module.state_dict().items()
    }
    check_tensors(arrays, expected, source)
    module.load_state_dict(tensors_of(arrays))


# Name of the checkpoint that a run resumes from; it is deleted when the run ends.
_STATE = "training"
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")  # State of AdamW for each parameter

Batch = TypeVar("Batch", bound=Sized)


class TrainingConfig(Value):
    """How to train."""

    # Passes over the examples; the learning rate decays to zero over them (cosine).
    epochs: int = Field(default=100, ge=1)
    # Epochs without a lower valid error after which training stops.
    patience: int = Field(default=15, ge=1)
    learning_rate: float = Field(default=1e-3, gt=0)
    warm_up: int = Field(default=300, ge=1)  # Updates over which the learning rate rises linearly
    weight_decay: float = Field(default=0.01, ge=0)
    gradient_norm: float = Field(default=1.0, gt=0)  # Gradients are clipped to this norm
    seed: int = Field(default=0, ge=0)


class Task(Protocol[Batch]):
    """What is learned: examples, a loss, and an error to stop by."""

    def batches(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch, in an order that the epoch and a seed decide."""
        ...

    def loss(self, batch: Batch, progress: float, /) -> Tensor:
        """The mean loss of a batch [] float32, with a gradient; ``progress`` of the run is 0..1."""
        ...

    def valid_errors(self) -> dict[str, float]:
        """The error rate on each part of the valid split, 0..1."""
        ...

    def state(self) -> dict[str, Any]:
        """State besides the weights that the next epoch needs, as JSON values."""
        ...

    def restore(self, state: Mapping[str, Any]) -> None:
        """Resume from such a state."""
        ...


@dataclass(frozen=True)
class EpochReport:
    """Scores of an epoch."""

    epoch: int
    """Counted from 1."""
    loss: float
    """Mean over its batches."""
    errors: Mapping[str, float]
    """Error rate on each part of the valid split, 0..1."""
    best: float
    """Lowest mean valid error so far."""
    seconds: float

    @property
    def error(self) -> float:
        """Mean over the parts of the valid split."""
        return mean(self.errors)


def mean(errors: Mapping[str, float]) -> float:
    """The mean of named numbers."""
    return sum(errors.values()) / len(errors)


class Training:
    """One run: trains a module on a task and keeps the weights with the lowest valid error.

    An epoch's randomness depends on the seed and the epoch's number alone, so that a resumed run
    reaches the same result as one that was not stopped.
    """

    def __init__(
        self,
        module: nn.Module,
        task: Task[Any],
        config: TrainingConfig,
        folder: Path,
        save_best: Callable[[EpochReport], None],
        identity: Mapping[str, Any],
    ) -> None:
        """Set up a run that trains a module in place and keeps its state in a folder.

        ``save_best`` is called when an epoch had the lowest valid error so far, to save the model;
        ``identity`` is JSON values (data, settings, versions): only a run of the same is resumed.
        """
        self._module = module
        self._task = task
        self._config = config
        self._folder = folder
        self._save_best = save_best
        self._identity = {**identity, "training": config.model_dump()}
        self._optimizer = torch.optim.AdamW(
            module.parameters(),
            lr=config.learning_rate,
            betas=(0.9, 0.98),
            weight_decay=config.weight_decay,
            fused=True,
        )
        self._epoch = self._updates = self._best_epoch = 0
        self._best = math.inf

    def run(
        self,
        on_epoch: Callable[[EpochReport], None] = lambda _: None,
        on_progress: OnProgress = no_progress,
    ) -> float:
        """Train to the end, or resume such a run, and give the lowest mean valid error, 0..1.

        ModelError where the folder can't be written, or holds another unfinished run.
        """
        self._resume()
        examples = 0

        def advance(batch: Sized, share: float, loss: float) -> None:
            nonlocal examples
            examples += len(batch)
            on_progress(TrainingProgress("training", examples, share, loss))

        on_progress(TrainingProgress("training", 0, self._epoch / self._config.epochs))
        epochs, patience = self._config.epochs, self._config.patience
        while self._epoch < min(epochs, self._best_epoch + patience):
            # Dropout draws from torch's global generator.
            with seeded(self._config.seed * 1_000_003 + self._epoch):
                report = self._train_epoch(advance)
            on_epoch(report)
        delete_checkpoint(self._folder, _STATE)
        return self._best

    def _train_epoch(self, advance: Callable[[Sized, float, float], None]) -> EpochReport:
        started = time.perf_counter()
        self._module.train()
        total, batches = 0.0, list(self._task.batches(self._epoch))
        for number, batch in enumerate(batches, start=1):
            total += self._update(batch, self._progress(number - 1, len(batches)))
            advance(batch, self._progress(number, len(batches)), total / number)
        self._epoch += 1
        self._module.eval()
        errors = self._task.valid_errors()
        better = mean(errors) < self._best
        if better:
            self._best, self._best_epoch = mean(errors), self._epoch
        report = EpochReport(
            self._epoch,
            total / max(1, len(batches)),
            errors,
            self._best,
            time.perf_counter() - started,
        )
        if better:
            self._save_best(report)
        self._save()
        return report

    def _progress(self, number: int, batches: int) -> float:
        """Share of the run that is done after ``number`` of this epoch's batches, 0..1."""
        return (self._epoch + number / batches) / self._config.epochs

    def _update(self, batch: Any, progress: float) -> float:
        rate = self._config.learning_rate * 0.5 * (1 + math.cos(math.pi * progress))
        for group in self._optimizer.param_groups:
            group["lr"] = rate * min(1.0, (self._updates + 1) / self._config.warm_up)
        loss = self._task.loss(batch, progress)
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._module.parameters(), self._config.gradient_norm)
        self._optimizer.step()
        self._updates += 1
        return float(loss.detach())

    def _save(self) -> None:
        moments = {
            f"{name}/{moment}": state[moment]
            for name, parameter in self._module.named_parameters()
            if (state := self._optimizer.state.get(parameter))
            for moment in _MOMENTS
        }
        weights = {f"module/{name}": tensor for name, tensor in self._module.state_dict().items()}
        save_checkpoint(
            self._folder,
            _STATE,
            arrays_of({**moments, **weights}),
            {
                "identity": self._identity,
                "epoch": self._epoch,
                "updates": self._updates,
                "best": self._best,
                "best_epoch": self._best_epoch,
                "task": self._task.state(),
            },
        )

    def _resume(self) -> None:
        if not (self._folder / f"{_STATE}.json").exists():
            return
        tensors, description = load_checkpoint(self._folder, _STATE)
        if description["identity"] != self._identity:
            raise ModelError(
                f"{self._folder} holds an unfinished run on other data or settings; finish that "
                "one, delete the folder, or choose another --out"
            )
        weights = {
            name.removeprefix("module/"): tensor
            for name, tensor in tensors.items()
            if name.startswith("module/")
        }
        load_state(self._module, weights, self._folder)
        for name, parameter in self._module.named_parameters():
            if f"{name}/step" in tensors:  # a parameter that had no gradient yet has no moments
                self._optimizer.state[parameter] = {
                    moment: torch.tensor(tensors[f"{name}/{moment}"], device=parameter.device)
                    for moment in _MOMENTS
                }
        self._epoch, self._updates = description["epoch"], description["updates"]
        self._best, self._best_epoch = description["best"], description["best_epoch"]
        self._task.restore(description["task"])


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """While inside, torch's global generators start from a seed; after it they are as before.

    Dropout and the initial weights of a module draw from the global generators and no others.
    """
    initialised: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = range(torch.cuda.device_count()) if initialised else ()
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


@contextmanager
def using_threads(number: int | None) -> Iterator[None]:
    """While inside, torch uses ``number`` processor cores; None leaves its setting."""
    before = torch.get_num_threads()
    if number is not None:
        torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
