"""Controllers: how a query state scores slots, and what it becomes after a read."""

from memnet.controllers.state import (
    BACK,
    KEY,
    LINK_FEATURES,
    SHARED,
    SLOT_FEATURES,
    Candidates,
    Links,
    Parts,
    QueryState,
    Scores,
)
from memnet.controllers.text import TextController

__all__ = [
    "BACK",
    "KEY",
    "LINK_FEATURES",
    "SHARED",
    "SLOT_FEATURES",
    "Candidates",
    "Links",
    "Parts",
    "QueryState",
    "Scores",
    "TextController",
]
