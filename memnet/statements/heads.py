"""What the statement network says of its tokens and of its text.

One Transformer reads a question with statements in the order of their time: which of them are
needed, where the answer stands, and of which form it is.
"""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memnet.reader.checkpoint import NetworkKind
from memnet.reader.spans import Pack

AnswerForm = Literal["none", "value", "list", "count", "yes", "no"]
FORMS: Final[tuple[AnswerForm, ...]] = ("none", "value", "list", "count", "yes", "no")
"""Forms of an answer; "none": the statements hold none."""
MOST_COUNTED: Final = 12
"""The largest number that an answer by counting may be."""
ITEM_TAGS: Final = ("O", "B", "I")
"""Tokens outside of items, first ones, and others inside."""
TOKEN_SPLITS: Final = [2, 1, len(ITEM_TAGS)]
TEXT_SPLITS: Final = [len(FORMS), MOST_COUNTED + 1]
HEADS: Final = {"pointers": sum(TOKEN_SPLITS), "kinds": sum(TEXT_SPLITS)}
"""Outputs of each linear layer above the encoder: of each token, and of the first one."""
STATEMENTS: Final = NetworkKind("statements", HEADS)
"""How the network is saved."""


class StatementScores(NamedTuple):
    """Logits of the packs of a batch, float32. B = packs, T = tokens."""

    ends: NDArray[np.float32]
    """[B, T, 2]: the answer starts at a token, and ends there."""
    relevance: NDArray[np.float32]
    """[B, T], whose mean over a statement is the log-odds that the answer needs it."""
    items: NDArray[np.float32]
    """[B, T, 3]: ``ITEM_TAGS``, where the answer is a list."""
    form: NDArray[np.float32]
    """[B, 6]: ``FORMS``."""
    number: NDArray[np.float32]
    """[B, 13]: the answer by counting."""


ScoreStatements: TypeAlias = Callable[[Pack], StatementScores]
"""A trained network, given a pack."""


def split_scores(tokens: NDArray[np.float32], text: NDArray[np.float32]) -> StatementScores:
    """Outputs of the two linear layers, [B, T, 6] and [B, 19] float32, by their meaning."""
    ends, relevance, items = np.split(tokens, np.cumsum(TOKEN_SPLITS)[:-1], axis=2)
    form, number = np.split(text, np.cumsum(TEXT_SPLITS)[:-1], axis=1)
    return StatementScores(ends, relevance[:, :, 0], items, form, number)


def passage_tokens(pack: Pack, count: int) -> list[tuple[int, int] | None]:
    """First and last token of each of ``count`` passages in a pack; None of those left out."""
    found: list[tuple[int, int] | None] = [None] * count
    for token, place in enumerate(pack.offsets):
        if place is not None:
            known = found[place[0]]
            found[place[0]] = (token if known is None else known[0], token)
    return found


def mean_of(values: NDArray[np.float32], span: tuple[int, int]) -> NDArray[np.float32]:
    """The mean [] float32 over a span of tokens, of values [T] float32."""
    return np.array(values[span[0] : span[1] + 1].mean(), np.float32)
