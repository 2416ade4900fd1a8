"""Phrases of a question that stand for something: "the builder of the Orre Light"."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memnet.reader.passages import RankedSlot
from memnet.text.names import name_pattern, normalise

ROLES = {
    "director": "Who directed {}?",
    "performer": "Who performed {}?",
    "singer": "Who performed {}?",
    "composer": "Who composed the music of {}?",
    "author": "Who wrote {}?",
    "writer": "Who wrote {}?",
    "founder": "Who founded {}?",
    "producer": "Who produced {}?",
    **dict.fromkeys(
        ("birthplace", "birth place", "place of birth", "city of birth"), "Where was {} born?"
    ),
    **dict.fromkeys(("place of death", "city of death"), "Where did {} die?"),
}
"""Questions that ask for who has a role, and for where lives began and ended."""
_PEOPLE = frozenset(
    """
    actress boss brother captain ceo child coach daughter father grandfather grandmother head host
    husband king leader man minister mother parent partner person president queen sibling sister
    son spouse star uncle wife woman
    """.split()
)
_THINGS = frozenset(
    """
    airline album band capital city club college company continent county country currency district
    employer label language league location manufacturer network owner party predecessor province
    publisher region religion school series sport state studio team university
    """.split()
)
_AGENTS = re.compile(r"^[a-z]{3,}(?:er|or|ist|ian|ect|man)")
"""Agent nouns: a keyboardist, a screenwriter."""
KIN = {
    "paternal grandfather": ("father", "father"),
    "paternal grandmother": ("father", "mother"),
    "maternal grandfather": ("mother", "father"),
    "maternal grandmother": ("mother", "mother"),
    "father-in-law": ("spouse", "father"),
    "mother-in-law": ("spouse", "mother"),
    "child-in-law": ("child", "spouse"),
    "daughter-in-law": ("son", "wife"),
    "son-in-law": ("daughter", "husband"),
    "stepchild": ("spouse", "child"),
    "stepfather": ("mother", "husband"),
    "stepmother": ("father", "wife"),
}
"""Relatives by two relations, the nearer first."""
_KIN_WORDS = "|".join(KIN)
_KIN_OF = re.compile(rf"\b({_KIN_WORDS}) of\b", re.IGNORECASE)
_KIN_AFTER = re.compile(rf"(?<=['’]s )({_KIN_WORDS})\b", re.IGNORECASE)
_ROLE_WORDS = r"(?:place|city) of (?:birth|death)|birth place|[a-z]+(?:-in-law)?"
_BEFORE = re.compile(
    rf"(?<!\w)(?:the\s++|its\s++)?\b({_ROLE_WORDS})\s++(?:of|for)\s++(?:the\s++)?"
    r"(?:film|movie|song|album|book|novel|series|band|company|city|work|game)?s?\s*+[\"“']?$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w+")
_MAX_BEFORE = 100
"""Characters before a name in which its role is looked for: "the place of birth of the company"
has 33. Without a limit the time would grow with the square of the question's length."""
_AFTER = re.compile(rf"[\"”]?\s?['’]s\s+({_ROLE_WORDS})\b", re.IGNORECASE)
"""To be matched where a name ends."""
_CLAUSE = re.compile(
    r"\bthe (?:(?!the )[\w'’-]+ ){1,4}?"
    r"(?P<mark>(?:in |on |from |to )?which|where|that|who|whose) (?=\S)"
)
_ASKING = re.compile(r"\b(?:what|which|when|whom?|how)\b", re.IGNORECASE)
_AUXILIARY = re.compile(
    r"(?:(?<!what )(?<!who )\b(?:is|was|are|were)|\b(?:did|does|do|has|had|will))"
    r"\s+(?:(?:the\s+)?[\w'’-]+\s+(?:of|in)\s+)*$",
    re.IGNORECASE,
)
"""Before a subject: no word shows where its clause ends."""
_COMMA = re.compile(r",(?! [A-Z])")
"""After a clause, not within "Johnnycake, West Virginia"."""
_VERBS_OF_PLACE = re.compile(
    r"\b(?:is|was|are|were) (?:located|found|born|situated|based|formed|held|from)\b"
    r"|\b(?:died|lived|occurred|took place|is|was)(?= ?(?:,|\?|$))"
)
_ALONE = re.compile(
    r"(?:who|what|where|which \w+)(?:['’]s| is| was| are| were)?(?: the name of)?", re.IGNORECASE
)


class Phrase(NamedTuple):
    """Words of a question, such as "the builder of the Orre Light"."""

    start: int
    end: int
    question: str
    """That asks what it stands for."""
    about: int | None
    """Index of the passage about what it names; None for a clause that describes something."""


def expanded_kin(question: str) -> str:
    """A question with relatives by two relations written out ("Ann's father's mother")."""

    def of(match: re.Match[str]) -> str:
        nearer, further = KIN[match.group(1).lower()]
        return f"{further} of the {nearer} of"

    def after(match: re.Match[str]) -> str:
        return "'s ".join(KIN[match.group(1).lower()])

    return _KIN_AFTER.sub(after, _KIN_OF.sub(of, question))


def phrase_of(
    question: str, passages: Sequence[RankedSlot], known: Iterable[tuple[str, int]]
) -> Phrase | None:
    """The phrase of a question to be resolved first; None where it needs none.

    Args:
        question: in plain language.
        passages: the evidence; what a role is a role of must be the subject of one.
        known: other names, with the indices of the passages about them.
    """
    names = {(item.subject, index) for index, item in enumerate(passages)} | set(known)
    found = _role(question, [pair for pair in names if len(normalise(pair[0])) > 1])
    found = found or _clause(question)
    return None if found is None or _asks_for(question, found) else found


def _role(question: str, names: Iterable[tuple[str, int]]) -> Phrase | None:
    """The role of a named thing; of several, of the one with the longest name."""
    asked = question.lower()
    # Compiling a pattern for each title takes longer than all else that is done with a question.
    held = [
        pair for pair in names if all(word in asked for word in _WORDS.findall(pair[0].lower()))
    ]
    for name, index in sorted(held, key=lambda pair: (-len(pair[0]), pair[1])):
        for match in re.finditer(
            rf"\b{name_pattern(name)}\b(?:\s*+\([^()]*\))?", question, re.IGNORECASE
        ):
            after = _AFTER.match(question, match.end())
            earliest = max(0, match.start() - _MAX_BEFORE)
            before = _BEFORE.search(question, earliest, match.start())
            if after:
                start, end, role = match.start(), after.end(), after.group(1)
            elif before:
                start, end, role = before.start(), match.end(), before.group(1)
            else:
                continue
            if _is_role(role.lower()):
                return Phrase(start, end, _role_question(role.lower(), name), index)
    return None


def _is_role(word: str) -> bool:
    return word in ROLES or word in _THINGS or _is_person(word)


def _is_person(word: str) -> bool:
    return word in _PEOPLE or _AGENTS.fullmatch(word) is not None


def _question_word(role: str) -> str:
    return "Who" if _is_person(role) else "What"


def _clause(question: str) -> Phrase | None:
    """The last noun phrase with a relative clause ("the country where it is located")."""
    matches = list(_CLAUSE.finditer(question))
    if not matches:
        return None
    start, inner = matches[-1].start(), matches[-1].end()
    ends = [match.start() for match in _COMMA.finditer(question, inner)]
    if matches[-1]["mark"] not in ("that", "who", "whose"):
        ends += [match.end() for match in _VERBS_OF_PLACE.finditer(question, inner)]
    end = min(ends, default=len(question.rstrip(" ?.")))
    words = question[start:end]
    endless = not ends and _AUXILIARY.search(question[:start])
    if endless or _ASKING.search(words, inner - start):
        return None
    kind = question[start : matches[-1].start("mark")].split()[-1].lower()
    return Phrase(start, end, f"{_question_word(kind)} is {words}?", None)


def _asks_for(question: str, phrase: Phrase) -> bool:
    """Whether the question asks for nothing but what the phrase stands for."""
    rest = f"{question[: phrase.start]} {question[phrase.end :]}".strip(" ?.")
    return _ALONE.fullmatch(rest) is not None


def _role_question(role: str, name: str) -> str:
    if role in ROLES:
        return ROLES[role].format(name)
    return f"{_question_word(role)} is the {role} of {name}?"
