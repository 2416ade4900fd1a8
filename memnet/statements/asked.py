"""What statements say to a question, where rules see it more surely than the network does."""

import re
from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from memnet.reader.answers import asks_whether
from memnet.reader.contrasts import codes_of, differ, says_of_another
from memnet.statements.judge import columns_of
from memnet.statements.reading import FORMS, AnswerForm, Piece, StatementReading
from memnet.statements.relations import OPEN_ASPECTS, relation_of
from memnet.statements.things import (
    EACH_WEEK,
    HAS,
    INSTEAD,
    denies_another,
    hours_in,
    is_of_another,
    parted_with,
    parts_with,
    stems_of,
)
from memnet.statements.times import DENIED, times_at
from memnet.storage import Encode, Told
from memnet.text.english import ARTICLES, Clauses, query_terms
from memnet.text.names import normalise
from memnet.text.restated import PREPOSITIONS, differences, names_other_times, restates

_WHETHER = re.compile(
    r"(?:do|does|is|are|am|was|were|has|have) (?P<rest>[^?]+?)(?: (?:now|still|currently))?\?*$",
    re.IGNORECASE,
)
_DAY = r"(?:when|(?:what|which) (?:day|date|year|month))"
_WHEN = re.compile(
    rf"(?:(?P<until>(?:until|till|by) {_DAY}|how long)|(?P<day>(?:(?:on|in) )?{_DAY})) "
    r"(?:do|does|did|is|are|was|were|will|has|have) (?P<rest>[^?]+?)\?*$",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?:previous|previously|former|formerly|used to)\b|\b(?:before|earlier)\W*\Z", re.IGNORECASE
)
_FORMER = re.compile(
    rf"{_BEFORE.pattern}|\b(?:before|original\w*|first|old)\b|\bfrom\W*\Z", re.IGNORECASE
)
# A change with both sides: "went up from 30 to 35 a week"
_FROM_TO = re.compile(
    r"\b(?:went|rose|fell|grew|moved?|changed|raised|lowered|increased|decreased|cut|dropped|reduced|"
    r"postponed|shifted|switched|put off|brought forward)\b[^.;!?]{0,40}?\bfrom "
    r"(?P<before>[^.;!?]{1,60}?) to (?P<now>[^.,;!?]{1,60}?)"
    r"(?= (?:in|on|since|because|as|from|at|last|this|next|and|but)\b|[.,;!?]|$)",
    re.IGNORECASE,
)
_CHANGED = re.compile(r"(?:has|have|did|was|were) (?P<rest>[^?]+?) (?:been )?changed?\b", re.I)
# Says of something only that it is so no longer
_OVER = re.compile(r"\b(?:no longer|any ?more|any longer|stopped)\b", re.IGNORECASE)
# "gave it away and bought another", not "Tom and Jane parted"
_SECOND_CLAUSE = re.compile(
    r"[,;:]| (?:and|but) (?!(?:an?|the|my|your|his|her|its|our|their) )[a-z]"
)
_PRESENT = re.compile(r"(?:do|does|is|are|am)\b", re.IGNORECASE)
_PAST = re.compile(r"\b(?:did|was|were|had)\b", re.IGNORECASE)
_DONE = re.compile(r"(?:on |in )?\w+ (?:did\b|(?:was|were) .*(?:ed|[nt]|old)\W*$)", re.IGNORECASE)
# Probability of another answer to "when" above which it is left to the network
_LIKELY = 0.3
_OWNED = re.compile(
    r"\b(?P<owner>[^\W\d_]\w*)['’]s (?P<owned>\w+)|"
    r"\b(?P<thing>\w+) (?:do|does|did) (?!(?i:I|we|you|he|she|it|they)\b)(?P<other>\w+\b)(?!['’])"
)
_DOES = re.compile(
    r"(?:where|when|how much|what) (?:do|does) .+? (?P<verb>[a-z]+)(?: (?:as|at|for|in|with))?\?*$",
    re.I,
)
_HAS = re.compile(
    r"(?:do|does) (?P<who>\S+(?: (?!still\b)[A-Z]\S*)?) (?:still )?(?:own|have|possess|drive|ride) "
    r"(?P<thing>[^?]+?)(?: (?:now|any ?more|any longer))?\?*$", re.I
)  # fmt: skip
_TO = re.compile(r"[^.,;:!?]{0,40}? to (?P<who>(?:my |our |his |her )?[^\W\d_]+)", re.IGNORECASE)
# What somebody has now that what he had is gone
_HAS_NOW = re.compile(
    r"wh(?:at|ich) (?:kind of )?(?P<thing>[^?]+?) (?:do|does) (?P<who>\S+) "
    r"(?:have|own|drive|ride|use)(?: now)?\?*$",
    re.IGNORECASE,
)
# Of what kind a thing is said to be, or in which state
_STATE = re.compile(
    r"(?:is|are|am|was|were) (?P<thing>[^?]+? )?(?P<state>[a-z][a-z-]+)(?: (right )?now)?\?*$", re.I
)
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
# Of whom something is asked
_ASKED_OF = re.compile(
    r"\s*(?:(?i:where|when|what|how|why|which|whom?)\b[^?]*? )?(?i:do|does|did|is|are|was|were|has|"
    r"have|had|can|will) [^\W\d_a-z][\w-]+"
)
_OF_ALL = re.compile(r"[A-Z]\w+ (?:are|were|do|have|must|may|can|cannot|should|need)\b")
_OWNERS = frozenset("my our your his her its their i we you he she it they this that".split())
_NAME = re.compile(r"\b[^\W\d_a-z][\w-]+")
_FULL_NAME = re.compile(r"\b[^\W\d_a-z][\w-]{1,30}(?: [^\W\d_a-z][\w-]{1,30}){1,3}")
_TITLES = frozenset(
    "Mr Mrs Ms Miss Dr Prof Professor Sir Aunt Uncle Granny Grandma Grandpa".split()
)
# The first word of a question has a capital without being a name.
_ASKS = re.compile(
    r"\W{0,9}(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|should|must|may|"
    r"who|whose|what|which|where|when|why|how|and|so)\b(?:['’]s)?",
    re.IGNORECASE,
)
_STEPS = 2  # From somebody to whom he is told of together with
_BEFORE_IT = re.compile(r"\b(?:before|after) (?P<what>[^?,]{2,60})", re.IGNORECASE)
_MIN_SHARED = 2  # Words of a question that a statement has which says the same of another thing
_CALLED_OFF = re.compile(
    r"\b(?:(?:is|are|was|were|been|got) (?:cancell?ed|called off)|(?:is|are) off(?=\W*$))",
    re.IGNORECASE,
)
# After whoever it is said of
_NOT_SO = re.compile(
    r" ?(?:(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|must|should)"
    r"(?: not|n['’]t)|never|cannot) ",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:.]|\b(?:but|only|and)\b", re.IGNORECASE)
_OWNING = stems_of("do does is are still owner of own have the now")
_ALIKE = 0.5  # Cosine from which two states exclude each other or are one: "red", "green"


def without_others(
    question: str,
    told: Sequence[Told],
    moment: float,
    encode: Encode,
    ended: Sequence[Told] = (),
) -> list[Told]:
    """The statements without those about another thing than the one that a question names.

    Asked for order 12, where something is said of it, nothing is read about order 13; and whose
    favourite colour somebody's is, is not said of mine, nor where Ann lives by where she does not.
    """
    kept = [one for one in told if not _is_mine(question, one)]
    if not asks_whether(question) and not DENIED.search(question):
        kept = [one for one in kept if not any(denies_another(one, other) for other in kept)]
        # Whoever does not have the key is not who has it.
        if not any(one.search(question) for one in (_FORMER, _PAST, _OVER)):
            asked, by = stems_of(question), {one.changed_by for one in ended}
            own = [one for one in kept if stems_of(one.subject) <= asked]
            by |= {one.id for one in own if columns_of(one).relation.ends}
            kept = [one for one in kept if not _denies(one, asked, one.id in by)]
    kept = _of_closest(question, _of_named(question, kept), encode)
    if _BEFORE.search(question):
        kept = _ended(question, kept, moment)
    if times_at(question, moment):
        return kept
    codes = codes_of(question)
    if not any(codes and codes <= codes_of(one.subject) for one in kept):
        return kept
    return [one for one in kept if not (other := codes_of(one.subject)) or other & codes]


def _of_named(question: str, told: Sequence[Told]) -> list[Told]:
    """The statements without those about somebody whom nothing told joins with who is asked about.

    Where Annika lived is not where Ann lives, if something is told of Annika; where her brother
    lives may be where Felix does, who is told to be her brother, and not where she moved.
    """
    told = _of_full_name(question, told)
    names = _words_of_names(question) if _ASKED_OF.match(question) else set[str]()
    said = [{*normalise(f"{one.subject} {one.text}").split()} for one in told]
    people = [_people_in(one) - {*question.rstrip("?").split()} for one in told]  # "for parking"
    if not any(names & own for own in people):
        return [*told]
    every = set[str]().union(*people)
    joined = names & every
    for _ in range(_STEPS):
        joined |= set[str]().union(*(words & every for words in said if words & joined))
    kept = [
        one
        for one, own, words in zip(told, people, said, strict=True)
        if one.speaker is not None or not own or words & joined
    ]
    own = [one for one in kept if not is_of_other_kin(question, f"{one.subject}: {one.text}")]
    return own if any(_RELATIVE.search(one.text) for one in own) else kept


def _of_full_name(question: str, told: Sequence[Told]) -> list[Told]:
    """The statements without those about namesakes, where something is told of who is asked about.

    Joan Harker's telephone number is not John Harker's, nor is what she does said of Joan Fell;
    that she is his sister is said of both.
    """
    subjects = [_full_names(one.subject) for one in told]
    asks = _ASKS.match(question)
    asked = _full_names(question[asks.end() :] if asks else question)
    known = asked & {*chain.from_iterable(subjects)}
    names = {*chain.from_iterable(known)}
    return [
        one
        for one, own in zip(told, subjects, strict=True)
        if known & _full_names(one.text) or names.isdisjoint(chain.from_iterable(own))
    ]


def _full_names(text: str) -> set[tuple[str, str]]:
    """First and last words of the names of two words and more in a text."""
    found = (one[0].split() for one in _FULL_NAME.finditer(text))
    return {(first, last) for first, *_, last in found if first not in _TITLES}


def _people_in(one: Told) -> set[str]:
    """The names in a subject, but for what is said of all: "Dogs must be on leads"."""
    if _OF_ALL.match(one.text):
        return set()
    return _words_of_names(one.subject) - {*ARTICLES} - _OWNERS


def _words_of_names(text: str) -> set[str]:
    """The words of the names in a text, normalised: "joon" and "ho" of "Joon-ho"."""
    return {*" ".join(map(normalise, _NAME.findall(text))).split()}


def _of_closest(question: str, told: Sequence[Told], encode: Encode) -> list[Told]:
    """The statements without those of another thing or time, where one is told of what is asked.

    The alarm code of the bakehouse is not that of the shop, nor is Saturday a weekday.
    """
    asked = stems_of(question)
    said = [stems_of(one.text) for one in told]
    named = [stems_of(one.subject) for one in told]

    def is_of_other(place: int) -> bool:
        text, own, subject = told[place].text, said[place] & asked, named[place]
        if not any(own < other & asked for other in said):
            return False
        if len(own) >= _MIN_SHARED and says_of_another(question, text, text, encode):
            return True
        shared = subject & asked
        of_another = bool(shared) and not subject <= asked
        of_asked = any(shared < other <= asked for other in named)
        # Both are of days of the week that come again.
        each_week = EACH_WEEK.search(question) and EACH_WEEK.search(text)
        other_days = bool(each_week) and names_other_times(question, text)
        return (of_another and of_asked) or other_days

    others = {place for place in range(len(told)) if is_of_other(place)}
    rest = [said[place] & asked for place in range(len(told)) if place not in others]
    return [
        one
        for place, one in enumerate(told)
        if place not in others or not any(said[place] & asked < own for own in rest)
    ]


def _denies(one: Told, asked: set[str], ends: bool) -> bool:
    """Whether a statement says only what is no longer, or denies just what is asked."""
    denial = DENIED.search(one.text)
    start = max(0, one.text.find(one.subject))  # "Luckily, Ann left"
    if _SECOND_CLAUSE.search(one.text, start):  # it may say what is so instead
        return False
    said = stems_of(one.text[denial.end() :]) if denial else None
    ends = ends and asked.isdisjoint(stems_of(one.text) - stems_of(one.subject))
    return bool(ends or (said and said <= asked) or _OVER.search(one.text))


def _is_mine(question: str, one: Told) -> bool:
    """Whether somebody's thing is asked for, and a statement tells of mine or another's."""
    said = normalise(one.text).split()
    mine = {thing for owner, thing in pairwise(said) if owner in ("my", "our")}
    mine.update(said[3:] if said[:2] == ["i", "have"] else ())
    named = {normalise(found["owned"] or "") for found in _OWNED.finditer(one.subject)}
    for found in _OWNED.finditer(question) if one.speaker is None else ():
        owner = found["owner"] or found["other"]
        # "My brother's number" may be told as that of Tom.
        owned = mine | named if owner[0].isupper() else mine
        if normalise(found["owned"] or found["thing"]) in owned and normalise(owner) not in said:
            return True
    return False


def _ended(question: str, told: Sequence[Told], moment: float) -> list[Told]:
    """Of the statements those that have ended and are about what is asked; if none are, all."""
    asked = stems_of(_BEFORE.sub(" ", question)) - {"my"}
    ended = [one for one in told if one.has_ended(moment)]
    named = [one for one in ended if (own := stems_of(one.subject) - {"my"}) and own <= asked]
    return named or [one for one in ended if not asked.isdisjoint(stems_of(one.text))] or [*told]


def decided(
    question: str, told: Sequence[Told], reading: StatementReading, moment: float, encode: Encode
) -> StatementReading:
    """A reading that says yes, no or when, where a statement says or denies just what is asked.

    "Bob has never been to Rome" denies it and contradicts nothing, and whoever "used to smoke" does
    not. Where several differ, it is left to the network.
    """
    if when := _WHEN.match(question.strip()):
        return _timed(when, told, reading, moment)
    if not asks_whether(question):
        return _as_asked(question, told, reading)
    if changed := _CHANGED.match(question.strip()):
        return _changed(stems_of(changed["rest"]), told, reading)
    if (has := _HAS.match(question.strip())) and (passed := _passed_on(has, told)):
        return reading.of_form(*passed)
    now = _PRESENT.match(question.strip()) is not None
    places: dict[int | None, int] = {one.id: index for index, one in enumerate(told)}
    found: dict[int, bool] = {}
    for index, one in enumerate(told if not times_at(question, moment) else ()):
        ended = now and one.change == "end" and (one.valid_until or 0) <= moment and one.polarity
        was_over = one.certainty == "was" and one.valid_until == one.valid_from
        holds = not one.has_ended(moment) or was_over
        if not (holds or ended) or one.certainty not in ("is", "was"):
            continue
        said = restates(question, one.text, one.subject) if one.speaker is None else None
        if said is not None and said.sure:
            found[places.get(one.changed_by, index) if ended else index] = said.yes and not ended
    if len(set(found.values())) != 1:
        return _with_ground(question, told, reading, encode)
    return reading.of_form("yes" if next(iter(found.values())) else "no", max(found))


def _passed_on(asked: re.Match[str], told: Sequence[Told]) -> tuple[AnswerForm, int] | None:
    """Whether somebody has what was sold or given away last, and by which statement; else None."""
    who, thing = normalise(asked["who"]).split(), stems_of(asked["thing"])
    about = [place for place, one in enumerate(told) if thing <= stems_of(one.text)]
    text = told[about[-1]].text if about else ""
    parted, instead = parted_with(text), INSTEAD.search(text)
    if parted is None or (instead and not thing.isdisjoint(stems_of(instead["thing"]))):
        return None
    to = _TO.match(text, parted.end())
    if to and normalise(to["who"]).split() == who:
        return "yes", about[-1]
    for place in about[:-1]:  # "I have a red car", and "I sold my blue car"
        one = told[place]
        own = normalise(one.subject).split() == who and one.polarity and one.change is None
        if own and HAS.search(one.text) and not parts_with(told[about[-1]], one):
            return "yes", place
    return ("no", about[-1]) if normalise(text).split()[: len(who)] == who else None


def _as_asked(question: str, told: Sequence[Told], reading: StatementReading) -> StatementReading:
    """A reading without another's relative; what "went up from 30 to 35" is 35, and was 30.

    Nor does what a statement denies answer: "Edgar doesn't eat fish".
    """
    if reading.form not in ("value", "list") or not reading.pieces:
        return reading
    if not DENIED.search(question):
        reading = reading._replace(
            pieces=tuple(one for one in reading.pieces if not _is_denied(one, told)),
            items=tuple(one for one in reading.items if not _is_denied(one, told)),
        )
        if not reading.pieces:
            return reading.of_form("none")
    first = reading.pieces[0]
    best = told[first.statement]
    value = stems_of(best.text[first.start : first.end])
    # "Where did she live before Rome?" is not answered by "Rome".
    before = _BEFORE_IT.search(question)
    if before and value and value <= stems_of(before["what"]):
        return reading.of_form("none")
    does, said = _DOES.match(question.strip()), columns_of(best).relation.aspects - OPEN_ASPECTS
    wanted = relation_of(f"{does['verb']}s at y", "").aspects if does else frozenset[str]()
    # Where she works is not where she lives, which may be where she is.
    of_other = wanted and said - {"whereabouts"} and wanted.isdisjoint(said)
    if of_other or is_of_other_kin(question, f"{best.subject}: {best.text}"):
        return reading.of_form("none")
    if (sides := _FROM_TO.search(best.text)) is None:
        return reading
    side = sides.span("before" if _FORMER.search(question) else "now")
    if first.end <= sides.start("before") or sides.end("now") <= first.start:
        return reading
    start, end = max(first.start, side[0]), min(first.end, side[1])
    piece = Piece(first.statement, *((start, end) if start < end else side), first.probability)
    return reading._replace(pieces=(piece, *reading.pieces[1:]))


def _is_denied(piece: Piece, told: Sequence[Told]) -> bool:
    """Whether a piece is denied: "I don't drink coffee any more, only tea", "Bob does not sing"."""
    one = told[piece.statement]
    clause = _CLAUSE.split(one.text[: piece.start])[-1] + one.text[piece.start : piece.end]
    denial = DENIED.search(clause) or _NOT_SO.match(one.text, piece.end)
    return not one.polarity and denial is not None


def _changed(asked: set[str], told: Sequence[Told], reading: StatementReading) -> StatementReading:
    """A reading that says that something changed, where that was told; no "no" by what it is."""
    by = {one.changed_by for one in told if one.change == "supersede"}
    for index, one in reversed([*enumerate(told)]):
        is_new = one.id in by or "new" in normalise(one.text).split() or _FROM_TO.search(one.text)
        if is_new and asked <= stems_of(one.text) and not DENIED.search(one.text):
            return reading.of_form("yes", index)
    denied = DENIED.search(told[int(np.argmax(reading.relevance))].text)
    return reading.of_form("none") if reading.form == "no" and not denied else reading


def with_instead(
    question: str, told: Sequence[Told], ended: Sequence[Told], reading: StatementReading
) -> StatementReading:
    """A reading that gives what somebody has now: "I sold the Fiat and bought a Volvo"."""
    asked = _HAS_NOW.match(question.strip())
    thing, who = (stems_of(asked["thing"]), normalise(asked["who"])) if asked else (set[str](), "")
    by = set[int | None]()
    for one in sorted(ended, key=lambda one: one.id):
        if one.id in by or thing <= stems_of(f"{one.subject} {one.text}"):
            by.add(one.changed_by)
    for index, one in enumerate(told):
        found = INSTEAD.search(one.text)
        if found and one.id in by and normalise(one.subject) == who:
            piece = Piece(index, *found.span("thing"), 1.0)
            return reading.of_form("value", index)._replace(pieces=(piece,))
    return reading


def _timed(
    asked: re.Match[str], told: Sequence[Told], reading: StatementReading, moment: float
) -> StatementReading:
    """A reading that gives the time in the one statement that says what a question asks it of.

    "When is the concert?" is answered by "The concert was moved to Saturday", and by "The concert
    is cancelled" if that is the last that was told of it.
    """
    words = stems_of(asked["rest"])
    own = [index for index, one in enumerate(told) if words and words <= stems_of(one.subject)]
    last = max(own, key=lambda index: (told[index].told, index), default=None)
    if last is not None and told[last].polarity and _CALLED_OFF.search(told[last].text):
        whole = Piece(last, 0, len(told[last].text), 1.0)
        return reading.of_form("value", last)._replace(pieces=(whole,))
    places = [
        Piece(index, *place, 1.0)
        for index, one in enumerate(told)
        if (not one.has_ended(moment) or one.change is None)
        and (place := _time_said(asked, one)) is not None
    ]
    # Another likely answer may be a correction: "No, on Friday".
    if len(places) != 1 or any(
        one.statement != places[0].statement
        and one.probability * (1 - reading.forms["none"]) > _LIKELY
        for one in reading.pieces[:1]
    ):
        return reading
    return reading.of_form("value", places[0].statement)._replace(pieces=tuple(places))


def _with_ground(
    question: str, told: Sequence[Told], reading: StatementReading, encode: Encode
) -> StatementReading:
    """A reading without "yes" by the opposite of what is asked, or a verdict by what else is said.

    Such as what is said of another day or person, or a denial of another thing.
    """
    best = told[place := int(np.argmax(reading.relevance))]
    if reading.form == "yes" and _PRESENT.match(question):
        # "Rosa sold the bicycle" ended that she owns one, and says so by no word of the question.
        about = stems_of(question) - _OWNING
        ended = any(
            one.change == "end" and one.changed_by == best.id and about <= stems_of(one.text)
            for one in told
        )
        said = restates(question, best.text, best.subject) if ended else None
        if columns_of(best).relation.ends or (ended and not (said and said.yes)):
            return reading.of_form("no", place)
    needed = [one for one, share in zip(told, reading.relevance, strict=True) if share > 1 / 2]
    other_days = reading.form in ("yes", "no") and names_other_times(question, best.text)
    found = differences(question, best.text)
    opposed = reading.form == "yes" and any(one.opposed for one in found)
    nearest = found[0]
    # "Hates liquorice" says nothing of toffee.
    others = nearest.opposed and min(len(nearest.missing), len(nearest.instead)) > 1
    denied = reading.form != "yes" and ((nearest.denies and nearest.is_of_other) or others)
    asked = _WHETHER.match(question.strip())
    of_another = asked and all(is_of_another(asked["rest"], one) for one in needed or [best])
    other = other_days or opposed or of_another or is_of_other_kin(question, best.text)
    if reading.form in ("yes", "no") and (state := _STATE.match(question.strip())):
        by = {one.changed_by for one in told if one.change == "end" and reading.form == "no"}
        if not any(
            one.id in by or DENIED.search(one.text) or _is_of_state(state, one, encode)
            for one in needed or [best]
        ):  # little likely: what files say of it counts more
            low: dict[AnswerForm, float] = {"none": 0.6, reading.form: 0.4}
            reading = reading._replace(forms=dict.fromkeys(FORMS, 0.0) | low)
    return reading.of_form("none") if other or (denied and len(needed) < 2) else reading


def _is_of_state(asked: re.Match[str], one: Told, encode: Encode) -> bool:
    """Whether a statement says of the thing that is asked of its state or of one like it.

    "The ferry is blue" says nothing of whether it is fast, or of whether the boat is red.
    """
    thing = asked["thing"] or ""
    if (own := stems_of(thing)) and own.isdisjoint(stems_of(f"{one.subject} {one.text}")):
        return False
    words = [word for word in query_terms(one.text) if word not in query_terms(thing)][:12]
    if not words or not PREPOSITIONS.union(ARTICLES).isdisjoint(normalise(thing).split()[-1:]):
        return True
    opposed = any(pair.opposed for pair in differences(asked.group(), one.text))
    states = [f"It is {word}." for word in (asked["state"], *words)]
    return opposed or not differ(encode, states[:1], states[1:], _ALIKE)


def _time_said(asked: re.Match[str], one: Told) -> tuple[int, int] | None:
    """Where the one time stands in a statement that says what is asked; None in any other."""
    times = times_at(one.text, one.told)
    if sides := _FROM_TO.search(one.text):
        start, end = sides.span("before" if _FORMER.search(asked.group()) else "now")
        times = [place._replace(role="at") for place in times if start <= place.start < end]
    words = stems_of(asked["rest"])
    if not times and _DONE.match(asked.group()) and Clauses(one.text).tense_at(0) < 0:
        # Told without a time, it was done on that day, which stands nowhere in it.
        return (0, 0) if words <= stems_of(one.text) and not DENIED.search(one.text) else None
    if len(times) != 1 or one.certainty == "maybe" or DENIED.search(one.text):
        return None
    [place] = times
    end = place.end
    if hours := hours_in(one.text):  # "on 2 May at 9:30"
        [(start, end), *others] = hours
        if others or one.text[place.end : start].strip(" ,"):
            return None
    if place.role == "for" or (place.role == "until") != (asked["until"] is not None):
        return None
    named = set(normalise(one.subject).split()) <= set(normalise(asked["rest"]).split())
    said = words <= stems_of(one.subject) or (named and words <= stems_of(one.text))
    return (place.start, end) if said else None


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
