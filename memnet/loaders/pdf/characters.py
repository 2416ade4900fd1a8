"""The characters that PDFium gives made those that people write."""

import re
from unicodedata import normalize

# Codes of TeX's text fonts, which PDFium gives where a file does not say what they mean.
_TEX_LIGATURES = {"\x1b": "ff", "\x1c": "fi", "\x1d": "fl", "\x1e": "ffi", "\x1f": "ffl"}
_TEX_LIGATURE = re.compile("(?<=[a-z])[\x1b-\x1f]|[\x1b-\x1f](?=[a-z])", re.IGNORECASE)
_TEX_BULLET = re.compile("^\x88(?= )")
# Control characters, hyphenation points, marks without width, glyphs without a meaning.
_DROPPED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2060\ufeff\ufff0-\uffff\ue000-\uf8ff]"
    "|[\ud800-\udfff\U000f0000-\U0010ffff]"
)
# Bullets of the fonts Symbol and Wingdings, as word processors write them.
_SYMBOL_BULLET = re.compile("^[\uf0a7\uf0b7\uf0d8\uf0fc\uf076\uf02d](?=\\s|$)")
_LIGATURES = str.maketrans(
    {
        "\ufb00": "ff",
        "\ufb01": "fi",
        "\ufb02": "fl",
        "\ufb03": "ffi",
        "\ufb04": "ffl",
        "\ufb05": "st",
        "\ufb06": "st",
        "\u00a0": " ",
        "\t": " ",
    }
)
_ACCENTS = {
    "\u00b4": "\u0301",
    "\u00a8": "\u0308",
    "\u02c6": "\u0302",
    "\u02dc": "\u0303",
    "\u02c7": "\u030c",
    "\u02d8": "\u0306",
    "\u02da": "\u030a",
    "\u02d9": "\u0307",
    "\u02dd": "\u030b",
    "\u00af": "\u0304",
    "\u00b8": "\u0327",
    "\u02db": "\u0328",
}
# A letter with its accent before it, as TeX's old fonts print it: "Poincar´e"; not "it´s".
_ACCENTED = re.compile(
    "(?<=[^\\W\\d_])(?!\u00b4[lmst]\\b)([\u00b4\u00a8\u02c6\u02dc\u02c7\u02d8\u02da\u02d9\u02dd\u00af\u00b8\u02db])([A-Za-z\u0131])"
    "|(?<![^\\W_])([\u00b4\u00a8\u02c7\u02da\u02d9\u02dd\u00b8])([A-Z])(?=[^\\W\\d_])"
)
# Texts that need no cleaning: most.
_PLAIN = re.compile(
    "[ -~\u00a1-\u00a7\u00a9-\u00ac\u00ae\u00b0-\u00b3\u00b5-\u00b7\u00b9-\u02c5\u0391-\u03ff"
    "\u2010-\u2027\u2030-\u205f]*"
)


def _accented(found: re.Match[str]) -> str:
    """A letter with its accent, if there is such a letter."""
    accent, letter = found[1] or found[3], found[2] or found[4]
    composed = normalize("NFC", letter.replace("\u0131", "i") + _ACCENTS[accent])
    return composed if len(composed) == 1 else found[0]


def clean(text: str, strip: bool = True) -> str:
    """A text without what is no character, with ligatures taken apart."""
    if not _PLAIN.fullmatch(text):
        text = _SYMBOL_BULLET.sub("\u2022", text)
        text = _TEX_BULLET.sub("\u2022", text)
        text = _TEX_LIGATURE.sub(lambda found: _TEX_LIGATURES[found[0]], text)
        text = _ACCENTED.sub(_accented, text)
        text = _DROPPED.sub("", text).translate(_LIGATURES)
    return text.strip() if strip else text.rstrip()
