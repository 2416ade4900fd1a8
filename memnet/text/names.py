"""Names: how they are normalised, and which of them a text mentions.

A name in the text of one slot and in the key of another is what a hop follows. The extractor knows
no language model and no list of names: it goes by capital letters, numbers and quotation marks.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from memnet.text.english import ALIAS, ARTICLES, CONNECTIVES, COPULA, NOT_NAMES, query_terms

_LETTERS = re.compile(r"[^\W_]+")
_WORD_PATTERN = r"[\w&]++(?:['’.\-]\w++)*+\.?+"
_WORD = re.compile(_WORD_PATTERN)
_DETERMINER = re.compile(r"^(?:the|a|an|my|our|your|his|her|its|their|this|that) ", re.IGNORECASE)
# With the space before them, looked for only where a run of spaces starts: a run of n spaces would
# else be read n times.
_BRACKETS = re.compile(r"(?<!\s)\s*+\([^()]*\)")
_QUOTED = re.compile(r'["“]\s?([^"“”\n]{2,80}?)\s?["”]')
_SENTENCE_END = re.compile(r"(?<=[a-z)\d])\.\s")
_GAP = r"[ ,\-–/:'’!\u00a0]{0,3}+"
"""May stand between two words of one name."""
_LAST_CODE_POINT = 0x1FFFF
"""Of the two planes of Unicode that have all capital letters and digits."""
_OPENING_CHARACTERS = 250
"""Characters of a text in which its first sentence is looked for."""
_MAX_NAME_WORDS = 10
_MAX_QUESTION_WORDS = 200


def normalise(name: str) -> str:
    """Normalise a name: no case, accents, punctuation or underscores, single spaces."""
    folded = name.casefold()
    if not folded.isascii():
        decomposed = unicodedata.normalize("NFKD", folded).casefold()
        folded = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return " ".join(_LETTERS.findall(folded))


def symbol(name: str) -> str:
    """The symbol of a name: normalised, or the name itself where that leaves no letter."""
    return normalise(name) or name.strip().casefold()


def subject_symbol(subject: str) -> str:
    """The normalised name of the subject of a sentence, without "the", "my" and the like."""
    return normalise(without_determiner(subject))


def without_determiner(subject: str) -> str:
    """A subject without the word before its name: "my sister" as "sister"."""
    return _DETERMINER.sub("", subject, count=1)


def without_brackets(title: str) -> str:
    """A title without its qualifier: "Orre (ship)" as "Orre"."""
    return _BRACKETS.sub("", title).strip() or title


def title_symbols(title: str) -> tuple[str, ...]:
    """Normalised names of what has this title: the title in full, and without brackets."""
    names = (normalise(title), normalise(without_brackets(title)))
    return tuple(dict.fromkeys(name for name in names if name))


def mentions(text: str) -> tuple[str, ...]:
    """Normalised names that a text mentions, each once, in order of appearance.

    A name is a run of capitalised words or numbers. Runs that connectives or commas join count
    each and together ("Rank", "Rank of Orre"), and a run counts also without its first or last
    word ("President Ada Orre", "Ada Orre").
    """
    names = [name for run in _runs(text) for name in _names(text, run)]
    quoted = map(normalise, _QUOTED.findall(text))
    return tuple(dict.fromkeys(name for name in (*names, *quoted) if is_name(name)))


def opening_names(text: str) -> tuple[str, ...]:
    """Normalised names of what a text is about, by its first sentence; none if it names nothing.

    "The Orre Light, also known as Rank's Candle, is a lighthouse" is about both, without their
    articles. With a comma in it a name counts whole and up to it ("Hugh, 15th Baron of Orre").
    """
    head = text[:_OPENING_CHARACTERS]
    end = _SENTENCE_END.search(head)
    sentence = head[: end.start()] if end else head
    if not COPULA.search(sentence):
        return ()
    written = [*_first_name(sentence), *_aliases(sentence)]
    names = [_without_article(name) for one in written for name in title_symbols(one)]
    return tuple(dict.fromkeys(name for name in names if is_name(name)))


def _first_name(sentence: str) -> list[str]:
    """The name that a sentence starts with, after an article or in quotation marks."""
    quoted = _QUOTED.match(sentence)
    if quoted:
        return [quoted.group(1)]
    runs = _runs(sentence)
    if not runs:
        return []
    chunks = runs[0][:3]
    start = chunks[0].starts[0]
    word = sentence[start:].split()[0].casefold()
    before = sentence[:start].strip(" \"“'(").casefold()
    if before not in ("", *ARTICLES) or (word in NOT_NAMES and word not in ARTICLES):
        return []
    up_to_comma = [
        sentence[start : chunk.ends[-1]]
        for chunk, following in pairwise(chunks)
        if sentence[chunk.ends[-1] : following.starts[0]].startswith(",")
    ]
    return [sentence[start : chunks[-1].ends[-1]], *up_to_comma[:1]]


def _aliases(sentence: str) -> list[str]:
    """Names that follow words like "also known as"."""
    rests = [sentence[match.end() :] for match in ALIAS.finditer(sentence)]
    return [
        rest[: runs[0][0].ends[-1]]
        for rest in rests
        if (runs := _runs(rest)) and runs[0][0].starts[0] == 0
    ]


def _without_article(name: str) -> str:
    first, _, rest = name.partition(" ")
    return rest if rest and first in ARTICLES else name


def possible_names(question: str) -> list[str]:
    """Every n-gram of a question, in any case, that might be a name; longest first."""
    words = normalise(question).split()[:_MAX_QUESTION_WORDS]
    ngrams = [
        " ".join(words[start : start + length])
        for length in range(min(_MAX_NAME_WORDS, len(words)), 0, -1)
        for start in range(len(words) - length + 1)
    ]
    return list(dict.fromkeys(ngram for ngram in ngrams if is_name(ngram)))


def maximal_names(names: Iterable[str]) -> list[str]:
    """The names that are not part of another one among them; longest first."""
    maximal: list[str] = []
    for name in sorted(names, key=lambda name: (-len(name), name)):
        if not any(f" {name} " in f" {other} " for other in maximal):
            maximal.append(name)
    return maximal


def name_pattern(name: str) -> str:
    """A regular expression for the words of a name, whatever stands between them."""
    return r"\W+".join(map(re.escape, re.findall(r"\w+", name)))


def without_names(question: str, names: Iterable[str]) -> str:
    """The normalised words of a question without some names; the question if no word is left."""
    rest = f" {normalise(question)} "
    for name in sorted(names, key=len, reverse=True):
        rest = rest.replace(f" {name} ", " ")
    return rest.strip() or question


def capitalised_names(question: str, names: Collection[str]) -> list[str]:
    """Those of the names in a question that have a capital or a digit there; if none, all.

    Almost every word names something in a large memory: in "the director of Dad" there is a film,
    and perhaps something that is called "director".
    """
    capitalised = {normalise(word) for word in _WORD.findall(question) if not word[0].islower()}
    chosen = [name for name in names if not capitalised.isdisjoint(name.split())]
    return chosen or list(names)


def stems(text: str, letters: int) -> frozenset[str]:
    """The first letters of the content words of a text: "directed" as "direc"."""
    return frozenset(term[:letters] for term in query_terms(normalise(text)))


def is_name(name: str) -> bool:
    """Whether normalised words may be a name: not a number, and not only a word like "who"."""
    return bool(name) and name not in NOT_NAMES and not name.isdigit() and len(name) > 1


@dataclass(slots=True)
class _Chunk:
    """Capitalised words with only single spaces between them."""

    starts: list[int]
    ends: list[int]


def _runs(text: str) -> list[list[_Chunk]]:
    """Runs of chunks that only connectives, commas and the like separate."""
    return [_chunks(text, *found.span(1)) for found in _run_pattern().finditer(text) if found[1]]


@cache
def _run_pattern() -> re.Pattern[str]:
    """A run, as group 1, with the words in lower case that stand before it; or the latter alone.

    Up to two connectives stand between two words of a run. "Corp." and "J." go on, a longer word
    with a full stop ends its sentence.
    """
    # What ``re`` has no class for. Made at the first use: it takes 10 ms.
    characters = map(chr, range(_LAST_CODE_POINT + 1))
    large = _character_class(one for one in characters if one.isupper() or one.isdigit())
    connective = rf"(?:{'|'.join(sorted(CONNECTIVES))})(?![\w&.])(?!['’\-]\w)"
    last = r"(?=[\w&'’\-]{3})[\w&]++(?:['’\-]\w++)*+\.(?!\w)"
    return re.compile(
        rf"(?:[^\w&]++|(?!{large}){_WORD_PATTERN})*+"
        rf"((?:(?!{last}){_WORD_PATTERN}{_GAP}(?:{connective}{_GAP}){{0,2}}+(?={large}))*+"
        rf"{_WORD_PATTERN})?+"
    )


def _character_class(characters: Iterable[str]) -> str:
    """A class of a regular expression with some characters, given in their order."""
    ranges: list[list[int]] = []
    for code in map(ord, characters):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    written = (rf"\U{first:08x}-\U{last:08x}" for first, last in ranges)
    return f"[{''.join(written)}]"


def _chunks(text: str, start: int, end: int) -> list[_Chunk]:
    """The chunks of a run that goes from ``start`` to ``end``."""
    chunks: list[_Chunk] = []
    previous_end = -2
    """Of the last word; before the text if that is a connective, or there is none."""
    for match in _WORD.finditer(text, start, end):
        if match[0] in CONNECTIVES:
            previous_end = -2
            continue
        word_start, word_end = match.span()
        if previous_end == word_start - 1 and text[previous_end] == " ":
            chunks[-1].starts.append(word_start)
            chunks[-1].ends.append(word_end)
        else:
            chunks.append(_Chunk([word_start], [word_end]))
        previous_end = word_end
    return chunks


def _names(text: str, run: Sequence[_Chunk]) -> list[str]:
    """What of a run may be a name, normalised, in order of appearance."""
    # Words are normalised once, although several names have them.
    words = [
        [normalise(text[start:end]) for start, end in zip(chunk.starts, chunk.ends, strict=True)]
        for chunk in run
    ]
    between = [
        normalise(text[chunk.ends[-1] : following.starts[0]]) for chunk, following in pairwise(run)
    ]
    names: list[tuple[int, int, str]] = []
    for first, chunk in enumerate(run):
        start, name = chunk.starts[0], ""
        for last in range(first, min(first + 3, len(run))):
            name = _joined([name, between[last - 1] if name else "", *words[last]])
            names.append((start, run[last].ends[-1], name))
        if len(chunk.starts) > 1:
            names.append((chunk.starts[1], chunk.ends[-1], _joined(words[first][1:])))
            names.append((start, chunk.ends[-2], _joined(words[first][:-1])))
    return [name for _, _, name in sorted(names)]


def _joined(words: Iterable[str]) -> str:
    return " ".join(filter(None, words))
