import pytest
import torch

from benchmarks.mean_of_readers import mean_of
from memnet.reader.network import SpanNetwork


def _with_bias(value: float) -> SpanNetwork:
    network = SpanNetwork()
    with torch.no_grad():
        network.pointers.bias.fill_(value)
    return network


def test_each_weight_is_the_mean_by_shares() -> None:
    networks = [_with_bias(4.0), _with_bias(8.0)]
    own = [one.kinds.weight.detach().clone() for one in networks]
    mean = mean_of(networks, [0.25, 0.75])
    assert mean.pointers.bias.tolist() == pytest.approx([7.0] * 3)
    assert torch.allclose(mean.kinds.weight, 0.25 * own[0] + 0.75 * own[1])


def test_shares_that_do_not_sum_to_one_are_an_error() -> None:
    with pytest.raises(SystemExit, match=r"sum to 1\.2"):
        mean_of([_with_bias(1.0), _with_bias(2.0)], [0.6, 0.6])
