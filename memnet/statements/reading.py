"""Reading of statements by a trained network."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import sigmoid, softmax
from memnet.reader.spans import MASKED_LOGIT, Pack, Packer, Passage, best_spans
from memnet.statements.heads import (
    FORMS,
    AnswerForm,
    ScoreStatements,
    mean_of,
    passage_tokens,
)

_MAX_SPAN_TOKENS = 20
_SPANS = 5


class Piece(NamedTuple):
    """A piece of a statement."""

    statement: int
    """Index of the statement."""
    start: int
    """Its first character there."""
    end: int
    """The character after its last."""
    probability: float


class StatementReading(NamedTuple):
    """What was made of a question and statements."""

    forms: Mapping[AnswerForm, float]
    """Probabilities; "none": the statements hold no answer."""
    pieces: tuple[Piece, ...]
    """Possible short answers, likeliest first."""
    items: tuple[Piece, ...]
    """Items, where the answer is a list, in the order of the statements."""
    number: int
    """Where the answer is a count."""
    relevance: tuple[float, ...]
    """Probability of each statement that it is needed for the answer."""

    @property
    def form(self) -> AnswerForm:
        """The likeliest form of an answer, if there is one."""
        return max(FORMS[1:], key=lambda form: self.forms[form])


class StatementReader:
    """Reads with a trained network. May be called from several threads at once."""

    def __init__(self, network: ScoreStatements, packer: Packer) -> None:
        """Join a trained network and what makes its input."""
        self._network = network
        self._packer = packer

    def fitting(self, text: str, statements: Sequence[Passage]) -> int:
        """How many of the first of some statements fit into one pack with a text."""
        packs = self._packer.packs(text, statements)
        if len(packs) <= 1:
            return len(statements)
        return 1 + max((place[0] for place in packs[0].offsets if place), default=-1)

    def answer(
        self,
        question: str,
        statements: Sequence[Passage],
        prior: NDArray[np.float32] | None = None,
    ) -> StatementReading | None:
        """Read a question.

        Args:
            question: in plain language.
            statements: in the order of their time, their days as titles; what does not fit into
                a pack is left out.
            prior: [K] float32, what each statement counts beforehand; None for all alike.

        Returns:
            None without statements.
        """
        packs = self._packer.packs(question, statements)
        if not packs:
            return None
        pack = packs[0]
        scores = self._network(pack)
        forms = softmax(scores.form[0])
        spans = passage_tokens(pack, len(statements))
        relevance = [
            0.0 if one is None else float(sigmoid(mean_of(scores.relevance[0], one)))
            for one in spans
        ]
        return StatementReading(
            dict(zip(FORMS, forms.tolist(), strict=True)),
            tuple(_pieces(pack, scores.ends[0], prior)),
            tuple(_items(pack, scores.items[0])),
            int(scores.number[0].argmax()),
            tuple(relevance),
        )


def _pieces(
    pack: Pack, ends: NDArray[np.float32], prior: NDArray[np.float32] | None
) -> list[Piece]:
    """The likeliest spans that stay within one statement."""
    mask = np.array([place is not None for place in pack.offsets])
    masked = np.where(mask[:, None], ends, np.float32(MASKED_LOGIT))
    start, end = (masked - np.logaddexp.reduce(masked, axis=0)).T
    found: list[Piece] = []
    for first, last, score in best_spans(start, end, mask, _MAX_SPAN_TOKENS, 4 * _SPANS):
        begin, stop = pack.offsets[first], pack.offsets[last]
        if begin is not None and stop is not None and begin[0] == stop[0]:
            weight = 1.0 if prior is None else float(prior[begin[0]] / prior.max())
            found.append(Piece(begin[0], begin[1], stop[2], weight * float(np.exp(score))))
    return sorted(found, key=lambda piece: -piece.probability)[:_SPANS]


def _items(pack: Pack, tags: NDArray[np.float32]) -> list[Piece]:
    """Items by their tags, which begin (1) and go on (2)."""
    found: list[Piece] = []
    open_item = False
    best = tags.argmax(axis=1)
    for token, place in enumerate(pack.offsets):
        tag = 0 if place is None else int(best[token])
        if place is None or not tag or (tag == 2 and not open_item):
            open_item = False
            continue
        probability = float(softmax(tags[token])[tag])
        if tag == 2 and found[-1].statement == place[0]:
            found[-1] = found[-1]._replace(end=place[2])
        else:
            found.append(Piece(place[0], place[1], place[2], probability))
        open_item = True
    return found
