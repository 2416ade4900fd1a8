"""One question, several answerers: a trained gate chooses among them, a mixture of experts."""

from typing import Literal

ExpertName = Literal["documents", "facts", "statements", "stories"]
# Experts in the order of the gate's outputs.
EXPERTS: tuple[ExpertName, ...] = ("documents", "facts", "statements", "stories")
