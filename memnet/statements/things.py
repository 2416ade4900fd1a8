"""Whether two statements are about different things, however alike their sentences are.

"The ferry sails at 7" says nothing about the tram, and that the phone bill was sent nothing about
the dog bill. Whether one statement changes another is left to a judge where these rules see no such
difference: "Bob has the key" changes that Ann has it.
"""

import re
from difflib import SequenceMatcher
from itertools import takewhile

from memnet.statements.relations import is_plain_name
from memnet.statements.times import DENIED, times_at
from memnet.storage import Told
from memnet.text.english import ARTICLES, Clauses, query_terms, without_spans
from memnet.text.names import STEM_LETTERS, has_digit, normalise
from memnet.text.restated import stem

# Left out of what a thing is called: "my new address" is in the place of "the address".
_NO_PART = frozenset((*ARTICLES, *"this that new current latest present next last old s".split()))
_OWNERS = {"our": "my", "i": "my", "we": "my", "me": "my"}
_SPEAKERS = frozenset("my you".split())  # As ``_called`` has them: "I" is "my"
_ANYBODYS = frozenset("my your his her their its whole entire".split())
_WITH = frozenset("with about for of".split())
_AT = frozenset("from to in into at on by under over near until till since as than".split())
_BE = frozenset("is are am be been was were become became".split())
_HOUR = re.compile(
    r"\b(?:(?:at|by) \d{1,2}(?:[:.]\d\d)?(?: ?[ap]\.?m\b\.?| o['’]clock)?|"
    r"\d{1,2}(?:[:.]\d\d|(?:[:.]\d\d)? ?[ap]\.?m\b\.?| o['’]clock))",
    re.IGNORECASE,
)
_ANEW = re.compile(
    r"\b(?:now|moved|postponed|rescheduled|changed|instead|no longer|cancell?ed)\b",
    re.IGNORECASE,
)
_PREFERS = re.compile(r"\b(?:prefers?|likes? best|would rather have|favou?rs)\b", re.IGNORECASE)
_NOWADAYS = re.compile(r"\b(?:now|these days|nowadays|from today|instead)\b", re.IGNORECASE)
_APART = re.compile(r"(?:^|\s)(?:with|on|in|for|to|at|by|over|when|while|because|if)\s", re.I)
# Days of each week on which something is so; "sings on Mondays at 7" says when it is.
EACH_WEEK = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun|week)days|weekends?)\b", re.IGNORECASE
)
_ON_DAYS = re.compile(
    r"(?:^\W{0,4}(?:on|at|during)|\b(?:open|close|start|begin)s? at [^.,;]{1,20} on|\bcosts? "
    rf"[^.,;]{{1,20}} for) (?:the )?({EACH_WEEK.pattern}|(?<=for )\w{{2,30}})",
    re.IGNORECASE,
)
_PARTED = re.compile(
    r"\b(?:sold|gave(?: away| back|(?= [^.,;:!?]{1,80} (?:away|back|to)\b))|got rid of|"
    r"traded(?: in)?|swapped|exchanged|replaced|scrapped|threw (?:away|out)) "
    r"(?:(?:my|our|his|her|their|the) (?P<thing>[^.,;:!?]{1,80}?)|it)"
    r"(?= (?:and|away|back|with|to|for|on|in|at|last|this|because|yesterday|today)\b|[.,;:!?]|$)",
    re.IGNORECASE,
)
# Before what did not happen after all: "has almost sold the van"
_HARDLY = re.compile(r"\b(?:almost|nearly|hardly|would have)\b", re.IGNORECASE)
# What came in its place
INSTEAD = re.compile(
    r"\b(?:(?:traded|swapped|exchanged)\b.{1,80}? for|replaced\b.{1,80}? (?:with|by)|"
    r"(?:and|,|then|to) (?:then )?(?:I |we )?(?:bought|buy|got|get|ordered|(?:now )?have)) "
    r"(?:an?|another|the|my|our) (?:new )?(?P<thing>[^.,;:!?]{1,80}?)"
    r"(?= (?:instead|yesterday|today|last|from|for|in|at|on|because|and)\b|[.,;:!?]|$)",
    re.IGNORECASE,
)
# A denial of what held, or what corrects it
_NO_MORE = re.compile(
    r"\b(?:no longer|any ?more|any longer|but|instead|until|till|since|only|than)\b|[,;]",
    re.IGNORECASE,
)
HAS = re.compile(r"\b(?:have|has|own|owns|drives?|rides?)\b", re.IGNORECASE)
_MAX_WORDS = 40  # Sentences up to which words are aligned: time grows with the square


def about_other_things(new: Told, earlier: Told) -> bool:
    """Whether a statement can't change an earlier one, as it is about another thing."""
    own, other = _called(new.subject), _called(earlier.subject)
    if own and other and not set(own) <= set(other) and not set(other) <= set(own):
        return _other_subjects(new, own, earlier, other)
    if own and other and _is_one_of_several(new, own, earlier, other):
        return True
    if denies_another(new, earlier) or _parts_with_another(new, earlier):
        return True
    return _other_objects(new, own, earlier)


def denies_another(new: Told, earlier: Told) -> bool:
    """Whether a statement denies the same of another thing: "sings here", "does not sing there"."""
    if not DENIED.search(new.text) or DENIED.search(earlier.text) or _NO_MORE.search(new.text):
        return False
    if _words(new.subject) != _words(earlier.subject):
        return False
    denied, said = (
        stems_of(DENIED.sub(" ", one.text)) - stems_of(one.subject) for one in (new, earlier)
    )
    return bool(denied & said and denied - said and said - denied)


def changes_now(new: Told, earlier: Told) -> bool:
    """Whether another of a kind is preferred now ("aisle seats"), or a number has changed."""
    own, before = (_PREFERS.search(one.text) for one in (new, earlier))
    if _words(new.subject) != _words(earlier.subject) or not _NOWADAYS.search(new.text):
        return False
    if own is None or before is None:
        return _gives_other_numbers(new, earlier)
    if DENIED.search(f"{new.text} {earlier.text}"):
        return False
    (thing, where), (other, elsewhere) = (
        _preferred(match.string[match.end() :]) for match in (own, before)
    )
    return thing != other and thing[-1:] == other[-1:] and where == elsewhere


def _gives_other_numbers(new: Told, earlier: Told) -> bool:
    """Whether all but the numbers is the same: "From today only 2 tablets a day"."""
    words, before = (_frame(one) for one in (new, earlier))
    said, said_before = ({*one} - _codes(one) - {"from", "now", "only"} for one in (words, before))
    return said == said_before and bool(_codes(before)) and _codes(words) != _codes(before)


def _preferred(text: str) -> tuple[list[str], set[str]]:
    """The words of what is preferred, "aisle seats", and stems of where, when or to what."""
    thing, *rest = _APART.split(_NOWADAYS.sub(" ", text), maxsplit=1)
    return _words(thing), stems_of("".join(rest)) if rest else set()


def on_other_days(new: Told, earlier: Told) -> bool:
    """Whether two statements are of other days of each week, or "5 euros for children"."""
    own, other = (_ON_DAYS.search(one.text) for one in (new, earlier))
    return own is not None and other is not None and own[1].casefold() != other[1].casefold()


def is_of_another(asked: str, told: Told) -> bool:
    """Whether what is asked of a person, "Ida sing tenor", is said of another one alone."""
    who = asked.split()[0]
    named = is_plain_name(who) and is_plain_name(told.subject) and told.speaker is None
    return named and set(_words(who)).isdisjoint((*_words(told.text), *_words(told.subject)))


def stems_of(text: str) -> set[str]:
    """The beginnings of the content words of a text, without endings: "ends" as "end"."""
    return {stem(word)[:STEM_LETTERS] for word in query_terms(normalise(text))}


def parted_with(text: str) -> re.Match[str] | None:
    """Where a text says that a thing was sold or given away, without a denial; None if nowhere."""
    found = _PARTED.search(text)
    before = text[: found.start()] if found else ""
    return None if DENIED.search(before) or _HARDLY.search(before) else found


def parts_with(new: Told, earlier: Told, last: bool = False) -> bool:
    """Whether somebody sold what an earlier statement says that he has; "it" is of the ``last``."""
    own, other = _words(new.subject), _words(earlier.subject)
    is_had = other[:1] == own if len(other) > 1 else other == own and HAS.search(earlier.text)
    got = other == own and INSTEAD.search(earlier.text)
    found = parted_with(new.text)
    if not own or not found or not (got or (is_had and Clauses(earlier.text).tense_at(0) >= 0)):
        return False
    return set(_words(found["thing"])) <= set(_words(earlier.text)) if found["thing"] else last


def _parts_with_another(new: Told, earlier: Told) -> bool:
    """Whether another of its kind was sold: the blue car, and not the red one that I have."""
    found, said = parted_with(new.text), _words(earlier.text)
    thing = _words(found["thing"] or "")[-2:] if found and HAS.search(earlier.text) else []
    if len(thing) < 2 or thing[0] in said or thing[1] not in said[1:]:
        return False
    before = said[said.index(thing[1], 1) - 1]
    return before not in ("my", "s") and HAS.fullmatch(before) is None


def _called(subject: str) -> list[str]:
    """The words of what something is called, its head first: "bill phone" of "the phone bill"."""
    words = _words(subject)
    place = next((at for at, word in enumerate(words) if at and word in _WITH | _AT), len(words))
    rest = [word for word in words[place:] if word not in _WITH | _AT]
    return [*words[:place][::-1], *rest]


def _words(text: str) -> list[str]:
    words = (_OWNERS.get(word, word) for word in normalise(text).split())
    return [word for word in words if word not in _NO_PART]


def _other_subjects(new: Told, own: list[str], earlier: Told, other: list[str]) -> bool:
    codes, other_codes = _codes(own), _codes(other)
    if codes and other_codes:
        return codes.isdisjoint(other_codes)
    are_names = is_plain_name(new.subject) or is_plain_name(earlier.subject)
    if own[0] == other[0] and not are_names:
        return True
    said = [word for word in _frame(new) if word not in own]
    said_before = [word for word in _frame(earlier) if word not in other]
    if _says_name(said, earlier) or _says_name(said_before, new):
        return False
    common = _common(said, said_before)
    rest, rest_before = _unnumbered(said[common:]), _unnumbered(said_before[common:])
    if said == said_before:
        # The key is with one of two at a time; a time is of each.
        return not are_names and _has_time(new) and _has_time(earlier)
    # When Noor arrives says nothing of when the flight leaves; "I" may tell of the flight, too.
    by_speaker = not _SPEAKERS.isdisjoint((own[0], other[0]))
    other_times = not by_speaker and _has_time(new) and _has_time(earlier)
    return rest.isdisjoint(rest_before) and (common > 0 or not are_names or other_times)


def _says_name(words: list[str], told: Told) -> bool:
    """Whether words say what a statement is about: of "the flight to Oslo" not "Oslo" alone."""
    return not set(words).isdisjoint(takewhile(lambda word: word not in _AT, _words(told.subject)))


def _is_one_of_several(new: Told, own: list[str], earlier: Told, other: list[str]) -> bool:
    """Whether a thing has a name that the one told of before has not: "the children's choir"."""
    if own[0] != other[0] or is_plain_name(new.subject) or is_plain_name(earlier.subject):
        return False
    if _ANEW.search(new.text):  # "The weekly meeting is now on Friday" is about the meeting.
        return False
    before_head = _words(new.subject)[: _words(new.subject).index(own[0])]
    return not set(before_head) - set(other) - _ANYBODYS <= set(_words(earlier.text))


def _other_objects(new: Told, called: list[str], earlier: Told) -> bool:
    """Whether the same was done to another thing: the shed was mended, and not the fence."""
    own, other = _frame(new), _frame(earlier)
    common = _common(own, other)
    shared = set(own[:common])
    if shared <= {*called, *_WITH} or not (_AT | _BE).isdisjoint(shared):
        return False
    if max(len(own), len(other)) > _MAX_WORDS or common in (len(own), len(other)):
        return False
    if _has_time(new) and _has_time(earlier):
        return True
    if Clauses(new.text).tense_at(0) < 0 and Clauses(earlier.text).tense_at(0) < 0:
        return True
    changes = SequenceMatcher(None, own[common:], other[common:], autojunk=False).get_opcodes()
    if [name for name, *_ in changes[:2]] != ["replace", "equal"]:
        return False
    return len(changes) > 2 or own[common + changes[1][1]] not in _AT | _WITH


def _frame(told: Told) -> list[str]:
    """The words of a statement without its times."""
    spans = [(one.start, one.end) for one in times_at(told.text, told.told)]
    return _words(_HOUR.sub(" ", without_spans(told.text, spans)))


def _has_time(told: Told) -> bool:
    return bool(times_at(told.text, told.told) or hours_in(told.text))


def hours_in(text: str) -> list[tuple[int, int]]:
    """Where a text names hours of the day: "at 9:30"."""
    return [one.span() for one in _HOUR.finditer(text)]


def _common(words: list[str], others: list[str]) -> int:
    """How many words two lists begin with alike."""
    alike = (one == other for one, other in zip(words, others, strict=False))
    return sum(takewhile(bool, alike))


def _unnumbered(words: list[str]) -> set[str]:
    """Words without numbers and what they count or name: "400 pounds", "platform 4"."""
    return {one for at, one in enumerate(words) if not _codes(words[max(0, at - 1) : at + 2])}


def _codes(words: list[str]) -> set[str]:
    return set(filter(has_digit, words))
