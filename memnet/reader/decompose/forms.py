"""Forms of questions: phrases that stand for something, and pairs of things."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memnet.reader.decompose.negation import negated, without_denied
from memnet.reader.passages import RankedSlot, passages_named, windows_of_source
from memnet.text.english import listed, word_lists
from memnet.text.names import name_pattern, normalise, stems, without_brackets

# Questions that ask for who has a role, and for where lives began and ended.
ROLES = {role: asked for _, (asked, *roles) in word_lists("roles.txt") for role in roles}
_PEOPLE = listed("people")
_THINGS = listed("owned")
# Agent nouns: a keyboardist, a screenwriter.
_AGENTS = re.compile(r"^[a-z]{3,}(?:er|or|ist|ian|ect|man)")
# Relatives by two relations, the nearer first.
KIN = {name: (first, second) for _, (name, first, second) in word_lists("kin.txt")}
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
# Characters before a name in which its role is looked for: "the place of birth of the company" has
# 33. Without a limit the time would grow with the square of the question's length.
_MAX_BEFORE = 100
# A role after a name, to be matched where the name ends.
_AFTER = re.compile(rf"[\"”]?\s?['’]s\s+({_ROLE_WORDS})\b", re.IGNORECASE)
_CLAUSE = re.compile(
    r"\bthe (?:(?!the )[\w'’-]+ ){1,4}?"
    r"(?P<mark>(?:in |on |from |to )?which|where|that|who|whose) (?=\S)"
)
_ASKING = re.compile(r"\b(?:what|which|when|whom?|how)\b", re.IGNORECASE)
# A verb before a subject, where no word shows the end of its clause.
_AUXILIARY = re.compile(
    r"(?:(?<!what )(?<!who )\b(?:is|was|are|were)|\b(?:did|does|do|has|had|will))"
    r"\s+(?:(?:the\s+)?[\w'’-]+\s+(?:of|in)\s+)*$",
    re.IGNORECASE,
)
# The comma after a clause, not within "Johnnycake, West Virginia".
_COMMA = re.compile(r",(?! [A-Z])")
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
    question: str  # That asks what it stands for
    # Index of the passage about what it names; None for a clause that describes something
    about: int | None


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

    What a role is a role of must be the subject of a passage, or a ``known`` name with its index.
    """
    names = {(item.subject, index) for index, item in enumerate(passages)} | set(known)
    found = _role(question, [pair for pair in names if len(normalise(pair[0])) > 1])
    found = found or _clause(question)
    if found is None:
        return None
    # The question may ask for nothing but what the phrase stands for.
    rest = f"{question[: found.start]} {question[found.end :]}".strip(" ?.")
    return None if _ALONE.fullmatch(rest) else found


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
            role = role.lower()
            if role in ROLES:
                return Phrase(start, end, ROLES[role].format(name), index)
            if role in _THINGS or _is_person(role):
                asked = f"{'Who' if _is_person(role) else 'What'} is the {role} of {name}?"
                return Phrase(start, end, asked, index)
    return None


def _is_person(word: str) -> bool:
    return word in _PEOPLE or _AGENTS.fullmatch(word) is not None


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
    return Phrase(start, end, f"{'Who' if _is_person(kind) else 'What'} is {words}?", None)


MASK = "\0"  # Stands for a name
# Probability that what is found of both is true: it was for 42 of 46 training questions. Where it
# was not found, the answer was "no" for 21 of 44: not finding it tells nothing.
BOTH_PROBABILITY = 0.9
# Probability that the one of which more is found is right: it was for 29 of 32 training questions.
ONE_PROBABILITY = 0.9
_MIN_SHARE = 0.5  # Min. share of the stems of a claim that the passages about each have to contain.
# Characters next to a name that are matched, so that no expression can be slow.
_CONTEXT = 60
_PREPOSITION = r"(?:to|from|in|at|with|by|for|near|on|into|of|about|between|before|after)"
# What may stand before a name: "the film".
_NOUN = rf"(?:(?:the|an?) )?(?:(?!{_PREPOSITION}\b)[a-z-]{{1,20}} )?[\"“]?"
_RANK = (
    r"\b(?:first|last|earliest|earlier|latest|later|sooner|oldest|older|elder|youngest|younger"
    r"|newest|newer|longest|longer|recently)"
)
_AGE = r"\b(?:oldest|older|elder|youngest|younger|newest|newer)"

_ASKS_WHICH = re.compile(r"\W{0,9}(?:which|who|whose|what)\b", re.IGNORECASE)
_ASKS_WHETHER = re.compile(
    r"\W{0,9}+(?:are|were|is|was|do|does|did|have|has|had|can|could)\b", re.IGNORECASE
)
_JOINED = re.compile(rf"(?: ?\([^()]{{0,60}}\))?\W{{0,6}}\b(?P<by>and|or) {_NOUN}", re.IGNORECASE)
# Words before the two: "Who is older, A or B?", "Which came first A or B?".
_CHOICE_FOLLOWS = re.compile(rf"(?:[,:;?]|{_RANK}\b)\W{{0,9}}+(?:either )?{_NOUN}$", re.IGNORECASE)
# Words before the two: "Who was born first out of A and B?".
_GROUP_FOLLOWS = re.compile(rf"(?:\bout of|[,:;?] ?between|{_AGE} between) {_NOUN}$", re.IGNORECASE)
_WHICH_OF = re.compile(rf"\W{{0,9}}(?:which|who)(?: one)? of {_NOUN}", re.IGNORECASE)
_OF = re.compile(
    r"\W{0,9}(?:of|between|out of|among) (?:the )?(?:[a-z-]{1,20} ){0,3}[\"“]?", re.IGNORECASE
)
_WHETHER_ONE = re.compile(
    rf"\W{{0,9}}+(?:is|was|are|were|did|does|do|has|have|had) {_NOUN}", re.IGNORECASE
)
_ENDS = re.compile(r"(?: ?\([^()]{0,60}\))?\W{0,9}", re.IGNORECASE)
_ASKS_NEXT = re.compile(r"\W{1,9}(?:which|who|what|whose)\b", re.IGNORECASE)
_BETWEEN = re.compile(rf"\bbetween {_NOUN}$", re.IGNORECASE)
_AND = re.compile(r"\band\b", re.IGNORECASE)

_NAME = re.compile(r"(?<!^)\b(?:[A-Z]\w+|\d+)")
_DEGREE = re.compile(
    r"\b(?:more|most|less|least|fewer|fewest|(?:bigg|clos|deep|earli|fast|few|great|heavi|high|larg"
    r"|lat|long|old|rich|short|small|tall|wid|young)(?:er|est)|first|last|before|after)\b",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\b(?:both|each)\b", re.IGNORECASE)
# Words of questions that compare the two.
_COMPARES = re.compile(
    r"\b(?:or|same|similar|alike|different|more|less|than|other|older|younger|first|before|after"
    r"|nationality)\b",
    re.IGNORECASE,
)
_PLURAL = re.compile(r"(?<=\w\w[^\Ws])s\b")
_FUNCTION_WORDS = re.compile(
    r"^\W*\w+|\b(?:and|or|both|each|an?|the|types?|kinds?|sorts?|described|considered|known"
    r"|classified|located|found|based)\b"
)


class Pair(NamedTuple):
    """What a question asks about two things."""

    indices: tuple[int, int]  # The passages about the two
    masked: str  # The question with a mask for each of their names
    choice: bool  # Whether one of the two is asked for; else, whether something is true of both


class _Claim(NamedTuple):
    """What a question asks about two things, by its stems but for their names."""

    stems: frozenset[str]
    names: frozenset[str]  # Those that are of names or numbers
    found: tuple[frozenset[str], frozenset[str]]  # Those that the passages about each contain


def pair_of(question: str, passages: Sequence[RankedSlot]) -> Pair | None:
    """The two things that a question is about, each of which must be the subject of a passage.

    None where the question asks for something else ("Which ship sailed between Orre and Kestle?"),
    denies something, or one of the two is missing.
    """
    indices = passages_named(question, passages)
    if len(indices) != 2:
        return None
    titles = (passages[index].slot.title for index in indices)
    masked = _masked(" ".join(question.split()), titles)
    if masked.count(MASK) < 2 or negated(masked):
        return None
    before, between, after = masked.split(MASK, 2)
    choice = _asks_for_one(before, between, after)
    of_both = (
        _ASKS_WHETHER.match(before)
        and _AND.search(between)
        and not _BETWEEN.search(before[-_CONTEXT:])
    )
    if not choice and not of_both:
        return None
    return Pair((indices[0], indices[1]), masked, choice)


def _asks_for_one(before: str, between: str, after: str) -> bool:
    """Whether one of two is asked for, by what stands before, between and after their names."""
    joined = _JOINED.fullmatch(between[:_CONTEXT]) if len(between) <= _CONTEXT else None
    if joined is None:
        return False
    either = joined["by"].lower() == "or"
    last = before[-_CONTEXT:]
    if _ASKS_WHICH.match(before):
        if _WHICH_OF.fullmatch(last):
            return True
        ends = len(after) <= _CONTEXT and _ENDS.fullmatch(after) is not None
        if ends and _GROUP_FOLLOWS.search(last):
            return True
        return (
            either
            and (ends or after.lstrip().startswith(","))
            and _CHOICE_FOLLOWS.search(last) is not None
        )
    if either and _WHETHER_ONE.fullmatch(last):
        return True
    opens = either and not before.strip()
    return (opens or _OF.fullmatch(last) is not None) and _ASKS_NEXT.match(after) is not None


def _masked(question: str, titles: Iterable[str]) -> str:
    """A question with masks for the names of what it asks about, in full or without brackets."""
    names = {name for title in titles for name in (title, without_brackets(title))}
    for name in sorted(names, key=len, reverse=True):
        words = name_pattern(name)
        if words:
            bracket = r"\)?" if name.endswith(")") else ""
            question = re.sub(rf"\b{words}\b{bracket}", MASK, question, flags=re.IGNORECASE)
    return question


def both_attested(pair: Pair, passages: Sequence[RankedSlot]) -> bool:
    """Whether it is found of both: "Are Ann Orre and Bo Rank both Dutch poets?".

    It is if the passages about each contain at least half of the question's other stems, and all
    of those that are of names ("Dutch"); not where it compares the two, or claims nothing of them.
    """
    if _COMPARES.search(pair.masked) or not _BOTH.search(pair.masked):
        return False
    claim = _claim(pair, passages)
    return claim is not None and all(
        claim.names <= one and len(one) >= _MIN_SHARE * len(claim.stems) for one in claim.found
    )


def one_attested(pair: Pair, passages: Sequence[RankedSlot]) -> int | None:
    """Of which of two it is found, as an index: "Which poet was Dutch, Ann Orre or Bo Rank?".

    It is the one whose passages contain more of the question's other stems; names count twice.
    None where the question asks for a degree, or as much is found about both.
    """
    claim = None if _DEGREE.search(pair.masked) else _claim(pair, passages)
    if claim is None:
        return None
    one, other = (len(found) + len(found & claim.names) for found in claim.found)
    return None if one == other else pair.indices[one < other]


def _claim(pair: Pair, passages: Sequence[RankedSlot]) -> _Claim | None:
    """What is asked about the two; None where that is nothing."""
    text = pair.masked.replace(MASK, " ")
    words = _stems(_FUNCTION_WORDS.sub(" ", text.casefold()))
    if not words:
        return None
    names = _stems(" ".join(_NAME.findall(text)))
    one, other = (words & _stems(_asserted_about(index, passages)) for index in pair.indices)
    return _Claim(words, words & names, (one, other))


def _stems(text: str) -> frozenset[str]:
    return stems(_PLURAL.sub("", text.casefold()))


def _asserted_about(index: int, passages: Sequence[RankedSlot]) -> str:
    """The passages about one of the two, without what they deny."""
    return " ".join(
        f"{one.slot.title} {without_denied(one.slot.text)}"
        for one in windows_of_source(index, passages)
    )
