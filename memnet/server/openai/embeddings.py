"""``/v1/embeddings``: vectors of the memory's own encoder."""

import base64
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter
from numpy.typing import NDArray
from pydantic import BaseModel

from memnet.engine import Engine
from memnet.errors import InputError
from memnet.server.openai.models import MODEL, check_model
from memnet.server.openai.tokens import count_tokens
from memnet.server.work import Work
from memnet.text.checks import FIRST_ERROR, check_text

_MAX_TEXTS = 2048
"""Of a request, as with OpenAI."""
_MAX_CHARACTERS = 100_000
"""Of a text: about 4 s of encoding on a processor."""
_MAX_TOTAL = 1_200_000
"""Characters of a request: as many as OpenAI's 300,000 tokens have."""


class EmbeddingsRequest(BaseModel):
    """The body of a request."""

    model: str
    input: str | Annotated[list[str], FIRST_ERROR]
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: int | None = None


def add_routes(routes: APIRouter, engine: Engine, work: Work) -> None:
    """Add the route of embeddings."""

    @routes.post("/embeddings")
    async def embeddings(body: EmbeddingsRequest) -> dict[str, Any]:
        """A vector of length one for each text."""
        check_model(body.model)
        texts = _checked_texts(body.input)
        width = engine.encoder.dimension
        if body.dimensions not in (None, width):
            raise InputError(
                f"dimensions is {body.dimensions}; the encoder's vectors have {width}: leave it out"
            )
        vectors = await work.answer(engine.encoder.encode, texts)
        as_base64 = body.encoding_format == "base64"
        tokens = sum(map(count_tokens, texts))
        return {
            "object": "list",
            "model": MODEL,
            "data": [
                {
                    "object": "embedding",
                    "index": index,
                    "embedding": _base64(vector) if as_base64 else vector.tolist(),
                }
                for index, vector in enumerate(vectors)
            ],
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }


def _checked_texts(given: str | list[str]) -> list[str]:
    """The texts of a request.

    Raises:
        InputError: there are none or too many, one is blank or too long, or all are.
    """
    texts = [given] if isinstance(given, str) else given
    if not 1 <= len(texts) <= _MAX_TEXTS:
        raise InputError(f"input holds {len(texts):,} texts; give 1 to {_MAX_TEXTS:,}")
    for number, text in enumerate(texts):
        check_text(text, f"text {number} of the input", _MAX_CHARACTERS)
        if not text.strip():
            raise InputError(f"text {number} of the input is blank; leave it out or fill it")
    total = sum(map(len, texts))
    if total > _MAX_TOTAL:
        raise InputError(
            f"input holds {total:,} characters, the limit is {_MAX_TOTAL:,}; send several requests"
        )
    return texts


def _base64(vector: NDArray[np.float32]) -> str:
    """[D] float32 as bytes, the low one first, whatever the processor."""
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()
