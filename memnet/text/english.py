"""English words that names, sentences and the text search need to know.

For another language this file is what changes; ``memnet.reader.decompose`` and
``memnet.statements`` hold grammars of English of their own.
"""

import re

LANGUAGE = "en"
"""Language code of the sentence segmenter."""
ARTICLES = ("the", "a", "an")
CONNECTIVES = frozenset(
    """
    of and de la le du des da di del van von der den for in on at to a an y e et al el
    ibn bin from with the
    """.split()
)
"""Words inside a name: "Rank of Orre"; those of other European languages among them."""
NOT_NAMES = frozenset(
    """
    a an and are as at but by for from had has have he her hers his how i if in into is it
    its january february march april may june july august september october november
    december monday tuesday wednesday thursday friday saturday sunday no not of on one or
    our she so some such that the their them then there these they this those to was we were
    what when where which while who whom whose why with you your after although also among
    before both during each however since two three until upon under
    """.split()
)
"""Words that are no name by themselves, though a sentence or a date starts with a capital."""
COPULA = re.compile(r"\b(?:is|was|are|were|refers)\b")
"""The verb of a sentence that says what something is."""
ALIAS = re.compile(
    r"\b(?:known (?:\w+ ){0,4}as|stage name|called|nicknamed|simply|or|also)\s++"
    r"[\"“]?\s?(?:the )?(?=[^\W\d_])"
)
"""Before another name of the subject: "also known as"."""
_STOP_WORDS = frozenset(
    """
    a an and are as at be been being by did do does for from had has have he her his how i
    in into is it its not of on or our s than that the their them then there these they this
    those to was we were what when where which who whom whose why with you your
    """.split()
)
_WORD = re.compile(r"\w+")
_MAX_QUERY_TERMS = 64
"""A question of 10,000 words would match everything, slowly; its first distinct words decide."""


def query_terms(text: str) -> list[str]:
    """Distinct words of a text in their order, without stop words, for the text search.

    Words are letters, digits and underscores of any script, case-folded. A text of stop words only
    keeps them, so that it finds something.
    """
    words = list(dict.fromkeys(_WORD.findall(text.casefold())))
    content = [word for word in words if word not in _STOP_WORDS]
    return (content or words)[:_MAX_QUERY_TERMS]
