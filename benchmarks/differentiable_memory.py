"""The Differentiable Neural Computer: a controller and a memory through which gradients pass.

The letters are those of the paper: N slots of width W, R read heads. All equations are in Graves et
al. 2016, "Hybrid computing using a neural network with dynamic external memory", Methods.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from memnet.attention import cosine_score, masked_softmax


class Interface(NamedTuple):
    """What a controller asks of the memory in one step."""

    read_keys: Tensor
    """[B, R, W] float: what each head looks for."""
    read_strengths: Tensor
    """[B, R] float, at least 1: how sharply."""
    write_key: Tensor
    """[B, W] float: content of the slot to write to."""
    write_strength: Tensor
    """[B] float, at least 1."""
    erase: Tensor
    """[B, W] float, 0..1: how much of each element of the slot is erased."""
    write: Tensor
    """[B, W] float: what is added."""
    free_gates: Tensor
    """[B, R] float, 0..1: whether to free the slots that a head read last."""
    allocation_gate: Tensor
    """[B] float, 0..1: write to a free slot (1) or to one similar to the key (0)."""
    write_gate: Tensor
    """[B] float, 0..1: whether to write at all."""
    read_modes: Tensor
    """[B, R, 3] float, rows sum to one: backward, by content, forward."""


class MemoryState(NamedTuple):
    """The memory between two steps."""

    memory: Tensor
    """[B, N, W] float: the slots."""
    usage: Tensor
    """[B, N] float, 0..1: how much each slot is in use."""
    precedence: Tensor
    """[B, N] float, sums to at most one: how much each slot is the one written last."""
    links: Tensor
    """[B, N, N] float: how much the first slot was written right after the second."""
    read_weights: Tensor
    """[B, R, N] float, of the last step."""
    write_weights: Tensor
    """[B, N] float, of the last step."""


def interface_width(width: int, heads: int) -> int:
    """How many numbers ``parse_interface`` needs for slots of width W and R read heads."""
    return width * heads + 3 * width + 5 * heads + 3


def parse_interface(numbers: Tensor, width: int, heads: int) -> Interface:
    """Cut a controller's output into the parts of an interface and bring each into its range.

    Args:
        numbers: [B, ``interface_width(width, heads)``] float.
        width: W, width of a slot.
        heads: R, number of read heads.

    Source: Graves et al. 2016, Methods, "Interface parameters".
    """
    sizes = [heads * width, heads, width, 1, width, width, heads, 1, 1, heads * 3]
    parts = torch.split(numbers, sizes, dim=-1)
    return Interface(
        read_keys=parts[0].reshape(-1, heads, width),
        read_strengths=_one_plus(parts[1]),
        write_key=parts[2],
        write_strength=_one_plus(parts[3].squeeze(-1)),
        erase=parts[4].sigmoid(),
        write=parts[5],
        free_gates=parts[6].sigmoid(),
        allocation_gate=parts[7].squeeze(-1).sigmoid(),
        write_gate=parts[8].squeeze(-1).sigmoid(),
        read_modes=parts[9].reshape(-1, heads, 3).softmax(dim=-1),
    )


class DifferentiableMemory(nn.Module):
    """The memory of the Differentiable Neural Computer: state in, state and reads out.

    Args:
        slots: N.
        width: W, width of a slot.
        heads: R, number of read heads.

    Source: Graves et al. 2016, Methods.
    """

    def __init__(self, slots: int, width: int, heads: int) -> None:
        super().__init__()
        self.slots = slots
        self.width = width
        self.heads = heads
        self.zero: Tensor
        self.register_buffer("zero", torch.zeros(()), persistent=False)

    def start(self, batch: int) -> MemoryState:
        """The state of B memories before anything is written: all zeros."""
        return MemoryState(
            memory=self.zero.expand(batch, self.slots, self.width),
            usage=self.zero.expand(batch, self.slots),
            precedence=self.zero.expand(batch, self.slots),
            links=self.zero.expand(batch, self.slots, self.slots),
            read_weights=self.zero.expand(batch, self.heads, self.slots),
            write_weights=self.zero.expand(batch, self.slots),
        )

    def forward(self, state: MemoryState, interface: Interface) -> tuple[MemoryState, Tensor]:
        """Write, then read.

        Args:
            state: as the last step left it.
            interface: what to write, where, and where to read.

        Returns:
            The new state and what the heads read [B, R, W] float.
        """
        usage = next_usage(state, interface.free_gates)
        write_weights = _write_weights(state.memory, usage, interface)
        memory = _written(state.memory, write_weights, interface)
        links = next_links(state.links, state.precedence, write_weights)
        idle = 1 - write_weights.sum(dim=-1, keepdim=True)
        precedence = idle * state.precedence + write_weights
        read_weights = _read_weights(memory, links, state.read_weights, interface)
        return (
            MemoryState(memory, usage, precedence, links, read_weights, write_weights),
            read_weights @ memory,
        )


def next_usage(state: MemoryState, free_gates: Tensor) -> Tensor:
    """Usage [B, N] float: raised where the last step wrote, lowered where heads read and free.

    Args:
        state: as the last step left it.
        free_gates: [B, R] float, 0..1.

    Source: Graves et al. 2016, Methods, "Dynamic memory allocation" (retention and usage).
    """
    retention = (1 - free_gates.unsqueeze(-1) * state.read_weights).prod(dim=1)
    written = state.usage + state.write_weights - state.usage * state.write_weights
    return written * retention


def allocation(usage: Tensor) -> Tensor:
    """Allocation weights of the slots to write to next, the least used first.

    Args:
        usage: [B, N] float, 0..1.

    Returns:
        [B, N] float, sum at most one; near zero everywhere when every slot is in use.

    Source: Graves et al. 2016, Methods, "Dynamic memory allocation" (allocation weighting).
    """
    ordered, order = usage.sort(dim=-1, stable=True)
    in_use = torch.cat([torch.ones_like(ordered[:, :1]), ordered[:, :-1].cumprod(dim=-1)], dim=-1)
    return torch.zeros_like(usage).scatter(-1, order, (1 - ordered) * in_use)


def next_links(links: Tensor, precedence: Tensor, write_weights: Tensor) -> Tensor:
    """Temporal links [B, N, N] float after a write: row i, column j if i was written after j.

    Args:
        links: [B, N, N] float, before.
        precedence: [B, N] float, before.
        write_weights: [B, N] float, of this step.

    Source: Graves et al. 2016, Methods, "Temporal memory linkage".
    """
    later, earlier = write_weights.unsqueeze(-1), write_weights.unsqueeze(-2)
    links = (1 - later - earlier) * links + later * precedence.unsqueeze(-2)
    return links * (1 - torch.eye(links.shape[-1], dtype=links.dtype, device=links.device))


def _by_content(memory: Tensor, keys: Tensor, strengths: Tensor) -> Tensor:
    """Content weights [B, R, N] of memory [B, N, W], keys [B, R, W] and strengths [B, R]."""
    return masked_softmax(strengths.unsqueeze(-1) * cosine_score(keys, memory))


def _write_weights(memory: Tensor, usage: Tensor, interface: Interface) -> Tensor:
    """[B, N]: a free slot or one similar to the key, by the allocation gate."""
    similar = _by_content(
        memory, interface.write_key.unsqueeze(1), interface.write_strength.unsqueeze(1)
    ).squeeze(1)
    allocate = interface.allocation_gate.unsqueeze(-1)
    weights = allocate * allocation(usage) + (1 - allocate) * similar
    return interface.write_gate.unsqueeze(-1) * weights


def _written(memory: Tensor, write_weights: Tensor, interface: Interface) -> Tensor:
    """[B, N, W]: the slots after erasing and adding."""
    share = write_weights.unsqueeze(-1)
    erased = memory * (1 - share * interface.erase.unsqueeze(1))
    return erased + share * interface.write.unsqueeze(1)


def _read_weights(memory: Tensor, links: Tensor, before: Tensor, interface: Interface) -> Tensor:
    """[B, R, N]: backward, by content or forward, by the read modes."""
    similar = _by_content(memory, interface.read_keys, interface.read_strengths)
    backward, content, forward = interface.read_modes.unsqueeze(-1).unbind(dim=2)
    return (
        backward * (before @ links) + content * similar + forward * (before @ links.transpose(1, 2))
    )


def _one_plus(numbers: Tensor) -> Tensor:
    return 1 + nn.functional.softplus(numbers)


class ComputerState(NamedTuple):
    """The computer between two steps."""

    hidden: Tensor
    """[B, hidden] float: the controller's output."""
    cell: Tensor
    """[B, hidden] float: the controller's cell."""
    reads: Tensor
    """[B, R, W] float: what the heads read last."""
    memory: MemoryState


class DifferentiableNeuralComputer(nn.Module):
    """An LSTM that writes to and reads from a differentiable memory at every step.

    Args:
        inputs: I, width of an input.
        outputs: O, width of an output.
        hidden: width of the LSTM.
        slots, width, heads: of the ``DifferentiableMemory``.

    Source: Graves et al. 2016, Methods, "Controller network".
    """

    def __init__(
        self, inputs: int, outputs: int, hidden: int, slots: int, width: int, heads: int
    ) -> None:
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
        interface = parse_interface(self.interface(hidden), self.memory.width, self.memory.heads)
        memory, reads = self.memory(state.memory, interface)
        output = self.output(torch.cat([hidden, reads.flatten(1)], dim=-1))
        return output, ComputerState(hidden, cell, reads, memory)
