"""Fit the model of which program over a table a question means, from questions with answers.

    python -m benchmarks.fit_programs --out memnet/shipped/programs
    python -m benchmarks.fit_programs --proposals FILE
    python -m benchmarks.fit_programs --decision

``questions/tables.jsonl.gz`` has tables with questions and what answers them, nothing where nothing
does. The model is to give those programs a high probability, together, that have a right answer
(Pasupat and Liang 2015, equation 2), and "none" where none has one. Part "held_out" is measured by:
of 100 questions how many are right, and how many may be answered with 85 of 100 right.

FILE gets, of each question, the likeliest right and wrong answers with what the program says, in
the format of ``questions/values.jsonl.gz``: the network for verdicts learns from them. Questions to
learn from are asked of a model that was fitted to the other half of them.

The decision weighs what the model says with what the network for verdicts and the words of the
question do. Its weights, in ``memnet.reader.programs``, are fitted to the answers that the engine
proposes for the same questions, each half with the model of the other, in stores of fourteen
tables, and to the questions about the everyday collections of part "fit"; what is printed of it is
cross-validated by question.
"""

import argparse
import csv
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.documents import is_right as holds_answer
from benchmarks.questions import FOLDER
from benchmarks.reader_data.documents import everyday_memories
from benchmarks.reader_data.files import Example, lines, write_lines
from memnet import Engine
from memnet.attention.arrays import fit_logistic, probability_of, weighted
from memnet.checkpoints import save_checkpoint
from memnet.encoders.minilm import shipped_token_table
from memnet.reader import tables as tables_module
from memnet.reader.answers import asks_whether
from memnet.reader.loading import SPANS
from memnet.reader.passages import RankedSlot
from memnet.reader.programs import (
    PROGRAMS,
    Listed,
    ProgramModel,
    ProgramSignals,
    ProgramWeights,
    cues_of,
    empty_weights,
    list_programs,
    probability_of_program,
)
from memnet.reader.rows import Cell, Row, Table, stems
from memnet.reader.tables import asked_of
from memnet.storage import Slot
from memnet.text.english import query_terms

_DECAY, _RATE, _EPOCHS, _BATCH = 2e-3, 0.03, 60, 32
_RIGHT, _WRONG = 2, 5  # Proposals of a question
_LONGEST, _LONGEST_NAME = 150, 60  # Characters of an answer, and of the name of a file
_TABLES, _FOLDS = 14, 5  # Tables of a store
_LIKELIEST = ProgramModel.likeliest
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
    parser.add_argument("--proposals", type=Path)
    parser.add_argument("--decision", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    every = list(questions())
    train, held_out = ([one for one in every if one.part == part] for part in ("train", "held_out"))
    titles = list(dict.fromkeys(one.title for one in train))
    second = set(titles[len(titles) // 2 :])
    halves = [[one for one in train if (one.title in second) == last] for last in (False, True)]
    if options.proposals:
        pairs = [(halves[1], halves[0]), (halves[0], halves[1]), (train, held_out)]
        rows = [row for some, others in pairs for row in proposals(fit(some), others)]
        write_lines(options.proposals, rows)
        return
    if options.decision:
        models = [fit(one) for one in reversed(halves)]
        cases = [*_of_tables(models, second), *_of_collections(fit(train))]
        print(ProgramSignals(*fit_decision(cases)))
        return
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
            words = query_terms(text)
            terms = dict.fromkeys(words, 1 / max(1, len(words)))
            listed = list_programs(asked_of(text, terms), [table], vectors)
            right = [is_right(program.short, answers) for program in listed.programs]
            yield Question(
                text, one["title"], answers, one.get("part", "train"), listed,
                cues_of(text, vectors), np.array([*right, not answers]),
            )  # fmt: skip


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
            loss = torch.stack([_loss(learned, one) for one in batch]).mean()
            loss = loss + _DECAY * sum((one**2).sum() for one in learned.values())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return ProgramWeights(**{name: one.detach().numpy() for name, one in learned.items()})


def _loss(weights: dict[str, Tensor], one: Question) -> Tensor:
    logits = scores(weights, one)
    right = torch.from_numpy(one.right)
    return torch.logsumexp(logits, 0) - torch.logsumexp(logits[right], 0)


def scores(weights: dict[str, Tensor], one: Question) -> Tensor:
    """[N + 1]: as ``Listed.scores``, with gradients."""
    cues = torch.from_numpy(one.cues)
    operation, column, compared = torch.from_numpy(one.listed.kinds).T
    by_cues = weights["operation"] @ cues
    found = by_cues[operation] + (weights["column"] @ cues)[column]
    found = found + (weights["compared"] @ cues)[compared]
    own = torch.from_numpy(one.listed.features)
    found = found + (own * weights["features"][operation]).sum(1)
    found = found + own @ weights["shared"]
    nothing = torch.from_numpy(one.listed.nothing()) @ weights["features"][-1]
    return torch.cat([found, (by_cues[-1] + nothing)[None]])


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


def _of_tables(models: Sequence[ProgramWeights], second: Collection[str]) -> Iterator[Case]:
    """The questions to learn from, each table asked by the model of the other half."""
    tables = [one for one in lines(FOLDER / "tables.jsonl.gz") if one.get("part") is None]
    for last, weights in enumerate(models):
        own = [one for one in tables if (one["title"] in second) == last]
        for start in range(0, len(own), _TABLES):
            with tempfile.TemporaryDirectory() as scratch:
                files = Path(scratch, "files")
                for one in own[start : start + _TABLES]:
                    _write(files, one)
                with Engine.open(Path(scratch, "store"), create=True) as memory:
                    memory.ingest(files)
                    for one in own[start : start + _TABLES]:
                        for asked in one["questions"]:
                            answers = asked["answers"]
                            seen = _proposed(memory, asked["question"], weights)
                            right = [is_right(short, answers) for short, _ in seen]
                            yield Case("tables", [signals for _, signals in seen], right)


def _write(folder: Path, one: Example) -> None:
    folder.mkdir(exist_ok=True)
    name = re.sub(r"[^\w -]", "", one["title"])[:_LONGEST_NAME]
    with Path(folder, f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([one["header"], *one["rows"]])


def _of_collections(weights: ProgramWeights) -> Iterator[Case]:
    for _, asked, memory in everyday_memories("fit", "text", SPANS):
        for one in asked:
            seen = _proposed(memory, one["question"], weights)
            right = [one["type"] != "unanswerable" and holds_answer(one, text) for text, _ in seen]
            yield Case("collections", [signals for _, signals in seen], right)


def _proposed(
    memory: Engine, question: str, weights: ProgramWeights
) -> list[tuple[str, ProgramSignals]]:
    """The answers of programs that a question is given, with their signals."""
    seen: list[str] = []
    signals: list[ProgramSignals] = []

    def likeliest(self: ProgramModel, *asked: Any) -> Any:
        found = _LIKELIEST(ProgramModel(weights, self.vectors), *asked)
        seen.extend(program.short for program, _ in found[0])
        return found

    def probability(own: ProgramSignals) -> float:
        signals.append(own)
        return probability_of_program(own)

    with (
        patch.object(ProgramModel, "likeliest", likeliest),
        patch.object(tables_module, "probability_of_program", probability),
    ):
        memory.ask(question)
    return list(zip(seen, signals, strict=True))


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
        for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
            given = [right for probability, right in found if probability >= least]
            print(f"  from {least}: {len(given)} given, {sum(given)} right")
    return [round(one, 3) for one in _decided(cases)]


def _decided(cases: Sequence[Case]) -> list[float]:
    signals = [own for one in cases for own in one.signals]
    return fit_logistic(signals, [float(right) for one in cases for right in one.right])


def _first(one: Question, logits: NDArray[np.float32], count: int = 6) -> list[int]:
    """The likeliest programs of different answers."""
    found: dict[str, int] = {}
    for place in np.argsort(-logits[:-1]):
        found.setdefault(one.listed.programs[place].short, int(place))
        if len(found) == count:
            break
    return list(found.values())


def proposals(weights: ProgramWeights, some: Iterable[Question]) -> Iterator[dict[str, Any]]:
    """The likeliest right and wrong answers of questions."""
    rows = dict[tuple[str, str, str], dict[str, Any]]()
    for one in some:
        logits = one.listed.scores(one.cues, weights)
        order = np.argsort(-logits[:-1])
        right = [place for place in order if one.right[place]][:_RIGHT]
        wrong = {one.listed.programs[n].short: n for n in order[::-1] if not one.right[n]}
        likeliest = sorted(wrong.values(), key=lambda n: -logits[n])[:_WRONG]
        part = {} if one.part == "train" else {"part": one.part}
        for place in (*right, *likeliest):
            program = one.listed.programs[place]
            own = {"question": one.text, "title": one.title, "text": program.said}
            own |= {"short": program.short, "right": bool(one.right[place]), "plain": True}
            if len(program.short) <= _LONGEST:
                rows[one.text, program.said, program.short] = own | part
    yield from rows.values()


if __name__ == "__main__":
    main()
