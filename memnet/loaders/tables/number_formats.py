"""Number formats of spreadsheets: the text that a cell shows for its number.

Covers what changes what a number says: percent, signs and units around it, its digits; and times
and durations. Dates, fractions, exponents and conditions are left to the caller.
"""

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

# Formats that files name by number alone (ECMA-376 part 1, 18.8.30), but those of dates.
BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    20: "h:mm",
    21: "h:mm:ss",
    45: "mm:ss",
    46: "[h]:mm:ss",
    **dict.fromkeys((5, 6), '"$"#,##0'),
    **dict.fromkeys((7, 8), '"$"#,##0.00'),
    **dict.fromkeys((37, 38, 41), "#,##0;(#,##0)"),
    **dict.fromkeys((39, 40, 43), "#,##0.00;(#,##0.00)"),
    42: '"$"#,##0;("$"#,##0)',
    44: '"$"#,##0.00;("$"#,##0.00)',
}
_MAX_FORMAT = 255  # characters, as in Excel
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|\[\$(?P<currency>[^]-]*)[^]]*\]|\[(?P<bracket>[^]]*)\]'
    r"|(?P<space>[_*].)|(?P<digits>[0#?.][0#?.,]*|General)|(?P<end>;)|(?P<other>.)",
    re.DOTALL,
)
_COLOUR = re.compile(
    r"(?:black|blue|cyan|green|magenta|red|white|yellow|color ?\d+)", re.IGNORECASE
)
_CLOCK = re.compile(
    r"(?=.*:)(?:(?P<hours>\[h+\]|hh?):)?(?P<minutes>\[m+\]|mm?)(?::(?P<seconds>ss))?(?:;@)?",
    re.IGNORECASE,
)
_SIGN = re.compile(r"[-(\u2212]")


class _Section(NamedTuple):
    before: str
    digits: str  # placeholders: "#,##0.00", or "General"
    after: str
    scale: int  # power of ten that the number is shown in: 2 for percent

    def show(self, number: Decimal) -> str:
        """A number without its sign. Raises InvalidOperation if it has too many digits."""
        number = number.scaleb(self.scale)
        if self.digits == "General":
            return f"{self.before}{number.normalize():f}{self.after}"
        whole, _, decimals = self.digits.partition(".")
        rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
        shown, _, rest = f"{rounded:f}".partition(".")
        kept = len(decimals.rstrip("#?"))
        rest = rest[:kept] + rest[kept:].rstrip("0")
        shown = shown.lstrip("0").zfill(whole.count("0"))
        if "," in whole and shown.isdigit():
            shown = f"{int(shown):,}".zfill(len(shown))
        return f"{self.before}{shown}{'.' if rest else ''}{rest}{self.after}"


def show(number: float, code: str) -> str | None:
    """What a cell with a format shows for a number; None if the format is not covered."""
    sections = _sections(code)
    which = 1 if number < 0 else 2 if number == 0 else 0
    section = sections[which if which < len(sections) else 0]
    if section is None or not isfinite(number):
        return None
    try:
        text = section.show(abs(Decimal(format(number, ".15g")))).strip()
    except InvalidOperation:
        return None
    # A format that shows negative numbers by their colour alone must not lose their sign.
    has_sign = which < len(sections) and _SIGN.search(section.before + section.after)
    return f"-{text}" if which == 1 and not has_sign and re.search("[1-9]", text) else text


def show_time(seconds: int, code: str) -> str | None:
    """What a cell with a format shows for a time or a duration; None if it is not covered."""
    found = _CLOCK.fullmatch(code)
    parts: list[str] = []
    for name, one, all_of_them in (
        ("hours", 3600, 86400),
        ("minutes", 60, 3600),
        ("seconds", 1, 60),
    ):
        if found and found[name]:
            whole = abs(seconds) if "[" in found[name] else abs(seconds) % all_of_them
            parts.append(f"{whole // one:0{len(found[name].strip('[]'))}}")
    return "-" * (seconds < 0) + ":".join(parts) if parts else None


@lru_cache(maxsize=1000)
def _sections(code: str) -> tuple[_Section | None, ...]:
    """The parts for positive numbers, negative ones and zero, as many as there are."""
    parts: list[list[re.Match[str]]] = [[]]
    for token in _TOKEN.finditer(code[:_MAX_FORMAT]):
        if token["end"]:
            parts.append([])
        else:
            parts[-1].append(token)
    return tuple(map(_section, parts[:3]))


def _section(tokens: list[re.Match[str]]) -> _Section | None:
    digits, scale, around = "", 0, ["", ""]
    for token in tokens:
        kind, text = token.lastgroup, token[token.lastgroup or 0]
        if kind == "digits":
            if digits:  # "000-000"
                return None
            digits = text
        elif kind == "bracket":
            if not _COLOUR.fullmatch(text):
                return None
        elif kind == "other" and (text.isalnum() or text in "/@"):
            return None
        elif kind != "space":
            scale += 2 * (kind == "other" and text == "%")
            around[bool(digits)] += text
    whole, _, decimals = digits.partition(".")
    if "0" not in digits and "#" not in digits and digits != "General":
        return None
    # Commas behind the digits show thousands or millions.
    scale -= 3 * (len(whole) - len(whole.rstrip(",")) + decimals.count(","))
    decimals = decimals.replace(",", "")
    digits = whole.rstrip(",") + (f".{decimals}" if decimals else "")
    return _Section(around[0], digits, around[1], scale)
