"""Train the network that attends to programs over a table.

    python -m benchmarks.train_programs --seconds 3000 --out memnet/shipped/programs

It reads a question with the likeliest programs by the model of ``benchmarks.fit_programs``, which
has to be fitted before, each as a passage of its own, and learns to attend to those with a right
answer, or to nothing. The questions are those about the
tables of ``questions/tables.jsonl.gz`` and those about the everyday collections of part "train",
most of which the tables beside a text don't answer. Training begins with the weights in the folder
``--start``, or else with those of the shipped reader; it prints how many questions about the tables
that are held out are right before and after.

Source: Clark and Gardner 2018 (several right ones, whose probabilities are summed).
"""

import argparse
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.documents import is_right as holds_answer
from benchmarks.fit_programs import is_right, plainly_asked, table_of
from benchmarks.questions import FOLDER, unpack_everyday
from benchmarks.reader_data.files import lines
from benchmarks.reader_data.superlatives import made_questions
from benchmarks.train_verdicts import batches, bfloat16_is_faster, padded, train
from memnet import Engine
from memnet.checkpoints import SHIPPED
from memnet.encoders.minilm import shipped_token_table
from memnet.encoders.weights import load_tokenizer
from memnet.reader.answers import asks_whether
from memnet.reader.loading import SPANS
from memnet.reader.network import SpanNetwork, SpanTensors, load_span_network, save_span_network
from memnet.reader.passages import RankedSlot, may_hold_rows
from memnet.reader.programs import (
    NOTHING_GIVEN,
    PROGRAMS,
    Program,
    ProgramModel,
    load_programs,
    may_be_read,
    titled_once,
)
from memnet.reader.rows import Table, stems, tables_of
from memnet.reader.spans import Packer, Passage
from memnet.types import Source

_RATE, _TOKENS = 1e-4, 4_096  # Learning rate; tokens of a batch
_MAX_TOKENS = 384  # Of a question with its programs
_LISTED, _SHOWN = 12, 9  # Programs of a question, and those that it is read with at a time
_COLLECTIONS = 3  # One of so many everyday collections
_BESIDE = 0.3  # Share that is read of their questions that no table answers
_MOST_TABLES, _MOST_SLOTS = 2, 2_000


class Listed(NamedTuple):
    """A question, and the programs that it is read with."""

    question: str
    passages: Sequence[Passage]  # The likeliest first, each with the title of its table
    right: Sequence[bool]
    part: str


class _Packed(NamedTuple):
    ids: list[int]
    second: int  # First token of the passages
    units: list[list[tuple[int, int]]]  # First and last tokens of the units of each passage
    right: list[bool]  # Of each passage


def main() -> None:
    """List, train and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--start", type=Path, default=SHIPPED / SPANS)
    parser.add_argument("--out", type=Path, default=SHIPPED / PROGRAMS)
    options = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    every = [*of_tables(), *of_collections()]
    every = [one for one in every if one.passages]
    held_out = [pack(one) for one in every if one.part != "train"]
    learned = [one for one in every if one.part == "train"]
    network = load_span_network(options.start, dropout=0.1)
    for kept in (network.encoder.words, network.encoder.positions):
        kept.requires_grad_(False)
    print(f"{len(learned)} questions to learn from; before {measured(network.eval(), held_out)}")
    items: list[_Packed] = []

    def drawn(_: float) -> list[int]:
        items[:] = [pack(some_of(one)) for one in learned]
        return random.sample(range(len(items)), len(items))

    averaged = train(
        network, items, drawn, lambda batch, _: loss(network, batch), _RATE, _TOKENS,
        options.seconds,
    )  # fmt: skip
    network.load_state_dict(averaged, strict=False)
    print(f"after {measured(network, held_out)}")
    save_span_network(options.out, network, {"made_by": "python -m benchmarks.train_programs"})


def of_tables() -> Iterator[Listed]:
    """The questions about tables that are not for yes or no, each with programs of its table.

    Those with words for more and less are made of the tables to learn from, too.
    """
    chance = random.Random(0)
    for one in lines(FOLDER / "tables.jsonl.gz"):
        table = table_of(one["title"], one["header"], one["rows"])
        written = [(asked["question"], asked["answers"]) for asked in one["questions"]]
        made = made_questions(table, chance) if one.get("part") != "held_out" else []
        for text, answers in (*written, *made):
            if not asks_whether(text) and answers not in (["yes"], ["no"]):
                yield _listed(text, [table], partial(_is_answer, answers), one.get("part", "train"))


def of_collections() -> Iterator[Listed]:
    """Questions about everyday collections with tables, each with those most like it."""
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        for folder, asked in [*unpack_everyday("train", Path(scratch))][::_COLLECTIONS]:
            with Engine.open(
                folder / "store", create=True, encoder="static", reader="sentences",
                answerer="untrained",
            ) as memory:  # fmt: skip
                memory.ingest(folder / "files")
                tables = [one for source in memory.sources() for one in _tables(memory, source)]
            for one in asked if tables else ():
                text = one["question"]
                content = plainly_asked(text).content
                near = sorted(tables, key=lambda table: -len(_words(table) & content))
                near = near[:_MOST_TABLES]
                sources = tuple(each["source"] for each in one["evidence"])
                answering = [each for each in near if _source(each).endswith(sources or ("\n",))]
                if asks_whether(text) or (not answering and chance.random() > _BESIDE):
                    continue
                yield _listed(text, near, partial(_answers, one, answering), "train")


def _tables(memory: Engine, source: Source) -> list[Table]:
    slots = memory.store.passages_of(source.id, source.namespace, _MOST_SLOTS)
    items = [RankedSlot(slot, 1.0, 0.5, 1.0, 1) for slot in slots]
    rows = any(may_hold_rows(item.slot.text) for item in items)
    return [one for one in tables_of(items) if may_be_read(one)] if rows else []


def _words(table: Table) -> frozenset[str]:
    return table.titles.union(stems(table.above), *(row.said for row in table.lines))


def _source(table: Table) -> str:
    return table.lines[0].item.slot.source


def _is_answer(answers: Sequence[str], program: Program) -> bool:
    return is_right(program.short, answers or [NOTHING_GIVEN])


def _answers(asked: dict[str, Any], tables: Sequence[Table], program: Program) -> bool:
    listed = program.operation != "list" or asked["type"] == "list"
    own = any(program.table.lines is one.lines for one in tables)
    return own and listed and holds_answer(asked, program.short)


def _listed(
    question: str, tables: Sequence[Table], right: Callable[[Program], bool], part: str
) -> Listed:
    likely, _ = _model().likeliest(plainly_asked(question), tables, _LISTED)
    passages = [one.passage for one, _ in likely]
    return Listed(question, passages, [right(one) for one, _ in likely], part)


@cache
def _model() -> ProgramModel:
    vectors = shipped_token_table()
    return ProgramModel(load_programs(SHIPPED / PROGRAMS, vectors.width), vectors)


def some_of(one: Listed) -> Listed:
    """A question with all right programs and some wrong ones, half of these the likeliest."""
    right = [place for place, own in enumerate(one.right) if own]
    wrong = [place for place, own in enumerate(one.right) if not own]
    count = max(2, _SHOWN - len(right))
    rest = wrong[count // 2 :]
    wrong = wrong[: count // 2] + random.sample(rest, min(len(rest), count - count // 2))
    shown = random.sample(right + wrong, len(right + wrong))
    titles = list(dict.fromkeys(one.passages[place].title for place in shown))
    shown.sort(key=lambda place: titles.index(one.passages[place].title))
    passages = [one.passages[place] for place in shown]
    return one._replace(passages=passages, right=[one.right[place] for place in shown])


_PACKER = Packer(load_tokenizer(), _MAX_TOKENS)


def pack(one: Listed) -> _Packed:
    """What the network reads of a question; programs that don't fit are left out."""
    first = _PACKER.packs(one.question, titled_once(one.passages))[0]
    units: dict[int, list[tuple[int, int]]] = {}
    for unit in first.units:
        units.setdefault(unit.passage, []).append((unit.first, unit.last))
    right = [one.right[passage] for passage in units]
    return _Packed(first.token_ids, first.passages_start, [*units.values()], right)


def _scores(network: SpanNetwork, batch: Sequence[_Packed]) -> SpanTensors:
    ids, segments, mask = padded(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16_is_faster()):
        scores: SpanTensors = network(ids, segments, segments.bool(), mask)
    return scores


def _logits(relevance: Tensor, one: _Packed) -> Tensor:
    """[N + 1]: of the likeliest unit of each program, and 0 of nothing; ``relevance`` is [T]."""
    sums = nn.functional.pad(relevance.cumsum(0), (1, 0))
    of_programs = [
        torch.stack([(sums[last + 1] - sums[first]) / (last + 1 - first) for first, last in own])
        for own in one.units
    ]
    return torch.stack([*(own.max() for own in of_programs), relevance.new_zeros(())])


def loss(network: SpanNetwork, batch: Sequence[_Packed]) -> Tensor:
    """Mean negative log-likelihood of the right programs, or of nothing where none is right."""
    losses: list[Tensor] = []
    for one, relevance in zip(batch, _scores(network, batch).relevance, strict=True):
        logits = _logits(relevance, one)
        right = torch.tensor([*one.right, not any(one.right)])
        losses.append(torch.logsumexp(logits, 0) - torch.logsumexp(logits[right], 0))
    return torch.stack(losses).mean()


@torch.no_grad()
def measured(network: SpanNetwork, some: Sequence[_Packed]) -> str:
    """How many of some questions are right by what is attended to most."""
    right: list[bool] = []
    for numbers in batches(some, range(len(some)), _TOKENS):
        own = [some[number] for number in numbers]
        for one, relevance in zip(own, _scores(network, own).relevance, strict=True):
            best = int(_logits(relevance, one).argmax())
            right.append([*one.right, not any(one.right)][best])
    return f"{sum(right)} of {len(right)}"


if __name__ == "__main__":
    main()
