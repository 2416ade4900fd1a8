"""Templated questions: sentences of common English forms answer them (``templates.toml``)."""

import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from memnet.learning.evaluation import Question
from memnet.reader.decompose.forms import KIN
from memnet.reader.training.examples import YES_NO, ReaderExample, ReaderPassage
from memnet.storage import MemoryStore, Slot
from memnet.text.names import symbol, without_brackets

_INTRODUCTION = 260  # Characters in which a passage tells what its subject is and where it is from
_DISTRACTORS = 4  # Passages without the answer in each example
_MIN_SHARING = 20  # Subjects that share a country, so that it is one and not a town
_FETCHED = 1000  # Slots that are fetched at once


class Form(NamedTuple):
    """A form of sentence ("..., directed by Ann Orre")."""

    relation: str
    pattern: re.Pattern[str]
    questions: tuple[str, ...]
    # What the answer is to the subject, to ask on about it; none where no one asks so.
    roles: tuple[str, ...]


class Statement(NamedTuple):
    """What a passage says about its subject."""

    slot: Slot
    form: Form
    answer: str

    @property
    def subject(self) -> str:
        """The title, without brackets."""
        return without_brackets(self.slot.title)


class _Asked(NamedTuple):
    """A question with its answer and what has to be read for it."""

    question: str
    answer: str
    slots: tuple[Slot, ...]


class _Compared(NamedTuple):
    """A subject with the value that a question compares, such as its country."""

    subject: str
    value: str
    slots: tuple[Slot, ...]  # The evidence of the value


_TEMPLATES: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("templates.toml").read_text(encoding="utf-8")
)
_PEOPLE = frozenset(_TEMPLATES["people"])
_IN_INTRODUCTIONS = _PEOPLE | {"kind", "country"}
_KIN = {relations: word for word, relations in KIN.items()}


def _form(entry: Mapping[str, Any]) -> Form:
    pattern = entry["pattern"].replace("{NAME}", _TEMPLATES["name"])
    pattern = pattern.replace("{DATE}", _TEMPLATES["date"])
    role = entry.get("role")
    roles = (f"the {role} of {{}}", f"{{}}'s {role}") if role else ()
    return Form(entry["relation"], re.compile(pattern), tuple(entry.get("questions", ())), roles)


_FORMS = tuple(map(_form, _TEMPLATES["form"]))


def templated_questions(store: MemoryStore, max_each: int, seed: int) -> list[list[Question]]:
    """At most ``max_each`` questions with sources: about one passage each, and about two."""
    rng = random.Random(seed)
    statements = extract_statements(store)
    return [
        [
            Question(question=one.question, gold=tuple(slot.source for slot in one.slots))
            for one in islice(asked, max_each)
        ]
        for asked in (_single_hop(statements, rng), _two_hop(statements, rng))
    ]


def templated_examples(store: MemoryStore, max_examples: int, seed: int) -> list[ReaderExample]:
    """Questions for a reader, with what they ask about.

    A third are about one passage, a third compare two subjects, and the others need two hops.
    """
    rng = random.Random(seed)
    statements = extract_statements(store)
    made: list[_Asked] = []
    for asked, share in (
        (_single_hop(statements, rng), max_examples // 3),
        (_comparisons(statements, rng), max_examples // 3),
        (_two_hop(statements, rng), max_examples),
    ):
        made += islice(asked, min(share, max_examples - len(made)))
    return [_example(one, statements, rng) for one in made]


def extract_statements(store: MemoryStore) -> list[Statement]:
    """What the titled passages of a memory say about their subjects, where it has a form."""
    ids = store.passage_ids().tolist()
    return [
        Statement(slot, form, answer)
        for start in range(0, len(ids), _FETCHED)
        for slot in store.fetch(ids[start : start + _FETCHED])
        if slot.title
        for form in _FORMS
        if (answer := _answer(form, slot))
    ]


def _answer(form: Form, slot: Slot) -> str | None:
    """What a passage says in a form, if it does and its title does not."""
    text = slot.text[:_INTRODUCTION] if form.relation in _IN_INTRODUCTIONS else slot.text
    match = form.pattern.search(text)
    answer = match["answer"] if match else ""
    return answer if len(answer) > 2 and answer not in slot.title else None


def _single_hop(statements: Sequence[Statement], rng: random.Random) -> Iterator[_Asked]:
    for one in rng.sample(statements, len(statements)):
        if one.form.questions:
            question = rng.choice(one.form.questions).format(one.subject)
            yield _Asked(question, one.answer, (one.slot,))


def _two_hop(statements: Sequence[Statement], rng: random.Random) -> Iterator[_Asked]:
    """Questions about someone by what they are to the subject of another passage."""
    about: dict[str, list[Statement]] = defaultdict(list)
    for one in statements:
        if one.form.relation in _PEOPLE:
            about[symbol(one.subject)].append(one)
    for one in rng.sample(statements, len(statements)):
        for further in about.get(symbol(one.answer), []) if one.form.roles else []:
            question = _two_hop_question(one, further, rng)
            yield _Asked(question, further.answer, (one.slot, further.slot))


def _two_hop_question(one: Statement, further: Statement, rng: random.Random) -> str:
    kin = _KIN.get((one.form.relation, further.form.relation))
    if kin:
        return rng.choice((f"Who is {{}}'s {kin}?", f"Who is the {kin} of {{}}?")).format(
            one.subject
        )
    role = rng.choice(one.form.roles).format(one.subject)
    return rng.choice(further.form.questions).format(role)


def _comparisons(statements: Sequence[Statement], rng: random.Random) -> Iterator[_Asked]:
    """Whether two subjects or their directors have something in common, and which is earlier."""
    by: dict[str, list[Statement]] = defaultdict(list)
    for one in statements:
        by[one.form.relation].append(one)
    compared = {
        relation: [_Compared(one.subject, one.answer, (one.slot,)) for one in group]
        for relation, group in by.items()
    }
    nationalities = {symbol(one.subject): one for one in by["nationality"]}
    compared["director"] = [
        _Compared(film.subject, person.answer, (film.slot, person.slot))
        for film in by["director"]
        if (person := nationalities.get(symbol(film.answer)))
    ]
    kinds = [
        _same(compared.get(relation, []), forms, rng, _MIN_SHARING if relation == "country" else 1)
        for relation, forms in _TEMPLATES["same"].items()
    ] + [_earlier(by[relation], forms, rng) for relation, forms in _TEMPLATES["earlier"].items()]
    yield from (one for turn in zip_longest(*kinds) for one in turn if one is not None)


def _same(
    compared: Sequence[_Compared], forms: Sequence[str], rng: random.Random, min_sharing: int
) -> Iterator[_Asked]:
    """Questions whether two have the same value, as many with yes as with no."""
    groups: dict[str, list[_Compared]] = defaultdict(list)
    for one in compared:
        groups[one.value].append(one)
    usable = [group for group in groups.values() if len(group) >= min_sharing]
    shared = [group for group in usable if len(group) > 1]
    while shared and len(usable) > 1:
        same = rng.random() < 1 / 2
        if same:
            pair = rng.sample(rng.choice(shared), 2)
        else:
            pair = [rng.choice(group) for group in rng.sample(usable, 2)]
        question = rng.choice(forms).format(*(one.subject for one in pair), pair[0].value)
        slots = tuple(slot for one in pair for slot in one.slots)
        yield _Asked(question, YES_NO[not same], slots)


def _earlier(
    dated: Sequence[Statement], forms: Sequence[str], rng: random.Random
) -> Iterator[_Asked]:
    """Questions which of two is earlier."""
    while len({one.answer[-4:] for one in dated}) > 1:
        earlier, later = sorted(rng.sample(dated, 2), key=lambda one: int(one.answer[-4:]))
        if earlier.answer[-4:] != later.answer[-4:] and earlier.subject in earlier.slot.text:
            subjects = [earlier.subject, later.subject]
            rng.shuffle(subjects)
            question = f"{rng.choice(forms)}, {' or '.join(subjects)}?"
            yield _Asked(question, earlier.subject, (earlier.slot, later.slot))


def _example(asked: _Asked, statements: Sequence[Statement], rng: random.Random) -> ReaderExample:
    """The question with passages of the same forms that don't hold its answer."""
    others = [one.slot for one in rng.sample(statements, min(_DISTRACTORS, len(statements)))]
    return ReaderExample(
        question=asked.question,
        answers=(asked.answer,),
        passages=tuple(map(_passage, asked.slots)),
        others=tuple(
            _passage(slot)
            for slot in others
            if asked.answer in YES_NO or asked.answer not in slot.text
        ),
    )


def _passage(slot: Slot) -> ReaderPassage:
    return ReaderPassage(title=slot.title, text=slot.text)
