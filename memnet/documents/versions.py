"""What holds at the time of a question: versions of a document, and what was said later."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import PurePath
from typing import NamedTuple, TypeAlias

from memnet.documents.messages import day_sent
from memnet.documents.question import Question
from memnet.reader.answers import Prediction
from memnet.reader.passages import RankedSlot
from memnet.reader.quotes import Quotation
from memnet.reader.values import unit_of, value_of
from memnet.text.dates import MONTH, date_spans, day_name, days_in, local_time, month_of
from memnet.text.english import ASKS_EARLIER, STOP_WORDS, Clauses, units
from memnet.text.names import has_digit, normalise, stems
from memnet.text.relative import times_in

# Share of the words of the shorter of two passages that the other one holds, from which they are of
# two versions of a document: under one title, and under two.
_ALIKE, _ALIKE_APART = 0.5, 0.75
_MIN_WORDS = 5
# Factor of the attention to a version that does not hold at the time of the question.
_OTHER = 0.1
_FIRST_LINES = 200  # Characters at its start that say whether it is valid at all
_HEAD = 1000  # Characters at the start of a document that may say which version it is
_YEAR = re.compile(r"(?<![\w.,])(?:19|20)\d\d(?![\w.,]\d|\w)")
_IN_YEAR = re.compile(
    rf",? (?:back )?(?:in|during|as of)(?: the year)? {_YEAR.pattern}", re.IGNORECASE
)
_PRESENT = {"was": "is", "were": "are", "did": "does"}
_PAST = re.compile(rf"\b(?:{'|'.join(_PRESENT)})\b", re.IGNORECASE)
_MONTH = re.compile(rf"\b{MONTH}\.? (?P<year>(?:19|20)\d\d)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\b(?:v|version|rev|revision|edition|issue)[ .:-]{0,2}(?P<number>\d{1,4}(?:\.\d{1,4}){0,3})\b",
    re.IGNORECASE,
)
_SINCE = re.compile(
    r"\b(?:valid|effective|in force|appl(?:y|ies|icable)|dated|date|updated|status|as (?:of|at))\b"
    r":?(?: as)?(?: of| from| since| on)?:? (?P<when>[^\n]{4,30})",
    re.IGNORECASE,
)
# In a title, a name or a status, and what a text says of itself.
_OUT_OF_DATE = re.compile(
    r"\b(?:draft|archived?|obsolete|outdated|withdrawn|superseded|replaced|revoked|expired|old)\b",
    re.IGNORECASE,
)
_SAYS_OUT_OF_DATE = re.compile(
    r"^\W{0,3}(?:status:? {1,2})?(?:draft|archived|obsolete|withdrawn|revoked)\b|"
    r"\b(?:superseded|replaced) by\b|\bno longer (?:valid|in force|applies)\b",
    re.IGNORECASE | re.MULTILINE,
)
# Of itself alone, whatever versions there are: "Price list 2025 - no longer valid", "(old)"
_SAYS_IT_IS_OUT_OF_DATE = re.compile(
    r"\W{0,9}(?:status\W{1,3})?(?:draft|archived|obsolete|withdrawn|revoked|superseded|replaced|"
    r"no longer (?:valid|in force)|this [\w ]{2,30} (?:is|was|has been) (?:superseded|replaced|"
    r"withdrawn|no longer (?:valid|in force)))\b|[^.!?\n]{3,80}(?:[-–—:,(] ?no longer (?:valid|"
    r"in force)\b|\((?:old|outdated|superseded|expired|archived?|draft)\)\W*$)",
    re.IGNORECASE,
)
# With what is said of the version that is replaced: "which is no longer valid"
_REPLACES = re.compile(
    r"\b(?:replaces?|supersedes?)\b[^.\n]{0,120}(?:\n[^.\n]{1,120})?", re.IGNORECASE
)
_BEFORE = re.compile(r"\b(?:before|until|till|up to|prior to) \Z", re.IGNORECASE)
# What says that something is otherwise than it was
_CHANGES = re.compile(
    r"\b(?:instead(?! of)|change of plans?|chang(?:ed|ing)|postponed|rescheduled|sold|put off|"
    r"mov(?:e|ed|ing) (?:it |the (?:\w{1,20} ){1,3})?(?:to|by|until)|brought forward|pushed back|"
    r"new (?:date|day|time|place|venue|room|price|number)|call(?:ed)? off|cancel(?:l?ed)?|"
    r"correction|replaces?|no longer|any ?more|gave away|in (?:his|her|its|their) place)\b",
    re.IGNORECASE,
)
_NOW = re.compile(r"\bnow\b", re.IGNORECASE)  # Less sure: of all that is asked about
# The same with what is so now
_CHANGED_TO = re.compile(
    rf"{_CHANGES.pattern}|\b(?:now|instead of|from now on|moves to|takes over|after all|"
    r"(?:the|my|our|a) new|(?:starting|as of) (?:today|now|tomorrow|next \w+))\b",
    re.IGNORECASE,
)
_SPEAKER = re.compile(r"^[^\W\d][^:\n]{0,40}: ")  # Before what is said in a chat
_MOST_LATER = 3  # Passages that are asked for another answer
_MIN_ASKED = 2  # Words of a question that another file has, too
_ABOVE = 200  # Characters above a sentence that may say what it is about
_OF_CHANGED = 0.9  # Share of the confidence of what held that counts for what holds
# What is not said to be so, or not now, or not for good
_HEDGES = re.compile(
    r"\?\s*$|\b(?:if|unless|should|would|could|(?-i:may)|might|wish|hope|perhaps|maybe|propos\w+|"
    r"suggest\w*|demand\w*|rumou?r\w*|thinks?|thought|believe\w*|claim\w*|says?|said|according to|"
    r"dream\w*|joke|wrong|false|mistak\w+|untrue|not|never|against|reject\w*|off the table|"
    r"until now|up to now|so far|wants? to|only|ago|yesterday|at that time|once|"
    r"(?:last|this|that) (?:time|day|week|month|year|spring|summer|autumn|winter)|last \w+day|"
    r"for (?:a|one|two|three|\d{1,3}) \w+|(?:in|since|until|from) (?:1[5-9]|20)\d\d)\b",
    re.IGNORECASE,
)
# What may stand before the subject: greetings, reasons and "from now on", and no other scope
_OPENING = re.compile(
    r"(?:(?:so|and|but|also|then|now|note that|please note|attention|hello|hi|hey|dear \w{1,20}|"
    r"sorry|ok|okay|yes|fine|news|update|reminder)[\s,.:;!–-]{1,4}){0,3}"
    r"(?:(?:because of|due to|owing to|thanks to|because) [^,]{1,60}, ?)?"
    r"(?:(?:from now on|(?:as of|starting|from) (?:now|today|tomorrow)),? )?"
    r"(?:(?:the|our|my|your|his|her|their|its|we|I|you|they|he|she) )?",
    re.IGNORECASE,
)
# Between "Amara" and "junior coach"
_IS = re.compile(
    r"\s*(?:(?:is|are|was made|becomes?|will be|has|have|takes|took|keeps) )?"
    r"(?:(?:now|over|as|the|our|my|a|new) )*",
    re.IGNORECASE,
)
# "The date of the fair" is the fair's, unlike "the owner of the shop".
_OF_ITS_TIME = re.compile(
    r"(?:(?:the|a|our) )?(?:new )?(?:date|day|time|start|beginning|place|venue|location|room) "
    r"(?:of|for) (?:(?:the|our|my) )?",
    re.IGNORECASE,
)
_NARROWS = re.compile(r"\s(?:of|for|in|at|with|from|by) (?:the |an? |our |my )?[^\W\d]")
_IT = re.compile(r"(?:it|this|that|they)\b", re.IGNORECASE)
_BORDER = re.compile(r"[,;:?!]")
_WORD = re.compile(r"[^\W_]+")
# Keys of metadata that say of when a document is, the surest first.
_DATES = ("valid_from", "effective", "date", "year", "published", "updated", "modified", "created")


_Source: TypeAlias = tuple[str, str]  # Id and namespace


class _Version(NamedTuple):
    """Which version of a document a passage is of; None and 0 where nothing says so."""

    day: date | None  # From which it holds, or on which it was written
    number: tuple[int, ...]
    standing: int  # 1 if it says that it replaces another one, -1 if it is a draft or replaced

    @property
    def label(self) -> str:
        """Its day and number, as a part of a title."""
        number = f"version {'.'.join(map(str, self.number))}" if self.number else ""
        day = "" if self.day is None else day_name(self.day)
        return ", ".join(filter(None, (number, day)))


def weigh_versions(
    question: Question, passages: Sequence[RankedSlot]
) -> tuple[list[RankedSlot], list[RankedSlot], list[list[RankedSlot]], str]:
    """Some passages without those of a version that does not hold, and these.

    Passages of several documents that say almost the same are of versions of one. The one that a
    question is about is that of the time or number that it names, or else the newest; the others
    are attended to less. Each has its day and number in its title, by which a reader tells them
    apart. The reader compares what it reads together, and may take either of two copies. A year by
    which a version was chosen is not looked for in what it says, unless a passage has it that is
    not of another version, as "These rules replace those of 2021" may be.

    Returns:
        The passages of a version that holds, and of none; the others; of the first those of which
        nothing says which holds, by document; and the question, without the year by which a version
        was chosen.
    """
    holding = dict(enumerate(passages))
    others: list[RankedSlot] = []
    undecided: list[list[RankedSlot]] = []
    last, by_year = _asked_day(question), False
    heads = {
        one: question.store.sources.head(*one, _HEAD) for one in {item.source for item in passages}
    }
    for group in _groups(question, passages):
        members = [passages[index] for index in group]
        versions = [_version(item, heads[item.source]) for item in members]
        highest = max(passages[index].attention for index in group)
        chosen = _chosen(question.text, last, versions)
        for index, version in zip(group, versions, strict=True):
            slot = passages[index].slot
            in_year = "" if last is None or version != chosen else f"valid in {last.year}"
            title = ", ".join(filter(None, (slot.title, version.label, in_year)))
            item = replace(passages[index], slot=replace(slot, title=title))
            if chosen is None:
                holding[index] = item
            elif version == chosen:
                holding[index] = replace(item, attention=highest)
            else:
                del holding[index]
                others.append(replace(item, attention=_OTHER * highest))
        if chosen is None:
            undecided.append([holding[index] for index in group])
        elif last is not None and chosen.day is not None and chosen.day <= last:
            by_year = True
    if last is None and not ASKS_EARLIER.search(question.text):
        old = {one for one, head in heads.items() if _is_outdated(head)}
        old |= _replaced(list(holding.values()), heads)
        outdated = [n for n, item in holding.items() if item.source in old]
        for index in outdated if len(outdated) < len(holding) else ():
            item = holding.pop(index)
            others.append(replace(item, attention=_OTHER * item.attention))
    asked = _without_year(question.text, holding.values()) if by_year else question.text
    return list(holding.values()), others, undecided, asked


def _without_year(question: str, passages: Iterable[RankedSlot]) -> str:
    """A question without the one year that it names, unless one of the passages has it.

    It is then asked of what held in that year, in the present, as a document says it.
    """
    years, year = _YEAR.findall(question), _IN_YEAR.search(question)
    if year is None or len(years) > 1 or any(years[0] in item.slot.text for item in passages):
        return question
    rest = question[: year.start()] + question[year.end() :]
    return _PAST.sub(_in_present, rest, count=1)


def _in_present(found: re.Match[str]) -> str:
    word = _PRESENT[found[0].casefold()]
    return word.capitalize() if found[0][0].isupper() else word


def _replaced(items: Sequence[RankedSlot], heads: Mapping[_Source, str]) -> set[_Source]:
    """Sources of which another one of the same title says that it replaces what was before."""
    titled: defaultdict[str, dict[_Source, RankedSlot]] = defaultdict(dict)
    for item in items:
        titled[_plain_title(item)][item.source] = item
    old: set[_Source] = set()
    for title, found in titled.items():
        if not title or len(found) < 2:
            continue
        versions = {one: _version(item, heads[one]) for one, item in found.items()}
        days = [one.day for one in versions.values() if one.standing > 0 and one.day]
        newest = max(days, default=None)
        old |= {one for one, each in versions.items() if newest and each.day and each.day < newest}
    return old


def _is_outdated(head: str) -> bool:
    """Whether a document says on its first lines that it is no longer valid, or a draft."""
    return any(map(_SAYS_IT_IS_OUT_OF_DATE.match, head[:_FIRST_LINES].splitlines()[:2]))


def _groups(question: Question, passages: Sequence[RankedSlot]) -> list[list[int]]:
    """Indices of passages that are versions of each other, by document one."""
    groups: list[list[int]] = []
    asked = {stem for stem in stems(question.text) if not stem[0].isdigit()}
    for index, item in enumerate(passages):
        if item.slot.has_usage or item.slot.valid_from is not None:  # said, not written
            continue
        for group in groups:
            first = passages[group[0]]
            sources = {passages[other].slot.source for other in group}
            if item.slot.source not in sources and _are_versions(first, item, asked):
                group.append(index)
                break
        else:
            groups.append([index])
    return [group for group in groups if len(group) > 1]


def _are_versions(one: RankedSlot, other: RankedSlot, asked: set[str]) -> bool:
    """Whether two passages say almost the same, and as much of what is asked about.

    "The green pump lifts 9 m" and "The red pump lifts 7 m" are no versions to one who asks for the
    red pump.
    """
    words, others = one.words, other.words
    share = len(words & others) / max(1, min(len(words), len(others)))
    if min(len(words), len(others)) < _MIN_WORDS or words == others or share < _ALIKE:
        return False
    named, other_named = (
        asked & stems(f"{item.slot.title} {item.slot.text}") for item in (one, other)
    )
    same_title = _plain_title(one) == _plain_title(other)
    return named == other_named and share >= (_ALIKE if same_title else _ALIKE_APART)


def _plain_title(item: RankedSlot) -> str:
    """A title without what tells versions apart."""
    title = _OUT_OF_DATE.sub(" ", _NUMBER.sub(" ", _MONTH.sub(" ", item.slot.title)))
    return " ".join(word for word in normalise(title).split() if not word.isdigit())


def _version(item: RankedSlot, head: str) -> _Version:
    """The version of the document that a passage is of: by what it says, its title and its name.

    ``head`` is the start of the document.
    """
    slot = item.slot
    head = "\n".join(filter(None, (head, slot.text)))
    name = f"{slot.title} {PurePath(slot.source).stem}".replace("_", " ")
    metadata = {key.lower().replace(" ", "_"): str(slot.metadata[key]) for key in slot.metadata}
    said = [found["when"] for found in _SINCE.finditer(head)]
    dates = [metadata[key] for key in _DATES if key in metadata]
    day = next((day for text in (*said, *dates[:1], name, head) if (day := _day(text))), None)
    given = f"version {metadata['version']}" if "version" in metadata else ""
    number = next((found for text in (given, name, head) if (found := _NUMBER.search(text))), None)
    status = f"{name} {metadata.get('status', '')}"
    own = _REPLACES.sub(" ", head)
    outdated = _OUT_OF_DATE.search(status) or _SAYS_OUT_OF_DATE.search(own)
    standing = -1 if outdated else int(bool(_REPLACES.search(head)))
    return _Version(day, _number(number) if number else (), standing)


def _number(found: re.Match[str]) -> tuple[int, ...]:
    return tuple(map(int, found["number"].split(".")))


def _day(text: str) -> date | None:
    """The first day that a text writes out with its year, or that of a month or year alone."""
    days = [day.full() for day in days_in(text) if day.year is not None]
    if days:
        return days[0]
    if month := _MONTH.search(text):
        return date(int(month["year"]), month_of(month["month"]), 1)
    year = _YEAR.search(text)
    return date(int(year[0]), 1, 1) if year else None


def _chosen(text: str, last: date | None, versions: Sequence[_Version]) -> _Version | None:
    """The version that a question of a time until ``last`` is about; None where nothing tells."""
    if asked := _NUMBER.search(text):
        return next((one for one in versions if one.number == _number(asked)), None)
    ordered = _in_order(versions)
    if ordered is None:
        return None
    if last is not None and all(one.day for one in versions):
        return next((one for one in reversed(ordered) if one.day and one.day <= last), ordered[0])
    return ordered[-2 if ASKS_EARLIER.search(text) else -1]


def _asked_day(question: Question) -> date | None:
    """The last day of the time that a question names, or is asked as of; None without one."""
    text, year = question.text, _YEAR.search(question.text)
    if year and _BEFORE.search(text, 0, year.start()):
        return date(int(year[0]) - 1, 12, 31)
    times = times_in(text, local_time(question.scope.moment()).date())
    if times:
        return times[-1].days.last
    if year:
        return date(int(year[0]), 12, 31)
    as_of = question.scope.as_of
    return None if as_of is None else local_time(as_of).date()


def _in_order(versions: Sequence[_Version]) -> list[_Version] | None:
    """Versions from the oldest to the newest, drafts before all; None where they don't say it."""
    by_day = all(one.day for one in versions)
    by_number = not by_day and all(one.number for one in versions)

    def key(one: _Version) -> tuple[bool, date, tuple[int, ...], int]:
        day, number = one.day if by_day else None, one.number if by_number else ()
        return one.standing >= 0, day or date.min, number, one.standing

    ordered = sorted(versions, key=key)
    return None if key(ordered[-1]) == key(ordered[-2]) else ordered


def by_later(
    question: str,
    read: Prediction,
    found: Sequence[RankedSlot],
    later: Sequence[RankedSlot],
    look_at: Callable[[Sequence[RankedSlot]], Prediction],
) -> Prediction:
    """A prediction by one of the messages that were sent later, if one that was ``found`` answers.

    Where any of the ``later`` ones says that something has changed that the question or the answer
    is about, without an answer of its own, both are shown, and neither as the answer.
    """
    said = _words_of(" ".join(one.text for one in read.quotes))
    asked = _words_of(question) & said
    for item in found[:_MOST_LATER]:
        new = look_at([item])
        other = new.short is not None and (new.kind, new.short) != (read.kind, read.short)
        own = {one.item.slot.id for one in new.quotes[:1]}  # A comparison quotes nothing
        other = other and any(one.slot.id in own for one in later)
        same = other and _is_of_same(question, read, new)
        if same and _says_change(new):
            return _in_place(read, new)
        # What a mail says above what it quotes may be of something else.
        counts = same or (other and item.slot.id != read.quotes[0].item.slot.id)
        if counts and new.promised and not new.abstained:
            return new
    no_answer = {item.slot.id for item in found[:_MOST_LATER]}
    about = asked | (_words_of(read.short or "") & said)
    changed: list[tuple[int, Quotation]] = []
    for item in later:
        for unit in units(item.slot.text):
            text = item.slot.text[unit.start : unit.end]
            if item.slot.id in no_answer and has_digit(text) and not any(date_spans(text)):
                continue  # An amount of something else: "the rent is now 2,150" of how big it is
            words = _words_of(text)
            all_asked = bool(asked) and asked <= words and _NOW.search(text) is not None
            if all_asked or (_CHANGES.search(text) and not about.isdisjoint(words)):
                one = Quotation(item, unit.start, unit.end, 0.0)
                changed.append((len(words & said), one))
    if not changed:
        return read
    _, most = max(changed, key=lambda one: one[0])
    support = (*read.support, most.item)
    return read._replace(quotes=(*read.quotes, most), support=support, promised=False)


def as_changed(
    question: Question,
    read: Prediction,
    items: Sequence[RankedSlot],
    look_at: Callable[[Sequence[RankedSlot]], Prediction],
) -> Prediction:
    """A prediction by one of the ``items`` that says what has changed of what it says.

    "The fair is on 6 July" holds no longer where another file says that it "moves to 13 July", or
    where a later one of the same kind gives another day. Whoever asks what was is not told so.
    """
    if read.short is None or read.kind != "value" or _asked_day(question) is not None:
        return read
    if Clauses(question.text).tense_at(0) < 0 or ASKS_EARLIER.search(question.text):
        return read
    own = read.quotes[0]
    asked = _words_of(question.text) & _words_of(own.text)
    if not asked:
        return read
    found: list[tuple[bool, date, RankedSlot]] = []
    day = _day_of(question, own.item)
    for item in items:
        slot = item.slot
        said = (slot.text[unit.start : unit.end] for unit in units(slot.text))
        about = [text for text in said if asked <= _words_of(text)]
        same = item.source == own.item.source
        # Elsewhere "the meeting" may be another one.
        if not about or slot.id == own.item.slot.id or len(asked) < _MIN_ASKED - same:
            continue
        other = _day_of(question, item)
        if (same and slot.start < own.item.slot.start) or (day and other and other < day):
            continue
        later = bool(day and other and other > day)
        if later or any(map(_CHANGED_TO.search, about)):
            found.append((later, other or date.min, item))
    for later, _, item in sorted(found, key=lambda one: one[:2], reverse=True)[:_MOST_LATER]:
        new = look_at([item])
        if normalise(new.short or "") == normalise(read.short or ""):
            continue
        if not _is_of_same(question.text, read, new):
            continue
        if _says_change(new):
            return _in_place(read, new)
        if later and new.promised and not new.abstained:
            return new
    return read


def _says_change(read: Prediction) -> bool:
    """Whether a prediction is by what says that something is otherwise now."""
    text, before = _sentences(read)
    return _CHANGED_TO.search(f"{before} {text}") is not None


def _is_of_same(question: str, read: Prediction, new: Prediction) -> bool:
    """Whether a prediction gives another value of just what an earlier one gives one of.

    All words of the question that what was read before has stand there, too, beside each other, and
    no others that narrow them: "the head of the music school" is not that of the school. "It" is
    what the sentence before is about.
    """
    if new.short is None or not new.quotes or not read.quotes or not _alike(read, new):
        return False
    old = read.quotes[0]
    above = old.item.slot.text[max(0, old.start - _ABOVE) : old.end]
    known = stems(f"{old.item.slot.title}\n{_SPEAKER.sub('', above)}")
    asked = {one for one in stems(question) if len(one) > 2 or one.isdigit()} & known
    text, before = _sentences(new)
    if _HEDGES.search(f"{before} {text}") or not asked:
        return False
    titled = stems(new.quotes[0].item.slot.title) - stems(f"{before} {text}")
    if asked <= titled:  # "It was moved" below "Hearing"
        return _IT.match(text) is not None
    asked -= titled
    if before:
        return _subject(asked, before, (-1, -1)) is not None
    value = text.find(new.short)
    found = _subject(asked, text, (value, value + len(new.short))) if value >= 0 else None
    return found is not None and not _BORDER.search(text[found[1] : value])


def _sentences(read: Prediction) -> tuple[str, str]:
    """The sentence with the value of a prediction, and the one before it if that says what "it" is.

    That is empty elsewhere.
    """
    quote, text = read.quotes[0], read.quotes[0].item.slot.text
    place = quote.start + max(0, quote.text.find(read.short or ""))
    said = [text[one.start : one.end] for one in units(text) if one.start <= place] or [quote.text]
    *before, own = (_SPEAKER.sub("", one) for one in said[-2:])
    return own, "".join(before) if _IT.match(own) else ""


def _subject(asked: set[str], text: str, value: tuple[int, int]) -> tuple[int, int] | None:
    """Where all words that are asked for stand, without another among, before or behind them.

    The value of it, a span of the text, may be: "the key hangs at Ida's", "Amara is the coach".
    """
    words = [
        (word.span(), stems(word[0]))
        for word in _WORD.finditer(text)
        if word[0].casefold() not in STOP_WORDS
    ]
    own = [number for number, (_, said) in enumerate(words) if said & asked]
    if not asked <= set[str]().union(*(said for _, said in words)):
        return None
    first, last = words[own[0]][0][0], words[own[-1]][0][1]
    behind = _NARROWS.match(text, last)
    narrow = own != [*range(own[0], own[-1] + 1)] or (behind and behind.end() - 1 != value[0])
    opening = _OF_ITS_TIME.sub("", text[:first])
    if 0 <= value[0] < first and _IS.fullmatch(text, value[1], first):
        opening = text[: value[0]]
    return None if narrow or not _OPENING.fullmatch(opening) else (first, last)


def _alike(read: Prediction, new: Prediction) -> bool:
    """Whether two predictions give values of one kind: days, numbers of one unit, or names."""
    shorts = [one.short or "" for one in (read, new)]
    kinds = {(any(date_spans(one)), has_digit(one)) for one in shorts}
    measures = {unit_of(value.unit) for one in shorts if (value := value_of(one)) and value.unit}
    return read.kind == new.kind and len(kinds) == 1 and len(measures) < 2


def _in_place(read: Prediction, new: Prediction) -> Prediction:
    """A prediction by what has changed, about as sure as what it changes was."""
    confidence = max(new.confidence or 0.0, _OF_CHANGED * (read.confidence or 0.0))
    return new._replace(
        confidence=confidence, promised=new.promised or read.promised, abstained=False
    )


def _day_of(question: Question, item: RankedSlot) -> date | None:
    """The day on which a message was sent, or of which a document is."""
    if (sent := day_sent(question, item.slot)) is not None:
        return sent
    return _version(item, question.store.sources.head(*item.source, _HEAD)).day


def _words_of(text: str) -> set[str]:
    """Stems of what is said in a message, without its speaker, numbers and short words."""
    found = stems(_SPEAKER.sub("", text))
    return {one for one in found if len(one) > 2 and not any(map(str.isdigit, one))}
