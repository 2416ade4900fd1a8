"""What the statement network says of its tokens and of its text.

One Transformer reads two things. A question with statements in the order of their time: which of
them are needed, where the answer stands, and of which form it is. And a new statement with earlier
ones: what it is about, what it says of that, and what it changes.
"""

from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memnet.reader.checkpoint import NetworkKind
from memnet.reader.spans import Pack
from memnet.statements.protocol import Label
from memnet.types import Certainty

AnswerForm = Literal["none", "value", "list", "count", "yes", "no", "conflict"]
# Forms of an answer; "none": the statements hold none; "conflict": they contradict each other, and
# nothing decides between them.
FORMS: Final[tuple[AnswerForm, ...]] = (
    "none", "value", "list", "count", "yes", "no", "conflict",
)  # fmt: skip
MOST_COUNTED: Final = 12  # The largest number that an answer by counting may be
ITEM_TAGS: Final = ("O", "B", "I")  # Tokens outside of items, first ones, and others inside
# Tokens of a new statement: outside, what it is about, what it says of that.
TAGS: Final = ("O", "B-subject", "I-subject", "B-value", "I-value")
CERTAINTIES: Final[tuple[Certainty, ...]] = ("is", "was", "planned", "maybe")
TOKEN_SPLITS: Final = [2, 1, len(ITEM_TAGS), len(TAGS), len(Label), 1]
TEXT_SPLITS: Final = [len(FORMS), MOST_COUNTED + 1, 1, len(CERTAINTIES)]
# Outputs of each linear layer above the encoder: of each token, and of the first one.
HEADS: Final = {"pointers": sum(TOKEN_SPLITS), "kinds": sum(TEXT_SPLITS)}
STATEMENTS: Final = NetworkKind("statements", HEADS)  # How the network is saved


class StatementScores(NamedTuple):
    """Logits of the packs of a batch, float32. B = packs, T = tokens."""

    ends: NDArray[np.float32]  # [B, T, 2]: the answer starts at a token, and ends there
    # [B, T], whose mean over a statement is the log-odds that the answer needs it.
    relevance: NDArray[np.float32]
    items: NDArray[np.float32]  # [B, T, 3]: ``ITEM_TAGS``, where the answer is a list
    tags: NDArray[np.float32]  # [B, T, 5]: ``TAGS``, of a new statement
    # [B, T, 6], whose mean over an earlier statement is of the ``Label`` of what happens to it.
    changes: NDArray[np.float32]
    # [B, T], whose mean over an earlier statement is the log-odds that a part is changed only.
    partly: NDArray[np.float32]
    form: NDArray[np.float32]  # [B, 7]: ``FORMS``
    number: NDArray[np.float32]  # [B, 13]: the answer by counting
    negative: NDArray[np.float32]  # [B]: the log-odds that a new statement denies or ends something
    certainty: NDArray[np.float32]  # [B, 4]: ``CERTAINTIES``, of a new statement


ScoreStatements: TypeAlias = Callable[[Pack], StatementScores]  # A trained network, given a pack


def split_scores(tokens: NDArray[np.float32], text: NDArray[np.float32]) -> StatementScores:
    """Outputs of the two linear layers, [B, T, 18] and [B, 25] float32, by their meaning."""
    ends, relevance, items, tags, changes, partly = np.split(
        tokens, np.cumsum(TOKEN_SPLITS)[:-1], axis=2
    )
    form, number, negative, certainty = np.split(text, np.cumsum(TEXT_SPLITS)[:-1], axis=1)
    return StatementScores(
        ends, relevance[:, :, 0], items, tags, changes, partly[:, :, 0],
        form, number, negative[:, 0], certainty,
    )  # fmt: skip


def passage_tokens(pack: Pack, count: int) -> list[tuple[int, int] | None]:
    """First and last token of each of ``count`` passages in a pack; None of those left out."""
    found: list[tuple[int, int] | None] = [None] * count
    for token, place in enumerate(pack.offsets):
        if place is not None:
            known = found[place[0]]
            found[place[0]] = (token if known is None else known[0], token)
    return found


def mean_of(values: NDArray[np.float32], span: tuple[int, int]) -> NDArray[np.float32]:
    """The mean [...] float32 over a span of tokens, of values [T, ...] float32."""
    return np.asarray(values[span[0] : span[1] + 1].mean(axis=0), np.float32)
