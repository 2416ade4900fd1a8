"""The hop loop: address, attend, read, update."""

from memnet.hops.loop import HopLoop, HopStep, HopTrace

__all__ = ["HopLoop", "HopStep", "HopTrace"]
