"""Names: how they are normalised, and which of them a text mentions.

A name in the text of one slot and in the key of another is what a hop follows. The extractor knows
no language model and no list of names: it goes by capital letters, numbers and quotation marks.
"""

import re
import string
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from memnet.text.english import ALIAS, ARTICLES, CONNECTIVES, COPULA, NOT_NAMES, query_terms

_LETTERS = re.compile(r"[^\W_]+")
STEM_LETTERS = 5  # Words are compared by their first letters: "directed" and "director" agree
_WORD = re.compile(r"[\w&]+(?:['’.\-]\w+)*\.?")
# A match of _WORD that does not start with a small ASCII letter. What is looked behind for keeps it
# from starting within another one, and stands after the first character so that the expression
# engine skips to those.
_LARGE_WORD = re.compile(
    r"[A-Z0-9\x80-\U0010ffff](?<=\w)(?<![\w&].)(?<![\w&]['’.\-].)[\w&]*(?:['’.\-]\w+)*\.?",
    re.DOTALL,
)
_DETERMINER = re.compile(r"^(?:the|a|an|my|our|your|his|her|its|their|this|that) ", re.IGNORECASE)
# With the space before them, looked for only where a run of spaces starts: a run of n spaces would
# else be read n times.
_BRACKETS = re.compile(r"(?<!\s)\s*+\([^()]*\)")
_QUOTED = re.compile(r'["“]\s?([^"“”\n]{2,80}?)\s?["”]')
_SENTENCE_END = re.compile(r"(?<=[a-z)\d])\.\s")
_GAP_CHARACTERS = " ,-–/:'’!&\u00a0"  # May stand between two words of one name
_OPENING_CHARACTERS = 250  # Characters of a text in which its first sentence is looked for
_MAX_NAME_WORDS = 10
MAX_QUESTION_WORDS = 200  # Names are looked for in the first words of a question
_MIN_CODE = 4  # Characters of a number or code that names one thing
_MAX_LETTERS = 7  # Of an abbreviation that is looked up
_EXPLAINED = re.compile(  # "TBC   to be collected"
    r"^(?P<short>[A-Z][A-Z\d]{1,6})(?:\t| {2,20})(?P<long>[^\W\d_][^\n|\t]{2,79})$", re.MULTILINE
)
_BETWEEN_INITIALS = r"(?:[ -](?:of|and|for|the|in|to|on|&))?[ -]"
_CHARACTERS = string.ascii_lowercase + string.digits + " "


_OTHERS = re.compile(r"[^\x00-\x7f]+")  # Few letters of most texts


def normalise(name: str) -> str:
    """Normalise a name: no case, accents, punctuation or underscores, single spaces."""
    folded = name.casefold()
    if folded.isascii():
        # Words with single spaces between them, as most names are.
        if folded.replace(" ", "").isalnum() and "  " not in folded:
            return folded.strip(" ")
    else:
        decomposed = unicodedata.normalize("NFKD", folded).casefold()
        folded = _OTHERS.sub(
            lambda some: "".join(one for one in some[0] if not unicodedata.combining(one)),
            decomposed,
        )
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
    spans = [span for run in _runs(text) for span in _name_spans(run)]
    names = [text[start:end] for start, end in sorted(spans)] + _QUOTED.findall(text)
    return tuple(dict.fromkeys(name for name in map(normalise, names) if is_name(name)))


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
    run = next(_runs(sentence), None)
    if run is None:
        return []
    chunks = run[:3]
    start = chunks[0][0][0]
    word = sentence[start:].split()[0].casefold()
    before = sentence[:start].strip(" \"“'(").casefold()
    if before not in ("", *ARTICLES) or (word in NOT_NAMES and word not in ARTICLES):
        return []
    up_to_comma = [
        sentence[start : chunk[-1][1]]
        for chunk, following in pairwise(chunks)
        if sentence[chunk[-1][1] : following[0][0]].startswith(",")
    ]
    return [sentence[start : chunks[-1][-1][1]], *up_to_comma[:1]]


def _aliases(sentence: str) -> list[str]:
    """Names that follow words like "also known as"."""
    rests = [sentence[match.end() :] for match in ALIAS.finditer(sentence)]
    return [
        rest[: run[0][-1][1]]
        for rest in rests
        if (run := next(_runs(rest), None)) is not None and run[0][0][0] == 0
    ]


def _without_article(name: str) -> str:
    first, _, rest = name.partition(" ")
    return rest if rest and first in ARTICLES else name


def possible_names(question: str) -> list[str]:
    """Every n-gram of a question, in any case, that might be a name; longest first."""
    words = normalise(question).split()[:MAX_QUESTION_WORDS]
    return list(filter(is_name, word_runs(words, _MAX_NAME_WORDS)))


def word_runs(words: Sequence[str], most: int) -> dict[str, tuple[int, int]]:
    """Every run of at most some words with where it first stands; long ones first."""
    spans: dict[str, tuple[int, int]] = {}
    for length in range(min(most, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            run = " ".join(words[start : start + length])
            spans.setdefault(run, (start, start + length))
    return spans


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


def explained(short: str, text: str) -> tuple[int, int] | None:
    """Where a text says in full what an abbreviation stands for; None where it does not.

    That is before it in parentheses, or after it: "Road Traffic Act (RTA)", "RTA (Road Traffic
    Act)", "RTA: Road Traffic Act". The words begin with its letters, but for small ones between,
    unless it stands in a list of such with columns: "TBC   ready, to be collected".

    Source: Schwartz and Hearst 2003, with words for letters.
    """
    letters = [re.escape(one) for one in short.casefold() if one.isalnum()]
    if not 2 <= len(letters) <= _MAX_LETTERS:
        return None
    words = r"\b" + _BETWEEN_INITIALS.join(rf"{one}[^\W\d_]{{1,20}}" for one in letters) + r"\b"
    name = rf"(?-i:{re.escape(short.upper())})"  # "is: ..." is no abbreviation.
    for pattern in (
        rf"(?P<long>{words}),? ?\((?:the )?{name}s?\)",
        rf"\b{name} ?(?:\(|[:=–—-] ?|stands for |means |is short for )(?:the )?(?P<long>{words})",
    ):
        if found := re.search(pattern, text, re.IGNORECASE):
            return found.span("long")
    listed = list(_EXPLAINED.finditer(text))
    own = next((one for one in listed if one["short"] == short.upper()), None)
    return own.span("long") if own and len(listed) > 1 else None


def stems(text: str, letters: int = STEM_LETTERS) -> frozenset[str]:
    """The first letters of the content words of a text: "directed" as "direc"."""
    return frozenset(term[:letters] for term in query_terms(normalise(text)))


def edits(word: str) -> set[str]:
    """Everything one edit away (Damerau 1964): deletion, transposition, substitution, insertion."""
    splits = [(word[:index], word[index:]) for index in range(len(word) + 1)]
    return {
        *(left + right[1:] for left, right in splits if right),
        *(left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1),
        *(left + char + right[1:] for left, right in splits if right for char in _CHARACTERS),
        *(left + char + right for left, right in splits for char in _CHARACTERS),
    } - {word}


def has_digit(word: str) -> bool:
    """Whether a word is a number or a code."""
    return any(map(str.isdigit, word))


def is_code(word: str) -> bool:
    """Whether a word is a number or code that names one thing: shorter ones are quantities."""
    return has_digit(word) and len(word) >= _MIN_CODE


def is_name(name: str) -> bool:
    """Whether normalised words may be a name: not a number, and not only a word like "who"."""
    return bool(name) and name not in NOT_NAMES and not name.isdigit() and len(name) > 1


_Chunk = list[tuple[int, int]]  # Spans of capitalised words with only single spaces between them


def _runs(text: str) -> Iterator[list[_Chunk]]:
    """Runs of chunks that only connectives, commas and the like separate."""
    run: list[_Chunk] = []
    connectives = 0
    previous_end = 0
    sentence_ended = True
    # Most words are small: they are gone through within a run only.
    while match := (_WORD if run else _LARGE_WORD).search(text, previous_end):
        word = match[0]
        start, end = match.span()
        gap = text[previous_end:start]
        previous_end = end
        is_next = gap == " "
        if run and (
            sentence_ended or (not is_next and (len(gap) > 3 or gap.strip(_GAP_CHARACTERS)))
        ):
            yield run
            run = []
        if word[0].isupper() or word[0].isdigit():
            if run and is_next and not connectives:
                run[-1].append((start, end))
            else:
                run.append([(start, end)])
            connectives = 0
        elif run and word in CONNECTIVES and connectives < 2:
            connectives += 1
        elif run:
            yield run
            run = []
        # "Corp." and "J." go on, a longer word with a full stop ends its sentence.
        sentence_ended = word[-1] == "." and len(word) > 3 and word.count(".") == 1
    if run:
        yield run


def _name_spans(run: list[_Chunk]) -> list[tuple[int, int]]:
    spans = [
        (chunk[0][0], last[-1][1])
        for first, chunk in enumerate(run)
        for last in run[first : first + 3]
    ]
    for chunk in run:
        if len(chunk) > 1:
            spans += [(chunk[1][0], chunk[-1][1]), (chunk[0][0], chunk[-2][1])]
    return spans


# Key symbol of every message; a slash starts symbols that no question can name by chance.
MESSAGE = "/message"
_CALLS = "/calls "
# Starts of symbols: of a speaker, by his normalised name; of a session, as its name is written; of
# a day on which a message was sent, or that a question names.
SPEAKER, SESSION, DAY = "/speaker ", "/session ", "/day "
_MIN_LETTERS = 3  # Min. letters of a part of a speaker's name that stands for all of it
_NAME = r"([A-Z][a-z]{2,20})\b"
# Names after greetings and the like, and at the end of a sentence after a comma.
_VOCATIVE = re.compile(
    r"\b(?:[Hh]i+|[Hh]ey+|[Hh]ello+|[Tt]hanks|[Tt]hank you|[Bb]ye+|[Gg]ood ?night|"
    r"[Gg]ood (?:morning|afternoon|evening)|[Ww]elcome|[Ss]ure|[Yy]es|[Nn]o|[Ww]ow|"
    r"[Cc]ongratulations|about you|are you)(?: there)?,? "
    rf"{_NAME}(?=\s*[!.,?])|, {_NAME}(?=[!.?])"
)
# Speakers that are not people: what they say of themselves is not remembered.
_ROLES = frozenset("assistant system tool function developer bot model ai".split())


def speaker_symbols(speaker: str) -> tuple[str, ...]:
    """The symbols of a speaker: his name and its parts."""
    name = symbol(speaker)
    parts = [part for part in name.split() if len(part) >= _MIN_LETTERS and is_name(part)]
    return tuple(SPEAKER + one for one in dict.fromkeys((name, *parts)))


def speaker_names(symbols: Iterable[str]) -> frozenset[str]:
    """The names of the speaker of a message, and their parts, among its symbols."""
    return frozenset(one.removeprefix(SPEAKER) for one in symbols if one.startswith(SPEAKER))


def called_symbols(text: str, addressed: str) -> tuple[str, ...]:
    """The mentions of a message that calls another speaker by some names: "Hello Kate!"."""
    own = symbol(addressed)
    names = {normalise(one or other) for one, other in _VOCATIVE.findall(text)}
    return tuple(f"{_CALLS}{name} /{own}" for name in sorted(names) if own and is_name(name))


def called_prefix(name: str) -> str:
    """What the symbols of all messages start with that call somebody by a name."""
    return f"{_CALLS}{name} /"


def subject_of(speaker: str) -> str | None:
    """Who "I" is in a message: the speaker; "I" for the user of an assistant, None for none."""
    name = speaker.strip()
    if not name or name.casefold() in _ROLES:
        return None
    return "I" if name.casefold() == "user" else name
