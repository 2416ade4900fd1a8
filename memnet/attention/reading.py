"""The hop loop of a memory network, whatever is stored: documents, facts or a story."""

from collections.abc import Callable
from typing import TypeVar

State = TypeVar("State")
Step = TypeVar("Step")


def read_in_hops(
    state: State,
    hop: Callable[[State, int], tuple[Step, State]],
    halted: Callable[[State, State], bool],
    most: int,
) -> tuple[list[Step], State]:
    """Read a memory until enough has been read.

    Args:
        state: what the first hop looks with.
        hop: addresses the memory with a state, attends, reads and updates; given the state and
            the number of the hop, counted from 0, it returns a record of the read and the state
            after it.
        halted: whether the state after a hop, given second, needs no further one.
        most: most hops, at least 1.

    Returns:
        The records of the hops, and the last state.

    Source: Sukhbaatar et al. 2015, section 2.2; Miller et al. 2016, section 3.1.
    """
    steps: list[Step] = []
    for number in range(most):
        step, following = hop(state, number)
        steps.append(step)
        done = halted(state, following)
        state = following
        if done:
            break
    return steps, state
