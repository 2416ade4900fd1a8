"""Words of a question that are worth looking up in the text search."""

import re

_WORD = re.compile(r"\w+")
_STOP_WORDS = frozenset(
    """
    a an and are as at be been being by did do does for from had has have he her his how i
    in into is it its not of on or our s than that the their them then there these they this
    those to was we were what when where which who whom whose why with you your
    """.split()
)
_MOST_TERMS = 64
"""A question of 10,000 words would match everything, slowly; its first distinct words decide."""


def query_terms(text: str) -> list[str]:
    """Distinct words of ``text`` in their order, without the commonest English ones.

    Words are letters, digits and underscores of any script, case-folded. A question made only of
    common words keeps them, so that it still finds something.
    """
    words = list(dict.fromkeys(_WORD.findall(text.casefold())))
    content = [word for word in words if word not in _STOP_WORDS]
    return (content or words)[:_MOST_TERMS]
