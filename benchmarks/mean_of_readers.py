"""The weighted mean of some readers as a reader of its own.

    python -m benchmarks.mean_of_readers 0.3=A 0.3=B 0.2=memnet/shipped/spans 0.2=C --out READER

Readers that began with the same weights are better together than each of them, and keep more of
what was learned before.

Source: Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", section 3, and "Model
soups", section 2 (the mean of networks that were trained from one).
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from memnet.reader.network import SpanNetwork, load_span_network, save_span_network


def main() -> None:
    """Load, average and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="+", metavar="SHARE=FOLDER")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    parts = [one.partition("=") for one in options.readers]
    shares = [float(share) for share, _, _ in parts]
    network = mean_of([load_span_network(Path(folder)) for *_, folder in parts], shares)
    save_span_network(options.out, network, {"made_by": "python -m benchmarks.mean_of_readers"})


def mean_of(networks: Sequence[SpanNetwork], shares: Sequence[float]) -> SpanNetwork:
    """The first of some networks, with the mean of the weights of all.

    Raises:
        SystemExit: the shares don't sum to one.
    """
    if abs(sum(shares) - 1) > 1e-6:
        raise SystemExit(f"the shares sum to {sum(shares):g}; expected 1")
    states = [one.state_dict() for one in networks]
    with torch.no_grad():
        mean = {
            name: sum(
                (share * state[name] for share, state in zip(shares, states, strict=True)),
                torch.zeros_like(states[0][name]),
            )
            for name in states[0]
        }
    networks[0].load_state_dict(mean)
    return networks[0]


if __name__ == "__main__":
    main()
