"""Copy and associative recall: can the differentiable memory be trained, and does it generalise?

    python -m benchmarks.memory_tasks --task copy|recall [--steps N] [--seed S] [--out DIR]

A Differentiable Neural Computer learns a task on short sequences and is tested on those and on
longer ones. Its weights don't depend on the number of slots, so the longer sequences get a larger
memory than it was trained with. The figure is the share of wrong bits, of which chance gets half.

Source: Graves et al. 2014, sections 4.1 (copy) and 4.3 (associative recall); six bits a vector.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn

from benchmarks.differentiable_memory import DifferentiableNeuralComputer
from benchmarks.environment import environment

_BITS, _MARKS = 6, 2
_ITEM = 3
"""Vectors of an item to recall."""
_HIDDEN, _WIDTH, _HEADS = 100, 24, 1
_BATCH, _RATE, _LARGEST_GRADIENT = 16, 2e-3, 10.0
_TESTED, _TEST_SEED = 256, 20_000
_RESULTS = Path(__file__).parent / "results"


class Episodes(NamedTuple):
    """What a computer sees, and what it should say in the last S steps."""

    inputs: Tensor
    """[B, T, bits and marks] float32."""
    targets: Tensor
    """[B, S, bits] float32, 0 or 1."""


@dataclass(frozen=True)
class Task:
    """A task, the lengths it is learned and tested on, and what that takes."""

    episodes: Callable[[int, int, Generator], Episodes]
    shortest: int
    longest: int
    tested: tuple[int, ...]
    steps: int
    slots: int
    tested_slots: int


def copy(batch: int, length: int, random: Generator) -> Episodes:
    """``length`` vectors between two marks; then they are wanted again, in their order."""
    bits = torch.randint(2, (batch, length, _BITS), generator=random).float()
    inputs = torch.zeros(batch, 2 * length + 2, _BITS + _MARKS)
    inputs[:, 0, _BITS] = 1
    inputs[:, 1 : length + 1, :_BITS] = bits
    inputs[:, length + 1, _BITS + 1] = 1
    return Episodes(inputs, bits)


def recall(batch: int, items: int, random: Generator) -> Episodes:
    """``items`` items after a mark each, then one of them between marks; wanted is the next."""
    bits = torch.randint(2, (batch, items, _ITEM, _BITS), generator=random).float()
    asked = torch.randint(items - 1, (batch,), generator=random)
    rows = torch.arange(batch)
    shown = torch.cat([bits, bits[rows, asked].unsqueeze(1)], dim=1)
    marked = torch.zeros(batch, items + 1, 1 + _ITEM, _BITS + _MARKS)
    marked[:, :, 1:, :_BITS] = shown
    marked[:, :items, 0, _BITS] = 1
    marked[:, items, 0, _BITS + 1] = 1
    answer = torch.zeros(batch, 1 + _ITEM, _BITS + _MARKS)
    answer[:, 0, _BITS + 1] = 1
    return Episodes(torch.cat([marked.flatten(1, 2), answer], dim=1), bits[rows, asked + 1])


TASKS = {
    "copy": Task(copy, 1, 10, (5, 10, 20, 30), steps=4000, slots=16, tested_slots=64),
    "recall": Task(recall, 2, 6, (2, 4, 6, 8, 10), steps=5000, slots=40, tested_slots=80),
}


def main() -> None:
    """Train, test and write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", choices=TASKS, required=True)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    task = TASKS[options.task]
    torch.set_num_threads(1)  # the tensors are small: more threads only wait for each other
    torch.manual_seed(options.seed)
    steps = options.steps or task.steps
    started = time.perf_counter()
    computer = _train(task, steps, Generator().manual_seed(options.seed))
    seconds = time.perf_counter() - started
    result: dict[str, Any] = {
        "environment": environment(),
        "task": options.task,
        "seed": options.seed,
        "steps": steps,
        "train_seconds": round(seconds, 1),
        "trained_lengths": [task.shortest, task.longest],
        "slots": {"trained": task.slots, "tested": task.tested_slots},
        "parameters": sum(part.numel() for part in computer.parameters()),
        "bit_error": {str(length): _bit_error(task, computer, length) for length in task.tested},
    }
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"memory-{options.task}-{options.seed}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{options.task}, seed {options.seed}: {steps} steps in {seconds:.0f} s")
    for length, error in result["bit_error"].items():
        seen = "trained on" if int(length) <= task.longest else "not trained on"
        print(f"  length {length:>2} ({seen}): bit error {error:.4%}")


def _computer(slots: int) -> DifferentiableNeuralComputer:
    return DifferentiableNeuralComputer(_BITS + _MARKS, _BITS, _HIDDEN, slots, _WIDTH, _HEADS)


def _train(task: Task, steps: int, random: Generator) -> DifferentiableNeuralComputer:
    computer = _computer(task.slots)
    optimiser = torch.optim.Adam(computer.parameters(), lr=_RATE)
    decay = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
    losses: list[float] = []
    for step in range(1, steps + 1):
        length = int(torch.randint(task.shortest, task.longest + 1, (), generator=random))
        inputs, targets = task.episodes(_BATCH, length, random)
        said = computer(inputs)[0][:, -targets.shape[1] :]
        loss = nn.functional.binary_cross_entropy_with_logits(said, targets)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(computer.parameters(), _LARGEST_GRADIENT)
        optimiser.step()
        decay.step()
        losses.append(loss.item())
        if step % 250 == 0:
            print(f"step {step}: loss {sum(losses[-250:]) / 250:.5f}", flush=True)
    return computer


def _bit_error(task: Task, trained: DifferentiableNeuralComputer, length: int) -> float:
    """The share of wrong bits over sequences that depend on the length only, not on the seed."""
    computer = _computer(task.tested_slots)
    computer.load_state_dict(trained.state_dict())
    inputs, targets = task.episodes(_TESTED, length, Generator().manual_seed(_TEST_SEED + length))
    with torch.inference_mode():
        said = computer(inputs)[0][:, -targets.shape[1] :]
    return float(((said > 0) != (targets > 0.5)).double().mean())


if __name__ == "__main__":
    main()
