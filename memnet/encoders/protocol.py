"""What an encoder must offer: a user may bring one of their own."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from memnet.errors import EncoderError

# Stands in a text for a name that is to play no part in its encoding; one token of its own.
MENTION = "[MASK]"


class Encoder(Protocol):
    """Texts to vectors of length one; equal texts have equal vectors. Must be thread-safe.

    An encoder whose ``encode`` releases the GIL may say so with an attribute ``releases_gil =
    True``: it then overlaps with Python work. One that knows other languages than English says
    ``multilingual = True``. One that encodes questions and passages in different ways is a
    ``TwoSidedEncoder`` too, one for models of facts a ``TokenEncoder``, one with a quicker way for
    passages a ``QuickEncoder``, and one that sees the units of a passage a ``UnitEncoder``.
    """

    @property
    def fingerprint(self) -> str:
        """Identifies the vector space: model, weights, pooling. A store opens with no other."""
        ...

    @property
    def dimension(self) -> int:
        """D, width of a vector."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts of any length -> [N, D] float32, rows of length one."""
        ...


@runtime_checkable
class TwoSidedEncoder(Protocol):
    """An encoder that tells what is asked from what is stored; sentence-transformers' names.

    ``Encoder.encode`` is for neither.
    """

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N questions -> [N, D] float32, rows of length one."""
        ...

    def encode_document(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N texts to be stored, of any length -> [N, D] float32, rows of length one."""
        ...


@runtime_checkable
class QuickEncoder(Protocol):
    """An encoder with a quicker way for passages, in the same space, until there is time.

    Passages of a large ingest get such vectors first, so that they can be asked about, and full
    ones later. With an attribute ``quick_is_final = True`` all passages get them, and for good.
    What a question finds by them is compared again in full.
    """

    def encode_quick(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """N passages of any length -> [N, D] float32, rows of length one."""
        ...


class UnitVectors(NamedTuple):
    """N texts, and the units of each."""

    vectors: NDArray[np.float32]
    """[N, D] float32: the same as by ``encode_document``, or ``encode`` of one without it."""
    units: list[NDArray[np.float32]]
    """For each text [U, D] float32, rows of length one, each a unit within its text."""


@runtime_checkable
class UnitEncoder(Protocol):
    """An encoder that gives the units of a text vectors of their own: sentences, items, rows.

    Passages in full are then found by their best unit too.

    Source: Günther et al. 2024 (late chunking).
    """

    def unit_projection(self) -> NDArray[np.float32]:
        """[D, 128] float32, of orthonormal columns: what vectors of units are reduced by."""
        ...

    def encode_units(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> UnitVectors:
        """Encode N texts of any length, with the spans of the units of each, in characters."""
        ...


class TokenStates(NamedTuple):
    """A text, token by token."""

    states: NDArray[np.float32]
    """[T, D] float32, rows of length one."""
    mentions: tuple[int, ...]
    """Indices of the tokens that are ``MENTION``."""


@runtime_checkable
class TokenEncoder(Protocol):
    """An encoder of single tokens, which models of facts need."""

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        """Token states of N texts; a long text may be truncated."""
        ...


def token_encoder(encoder: Encoder) -> TokenEncoder:
    """The encoder as one of single tokens; EncoderError if the encoder is no ``TokenEncoder``."""
    if not isinstance(encoder, TokenEncoder):
        raise EncoderError(
            f"the encoder {encoder.fingerprint!r} has no 'encode_tokens', which models of facts "
            "need; add it, or use another encoder"
        )
    return encoder


def query_encode(encoder: Encoder) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """What encodes questions."""
    return encoder.encode_query if isinstance(encoder, TwoSidedEncoder) else encoder.encode


def document_encode(encoder: Encoder) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """What encodes texts that are stored, in full."""
    return encoder.encode_document if isinstance(encoder, TwoSidedEncoder) else encoder.encode
