"""Templated questions, which sentences of common forms answer ("..., directed by Ann Orre")."""

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from memnet.ingest.names import symbol, without_brackets
from memnet.ingest.questions import Question
from memnet.storage import MemoryStore, Slot
from memnet.training.reader_data import ReaderExample, ReaderPassage

_WORD = r"(?:[A-Z]\.|[A-Z][\w'’-]+)"
_NAME = rf"(?P<answer>{_WORD}(?: (?:(?:of|de|van|von|la|the) )*{_WORD})*)"
_DATE = r"(?P<answer>(?:\d{1,2} )?(?:[A-Z][a-z]+ )?(?:\d{1,2}, )?[12]\d{3})"
_AFTER_SUBJECT = 260
"""Characters in which a passage says of its subject where it is from."""
_BORN = ("When was {} born?", "What is the date of birth of {}?")
_SAME_COUNTRY = (
    "Are {} and {} from the same country?",
    "Are {} and {} of the same nationality?",
    "Do {} and {} have the same nationality?",
)


class _Form(NamedTuple):
    """A form of sentence."""

    relation: str
    pattern: re.Pattern[str]
    questions: tuple[str, ...]
    role: str = ""
    """What the answer is to the subject, to ask on about it; empty where no one asks so."""


def _form(relation: str, pattern: str, *questions: str, role: str = "") -> _Form:
    return _Form(relation, re.compile(pattern), questions, role)


_FORMS = (
    _form("director", rf"\bdirected by {_NAME}", "Who directed {}?",
          "Who is the director of {}?", role="the director of {}"),
    _form("writer", rf"\bwritten by {_NAME}", "Who wrote {}?", "Who is the writer of {}?",
          role="the writer of {}"),
    _form("producer", rf"\bproduced by {_NAME}", "Who produced {}?", role="the producer of {}"),
    _form("composer", rf"\b(?:composed|music) by {_NAME}", "Who composed {}?",
          "Who is the composer of {}?", role="the composer of {}"),
    _form("performer", r"\bby (?:the )?(?:[A-Z][a-z]+ )+(?:[a-z-]+ )*(?:band|singer|rapper|artist|"
          rf"musician|group|duo|songwriter) {_NAME}", "Who performed {}?",
          "Who is the performer of {}?", role="the performer of {}"),
    _form("founder", rf"\bfounded (?:in [12]\d{{3}} )?by {_NAME}", "Who founded {}?",
          "Who is the founder of {}?", role="the founder of {}"),
    _form("star", rf"\bstarr(?:ing|ed|s) {_NAME}", "Who starred in {}?", role="the star of {}"),
    _form("spouse", rf"\b(?:married|wife of|husband of|(?:wife|husband),?) (?:to )?{_NAME}",
          "Who is the spouse of {}?", "Who married {}?", role="the spouse of {}"),
    _form("father", rf"\b(?:son|daughter) of (?:[A-Z]?[a-z]+ )?{_NAME}", "Who is the father of {}?",
          "Who is {}'s father?", role="the father of {}"),
    _form("born", rf"\((?:[^()]*?; )?born {_DATE}\)", *_BORN),
    _form("born", rf"\((?:[^()]*?; )?{_DATE} ?[–-]", *_BORN),
    _form("died", rf"\([^()]*?[12]\d{{3}} ?[–-] ?{_DATE}\)", "When did {} die?",
          "What is the date of death of {}?"),
    _form("birthplace", rf"\bborn (?:on [\w ,]+? )?(?:in|at) {_NAME}", "Where was {} born?",
          "What is the place of birth of {}?"),
    _form("death place", rf"\bdied (?:on [\w ,]+? )?(?:in|at) {_NAME}", "Where did {} die?",
          "What is the place of death of {}?"),
    _form("school", rf"\b(?:educated at|studied at|graduated from|attended) (?:the )?{_NAME}",
          "Where did {} study?", "Which school did {} attend?"),
    _form("released", rf"\breleased (?:on|in) {_DATE}", "When was {} released?",
          "When did {} come out?"),
    _form("founded", rf"\b(?:founded|established|formed) (?:on|in) {_DATE}",
          "When was {} founded?"),
    _form("owner", rf"\bowned by (?:the )?{_NAME}", "Who owns {}?"),
    _form("publisher", rf"\bpublished by (?:the )?{_NAME}", "Who published {}?"),
    _form("place", rf"\b(?:located|situated) (?:in|on|at) (?:the )?{_NAME}",
          "Where is {} located?"),
    _form("nationality", r"\b(?:is|was) an? (?:former |retired )?(?P<answer>[A-Z][a-z]+"
          r"(?:ish|an|ese|ch|ek|i|sh|ss)) (?=[a-z])", "What is the nationality of {}?",
          "What country is {} from?"),
)  # fmt: skip
_OTHERS = 4
"""Passages that don't help, beside each question."""
_WORDS = ("yes", "no")
_PEOPLE = {"born", "died", "birthplace", "death place", "school", "nationality", "spouse", "father"}
_DATED = {
    "born": ("Who was born first", "Who is older"),
    "released": ("Which film came out first",),
}


class _Statement(NamedTuple):
    """What a passage says of its subject."""

    slot: Slot
    form: _Form
    answer: str

    @property
    def subject(self) -> str:
        return without_brackets(self.slot.title)


class _Asked(NamedTuple):
    """A question with its answer and what has to be read for it."""

    question: str
    answer: str
    slots: tuple[Slot, ...]


def templated_questions(store: MemoryStore, most: int, seed: int) -> list[list[Question]]:
    """Questions with their sources: about one passage each, and about one that another leads to.

    Args:
        store: the memory.
        most: questions of each kind to make.
        seed: of the choice.

    Returns:
        Two lists; empty where no sentence has one of the forms.
    """
    chance = random.Random(seed)
    stated = _stated(store)
    return [
        [
            Question(question=one.question, gold=tuple(slot.source for slot in one.slots))
            for one in islice(kind, most)
        ]
        for kind in (_alone(stated, chance), _led(stated, chance))
    ]


def templated_examples(store: MemoryStore, most: int, seed: int) -> list[ReaderExample]:
    """Questions for a reader, with what they ask about.

    A third are about one passage. The others need several: whether two subjects are alike, or which
    is earlier (a sixth), and what is said in one of someone whom another names.

    Args:
        store: the memory.
        most: questions to make.
        seed: of the choice.
    """
    chance = random.Random(seed)
    stated = _stated(store)
    kinds = [
        (_alone(stated, chance), most // 3),
        (_alike(stated, chance), most // 6),
        (_led(stated, chance), most),
    ]
    made: list[_Asked] = []
    for kind, share in kinds:
        made += islice(kind, min(share, most - len(made)))
    return [_example(one, stated, chance) for one in made]


def _stated(store: MemoryStore) -> list[_Statement]:
    ids = store.passage_ids().tolist()
    return [
        statement
        for start in range(0, len(ids), 1000)
        for slot in store.fetch(ids[start : start + 1000])
        if slot.title
        for statement in _of_slot(slot)
    ]


def _of_slot(slot: Slot) -> Iterator[_Statement]:
    for form in _FORMS:
        text = slot.text[:_AFTER_SUBJECT] if form.relation in _PEOPLE else slot.text
        found = form.pattern.search(text)
        if found is not None:
            answer = found["answer"]
            if len(answer) > 2 and answer not in slot.title:
                yield _Statement(slot, form, answer)


def _alone(stated: list[_Statement], chance: random.Random) -> Iterator[_Asked]:
    for one in chance.sample(stated, len(stated)):
        question = chance.choice(one.form.questions).format(one.subject)
        yield _Asked(question, one.answer, (one.slot,))


def _led(stated: list[_Statement], chance: random.Random) -> Iterator[_Asked]:
    """What is said of the one who is something to a subject."""
    about: dict[str, list[_Statement]] = defaultdict(list)
    for one in stated:
        if one.form.relation in _PEOPLE:
            about[symbol(one.subject)].append(one)
    for one in chance.sample(stated, len(stated)):
        further = about.get(symbol(one.answer)) if one.form.role else None
        if further:
            said = chance.choice(further)
            role = one.form.role.format(one.subject)
            question = chance.choice(said.form.questions).format(role)
            yield _Asked(question, said.answer, (one.slot, said.slot))


def _alike(stated: list[_Statement], chance: random.Random) -> Iterator[_Asked]:
    """Whether two are of one country, they or who directed them, and which of two is earlier."""
    nations: dict[str, list[_Statement]] = defaultdict(list)
    for one in stated:
        if one.form.relation == "nationality":
            nations[one.answer].append(one)
    every = [one for group in nations.values() for one in group]
    common = [group for group in nations.values() if len(group) > 1]
    led = _directed(stated, every)
    dated = {name: [one for one in stated if one.form.relation == name] for name in _DATED}
    while common and len(led) > 1 and any(len(group) > 1 for group in dated.values()):
        group = chance.choice([chance.choice(common), every])
        yield _same_country(chance.sample(group, 2), chance)
        yield _same_directors(chance.sample(led, 2))
        relation = chance.choice([name for name, group in dated.items() if len(group) > 1])
        yield from _compared_dates(relation, chance.sample(dated[relation], 2), chance)


def _directed(
    stated: list[_Statement], nations: list[_Statement]
) -> list[tuple[_Statement, _Statement]]:
    """What says who directed something, with what says where that one is from."""
    found = {symbol(one.subject): one for one in nations}
    return [
        (one, found[symbol(one.answer)])
        for one in stated
        if one.form.relation == "director" and symbol(one.answer) in found
    ]


def _same_country(pair: list[_Statement], chance: random.Random) -> _Asked:
    question = chance.choice(_SAME_COUNTRY).format(*(said.subject for said in pair))
    return _Asked(question, _alike_word(*pair), tuple(said.slot for said in pair))


def _same_directors(pair: list[tuple[_Statement, _Statement]]) -> _Asked:
    films = " and ".join(film.subject for film, _ in pair)
    question = f"Do both films {films} have directors from the same country?"
    slots = tuple(said.slot for both in pair for said in both)
    return _Asked(question, _alike_word(*(person for _, person in pair)), slots)


def _alike_word(one: _Statement, other: _Statement) -> str:
    return _WORDS[one.answer != other.answer]


def _compared_dates(
    relation: str, pair: list[_Statement], chance: random.Random
) -> Iterator[_Asked]:
    earlier, later = sorted(pair, key=lambda said: int(said.answer[-4:]))
    if earlier.answer[-4:] != later.answer[-4:] and earlier.subject in earlier.slot.text:
        subjects = " or ".join(said.subject for said in pair)
        question = f"{chance.choice(_DATED[relation])}, {subjects}?"
        yield _Asked(question, earlier.subject, tuple(said.slot for said in pair))


def _example(asked: _Asked, stated: list[_Statement], chance: random.Random) -> ReaderExample:
    """The question among passages of the same forms that don't hold its answer."""
    others = [one.slot for one in chance.sample(stated, min(_OTHERS, len(stated)))]
    return ReaderExample(
        question=asked.question,
        answers=(asked.answer,),
        passages=tuple(map(_passage, asked.slots)),
        others=tuple(
            _passage(slot)
            for slot in others
            if asked.answer in _WORDS or asked.answer not in slot.text
        ),
    )


def _passage(slot: Slot) -> ReaderPassage:
    return ReaderPassage(title=slot.title, text=slot.text)
