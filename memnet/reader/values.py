"""Values in texts and cells: numbers with their units, days and times, and their borders."""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Literal, NamedTuple

from memnet.text.dates import MONTH_NAMES, date_spans
from memnet.text.english import NUMBER_WORDS, trim_span, word_lists

CURRENCY = r"(?:US\$|[€$£¥₹]|EUR|USD|GBP|CHF)"
UNITS = (
    r"(?:%|‰|° ?[CF]?|[kcmdµμ]?m[²³23]?|[km]?[gl]|[kMG]?(?:Wh?|Hz|V|A|J|Pa)|mAh|[kKMGT]i?B"
    r"|hPa|m?bar|ms|km/h|mph|ppm|dpi|px|[ap]m|[ap]\.m\.|o['’]clock|per ?cent|degrees"
    r"|(?:euro|pound|dollar|cent|year|month|week|day|hour|minute|second|met(?:re|er)|kilo|gram"
    r"|lit(?:re|er)|mile)s?)"
)
_DIGITS = r"\d(?:[\d.,:/'’]{0,30}\d)?(?: \d{3}(?!\d)){0,4}"
# "-5 °C", "€ 12.50", "3-5 weeks", "2024-03-01", "250 g"; "+49 170 123 45"
_QUANTITY = re.compile(
    rf"(?<![\w.,/+-])(?:\+\d{{1,4}}(?:[ /-]?\(?\d{{1,6}}\)?){{1,6}}"
    rf"|(?:[-−–]|[+±~≈<>≤≥] ?)?(?:{CURRENCY} ?)?{_DIGITS}(?:[-–]{_DIGITS}){{0,3}}"
    rf"(?: ?(?:{UNITS}|{CURRENCY})(?!\w))?)"
)
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("«", "»"))
_MAX_WIDER = 40  # Characters to the other bracket of a pair
_NEXT_ITEM = re.compile(  # Also a line of a log: "11:40 < ibis> ..."
    r"\n[ \t]{0,40}(?:\n|[-*+•◦▪‣–]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s)| \| "
    # not the second part of "9:00 to\n17:30"
    r"|(?<!\bto)(?<!\band)(?<!\bat)(?<!\bby)(?<!\bon)(?<!\bfrom)(?<!\bor)(?<!until)(?<![-–,])"
    r"\n\[?(?:\d{1,2}:\d\d|\d{1,4}[./-]\d{1,2}[./-]\d{1,4})\b"
)
# The rest of a word, also of "teapot-42-river", but not of "3-5" or "sails-and-oars:"
_JOINED = re.compile(r"[^\W_]{0,200}(?:[-_][^\W_]{1,60}){0,8}")
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_YEARS = re.compile(r"[12]\d{3}[-–][12]\d{3}")  # Two values, either of which may be asked for
_MARK = re.compile(r"[-*•|,;:/–—\s]")  # Says nothing at the beginning or the end
# The unit at the end of a label, before a number: "£: " of "Price £: 60"
_UNIT_OF_LABEL = re.compile(r"\(?(?:[^\w\s:;,.-]{1,2}|[A-Za-z²³]{1,3})\)?: (?=[+-]?\d)")
# "Platform A" ends with no article.
_LEADS_ON = re.compile(r"\s{1,9}(?:(?i:from|of|for|by|with|and|or|the|an|to)|a)$")


def with_borders(text: str, start: int, end: int) -> tuple[int, int]:
    """A span of a text, widened to whole words, quantities and brackets, and cut to one item."""
    first = trim_span(text, start, end)
    if first is None:
        return start, end
    cut = _NEXT_ITEM.search(text, *first)
    start, end = first[0], cut.start() if cut else first[1]
    unit = _UNIT_OF_LABEL.match(text, start, end)
    start = unit.end() if unit and text[start - 1 : start].isspace() else start
    while start < end and _MARK.match(text[start]):
        start += 1
    while start < end and _MARK.match(text[end - 1]):
        end -= 1
    end = start + len(_LEADS_ON.sub("", text[start:end]))  # "7 euros from"
    if start == end:
        return first
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    if text[end - 1].isalnum() and (joined := _JOINED.match(text, end)):
        end = joined.end()
    for found in _ADDRESS.finditer(text, max(0, start - _MAX_WIDER), end + _MAX_WIDER):
        if found.start() < end and start < found.end():  # "@orre" of "ann@orre.example"
            start, end = min(start, found.start()), max(end, found.end())
    line = text.rfind("\n", 0, start) + 1, (text.find("\n", end) + 1 or len(text) + 1) - 1
    around = max(line[0], start - _MAX_WIDER), min(line[1], end + _MAX_WIDER)
    for found in _QUANTITY.finditer(text, *around):
        if found.start() < end and start < found.end() and not _YEARS.fullmatch(found[0]):
            start, end = min(start, found.start()), max(end, found.end())
    for opening, closing in _PAIRS:
        start, end = _balanced(text, (start, end), opening, closing, line)
    return trim_span(text, start, end) or first


def _balanced(
    text: str, span: tuple[int, int], opening: str, closing: str, line: tuple[int, int]
) -> tuple[int, int]:
    """A span with the other bracket of a pair, or without the one that stands at an end of it."""
    start, end = span
    more = text.count(opening, start, end) - text.count(closing, start, end)
    if more > 0:
        other = text.find(closing, end, min(line[1], end + _MAX_WIDER))
        if other >= 0:
            return start, other + 1
        last = text.rfind(opening, start, end)
        return (start + 1, end) if last == start else (start, len(text[:last].rstrip()))
    if more < 0:
        other = text.rfind(opening, max(line[0], start - _MAX_WIDER), start)
        if other >= 0:
            return other, end
        first = text.find(closing, start, end)
        return (start, end - 1) if first == end - 1 else (first + 1, end)
    return start, end


# "How many", and of what, or "how much".
HOW_MANY = re.compile(
    r"\bhow (?:much\b|many\b(?=(?: different)?(?: (?P<counted>\w+))?))", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?P<minus>[(+−-]?)(?P<before>[^\s\d+().,−-]{0,4}) ?(?P<sign>[+−-]?)"
    r"(?P<digits>\d(?:[\d.,'  ]{0,30}\d)?)\)? ?(?P<after>[^\s\d](?:[^\d]{0,15}[^\s\d])?)?"
)
_TIME = re.compile(r"(\d{1,3}):(\d\d)(?::(\d\d))?(?: ?h)?")
NOT_GIVEN = re.compile(r"[-–—.?/]{1,3}|n/?a|none|unknown|no data", re.IGNORECASE)
_YES = frozenset("yes y x true ✓ ✔ ja".split())
_NO = frozenset("no n none - – false ✗ ✘ nein".split())
_GROUPED = re.compile(r"[1-9]\d{0,2}([.,' ])\d{3}")
_MOST_DIGITS = 20  # Sums of more are not exact
# "Height (m)", "Price [EUR]", "Length in km", "Weight, kg"
_UNIT = rf"(?:{UNITS}|{CURRENCY}|min|sec|hrs?|h|s|t|kn|ha|[ck]cal|sq\.? ?m)"
_HEADER = re.compile(
    rf"(?P<name>.{{1,80}}?)(?: ?\((?P<round>{_UNIT})\.?\)| ?\[(?P<square>{_UNIT})\.?\]"
    rf"|(?:,| in| -) (?P<plain>{_UNIT})"
    # Other words at its end may be no unit: "Bay m"
    r"|(?<!\bper) (?P<code>EUR|USD|GBP|CHF|SEK|NOK|DKK|PLN|[€$£%]|kg|km|cm|mm|ml|kWh))"
)
LIMIT_UNIT = rf"(?: ?(?P<unit>square met(?:re|er)s?|{_UNIT}|euros?|dollars?|kilos?)(?!\w))?"
MEASURED = {names[0]: quantity for quantity, names in word_lists("units.txt")}
_UNITS_ALIKE = {one: unit for _, (unit, *same) in word_lists("units.txt") for one in same}
UNIT_NAMES = frozenset(MEASURED)
# Neither "2 in the morning" nor "5 pounds" says in what it measures.
_MEASURE = re.compile(
    rf"(?<![\w.,/])(?P<sign>{CURRENCY})? ?[-−]?\d(?:[\d.,]{{0,12}}\d)?(?: ?(?P<unit>{CURRENCY}"
    rf"|(?!(?:in|pounds?)\b)°? ?[^\W\d_]{{1,12}}[²³23]?(?:/[a-z]{{1,4}})?))?"
)
_ASKED_UNIT = re.compile(
    r"\b(?:in(?! (?:year|month|week|day|second)s?\b)|how many)(?: degrees?)? "
    r"(?P<unit>[^\W\d_/]{1,12}(?:/[a-z]{1,4})?)\b",
    re.IGNORECASE,
)
# What a question asks to be measured: {what} begins it, and {end} ends what it asks for
_ASKED = (
    (r"how heavy|(?:much|what) .{{1,80}}\bweighs?{end}|{what}weight{end}", "mass"),
    (r"how (?:wide|tall|deep|thick)|{what}(?:width|height|depth|diameter){end}", "length"),
    (r"how (?:long|far)|^where", "length time"),
    (r"how (?:hot|warm|cold)|{what}temperature{end}", "temperature"),
    (r"(?:much|what) .{{1,80}}\bcosts?{end}|{what}(?:price|cost|fee|rent){end}", "money"),
    (r"{what}(?:volume|(?:tank|fuel|water|boiler|cargo) capacity){end}", "volume"),
    (r"{what}voltage{end}", "voltage"),
    (r"{what}pressure{end}", "pressure"),
    (r"^(?:when|(?:on |in )?(?:what|which) (?:day|date|month|year))", "time"),
    (r"^(?:who|how many)", ""),
)
_END = r"(?=\W{0,9}$| (?:of|for|in|on|at|per)\b)"
_WHAT = r"^(?:what(?:['’]s| is| was| are| were)? )?(?:the |its )?(?:[\w-]{1,20} ){0,3}"
_QUANTITIES = [
    (re.compile(rf"\b(?:{pattern.format(what=_WHAT, end=_END)})\b", re.IGNORECASE), names.split())
    for pattern, names in _ASKED
]

_AMOUNTS = re.compile(
    rf"(?<![\w.,/:-])(?P<amount>\d[\d.,]{{0,12}}(?<=\d)|(?:{'|'.join(NUMBER_WORDS)})\b)"
    r"(?:[ -]?(?P<unit>[^\W\d_]{1,15}))?(?![\d:])",
    re.IGNORECASE,
)
# What allows an amount and less, or asks for it at least, before it or after it
_MORE_THAN = r"(?:more|longer|larger|bigger|heavier|older|higher|wider|taller|deeper|thicker) than"
_LESS_THAN = r"(?:less|fewer|younger|under|shorter|smaller|lighter|lower|narrower) than"
_UPPER = re.compile(
    rf"(?:\b(?:at (?:the )?most|up to|(?:no|not|n['’]t)(?: be)? {_MORE_THAN}"
    r"|(?:not|n['’]t|never) exceed|limited to|max(?:imum)?\b\.?(?: \w{2,20}){0,2}(?: of| is)?:?)\s?"
    r"|≤ ?)\Z",
    re.IGNORECASE,
)
_LOWER = re.compile(
    rf"(?:\b(?:at (?:the )?least|(?:no|not|n['’]t)(?: be)? {_LESS_THAN}"
    r"|min(?:imum)?\b\.?(?: \w{2,20}){0,2}(?: of| is)?:?)\s?|≥ ?)\Z",
    re.IGNORECASE,
)
_OR_LESS = re.compile(
    r"[^.,;]{0,20}?\b(?:or|and) (?:less|fewer|under|below|younger|smaller|shorter)\b", re.I
)
_OR_MORE = re.compile(
    r"[^.,;]{0,20}?\b(?:or|and) (?:more|over|above|older|upwards|taller|bigger)\b", re.I
)
# What sets a limit, and not a condition of something else: "up to 2 kg it costs 4 pounds"
_SETS_A_LIMIT = re.compile(
    r"\b(?:may|can|must|allowed|permitted|welcome|max(?:imum)?|min(?:imum)?|limit(?:ed)?|exceed"
    r"|holds?|seats?|sleeps?|fits?|carr(?:y|ies)|room for|no more than|not more than)\b"
    r"|^[^:.!?]{2,40}: |^\W{0,3}(?:at (?:the )?(?:least|most)|no more|aged?|from)\b",
    re.IGNORECASE,
)
_IS_PAID = re.compile(
    r"[$€£]|\b(?:costs?|prices?|pays?|paid|fees?|free|discounts?|deposits?|charged?|refund\w*|"
    r"deliver\w*|reduc\w*|cheaper|(?:day|week|hour)s? before)\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"n['’]t\b|\b(?:not|no|never|forbidden|prohibited|banned|without|unless|except|only|if)\b", re.I
)
_LIMITS = re.compile(
    rf"(?:no|not|n['’]t)(?: be)? (?:{_MORE_THAN}|{_LESS_THAN})|(?:not|n['’]t|never) exceed", re.I
)
_ENOUGH = re.compile(r"\benough\b", re.IGNORECASE)
_MAY_NOT = re.compile(r"\b(?:forbidden|prohibited|banned|against the rules|too \w{2,10})\b", re.I)
_MAY = re.compile(
    r"\W{0,9}(?:may|can|could)\b|\b(?:allowed|permitted|okay|ok|all right|fine|legal)\b"
    rf"|{_ENOUGH.pattern}|{_MAY_NOT.pattern}",
    re.IGNORECASE,
)
# A comparison or denial
_COMPARED = re.compile(
    r"n['’]t\b|\b(?:not|no|or|than|over|under|above|below|least|most|up to|until)\b", re.IGNORECASE
)
_PERIOD = re.compile(r"\b(?:an?|per|each|every) (hour|day|night|week|month|year)\b", re.IGNORECASE)
_OLD = frozenset("year age aged old".split())
# What no amount is counted in, and months and parts of the day, whose numbers are no amounts
_NO_UNITS = frozenset(
    "in of or and to at on for from by with per is are the a an i we it here there".split()
)
_NO_AMOUNTS = frozenset([*(one.casefold() for one in MONTH_NAMES), "am", "pm", "o"])
_PERSONS = frozenset("people person guest visitor participant adult member child children".split())
_WORDS = re.compile(r"[^\W\d_]{3,}")
_MOST_LIMITED = 40  # Characters before an amount that say how it limits


class Value(NamedTuple):
    """What a cell says. Values of the same kind and unit compare with each other."""

    kind: Literal["number", "day", "time"]
    amount: Decimal  # Of a day its number in the calendar, of a time its seconds
    unit: str = ""  # "kg", "%", "$"; of a day "year" if that is known
    around: tuple[str, str] = ("", "")  # What stands before and after a number in its cell


@lru_cache(10_000)  # Programs ask for those of a column again and again
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


def measures_in(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int, str]]:
    """The numbers in a part of a text: where each begins and ends, and its unit by one name."""
    found = _MEASURE.finditer(text, start, len(text) if end is None else end)
    return [
        (*one.span(), unit_of((one["sign"] or one["unit"] or "").replace(" ", ""))) for one in found
    ]


@lru_cache(64)  # Of one question it is asked for each value
def units_asked(question: str) -> frozenset[str] | None:
    """The units in which what a question asks for is given; None where any may be."""
    named = {unit_of(one["unit"]) for one in _ASKED_UNIT.finditer(question)} & UNIT_NAMES
    asked = next((names for one, names in _QUANTITIES if one.search(question)), None)
    if named or asked is None:
        return frozenset(named) or None
    return frozenset(unit for unit, quantity in MEASURED.items() if quantity in asked)


def is_other_quantity(question: str, value: str) -> bool:
    """Whether a value gives measures, and none of what a question asks for: kilos, not litres."""
    asked, given = units_asked(question), {unit for *_, unit in measures_in(value)}
    if asked is None or not given or not given <= UNIT_NAMES:
        return False
    return {MEASURED[unit] for unit in asked}.isdisjoint(MEASURED[unit] for unit in given)


def is_within(question: str, text: str) -> bool | None:
    """Whether yes is right to a question whether something is allowed, by the limit in a text.

    To "Is 10 kg too heavy?" it is right where that is not allowed. None where the question gives no
    amount, or the text not exactly one limit in its unit: "at most 8 mm" allows no "10 mm", "at
    least 16 years old" no "15-year-old". Nothing is compared where the question denies or compares
    ("more than 8 mm"), where the text forbids or says what something costs, or where an amount of a
    day is asked for and one of a week limited.
    """
    if _MAY.search(question) is None or _COMPARED.search(question):
        return None
    if _SETS_A_LIMIT.search(text) is None or _IS_PAID.search(text):
        return None
    if _DENIES.search(_LIMITS.sub(" ", text)):
        return None
    periods = [{one.casefold() for one in _PERIOD.findall(each)} for each in (question, text)]
    asked = list(_amounts(question))
    if len(asked) != 1 or periods[0] != periods[1]:
        return None
    [(amount, unit, _)] = asked
    limits: set[tuple[Decimal, int]] = set()
    for number, own, place in _amounts(text):
        if not _same_unit(unit, own, question, text):
            continue
        before = text[max(0, place[0] - _MOST_LIMITED) : place[0]]
        upper = _UPPER.search(before) or _OR_LESS.match(text, place[1])
        lower = _LOWER.search(before) or _OR_MORE.match(text, place[1])
        limits.add((number, bool(upper) - bool(lower)))
    if len(limits) != 1:
        return None
    [(limit, sign)] = limits
    if sign == 0 or (sign > 0 and _ENOUGH.search(question)):
        return None
    return ((limit - amount) * sign >= 0) != (_MAY_NOT.search(question) is not None)


def _amounts(text: str) -> Iterator[tuple[Decimal, str, tuple[int, int]]]:
    """The amounts in a text, each with its unit and its place; dates and versions are none."""
    for found in _AMOUNTS.finditer(text):
        number, unit = found["amount"].casefold(), (found["unit"] or "").casefold()
        digits = number.replace(",", "" if _GROUPED.fullmatch(number) else ".")
        if digits.count(".") > 1 or unit in _NO_AMOUNTS:
            continue
        value = Decimal(NUMBER_WORDS.get(number, digits) if number.isalpha() else digits)
        unit = "" if unit in _NO_UNITS else unit_of(unit)
        yield value, "year" if unit in _OLD else unit, found.span()


def _same_unit(unit: str, own: str, question: str, text: str) -> bool:
    """Whether two amounts are of one unit, or of a thing that one of them names elsewhere."""
    if unit == own or {unit, own} <= _PERSONS:
        return True
    if unit in UNIT_NAMES or own in UNIT_NAMES:
        return False
    # "Hens: at most six per plot", "Can I keep five hens?"
    other, elsewhere = (unit, text) if own == "" else (own, question)
    return "" in (unit, own) and other in map(unit_of, _WORDS.findall(elsewhere.casefold()))


def ticks_of(texts: Iterable[str]) -> dict[str, bool | None]:
    """Which texts of a column say yes or no (None: neither), without those that say nothing."""
    said = {one: re.split("[,;:(]", one.casefold())[0].strip() for one in texts}
    no = _NO | {"x"} if {*said.values()} & (_YES - {"x"}) else _NO  # Beside ticks a cross is no
    return {
        one: False if text in no else text in _YES or None
        for one, text in said.items()
        if text in _NO or (text and not NOT_GIVEN.fullmatch(text))
    }


@lru_cache(10_000)
def with_unit(header: str, text: str) -> tuple[str, str]:
    """The header of a cell without its unit, and the cell with it: "Height", "3.4 m"."""
    found, value = _HEADER.fullmatch(header), value_of(text)
    if found is None or value is None or value.kind != "number":
        return header, text
    unit = next(filter(None, found.group("round", "square", "plain", "code")))
    return found["name"], text if value.unit else f"{text} {unit}"


def decimal_point(texts: Iterable[str]) -> str | None:
    """What stands before the decimals in some numbers, if they show it: "1,820" does not."""
    numbers = [match["digits"] for text in texts if (match := _NUMBER.fullmatch(text))]
    for digits in numbers:
        marks = re.sub(r"[\d' ]", "", digits)
        if not marks or (len(marks) == 1 and _GROUPED.fullmatch(digits)):
            continue
        # The last mark, unless it groups thousands: "1.234.567"
        if len(set(marks)) == 2 or len(marks) == 1:
            return marks[-1]
        return "," if marks[-1] == "." else "."
    return None
