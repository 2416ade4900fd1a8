"""Memories to train the gate on: documents, facts, statements and a story, drawn at random."""

import random
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memnet import Document, Fact
from memnet.experts.gate import ExpertName
from memnet.ingest.inputs import Input
from memnet.learning.evaluation import read_questions

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
_GIVEN: Mapping[str, Any] = tomllib.loads((HERE / "training.toml").read_text(encoding="utf-8"))
_SYLLABLES = (
    "ba bel bro car dal den dor el fa fen gar gil hal har ir jo kel ker la len lor ma mer mor na "
    "nel or pel pen quin ra ric ro sal sten tal tar ter ul van ver wen wil yor zan"
).split()
_STORY_PEOPLE = "Mary John Daniel Sandra Fred Bill Jeff Julie".split()
_STORY_PLACES = "kitchen garden office bathroom bedroom hallway park school cinema".split()
_STORY_THINGS = "milk football apple".split()
_ANIMALS = "frog swan rhino lion".split()
_COLOURS = "green white gray yellow".split()
_PREDATORS = (("mouse", "mice", "wolves"), ("sheep", "sheep", "cats"), ("cat", "cats", "wolves"))


_REWORDED = 0.3
_OPENINGS = (
    "Tell me: {}", "Do you know {}", "And {}", "Please say {}", "I wonder {}", "So {}", "Well, {}",
    "Can you find out {}", "Could you tell me {}", "Remind me {}", "Just a moment, {}",
)  # fmt: skip


class Asked(NamedTuple):
    """A question and the expert that has to answer it."""

    question: str
    expert: ExpertName
    about: str
    """The document, the form of statement or the relation that it is about, or its first words:
    what is held out together."""


class World(NamedTuple):
    """What to put into a memory, and what to ask of it."""

    documents: list[Input]
    facts: list[Fact]
    statements: list[str]
    story: str
    """In bAbI's format; empty without one."""
    asked: list[Asked]


def world(seed: int) -> World:
    """A memory of two to four kinds of things, with questions about each."""
    choice = random.Random(seed)
    kinds = choice.sample(
        ["documents", "facts", "statements", "story"], choice.choice([2, 3, 4, 4])
    )
    names = _Names(choice)
    facts, fact_questions = _facts(choice, names) if "facts" in kinds else ([], [])
    told, told_questions = _statements(choice, names) if "statements" in kinds else ([], [])
    story, story_questions = _story(choice) if "story" in kinds else ("", [])
    documents, questions = _documents(choice) if "documents" in kinds else ([], [])
    asked = [*questions, *fact_questions, *told_questions, *story_questions]
    return World(documents, facts, told, story, [_reworded(one, choice) for one in asked])


def _reworded(asked: Asked, choice: random.Random) -> Asked:
    """A question as someone else might write it, at times: no expert has a wording of its own."""
    text = asked.question
    if choice.random() < _REWORDED:
        text = choice.choice(_OPENINGS).format(text[:1].lower() + text[1:])
    if choice.random() < _REWORDED / 2:
        text = text.lower()
    if choice.random() < _REWORDED / 2:
        text = text.rstrip("?")
    return asked._replace(question=text)


class _Names:
    """Invented names; people are shared between facts and statements at times."""

    def __init__(self, choice: random.Random) -> None:
        self._choice = choice
        self.people = [self.person() for _ in range(25)]

    def word(self) -> str:
        return "".join(self._choice.sample(_SYLLABLES, self._choice.choice([2, 2, 3]))).capitalize()

    def person(self) -> str:
        first = self._choice.choice(
            "Ann Bo Clara David Elsa Frank Greta Hugo Ines Jakob Karin Lars Mona Nils Olga Paul "
            "Rosa Sven Tina Viktor".split()
        )
        return first if self._choice.random() < 0.3 else f"{first} {self.word()}"

    def entity(self, kind: str) -> str:
        choose = self._choice
        if kind == "person":
            return choose.choice(self.people)
        if kind in ("number", "year"):
            return str(choose.randrange(1950, 2024) if kind == "year" else choose.randrange(9999))
        if kind == "genre":
            return choose.choice("comedy western horror drama thriller musical".split())
        if kind == "film":
            return f"{choose.choice(['The', 'A', 'Last', 'Blue'])} {self.word()} {self.word()}"
        if kind == "department":
            return choose.choice("Accounts Logistics Research Sales Design".split())
        return self.word()


def _documents(choice: random.Random) -> tuple[list[Input], list[Asked]]:
    """Documents written for training, and often the example about islands."""
    given = choice.sample(_GIVEN["document"], choice.randrange(5, 12))
    # Long documents at times, of which a question is about a small part.
    joined = choice.choice([1, 2, 3])
    documents: list[Input] = [
        Document(
            id=given[first]["title"],
            title=given[first]["title"],
            text="\n\n".join(one["text"] for one in given[first : first + joined]),
        )
        for first in range(0, len(given), joined)
    ]
    asked = [
        Asked(question, "documents", one["title"]) for one in given for question in one["questions"]
    ]
    if choice.random() < 0.5:
        documents.append(EXAMPLES / "saltmere" / "memory" / "documents.jsonl")
        known = read_questions(EXAMPLES / "saltmere" / "questions.jsonl")
        asked += [
            Asked(one.question, "documents", one.question) for one in choice.sample(known, 30)
        ]
    return documents, asked


def _facts(choice: random.Random, names: _Names) -> tuple[list[Fact], list[Asked]]:
    """Facts of one or two domains, or those of the example about ferries."""
    facts: list[Fact] = []
    asked: list[Asked] = []
    for domain in choice.sample(_GIVEN["facts"], choice.choice([1, 2])):
        entities = {
            kind: list(dict.fromkeys(names.entity(kind) for _ in range(choice.randrange(8, 20))))
            for kind in domain["entities"]
        }
        for subject_kind, relation, object_kind, *forms in domain["relations"]:
            style = relation if choice.random() < 0.5 else relation.replace("_", " ")
            for subject in entities[subject_kind]:
                value = choice.choice(entities[object_kind])
                if value == subject:
                    continue
                facts.append(Fact(subject=subject, relation=style, object=value))
                if choice.random() < 0.4:
                    question = choice.choice(forms).format(subject, value)
                    asked.append(Asked(question, "facts", relation))
    if choice.random() < 0.25:
        ferries = EXAMPLES / "ferries"
        lines = (ferries / "facts.tsv").read_text(encoding="utf-8").splitlines()
        for line in lines:
            subject, relation, value = line.split("\t")
            facts.append(Fact(subject=subject, relation=relation, object=value))
        known = read_questions(ferries / "train.jsonl")
        asked += [
            Asked(one.question, "facts", one.question[:8]) for one in choice.sample(known, 40)
        ]
    choice.shuffle(asked)
    return facts, asked[:70]


def _statements(choice: random.Random, names: _Names) -> tuple[list[str], list[Asked]]:
    """What a user might tell, about people of the facts or of the story at times."""
    told: list[str] = []
    asked: list[Asked] = []
    given = _GIVEN["statement"]
    people = [names.person() for _ in range(12)]
    people += choice.sample(names.people, choice.choice([2, 6]))
    people += choice.sample(_STORY_PEOPLE, choice.choice([0, 1, 3]))
    forms = choice.sample(given["forms"], choice.randrange(12, 30))
    for statement, *questions in forms * choice.choice([1, 1, 2, 4]):
        one, other = choice.sample(people, 2)
        filled = {
            "a": one, "b": other, "t": choice.choice(given["things"]),
            "p": choice.choice(given["places"]), "c": choice.choice(given["companies"]),
            "d": choice.choice(given["dates"]), "n": str(choice.randrange(10, 99999)),
            "x": choice.choice(given["projects"]), "i": choice.choice(given["instruments"]),
            "l": choice.choice(given["languages"]), "s": choice.choice(given["subjects"]),
            "k": choice.choice(given["colours"]),
        }  # fmt: skip
        told.append(statement.format(**filled))
        chosen = choice.sample(questions, min(2, len(questions)))
        asked += [Asked(one.format(**filled), "statements", statement) for one in chosen]
    choice.shuffle(asked)
    return told, asked[:50]


def _story(choice: random.Random) -> tuple[str, list[Asked]]:
    """A story in the words of bAbI's tasks."""
    lines: list[str] = []
    asked: list[str] = []
    for make in choice.sample([_moves, _moves, _colours, _fears, _rooms, _sizes], 3):
        for sentences, questions in make(choice):
            lines += sentences
            asked += questions
    text = "".join(f"{number} {line}\n" for number, line in enumerate(lines, start=1))
    # Its format is known by a question with an answer.
    question = f"{len(lines) + 1} Where is Mary?\tgarden\t1\n"
    chosen = choice.sample(asked, min(len(asked), 30))
    return text + question, [Asked(one, "stories", one[:8]) for one in chosen]


_Part = Iterator[tuple[list[str], list[str]]]


def _moves(choice: random.Random) -> _Part:
    for person in choice.sample(_STORY_PEOPLE, 5):
        first, second = choice.sample(_STORY_PLACES, 2)
        thing, other = choice.choice(_STORY_THINGS), choice.choice(_STORY_PEOPLE)
        verb = choice.choice(["went to", "moved to", "travelled to", "journeyed to"])
        yield (
            [
                f"{person} {verb} the {first}.", f"{person} got the {thing} there.",
                f"{person} {verb} the {second}.", f"{person} gave the {thing} to {other}.",
            ],
            [
                f"Where is {person}?", f"Where is the {thing}?", f"Is {person} in the {first}?",
                f"Where was the {thing} before the {second}?", f"What is {person} carrying?",
                f"How many objects is {person} carrying?", f"Who gave the {thing} to {other}?",
                f"What did {person} give to {other}?", f"Who received the {thing}?",
                f"Where was {person} before the {second}?",
                f"Who did {person} give the {thing} to?",
            ],
        )  # fmt: skip


def _colours(choice: random.Random) -> _Part:
    for name in choice.sample(["Lily", "Bernhard", "Greg", "Brian", "Julius"], 3):
        animal = choice.choice(_ANIMALS)
        yield (
            [f"{name} is a {animal}.", f"{name} is {choice.choice(_COLOURS)}."],
            [f"What color is {name}?"],
        )


def _fears(choice: random.Random) -> _Part:
    for name, (one, many, feared) in zip(
        choice.sample(["Gertrude", "Winona", "Jessica", "Emily"], 3), _PREDATORS, strict=True
    ):
        yield (
            [f"{many.capitalize()} are afraid of {feared}.", f"{name} is a {one}."],
            [f"What is {name} afraid of?"],
        )


def _rooms(choice: random.Random) -> _Part:
    for _ in range(3):
        one, other, third = choice.sample(_STORY_PLACES[:6], 3)
        way = choice.choice(["north", "south", "east", "west"])
        yield (
            [f"The {one} is {way} of the {other}.", f"The {third} is west of the {one}."],
            [
                f"What is {way} of the {other}?", f"What is the {one} {way} of?",
                f"How do you go from the {other} to the {one}?",
            ],
        )  # fmt: skip


def _sizes(choice: random.Random) -> _Part:
    for _ in range(3):
        one, other, third = choice.sample(["box", "chest", "container", "suitcase", "chocolate"], 3)
        who, state, place = choice.choice(
            [
                ("Sumit", "tired", "bedroom"),
                ("Yann", "bored", "garden"),
                ("Antoine", "thirsty", "kitchen"),
            ]
        )
        yield (
            [f"The {one} fits inside the {other}.", f"The {other} is bigger than the {third}.",
             f"{who} is {state}.", f"{who} went to the {place}."],
            [f"Does the {one} fit in the {other}?", f"Is the {third} bigger than the {one}?",
             f"Where will {who} go?", f"Why did {who} go to the {place}?"],
        )  # fmt: skip
