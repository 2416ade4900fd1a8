"""What loaders of light markup share: admonitions, names of files, descriptions of images."""

import re
from pathlib import PurePosixPath

from memnet.loaders.document import one_line

# Stems that say nothing; the folder's name does.
_NO_NAME = frozenset({"", ".", "..", "index", "readme", "_index"})
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FILE_NAME = re.compile(r"\S+\.\w{2,4}$|https?:")
_MIN_ALT_WORDS = 3  # shorter descriptions of images are "logo", "Screenshot", "Build Status"
_ADMONITIONS = frozenset(
    "abstract attention bug caution danger deprecated error example failure hint important info "
    "note question quote seealso success summary tip todo warning versionadded versionchanged "
    "versionremoved".split()
)
_SPELLED = {
    "seealso": "See also",
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
}


def admonition_label(kind: str) -> str:
    """What an admonition of a kind is headed with; empty for kinds that are only layout."""
    kind = kind.strip().lower()
    return _SPELLED.get(kind, kind.capitalize()) if kind in _ADMONITIONS else ""


def path_name(path: str) -> str:
    """Stem of a path, or the name of its folder where the stem says nothing."""
    for part in reversed(PurePosixPath(path.strip().replace("\\", "/")).parts):
        stem = _SUFFIX.sub("", part)
        if stem.strip("/").lower() not in _NO_NAME:
            return stem
    return ""


def image_text(description: str, target: str = "") -> str:
    """Description of an image if it says something, else nothing."""
    words = _WORD.findall(description)
    badge = "badge" in target or "shields.io" in target
    if len(words) < _MIN_ALT_WORDS or badge or _FILE_NAME.match(description):
        return ""
    return one_line(description)
