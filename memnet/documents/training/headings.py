"""Examples for a reader from the headings of documents: the questions that headings ask.

Rules of English, for headings that leave no doubt: "How do I lock a vault?" stands so, "Locking a
vault", "Lock a vault" and "To lock a vault" ask it, "Vault" asks what a vault is if its section
begins by saying so, and "Requirements" for a list.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

from memnet.encoders.protocol import query_encode
from memnet.learning import OnProgress, TrainableMemory, counted, no_progress
from memnet.reader.training.examples import ReaderExample, find_quote, passage_of, stored_passages
from memnet.storage import MemoryStore, Slot
from memnet.text.english import sentences, units

Kind = Literal["definition", "statement", "list", "steps"]

# Numbering before a heading.
_NUMBER = re.compile(
    r"^(?:\d+(?:\.\d+)+\.?|\d+[.):]|(?:step|chapter|part|section|question|q)\s*\d*[.:)])\s+", re.I
)
_MARKS = " \t\n*_`#:.!¶"
_ASIDE = re.compile(r"\([^()]*\)$")
_WORD = re.compile(r"[^\W\d_][\w'’.+-]*")
_MIN_WORDS, _MAX_WORDS = 2, 14
_MAX_NAME_WORDS = 6  # Words in the name of what is defined or listed
_MAX_QUOTE = 900  # Characters of the blocks that answer; more is rather a chapter than an answer.
_MIN_ITEMS = 3
_BEGINNING = 4  # Blocks of a section among which a list of steps begins
_MAX_INTRODUCTION = 200  # Characters before a list that is what its heading names
_FORMS: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("headings.toml").read_text(encoding="utf-8")
)
# Names of lists, and how what they are of is joined to them; the other entries are sets of words.
_LISTED = {word: joint for joint, words in _FORMS.pop("listed").items() for word in words.split()}
_WORDS = {name: frozenset(words.split()) for name, words in _FORMS.items()}
_YOU = re.compile(r"\byou(?:r|rself)?\b", re.I)
_DEFINES = (
    r"(?:\s\([^()]{1,60}\))?,?\s(?P<verb>is|are)\s"
    r"(?:an?|the|any|one of|when|where|what|how|used|someone|something)\b"
)
_MEANS = r"(?:\s\([^()]{1,60}\))?,?\s(?P<verb>means|refers to|stands for|describes)\s"
_WHY = re.compile(r"why\b", re.I)
_HOW = re.compile(r"how (?:(?:do|can|should|would|could) (?:i|you|we)|to)\b", re.I)
_ASKS = re.compile(
    r"(?:who|whom|whose|what|which|where|when|why|how|is|are|was|were|do|does|did|can|could|may"
    r"|must|should|will|would|has|have|am|if|in|on|at|for|from|to|with|i)\b",
    re.I,
)


class Asked(NamedTuple):
    """What a heading asks, and the pieces of its section that answer."""

    question: str
    kind: Kind | None  # Kind of the answer; None where the heading does not tell
    quotes: tuple[str, ...]


def asked_by(heading: str, above: str, text: str) -> Asked | None:
    """The question that a heading asks, by the one above it and the text of its section.

    None where none can be made of it without doubt: for "Overview", dates, numbers, and names that
    the section neither defines nor lists.
    """
    plain = _plain(heading)
    blocks = [line.strip() for line in text.split("\n") if line.strip()]
    if not blocks or _names_nothing(plain):
        return None
    asked = (
        _as_it_stands(plain, blocks)
        or _definition(plain, blocks)
        or _instruction(plain, blocks)
        or _list(plain, _plain(above), blocks)
    )
    if asked is None or not asked.quotes or sum(map(len, asked.quotes)) > _MAX_QUOTE:
        return None
    return asked


def _plain(heading: str) -> str:
    """A heading without what counts it and without marks."""
    plain = " ".join(heading.split()).strip(_MARKS)
    return _NUMBER.sub("", plain).replace("`", "").strip(_MARKS)


def _names_nothing(plain: str) -> bool:
    """Whether a heading is a date, a number or the name of any part of a text."""
    words = {word.casefold().strip(".") for word in _WORD.findall(plain)}
    letters = sum(char.isalpha() for char in plain)
    return (
        letters < 3 or words <= _WORDS["dates"] or words <= _WORDS["says_nothing"] | _WORDS["dates"]
    )


def _as_it_stands(plain: str, blocks: Sequence[str]) -> Asked | None:
    if not plain.endswith("?") or not _ASKS.match(plain):
        return None
    if not _MIN_WORDS < len(plain.split()) <= 2 * _MAX_WORDS:
        return None
    if _HOW.match(plain):
        return Asked(plain, "steps", _first_blocks(blocks))
    return Asked(plain, "statement" if _WHY.match(plain) else None, _first_blocks(blocks))


def _definition(plain: str, blocks: Sequence[str]) -> Asked | None:
    """What a name is, if the first sentence of its section says so."""
    spans = sentences(blocks[0])
    first = blocks[0][slice(*spans[0])] if spans else blocks[0]
    name = re.sub(r"^(?:an?|the)\s", "", plain, flags=re.I)
    if len(name.split()) > _MAX_NAME_WORDS:
        return None
    subject = rf"(?P<article>an?|the)?\s*(?P<name>{re.escape(name)}(?:e?s)?)"
    match = re.match(f"{subject}(?:{_DEFINES})", first, re.I) or re.match(
        f"{subject}(?:{_MEANS})", first, re.I
    )
    if match is None:
        return None
    verb = match["verb"].casefold()
    article = f"{match['article'].casefold()} " if match["article"] else ""
    if verb in ("is", "are"):
        question = f"What {verb} {article}{match['name']}?"
    elif verb == "describes":
        question = f"What does {article}{match['name']} describe?"
    else:
        question = f"What does {article}{match['name']} mean?"
    return Asked(question, "definition", (first,))


def _instruction(plain: str, blocks: Sequence[str]) -> Asked | None:
    """How to do what a heading names, if its section tells to do something."""
    action = _action(_ASIDE.sub("", plain).rstrip())
    if action is None or ":" in action or not _MIN_WORDS <= len(action.split()) <= _MAX_WORDS:
        return None
    if not any(_instructs(block) for block in blocks):
        return None
    own = re.sub(r"\byour\b", "my", action, flags=re.I)
    own = re.sub(r"\byou\b", "I", own, flags=re.I)
    return Asked(f"How do I {own}?", "steps", _steps(blocks))


def _action(plain: str) -> str | None:
    """What is to be done: "lock a vault" of "Locking a vault" and of "How to lock a vault"."""
    stated = re.sub(r"^(?:how )?to\s+", "", plain, flags=re.I)
    words = stated.split()
    if len(words) < _MIN_WORDS:
        return None
    first, second = words[0].casefold(), words[1].casefold()
    verb = first if first in _WORDS["verbs"] else _BASES.get(first)
    if verb is None:
        return None
    if stated == plain and second not in _WORDS["after_verb"]:  # it may be the first part of a name
        named = len(words) == _MIN_WORDS and second in _WORDS["nouns_after_nouns"]
        if named or first in _WORDS["nouns_too"] or first in _WORDS["gerunds_too"]:
            return None
    joined = [verb]
    for before, word in pairwise(words):  # "adding and editing"
        also = before in ("and", "or", "&")
        joined.append(_BASES.get(word.casefold(), word) if also else word)
    return " ".join(joined)


def _gerund(verb: str) -> str:
    if verb in _WORDS["doubled"]:
        return f"{verb}{verb[-1]}ing"
    if verb.endswith("e") and not verb.endswith("ee"):
        return f"{verb[:-1]}ing"
    return f"{verb}ing"


_BASES = {_gerund(verb): verb for verb in _WORDS["verbs"]}


def _instructs(block: str) -> bool:
    """Whether a block addresses its reader or begins with what is to be done."""
    words = _WORD.findall(block.casefold())
    return bool(_YOU.search(block)) or any(word in _WORDS["verbs"] for word in words[:1])


def _list(plain: str, above: str, blocks: Sequence[str]) -> Asked | None:
    """What the items are, if a section begins with a list and its heading is a plural."""
    run = _first_blocks(blocks)
    if sum(map(_is_item, run)) < _MIN_ITEMS or (
        not _is_item(run[0]) and len(run[0]) > _MAX_INTRODUCTION
    ):
        return None
    words = plain.split()
    first, last = words[0].casefold(), words[-1].casefold()
    name = " ".join([first if words[0].istitle() else words[0], *words[1:]])
    if last in _LISTED and len(words) == 1:
        named = above and not above.endswith("?") and not _names_nothing(above)
        question = f"What are the {name} {_LISTED[last]} {above}?" if named else None
    else:
        plural = len(words) > 1 and re.fullmatch(r"[a-z-]{3,}[^su]s", last)
        other = not _WORDS["not_listed"].isdisjoint(plain.casefold().split())
        verb = first in _WORDS["verbs"] or first.endswith("ing") or first in ("my", "our", "the")
        listed = plural and not other and not verb and len(words) <= _MAX_NAME_WORDS
        question = f"What are the {name}?" if listed else None
    return Asked(question, "list", run) if question else None


def _steps(blocks: Sequence[str]) -> tuple[str, ...]:
    """The first list of a section with what introduces it, else what the section begins with."""
    for number in range(min(_BEGINNING, len(blocks))):
        run = _first_blocks(blocks[number:])
        if sum(map(_is_item, run)) >= 2:
            return run
    return _first_blocks(blocks)


def _first_blocks(blocks: Sequence[str]) -> tuple[str, ...]:
    """The first block, with the list or the one block that it introduces; or the first list."""
    listed = 0 if _is_item(blocks[0]) else 1
    end = listed
    while end < len(blocks) and _is_item(blocks[end]):
        end += 1
    if end > listed:
        introduces = listed == 0 or blocks[0].endswith(":")
        return tuple(blocks[:end] if introduces else blocks[:1])
    return tuple(blocks[: 2 if blocks[0].endswith(":") else 1])


def _is_item(block: str) -> bool:
    found = units(block)
    return bool(found) and found[0].kind == "item"


_NEAR = 12  # Windows that are looked at for distractors
_DISTRACTORS = 4

# A section: its source, the namespace of that, and the headings above it.
_Path = tuple[str, str, str]


class _Section(NamedTuple):
    """The first window of a section, and what its heading asks."""

    path: _Path
    slot: Slot
    asked: Asked | None


def heading_examples(
    memory: TrainableMemory, *, on_progress: OnProgress = no_progress
) -> list[ReaderExample]:
    """Questions that the headings of a memory's documents ask, with what answers them.

    A heading makes a question if it is one, tells what to do ("Installing plugins"), is what its
    section defines first, or names a list that its section begins with. The section's first blocks
    are the quotation; windows of other sections that are nearest to the question are distractors.
    A question that several sections ask is left out, as are headings that name no subject.

    Args:
        memory: with the documents.
        on_progress: called after each section that asks something.
    """
    sections = [
        (section, section.asked)
        for section in _sections(memory.store).values()
        if section.asked is not None
    ]
    times = Counter(asked.question.casefold() for _, asked in sections)
    single = [one for one in sections if times[one[1].question.casefold()] == 1]
    return [
        ReaderExample(
            question=asked.question,
            quotes=asked.quotes,
            kind=asked.kind,
            passages=(passage_of(section.slot),),
            others=tuple(map(passage_of, _distractors(memory, section, asked))),
        )
        for section, asked in counted(single, "making examples", on_progress)
    ]


def _distractors(memory: TrainableMemory, section: _Section, asked: Asked) -> list[Slot]:
    """Windows of other sections near to a question, without what answers it."""
    [vector] = query_encode(memory.encoder)([asked.question])
    found = memory.store.search_dense(vector, _NEAR)
    return [
        slot
        for slot in memory.store.fetch(found.ids[found.mask].tolist())
        if slot.kind == "passage"
        and section.path not in {path for path, _, _ in _parts(slot)}
        and not any(find_quote(slot.text, quote) for quote in asked.quotes)
    ][:_DISTRACTORS]


def _sections(store: MemoryStore) -> dict[_Path, _Section]:
    """The sections of all documents by the windows that they begin in."""
    sections: dict[_Path, _Section] = {}
    for slot in stored_passages(store):
        for path, first, last in _parts(slot):
            known = sections.get(path)
            if known is None or slot.start < known.slot.start:
                sections[path] = _Section(path, slot, _asked(path, slot.text[first:last]))
    return sections


def _parts(slot: Slot) -> list[tuple[_Path, int, int]]:
    """The sections that a window holds, each with its first character there and the one after."""
    title, _, _ = slot.title.partition(" > ")
    places = [
        (offset, place)
        for offset, place in slot.places
        if title.startswith(place.partition(" > ")[0])  # others are pages, or rows of tables
    ] or [(0, slot.title)]
    ends = [offset for offset, _ in places[1:]]
    return [
        ((slot.source, slot.namespace, place), offset, end)
        for (offset, place), end in zip(places, [*ends, len(slot.text)], strict=True)
    ]


def _asked(path: _Path, text: str) -> Asked | None:
    """What the heading of a section asks; its text may begin with that heading."""
    *above, heading = path[2].split(" > ")
    first, _, rest = text.lstrip().partition("\n")
    own = rest if " ".join(first.split()) == heading else text
    return asked_by(heading, above[-1] if above else "", own)
