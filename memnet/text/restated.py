"""Whether a text says again what a question asks for yes or no, or its opposite."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from memnet.text.english import IRREGULAR_VERBS, listed, query_terms, units, word_lists

_AUXILIARY = re.compile(
    r"(?:q\b|[\W\d]){0,9}(?:(?:and|but|so) )?"  # "1.2 Can I swim?", "Q: Can I swim?"
    r"(?P<verb>is|are|am|was|were|do|does|did|has|have|had|can|may|must|should|will) (?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
# Written in one way before words are compared.
_SPELLED = [
    (re.compile(pattern, re.IGNORECASE), " ".join(written))
    for _, (pattern, *written) in word_lists("spelled.txt")
]
_WORD = re.compile(r"[^\W_]+(?:[.,:/][^\W_]+)*")
_DENYING = frozenset("not no neither nor".split())
# Words of the same modality count as one; the second ones deny it.
_MODAL = {
    word: (modal, denies)
    for modal, denies, words in (
        ("may", 0, "can may allow permit possible ok okay welcom allowabl permissibl"),
        ("may", 1, "forbid prohibit ban impossibl"),
        ("must", 0, "must shal need requir necessary compulsory obligatory mandatory"),
        ("must", 1, "optional voluntary unnecessary"),
    )
    for word in words.split()
}
_LEFT_OUT = listed("left out")
_PRONOUNS = frozenset("it they he she this".split())
_ANYBODY = frozenset("i you we one people my your our".split())
# What "the object" and the like stand for is named by the heading.
_THINGS = listed("things")
_LIGHT = frozenset("use bring keep hav".split())  # "May I use a drone?": "Drones are forbidden."
_OF_MODALS = frozenset("to for of it if".split())
PREPOSITIONS = listed("prepositions")
# After these a clause says more than is asked; times and conditions say less.
_PLACED = frozenset("in at to near from on".split())
_TIMES = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|"
    r"august|september|october|november|december|spring|summer|autumn|winter|morning|noon|evening|"
    r"night|midnight|dawn|dusk|weekends?|weekdays?|holidays?|day|week|month|year|hours?)\b",
    re.IGNORECASE,
)
_NOT_ASKED = re.compile(r"\b(?:not|or|how|what)\b", re.IGNORECASE)
# What limits or shifts a statement: question and clause have to have the same of these.
_LIMITS = re.compile(
    r"\b(?:without|lacks?|stopped|ceased|dropped|out of|except|unless|only|hardly|rarely|seldom|"
    r"until|used to|former|formerly|if|when|before|after|instead|than|apart|once|some|might|maybe|"
    r"perhaps|almost|nearly|all|every|each|most|many|few|both|half|either|or|planned|was|were|had|"
    r"will|would|should|says?|said|thinks?|too|everywhere|anywhere)\b",
    re.IGNORECASE,
)
# What is so in all rooms is so, but not what is not so in all.
_WIDER = frozenset("all every each both everywhere anywhere".split())
_NOT_IN_ALL = re.compile(r"\bnot\b.{0,60}?(?<!\bat )\b(?:all|every|each|both|everywhere)\b", re.I)
_USED_TO = re.compile(r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )\bused to\b", re.IGNORECASE)
_ONLY = re.compile(r"\W{0,4}only (?=.{1,60} (?:may|can|allowed|permitted)\b)", re.IGNORECASE)
# How an answer begins to a question that stands above it
_REPLY = re.compile(
    r"\W{0,9}(?:a:|answer:|(?:oh|well|luckily|sadly|(?:un)?fortunately)\b)?\W{0,9}"
    r"(?:(?P<yes>(?:yes|of course|certainly|sure|gladly|absolutely|definitely|by all means|do so|"
    r"please do|feel free|no problem)\b(?! not\b))|not?(?=\W*$|\W*[,.;:!–—-])|"
    r"not (?:at (?:all|the moment|present)|since|really|yet)\b)",
    re.IGNORECASE,
)
_BREAK = re.compile(
    r"(?:[,;:()]\s*|\s[-–—]\s|\s(?=(?:but|while|whereas|although|though|because|so)\s))"
    r"(?:(?:but|and|while|whereas|although|though|because|so)\s)?",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\W*(?:if|unless|when|until|except|provided|as long|only|before|after|which|who|that)\b",
    re.IGNORECASE,
)
# "When did we buy", "who joined"; "which stop is near" asks of no event.
_ASKS_OF_EVENT = re.compile(
    r"(?:.{0,200}\b(?:do|does|did|was|were|has|have|will)(?: (?P<who>I|we)\b)?|\W{0,9}who\b)", re.I
)
_FIRST_PERSON = re.compile(r"(?:I|we)\b", re.I)
_DENIAL = re.compile(r"\b(?:not|no|never)\b", re.IGNORECASE)
# Words of a condition: "not cards, only above 20 euros" denies no cards.
_OF_CONDITIONS = PREPOSITIONS | frozenset(
    "above below during within because via if when while after before until till once".split()
)
# "Not cards, only cash", but "not cards, only from 20 euros on" or "only rarely"
_ONLY_OTHERS = re.compile(
    r"only (?:(?!\w+ly\b|(?:sometimes|often|once|twice|now|today|not)\b)[^\W\d]+\W*){1,3}$", re.I
)
# At the end: it holds for a part of the day or year, as who reads the clause sees.
_TIME_LIMIT = re.compile(
    rf"\s(?:until|before|after|from) (?:about )?(?:\d|{_TIMES.pattern})[^,;]{{0,40}}$", re.I
)
_MAX_SHARED = 300  # Characters of a clause that is taken apart at each "and"
_AND = re.compile(r"\s(?:and|or)\s", re.IGNORECASE)
_BARE_DENIAL = re.compile(r"(?:not|no) (?!.*\b(?:is|are|was|were|can|may|has|have)\b)", re.I)
_CUT_DENIAL = re.compile(r" (?:is|are|was|were|do|does|did|can|may|has|have) not$", re.IGNORECASE)
_SUBJECT_END = re.compile(
    r"\b(?:is|are|was|were|do|does|did|can|may|must|will|has|have|had|in|on|at|of|for|from|with)\b",
    re.IGNORECASE,
)
_FOR_SALE = frozenset(("sold", preposition) for preposition in _PLACED)
_ABLE = re.compile(r"(?P<un>un|in|im|ir)?(?P<verb>[a-z]{2,20})[ai]ble")
_NO_ENDINGS = ("ss", "us", "is", "eed")
_VOWEL = re.compile("[aeiouy]")
_VERB = re.compile(r"\b(?:is|are|was|were|can|may|has|have)\b(?! not\b)", re.IGNORECASE)
_PREFIXES = ("un", "in", "non", "dis", "im", "ir", "il")
_SHORTEST = 3  # Letters of a stem that a prefix denies
# Not the opposites of "cover", "form" and so on.
_NO_OPPOSITES = listed("no opposites")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = rf"\b({'|'.join(_DAYS)})(?:s|nes|rs|ur)?(?:days?)?\b"
_OPENS = re.compile(  # "Monday: closed", "Tue to Fri 9:00"
    rf"{_DAY}(?: ?(?:to|-|–|until) ?{_DAY})?:? (?:(?P<closed>closed)|(?:open )?(?:from )?\d)",
    re.IGNORECASE,
)
_ENTRY = re.compile(  # "Legal protection: none"
    r"\W{0,9}(?P<label>[^:\n]{2,40}): (?:(?P<yes>yes|included|covered|allowed|permitted)|none|no|"
    r"excluded|forbidden|prohibited|not (?:included|covered|allowed|permitted))\W{0,9}",
    re.IGNORECASE,
)
_OF_ENTRIES = _LIGHT | {"includ", "cover", "insur", "ther"}  # "Is there legal protection?"
_LONGEST = 1000  # Characters of a question: its clauses are compared with each one of a text


class Restated(NamedTuple):
    """What a text says to a question."""

    yes: bool
    sure: bool  # Whether in the question's own words, and no others


class Difference(NamedTuple):
    """How a clause differs from a question."""

    missing: set[str]  # Stems that the question has, and the clause not; no prepositions
    instead: set[str]  # Stems that the clause has, and the question not; no prepositions
    opposed: bool  # Whether it has an opposite of a word of the question, and another of its words
    denies: bool
    shared: int  # How many stems both have

    @property
    def is_of_other(self) -> bool:
        """Whether it has other words in place of some, and at least as many shared ones."""
        count = len(self.missing - _LIGHT)
        return 0 < count == len(self.instead - _LIGHT) <= self.shared and not self.opposed


class _Frame(NamedTuple):
    """What a question or a clause says, as far as it is compared."""

    words: tuple[str, ...]  # Stems of content words and prepositions
    modal: str  # "may", "must", "" or "both", which is not compared
    denials: int
    agent: int  # How many of the words stand before "allowed to"
    pronoun: bool  # Whether it is about "it" or "they"
    tokens: tuple[str, ...]
    past: frozenset[str]  # Words that may be verbs in the past, without an auxiliary before them


def restates(question: str, text: str, title: str = "", before: str = "") -> Restated | None:
    """What a clause of a text says to a question for yes or no; None for none, or two that differ.

    It is sure where both have the same words in the same order, however inflected, but for a denial
    or one pair of opposites. Of what the clause leaves out the ``title`` may name the rest, or the
    sentence ``before`` what a pronoun stands for. Otherwise the clause has more words, or others.
    """
    asked = _asked(question) if len(question) <= _LONGEST else None
    if asked is None:
        return None
    verb, whole, frame = asked
    found: set[Restated | None] = set()
    named = frozenset(_frame(_spelled(title)).words)
    previous = [before[one.start : one.end] for one in units(before)][-3:]
    for unit in units(text):
        sentence = text[unit.start : unit.end]
        heading = previous[-1] if previous else title.rpartition(" > ")[2]
        replied = _replied(verb, frame, heading, sentence, named)
        if replied is not None:
            return replied
        found.add(_entered(frame, sentence, named | set(_frame(heading).words)))
        for clause in _clauses(_spelled(sentence)) if "?" not in sentence else ():
            limited = None if _TIME_LIMIT.search(whole) else _TIME_LIMIT.search(clause)
            free = _ONLY.sub("", clause[: limited.start()] if limited else clause, count=1)
            if verb in ("do", "does"):
                free = _USED_TO.sub("not", free)
            if not _same_limits(whole, free):
                continue
            said = _compared(verb, frame, free, named, previous)
            if limited:
                said = said and said._replace(sure=False)
            elif free != clause and not (said and said.sure):
                said = _of_others(frame, free, named)
            found.add(said)
        previous.append(sentence)
    found = {one for one in found if one and one.sure} or found - {None}
    return found.pop() if len(found) == 1 else None


def _asked(question: str) -> tuple[str, str, _Frame] | None:
    """The verb that a question for yes or no begins with, the question, and what it asks."""
    found = _AUXILIARY.fullmatch(_spelled(question).strip(" ?!.\"'*_"))
    if found is None or _NOT_ASKED.search(found["rest"]):
        return None
    verb, text = found["verb"].casefold(), f"{found['verb']} {found['rest']}"
    return verb, text, _frame(text if stem(verb) in _MODAL else found["rest"])


def are_opposites(*words: str) -> bool:
    """Whether two words exclude each other, as "lowest" and "highest" do."""
    return _kind(*(stem(one.removesuffix("est")) for one in words)) in ("excluding", "states")


def tells_opposite(question: str, clause: str, context: str) -> bool:
    """Whether a clause tells the opposite of an event that neither it nor its context tells.

    That a bus left says nothing of when it arrived. What Ann sold to Bo he bought from her: of the
    two sides of one event the verbs are opposites only where both are of "I" or "we".
    """
    asks = _ASKS_OF_EVENT.match(question)
    if asks is None:
        return False
    told = _FIRST_PERSON.match(clause)
    same = told is not None and told[0].casefold() == (asks["who"] or "").casefold()
    kinds = ("compatible", "converse") if same else ("compatible",)
    asked, said, known = (
        {stem(one) for one in query_terms(text)} for text in (question, clause, context)
    )
    return any(_kind(one, other) in kinds for one in asked - known for other in said - asked)


def _replied(
    verb: str, asked: _Frame, heading: str, answer: str, named: frozenset[str]
) -> Restated | None:
    """What an answer says first to a question that stands above it, where that is what is asked."""
    other = _asked(heading) if "?" in heading else None
    if other is None or other[2].modal != asked.modal:
        return None
    named |= PREPOSITIONS
    words = tuple(one for one in asked.words if one in other[2].words or one not in named)
    # "Do you sell flour?" asks the mill whether "the mill" sells flour, though perhaps another one.
    by_name = len(words) > len(other[2].words) and "you" in other[2].tokens
    by_name &= "the" in asked.tokens[:2]
    same = _same(words[int(by_name) :], other[2].words, verb, asked.modal)
    spelled = _spelled(answer)
    said = _frame(_BREAK.split(spelled.rstrip(" .!"), maxsplit=1)[0])
    if reply := _REPLY.match(spelled):
        said = said._replace(denials=reply["yes"] is None)
    elif said.words or not said.modal or said.modal != asked.modal:  # "There is no need"
        return None
    odd = (asked.denials + other[2].denials + said.denials) % 2 == 1
    return None if same is None else Restated(same != odd, sure=not by_name)


def _entered(asked: _Frame, sentence: str, named: frozenset[str]) -> Restated | None:
    """What "Pets: not allowed" or "Monday: closed" says of what its label names."""
    known = {*named, *_frame(sentence).words, *PREPOSITIONS, *_OF_ENTRIES}
    days = [found for one in asked.words if (found := re.match(_DAY, one))]
    entry, said = _ENTRY.fullmatch(sentence), set[bool]()
    if "open" in asked.words and len(days) == 1:
        known |= {"open", days[0].string}
        for one in _OPENS.finditer(sentence):
            first, last = (_DAYS.index((day or one[1]).casefold()) for day in one.groups()[:2])
            if (_DAYS.index(days[0][1]) - first) % 7 <= (last - first) % 7:
                said.add(one["closed"] is None)
    elif entry and {*_frame(entry["label"]).words} <= {*asked.words}:
        said.add(entry["yes"] is not None)
    if len(said) != 1 or asked.denials:
        return None
    return Restated(said.pop(), sure=known.issuperset(asked.words))


def _of_others(asked: _Frame, clause: str, named: frozenset[str]) -> Restated | None:
    """What "only members may fish" says to a question whether others may."""
    said = _frame(clause)
    others = set(asked.words) - set(said.words) - named - PREPOSITIONS
    members = set(said.words) - set(asked.words)
    differ = others and members and members == set(said.words[: len(members)])
    may = asked.modal == said.modal == "may" and not said.denials
    return Restated(asked.denials % 2 == 1, sure=False) if differ and may else None


def differences(question: str, text: str) -> list[Difference]:
    """How the clauses of a text differ from a question, the nearest first, and "" last."""
    asked = _frame(_spelled(question))
    found: list[Difference] = []
    spelled = (_spelled(text[unit.start : unit.end]) for unit in units(text))
    for clause in (*chain.from_iterable(map(_clauses, spelled)), ""):
        said = _permitted(_frame(clause), asked.words)
        missing = set(asked.words) - set(said.words)
        instead = set(said.words) - set(asked.words)
        opposed = any(_kind(one, other) for one in missing for other in instead)
        shared = len(set(asked.words) - missing)
        opposed = opposed and shared > 0 and _same_limits(question, clause)
        missing -= PREPOSITIONS
        others = instead - PREPOSITIONS
        found.append(Difference(missing, others, opposed, said.denials % 2 == 1, shared))
    return sorted(found, key=lambda one: len(one.missing))


def names_other_times(question: str, text: str) -> bool:
    """Whether a question names days, months or times of the day, and a text only others."""
    asked, said = (
        {time.casefold().removesuffix("s") for time in _TIMES.findall(one)}
        for one in (question, text)
    )
    return bool(asked and said) and not asked & said


@lru_cache(1000)  # The same few sentences are compared for each question
def _spelled(text: str) -> str:
    for pattern, written in _SPELLED:
        text = pattern.sub(written, text)
    return text


def _clauses(sentence: str) -> Iterator[str]:
    """What a sentence says, clause by clause, each with what it shares with the one before."""
    parts = [part.strip() for part in _BREAK.split(sentence)]
    last = ""
    for part, following in pairwise([*parts, ""]):
        others = _DENIAL.search(part) is not None and _ONLY_OTHERS.match(following) is not None
        conditional = not others or not _OF_CONDITIONS.isdisjoint(following.casefold().split())
        is_condition = not part or (_CONDITION.match(part) and not _ONLY.match(part))
        if is_condition or (_CONDITION.match(following) and conditional):
            last = ""
            continue
        cut = _CUT_DENIAL.search(part.rstrip(" .!"))
        if last and _BARE_DENIAL.match(part):
            yield f"{last}\0{part}"  # "but not B"
        elif last and cut and (verb := _VERB.search(last)):
            yield f"{part[: cut.start()]} not {last[verb.start() :]}"  # "B is not"
        else:
            yield from _with_shared(part)
            last = part


def _with_shared(clause: str) -> Iterator[str]:
    """A clause, and each side of "and" with what it shares with the other."""
    yield clause
    if len(clause) > _MAX_SHARED:
        return
    for joint in _AND.finditer(clause):
        left, right = clause[: joint.start()], clause[joint.end() :]
        yield left
        yield right
        yield f"{left.rpartition(' ')[0]} {right}"  # "runs on A and B"
        verb = _VERB.search(left)
        if verb is None:
            yield f"{left} {right.partition(' ')[2]}"  # "A and B can be rented"
        else:
            yield f"{left[: verb.start()]} {right}"  # "A is cold and runs for an hour"


@lru_cache(4000)
def _frame(text: str) -> _Frame:
    words: list[str] = []
    modal, denials, agent, pronoun, helped = "", 0, 0, False, False
    past: set[str] = set()
    tokens = [one.casefold() for one in _WORD.findall(text)]
    for place, token in enumerate(tokens):
        root = stem(token)
        if token in _DENYING:
            denials += 1
        elif root in _MODAL and tokens[max(0, place - 1)] not in PREPOSITIONS:  # not "in May"
            said, denies = _MODAL[root]
            modal = said if modal in ("", said) else "both"
            denials += denies
            helped = True
            if tokens[place + 1 : place + 2] == ["to"]:
                agent = len(words)
        elif token in _PRONOUNS:
            pronoun = pronoun or not words
        elif token in _LEFT_OUT or token in _ANYBODY:
            helped = helped or token in ("is", "are", "am", "was", "were", "did", "do", "does")
        else:
            is_past = token in IRREGULAR_VERBS or token.endswith("ed")
            if is_past and not helped and root != token and not token.endswith(("ing", "has")):
                past.add(token)
            helped = helped or root == "hav"
            words.append(root)
    for place, word in enumerate(words):
        if place > 1 and (word == "by" or (word == "in" and words[place - 1] == "includ")):
            words = [*words[place + 1 :], words[place - 1], *words[: place - 1]]  # by whom it is
            break
    if modal:
        agent = sum(word not in _OF_MODALS for word in words[:agent])
        words = [word for word in words if word not in _OF_MODALS]
    return _Frame(tuple(words), modal, denials, agent, pronoun, tuple(tokens), frozenset(past))


def _same_limits(question: str, clause: str) -> bool:
    asked, said = (set(_LIMITS.findall(text.casefold())) for text in (question, clause))
    if not asked & _WIDER and _NOT_IN_ALL.search(clause):
        return False
    if _frame(clause).past or re.search(r"\bbeen\b", clause):
        asked -= {"was", "were"}
    return asked - _WIDER <= said and said - asked <= _WIDER and asked & _WIDER <= said


def _compared(
    verb: str, asked: _Frame, clause: str, named: frozenset[str], previous: Sequence[str]
) -> Restated | None:
    """What a clause says to a question that begins with ``verb``."""
    whole, _, piece = clause.partition("\0")
    said = _frame(whole)
    if (asked.modal, said.modal, said.denials) == ("may", "must", 0):  # "Hats must be removed"
        missing, extra = {*asked.words} - {*said.words} - named, {*said.words} - {*asked.words}
        opposed = len(missing) == len(extra) == 1 and _kind(*missing, *extra)
        return Restated(asked.denials % 2 == 1, sure=True) if opposed else None
    if asked.modal != said.modal:
        asked, said = _permitted(asked, said.words), _permitted(said, asked.words)
    if said.modal != asked.modal or said.modal == "both" or not asked.words:
        return None
    if piece:
        part = set(_frame(piece).words)
        known = part | set(said.words) | named
        held = not part - PREPOSITIONS or not part <= set(asked.words) <= known
        return None if held or said.denials else Restated(asked.denials % 2 == 1, sure=True)
    if verb in ("was", "were") and said.past and not said.denials:  # "Ann mended it"
        done = next(at for at, word in enumerate(said.words) if word in map(stem, said.past))
        said = said._replace(words=said.words[done:])
    past = said.past - set(asked.tokens)
    over = past or ("been" in said.tokens and "been" not in asked.tokens)
    if over and verb in ("do", "does", "is", "are"):
        return None
    if said.denials > 1 or (verb == "did" and not past and " did " not in clause):
        return None
    if verb in ("has", "have", "had"):
        said = said._replace(words=tuple(word for word in said.words if word != "hav"))
    denied = (asked.denials + said.denials) % 2 == 1
    over = verb in ("did", "was", "were", "has", "have")
    somewhere = asked.modal and not {"there", "here"}.isdisjoint(asked.tokens[1:])
    for words, others in _alignments(asked, said, denied, named, previous):
        same = _same(words, others, verb, asked.modal)
        if same is not None:
            return Restated(same != denied, sure=True)
        if denied or (asked.modal and not somewhere) or (_TIMES.search(clause) and not over):
            continue
        for place, word in enumerate(others):
            ends = place and word in (PREPOSITIONS if over else _PLACED)
            if ends and _same(words, others[:place], verb, asked.modal):
                return Restated(yes=True, sure=True)
    if (asked.denials and not asked.modal) or "than" in said.tokens:
        return None
    missing = set(asked.words) - set(said.words) - PREPOSITIONS - {"hav"}
    extra = set(said.words) - set(asked.words)
    opposite = any(_is_denied(one, other, asked.words, verb) for one in missing for other in extra)
    if len(missing) > opposite:
        return None
    return Restated(denied == opposite, sure=False)


def _permitted(frame: _Frame, words: Sequence[str]) -> _Frame:
    """What "is washable" says, as "may be washed" where that verb is among some words.

    What is sold at a place may be bought.
    """
    for place, token in enumerate(frame.tokens if not frame.modal else ()):
        one = _ABLE.fullmatch(token)
        verb = stem(one["verb"]) if one else ""
        if (token, *frame.tokens[place + 1 : place + 2]) in _FOR_SALE:
            verb = "buy"
        if verb in words:
            said = (verb if word == stem(token) else word for word in frame.words)
            kept = tuple(word for word in said if word not in _OF_MODALS)
            denials = frame.denials + bool(one and one["un"])
            return frame._replace(modal="may", words=kept, denials=denials)
    return frame


def _alignments(
    asked: _Frame, said: _Frame, denied: bool, named: frozenset[str], previous: Sequence[str]
) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Words of a question and a clause that have to be the same."""
    words, others = asked.words, said.words
    yield words, others
    for place, word in enumerate(others):
        if word in ("hav", "contain") and asked.tokens[0] == "there":  # "The inn has a sauna."
            for preposition in _PLACED.intersection(words):
                yield words, (*others[place + 1 :], preposition, *others[:place])
    if asked.modal:
        yield tuple(one for one in words if one in others or one not in _LIGHT), others
        if asked.modal == "may" and denied and asked.agent:  # What nobody may, visitors may not.
            yield words[asked.agent :], others
    if said.pronoun or (others and others[0] in _THINGS):
        rest = others if said.pronoun else others[1:]
        meant = _meant(named, previous)
        for count in range(not asked.pronoun, len(words)):
            if meant.issuperset(words[:count]):
                yield words[count:], rest
    if asked.pronoun:
        for count in range(1, len(others)):
            if named.issuperset(others[:count]):
                yield words, others[count:]
    rest = tuple(one for one in words if one in others or one not in named)
    while rest and rest[-1] in PREPOSITIONS and rest[-1] not in others:
        rest = rest[:-1]
    if len(rest) < len(words) and (len(rest) > 1 or asked.modal):
        yield rest, others


def _meant(named: frozenset[str], previous: Sequence[str]) -> frozenset[str]:
    """Words of what a pronoun stands for: the subject of the sentence before, or of the heading."""
    for sentence in reversed(previous):
        subject = _frame(_SUBJECT_END.split(_spelled(sentence), maxsplit=1)[0])
        if not subject.pronoun and subject.words and subject.words[0] not in _THINGS:
            return frozenset(subject.words)
    return named


def _same(words: Sequence[str], others: Sequence[str], verb: str, modal: str) -> bool | None:
    """True for the same words in the same order, but for what is put first; False for opposites."""
    missing, extra = Counter(words) - Counter(others), Counter(others) - Counter(words)
    if not words or len(words) != len(others) or missing.total() > 1:
        return None
    if not missing:
        return True if modal or _is_turned(words, others) else None
    [one], [other] = missing, extra
    replaced = [one if word == other else word for word in others]
    if modal or not _is_turned(words, replaced):
        return None
    return False if _is_denied(one, other, words, verb) else None


def _is_denied(one: str, other: str, words: Sequence[str], verb: str) -> bool:
    """Whether a word among those of a question is denied by its opposite in a clause."""
    kind = _kind(one, other)
    if kind != "states":
        return kind == "excluding"
    place = words.index(one)
    before, after = words[:place][-1:], words[place + 1 : place + 2]
    is_named = bool(before) and PREPOSITIONS.issuperset(before)  # "on the left"
    return (
        verb in ("is", "are", "was", "were")
        and not is_named
        and PREPOSITIONS.issuperset(after)  # not "the left door"
    )


def _is_turned(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether some words are others from another place on, round in a circle."""
    twice = [*others, *others]
    return any(twice[at : at + len(words)] == [*words] for at in range(len(words)))


@lru_cache(4000)
def stem(word: str) -> str:
    """A word without its endings: "carried" and "carries" as "carry"."""
    word = IRREGULAR_VERBS.get(word, word)
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return f"{word[:-3]}y"
    for ending in ("ing", "ed", "s"):
        short = word.removesuffix(ending)
        is_ending = short != word and len(short) > 2 and not word.endswith(_NO_ENDINGS)
        if is_ending and _VOWEL.search(short):
            word = short
            break
    word = word.removesuffix("e") if len(word) > 3 else word
    return word[:-1] if word[-2:-1] == word[-1:] and len(word) > 3 else word


def _kind(one: str, other: str) -> str:
    """The section of the list of opposites that has two stems, "states" by a prefix, or ""."""
    short, long = sorted((one, other), key=len)
    negated = len(short) >= _SHORTEST and long in {f"{prefix}{short}" for prefix in _PREFIXES}
    negated |= one[:-3] == other[:-3] and {one[-3:], other[-3:]} == {"ful", "les"}
    by_prefix = "states" if negated and long not in _NO_OPPOSITES else ""
    return _opposites().get(frozenset((one, other)), by_prefix)


@cache
def _opposites() -> dict[frozenset[str], str]:
    """Pairs of stems, each with its section."""
    found: dict[frozenset[str], str] = {}
    for section, line in word_lists("antonyms.txt"):
        word, *others = map(stem, line)
        for other in others:
            found.setdefault(frozenset((word, other)), section)
    return found
