"""What a text says in the place of what a question says: of bay 2, not of bay 3."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from memnet.attention.arrays import cosines
from memnet.reader.codes import shape_of
from memnet.reader.rows import TIMES, stem, stems
from memnet.reader.values import UNIT_NAMES, unit_of
from memnet.storage.values import Encode
from memnet.text.english import STOP_WORDS, listed, query_terms, units
from memnet.text.names import has_digit
from memnet.text.restated import PREPOSITIONS, are_opposites

_TOKEN = re.compile(r"\w+(?:[.:/-]\w+)*|(?<=\d),\d+|['’]s\b|[,;:()]")
_ARTICLES = frozenset("a an the my our your his her its their".split())
_HELPING = listed("helping")
_PRONOUNS = frozenset("it they he she its their his her".split())
_FUNCTION_WORDS = _HELPING | STOP_WORDS | PREPOSITIONS | {"after", "before", "during", "until"}
_OF_EVENTS = re.compile(r"\b(?:do|does|did|was|were)\b", re.I)
_OF_KIND = re.compile(r"\b(?:which|what) (\w+)", re.I)  # of what kind an answer is
_ASKING = stems(" ".join(listed("asking")))  # words that a text need not have
_SIZE = r"(deep|wide|long|high|thick|old)\b"  # "Four metres long" is not how deep something is
# Longer texts say the same in other words. Of words that a text lacks two may be one name.
_MOST_SENTENCES, _MOST_WORDS, _MOST_ABSENT = 3, 9, 2
_MOST_COMPARED = 200  # Content words of a question, and of a sentence: each is laid beside each
# Cosines below which words in one place differ; verbs are often of two things that happened.
_ALIKE, _ALIKE_SUBJECTS, _ALIKE_VERBS = 0.62, 0.55, 0.45


class _Word(NamedTuple):
    text: str
    stem: str  # "" of a pronoun
    link: str  # Prepositions, marks and "the" between it and the content word before
    helped: bool  # Whether "is", "was" and the like stand there, too
    name: bool


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
        starts = not found or own.endswith((";", ":", "("))
        after = text[match.end() : match.end() + 2].strip()
        name = word != match[0] and not (starts and after.strip("'’") == after.lower())
        helped = not _HELPING.isdisjoint(link)
        found.append(_Word(match[0], "" if pronoun else stem(word), own, helped, name))
        link = []
    return found


def says_of_another(
    question: str, text: str, context: str, encode: Encode, answer: str = "", subject: str = ""
) -> bool:
    """Whether a text says of something else what is asked, or another measure of it.

    A word of the question then stands neither in the text nor in its context, as its title, and the
    text has another in its place: beside the same word, with the same preposition, as its subject.
    Both are numbers, names or opposites, or all else that is asked is said and their vectors differ
    (``encode`` gives [N, D] of N texts). In no word's place is what the ``answer`` has; a pronoun
    at the start stands for the first word of ``subject``.
    """
    if answer and gives_other_measure(question, text):
        return True
    asked = _words(question)
    said = [words for one in units(text) if (words := _words(text[one.start : one.end]))]
    if max(map(len, (asked, *said))) > _MOST_COMPARED:
        return False
    around = {one.stem for line in context.split("\n") for one in _words(line)}
    known = around.union(one.stem for sentence in said for one in sentence)
    known |= {stem(one.casefold()) for one in _OF_KIND.findall(question)}
    own, given = {one.stem for one in asked}, {one.stem for one in _words(answer)}
    absent = [n for n, one in enumerate(asked) if one.stem not in known | _ASKING]
    events = _OF_EVENTS.search(question) is not None
    alone = bool(absent) and absent[-1] - absent[0] < min(_MOST_ABSENT, len(asked) - 1)
    compared: list[tuple[list[str], float]] = []
    for sentence in said if len(said) <= _MOST_SENTENCES else []:
        pairs = list(_aligned(asked, sentence, around, events))
        first = sentence[0] if sentence[0].stem else (_words(subject) or sentence)[0]
        others = [one.text for one in (first, *sentence[1:])]
        if alone and (asked[absent[0]].link[-3:] == "the" or asked[absent[0]].name):
            after = asked[absent[-1] + 1 :][:1]
            noun = asked[absent[0]].name or events  # not "the security deposit"
            if not after or (after[0].link[:2] != "of" and (noun or after[0].link)):
                pairs.append((asked[absent[0]], first, "", _ALIKE_SUBJECTS))
        for one, found, link, alike in pairs:
            other = found if found.stem else first
            numbers = has_digit(one.text) + has_digit(other.text)
            answers = other.stem in given and not numbers and link != "many"
            if answers or one.stem in known or not other.stem or other.stem in own:
                continue
            named = one.name and alike == _ALIKE_SUBJECTS
            if numbers or (len(sentence) > _MOST_WORDS and not named):
                if numbers == 2 and shape_of(one.text) == shape_of(other.text):
                    return True
            elif _exclude(one, other, link):
                return True
            elif alone and alike and not one.name and one.stem not in _ASKING:
                compared.append(([other.text] if alike == _ALIKE_VERBS else others, alike))
    return any(differ(encode, [asked[n].text for n in absent], *one) for one in compared)


def differ(
    encode: Encode, some: Sequence[str], others: Sequence[str], alike: float = _ALIKE_SUBJECTS
) -> bool:
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


def _aligned(
    asked: Sequence[_Word], said: Sequence[_Word], around: Collection[str], events: bool
) -> Iterator[tuple[_Word, _Word, str, float]]:
    """Words of a question and a sentence in one place, their link, and how alike they have to be.

    A pronoun stands for what its context names. Where 0.0 is given vectors don't tell.
    """
    for (i, one), (j, other) in product(enumerate(asked), enumerate(said)):
        numbers = has_digit(one.text) and has_digit(other.text)
        same_link = one.link == other.link
        if same_link and (one.link[:3] == "for" or (numbers and one.link[:2] in ("in", "on"))):
            yield one, other, one.link, _ALIKE
        counted = one.text == "many" and has_digit(other.text)
        counted = counted and unit_of(asked[i + 1].text if asked[i + 1 :] else "") not in UNIT_NAMES
        if one.stem != other.stem and not counted and (other.stem or one.stem not in around):
            continue
        if i and j and same_link:
            yield asked[i - 1], said[j - 1], one.link, 0.0 if one.link else _ALIKE
        if i + 1 < len(asked) and j + 1 < len(said) and asked[i + 1].link == said[j + 1].link:
            one, other = asked[i + 1], said[j + 1]
            verbs = events and other.helped and {one.text[-1], other.text[-1]} <= {*"dnt"}
            alike = _ALIKE if counted or one.link else _ALIKE_VERBS if verbs else 0.0
            yield one, other, "many" if counted else one.link, alike


def _exclude(one: _Word, other: _Word, link: str) -> bool:
    """Whether words in one place exclude each other, whatever they mean."""
    texts = (one.text.casefold(), other.text.casefold())
    elsewhere = link[:2] not in ("in", "at", "ne", "fr", "to")  # one place may be in another
    names = one.name and other.text[0].isupper() and elsewhere
    same_kind = any(times.issuperset(map(stem, texts)) for times in TIMES)
    return names or same_kind or max(map(len, texts)) == 1 or are_opposites(*texts)
