"""BERT on this project's own Transformer encoder, as a sentence encoder."""

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from memnet.attention import TransformerEncoder
from memnet.encoders.onnx_graph import DOWN, UP, Weights
from memnet.encoders.weights import internal_name, is_network_tensor, published_weights

_LAYERS, _WIDTH, _HEADS, _INNER = 6, 384, 12, 1536
_WORDS, _POSITIONS, _SEGMENTS = 30522, 512, 2


class BertNetwork(nn.Module):
    """Token ids to one vector a text: embeddings, Transformer encoder, mean over tokens.

    Source: Devlin et al. 2019 (embeddings); Reimers and Gurevych 2019 (mean pooling).
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = nn.Embedding(_WORDS, _WIDTH)
        self.positions = nn.Embedding(_POSITIONS, _WIDTH)
        self.segments = nn.Embedding(_SEGMENTS, _WIDTH)
        self.norm = nn.LayerNorm(_WIDTH, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.encoder = TransformerEncoder(_LAYERS, _WIDTH, _HEADS, _INNER, dropout=dropout)

    def forward(self, token_ids: Tensor) -> Tensor:
        """Token ids [B, T] int64 without padding, T at most 512 -> [B, D] float32 of length one."""
        return nn.functional.normalize(self.tokens(token_ids).mean(dim=1), dim=-1)

    def tokens(
        self, token_ids: Tensor, segments: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        """Token states [B, T, D] float32 of ids [B, T] int64, T at most 512.

        ``segments`` [B, T] int64 is 0 for the first of two texts and 1 for the second, None for 0;
        ``mask`` [B, T] bool is False for padding, None where there is none.
        """
        second = torch.zeros_like(token_ids) if segments is None else segments
        positions = self.positions.weight[: token_ids.shape[1]] + self.segments(second)
        embedded = self.dropout(self.norm(self.words(token_ids) + positions))
        states: Tensor = self.encoder(embedded, None if mask is None else mask.unsqueeze(1))
        return states

    def embed(self, token_ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """``forward`` from and to NumPy, without gradients: [B, T] int64 -> [B, D] float32."""
        with torch.inference_mode():
            vectors: NDArray[np.float32] = self(self._on_device(token_ids)).cpu().numpy()
        return vectors

    def embed_states(
        self, token_ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """As ``embed``, with the token states [B, T, D] float32 that each vector is the mean of."""
        with torch.inference_mode():
            states = self.tokens(self._on_device(token_ids))
            vectors = nn.functional.normalize(states.mean(dim=1), dim=-1)
            return vectors.cpu().numpy(), states.cpu().numpy()

    def _on_device(self, token_ids: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(token_ids).to(self.words.weight.device)

    @classmethod
    def load(cls, device: str = "cpu", additions: Weights | None = None) -> "BertNetwork":
        """Load the encoder's weights; their file stays memory-mapped where ``device`` is "cpu".

        ``additions`` are low-rank additions to some weights, as ``BertGraph`` takes them.
        """
        tensors, added = bert_tensors(), additions or {}
        for name in (one.removesuffix(UP) for one in added if one.endswith(UP)):
            addition = torch.from_numpy(added[name + UP] @ added[name + DOWN])
            tensors[internal_name(name)] = tensors[internal_name(name)] + addition
        with torch.device("meta"):
            network = cls()
        network.load_state_dict(tensors, assign=True)
        network.requires_grad_(False).to(device)
        return network.eval()


def bert_tensors() -> dict[str, Tensor]:
    """The encoder's float32 weights, whose file stays memory-mapped, by their names here."""
    return {
        internal_name(name): tensor
        for name, tensor in load_file(published_weights()).items()
        if is_network_tensor(name)
    }
