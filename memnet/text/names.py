"""Names: one spelling for each, and where they stand in a text.

A name in the text of one slot and in the key of another is what a hop follows. The extractor knows
no language model and no list of names: it goes by capital letters, numbers and quotation marks.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise

from memnet.text.terms import query_terms

_LETTERS = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[\w&]+(?:['’.\-]\w+)*\.?")
_BRACKETS = re.compile(r"(?<!\s)\s*+\([^()]*\)")
"""With the space before them; looked for only where a run of spaces starts, or a run of n would be
read n times."""
_QUOTED = re.compile(r'["“]\s?([^"“”\n]{2,80}?)\s?["”]')
_BETWEEN_WORDS = " ,-–/:'’!&\u00a0"
_CONNECTIVES = frozenset(
    """
    of the and de la le du des da di del van von der den for in on at to a an y e et al el
    ibn bin from with
    """.split()
)
_NO_NAMES = frozenset(
    """
    a an and are as at but by for from had has have he her hers his how i if in into is it
    its january february march april may june july august september october november
    december monday tuesday wednesday thursday friday saturday sunday no not of on one or
    our she so some such that the their them then there these they this those to was we were
    what when where which while who whom whose why with you your after although also among
    before both during each however since two three until upon under
    """.split()
)
_OPENING = 250
"""Characters of a text in which its first sentence is looked for."""
_SENTENCE_END = re.compile(r"(?<=[a-z)\d])\.\s")
_IS = re.compile(r"\b(?:is|was|are|were|refers)\b")
_ALSO = re.compile(
    r"\b(?:known (?:\w+ ){0,4}as|stage name|called|nicknamed|simply|or|also)\s++"
    r"[\"“]?\s?(?:the )?(?=[^\W\d_])"
)
_ARTICLES = ("", "the", "a", "an")
_LONGEST_NAME = 10
"""Words."""
_QUESTION_WORDS = 200
"""Words of a question in which names are looked for."""


def normalise(name: str) -> str:
    """One spelling for a name: no case, accents, punctuation or underscores, single spaces."""
    folded = name.casefold()
    if not folded.isascii():
        decomposed = unicodedata.normalize("NFKD", folded).casefold()
        folded = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return " ".join(_LETTERS.findall(folded))


def symbol(name: str) -> str:
    """The symbol of a name: its one spelling, or the name itself where that has no letter left."""
    return normalise(name) or name.strip().casefold()


def without_brackets(title: str) -> str:
    """A title without what tells it from others: "Orre (ship)" as "Orre"."""
    return _BRACKETS.sub("", title).strip() or title


def title_symbols(title: str) -> tuple[str, ...]:
    """The names under which something of this title is known: in full, and without brackets."""
    names = (normalise(title), normalise(without_brackets(title)))
    return tuple(dict.fromkeys(name for name in names if name))


def mentions(text: str) -> tuple[str, ...]:
    """Normalised names that a text mentions, each once, in order of appearance.

    A name is a run of capitalised words or numbers. Runs that connectives or commas join count
    each and together ("Rank", "Rank of Orre"), and a run counts also without its first or last
    word ("President Ada Orre", "Ada Orre").
    """
    spans = [span for run in _runs(text) for span in _readings(run)]
    found = [text[start:end] for start, end in sorted(spans)] + _QUOTED.findall(text)
    return tuple(dict.fromkeys(name for name in map(normalise, found) if is_name(name)))


def opening_names(text: str) -> tuple[str, ...]:
    """Normalised names of what a text is about, by its first sentence; none if it doesn't say.

    "The Orre Light, also known as Rank's Candle, is a lighthouse" is about both, without their
    articles. With a comma in it a name counts whole and up to it ("Hugh, 15th Baron of Orre").
    """
    head = text[:_OPENING]
    end = _SENTENCE_END.search(head)
    sentence = head[: end.start()] if end else head
    if not _IS.search(sentence):
        return ()
    found = [*_first_name(sentence), *_also(sentence)]
    names = [_without_article(name) for one in found for name in title_symbols(one)]
    return tuple(dict.fromkeys(name for name in names if is_name(name)))


def _first_name(sentence: str) -> list[str]:
    """The name that a sentence starts with, after an article or in quotation marks."""
    quoted = _QUOTED.match(sentence)
    if quoted:
        return [quoted.group(1)]
    runs = _runs(sentence)
    if not runs:
        return []
    start = runs[0][0].starts[0]
    word = sentence[start:].split()[0].casefold()
    before = sentence[:start].strip(" \"“'(").casefold()
    if before not in _ARTICLES or (word in _NO_NAMES and word not in _ARTICLES):
        return []
    atoms = runs[0][:3]
    commas = [
        sentence[start : one.ends[-1]]
        for one, other in pairwise(atoms)
        if sentence[one.ends[-1] : other.starts[0]].startswith(",")
    ]
    return [sentence[start : atoms[-1].ends[-1]], *commas[:1]]


def _also(sentence: str) -> list[str]:
    """Names that follow words like "also known as"."""
    rests = [sentence[match.end() :] for match in _ALSO.finditer(sentence)]
    return [
        rest[: runs[0][0].ends[-1]]
        for rest in rests
        if (runs := _runs(rest)) and runs[0][0].starts[0] == 0
    ]


def _without_article(name: str) -> str:
    first, _, rest = name.partition(" ")
    return rest if rest and first in _ARTICLES else name


def possible_names(question: str) -> list[str]:
    """Every run of words of a question, in any case, that might be a name; longest first."""
    words = normalise(question).split()[:_QUESTION_WORDS]
    runs = [
        " ".join(words[start : start + length])
        for length in range(min(_LONGEST_NAME, len(words)), 0, -1)
        for start in range(len(words) - length + 1)
    ]
    return list(dict.fromkeys(run for run in runs if is_name(run)))


def longest(names: Iterable[str]) -> list[str]:
    """The names that are not part of another one among them; longest first."""
    kept: list[str] = []
    for name in sorted(names, key=lambda name: (-len(name), name)):
        if not any(f" {name} " in f" {other} " for other in kept):
            kept.append(name)
    return kept


def name_pattern(name: str) -> str:
    """A regular expression for the words of a name, whatever stands between them."""
    return r"\W+".join(map(re.escape, re.findall(r"\w+", name)))


def without_names(question: str, names: Iterable[str]) -> str:
    """The normalised words of a question without some names; the question if no word is left."""
    rest = f" {normalise(question)} "
    for name in sorted(names, key=len, reverse=True):
        rest = rest.replace(f" {name} ", " ")
    return rest.strip() or question


@dataclass(slots=True)
class _Atom:
    """Capitalised words with nothing but spaces between them."""

    starts: list[int]
    ends: list[int]


def _runs(text: str) -> list[list[_Atom]]:
    """Groups of atoms that only connectives, commas and the like hold apart."""
    runs: list[list[_Atom]] = []
    run: list[_Atom] = []
    waiting = 0
    previous_end = 0
    ended = True
    for match in _WORD.finditer(text):
        start, end = match.span()
        word = match.group()
        gap = text[previous_end:start]
        if ended or len(gap) > 3 or gap.strip(_BETWEEN_WORDS):
            run, waiting = [], 0
        if word[0].isupper() or word[0].isdigit():
            if run and not waiting and gap == " ":
                run[-1].starts.append(start)
                run[-1].ends.append(end)
            else:
                if not run:
                    runs.append(run)
                run.append(_Atom([start], [end]))
            waiting = 0
        elif run and word in _CONNECTIVES and waiting < 2:
            waiting += 1
        else:
            run, waiting = [], 0
        previous_end = end
        # "Corp." and "J." go on, a longer word with a full stop ends its sentence.
        ended = word.endswith(".") and len(word) > 3 and word.count(".") == 1
    return runs


def _readings(run: list[_Atom]) -> list[tuple[int, int]]:
    """Spans of a run that may be a name."""
    spans = [
        (run[first].starts[0], run[last].ends[-1])
        for first in range(len(run))
        for last in range(first, min(first + 3, len(run)))
    ]
    for atom in run:
        if len(atom.starts) > 1:
            spans += [(atom.starts[1], atom.ends[-1]), (atom.starts[0], atom.ends[-2])]
    return spans


def as_names(question: str, names: Collection[str]) -> list[str]:
    """Those of the names in a question that stand there with a capital or a digit; if none, all.

    Almost every word names something in a large memory: in "the director of Dad" there is a film,
    and perhaps something that is called "director".
    """
    marked = {normalise(word) for word in _WORD.findall(question) if not word[0].islower()}
    chosen = [name for name in names if not marked.isdisjoint(name.split())]
    return chosen or list(names)


def stems(text: str, letters: int) -> frozenset[str]:
    """The first letters of the words of a text that mean something: "directed" as "direc"."""
    return frozenset(term[:letters] for term in query_terms(normalise(text)))


def is_name(name: str) -> bool:
    """Whether normalised words may be a name: not a number, and not only a word like "who"."""
    return bool(name) and name not in _NO_NAMES and not name.isdigit() and len(name) > 1
