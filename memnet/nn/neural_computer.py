"""The Differentiable Neural Computer: a recurrent controller with a memory of its own."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.nn.differentiable_memory import (
    DifferentiableMemory,
    MemoryState,
    interface_width,
    parse_interface,
)


class ComputerState(NamedTuple):
    """Everything that passes from one step to the next."""

    hidden: Tensor
    """[B, hidden] float: the controller's output."""
    cell: Tensor
    """[B, hidden] float: the controller's cell."""
    reads: Tensor
    """[B, R, W] float: what the heads read last."""
    memory: MemoryState
    """The memory."""


class DifferentiableNeuralComputer(nn.Module):
    """An LSTM that writes to and reads from a differentiable memory at every step.

    Source: Graves et al. 2016, Methods, "Controller network".
    """

    def __init__(
        self, inputs: int, outputs: int, hidden: int, slots: int, width: int, heads: int
    ) -> None:
        """Make the controller and its memory.

        Args:
            inputs: I, width of an input.
            outputs: O, width of an output.
            hidden: width of the LSTM.
            slots: N, slots of the memory.
            width: W, width of a slot.
            heads: R, number of read heads.
        """
        super().__init__()
        self.memory = DifferentiableMemory(slots, width, heads)
        self.controller = nn.LSTMCell(inputs + heads * width, hidden)
        self.interface = nn.Linear(hidden, interface_width(width, heads))
        self.output = nn.Linear(hidden + heads * width, outputs)

    def start(self, batch: int) -> ComputerState:
        """The state of B computers before their first step: all zeros."""
        memory = self.memory.start(batch)
        zeros = memory.usage.new_zeros(batch, self.controller.hidden_size)
        return ComputerState(zeros, zeros, memory.read_weights @ memory.memory, memory)

    def forward(
        self, inputs: Tensor, state: ComputerState | None = None
    ) -> tuple[Tensor, ComputerState]:
        """Take one step for every input.

        Args:
            inputs: [B, T, I] float.
            state: as earlier steps left it; None for the start.

        Returns:
            Outputs [B, T, O] float and the state after the last step.
        """
        if state is None:
            state = self.start(inputs.shape[0])
        outputs: list[Tensor] = []
        for step in inputs.unbind(dim=1):
            output, state = self._step(step, state)
            outputs.append(output)
        return torch.stack(outputs, dim=1), state

    def _step(self, step: Tensor, state: ComputerState) -> tuple[Tensor, ComputerState]:
        """Of [B, I]: output [B, O] and the next state."""
        hidden, cell = self.controller(
            torch.cat([step, state.reads.flatten(1)], dim=-1), (state.hidden, state.cell)
        )
        asked = parse_interface(self.interface(hidden), self.memory.width, self.memory.heads)
        memory, reads = self.memory(state.memory, asked)
        output = self.output(torch.cat([hidden, reads.flatten(1)], dim=-1))
        return output, ComputerState(hidden, cell, reads, memory)
