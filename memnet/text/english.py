"""English: its sentences, and words that names and the text search need to know.

For another language this file is what changes; ``memnet.reader.decompose`` and
``memnet.statements`` hold grammars of English of their own.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import snowballstemmer
from sentencex import segment  # pyright: ignore[reportAttributeAccessIssue]

from memnet.storage.lexical import WORD, words_of


def word_lists(name: str) -> Iterator[tuple[str, list[str]]]:
    """The lines of a list beside this file, each as its words with the section that it is in."""
    section = ""
    for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif not line.startswith("#"):
            yield section, [word.replace("_", " ") for word in line.split()]


def listed(section: str) -> frozenset[str]:
    """The words of a section of ``words.txt``."""
    lines = word_lists("words.txt")
    return frozenset(word for one, line in lines if one == section for word in line)


NUMBER_WORDS = {
    name: number
    for number, name in enumerate(
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
        "sixteen seventeen eighteen nineteen twenty".split(),
        start=1,
    )
} | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100}
IRREGULAR_VERBS = {
    form: verb for _, (verb, *forms) in word_lists("irregular_verbs.txt") for form in forms
}
# Of these no form is a noun, too, as "saw" and "rose" are.
_ONLY_VERBS = frozenset(
    "begin bring build buy choose drive give keep lose make meet pay sell send spend take teach "
    "write".split()
)
_PLURALS = {"buses": "bus", "gases": "gas"}  # "buse", "gase" for the stemmer
ARTICLES = ("the", "a", "an")
# Words inside a name: "Rank of Orre"; those of other European languages among them.
CONNECTIVES = listed("connectives")
# Words that are not names by themselves, though a sentence or a date starts with a capital.
NOT_NAMES = listed("no names")
# The verb of a sentence that says what something is.
COPULA = re.compile(r"\b(?:is|was|are|were|refers)\b")
# Introduces another name of the subject: "also known as".
ALIAS = re.compile(
    r"\b(?:known (?:\w+ ){0,4}as|stage name|called|nicknamed|simply|or|also)\s++"
    r"[\"“]?\s?(?:the )?(?=[^\W\d_])"
)
STOP_WORDS = listed("stop words")
# Function words of German, Dutch, French, Spanish, Italian and Portuguese that are none in English.
_FOREIGN = listed("foreign")
_ENGLISH_ALONE = listed("english alone")
# Probability of English below which a text is of another language, beside function words of one and
# without. A text with one word in 25 of English alone is English, and so is one of two words.
_LEAST_ENGLISH, _PLAINLY_ENGLISH, _MIN_WORDS = (0.01, 0.003), 25, 3
ASKS_WHO = re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE)
# Asks for what was so before.
ASKS_EARLIER = re.compile(
    r"\b(?:previous\w{0,4}|former\w{0,4}|(?<!how )old|earlier|before|originally|used to|draft|"
    r"archived|from(?=\W{0,9}$))\b",
    re.IGNORECASE,
)
# A question of 10,000 words would match everything, slowly; its first distinct words decide.
_MAX_QUERY_TERMS = 64
_WIDE_BREAK = re.compile(r"[\x85\u2028\u2029]")
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f\x85\u2028\u2029]")
# A full stop that ends no sentence, though the segmenter takes it for one: of abbreviations that
# something follows, and of German ordinal numbers.
_STOP_WITHIN = re.compile(
    r"\.(?=\s)(?:(?<=\bMk\.)|(?<=\b[NS]\.[EW]\.)|(?<=\b(?:acc|vol)\.)|(?<=\bapprox\.)|"
    r"(?<=\b(?:excl|incl|exkl|inkl|bzgl|evtl|zzgl)\.)|(?<=\b(?:bzw|ggf|vgl)\.)|"
    r"(?<=\b(?:[dD]\.\sh|[zZ]\.\sB)\.)|(?<=\b[iI]m\s\d\.)|"
    r"(?<=\b(?:[dD](?:as|em|en|er|es)|[bBvVzZ][ou][mr])\s\d\.)|"
    r"(?<=\d\.)(?=\s(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|"
    r"November|Dezember)\b))"
)
_VISIBLE = re.compile(r"\S")
# Characters segmented at once. The segmenter's time grows with the square of the quotation marks in
# a text: 64,000 opening ones take 0.9 s, and a file of them would take days.
_BLOCK = 8_000


OTHER_LETTER = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")


def is_foreign(question: str) -> bool:
    """Whether a text is of another language: by its script, by function words, by n-grams.

    The first word counts as English alone: "was" and "has" begin questions in several languages.
    """
    if 4 * len(OTHER_LETTER.findall(question)) > sum(map(str.isalpha, question)):
        return True
    words = [one.casefold() for one in WORD.findall(question)]
    own = sum(one in STOP_WORDS and one not in ("in", "an", "as", "do", "on") for one in words[1:])
    foreign = sum(one in _FOREIGN for one in words[1:]) > own
    english = sum(one in _ENGLISH_ALONE for one in words)
    if len(words) < _MIN_WORDS or english * _PLAINLY_ENGLISH > len(words):
        return False
    if (identifier := _identifier()) is None:
        return foreign
    likely: float = dict(identifier.rank(question))["en"]
    return likely < _LEAST_ENGLISH[not foreign]


@cache
def _identifier() -> Any:
    """A model of 97 languages, loaded in 0.8 s, if it is installed (Lui and Baldwin 2011)."""
    try:
        from py3langid import langid  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


# Between the cells of a row, after the sentences of one: "; Paid: yes"
_SEPARATORS = re.compile(r"(?:[;,.|]\s+)*")


@lru_cache(20_000)
def uninflected(word: str) -> str:
    """A word without its endings, "closes" and "closed" as "close".

    Source: Porter 2001, "Snowball", the stemmer of English.
    """
    verb = IRREGULAR_VERBS.get(word)
    known = verb if verb in _ONLY_VERBS else _PLURALS.get(word)
    # One of its own for each word, which it keeps while it works: threads may share none.
    return str(snowballstemmer.EnglishStemmer().stemWord(known or word))


def query_terms(text: str) -> list[str]:
    """Distinct words of a text in their order, without stop words, for the text search.

    Words are as in the text index, in lower case. A text of stop words only keeps them, so that it
    finds something.
    """
    words = list(dict.fromkeys(words_of(text.lower())))  # ß stays in the index
    content = [word for word in words if word not in STOP_WORDS]
    return (content or words)[:_MAX_QUERY_TERMS]


def sentences(text: str) -> list[tuple[int, int]]:
    """Character spans of the sentences of a text, without the white space around them."""
    # The segmenter takes white space outside ASCII to be a byte wide, and panics.
    plain = _STOP_WITHIN.sub(",", _WIDE_BREAK.sub("\n", _WIDE_SPACE.sub(" ", text)))
    spans = (trim_span(text, start, end) for start, end in _segments(plain))
    return [span for span in spans if span is not None]


def overlapping(spans: Iterable[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """The spans that share a character with the one from ``start`` to ``end``."""
    return [span for span in spans if span[0] < end and start < span[1]]


def without_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The words of a text outside of some spans."""
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text


def trim_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span without white space at its ends; None if it is blank."""
    first = _VISIBLE.search(text, start, end)
    if first is None:
        return None
    while text[end - 1].isspace():
        end -= 1
    return first.start(), end


def _segments(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a text, with the white space around them, in order.

    The last sentence of a block may go on after it, so the next block starts with it; one that is
    as long as a block is cut there.
    """
    start = 0
    while start < len(text):
        block = text[start : start + _BLOCK]
        segments = segment("en", block)
        if start + len(block) < len(text) and len(segments) > 1:
            segments.pop()
        offset = 0
        for one in segments:
            # The segmenter leaves out the line breaks before some paragraphs of a long text.
            offset = block.index(one, offset)
            yield start + offset, start + offset + len(one)
            offset += len(one)
        start += offset or len(block)


UnitKind = Literal["sentence", "item", "row", "line"]

_ITEM = re.compile(r"(?:[-*+•◦▪‣–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])[ \t]")
_ROW = re.compile(r" \| |; [^;:\n]{1,60}: ")
# In "Width: 5 m. Weight: 6 kg." the segmenter takes "m." for an abbreviation
LABELLED = re.compile(r"[^\W\d_][^:.\n]{0,40}: \S")
_NEXT_LABEL = re.compile(r"(?<=\.) (?=[A-Z][\w /-]{0,30}: \S)")
# Characters up to which an item of a list or a row is one unit, however many its sentences
_MAX_WHOLE = 300
_LINES = re.compile(r"[^\n]+(?:\n[^\n]+)*")  # without an empty one between them
_LINE = re.compile(r"[^\n]+")
_MIN_WIDTH = 45  # Characters of the longest line from which lines may be broken to a width
_RAGGED = 0.1  # Share of the width that may be left, as where people break lines by hand
_ENDS_SENTENCE = re.compile(r"[.!?…。！？।؟][)\"'”’*]?[ \t]*$")
_SENTENCES = re.compile(r"[^\W\d_]{3}[.!?] [A-Z]")
_PROSE_ENDS = tuple(".!?:…)\"'”’。！？।؟")  # Characters that a line of prose ends with


class Unit(NamedTuple):
    """A piece of a text."""

    start: int
    end: int
    kind: UnitKind


@lru_cache(1000)  # Of the same few passages they are looked at many times for one question
def units(text: str) -> Sequence[Unit]:
    """The units of the text of a slot in their order, without those that hold no word.

    A line is a paragraph, an item of a list, a row of a table or a line of code; lines that were
    broken to a width are one again.
    """
    found: list[Unit] = []
    for start, end in _unwrapped(text):
        span = trim_span(text, start, end)
        if span is None or not WORD.search(text, *span):
            continue
        # In place of a line break a space: a sentence goes on after it.
        line = text[span[0] : span[1]].replace("\n", " ")
        kind = _kind(line)
        if kind != "sentence" and len(line) <= _MAX_WHOLE:
            found.append(Unit(*span, kind))
            continue
        for first, last in sentences(line):
            labelled = _NEXT_LABEL.finditer(line, first, last)
            starts = [one.end() for one in labelled] if LABELLED.match(line, first) else []
            for start, end in pairwise((first, *starts, last + 1)):
                if WORD.search(line, start, end - 1):
                    # After a sentence in a cell comes "; Paid: yes".
                    between = _SEPARATORS.match(line, start)
                    start = between.end() if between else start
                    found.append(Unit(span[0] + start, span[0] + end - 1, kind))
    return found


def unwrapped(text: str) -> list[str]:
    """The lines of a text that hold more than spaces, those that were broken to a width as one."""
    lines = (text[start:end] for start, end in _unwrapped(text))
    return [" ".join(line.split()) if "\n" in line else line for line in lines if line.strip()]


def _unwrapped(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the lines of a text; those of a paragraph that was broken to a width are one."""
    for block in _LINES.finditer(text):
        lines = [one.span() for one in _LINE.finditer(text, *block.span())]
        width = max(end - start for start, end in lines)
        joined = lines[:1]
        for line in lines[1:]:
            if not _goes_on(text, joined[-1], line, width):
                yield from _as_paragraph(text, joined)
                joined = []
            joined.append(line)
        yield from _as_paragraph(text, joined)


def _goes_on(text: str, line: tuple[int, int], after: tuple[int, int], width: int) -> bool:
    """Whether a line ends only because there was no room for the first word of the next."""
    own, following = text[slice(*line)].strip(), text[slice(*after)].strip()
    if not following or own.endswith((".", "!", "?", ":", ";")):
        return False
    if "row" in (_kind(own), _kind(following)) or _ITEM.match(following):
        return False
    word = following.split(maxsplit=1)[0]
    room = width - (line[1] - line[0]) - 1
    ragged = _RAGGED * width if word[0].islower() else 0.0
    return width >= _MIN_WIDTH and word[0].isalnum() and len(word) >= room - ragged


def _as_paragraph(text: str, lines: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The span of some lines in one where they end as prose does; code does not."""
    if _ENDS_SENTENCE.search(text, *lines[-1]) or _ITEM.match(text[slice(*lines[0])].lstrip()):
        yield lines[0][0], lines[-1][1]
    else:
        yield from lines


def _kind(line: str) -> UnitKind:
    if _ITEM.match(line):
        return "item"
    if _ROW.search(line):
        return "row"
    return "sentence" if line.endswith(_PROSE_ENDS) or _SENTENCES.search(line) else "line"


# Whether a sentence is about the past, about neither, or about what is to come.
Tense = Literal[-1, 0, 1]
_SENTENCE = re.compile(r"[^.!?\n]{1,300}")
_TO_COME = re.compile(
    r"\b(?:will|won['’]t|shall|going to|gonna|tomorrow|next(?! to\b)|plans? to|due|upcoming|"
    r"see you)\b|['’]ll\b",
    re.IGNORECASE,
)
_GONE = re.compile(
    # Not after "is" and the like: "is closed on Friday" is about the present.
    r"\b(?<!is )(?<!are )(?<!am )(?<!be )(?<!['’]s )(?<!['’]re )(?<!['’]m )"
    r"(?:was|were|did|wasn['’]t|weren['’]t|didn['’]t|had|been|ago|yesterday|"
    r"last (?:night|week|weekend|month|year|[a-z]{3,6}day)|"
    r"went|came|saw|got|made|took|gave|told|said|met|ate|drank|bought|sold|sent|left|lost|found|"
    r"felt|thought|brought|began|broke|built|caught|chose|drove|fell|flew|forgot|grew|heard|held|"
    r"kept|knew|led|lent|paid|ran|sang|(?-i:sat)|slept|spent|spoke|stood|stole|taught|threw|woke|"
    r"won|wore|wrote|became|swam|rode|fought|drew|used|died|lied|tried|froze|hid|rang|sank|shook|"
    r"swept|blew|swung|struck|tore|"
    r"(?!hundred|excited|supposed|scheduled|planned|booked|reserved|closed)[a-z]{2,20}[^\We\d_]ed)\b",
    re.IGNORECASE,
)


class Clauses:
    """The sentences of a text, and what time they are about."""

    def __init__(self, text: str) -> None:
        self._spans = [match.span() for match in _SENTENCE.finditer(text)]
        self._text = text
        self._tenses: dict[int, Tense] = {}

    def tense_at(self, position: int) -> Tense:
        """Of what stands at a position."""
        number = bisect_right(self._spans, (position, len(self._text) + 1)) - 1
        if number < 0:
            return 0
        if number not in self._tenses:
            start, end = self._spans[number]
            tense: Tense = -1 if _GONE.search(self._text, start, end) else 0
            self._tenses[number] = 1 if _TO_COME.search(self._text, start, end) else tense
        return self._tenses[number]
