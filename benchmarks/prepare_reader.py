"""Question sets as the examples that ``memnet train reader`` learns from.

    python -m benchmarks.prepare_reader --data DIR [--documents DIR] --out OUT [--pack FILE]
    memnet train reader --train OUT/general.jsonl --dev OUT/dev.jsonl --bfloat16 --out GENERAL
    memnet train reader --train OUT/train.jsonl --dev OUT/dev.jsonl --bfloat16 --from GENERAL \
        --out READER
    memnet train confidence --train OUT/held_out.jsonl --store STORE --reader READER --out READER

DIR holds ``reader_more``, ``docs_train``, ``squad``, ``nq_oracle``, ``drop_spans``, ``popqa`` and
``multihop_train``; the project's own questions are in ``benchmarks/questions``. The tables of sets,
with the share of each and why, are in ``benchmarks/reader_data``, what is held out in its
``held_out.py``. The same seed and data give the same files.

general.jsonl: examples of all sets but those about documents. train.jsonl: those about documents,
the answered ones several times, with examples that differ in little from others and a part of the
rest. conversations.jsonl: excerpts of conversations, for ``benchmarks.prepare_everyday``.
dev.jsonl: 300 about passages, and all about four collections of documents. held_out.jsonl, for
confidence: about one in twelve questions and four other collections; "answers" are then the phrases
of a right answer whatever its kind, none where there is no answer. documents.jsonl, single.jsonl:
for ``benchmarks.prepare_multihop``.

With ``--pack`` general, train, conversations, dev and held_out are written into one tar file as
well, each as ``.jsonl.gz``, which ``memnet train`` reads: for a machine that has a GPU and not the
data.
"""

import argparse
import random
from collections import Counter
from pathlib import Path

from benchmarks.reader_data.contrast import alone, other_subjects, unanswering, written
from benchmarks.reader_data.controller import single_passage_questions
from benchmarks.reader_data.conversations import conversation_examples
from benchmarks.reader_data.documents import TIMES, document_examples
from benchmarks.reader_data.files import Example, drawn_of, write_lines, write_pack
from benchmarks.reader_data.held_out import Part, without_held_out
from benchmarks.reader_data.multi_hop import multi_hop_examples
from benchmarks.reader_data.passages import passage_examples
from benchmarks.reader_data.polar import polar_examples

_GENERAL, _BESIDE_DOCUMENTS = 50_000, 25_000
"""Examples of sets that are not about documents: learned first, and again with these."""
_POLAR_SETS = frozenset(
    {"documents", "fairytaleqa", "nq_oracle", "sleepqa", "squad", "squad_train_parts",
     "squadshifts_wiki", "timeqa"}
)  # fmt: skip
"""Whose passages are asked questions for yes or no."""
_POLAR = 8_000
_MULTI_HOP_TIMES = 2
"""How often each example of several passages is in a file."""
_WRITTEN_TIMES = 2
"""How often each example that was written as a contrast is in a file."""
_DEV_PASSAGES = 300
"""Dev examples about passages; each costs time after every part of a pass."""


def main() -> None:
    """Write examples, dev examples and held-out questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=Path, help="folder of collections as folders of files")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pack", type=Path)
    parser.add_argument("--stores", type=Path, help="folder to keep the stores of collections in")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    parts = prepare(options.data, options.documents, options.stores, options.seed)
    documents, single = single_passage_questions(options.data, parts["held_out"])
    options.out.mkdir(parents=True, exist_ok=True)
    files = [options.out / f"{part}.jsonl" for part in parts]
    for file, examples in zip(files, parts.values(), strict=True):
        write_lines(file, examples)
    write_lines(options.out / "documents.jsonl", documents)
    write_lines(options.out / "single.jsonl", single)
    if options.pack:
        write_pack(options.pack, files)
    for part, examples in parts.items():
        print(part, len(examples), dict(sorted(Counter(one["set"] for one in examples).items())))


def prepare(
    data: Path, documents: Path | None, stores: Path | None, seed: int
) -> dict[str, list[Example]]:
    """The examples of each file."""
    chance = random.Random(seed)
    parts: dict[Part, list[Example]] = {"train": [], "dev": [], "held_out": []}
    for part, example in multi_hop_examples(data):
        parts[part] += [example] * (_MULTI_HOP_TIMES if part == "train" else 1)
    for part, example in passage_examples(data, seed):
        parts[part].append(example)
    unused = parts["dev"]
    parts["dev"] = drawn_of(unused, _DEV_PASSAGES, chance)
    about: list[Example] = []
    for part, example in document_examples(data, documents, stores):
        if part == "train":
            about += [example] * (TIMES if example["answers"] or example.get("quotes") else 1)
        else:
            parts[part].append(example)
    kept = [*unused, *parts["dev"], *parts["held_out"]]
    about = list(without_held_out(about, kept))
    general = list(without_held_out(parts["train"], kept))
    asked_of = [one for one in (*general, *about) if one["set"] in _POLAR_SETS]
    passages = [passage for one in asked_of for passage in one["passages"]]
    polar = drawn_of(list(polar_examples(passages, seed)), _POLAR, chance)
    general += without_held_out(polar, kept)
    asked = list({one["question"]: one for one in reversed(about)}.values())  # Answered ones
    contrasts = [*unanswering(asked), *alone([*asked, *polar]), *other_subjects(polar, seed)]
    return {
        "general": drawn_of(general, _GENERAL, chance),
        "train": [
            *about,
            *without_held_out(contrasts, kept),
            *(_WRITTEN_TIMES * written()),
            *drawn_of(general, _BESIDE_DOCUMENTS, chance),
        ],
        "conversations": list(conversation_examples("train")),
        "dev": parts["dev"],
        "held_out": list(map(_judged, parts["held_out"])),
    }


def _judged(example: Example) -> Example:
    """An example whose answers are all phrases of a right answer."""
    return {**example, "answers": example.get("phrases", example["answers"])}


if __name__ == "__main__":
    main()
