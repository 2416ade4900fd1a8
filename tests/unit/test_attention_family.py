"""What every member of the attention family holds to, and what torch makes of each."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.func import functional_call

from memnet.attention import (
    AdditiveScore,
    Attended,
    FixedAttention,
    MultiHeadAttention,
    MultiLayerAttention,
    MultiplicativeScore,
    attend,
    attend_selected,
    cosine_score,
    dot_product_score,
    kept_mass,
    scaled_dot_product_score,
)

# All different, so that a swapped axis can't pass; E is the width of a query, where it may differ.
B, Q, K, D, V, H, L, E, I, C, N = 2, 3, 5, 8, 7, 4, 6, 9, 10, 12, 13  # noqa: E741


class Scored(nn.Module):
    """A scoring function before ``attend``."""

    sharpens = ("factor",)

    def __init__(self, score: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.ones(()))
        self.score = score

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Attended:
        return attend(self.factor * self.score(query, keys), values, mask)


class Selected(nn.Module):
    """Sparse attention with every slot a candidate, in another order for each query."""

    sharpens = ("factor",)

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Attended:
        ids = torch.rand(mask.shape).argsort(dim=-1)
        query, real = self.factor * query, mask.gather(-1, ids)
        parts = [
            attend_selected(query[b, None], keys[b], values[b], ids[b, None], real[b, None])
            for b in range(len(query))
        ]
        weights = torch.cat([part.weights for part in parts])
        return Attended(
            torch.cat([part.read for part in parts]),
            torch.zeros_like(weights).scatter(-1, ids, weights),
        )


class Fixed(nn.Module):
    """Fixed attention, which has queries of its own."""

    sharpens = ("attention.queries",)

    def __init__(self) -> None:
        super().__init__()
        self.attention = FixedAttention(D, Q)

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Attended:
        read, weights = self.attention(keys, values, mask)
        return Attended(read.unflatten(-1, (Q, values.shape[-1])), weights)


class Layered(nn.Module):
    """An attention with projections of its own, whose values are as wide as its queries."""

    def __init__(self, attention: nn.Module, query: str) -> None:
        super().__init__()
        self.attention = attention
        self.sharpens = (f"attention.{query}.weight", f"attention.{query}.bias")

    def forward(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Attended:
        attended: Attended = self.attention(query, keys, values, mask)
        return attended


LAYERED: dict[str, Callable[[], Layered]] = {
    "multi-head": lambda: Layered(MultiHeadAttention(D, H), "query"),
    "multi-layer": lambda: Layered(
        MultiLayerAttention(L, D, H, I), "layers.0.layer.attention.query"
    ),
    "multi-layer, shared": lambda: Layered(
        MultiLayerAttention(L, D, H, I, shared=True), "layers.0.layer.attention.query"
    ),
}
PLAIN: dict[str, Callable[[], Scored | Selected | Fixed]] = {
    "dot product": lambda: Scored(dot_product_score),
    "scaled dot product": lambda: Scored(scaled_dot_product_score),
    "cosine": lambda: Scored(cosine_score),
    "multiplicative": lambda: Scored(MultiplicativeScore(D, D)),
    "additive": lambda: Scored(AdditiveScore(D, D, I)),
    "selected": Selected,
    "fixed": Fixed,
}
every_member = pytest.mark.parametrize("name", [*PLAIN, *LAYERED])
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(5)


def _member(name: str) -> Scored | Selected | Fixed | Layered:
    return {**PLAIN, **LAYERED}[name]().double()


def _memory(name: str, slots: int = K) -> tuple[Tensor, Tensor, Tensor]:
    """Query [B, Q, D], keys [B, K, D] and values [B, K, V] (D where the member needs it)."""
    shapes = ((B, Q, D), (B, slots, D), (B, slots, D if name in LAYERED else V))
    query, keys, values = (torch.randn(shape, dtype=torch.float64) for shape in shapes)
    return query, keys, values


def _mask() -> Tensor:
    """[B, Q, K] with a row of nothing."""
    mask = torch.rand(B, Q, K) > 0.4
    mask[1, 2] = False
    return mask


@every_member
@given(seed=seeds, order=st.permutations(range(K)))
def test_the_order_of_slots_does_not_matter(name: str, seed: int, order: list[int]) -> None:
    torch.manual_seed(seed)
    member, (query, keys, values), mask = _member(name), _memory(name), _mask()
    read, weights = member(query, keys, values, mask)
    shuffled = member(query, keys[:, order], values[:, order], mask[..., order])
    torch.testing.assert_close(shuffled.read, read)
    torch.testing.assert_close(shuffled.weights, weights[..., order])


@every_member
@given(seed=seeds)
def test_weights_are_shares_of_the_permitted_slots(name: str, seed: int) -> None:
    torch.manual_seed(seed)
    mask = _mask()
    weights = _member(name)(*_memory(name), mask).weights
    permitted = mask.view(B, *[1] * (weights.dim() - 3), Q, K)
    assert weights.min() >= 0
    assert not weights.masked_fill(permitted, 0.0).any()
    expected = permitted.any(dim=-1).expand(weights.shape[:-1]).double()
    torch.testing.assert_close(weights.sum(dim=-1), expected)


@every_member
@given(seed=seeds, factor=st.floats(1, 50))
def test_larger_scores_are_sharper(name: str, seed: int, factor: float) -> None:
    torch.manual_seed(seed)
    member, memory, mask = _member(name), _memory(name), _mask()
    state = torch.get_rng_state()

    def weights(factor: float) -> Tensor:
        torch.set_rng_state(state)
        scaled = {part: member.get_parameter(part) * factor for part in member.sharpens}
        attended: Attended = functional_call(member, scaled, (*memory, mask))
        # Of several hops the first: the others have another query.
        return attended.weights[:, 0] if "layer" in name else attended.weights

    before, after = weights(1.0), weights(factor)
    assert (after.amax(dim=-1) >= before.amax(dim=-1) - 1e-9).all()
    gained = torch.special.entr(after).sum(dim=-1) - torch.special.entr(before).sum(dim=-1)
    assert gained.max() <= 1e-9


@every_member
def test_a_single_slot_gets_all_attention(name: str) -> None:
    query, keys, values = _memory(name, slots=1)
    read, weights = _member(name)(query, keys, values, torch.ones(B, Q, 1, dtype=torch.bool))
    assert weights.eq(1).all()
    assert name in LAYERED or read.equal(values.expand(B, Q, V))


@every_member
def test_gradients(name: str) -> None:
    member, memory, mask = _member(name), _memory(name), _mask()
    names, parameters = zip(*member.named_parameters(), strict=True)
    state = torch.get_rng_state()

    def read(*parts: Tensor) -> Tensor:
        torch.set_rng_state(state)
        own = dict(zip(names, parts[3:], strict=True))
        attended: Attended = functional_call(member, own, (*parts[:3], mask))
        return attended.read

    inputs = [part.detach().requires_grad_() for part in (*memory, *parameters)]
    assert torch.autograd.gradcheck(read, inputs, fast_mode=name in LAYERED)


@every_member
@pytest.mark.parametrize("case", ["large", "no slots", "all masked", "zeros"])
def test_nothing_becomes_nan(name: str, case: str) -> None:
    member, memory = _member(name).float(), _memory(name, slots=0 if case == "no slots" else K)
    size = {"large": 1e4, "zeros": 0.0}.get(case, 1.0)
    query, keys, values = ((size * part).float().requires_grad_() for part in memory)
    mask = torch.full((B, Q, keys.shape[1]), case != "all masked")
    read, weights = member(query, keys, values, mask)
    torch.autograd.backward(read.sum())
    gradients = [part.grad for part in (query, keys, values, *member.parameters())]
    for tensor in (read, weights, *gradients):
        assert tensor is None or tensor.isfinite().all()
    if name in PLAIN and case in ("no slots", "all masked"):
        assert not read.any()


@pytest.mark.parametrize("size", [1e4, 3e38])
def test_scores_up_to_the_largest_number_are_safe(size: float) -> None:
    scores = torch.tensor([[size, -size, 0.0, size], [-size] * 4], requires_grad=True)
    read, weights = attend(scores, torch.randn(4, V), torch.tensor([True, True, True, False]))
    assert weights[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    torch.testing.assert_close(weights[1], torch.tensor([1 / 3, 1 / 3, 1 / 3, 0.0]))
    torch.autograd.backward(read.sum())
    assert scores.grad is not None
    assert scores.grad.isfinite().all()


def test_dot_product_equals_torch() -> None:
    query, keys, values = _memory("dot product")
    torch.testing.assert_close(
        attend(dot_product_score(query, keys), values).read,
        nn.functional.scaled_dot_product_attention(query, keys, values, scale=1.0),
    )


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_cosine_equals_torch(size: float) -> None:
    query, keys = torch.randn(Q, D), torch.randn(K, D)
    keys[2] = 0
    actual = cosine_score(size * query, size * keys)
    expected = nn.functional.cosine_similarity(query[:, None], keys[None], dim=-1)
    torch.testing.assert_close(actual, expected)
    assert actual[:, 2].tolist() == [0.0] * Q


def test_a_vector_of_zeros_passes_no_gradient_to_its_cosine() -> None:
    query, keys = torch.zeros(Q, D, requires_grad=True), torch.randn(K, D, requires_grad=True)
    torch.autograd.backward(cosine_score(query, keys).sum())
    for part in (query, keys):
        assert part.grad is not None
        assert not part.grad.any()


def test_multiplicative_equals_torch() -> None:
    module, query, keys = MultiplicativeScore(E, D), torch.randn(B, Q, E), torch.randn(B, K, D)
    actual = module(query, keys).detach()
    theirs = nn.Bilinear(D, E, 1, bias=False)
    theirs.load_state_dict({"weight": module.query.weight[None]})
    for b in range(B):
        pairs = keys[b].repeat(Q, 1), query[b].repeat_interleave(K, dim=0)
        torch.testing.assert_close(actual[b], theirs(*pairs).detach().view(Q, K))


def test_additive_equals_its_equation() -> None:
    module, query, keys = AdditiveScore(E, D, I), torch.randn(B, Q, E), torch.randn(B, K, D)
    own, other, output = (part.weight for part in (module.query, module.key, module.output))
    asked, held = (torch.einsum("bnd,id->bni", *one) for one in ((query, own), (keys, other)))
    expected = torch.einsum("i,bqki->bqk", output[0], torch.tanh(asked[:, :, None] + held[:, None]))
    torch.testing.assert_close(module(query, keys), expected)


def test_fixed_equals_torch() -> None:
    module, (_, keys, values), mask = FixedAttention(D, Q).double(), _memory("fixed"), _mask()
    assert module(keys, values, mask).read.shape == (B, Q * V)
    mask[1, 2, 0] = True  # torch gives NaN for a row of nothing
    queries = module.queries.expand(B, Q, D)
    torch.testing.assert_close(
        module(keys, values, mask).read,
        nn.functional.scaled_dot_product_attention(queries, keys, values, mask).flatten(1),
    )


@pytest.mark.parametrize("shared", [False, True])
def test_multi_layer_equals_its_layers(shared: bool) -> None:
    module = MultiLayerAttention(L, D, H, I, shared=shared).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    assert len(module.layers) == (1 if shared else L)
    (query, keys, values), mask = _memory("multi-layer"), _mask()
    read, weights = module(query, keys, values, mask)
    assert weights.shape == (B, L, H, Q, K)
    state = query
    for hop in range(L):
        layer = module.layers[0 if shared else hop].get_submodule("layer")
        part = layer.get_submodule
        attended = part("attention")(state, keys, values, mask)
        torch.testing.assert_close(weights[:, hop], attended.weights, rtol=1e-9, atol=1e-9)
        x = part("attention_norm")(state + attended.read)
        state = part("output_norm")(x + part("contract")(nn.functional.gelu(part("expand")(x))))
    torch.testing.assert_close(read, state, rtol=1e-9, atol=1e-9)


def _candidates() -> tuple[Tensor, Tensor]:
    """[B, Q, C] ids below N, some more than once, some of them not real."""
    ids, mask = torch.randint(N, (B, Q, C)), torch.rand(B, Q, C) > 0.3
    mask[0, 1] = False
    ids[0, 0, 4], mask[0, 0, 3:5] = ids[0, 0, 3], True
    return ids.masked_fill(~mask, -1), mask


def _distinct(ids: Tensor, mask: Tensor) -> Tensor:
    """[B, Q, N] bool: the slots that are real candidates."""
    return nn.functional.one_hot(ids.masked_fill(~mask, N), N + 1).any(dim=-2)[..., :N]


def test_selected_equals_attention_to_the_distinct_candidates() -> None:
    query, keys, values = torch.randn(B, Q, D), torch.randn(N, D), torch.randn(N, V)
    ids, mask = _candidates()
    read, weights = attend_selected(query, keys, values, ids, mask)
    scores = scaled_dot_product_score(query, keys)
    expected = attend(scores, values, _distinct(ids, mask))
    torch.testing.assert_close(read, expected.read)
    summed = torch.zeros(B, Q, N).scatter_add(-1, ids.clamp(min=0), weights)
    torch.testing.assert_close(summed, expected.weights)
    first, *others = torch.nonzero(mask[0, 0] & (ids[0, 0] == ids[0, 0, 4])).flatten().tolist()
    assert weights[0, 0, first] > 0
    assert others
    assert not weights[0, 0, others].any()


def test_selected_from_an_empty_memory_reads_zeros() -> None:
    ids, mask = torch.full((B, Q, C), -1), torch.zeros(B, Q, C, dtype=torch.bool)
    read, weights = attend_selected(
        torch.randn(B, Q, D), torch.zeros(0, D), torch.zeros(0, V), ids, mask
    )
    assert read.equal(torch.zeros(B, Q, V))
    assert weights.equal(torch.zeros(B, Q, C))


def test_selecting_every_slot_is_full_attention() -> None:
    query, keys, values = torch.randn(B, Q, D), torch.randn(N, D), torch.randn(N, V)
    ids = torch.rand(B, Q, N).argsort(dim=-1)
    mask = torch.ones_like(ids, dtype=torch.bool)
    full = attend(scaled_dot_product_score(query, keys), values)
    read, weights = attend_selected(query, keys, values, ids, mask)
    torch.testing.assert_close(read, full.read)
    torch.testing.assert_close(weights, full.weights.gather(-1, ids))
    kept = kept_mass(scaled_dot_product_score(query, keys), ids, mask)
    torch.testing.assert_close(kept, torch.ones(B, Q))


def test_kept_mass_is_the_weight_of_the_distinct_candidates() -> None:
    scores = torch.randn(B, Q, N, dtype=torch.float64)
    ids, mask = _candidates()
    kept = kept_mass(scores, ids, mask)
    expected = (scores.softmax(dim=-1) * _distinct(ids, mask)).sum(dim=-1)
    torch.testing.assert_close(kept, expected)


def test_a_few_candidates_keep_the_attention_over_a_large_memory() -> None:
    """Groups of 20 slots that a query means alike: one candidate keeps little, 64 nearly all."""
    slots, width, group = 10_000, 64, 20
    keys = torch.randn(slots // group, width).repeat_interleave(group, dim=0)
    keys = nn.functional.normalize(keys + 0.3 * torch.randn(slots, width), dim=-1)
    asked = keys[torch.randint(slots, (B, Q))] + 0.05 * torch.randn(B, Q, width)
    scores = scaled_dot_product_score(200 * asked, keys)
    best = scores.topk(64).indices
    mask = torch.ones_like(best, dtype=torch.bool)
    assert kept_mass(scores, best[..., :1], mask[..., :1]).min() < 0.5
    assert kept_mass(scores, best, mask).min() >= 0.99
