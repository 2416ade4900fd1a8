"""Fit the model of which program over a table a question means, from questions with answers.

    python -m benchmarks.fit_programs --out memnet/shipped/programs
    python -m benchmarks.fit_programs --decision

``questions/tables.jsonl.gz`` has tables with questions and what answers them, nothing where nothing
does. The model is to give those programs a high probability, together, that have a right answer
(Pasupat and Liang 2015, equation 2), and "none" where none has one. Part "held_out" is measured by:
of 100 questions how many are right, and how many may be answered with 85 of 100 right.

The decision weighs what the network of ``benchmarks.train_programs`` attends to with what the words
of the question say. Its weights, in ``memnet.reader.programs``, are fitted to the answers that the
engine proposes for what neither has learned from: the tables held out, in stores of fourteen, with
further questions that use their own words ("plain"), and the questions about the everyday
collections of part "fit". What is printed of it is cross-validated by question.
"""

import argparse
import csv
import re
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.documents import is_right as holds_answer
from benchmarks.questions import FOLDER
from benchmarks.reader_data.documents import everyday_memories
from benchmarks.reader_data.files import Example, lines
from memnet import Engine
from memnet.attention.arrays import fit_logistic, probability_of, weighted
from memnet.checkpoints import save_checkpoint
from memnet.encoders.minilm import shipped_token_table
from memnet.reader import tables as tables_module
from memnet.reader.answers import asks_whether
from memnet.reader.cells import Asked
from memnet.reader.loading import SPANS
from memnet.reader.passages import RankedSlot
from memnet.reader.programs import (
    NOTHING_GIVEN,
    PROGRAMS,
    Listed,
    ProgramSignals,
    ProgramWeights,
    cues_of,
    empty_weights,
    list_programs,
)
from memnet.reader.rows import Cell, Row, Table, stems
from memnet.reader.tables import asked_of
from memnet.storage import Slot
from memnet.text.english import query_terms

_DECAY, _RATE, _EPOCHS, _BATCH = 2e-4, 0.03, 30, 32
_LONGEST_NAME = 60  # Characters of the name of a file
_TABLES, _FOLDS = 14, 5  # Tables of a store
_COLLECTIONS = 4  # One of so many is asked
_NONE = -1  # Number of the operation "none", the last one
_AMOUNT = re.compile(r"(?:[$€£] ?|[A-Z]{3} )?([-−+]?\d[\d.,]*)(?: ?[^\W\d][^\d]{0,13}| ?[%$€£])?")


class Question(NamedTuple):
    """A question about a table, and which programs answer it."""

    text: str
    title: str
    answers: list[str]  # None of one that the table does not answer
    part: str
    listed: Listed
    cues: NDArray[np.float32]
    right: NDArray[np.bool_]  # [N + 1], the last one that none does


def main() -> None:
    """Fit, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--decision", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    if options.decision:
        print(ProgramSignals(*fit_decision([*_of_tables(), *_of_collections()])))
        return
    every = list(questions())
    train, held_out = ([one for one in every if one.part == part] for part in ("train", "held_out"))
    weights = fit(train)
    for name, some in (("train", train), ("held out", held_out)):
        print(f"{name}: {measured(weights, some)}")
    if options.out:
        made_by = {"made_by": "python -m benchmarks.fit_programs"}
        save_checkpoint(options.out, PROGRAMS, weights._asdict(), made_by)


def questions() -> Iterator[Question]:
    """All that are not for yes or no."""
    vectors = shipped_token_table()
    for one in lines(FOLDER / "tables.jsonl.gz"):
        table = table_of(one["title"], one["header"], one["rows"])
        for asked in one["questions"]:
            text, answers = asked["question"], asked["answers"]
            if asks_whether(text) or answers in (["yes"], ["no"]):
                continue
            listed = list_programs(plainly_asked(text), [table], vectors)
            right = [
                is_right(program.short, answers or [NOTHING_GIVEN]) for program in listed.programs
            ]
            yield Question(
                text, one["title"], answers, one.get("part", "train"), listed,
                cues_of(text, vectors), np.array([*right, not answers]),
            )  # fmt: skip


def plainly_asked(question: str) -> Asked:
    """A question all of whose words count the same."""
    words = query_terms(question)
    return asked_of(question, dict.fromkeys(words, 1 / max(1, len(words))))


def table_of(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table as it is read in a text."""
    slot = Slot(1, "passage", title, "", title, "", 0, 0, "", "")
    item = RankedSlot(slot, 1.0, 0.5, 1.0, 1)
    cells = [
        {name: Cell(name, text, 0, 0) for name, text in zip(header, row, strict=True) if text}
        for row in rows
    ]
    lines_ = tuple(Row(item, tuple(own.values())) for own in cells)
    return Table(tuple(header), tuple(cells), lines_, stems(title))


def is_right(short: str, answers: Sequence[str]) -> bool:
    """Whether an answer is one of those that are right: the same words, items or number."""
    return any(_is_same(short, one) for one in answers)


def _is_same(short: str, answer: str) -> bool:
    own, other = _plain(short), _plain(answer)
    if own == other:
        return True
    one, two = _amount(short), _amount(answer)
    if one is not None and two is not None:
        return abs(one - two) < 1e-6
    if "; " in answer:
        items = {_plain(part) for part in answer.split("; ")}
        return items == {_plain(part) for part in re.split(r"[;,] ", short)}
    return len(other) > 3 and other in own and len(own) < len(other) + 25


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text.casefold()).strip(" .")


def _amount(text: str) -> float | None:
    found = _AMOUNT.fullmatch(text.strip())
    digits = found[1].replace("−", "-").rstrip(".,") if found else ""
    if "," in digits and "." in digits:
        digits = digits.replace(",", "")
    elif "," in digits:
        digits = digits.replace(",", "" if len(digits.rpartition(",")[2]) == 3 else ".")
    try:
        return float(digits)
    except ValueError:
        return None


def fit(some: Sequence[Question]) -> ProgramWeights:
    """Weights for which the programs with a right answer are likeliest (Adam, L2)."""
    learned = {
        name: torch.zeros(array.shape, requires_grad=True)
        for name, array in empty_weights(shipped_token_table().width)._asdict().items()
    }
    some = [one for one in some if one.right.any()]
    optimizer = torch.optim.Adam(learned.values(), lr=_RATE)
    chance = np.random.default_rng(0)
    for epoch in range(_EPOCHS):
        order = chance.permutation(len(some))
        for group in optimizer.param_groups:
            group["lr"] = _RATE * (1 - epoch / _EPOCHS)
        for start in range(0, len(order), _BATCH):
            batch = [some[place] for place in order[start : start + _BATCH]]
            loss = _loss(learned, batch)
            loss = loss + _DECAY * sum((one**2).sum() for one in learned.values())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return ProgramWeights(**{name: one.detach().numpy() for name, one in learned.items()})


def _loss(weights: dict[str, Tensor], some: Sequence[Question]) -> Tensor:
    """Mean of minus the logarithm of what the right programs of each question are given."""
    logits, of = scores(weights, some)
    right = torch.from_numpy(np.concatenate([one.right for one in some]))
    every = _log_sums(logits, of, len(some))
    return (every - _log_sums(logits[right], of[right], len(some))).mean()


def _log_sums(logits: Tensor, of: Tensor, count: int) -> Tensor:
    """[count]: of the logits of each question the logarithm of the sum of their exponentials."""
    most = logits.detach().new_full((count,), -torch.inf)
    most = most.scatter_reduce(0, of, logits.detach(), "amax")
    return most + torch.zeros(count).index_add(0, of, (logits - most[of]).exp()).log()


def scores(weights: dict[str, Tensor], some: Sequence[Question]) -> tuple[Tensor, Tensor]:
    """``Listed.scores`` of several questions in a row, with gradients, and which each is of."""
    cues = torch.from_numpy(np.stack([one.cues for one in some]))
    # A last row of each for that none is meant
    none = np.array([[_NONE, 0, 0]])
    kinds = [np.concatenate([one.listed.kinds, none]) for one in some]
    features = [np.vstack([one.listed.features, one.listed.nothing()]) for one in some]
    counts = torch.tensor([len(one.right) for one in some])
    of = torch.repeat_interleave(torch.arange(len(some)), counts)
    operation, column, compared = torch.from_numpy(np.concatenate(kinds)).T
    own = torch.from_numpy(np.concatenate(features))
    found = (cues @ weights["operation"].T)[of, operation]
    found = found + (own * weights["features"][operation]).sum(1)
    of_program = (cues @ weights["column"].T)[of, column]
    of_program = of_program + (cues @ weights["compared"].T)[of, compared]
    of_program = of_program + own @ weights["shared"]
    return found + of_program * (operation != _NONE), of


def measured(weights: ProgramWeights, some: Sequence[Question]) -> str:
    """How many of some questions are right."""
    found: list[tuple[float, bool]] = []
    right = answerable = reached = among = 0
    for one in some:
        logits = one.listed.scores(one.cues, weights)
        best = int(logits.argmax())
        answerable += bool(one.answers)
        reached += bool(one.right[:-1].any())
        right += bool(one.right[best])
        among += bool(one.right[_first(one, logits)].any())
        shares = np.exp(logits - logits.max())
        if best < len(one.listed.programs):
            found.append((float(shares[best] / shares.sum()), bool(one.right[best])))
    found.sort(reverse=True)
    most = sure = 0
    for count, (_, own) in enumerate(found, 1):
        most += own
        sure = count if most >= 0.85 * count else sure
    return (
        f"{len(some)} questions, {answerable} answerable, {reached} reached, {among} among the "
        f"first; {right} right, {sure} answered with 85 of 100 right"
    )


class Case(NamedTuple):
    """The answers that are proposed for one question."""

    origin: str
    signals: Sequence[Sequence[float]]  # Of each answer
    right: list[bool]


def _of_tables() -> Iterator[Case]:
    """The questions about tables that are held out."""
    tables = [one for one in lines(FOLDER / "tables.jsonl.gz") if one.get("part") == "held_out"]
    for start in range(0, len(tables), _TABLES):
        own = tables[start : start + _TABLES]
        with tempfile.TemporaryDirectory() as scratch:
            files = Path(scratch, "files")
            for one in own:
                _write(files, one)
            with Engine.open(Path(scratch, "store"), create=True) as memory:
                memory.ingest(files)
                for origin, asked in chain.from_iterable(map(_asked_of, own)):
                    seen = proposals(tables_module, memory, asked["question"])
                    right = [is_right(each.program.short, asked["answers"]) for each in seen]
                    yield Case(origin, [each.signals for each in seen], right)


def _asked_of(one: Example) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from (("tables", asked) for asked in one["questions"])
    yield from (("plain", asked) for asked in one["plain"])


def _write(folder: Path, one: Example) -> None:
    folder.mkdir(exist_ok=True)
    name = re.sub(r"[^\w -]", "", one["title"])[:_LONGEST_NAME]
    with Path(folder, f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([one["header"], *one["rows"]])


def _of_collections() -> Iterator[Case]:
    """The same of the questions about a part of the collections."""
    for _, asked, memory in islice(everyday_memories("fit", "text", SPANS), 0, None, _COLLECTIONS):
        for one in asked:
            seen = proposals(tables_module, memory, one["question"])
            answerable = one["type"] != "unanswerable"
            right = [answerable and holds_answer(one, each.program.short) for each in seen]
            yield Case("collections", [each.signals for each in seen], right)


def proposals(module: ModuleType, memory: Engine, question: str) -> list[Any]:
    """What the function ``proposed`` of a module gives, when a memory is asked a question."""
    seen: list[Any] = []
    own = module.proposed

    def propose(*asked: Any) -> list[Any]:
        found: list[Any] = own(*asked)
        seen.extend(found)
        return found

    with patch.object(module, "proposed", propose):
        memory.ask(question)
    return seen


def fit_decision(cases: Sequence[Case]) -> list[float]:
    """Weights of the signals, rounded; prints what those of other questions give, by origin."""
    for origin in dict.fromkeys(one.origin for one in cases):
        found: list[tuple[float, bool]] = []
        for fold in range(_FOLDS):
            weights = _decided([one for n, one in enumerate(cases) if n % _FOLDS != fold])
            for one in cases[fold::_FOLDS]:
                if one.signals and one.origin == origin:
                    logits = [weighted(weights, own) for own in one.signals]
                    best = logits.index(max(logits))
                    found.append((probability_of(logits[best]), one.right[best]))
        print(origin, len(found))
        for least in (0.3, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9):
            given = [right for probability, right in found if probability >= least]
            print(f"  from {least}: {len(given)} given, {sum(given)} right")
    return [round(one, 3) for one in _decided(cases)]


def _decided(cases: Sequence[Case]) -> list[float]:
    signals = [own for one in cases for own in one.signals]
    return fit_logistic(signals, [float(right) for one in cases for right in one.right])


def _first(one: Question, logits: NDArray[np.float32], count: int = 6) -> list[int]:
    """The likeliest programs of different answers."""
    found: dict[str, int] = {}
    for place in np.argsort(-logits[:-1], kind="stable"):
        found.setdefault(one.listed.programs[place].short, int(place))
        if len(found) == count:
            break
    return list(found.values())


if __name__ == "__main__":
    main()
