"""What an answer has to look like, by the words of its question."""

import re

from memnet.ingest.names import normalise

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
_ASKS_WHETHER = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE
)
_ASKS_FOR = re.compile(r"\b(?:what|which|who|whom|whose|when|where|how|why)\b", re.IGNORECASE)
_CHOICE = re.compile(r"\b(?:or|between|out of)\b", re.IGNORECASE)
_WORDS = ("yes", "no")


def fits(question: str, answer: str) -> bool:
    """Whether an answer can be one to the question.

    A time for "when", a number for "how many", yes or no for "is it", and these for nothing else.
    "Is it Ann or Bo?" may be answered by a name, "Ann and Bo, are they poets?" by yes.

    Source: Li and Roth 2002 (answers typed by their questions), in its surest kinds.
    """
    whether = _ASKS_WHETHER.match(question.lstrip()) is not None
    if answer in _WORDS:
        return whether or not _ASKS_FOR.search(question)
    choice = _CHOICE.search(question)
    if not choice and (whether or f" {normalise(answer)} " in f" {normalise(question)} "):
        return False
    if _NUMBER.search(question):
        return _HOLDS_NUMBER.search(answer) is not None
    return not _TIME.search(question) or _HOLDS_TIME.search(answer) is not None
