"""Where a short answer begins and ends: with its sign, currency, unit and brackets, in one item."""

import re

from memnet.text.english import trim_span

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
    rf"|(?:[-−–+±~≈<>≤≥] ?)?(?:{CURRENCY} ?)?{_DIGITS}(?:[-–]{_DIGITS}){{0,3}}"
    rf"(?: ?(?:{UNITS}|{CURRENCY})(?!\w))?)"
)
_PAIRS = (("(", ")"), ("[", "]"), ("“", "”"), ("«", "»"))
_MAX_WIDER = 40  # Characters to the other bracket of a pair
_NEXT_ITEM = re.compile(r"\n[ \t]{0,40}(?:\n|[-*+•◦▪‣–]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s)| \| ")
# The rest of a word, also of "teapot-42-river", but not of "3-5" or "sails-and-oars:"
_JOINED = re.compile(r"[^\W_]{0,60}(?:[-_][^\W_]{1,60}){0,8}")
_MARK = re.compile(r"[-*•|,;:/–—\s]")  # Says nothing at the beginning or the end
_LEADS_ON = re.compile(r"\s{1,9}(?:from|of|for|by|with|and|or|the|an?|to)$", re.IGNORECASE)


def with_borders(text: str, start: int, end: int) -> tuple[int, int]:
    """A span of a text, widened to whole words, quantities and brackets, and cut to one item."""
    first = trim_span(text, start, end)
    if first is None:
        return start, end
    cut = _NEXT_ITEM.search(text, *first)
    start, end = first[0], cut.start() if cut else first[1]
    while start < end and _MARK.match(text[start]):
        start += 1
    while start < end and _MARK.match(text[end - 1]):
        end -= 1
    end = start + len(_LEADS_ON.sub("", text[start:end]))  # "7 euros from"
    if start == end:
        return first
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    joined = _JOINED.match(text, end) if text[end - 1].isalnum() else None
    end = joined.end() if joined else end
    line = text.rfind("\n", 0, start) + 1, (text.find("\n", end) + 1 or len(text) + 1) - 1
    around = max(line[0], start - _MAX_WIDER), min(line[1], end + _MAX_WIDER)
    for found in _QUANTITY.finditer(text, *around):
        if found.start() < end and start < found.end():
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
