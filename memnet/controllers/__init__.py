"""Controllers: how a query state scores slots, and what it becomes after a read."""

from memnet.controllers.state import Candidates, Lead, Parts, QueryState
from memnet.controllers.untrained import UntrainedController
from memnet.controllers.write import ToldBefore, WriteChoice, WriteController

__all__ = [
    "Candidates",
    "Lead",
    "Parts",
    "QueryState",
    "ToldBefore",
    "UntrainedController",
    "WriteChoice",
    "WriteController",
]
