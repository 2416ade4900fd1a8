"""``/v1/models``: the one model there is."""

from typing import Any

from fastapi import APIRouter

from memnet.server.openai.errors import ModelNotFoundError

MODEL = "memnet"
"""The name of the memory as a model, of chats and of embeddings."""
_CARD = {"id": MODEL, "object": "model", "created": 0, "owned_by": "memnet"}


def check_model(name: str) -> None:
    """Check that a request is for the model that is served.

    Raises:
        ModelNotFoundError: it is for another.
    """
    if name != MODEL:
        raise ModelNotFoundError(f"there is no model {name!r}; the only one is {MODEL!r}")


def add_routes(routes: APIRouter) -> None:
    """Add the list of models, and one by its name."""

    @routes.get("/models")
    def models() -> dict[str, Any]:
        """The models that are served."""
        return {"object": "list", "data": [_CARD]}

    @routes.get("/models/{name:path}")
    def model(name: str) -> dict[str, Any]:
        """One of them."""
        check_model(name)
        return _CARD
