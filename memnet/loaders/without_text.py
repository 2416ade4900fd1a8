"""Files of other kinds: what a count of those that were skipped calls them."""

UNKNOWN = "of unknown kind"
"""Reason of a problem: nothing is known of the suffix."""

_KINDS = {
    "images": "png jpg jpeg jpe jfif gif bmp tif tiff webp avif heic heif ico icns svg svgz psd "
    "xcf ai eps raw cr2 nef dng kra sketch fig",
    "sound files": "mp3 wav flac ogg oga opus m4a aac wma aif aiff mid midi",
    "videos": "mp4 m4v mkv webm avi mov wmv mpg mpeg ogv flv 3gp",
    "fonts": "ttf otf ttc woff woff2 eot pfb pfm afm",
    "programs": "exe dll so dylib o a obj lib class jar war pyc pyo pyd whl wasm bin apk deb rpm "
    "msi dmg iso img",
    "databases": "db sqlite sqlite3 mdb accdb",
    "model files": "npy npz pt pth onnx safetensors pkl pickle h5 hdf5 parquet feather",
    "other archives": "7z rar xz bz2 zst lz4 lzma cab",
}
_BY_SUFFIX = {
    f".{suffix}": kind for kind, suffixes in _KINDS.items() for suffix in suffixes.split()
}


_WHY = {
    "images": "text in pictures is not recognised (there is no OCR)",
    "sound files": "speech is not recognised",
    "videos": "speech and pictures are not recognised",
    "RTF files": "it is not read; save it as .docx",
    "PostScript files": "it is not read; save it as .pdf",
}


def why_skipped(kind: str) -> str:
    """Why files of a kind, as counts call it, can't be read."""
    return _WHY.get(kind, "there is no text to read in it")


def skip_reason(suffix: str) -> str:
    """Why a file of a suffix that no loader reads is skipped, as a count says it."""
    return _BY_SUFFIX.get(suffix.lower(), UNKNOWN)
