"""The hop loop: address, attend, read, update."""

from memnet.hops.loop import HopLoop, HopStep, HopTrace
from memnet.hops.records import hop_records

__all__ = ["HopLoop", "HopStep", "HopTrace", "hop_records"]
