import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from memnet.attention import (
    MultiHeadAttention,
    TransformerEncoder,
    TransformerLayer,
    attend,
    cosine_score,
    masked_softmax,
    scaled_dot_product_score,
)
from memnet.attention.arrays import cosines, sigmoid, softmax

# All different, so that a swapped axis can't pass.
B, Q, K, D, V, H = 2, 3, 5, 8, 7, 4


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(3)


def _mask() -> torch.Tensor:
    """[B, Q, K] with one row of nothing, one of a single slot, the others mixed."""
    mask = torch.rand(B, Q, K) > 0.4
    mask[0, 1] = False
    mask[1, 2] = torch.arange(K) == 3
    return mask


def _memory(value_width: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Query [B, Q, D], keys [B, K, D], values [B, K, value_width] and their mask."""
    return torch.randn(B, Q, D), torch.randn(B, K, D), torch.randn(B, K, value_width), _mask()


def test_attention_equals_torch() -> None:
    query, keys, values, mask = _memory(V)
    mask[0, 1, 0] = True  # torch gives NaN for a row of nothing
    expected = nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
    attended = attend(scaled_dot_product_score(query, keys), values, mask)
    torch.testing.assert_close(attended.read, expected)


@given(
    st.lists(
        st.tuples(st.floats(-1e4, 1e4, width=32), st.booleans(), st.integers(0, 3)), max_size=12
    ),
    st.integers(0, 99),
)
def test_attention_over_arrays_equals_that_over_tensors(
    slots: list[tuple[float, bool, int]], seed: int
) -> None:
    scores = np.array([score for score, _, _ in slots], np.float32)
    mask = np.array([seen for _, seen, _ in slots], np.bool_)
    values = np.random.default_rng(seed).standard_normal((len(slots), V), np.float32)
    values *= np.array([size for _, _, size in slots], np.float32)[:, None]  # some all zeros
    full = attend(torch.from_numpy(scores)[None], torch.from_numpy(values))
    np.testing.assert_allclose(softmax(scores), full.weights[0], atol=1e-6)
    some = masked_softmax(torch.from_numpy(scores), torch.from_numpy(mask))
    np.testing.assert_allclose(softmax(scores, mask), some, atol=1e-6)
    for query in (values[0] if slots else np.ones(V, np.float32), np.zeros(V, np.float32)):
        alike = cosine_score(torch.from_numpy(query)[None], torch.from_numpy(values))[0]
        np.testing.assert_allclose(cosines(query, values), alike, atol=1e-6)
    assert {array.dtype for array in (softmax(scores), softmax(scores, mask))} == {np.dtype("f4")}


@given(
    st.lists(st.floats(-50, 50), min_size=1, max_size=9).flatmap(
        lambda scores: st.tuples(
            st.just(scores),
            st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)),
            st.permutations(range(len(scores))),
        )
    )
)
def test_softmax_properties(case: tuple[list[float], list[bool], list[int]]) -> None:
    scores = torch.tensor(case[0], dtype=torch.float64)
    mask, order = torch.tensor(case[1]), torch.tensor(case[2])
    weights = masked_softmax(scores, mask)
    assert float(weights.sum()) == pytest.approx(1.0 if mask.any() else 0.0)
    assert weights[~mask].eq(0).all()
    expected = scores.masked_fill(~mask, -torch.inf).softmax(dim=0).nan_to_num()
    torch.testing.assert_close(weights, expected, atol=1e-12, rtol=1e-7)
    torch.testing.assert_close(masked_softmax(scores[order], mask[order]), weights[order])
    sharper = masked_softmax(scores * 2, mask)
    assert float(sharper.max()) >= float(weights.max()) - 1e-12


def _share(module: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Give torch's module the weights of ours."""
    parts = (module.query, module.key, module.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(module.output.state_dict())


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1))
def test_the_logistic_function_equals_that_of_torch(values: list[float]) -> None:
    found = sigmoid(np.array(values, np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, torch.tensor(values).sigmoid().numpy(), rtol=1e-5, atol=1e-30)


def test_multi_head_equals_torch() -> None:
    module = MultiHeadAttention(D, H)
    query, keys, values, mask = _memory(D)
    mask[0, 1, 2] = True  # torch gives NaN for a row of nothing
    read, weights = module(query, keys, values, mask)
    theirs = nn.MultiheadAttention(D, H, batch_first=True)
    _share(module, theirs)
    blocked = (~mask).repeat_interleave(H, dim=0)
    expected_read, expected_weights = theirs(
        query, keys, values, attn_mask=blocked, average_attn_weights=False
    )
    torch.testing.assert_close(read, expected_read)
    torch.testing.assert_close(weights, expected_weights)


def test_a_bias_is_added_to_the_scores() -> None:
    module, theirs = MultiHeadAttention(D, H), nn.MultiheadAttention(D, H, batch_first=True)
    _share(module, theirs)
    query, keys, values, _ = _memory(D)
    bias = torch.randn(B, H, Q, K)
    expected_read, expected_weights = theirs(
        query, keys, values, attn_mask=bias.flatten(0, 1), average_attn_weights=False
    )
    read, weights = module(query, keys, values, bias=bias)
    torch.testing.assert_close(read, expected_read)
    torch.testing.assert_close(weights, expected_weights)
    by_distance = -torch.arange(K) * torch.tensor([2.0**-h for h in range(H)])[:, None, None]
    torch.testing.assert_close(
        module(query, keys, values, bias=by_distance),
        module(query, keys, values, bias=by_distance.expand(B, H, Q, K)),
    )


@pytest.mark.parametrize("shape", [(K,), (Q, K), (1, Q, K), (B, 1, K)])
def test_a_mask_is_broadcast(shape: tuple[int, ...]) -> None:
    module = MultiHeadAttention(D, H)
    query, keys, values, _ = _memory(D)
    mask = torch.arange(math.prod(shape)).view(shape) % 3 > 0
    torch.testing.assert_close(
        module(query, keys, values, mask), module(query, keys, values, mask.expand(B, Q, K))
    )


def test_self_attention_follows_the_order_of_its_tokens() -> None:
    module, tokens = MultiHeadAttention(D, H), torch.randn(B, K, D)
    theirs = nn.MultiheadAttention(D, H, batch_first=True)
    _share(module, theirs)
    read = module(tokens, tokens, tokens).read
    torch.testing.assert_close(read, theirs(tokens, tokens, tokens)[0])
    order = torch.tensor([3, 0, 4, 1, 2])
    shuffled = tokens[:, order]
    torch.testing.assert_close(module(shuffled, shuffled, shuffled).read, read[:, order])


def test_heads_must_divide_the_width() -> None:
    with pytest.raises(ValueError, match="width 8 can't be split into 3 heads"):
        MultiHeadAttention(8, 3)


def test_transformer_encoder_equals_torch() -> None:
    encoder = TransformerEncoder(2, D, H, 11, epsilon=1e-5).eval()
    theirs = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(D, H, 11, activation="gelu", batch_first=True), 2
    ).eval()
    for own, other in zip(encoder.layers, theirs.layers, strict=True):
        assert isinstance(own, TransformerLayer)
        assert isinstance(other, nn.TransformerEncoderLayer)
        _share(own.attention, other.self_attn)
        for part, target in (
            (own.attention_norm, other.norm1),
            (own.expand, other.linear1),
            (own.contract, other.linear2),
            (own.output_norm, other.norm2),
        ):
            target.load_state_dict(part.state_dict())
    tokens = torch.randn(B, K, D)
    present = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    expected = theirs(tokens, src_key_padding_mask=~present)
    actual = encoder(tokens, present[:, None, :].expand(B, K, K))
    torch.testing.assert_close(actual[present], expected[present], atol=1e-5, rtol=1e-5)
