"""The statement network in torch."""

from pathlib import Path

import torch
from torch import Tensor, nn

from memnet.encoders.bert import BertNetwork
from memnet.reader.network import load_network
from memnet.reader.spans import Pack
from memnet.statements.reading import HEADS, STATEMENTS, StatementScores, split_scores

_WIDTH = 384


class StatementNetwork(nn.Module):
    """A question or a new statement and earlier statements attend to each other.

    Source: Devlin et al. 2019, section 4.2 (outputs of each token, and of the first one).
    """

    def __init__(self) -> None:
        super().__init__()
        self.encoder = BertNetwork()
        self.pointers = nn.Linear(_WIDTH, HEADS["pointers"])
        self.kinds = nn.Linear(_WIDTH, HEADS["kinds"])

    def forward(
        self, token_ids: Tensor, segments: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Scores of each token [B, T, 18] and of each text [B, 25] float32, for ``split_scores``.

        Args:
            token_ids: [B, T] int64: [CLS], question or new statement, [SEP], statements each with
                a [SEP].
            segments: [B, T] int64: 0 up to the first [SEP], 1 after it.
            mask: [B, T] bool, False for padding; None where there is none.
        """
        states = self.encoder.tokens(token_ids, segments, mask)
        return self.pointers(states).float(), self.kinds(states[:, 0]).float()


def load_statement_network(folder: Path) -> StatementNetwork:
    """A saved network; errors as for ``load_network``."""
    return load_network(folder, STATEMENTS, StatementNetwork)


def score_statements(network: StatementNetwork, pack: Pack) -> StatementScores:
    """Scores of one pack by a network in evaluation mode."""
    device = network.encoder.words.weight.device
    token_ids, segments, _ = pack.inputs()
    inputs = (torch.from_numpy(one).to(device) for one in (token_ids, segments))
    with torch.inference_mode():
        tokens, text = network(*inputs)
    return split_scores(tokens.cpu().numpy(), text.cpu().numpy())
