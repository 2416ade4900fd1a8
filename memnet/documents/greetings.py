"""Greetings, thanks and "What can you do?": the answer says what can be asked about."""

import re
from collections.abc import Iterable
from itertools import islice

from memnet.text.names import normalise
from memnet.types import Answer, Source

_THANKS = "thanks(?: a lot| so much| again)?|(?:many thanks|thank you)(?: very much| so much)?|thx"
_PHRASES = re.compile(
    rf"(?:(?:{_THANKS}|(?:hello|hallo|hi|hey)(?: there| all| everyone| memnet| world)?|test|bye"
    r"|good (?:day|morning|afternoon|evening|night)|how (?:are you|(?:is|s) it going)(?: today)?"
    r"|how are you doing(?: today)?|what s up|who are you|what are you|what s your name|ok|help"
    r"|nice to meet you|are you there|can you (?:help|hear) me|for your help|tell me a joke|okay"
    r"|goodbye|see you|what can (?:you do|you answer|i ask(?: you)?)|what do you know)(?: |$)){1,4}"
)
_NAMED = 3  # Sources that are named


def greeted(question: str, sources: Iterable[Source]) -> Answer | None:
    """What is said to a greeting; None for anything else. Of the sources the first are named."""
    said = normalise(question)
    if _PHRASES.fullmatch(said) is None:
        return None
    titles = [f'"{one.title or one.id}"' for one in islice(sources, _NAMED)]
    about = " and ".join(filter(None, (", ".join(titles[:-1]), *titles[-1:])))
    line = f"Ask about what is stored: {about}." if titles else "Nothing is stored yet."
    thanked = "You're welcome. " if "thank" in said or "thx" in said else ""
    return Answer(
        question=question, answer=f"{thanked}{line}", confidence=None, abstained=True,
        candidates=(), evidence=(), hops=(), model="none", elapsed_ms=0.0,
    )  # fmt: skip
