"""Fit the projection of the keys of units that ships with memnet.

    python -m benchmarks.fit_units --out memnet/shipped/units

The default encoder gives every unit of the passages of ``benchmarks.questions`` its vector; their
principal components, not centred, keep the most of their inner products. Passages of collections
that are held out are left out.
"""

import argparse
from pathlib import Path

import numpy as np

from benchmarks.questions import read_questions
from benchmarks.reader_data.held_out import part_of_collection
from memnet.checkpoints import save_checkpoint
from memnet.encoders import MiniLMEncoder
from memnet.encoders.minilm import UNITS
from memnet.ingest.slots import passage_key
from memnet.storage.values import UNIT_WIDTH
from memnet.text.english import units


def main() -> None:
    """Encode, fit and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    places = {
        (one["source"], one["passage"])
        for asked in read_questions()
        if part_of_collection(asked["collection"]) == "train"
        for one in asked.get("passages") or [asked]
    }
    texts = [passage_key(Path(source).stem, passage) for source, passage in sorted(places)]
    spans = [[(unit.start, unit.end) for unit in units(text)] for text in texts]
    found = np.concatenate(MiniLMEncoder(threads=2).encode_units(texts, spans).units)
    values, components = np.linalg.eigh((found.T @ found).astype(np.float64))
    kept = values[-UNIT_WIDTH:].sum() / values.sum()
    projection = components[:, : -UNIT_WIDTH - 1 : -1].astype(np.float32)
    notes = {"texts": len(texts), "units": len(found), "kept": round(float(kept), 4)}
    save_checkpoint(
        options.out, UNITS, {"projection": np.ascontiguousarray(projection)},
        {"kind": UNITS, "trained": notes},
    )  # fmt: skip
    print(notes)


if __name__ == "__main__":
    main()
