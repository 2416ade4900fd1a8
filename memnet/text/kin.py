"""Relatives: whose sister a question asks for, and of whom a text tells."""

import re

from memnet.text.names import normalise

# Words that any of the others may be said by: a sister is a sibling.
_GENERAL = frozenset("sibling parent child children kid spouse partner married".split())
_KIN = _GENERAL | set(
    "sister brother mother father mum dad daughter son wife husband aunt uncle niece nephew cousin "
    "grandmother grandfather".split()
)
_RELATIVE = re.compile(
    rf"\b([^\W\d_]\w*)['’]s? (?:[a-z]+ )?({'|'.join(_KIN)})s?\b|"
    rf"\b({'|'.join(_KIN)})s? of ([^\W\d_]\w*)",
    re.IGNORECASE,
)


def is_of_other_kin(question: str, text: str) -> bool:
    """Whether a text tells of somebody, and a question asks for his relative, or reversed."""
    words = {word for one in normalise(text).split() for word in (one, one.removesuffix("s"))}
    told, asked = (
        [(normalise(a or d), (b or c).lower()) for a, b, c, d in _RELATIVE.findall(said)]
        for said in (text, question)
    )
    named = normalise(question).split()
    if not asked and _RELATIVE.match(text):
        return told[0][0] in named and _KIN.isdisjoint(named)
    return any(
        owner in words
        and words.isdisjoint(_KIN if kin in _GENERAL else {kin, *_GENERAL})
        and all(owner == one for one, _ in told)
        for owner, kin in asked
    )
