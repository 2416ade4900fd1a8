"""Templated questions, which sentences of common forms answer."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from memnet.documents.training.sentence_forms import PEOPLE, Statement, stated
from memnet.evaluation.questions import Question
from memnet.reader.decompose.phrases import KIN
from memnet.reader.training.examples import WORDS, ReaderExample, ReaderPassage
from memnet.storage import MemoryStore, Slot
from memnet.text.names import symbol

_OTHERS = 4
"""Passages that don't help, beside each question."""
_NATIONS = (
    "Are {} and {} from the same country?",
    "Are {} and {} of the same nationality?",
    "Do {} and {} have the same nationality?",
    "Were {} and {} from the same country?",
)
_PLACES = (
    "Are {} and {} located in the same country?",
    "Are both {} and {} located in the same country?",
)
_KINDS = (
    "Are both {} and {} {}s?",
    "Were {} and {} both {}s?",
    "Are {} and {} both a type of {}?",
    "Are {} and {} both described as a {}?",
)
_DIRECTORS = (
    "Do both films {} and {} have directors from the same country?",
    "Do director of film {} and director of film {} share the same nationality?",
    "Are the directors of films {} and {} both from the same country?",
)
_DATED = {
    "born": ("Who was born first", "Who is older"),
    "released": ("Which film came out first",),
}
_COMMON = 20
"""Subjects that share a country, so that it is one and not a town."""
_KIN = {relations: word for word, relations in KIN.items()}


class _Asked(NamedTuple):
    """A question with its answer and what has to be read for it."""

    question: str
    answer: str
    slots: tuple[Slot, ...]


class _Compared(NamedTuple):
    """Something that a question compares."""

    subject: str
    value: str
    """Its country, say."""
    slots: tuple[Slot, ...]
    """What says so."""


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
    said = stated(store)
    return [
        [
            Question(question=one.question, gold=tuple(slot.source for slot in one.slots))
            for one in islice(kind, most)
        ]
        for kind in (_alone(said, chance), _led(said, chance))
    ]


def templated_examples(store: MemoryStore, most: int, seed: int) -> list[ReaderExample]:
    """Questions for a reader, with what they ask about.

    A third are about one passage. The others need several: whether two subjects are alike, or which
    is earlier (a third), and what is said in one of someone whom another names.

    Args:
        store: the memory.
        most: questions to make.
        seed: of the choice.
    """
    chance = random.Random(seed)
    said = stated(store)
    kinds = [
        (_alone(said, chance), most // 3),
        (_alike(said, chance), most // 3),
        (_led(said, chance), most),
    ]
    made: list[_Asked] = []
    for kind, share in kinds:
        made += islice(kind, min(share, most - len(made)))
    return [_example(one, said, chance) for one in made]


def _alone(said: Sequence[Statement], chance: random.Random) -> Iterator[_Asked]:
    for one in chance.sample(said, len(said)):
        if one.form.questions:
            question = chance.choice(one.form.questions).format(one.subject)
            yield _Asked(question, one.answer, (one.slot,))


def _led(said: Sequence[Statement], chance: random.Random) -> Iterator[_Asked]:
    """What is said of the one who is something to a subject."""
    about: dict[str, list[Statement]] = defaultdict(list)
    for one in said:
        if one.form.relation in PEOPLE:
            about[symbol(one.subject)].append(one)
    for one in chance.sample(said, len(said)):
        for further in about.get(symbol(one.answer), []) if one.form.roles else []:
            yield _Asked(_asked_on(one, further, chance), further.answer, (one.slot, further.slot))


def _asked_on(one: Statement, further: Statement, chance: random.Random) -> str:
    kin = _KIN.get((one.form.relation, further.form.relation))
    if kin:
        return chance.choice((f"Who is {{}}'s {kin}?", f"Who is the {kin} of {{}}?")).format(
            one.subject
        )
    role = chance.choice(one.form.roles).format(one.subject)
    return chance.choice(further.form.questions).format(role)


def _alike(said: Sequence[Statement], chance: random.Random) -> Iterator[_Asked]:
    """Whether two have something in common, they or who directed them, and which is earlier."""
    by: dict[str, list[Statement]] = defaultdict(list)
    for one in said:
        by[one.form.relation].append(one)
    alone = {
        name: [_Compared(one.subject, one.answer, (one.slot,)) for one in by[name]] for name in by
    }
    nations = {symbol(one.subject): one for one in by["nationality"]}
    directed = [
        _Compared(film.subject, person.answer, (film.slot, person.slot))
        for film in by["director"]
        if (person := nations.get(symbol(film.answer)))
    ]
    kinds = [
        _same(alone.get("nationality", []), _NATIONS, chance),
        _same(directed, _DIRECTORS, chance),
        _same(alone.get("kind", []), _KINDS, chance),
        _same(alone.get("country", []), _PLACES, chance, least=_COMMON),
        *(_earlier(by[relation], forms, chance) for relation, forms in _DATED.items()),
    ]
    yield from (one for turn in zip_longest(*kinds) for one in turn if one is not None)


def _same(
    compared: Sequence[_Compared],
    forms: Sequence[str],
    chance: random.Random,
    least: int = 1,
) -> Iterator[_Asked]:
    """Questions whether two have the same value, as many with yes as with no.

    Args:
        compared: to choose from.
        forms: of questions about two subjects, and perhaps the value.
        chance: of the choice.
        least: values that fewer have are left out.
    """
    groups: dict[str, list[_Compared]] = defaultdict(list)
    for one in compared:
        groups[one.value].append(one)
    usable = [group for group in groups.values() if len(group) >= least]
    common = [group for group in usable if len(group) > 1]
    while common and len(usable) > 1:
        alike = chance.random() < 1 / 2
        if alike:
            pair = chance.sample(chance.choice(common), 2)
        else:
            pair = [chance.choice(group) for group in chance.sample(usable, 2)]
        question = chance.choice(forms).format(*(one.subject for one in pair), pair[0].value)
        slots = tuple(slot for one in pair for slot in one.slots)
        yield _Asked(question, WORDS[not alike], slots)


def _earlier(
    dated: Sequence[Statement], forms: Sequence[str], chance: random.Random
) -> Iterator[_Asked]:
    """Questions which of two is earlier."""
    while len({one.answer[-4:] for one in dated}) > 1:
        earlier, later = sorted(chance.sample(dated, 2), key=lambda one: int(one.answer[-4:]))
        if earlier.answer[-4:] != later.answer[-4:] and earlier.subject in earlier.slot.text:
            subjects = [earlier.subject, later.subject]
            chance.shuffle(subjects)
            question = f"{chance.choice(forms)}, {' or '.join(subjects)}?"
            yield _Asked(question, earlier.subject, (earlier.slot, later.slot))


def _example(asked: _Asked, said: Sequence[Statement], chance: random.Random) -> ReaderExample:
    """The question among passages of the same forms that don't hold its answer."""
    others = [one.slot for one in chance.sample(said, min(_OTHERS, len(said)))]
    return ReaderExample(
        question=asked.question,
        answers=(asked.answer,),
        passages=tuple(map(_passage, asked.slots)),
        others=tuple(
            _passage(slot)
            for slot in others
            if asked.answer in WORDS or asked.answer not in slot.text
        ),
    )


def _passage(slot: Slot) -> ReaderPassage:
    return ReaderPassage(title=slot.title, text=slot.text)
