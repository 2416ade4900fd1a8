"""What a text says in the place of what a question says: of bay 2, not of bay 3; of other codes."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from memnet.attention.arrays import cosines
from memnet.reader.passages import RankedSlot
from memnet.reader.rows import TIMES, stem, stems
from memnet.reader.values import UNIT_NAMES, unit_of
from memnet.storage.values import Encode
from memnet.text.english import STOP_WORDS, listed, query_terms, units
from memnet.text.names import has_digit
from memnet.text.restated import PREPOSITIONS, are_opposites, tells_opposite

# A word with a digit, or capitals before one: "POL-358", "0x8007", "21B", "101", "KX 207".
_WITH_DIGIT = re.compile(
    r"(?<![\w.,/-])(?:[A-Z]{1,4} \d{2,6}(?![\w.,/-]*\w)|(?=[\w./-]{0,40}\d)\w[\w./-]{0,40})"
)
# What names one thing and nothing else: letters before digits, or five digits.
_NAMES_ONE = re.compile(r"(?:0x\w|[a-z][a-z./-]*\d[\d./-]*\d|\d{5})", re.IGNORECASE)
_TOKEN = re.compile(r"\w+(?:[.:/-]\w+)*|(?<=\d),\d+|['’]s\b|[,;:()]")
_ARTICLES = frozenset("a an the my our your his her its their".split())
_HELPING = listed("helping")
_PRONOUNS = frozenset("it they he she its their his her".split())
_FUNCTION_WORDS = _HELPING | STOP_WORDS | PREPOSITIONS | {"after", "before", "during", "until"}
_OF_EVENTS = re.compile(r"\b(?:do|does|did|was|were)\b", re.I)
_UP_TO = re.compile(r"(?:\b(?:until|till|to)|[–—-])\s*$", re.I)
_OF_KIND = re.compile(r"\b(?:which|what) (\w+)", re.I)  # of what kind an answer is
_ASKING = stems(" ".join(listed("asking")))  # words that a text need not have
_SIZE = r"(deep|wide|long|high|thick|old)\b"  # "Four metres long" is not how deep something is
# Longer texts say the same in other words. Of words that a text lacks two may be one name.
_MOST_SENTENCES, _MOST_WORDS, _MOST_ABSENT = 3, 9, 2
_MOST_COMPARED = 200  # Content words of a question, and of a sentence: each is laid beside each
# Cosines below which words in one place differ; verbs are often of two things that happened.
_ALIKE, _ALIKE_SUBJECTS, _ALIKE_VERBS = 0.62, 0.55, 0.45


class NamedUnits(NamedTuple):
    """The units of some passages that are about the codes of a question."""

    spans: tuple[tuple[tuple[int, int], ...], ...]  # Of each passage
    missing: bool  # Whether a code that names one thing stands in no passage

    def hold(self, passage: int, start: int, end: int) -> bool:
        """Whether a piece of a passage is within one of them."""
        return any(first < end and start < last for first, last in self.spans[passage])


def codes_of(text: str) -> frozenset[str]:
    """The words with a digit of a text, in lower case, without marks at their ends."""
    return frozenset(match[0].rstrip("./-").casefold() for match in _WITH_DIGIT.finditer(text))


def named_units(question: str, passages: Sequence[RankedSlot]) -> NamedUnits | None:
    """The units about most of the codes of a question; None where codes don't tell units apart.

    A unit is about its own codes, those of the title, and, where it has none of the shape that is
    asked for, those of the unit before it: a heading, or the sentence that it goes on from.
    """
    asked = codes_of(question)
    if not asked:
        return None
    held = [_held(asked, item) for item in passages]
    known = [about for of_passage in held for _, about in of_passage]
    missing = any(_NAMES_ONE.match(code) for code in asked.difference(*known))
    counts = set(map(len, known))
    if not missing and len(counts) < 2:
        return None
    most = max(counts, default=0)
    spans = [tuple(span for span, about in one if len(about) == most) for one in held]
    return NamedUnits(tuple(spans), missing)


def _held(asked: frozenset[str], item: RankedSlot) -> list[tuple[tuple[int, int], frozenset[str]]]:
    """The span of each unit of a passage, and the codes of a question that it is about."""
    text, title = item.slot.text, asked & codes_of(item.slot.title)
    shapes = frozenset(map(shape_of, asked))
    found, about = [], frozenset[str]()
    for unit in units(text):
        own = codes_of(text[unit.start : unit.end])
        if any(shape_of(code) in shapes for code in own):
            about = asked & own
        found.append(((unit.start, unit.end), about | title))
    return found


def shape_of(code: str) -> str:
    """Its letters and digits by kind: "aaa-999" of "pol-358"."""
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", code))


class _Word(NamedTuple):
    text: str
    stem: str  # "" of a pronoun
    link: str  # Prepositions, marks and "the" between it and the content word before
    helped: bool  # Whether "is", "was" and the like stand there, too
    name: bool


class _Pair(NamedTuple):
    """A word of a question and one of a sentence that stand in one place."""

    asked: _Word
    said: _Word
    link: str  # What both stand behind; "many" of what is counted
    alike: float  # Cosine below which they differ; 0.0 where vectors don't tell

    @property
    def numbers(self) -> int:
        """How many of them are numbers."""
        return has_digit(self.asked.text) + has_digit(self.said.text)

    def excludes(self, numbers_alone: bool) -> bool:
        """Whether the words exclude each other, whatever they mean."""
        texts = (self.asked.text.casefold(), self.said.text.casefold())
        if self.numbers or numbers_alone:
            return self.numbers == 2 and shape_of(self.asked.text) == shape_of(self.said.text)
        # One place may be in another.
        elsewhere = self.link[:2] not in ("in", "at", "ne", "fr", "to")
        names = self.asked.name and self.said.text[0].isupper() and elsewhere
        same_kind = any(times.issuperset(map(stem, texts)) for times in TIMES)
        return names or same_kind or max(map(len, texts)) == 1 or are_opposites(*texts)


def _words(text: str) -> list[_Word]:
    """The content words of a sentence, and a pronoun that it starts with, in their order."""
    found: list[_Word] = []
    link: list[str] = []
    for match in _TOKEN.finditer(text):
        word = match[0].casefold()
        pronoun = not found and word in _PRONOUNS
        if not pronoun and (word in _FUNCTION_WORDS or not word[0].isalnum()):
            link.append("the" if word in _ARTICLES else word)
            continue
        own = " ".join(one for one in link if one not in _HELPING)
        starts = not (found or link) or own.endswith((";", ":", "("))
        after = text[match.end() : match.end() + 2].strip()
        name = word != match[0] and not (starts and after.strip("'’") == after.lower())
        helped = not _HELPING.isdisjoint(link)
        found.append(_Word(match[0], "" if pronoun else stem(word), own, helped, name))
        link = []
    return found


def says_of_another(
    question: str, text: str, context: str, encode: Encode, answer: str = "", subject: str = ""
) -> bool:
    """Whether a text says of something else what is asked, another measure or the opposite event.

    A word of the question then stands neither in the text nor in its context, as its title, and the
    text has another in its place: beside the same word, with the same preposition, as its subject.
    Both are numbers, names or opposites, or all else that is asked is said and their vectors differ
    (``encode`` gives [N, D] of N texts). In no word's place is what the ``answer`` has; a pronoun
    at the start stands for the first word of ``subject``.
    """
    if answer and gives_other_measure(question, text):
        return True
    if answer and tells_opposite_event(question, text, f"{context}\n{text}", answer):
        return True
    asked = _words(question)
    said = list(_clauses(text, subject))
    if max(map(len, (asked, *(words for words, _ in said)))) > _MOST_COMPARED:
        return False
    around = {one.stem for line in context.split("\n") for one in _words(line)}
    known = around.union(one.stem for words, _ in said for one in words)
    known |= {stem(one.casefold()) for one in _OF_KIND.findall(question)}
    own, given = {one.stem for one in asked}, {one.stem for one in _words(answer)}
    absent = [n for n, one in enumerate(asked) if one.stem not in known | _ASKING]
    events = _OF_EVENTS.search(question) is not None
    alone = bool(absent) and absent[-1] - absent[0] < min(_MOST_ABSENT, len(asked) - 1)
    compared: list[tuple[list[str], float]] = []
    for sentence, first in said if len(said) <= _MOST_SENTENCES else []:
        pairs = list(_aligned(asked, sentence, around, events))
        if alone and _may_be_subject(asked, absent, events):
            pairs.append(_Pair(asked[absent[0]], first, "", _ALIKE_SUBJECTS))
        for pair in pairs:
            if not pair.said.stem:
                pair = pair._replace(said=first)
            answers = pair.said.stem in given and not pair.numbers and pair.link != "many"
            if answers or pair.asked.stem in known or pair.said.stem in own | {""}:
                continue
            named = pair.asked.name and pair.alike == _ALIKE_SUBJECTS
            of_same = pair.link == "of" and pair.alike == _ALIKE
            is_long = len(sentence) > _MOST_WORDS and not (named or of_same)
            if pair.excludes(numbers_alone=is_long):
                return True
            may_differ = pair.alike and not pair.asked.name and pair.asked.stem not in _ASKING
            if alone and may_differ and not pair.numbers and not is_long:
                others = [first.text, *(one.text for one in sentence[1:])]
                by_itself = of_same or pair.alike == _ALIKE_VERBS
                compared.append(([pair.said.text] if by_itself else others, pair.alike))
    return any(differ(encode, [asked[n].text for n in absent], *one) for one in compared)


def _clauses(text: str, subject: str) -> Iterator[tuple[list[_Word], _Word]]:
    """The words of each sentence, or part of one up to a semicolon, and its subject.

    A pronoun at its start stands for the subject of the part before, or the first of ``subject``.
    """
    for unit in units(text):
        before = _words(subject)[:1]
        for clause in text[unit.start : unit.end].split(";"):
            words = _words(clause)
            if words:
                first = words[0] if words[0].stem else (before or words)[0]
                before = [first]
                yield words, first


def differ(encode: Encode, some: Sequence[str], others: Sequence[str], alike: float) -> bool:
    """Whether none of some phrases means about the same as one of some others."""
    vectors = encode([*some, *others])
    own, other = vectors[: len(some)], vectors[len(some) :]
    return all(cosines(one, other).max() < alike for one in own)


def gives_other_measure(question: str, text: str) -> bool:
    """Whether a text gives measures, but not the one that a question asks for."""
    asked = re.findall(rf"\bhow {_SIZE}", question.casefold().replace("tall", "high"))
    given = re.findall(rf"\d [^\W\d_]{{1,12}} {_SIZE}", text.casefold().replace("tall", "high"))
    return bool(asked and given) and not {*asked} & {*given}


def is_opposed(question: str, text: str) -> bool:
    """Whether a text has an opposite of a word that only a question has, or another measure."""
    asked, said = set(query_terms(question)), set(query_terms(text))
    opposed = any(are_opposites(*pair) for pair in product(asked - said, said - asked))
    return opposed or gives_other_measure(question, text)


def tells_opposite_event(question: str, sentence: str, context: str, answer: str) -> bool:
    """Whether the answer is said of the opposite of what happened: when it began, not ended.

    ``context`` are the words around the sentence, and itself.
    """
    clause = next((one for one in sentence.split(";") if answer in one), sentence).strip()
    up_to = _UP_TO.search(clause.partition(answer)[0])  # "Began in 1939 and lasted until 1945."
    return up_to is None and tells_opposite(question, clause, context)


def _may_be_subject(asked: Sequence[_Word], absent: Sequence[int], events: bool) -> bool:
    """Whether absent words, which stand together, name what something is asked of."""
    one, after = asked[absent[0]], asked[absent[-1] + 1 :][:1]
    if not one.name and one.link[-3:] != "the":
        return False
    noun = one.name or events  # not "the security deposit"
    return not after or (after[0].link[:2] != "of" and (noun or bool(after[0].link)))


def _aligned(
    asked: Sequence[_Word], said: Sequence[_Word], around: Collection[str], events: bool
) -> Iterator[_Pair]:
    """Words of a question and a sentence in one place; a pronoun is one of what is ``around``."""
    for (i, one), (j, other) in product(enumerate(asked), enumerate(said)):
        numbers = has_digit(one.text) and has_digit(other.text)
        same_link = one.link == other.link
        if same_link and (one.link[:3] == "for" or (numbers and one.link[:2] in ("in", "on"))):
            yield _Pair(one, other, one.link, _ALIKE)
        counted = one.text == "many" and has_digit(other.text)
        counted = counted and unit_of(asked[i + 1].text if asked[i + 1 :] else "") not in UNIT_NAMES
        if one.stem != other.stem and not counted and (other.stem or one.stem not in around):
            continue
        if i and j and same_link:
            yield _Pair(asked[i - 1], said[j - 1], one.link, 0.0 if one.link else _ALIKE)
        if i + 1 < len(asked) and j + 1 < len(said) and asked[i + 1].link == said[j + 1].link:
            one, other = asked[i + 1], said[j + 1]
            verbs = events and other.helped and {one.text[-1], other.text[-1]} <= {*"dnt"}
            alike = _ALIKE if counted or one.link else _ALIKE_VERBS if verbs else 0.0
            yield _Pair(one, other, "many" if counted else one.link, alike)
