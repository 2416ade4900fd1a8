"""Train the judge of quotations: the reader's last two layers anew, for yes, no or left open.

    python -m benchmarks.train_judge [PAIRS ...] --seconds 600 --out READER

PAIRS are files of examples as ``memnet train reader`` takes them, each with one quotation as its
passage, beside the written ones of ``benchmarks/questions``; READER is a folder with the reader.
Shipped is a run of 1,100 s on one core with quotations of documents, sentences made into questions
(``benchmarks.reader_data.polar``), and the same with an antonym of WordNet in the question.
"""

import argparse
import math
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn

from benchmarks.reader_data.contrast import alone, unanswering, written
from benchmarks.reader_data.files import Example, lines
from memnet.checkpoints.torch_modules import arrays_of
from memnet.encoders.weights import checked_folder, load_tokenizer
from memnet.reader.checkpoint import JUDGE, save_weights
from memnet.reader.network import load_span_network
from memnet.reader.spans import Packer
from memnet.reader.training.examples import (
    ReaderExample,
    batches_by_length,
    packed_example,
    padded,
)

_VERDICTS = Path(__file__).with_name("questions") / "verdicts.txt"
_ANSWERS = {"Y": ["yes"], "N": ["no"], "O": []}
_LAYERS = ("encoder.encoder.layers.4.", "encoder.encoder.layers.5.", "kinds.")
_RATE, _WARM_UP, _DECAY = 1.3e-4, 100, 0.995
_BATCH_TOKENS, _MAX_TOKENS = 1_024, 384


def main() -> None:
    """Train until the time is up, and save the moving average."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=Path, nargs="*")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.manual_seed(0)
    rng = random.Random(0)
    learned_from = [*verdicts(), *alone(written()), *unanswering(written())]
    learned_from += [one for path in options.pairs for one in lines(path)]
    packer = Packer(load_tokenizer(checked_folder()), _MAX_TOKENS)
    network = load_span_network(options.out, dropout=0.1)
    own = {name: one for name, one in network.named_parameters() if name.startswith(_LAYERS)}
    network.requires_grad_(False)
    for one in own.values():
        one.requires_grad_(True)
    averaged = {name: one.detach().clone() for name, one in own.items()}
    optimizer = torch.optim.AdamW(own.values(), lr=_RATE, weight_decay=0.01)
    began, step = time.monotonic(), 0
    examples = [ReaderExample.model_validate(one) for one in learned_from]
    while (progress := (time.monotonic() - began) / options.seconds) < 1:
        read = (packed_example(example, packer, rng) for example in examples)
        packed = [example for example in read if example is not None]
        for batch in batches_by_length(packed, _BATCH_TOKENS, rng):
            progress = (time.monotonic() - began) / options.seconds
            if progress >= 1:
                break
            rate = _RATE * min(1, (step + 1) / _WARM_UP) * (1 + math.cos(math.pi * progress)) / 2
            for group in optimizer.param_groups:
                group["lr"] = rate
            scores = network(*padded(batch)).kind
            right = torch.tensor([one.right.kinds for one in batch])
            loss = -scores.masked_fill(~right, -1e4).logsumexp(1).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(own.values(), 1.0)
            optimizer.step()
            step += 1
            with torch.no_grad():
                for name, one in own.items():
                    averaged[name].lerp_(one, 1 - _DECAY)
    save_weights(options.out, arrays_of(averaged), {"steps": step}, JUDGE)


def verdicts() -> Iterator[Example]:
    """The written pairs: a line is a quotation and questions marked Y, N or O (left open)."""
    for line in _VERDICTS.read_text(encoding="utf-8").splitlines():
        text, *asked = line.split("|")
        for one in asked:
            found: Example = {"question": one[2:], "answers": _ANSWERS[one[0]]}
            yield {**found, "passages": [{"title": "", "text": text}], "set": "verdicts"}


if __name__ == "__main__":
    main()
