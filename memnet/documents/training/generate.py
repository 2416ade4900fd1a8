"""Questions made from the passages of a memory, where nobody has written any.

Sentences of common English forms answer templated questions (``templates.toml``); others become
cloze questions, or are joined by the name that links two passages.
"""

import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from memnet.documents.candidates import Link, LinkKind, find_links
from memnet.learning import OnProgress, TrainableMemory, TrainingProgress, no_progress
from memnet.learning.evaluation import Question
from memnet.reader.decompose.forms import KIN
from memnet.reader.training.examples import (
    NAME,
    YES_NO,
    ReaderExample,
    ReaderPassage,
    passage_of,
    stored_passages,
)
from memnet.storage import MemoryStore, Slot
from memnet.text.english import sentences
from memnet.text.names import name_pattern, normalise, symbol, without_brackets

_INTRODUCTION = 260  # Characters in which a passage tells what its subject is and where it is from
_DISTRACTORS = 4  # Passages without the answer in each example
_MIN_SHARING = 20  # Subjects that share a country, so that it is one and not a town


class Form(NamedTuple):
    """A form of sentence ("..., directed by Ann Orre")."""

    relation: str
    pattern: re.Pattern[str]
    questions: tuple[str, ...]
    # Roles of the answer towards the subject, for two-hop questions; empty if nobody asks so.
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
    return [
        Statement(slot, form, answer)
        for slot in stored_passages(store)
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
            question = _question_by_role(one, further, rng)
            yield _Asked(question, further.answer, (one.slot, further.slot))


def _question_by_role(one: Statement, further: Statement, rng: random.Random) -> str:
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
        passages=tuple(map(passage_of, asked.slots)),
        others=tuple(
            passage_of(slot)
            for slot in others
            if asked.answer in YES_NO or asked.answer not in slot.text
        ),
    )


_YEAR = re.compile(r"[12]\d{3}")
# Characters of a sentence that becomes a cloze question.
_MIN_CLOZE_LENGTH, _MAX_CLOZE_LENGTH = 40, 260
_MAX_PER_SLOT = 2  # Cloze questions made from one slot
# Taken of each of the two sentences of a two-hop question: questions are short.
_MAX_SENTENCE_WORDS = 18

_Made = TypeVar("_Made")


def reader_examples(
    memory: TrainableMemory,
    max_examples: int,
    *,
    seed: int = 0,
    on_progress: OnProgress = no_progress,
) -> list[ReaderExample]:
    """Questions for a reader to learn from, made from the documents of a memory.

    Up to half are templated, the others cloze questions.

    Args:
        memory: with the documents.
        max_examples: to make; there are fewer where the documents give no more.
        seed: of the choice.
        on_progress: called after each passage from which cloze questions are made.
    """
    templated = templated_examples(memory.store, max_examples // 2, seed)
    rest = max_examples - len(templated)
    return templated + cloze_examples(memory.store, rest, seed, on_progress)


def cloze_examples(
    store: MemoryStore, max_examples: int, seed: int, on_progress: OnProgress = no_progress
) -> list[ReaderExample]:
    """At most ``max_examples`` sentences with a name or number replaced by a question word.

    The name also stands in what is to be read: the rest of the passage, or another passage that it
    links to. Each is an example with one right answer.

    Source: Lewis et al. 2019 (cloze translation); Ram et al. 2021 (recurring spans).
    """
    rng = random.Random(seed)

    def make(slot: int) -> list[ReaderExample]:
        examples = list(_clozes(store, slot, rng))
        return rng.sample(examples, min(_MAX_PER_SLOT, len(examples)))

    return _from_passages(store, max_examples, rng, make, on_progress)


def two_hop_questions(store: MemoryStore, max_questions: int, seed: int) -> list[Question]:
    """At most ``max_questions`` questions whose sources are known: both passages are right.

    A sentence of one passage, with the name that links it to another hidden, is joined to a
    sentence of the other with the same name hidden. Only by finding the one passage and following
    the name can the other be found, as in a question that asks for "the director of ...".
    """
    rng = random.Random(seed)
    return _from_passages(
        store, max_questions, rng, lambda slot: list(_two_hop_question(store, slot, rng))
    )


def _from_passages(
    store: MemoryStore,
    max_made: int,
    rng: random.Random,
    make: Callable[[int], Sequence[_Made]],
    on_progress: OnProgress = no_progress,
) -> list[_Made]:
    """What ``make`` gives for passages in random order, until there is enough."""
    ids = store.passage_ids().tolist()
    rng.shuffle(ids)
    made: list[_Made] = []
    for slot in ids:
        if len(made) >= max_made:
            break
        made += make(slot)
        share = min(1.0, len(made) / max_made)
        on_progress(TrainingProgress("making examples", len(made), share))
    return made[:max_made]


def _clozes(store: MemoryStore, slot_id: int, rng: random.Random) -> Iterator[ReaderExample]:
    [slot] = store.fetch([slot_id])
    spans = sentences(slot.text)
    for start, end in spans:
        rest = slot.text[:start] + slot.text[end:]
        for name in _names(slot.text[start:end]):
            if len(spans) > 2 and _contains(rest, name):
                yield _cloze(slot.text[start:end], name, slot.title, rest, rng)
    for link in find_links(store.symbols([slot_id]), store):
        [other] = store.fetch([link.slot])
        for start, end in spans:
            sentence = slot.text[start:end]
            if link.name in normalise(sentence):
                for name in _names(sentence):
                    if normalise(name) != link.name and _contains(other.text, name):
                        yield _cloze(sentence, name, other.title, other.text, rng)


def _names(sentence: str) -> list[str]:
    """Names and numbers that stand once in a sentence of fair length."""
    if not _MIN_CLOZE_LENGTH <= len(sentence) <= _MAX_CLOZE_LENGTH:
        return []
    names = [match.group().rstrip(".") for match in NAME.finditer(sentence)]
    return [name for name in names if len(name) > 3 and sentence.count(name) == 1]


def _contains(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _cloze(sentence: str, name: str, title: str, text: str, rng: random.Random) -> ReaderExample:
    if _YEAR.fullmatch(name):
        word = "when"
    elif name[0].isdigit():
        word = "how many"
    else:
        word = rng.choice(["what", "who", "which"])
    question = sentence.replace(name, word).strip().rstrip(".") + "?"
    return ReaderExample(
        question=question, answers=(name,), passages=(ReaderPassage(title=title, text=text),)
    )


def _two_hop_question(store: MemoryStore, slot: int, rng: random.Random) -> Iterator[Question]:
    found = find_links(store.symbols([slot]), store)
    links = [link for link in found if link.kind != LinkKind.BACK]
    if not links:
        return
    kind = rng.choice(sorted({link.kind for link in links}))
    link = rng.choice([link for link in links if link.kind == kind])
    sender, other = store.fetch([slot, link.slot])
    texts = [_without_link(passage, link, rng) for passage in (other, sender)]
    if sender.source != other.source and all(texts):
        yield Question(question=" ".join(map(str, texts)), gold=(sender.source, other.source))


def _without_link(passage: Slot, link: Link, rng: random.Random) -> str | None:
    """A sentence of a passage without the name that links.

    Of the passage that the name comes from, a sentence with it; of another, which may be about it
    without its name, any.
    """
    name = re.compile(name_pattern(link.name), re.IGNORECASE)
    texts = [passage.text[start:end] for start, end in sentences(passage.text)]
    with_name = [text for text in texts if name.search(text)]
    if passage.id == link.sender and not with_name:
        return None
    words = name.sub(" ", rng.choice(with_name or texts)).split()
    return " ".join(words[:_MAX_SENTENCE_WORDS]) or None
