import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from benchmarks.differentiable_memory import (
    ComputerState,
    DifferentiableMemory,
    DifferentiableNeuralComputer,
    Interface,
    MemoryState,
    allocation,
    interface_width,
    parse_interface,
)
from tests import oracle

# All different, so that a swapped axis can't pass.
B, N, W, R, T, INPUTS, OUTPUTS, HIDDEN = 2, 7, 5, 3, 6, 4, 8, 9


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(11)


def _numbers(scale: float = 1.0) -> Tensor:
    return scale * torch.randn(B, interface_width(W, R), dtype=torch.float64)


def _used_state() -> MemoryState:
    """A state as several writes and reads may leave it, with no two slots used alike."""
    state = DifferentiableMemory(N, W, R).double().start(B)
    for _ in range(4):
        state, _ = DifferentiableMemory(N, W, R)(state, parse_interface(_numbers(), W, R))
    return state


def _array(tensor: Tensor) -> oracle.Array:
    array: oracle.Array = tensor.detach().numpy()
    return array


def _of_one(parts: MemoryState | Interface, b: int) -> dict[str, oracle.Array]:
    return {name: _array(part[b]) for name, part in parts._asdict().items()}


def _by_content(memory: oracle.Array, key: oracle.Array, strength: float) -> oracle.Array:
    """Of [N, W], [W] and a number: weights [N] (Graves et al. 2016, content-based addressing)."""
    lengths = np.linalg.norm(memory, axis=1) * np.linalg.norm(key)
    similar = np.divide(memory @ key, lengths, out=np.zeros(len(memory)), where=lengths > 0)
    return oracle.softmax(strength * similar)


def _allocation(usage: oracle.Array) -> oracle.Array:
    """Of [N]: weights [N] of the slots to write to, the least used first."""
    order = np.argsort(usage, kind="stable")
    weights = np.zeros(len(usage))
    weights[order] = (1 - usage[order]) * np.cumprod([1.0, *usage[order][:-1]])
    return weights


def _memory_step(
    before: dict[str, oracle.Array], asked: dict[str, oracle.Array]
) -> tuple[dict[str, oracle.Array], oracle.Array]:
    """One step of one memory, by the equations of Graves et al. 2016, Methods.

    ``before`` has the names of ``MemoryState`` and ``asked`` those of ``Interface``, both without
    the batch. Gives the new state and reads [R, W].
    """
    written = before["write_weights"]
    usage = before["usage"] + written - before["usage"] * written
    usage = usage * np.prod(1 - asked["free_gates"][:, None] * before["read_weights"], axis=0)
    similar = _by_content(before["memory"], asked["write_key"], float(asked["write_strength"]))
    share = float(asked["allocation_gate"])
    weights = float(asked["write_gate"]) * (share * _allocation(usage) + (1 - share) * similar)
    memory = before["memory"] * (1 - np.outer(weights, asked["erase"]))
    memory = memory + np.outer(weights, asked["write"])
    links = (1 - weights[:, None] - weights) * before["links"]
    links = links + np.outer(weights, before["precedence"])
    np.fill_diagonal(links, 0.0)
    precedence = (1 - weights.sum()) * before["precedence"] + weights
    read_weights = np.array([
        mode @ [links.T @ last, _by_content(memory, key, float(strength)), links @ last]
        for mode, last, key, strength in zip(
            asked["read_modes"], before["read_weights"], asked["read_keys"],
            asked["read_strengths"], strict=True,
        )
    ])  # fmt: skip
    now = {
        "memory": memory, "usage": usage, "write_weights": weights, "precedence": precedence,
        "links": links, "read_weights": read_weights,
    }  # fmt: skip
    return now, read_weights @ memory


def test_interface_is_cut_in_the_order_of_the_paper() -> None:
    numbers = _numbers()
    parts = parse_interface(numbers, W, R)
    for b, row in enumerate(_array(numbers)):
        left = list(row)

        def take(count: int, left: list[float] = left) -> oracle.Array:
            taken, left[:count] = np.array(left[:count]), []
            return taken

        def gate(part: oracle.Array) -> oracle.Array:
            return np.asarray(1 / (1 + np.exp(-part)))

        expected = [
            np.stack([take(W) for _ in range(R)]),
            1 + np.log1p(np.exp(take(R))),
            take(W),
            1 + np.log1p(np.exp(take(1)))[0],
            gate(take(W)),
            take(W),
            gate(take(R)),
            gate(take(1))[0],
            gate(take(1))[0],
            np.stack([oracle.softmax(take(3)) for _ in range(R)]),
        ]
        assert not left
        for part, wanted in zip(parts, expected, strict=True):
            np.testing.assert_allclose(part[b], wanted, atol=1e-12)


def test_steps_equal_loops() -> None:
    memory = DifferentiableMemory(N, W, R).double()
    state = memory.start(B)
    expected = [_of_one(state, b) for b in range(B)]
    for _ in range(T):
        asked = parse_interface(_numbers(2.0), W, R)
        state, reads = memory(state, asked)
        for b in range(B):
            expected[b], expected_reads = _memory_step(expected[b], _of_one(asked, b))
            np.testing.assert_allclose(reads[b], expected_reads, atol=1e-12)
            for name, part in _of_one(state, b).items():
                np.testing.assert_allclose(part, expected[b][name], atol=1e-12, err_msg=name)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_allocation_equals_loops(usage: list[float]) -> None:
    weights = allocation(torch.tensor([usage], dtype=torch.float64))[0]
    np.testing.assert_allclose(weights, _allocation(np.array(usage)), atol=1e-12)
    assert float(weights.sum()) <= 1 + 1e-12


@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(0.1, 30))
def test_shares_stay_shares(seed: int, scale: float) -> None:
    torch.manual_seed(seed)
    memory = DifferentiableMemory(N, W, R).double()
    state = memory.start(B)
    for _ in range(T):
        state, _ = memory(state, parse_interface(_numbers(scale), W, R))
        links = state.links
        for part in (*state[1:], links.transpose(1, 2)):
            assert part.min() >= -1e-12
        assert state.usage.max() <= 1 + 1e-12
        rows = (state.read_weights, state.write_weights, state.precedence, links, links.mT)
        for part in rows:
            assert part.sum(dim=-1).max() <= 1 + 1e-9
        assert not links.diagonal(dim1=1, dim2=2).any()


def test_gradients_of_a_step() -> None:
    memory, state = DifferentiableMemory(N, W, R), _used_state()

    def step(numbers: Tensor, *parts: Tensor) -> tuple[Tensor, ...]:
        following, reads = memory(MemoryState(*parts), parse_interface(numbers, W, R))
        return (*following, reads)

    inputs = [part[:1].detach().requires_grad_() for part in (_numbers(), *state)]
    assert torch.autograd.gradcheck(step, inputs)


def test_gradients_pass_the_first_steps() -> None:
    """Where every slot is zero, no slot is used and all are used alike."""
    memory = DifferentiableMemory(N, W, R).double()
    numbers = _numbers().requires_grad_()
    state, reads = memory(memory.start(B), parse_interface(numbers, W, R))
    state, reads = memory(state, parse_interface(numbers, W, R))
    torch.autograd.backward(reads.sum())
    assert numbers.grad is not None
    assert numbers.grad.isfinite().all()
    assert numbers.grad.any()


def _asked(**parts: float | list[float]) -> Interface:
    """For one head: writes, frees and looks for nothing, but for what ``parts`` says."""
    neutral: dict[str, float | list[float]] = {
        "read_keys": [0.0] * W,
        "read_strengths": 1e3,
        "write_key": [0.0] * W,
        "write_strength": 1.0,
        "erase": [1.0] * W,
        "write": [0.0] * W,
        "free_gates": 0.0,
        "allocation_gate": 1.0,
        "write_gate": 0.0,
        "read_modes": [0.0, 1.0, 0.0],
    }
    tensors = {
        name: torch.tensor([part], dtype=torch.float64) for name, part in (neutral | parts).items()
    }
    for name in ("read_keys", "read_modes"):
        tensors[name] = tensors[name].unsqueeze(1)
    for name in ("read_strengths", "free_gates"):
        tensors[name] = tensors[name].unsqueeze(1)
    return Interface(**tensors)


def test_what_was_written_is_found_and_followed_in_order() -> None:
    memory = DifferentiableMemory(N, W, 1).double()
    state = memory.start(1)
    written = torch.eye(W, dtype=torch.float64).tolist()
    for vector in written:
        state, _ = memory(state, _asked(write=vector, write_gate=1.0))
    steps = (
        (_asked(read_keys=written[1]), 1),
        (_asked(read_modes=[0.0, 0.0, 1.0]), 2),
        (_asked(read_modes=[0.0, 0.0, 1.0]), 3),
        (_asked(read_modes=[1.0, 0.0, 0.0]), 2),
    )
    for asked, place in steps:
        state, reads = memory(state, asked)
        np.testing.assert_allclose(reads[0, 0], written[place], atol=1e-9)


def test_a_freed_slot_is_written_to_first() -> None:
    memory = DifferentiableMemory(W, W, 1).double()  # as many slots as vectors: all get used
    state = memory.start(1)
    written = torch.eye(W, dtype=torch.float64).tolist()
    for vector in written:
        state, _ = memory(state, _asked(write=vector, write_gate=1.0))
    state, _ = memory(state, _asked(read_keys=written[3]))
    place = state.read_weights.argmax()
    state, _ = memory(state, _asked(write=[2.0] * W, write_gate=1.0, free_gates=1.0))
    assert state.write_weights.argmax() == place
    np.testing.assert_allclose(state.memory[0, place], [2.0] * W, atol=1e-9)


def _computer(slots: int = N) -> DifferentiableNeuralComputer:
    return DifferentiableNeuralComputer(INPUTS, OUTPUTS, HIDDEN, slots, W, R).double()


def test_computer_equals_loops() -> None:
    computer = _computer()
    for parameter in computer.parameters():
        nn.init.normal_(parameter, std=0.5)
    inputs = torch.randn(B, T, INPUTS, dtype=torch.float64)
    outputs, _ = computer(inputs)
    for b in range(B):
        memory = _of_one(computer.memory.start(B), b)
        reads = np.zeros((R, W))
        hidden = cell = torch.zeros(HIDDEN, dtype=torch.float64)
        for t in range(T):
            seen = torch.from_numpy(np.concatenate([_array(inputs[b, t]), *reads]))
            hidden, cell = computer.controller(seen, (hidden, cell))
            asked = _of_one(parse_interface(computer.interface(hidden[None]), W, R), 0)
            memory, reads = _memory_step(memory, asked)
            read = torch.from_numpy(reads).flatten()
            expected = computer.output(torch.cat([hidden, read])).detach()
            np.testing.assert_allclose(outputs[b, t].detach(), expected, atol=1e-9)


def _tensors(state: ComputerState) -> list[Tensor]:
    return [*state[:3], *state.memory]


def test_a_sequence_may_come_in_parts() -> None:
    computer, inputs = _computer(), torch.randn(B, T, INPUTS, dtype=torch.float64)
    outputs, state = computer(inputs)
    first, between = computer(inputs[:, :2])
    kept = [part.clone() for part in _tensors(between)]
    second, last = computer(inputs[:, 2:], between)
    torch.testing.assert_close(torch.cat([first, second], dim=1), outputs)
    torch.testing.assert_close(_tensors(last), _tensors(state))
    torch.testing.assert_close(_tensors(between), kept, rtol=0, atol=0)


def test_weights_serve_a_memory_of_any_size() -> None:
    larger = _computer(3 * N)
    larger.load_state_dict(_computer().state_dict())
    outputs, state = larger(torch.randn(B, T, INPUTS, dtype=torch.float64))
    assert outputs.shape == (B, T, OUTPUTS)
    assert state.memory.memory.shape == (B, 3 * N, W)
