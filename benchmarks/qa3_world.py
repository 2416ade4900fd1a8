"""The world of bAbI task 3: people who move, take and drop, and what their stories tell of it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

ACTORS = ("Mary", "John", "Daniel", "Sandra")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
OBJECTS = ("apple", "football", "milk")
VERBS = {
    "move": ("moved to", "went to", "went back to", "journeyed to", "travelled to"),
    "take": ("got", "grabbed", "took", "picked up"),
    "drop": ("dropped", "left", "discarded", "put down"),
}
QUESTION = re.compile(r"Where was the (\w+) before the (\w+)\?")
_SENTENCE = re.compile(
    rf"(\w+) ({'|'.join(verb for verbs in VERBS.values() for verb in verbs)}) the (\w+)( there)?\."
)
_KINDS = {verb: kind for kind, verbs in VERBS.items() for verb in verbs}
_THERE = 0.2
"""Of sentences about an object those that end in "there"."""
_RECENT = 5
"""Sentences, counted back from a question, that its object was last taken or dropped in."""


class Action(NamedTuple):
    """What a sentence tells."""

    actor: str
    verb: str
    target: str
    """A place or an object."""
    there: bool

    @property
    def kind(self) -> str:
        """``move``, ``take`` or ``drop``."""
        return _KINDS[self.verb]

    def sentence(self) -> str:
        """The action in words."""
        return f"{self.actor} {self.verb} the {self.target}{' there' * self.there}."


def read_action(sentence: str) -> Action:
    """The action that a sentence of the task tells.

    Raises:
        ValueError: it is none of the task's sentences.
    """
    match = _SENTENCE.fullmatch(sentence)
    if match is None:
        raise ValueError(f"{sentence!r} is no sentence of task 3; give a file of that task")
    return Action(match[1], match[2], match[3], match[4] is not None)


class Asked(NamedTuple):
    """A question that a story answers with three of its sentences."""

    object: str
    place: str
    answer: str
    supports: tuple[int, int, int]
    """Taking or dropping, the move to the place, the move before that."""
    steps_back: int
    """Places that the object was carried to after the one asked about."""


class Trails:
    """What the sentences so far tell about where objects were carried."""

    def __init__(self) -> None:
        self.holders: dict[str, str] = {}
        self.sentences = 0
        self._handled: dict[str, int] = {}
        self._visits: dict[str, list[tuple[str, int]]] = {}

    def record(self, action: Action) -> None:
        """Take in the next sentence."""
        if action.kind == "move":
            for item, holder in self.holders.items():
                if holder == action.actor:
                    self._visits[item].append((action.target, self.sentences))
        else:
            self._handled[action.target] = self.sentences
            if action.kind == "take":
                self.holders[action.target] = action.actor
                self._visits[action.target] = []
            else:
                del self.holders[action.target]
        self.sentences += 1

    def questions(self, item: str) -> list[Asked]:
        """Every question about an object that has three supporting sentences."""
        visits = self._visits.get(item, [])
        latest = {place: index for index, (place, _) in enumerate(visits)}
        return [
            Asked(
                item,
                place,
                visits[index - 1][0],
                (self._handled[item], visits[index][1], visits[index - 1][1]),
                len(visits) - 1 - index,
            )
            for place, index in latest.items()
            if index
        ]

    def recent_questions(self) -> list[Asked]:
        """The questions about objects that were taken or dropped a short while ago."""
        return [
            question
            for item, sentence in self._handled.items()
            if self.sentences - sentence <= _RECENT
            for question in self.questions(item)
        ]


class World:
    """Where everyone and everything is, told or not."""

    def __init__(self, random: np.random.Generator) -> None:
        """Put everyone and everything in a place."""
        self._random = random
        self._where = {name: self._pick(PLACES) for name in (*ACTORS, *OBJECTS)}

    def act(self) -> Action:
        """Let someone do something: tries are made until one is possible."""
        while True:
            actor, kind = self._pick(ACTORS), self._pick(tuple(VERBS))
            target = self._target(actor, kind)
            if target is not None:
                break
        self._where[actor if kind == "move" else target] = {
            "move": target,
            "take": actor,
            "drop": self._where[actor],
        }[kind]
        there = kind != "move" and self._random.random() < _THERE
        return Action(actor, self._pick(VERBS[kind]), target, there)

    def _target(self, actor: str, kind: str) -> str | None:
        """Where an actor might go, or what it might take or drop; None if that try fails."""
        if kind == "move":
            place = self._pick(PLACES)
            return None if place == self._where[actor] else place
        holder = self._where[actor] if kind == "take" else actor
        items = [item for item in OBJECTS if self._where[item] == holder]
        return self._pick(items) if items else None

    def _pick(self, options: Sequence[str]) -> str:
        return options[int(self._random.integers(len(options)))]
