"""Train the reader for a given time, on a GPU or processor, from the weights of another.

    python -m benchmarks.prepare_reader --data DIR --out EXAMPLES
    python -m benchmarks.train_reader EXAMPLES --seconds 600 --out READER

The examples, loss and weights are those of ``memnet train reader``; here workers make the packs of
each pass beside the device, and the learning rate falls to zero when the time is up. What is saved
is the moving average of the weights. ``benchmarks.prepare_everyday`` has the command by which the
shipped reader went on, on a processor; it is a mean of such readers and those before them
(``benchmarks.mean_of_readers``).
"""

import argparse
import math
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from pathlib import Path

import torch
from torch import nn

from benchmarks.reader_data.files import Example, lines
from memnet.checkpoints import SHIPPED
from memnet.encoders.weights import load_tokenizer
from memnet.learning.loop import arrays_of
from memnet.reader.checkpoint import save_weights
from memnet.reader.loading import SPANS
from memnet.reader.network import load_span_network, reading_loss
from memnet.reader.spans import Packer
from memnet.reader.training.examples import (
    PackedExample,
    ReaderExample,
    batches_by_length,
    packed_example,
    padded,
)

_MAX_TOKENS = 384
_WARM_UP, _DECAY = 200, 0.99
_CHUNK, _BUFFER = 500, 9_000  # Examples that a worker packs at once, and that are shuffled


def main() -> None:
    """Train until the time is up, and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--start", type=Path, default=SHIPPED / SPANS)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--batch-tokens", type=int, default=24_576)
    parser.add_argument("--general", type=int, default=45_000, help="others in each pass")
    parser.add_argument("--bfloat16", action="store_true", help="on a processor with AMX as well")
    options = parser.parse_args()
    torch.manual_seed(0)
    about, general = (list(lines(options.examples / f"{n}.jsonl")) for n in ("train", "general"))
    network = load_span_network(options.start, dropout=0.1).to(options.device)
    averaged = {name: one.detach().clone() for name, one in network.state_dict().items()}
    for kept in (network.encoder.words, network.encoder.positions):
        kept.requires_grad_(False)
    learned = [one for one in network.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=options.rate, weight_decay=0.01)
    began, step = time.monotonic(), 0
    with ProcessPoolExecutor(options.workers) as pool:
        drawn = _chunks(about, general, options.general)
        for batch in _batches(drawn, pool, options.workers, options.batch_tokens):
            progress = (time.monotonic() - began) / options.seconds
            if progress >= 1:
                break
            share = min(1, (step + 1) / _WARM_UP) * (1 + math.cos(math.pi * progress)) / 2
            for group in optimizer.param_groups:
                group["lr"] = options.rate * share
            inputs = [one.to(options.device) for one in padded(batch)]
            device = inputs[0].device.type
            half = options.bfloat16 or device == "cuda"
            with torch.autocast(device, dtype=torch.bfloat16, enabled=half):
                scores = network(*inputs)
            loss = reading_loss(scores, [one.right for one in batch])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(learned, 1.0)
            optimizer.step()
            step += 1
            with torch.no_grad():
                for name, one in network.state_dict().items():
                    averaged[name].lerp_(one, 1 - _DECAY)
            if step % 100 == 0:
                print(f"{time.monotonic() - began:.0f} s, step {step}: loss {loss.item():.3f}")
        pool.shutdown(cancel_futures=True)
    network.load_state_dict(averaged)
    save_weights(options.out, arrays_of(network.cpu().state_dict()), {"steps": step})


def _batches(
    chunks: Iterator[tuple[list[Example], int]],
    pool: ProcessPoolExecutor,
    workers: int,
    batch_tokens: int,
) -> Iterator[list[PackedExample]]:
    """Batches of passes without end; the workers pack the next examples meanwhile."""
    rng = random.Random(0)
    waiting: list[Future[list[PackedExample]]] = [
        pool.submit(_packed, *next(chunks)) for _ in range(3 * workers)
    ]
    ready: list[PackedExample] = []
    while True:
        while len(ready) < _BUFFER:
            ready += waiting.pop(0).result()
            waiting.append(pool.submit(_packed, *next(chunks)))
        rng.shuffle(ready)
        taken, ready = ready[: 2 * _BUFFER // 3], ready[2 * _BUFFER // 3 :]
        yield from batches_by_length(taken, batch_tokens, rng)


def _chunks(
    about: Sequence[Example], general: Sequence[Example], drawn: int
) -> Iterator[tuple[list[Example], int]]:
    """Examples to pack with a seed, pass after pass, each with so many ``drawn`` general ones."""
    number = 0
    while True:
        rng = random.Random(number)
        examples = [*about, *rng.sample(general, min(drawn, len(general)))]
        rng.shuffle(examples)
        for start in range(0, len(examples), _CHUNK):
            yield examples[start : start + _CHUNK], number * len(examples) + start
        number += 1


def _packed(examples: Sequence[Example], seed: int) -> list[PackedExample]:
    rng = random.Random(seed)
    read = (ReaderExample.model_validate(one) for one in examples)
    return [one for each in read if (one := packed_example(each, _packer(), rng)) is not None]


@cache
def _packer() -> Packer:
    return Packer(load_tokenizer(), _MAX_TOKENS)


if __name__ == "__main__":
    main()
