"""Characters of fonts that draw symbols in the place of letters."""

_SYMBOL = dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz\"$'*-@",
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ∀∃∋∗−≅",
        strict=True,
    )
) | dict(
    zip(
        "¢£¥«¬®°±²³´¶·¸¹º»¼ÅÆÇÈÎÑÒÓÔÖ×ÛÞåò",
        "′≤∞↔←→°±″≥×∂•÷≠≡≈…⊕∅∩∪∈∇®©™√⋅⇔⇒∑∫",
        strict=True,
    )
)
_WINGDINGS = dict(zip("lnoqr¨þýüûàßáâðØ§v", "●■□❑❒☐☑☒✓✗→←↑↓⇨➢▪❖", strict=True))
_PRIVATE = 0xF000
"""Where symbol fonts have their characters."""
_PRIVATE_TABLE = {_PRIVATE + code: None for code in range(0x100)} | {
    _PRIVATE + ord(letter): character
    for letter, character in (
        _WINGDINGS | _SYMBOL | {"à": "→", "ß": "←", "á": "↑", "â": "↓"}
    ).items()
}


def without_private_use(text: str) -> str:
    """A text whose characters of symbol fonts are those that they draw, as far as is known."""
    return text if text.isascii() else text.translate(_PRIVATE_TABLE)


def symbol(font: str, code: str) -> str:
    """A character of a font by its code in hexadecimal digits; empty if it is not known."""
    try:
        point = int(code, 16)
    except ValueError:
        return ""
    if font.lower().startswith("wingdings"):
        return _WINGDINGS.get(chr(point & 0xFF), "")
    if _PRIVATE <= point <= _PRIVATE + 0xFF:
        letter = chr(point - _PRIVATE)
        return _SYMBOL.get(letter, letter if letter.isprintable() else "")
    printable = 0x20 <= point < 0x110000 and chr(point).isprintable()
    return chr(point) if printable else ""
