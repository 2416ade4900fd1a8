"""Names of models of other libraries: folders on this machine, or names on the Hugging Face hub."""

import os
import re
from pathlib import Path

_HUB = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


def is_missing_folder(name: str | os.PathLike[str]) -> bool:
    """Whether a name can only mean a folder, as "./models/mine" does, and that is not there."""
    hub = isinstance(name, str) and _HUB.fullmatch(name) is not None
    return not hub and not Path(name).exists()
