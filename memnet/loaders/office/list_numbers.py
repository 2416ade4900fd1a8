"""Numbers of list items, as office documents write them: 1, a, iv."""

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_MAX_ROMAN = 4000
"""Roman digits go up to 3999; larger ones would be strings of m without end."""
_MAX_LETTERS = 30
"""aa follows on z, bb on aa; beyond that many letters digits are written."""


def roman(number: int) -> str:
    """A number in small Roman digits; in Arabic ones where there are none for it."""
    if not 0 < number < _MAX_ROMAN:
        return str(number)
    digits: list[str] = []
    for value, digit in _ROMAN:
        count, number = divmod(number, value)
        digits.append(digit * count)
    return "".join(digits)


def letters(number: int) -> str:
    """1 as a, 26 as z, 27 as aa, 28 as bb, as office programs count."""
    if not 0 < number <= 26 * _MAX_LETTERS:
        return str(number)
    repeated, letter = divmod(number - 1, 26)
    return chr(ord("a") + letter) * (repeated + 1)
