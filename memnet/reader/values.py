"""What the cells of a column say: numbers with their units, days and times."""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Literal, NamedTuple

from memnet.reader.borders import CURRENCY, UNITS
from memnet.text.dates import date_spans

# "How many", and of what, or "how much".
HOW_MANY = re.compile(
    r"\bhow (?:much\b|many\b(?=(?: different)?(?: (?P<counted>\w+))?))", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?P<minus>[(+−-]?)(?P<before>[^\s\d+().,−-]{0,4}) ?(?P<sign>[+−-]?)"
    r"(?P<digits>\d(?:[\d.,'  ]{0,30}\d)?)\)? ?(?P<after>[^\s\d](?:[^\d]{0,15}[^\s\d])?)?"
)
_TIME = re.compile(r"(\d{1,3}):(\d\d)(?::(\d\d))?(?: ?h)?")
_NOT_GIVEN = re.compile(r"[-–—.?/]{1,3}|n/?a|none|unknown|no data", re.IGNORECASE)
_GROUPED = re.compile(r"[1-9]\d{0,2}([.,' ])\d{3}")
_MOST_DIGITS = 30
# "Height (m)", "Price [EUR]", "Length in km", "Weight, kg"
_UNIT = rf"(?:{UNITS}|{CURRENCY}|min|sec|hrs?|h|s|t|kn|ha|[ck]cal|sq\.? ?m)"
_HEADER = re.compile(
    rf"(?P<name>.{{1,80}}?)(?: ?\((?P<round>{_UNIT})\.?\)| ?\[(?P<square>{_UNIT})\.?\]"
    rf"|(?:,| in| -) (?P<plain>{_UNIT}))"
)
LIMIT_UNIT = rf"(?: ?(?P<unit>square met(?:re|er)s?|{_UNIT}|euros?|dollars?|kilos?)(?!\w))?"
_UNITS_ALIKE = {
    "square metre": "m2", "square meter": "m2", "sq m": "m2", "sq. m": "m2", "metre": "m",
    "meter": "m", "kilometre": "km", "kilometer": "km", "centimetre": "cm", "centimeter": "cm",
    "millimetre": "mm", "millimeter": "mm", "kilo": "kg", "kilogram": "kg", "tonne": "t",
    "ton": "t", "gram": "g", "litre": "l", "liter": "l", "gallon": "gal", "mile": "mi",
    "foot": "ft", "feet": "ft", "inche": "in", "inch": "in", "knot": "kn", "kt": "kn",
    "celsiu": "°c", "fahrenheit": "°f", "hr": "h", "hour": "h", "minute": "min", "second": "s",
    "sec": "s", "euro": "eur", "€": "eur", "dollar": "usd", "$": "usd", "us$": "usd",
    "pound": "gbp", "£": "gbp",
}  # fmt: skip
UNIT_NAMES = frozenset({*_UNITS_ALIKE.values(), "km/h", "mph"})

ValueKind = Literal["number", "day", "time"]


class Value(NamedTuple):
    """What a cell says. Values of the same kind and unit compare with each other."""

    kind: ValueKind
    amount: Decimal  # Of a day its number in the calendar, of a time its seconds
    unit: str = ""  # "kg", "%", "$"; of a day "year" if that is known
    around: tuple[str, str] = ("", "")  # What stands before and after a number in its cell


def values_of(texts: Mapping[int, str], point: str) -> dict[int, Value] | None:
    """The values of cells of a column, by their rows, without those that give none.

    None where one is of another kind or unit than the others.
    """
    given = {row: text for row, text in texts.items() if not _NOT_GIVEN.fullmatch(text)}
    found = {row: value_of(text, point) for row, text in given.items()}
    values = {row: value for row, value in found.items() if value is not None}
    kinds = {(value.kind, value.unit) for value in values.values()}
    return values if len(values) == len(given) and len(kinds) == 1 else None


def value_of(text: str, point: str = ".") -> Value | None:
    """The value of a text with ``point`` between whole number and decimals, if it is one."""
    time = _TIME.fullmatch(text)
    if time is not None:
        hours, minutes, seconds = (int(part or 0) for part in time.groups())
        return Value("time", Decimal(3600 * hours + 60 * minutes + seconds))
    for span in date_spans(text):
        if (span.start, span.end) == (0, len(text)):
            day = span.day
            place = (day.year or 0) * 372 + day.month * 31 + day.day
            return Value("day", Decimal(place), "year" if day.year else "")
    number = _NUMBER.fullmatch(text)
    if number is None:
        return None
    digits = "".join(
        one if one.isdigit() else "." for one in number["digits"] if one.isdigit() or one == point
    )
    if digits.count(".") > 1 or len(digits) > _MOST_DIGITS:
        return None
    negative = number["minus"] in ("(", "-", "−") or number["sign"] in ("-", "−")
    before, after = number["before"], (number["after"] or "").rstrip(")").strip()
    around = (before, f" {after}" if f" {after}" in text else after)
    amount = Decimal(digits)
    return Value("number", -amount if negative else amount, f"{before}{after}", around)


def unit_of(text: str) -> str:
    """A unit by one name: "m2" of "m²" and "square metres"; empty of none."""
    unit = text.casefold().replace("²", "2").replace("³", "3")
    singular = unit.removesuffix("s") if len(unit) > 2 else unit
    return _UNITS_ALIKE.get(singular, singular)


def with_unit(header: str, text: str) -> tuple[str, str]:
    """The header of a cell without its unit, and the cell with it: "Height", "3.4 m"."""
    found, value = _HEADER.fullmatch(header), value_of(text)
    unit = next(filter(None, found.group("round", "square", "plain")), "") if found else ""
    if not unit or found is None or value is None or value.kind != "number":
        return header, text
    return found["name"], text if value.unit else f"{text} {unit}"


def written(amount: Decimal, around: tuple[str, str], grouped: bool) -> str:
    """A number as its cells write theirs."""
    before, after = around
    return f"{before}{amount:{',' if grouped else ''}f}{after}"


def decimal_point(texts: Iterable[str]) -> str | None:
    """What stands before the decimals in some numbers, if they show it: "1,820" does not."""
    numbers = [match["digits"] for text in texts if (match := _NUMBER.fullmatch(text))]
    for digits in numbers:
        marks = re.sub(r"[\d' ]", "", digits)
        unclear = _GROUPED.fullmatch(digits) is not None
        if not marks or (unclear and len(marks) == 1):
            continue
        # The last mark, unless it groups thousands: "1.234.567"
        if len(set(marks)) == 2 or len(marks) == 1:
            return marks[-1]
        return "," if marks[-1] == "." else "."
    return None
