"""What an answer has to look like, by the words of its question."""

import re

_TIME = re.compile(
    r"^when\b|\b(?:what|which) (?:year|date|day|decade|century)\b|\bdate of (?:birth|death)\b"
    r"|\bbirthday\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\bhow (?:many|much|old|tall|long|far|large|high|big)\b", re.IGNORECASE)
_HOLDS_TIME = re.compile(
    r"\d|\b(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december|spring|summer|autumn|fall|winter|century|day|week|month|year|decade|after|before"
    r"|during|until|never|early|late|mid)",
    re.IGNORECASE,
)
_HOLDS_NUMBER = re.compile(
    r"\d|\b(?:no|none|one|once|two|twice|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|thir|fif|twent|half|dozen|hundred|thousand|million|billion|double|triple|several|few|many"
    r"|most|all)",
    re.IGNORECASE,
)


def fits(question: str, answer: str) -> bool:
    """Whether an answer can be one to the question: a time for "when", a number for "how many".

    Source: Li and Roth 2002 (answers typed by their questions), in its two surest kinds.
    """
    if _NUMBER.search(question):
        return _HOLDS_NUMBER.search(answer) is not None
    return not _TIME.search(question) or _HOLDS_TIME.search(answer) is not None
