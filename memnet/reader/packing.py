"""Packs: a question and as many passages as are read together, as tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_START, _SEPARATOR = "[CLS]", "[SEP]"
_QUESTION_TOKENS = 64
"""Of a question are read; people's are shorter."""
_FEWEST_TOKENS = 24
"""Of a passage: where a pack has less room the passage starts a new one."""


class Passage(NamedTuple):
    """What is read."""

    title: str
    text: str


@dataclass(frozen=True)
class Pack:
    """A question and passages, as the network takes them. T = tokens."""

    token_ids: list[int]
    """[T]"""
    second: int
    """Where the passages start."""
    places: list[tuple[int, int, int] | None]
    """[T] which passage a token stands in, its first character and the one after its last; None
    where an answer may not be: in the question, in titles, at marks."""

    def inputs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Token ids, segments and allowed tokens of one pack, each [1, T]."""
        token_ids = np.array([self.token_ids], np.int64)
        segments = np.zeros_like(token_ids)
        segments[0, self.second :] = 1
        allowed = np.array([[place is not None for place in self.places]])
        return token_ids, segments, allowed


class _Piece(NamedTuple):
    """A part of a passage that fits into a pack, after its title."""

    title: list[int]
    tokens: list[int]
    places: list[tuple[int, int, int]]


class Packer:
    """Makes packs.

    Source: Devlin et al. 2019, section 3 (two texts in one sequence).
    """

    def __init__(self, tokenizer: Any, longest: int) -> None:
        """Remember how texts become tokens.

        Args:
            tokenizer: of the ``tokenizers`` library; neither pads nor cuts off.
            longest: most tokens of a pack.
        """
        self._tokenizer = tokenizer
        self._longest = longest
        self._start = tokenizer.token_to_id(_START)
        self._separator = tokenizer.token_to_id(_SEPARATOR)

    def packs(self, question: str, passages: Sequence[Passage]) -> list[Pack]:
        """Every token of some passages in as few packs as their order allows.

        A passage is only cut where it is longer than a pack.
        """
        asked = self._tokens(question)[0][:_QUESTION_TOKENS]
        head = [self._start, *asked, self._separator]
        room = self._longest - len(head)
        packs: list[Pack] = []
        waiting: list[_Piece] = []
        for piece in self._pieces(passages, room):
            used = sum(len(one.title) + len(one.tokens) + 1 for one in waiting)
            if waiting and used + len(piece.title) + len(piece.tokens) + 1 > room:
                packs.append(self._joined(head, waiting))
                waiting = []
            waiting.append(piece)
        return [*packs, self._joined(head, waiting)] if waiting else packs

    def _pieces(self, passages: Sequence[Passage], room: int) -> Iterator[_Piece]:
        for number, passage in enumerate(passages):
            title = self._tokens(f"{passage.title}.")[0] if passage.title else []
            title = title[: room - _FEWEST_TOKENS]
            tokens, offsets = self._tokens(passage.text)
            step = room - len(title) - 1
            for start in range(0, len(tokens), step):
                yield _Piece(
                    title,
                    tokens[start : start + step],
                    [(number, first, end) for first, end in offsets[start : start + step]],
                )

    def _joined(self, head: list[int], pieces: list[_Piece]) -> Pack:
        tokens = list(head)
        places: list[tuple[int, int, int] | None] = [None] * len(head)
        for piece in pieces:
            tokens += [*piece.title, *piece.tokens, self._separator]
            places += [*([None] * len(piece.title)), *piece.places, None]
        return Pack(tokens, len(head), places)

    def _tokens(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return encoded.ids, encoded.offsets
