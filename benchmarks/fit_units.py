"""Fit the projections of the keys of units that ship with memnet, and the mean of many languages.

    python -m benchmarks.fit_units --out memnet/shipped/units
    python -m benchmarks.fit_units --encoder multilingual --out memnet/shipped/multilingual

The encoder gives every unit of the passages of ``benchmarks.questions`` its vector; their principal
components, not centred, keep the most of their inner products. Passages of collections that are
held out are left out. The multilingual one has fewer of these passages, and beside them as many of
each language in which the programs of this (Debian) machine have messages. The mean that it takes
off is that of what it stores and what it asks, each language counted once.
"""

import argparse
import gettext
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmarks.questions import read_questions
from benchmarks.reader_data.held_out import part_of_collection
from memnet.checkpoints import save_checkpoint
from memnet.encoders.minilm import UNITS, BertEncoder, MiniLMEncoder, of_length_one
from memnet.encoders.multilingual import MULTILINGUAL, MultilingualEncoder
from memnet.ingest.slots import passage_key
from memnet.storage.values import UNIT_WIDTH
from memnet.text.english import units

_MESSAGES = Path("/usr/share/locale")
_PROGRAMS = ("coreutils", "findutils", "git", "gtk30", "iso_3166-1", "postgres-15", "tar", "wget")
_OF_A_LANGUAGE = 16  # Passages
_CHARACTERS = 400


def main() -> None:
    """Encode, fit and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", choices=(MULTILINGUAL,))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    places = {
        (one["source"], one["passage"])
        for asked in read_questions()
        if part_of_collection(asked["collection"]) == "train"
        for one in asked.get("passages") or [asked]
    }
    texts = [passage_key(Path(source).stem, passage) for source, passage in sorted(places)]
    fitted: dict[str, np.ndarray] = {}
    encoder: BertEncoder = MiniLMEncoder(threads=2)
    if options.encoder == MULTILINGUAL:
        random.seed(0)
        languages = [random.sample(texts, 4 * _OF_A_LANGUAGE), *_of_languages()]
        encoder = MultilingualEncoder(threads=2)
        encoder._mean = np.zeros(encoder.dimension, np.float32)
        texts = [text for own in languages for text in own]
    spans = [[(unit.start, unit.end) for unit in units(text)] for text in texts]
    vectors, of_texts = encoder.encode_units(texts, spans)
    found = np.concatenate(of_texts)
    if isinstance(encoder, MultilingualEncoder):
        asked = encoder.encode([text[: text.find("\n")] for text in texts])
        ends = np.cumsum([len(own) for own in languages])[:-1]
        means = [part.mean(axis=0) for side in (vectors, asked) for part in np.split(side, ends)]
        mean = np.asarray(np.mean(means, axis=0, dtype=np.float32))
        fitted["mean"] = mean
        found = of_length_one(found - mean)
    values, components = np.linalg.eigh((found.T @ found).astype(np.float64))
    kept = values[-UNIT_WIDTH:].sum() / values.sum()
    projection = components[:, : -UNIT_WIDTH - 1 : -1].astype(np.float32)
    notes = {"texts": len(texts), "units": len(found), "kept": round(float(kept), 4)}
    save_checkpoint(
        options.out, UNITS, {**fitted, "projection": np.ascontiguousarray(projection)},
        {"kind": UNITS, "trained": notes},
    )  # fmt: skip
    print(notes)


def _of_languages() -> Iterator[list[str]]:
    """Passages made of the messages of programs, for each language that has enough of them."""
    for folder in sorted(path for path in _MESSAGES.iterdir() if "@" not in path.name):
        messages: list[str] = []
        for program in _PROGRAMS:
            with suppress(OSError, UnicodeError):
                found = gettext.translation(program, _MESSAGES, [folder.name])
                messages += [one for one in found._catalog.values() if one]  # type: ignore[attr-defined]
        random.shuffle(messages)
        passages, passage = [], ""
        for message in messages:
            passage += f"{message.strip()}\n"
            if len(passage) >= _CHARACTERS:
                passages.append(passage[: 2 * _CHARACTERS])
                passage = ""
        if len(passages) >= _OF_A_LANGUAGE:
            yield passages[:_OF_A_LANGUAGE]


if __name__ == "__main__":
    main()
