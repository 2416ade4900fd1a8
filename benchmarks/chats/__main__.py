"""Fit the stances of sentences to the written examples. The weights that ship are made by this.

    python -m benchmarks.chats [--out memnet/shipped/stance]

They weigh outputs of the shipped statement network and reader: fit them again after these change.
The same networks and examples give the same weights.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.chats import StanceExample, stance_examples
from memnet.checkpoints import SHIPPED, save_checkpoint
from memnet.encoders.minilm import MiniLMEncoder
from memnet.learning.evaluation import area_under_roc
from memnet.reader.loading import SPANS, LazyReader
from memnet.statements.loading import LazyStatementReader
from memnet.statements.stance import AFFIRMING, DENYING, STANCE, StanceJudge, StanceWeights

_PENALTY = 1e-2
"""On squared weights of standardised features."""
_STEPS = 50


def main() -> None:
    """Fit both regressions, save them, and print how well they do on what was held out."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=SHIPPED / STANCE)
    given = parser.parse_args()
    statements, reader = LazyStatementReader().load(), LazyReader(SPANS).load().reader
    if statements is None or reader is None:
        raise SystemExit("the weights of the shipped statement network or reader are not installed")
    unused = StanceWeights(np.zeros(len(AFFIRMING)), np.zeros(len(DENYING)))
    judge = StanceJudge(unused, MiniLMEncoder().encode, statements, reader)
    examples = list(stance_examples())
    manners = [statements.manner(one.text) for one in examples]
    read = list(zip(examples, manners, strict=True))
    held_out = np.array([one.held_out for one in examples])
    notes: dict[str, object] = {"examples": int((~held_out).sum())}
    fitted: dict[str, NDArray[np.float64]] = {}
    inputs_of = {
        "affirming": [
            judge.affirming(
                one.question, one.text, manner, *judge.similarities(one.question, [one.text])
            )
            for one, manner in read
        ],
        "denying": [judge.denying(one.question, one.text, manner) for one, manner in read],
    }
    for name, rows in inputs_of.items():
        inputs = np.stack(rows)
        right = np.array([_takes(one, name) for one in examples])
        fitted[name] = fit_logistic(inputs[~held_out], right[~held_out])
        logits = inputs[held_out] @ fitted[name]
        notes[f"{name} auroc"] = area_under_roc(logits.tolist(), right[held_out].tolist())
    save_checkpoint(given.out, STANCE, fitted, {"kind": STANCE, "trained": notes})
    print(notes)


def _takes(example: StanceExample, name: str) -> bool:
    return example.affirms if name == "affirming" else example.denies


def fit_logistic(inputs: NDArray[np.float64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weights [F] of a logistic regression by Newton's method, on standardised features.

    Args:
        inputs: [N, F] float64, whose first column is 1.
        right: [N] bool.
    """
    mean, std = inputs.mean(axis=0), inputs.std(axis=0) + 1e-6
    mean[0], std[0] = 0.0, 1.0
    scaled = (inputs - mean) / std
    penalty = np.full(scaled.shape[1], 2 * _PENALTY)
    penalty[0] = 1e-9
    weights = np.zeros(scaled.shape[1])
    for _ in range(_STEPS):
        probability = 1 / (1 + np.exp(-scaled @ weights))
        gradient = scaled.T @ (probability - right) / len(right) + penalty * weights
        spread = (probability * (1 - probability))[:, None]
        curvature = (scaled * spread).T @ scaled / len(right) + np.diag(penalty)
        weights -= np.linalg.solve(curvature, gradient)
    unscaled: NDArray[np.float64] = weights / std
    unscaled[0] = weights[0] - float((mean / std * weights).sum())
    return unscaled


if __name__ == "__main__":
    main()
