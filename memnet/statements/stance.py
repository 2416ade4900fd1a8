"""Stances: whether a sentence says yes or no to a question whether something is so, or neither.

What the statement network and the reader of passages make of a question with one sentence is
weighed by two logistic regressions, whose weights are a checkpoint of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import log_odds, sigmoid
from memnet.checkpoints import check_tensors, load_checkpoint
from memnet.reader.spans import Passage, Reader
from memnet.statements.reading import CERTAINTIES, Manner, StatementReader
from memnet.storage import Encode
from memnet.text.names import STEM_LETTERS, normalise, stems

STANCE: Final = "stance"  # Name of the checkpoint, and of the folder that ships
# Features by which a sentence affirms: its share of the question's words and its cosine with it;
# how it says what it says; and the statement network's answer to the question.
AFFIRMING: Final = (
    "bias", "words", "similarity", "negative", *CERTAINTIES, "first person",
    "yes", "no", "none", "relevance",
)  # fmt: skip
# Features by which a sentence denies; the last two are of the reader of passages.
DENYING: Final = ("bias", "words", "negative", "no", "answerable")
# Log-odds of a denial beyond which a sentence is not read for the other stance: every pass of a
# network costs 2 to 3 ms.
_NEGATIVE = 2.0
_FIRST_PERSON = frozenset("i my me mine we our us".split())


class Stances(NamedTuple):
    """What K sentences say to a question: probabilities, float32."""

    # [K]: it says yes, or something that can only be if the answer is yes.
    affirms: NDArray[np.float32]
    denies: NDArray[np.float32]  # [K]: it says no


class StanceWeights(NamedTuple):
    """Weights of both regressions."""

    affirming: NDArray[np.float64]  # [features ``AFFIRMING``]
    denying: NDArray[np.float64]  # [features ``DENYING``]


@dataclass(frozen=True)
class StanceJudge:
    """Judges sentences one by one. May be called from several threads at once."""

    weights: StanceWeights
    encode: Encode
    statements: StatementReader
    reader: Reader

    def judge(self, question: str, sentences: Sequence[str], least: float = 0.0) -> Stances:
        """The stances of K sentences, each read by itself, to a question whether something is so.

        Where no sentence denies with probability ``least``, none is read for whether it affirms.
        """
        manners = [self.statements.manner(one) for one in sentences]
        affirms, denies = np.zeros((2, len(sentences)), np.float32)
        for index, (text, manner) in enumerate(zip(sentences, manners, strict=True)):
            if manner.negative > -_NEGATIVE:
                logit = self.denying(question, text, manner) @ self.weights.denying
                denies[index] = sigmoid(logit.astype(np.float32))
        if denies.max(initial=0.0) >= least:
            similar = self.similarities(question, sentences)
            for index, (text, manner) in enumerate(zip(sentences, manners, strict=True)):
                if manner.negative < _NEGATIVE:
                    features = self.affirming(question, text, manner, similar[index])
                    logit = features @ self.weights.affirming
                    affirms[index] = sigmoid(logit.astype(np.float32))
        return Stances(affirms, denies)

    def similarities(self, question: str, sentences: Sequence[str]) -> list[float]:
        """The cosine of the question with each of K sentences."""
        if not sentences:
            return []
        cosines: list[float] = (self.encode(sentences) @ self.encode([question])[0]).tolist()
        return cosines

    def affirming(
        self, question: str, text: str, manner: Manner, similarity: float
    ) -> NDArray[np.float64]:
        """The features ``AFFIRMING`` of a sentence, float64."""
        read = self.statements.answer(question, [Passage("", text)])
        forms = {} if read is None else read.forms
        relevance = 0.0 if read is None else read.relevance[0]
        certainty = (log_odds(manner.certainty[one]) for one in CERTAINTIES)
        speaks = not _FIRST_PERSON.isdisjoint(normalise(text).split())
        return np.array([
            1.0, shared_words(question, text), similarity, manner.negative, *certainty,
            float(speaks),
            log_odds(forms.get("yes", 0.0)), log_odds(forms.get("no", 0.0)),
            log_odds(forms.get("none", 1.0)), log_odds(relevance),
        ])  # fmt: skip

    def denying(self, question: str, text: str, manner: Manner) -> NDArray[np.float64]:
        """The features ``DENYING`` of a sentence, float64."""
        read = self.reader.read(question, [Passage("", text)])
        return np.array([
            1.0, shared_words(question, text), manner.negative, log_odds(read.no),
            log_odds(read.answerable),
        ])  # fmt: skip


def shared_words(question: str, text: str) -> float:
    """Share of a question's content words, by their stems, that a text contains, 0..1."""
    asked = stems(question)
    said = {word[:STEM_LETTERS] for word in normalise(text).split()}
    return len(asked & said) / len(asked) if asked else 0.0


def load_stance(folder: Path) -> StanceWeights | None:
    """Saved weights; None where an installation left them out. ModelError if they are damaged."""
    if not (folder / f"{STANCE}.json").is_file():
        return None
    tensors, _ = load_checkpoint(folder, STANCE)
    sizes = {"affirming": len(AFFIRMING), "denying": len(DENYING)}
    expected = {name: ((size,), np.dtype(np.float64)) for name, size in sizes.items()}
    check_tensors(tensors, expected, folder)
    return StanceWeights(**tensors)
