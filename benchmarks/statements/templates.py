"""Scenarios of plain sentences, made from templates, whose answers follow from what they say.

What people write to a memory seldom shows plainly which relations have one value at a time: these
do. Whoever moves lives elsewhere, whoever likes coffee may like tea as well, and whoever no longer
works somewhere works nowhere that is known. They are learned from, never measured on.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from benchmarks.statements.format import (
    QuestionType,
    Scenario,
    ScenarioChange,
    ScenarioQuestion,
    ScenarioStatement,
    ScenarioTell,
)

_NAMES = (
    "Amara", "Bogdan", "Chiara", "Dmitri", "Eszter", "Farid", "Giulia", "Hana", "Ivo", "Jiro",
    "Katya", "Liam", "Mei", "Noor", "Olek", "Priya", "Quentin", "Rosa", "Sven", "Tala", "Umar",
    "Vera", "Wim", "Xenia", "Yusuf", "Zora", "My brother", "My sister", "Grandpa", "Our neighbour",
    "My boss", "Her uncle", "The plumber", "Dr. Anand", "Mrs. Kowal", "Uncle Teo", "My cousin Ilse",
    "My friend Tomas", "My daughter Nell", "My sister Clara", "My uncle Bert",
)  # fmt: skip
_THINGS = (
    "The shed", "The blue van", "Our printer", "The east wing", "The old server", "My bike",
    "The kiosk", "The pool", "Gate 4", "The green boat", "The spare laptop", "The library",
    "The dentist's", "Our allotment", "The night bus", "The club house", "The freezer",
)  # fmt: skip
_CITIES = (
    "Lima", "Oslo", "Tunis", "Kraków", "Bergen", "Quito", "Leeds", "Turin", "Osaka", "Accra",
    "Nantes", "Riga", "Porto", "Ghent", "Cork", "Split", "Graz", "Utrecht",
)  # fmt: skip
_SURNAMES = "Novak Haddad Lindgren Okoye Ferrari Tanaka Moreau Petrov Byrne Kaya".split()
_FIRST_PERSON, _SPEAKER = 0.4, 0.5
"""Share of the scenarios about people in which the teller speaks of himself, and of these in which
another asks about him, by his name."""
_ONE_COUNTED = 0.2
_MOST: dict[QuestionType, int] = {
    "current": 2, "list": 2, "yesno": 2, "negated": 2, "who": 1, "past": 1, "as_of": 1, "count": 1,
    "unknown": 1,
}  # fmt: skip
"""Questions of each type for a scenario."""


class _Frame(NamedTuple):
    """A relation, how it is said and how it is asked for.

    {s} stands for the subject and {v} for the value; of [live|lives] the first is said of "I".
    """

    relation: str
    forms: tuple[str, ...]
    values: tuple[str, ...]
    asked: tuple[str, ...]
    """For the value, or for all of them."""
    checked: tuple[str, ...]
    """For yes or no."""
    who: str = ""
    """For the subject; empty where things have the value, or any subject may."""
    single: bool = True
    """Whether a new value takes the place of the last."""
    of_things: bool = False
    over: tuple[str, ...] = ()
    """How it is said to hold no longer."""
    before: tuple[str, ...] = ()
    """For the value before, where there is one at a time."""
    counted: str = ""
    """For the number of values, where there may be many."""


_FRAMES = (
    _Frame("lives in", ("{s} [live|lives] in {v}", "{s} moved to {v}",
                        "{s} [am|is] living in {v} now", "{s} [have|has] a flat in {v} now"),
           _CITIES,
           ("Where [do|does] {s} live?", "Which city [do|does] {s} live in?",
            "where [am|is] {s} living now"),
           ("[Do|Does] {s} live in {v}?", "[Do|Does] {s} still live in {v}?"),
           "Who lives in {v}?",
           over=("{s} no longer [live|lives] in {v}", "{s} left {v}",
                 "{s} [don't|doesn't] live in {v} any more", "{s} moved away from {v}"),
           before=("Where did {s} live before?", "Where did {s} use to live?",
                   "Where did {s} live before that?")),
    _Frame("works at", ("{s} [work|works] at {v}", "{s} [have|has] a new job at {v}",
                        "{s} started at {v}", "{s} [am|is] working for {v}"),
           ("Nordlicht", "the harbour", "a bakery", "Telrex", "the town hall", "Kappa Labs",
            "Siemens", "the zoo"),
           ("Where [do|does] {s} work?", "Who [do|does] {s} work for?", "What is {s's} employer?"),
           ("[Do|Does] {s} work at {v}?", "[Do|Does] {s} still work for {v}?"),
           "Who works at {v}?",
           over=("{s} [don't|doesn't] work at {v} any more", "{s} quit at {v}",
                 "{s} no longer [work|works] at {v}", "{s} retired from {v}",
                 "{s} lost [my|the] job at {v}"),
           before=("Where did {s} work before?", "Where did {s} use to work?")),
    _Frame("is married to", ("{s} [am|is] married to {v}", "{s} married {v}"),
           tuple(f"Alex {name}" for name in _SURNAMES),
           ("Who [am|is] {s} married to?", "Who did {s} marry?"),
           ("[Am|Is] {s} married to {v}?",), "Who is married to {v}?",
           over=("{s} and {v} are divorced", "{s} [am|is] not married to {v} any more",
                 "{s} and {v} split up"),
           before=("Who was {s} married to before?",)),
    _Frame("has phone number", ("{s's} number is {v}", "{s} [have|has] a new phone number, {v}",
                                "{s's} new number: {v}"),
           ("0151 443 210", "020 7946 018", "+39 06 5587", "555-0173", "0664 88 120"),
           ("What is {s's} number?", "How can {s} be phoned?", "what's {s's} phone number"),
           ("Is {s's} number {v}?",), over=("{s's} number is no longer {v}",),
           before=("What was {s's} number before?", "What was {s's} old number?")),
    _Frame("is aged", ("{s} [am|is] {v} years old", "{s} turned {v} today", "{s} [am|is] {v}"),
           ("31", "32", "40", "58", "67", "19", "10"),
           ("How old [am|is] {s}?", "What is {s's} age?"), ("[Am|Is] {s} {v} years old?",),
           "Who is {v} years old?"),
    _Frame("weighs", ("{s} [weigh|weighs] {v}", "{s} [am|is] at {v} now", "{s}: {v}"),
           ("71 kg", "69 kg", "82.5 kg", "80 kg", "64 kg"),
           ("How much [do|does] {s} weigh?", "What is {s's} weight?"),
           ("[Do|Does] {s} weigh {v}?",), before=("How much did {s} weigh before?",)),
    _Frame("is called", ("{s} [am|is] called {v} now", "{s} changed [my|her] name to {v}"),
           tuple(_SURNAMES), ("What [am|is] {s} called now?", "What is {s's} surname?"),
           ("Is {s's} name {v}?",), before=("What was {s} called before?",)),
    _Frame("wears size", ("{s} [need|needs] {v} now", "{s} [take|takes] a {v}", "{s} {v}",
                          "{s} [have|has] shoe size {v}"),
           ("33", "34", "35", "38", "41", "44"),
           ("What shoe size [do|does] {s} need?", "What size [do|does] {s} take?",
            "What is {s's} shoe size?"), ("[Do|Does] {s} take a {v}?",), "Who needs size {v}?",
           before=("What size did {s} take before?",)),
    _Frame("takes the bus", ("{s} [take|takes] bus {v} to work", "{s} [use|uses] the {v} bus"),
           ("12", "40", "7", "181", "N3"),
           ("Which bus [do|does] {s} take?", "What bus [do|does] {s} take to work?"),
           ("[Do|Does] {s} take bus {v}?",), "Who takes bus {v}?",
           over=("{s} [don't|doesn't] take bus {v} any more",),
           before=("Which bus did {s} take before?",)),
    _Frame("has favourite colour", ("{s's} favourite colour is {v}",),
           ("teal", "orange", "violet", "grey"),
           ("What is {s's} favourite colour?", "Which colour [do|does] {s} like best?"),
           ("Is {s's} favourite colour {v}?",), "Whose favourite colour is {v}?",
           before=("What was {s's} favourite colour before?",)),
    _Frame("is treated by", ("{s's} doctor is {v}", "{s} [am|is] with doctor {v} now",
                             "{s} [go|goes] to {v} for check-ups"),
           tuple(f"Dr. {name}" for name in _SURNAMES),
           ("Who is {s's} doctor?", "Which doctor [do|does] {s} go to?"),
           ("Is {v} {s's} doctor?",), "Who is treated by {v}?",
           over=("{s} [don't|doesn't] go to {v} any more", "{v} is not {s's} doctor any longer"),
           before=("Who was {s's} doctor before?",)),
    _Frame("is in", ("{s} [am|is] in {v}", "{s} [am|is] in {v} at the moment"), _CITIES,
           ("Where [am|is] {s}?", "Where [am|is] {s} right now?"), ("[Am|Is] {s} in {v}?",),
           "Who is in {v}?", over=("{s} [am|is] not in {v} any more", "{s} left {v} this morning"),
           before=("Where was {s} before?",)),
    _Frame("takes dose", ("{s} [take|takes] {v} a day", "{s's} dose is {v}",
                          "{s} [am|is] on {v} now"),
           ("5 mg", "10 mg", "2.5 mg", "40 mg", "two tablets"),
           ("What is {s's} dose?", "How much [do|does] {s} take a day?"),
           ("Is {s's} dose {v}?",), over=("{s} stopped taking {v}",),
           before=("What was {s's} dose before?",)),
    _Frame("costs", ("{s} costs {v}", "{s} is {v} now", "the price of {s} is {v}",
                     "{s} went up to {v}"),
           ("120 euros", "95 euros", "$40", "1,200 a month", "9.90"),
           ("How much does {s} cost?", "What is the price of {s}?", "how much is {s}"),
           ("Does {s} cost {v}?",), "What costs {v}?", of_things=True,
           over=("{s} does not cost {v} any more",),
           before=("How much did {s} cost before?", "What was the old price of {s}?")),
    _Frame("stands", ("{s} is in {v}", "{s} was moved to {v}", "{s} stands in {v}"),
           ("the cellar", "hall B", "the yard", "room 12", "the garage"),
           ("Where is {s}?", "Where can I find {s}?"), ("Is {s} in {v}?",), "What is in {v}?",
           of_things=True, over=("{s} is no longer in {v}", "{s} was taken out of {v}"),
           before=("Where was {s} before?", "Where did {s} use to be?")),
    _Frame("has code", ("the code of {s} is {v}", "{s} has the code {v} now", "{s's} code: {v}"),
           ("4471", "9002", "1357", "83-B", "2266"),
           ("What is the code of {s}?", "Which code does {s} have?"), ("Is the code of {s} {v}?",),
           of_things=True, over=("the code {v} of {s} is no longer valid",),
           before=("What was the code of {s} before?", "What was the old code of {s}?")),
    _Frame("has colour", ("{s} is {v}", "{s} was painted {v}"),
           ("red", "white", "dark green", "yellow", "black"),
           ("What colour is {s}?", "Which colour does {s} have?"), ("Is {s} {v}?",),
           of_things=True, before=("What colour was {s} before?",)),
    _Frame("is open", ("{s} is open until {v}", "{s} closes at {v}"),
           ("6 pm", "17:00", "half past eight", "noon"),
           ("When does {s} close?", "Until when is {s} open?", "How long is {s} open?"),
           ("Does {s} close at {v}?",), of_things=True,
           before=("When did {s} close before?", "Until when was {s} open before?")),
    _Frame("is run by", ("{v} is in charge of {s}", "{s} is looked after by {v}",
                         "{v} runs {s} now"), tuple(_SURNAMES),
           ("Who is in charge of {s}?", "Who looks after {s}?"), ("Is {v} in charge of {s}?",),
           "What is {v} in charge of?", of_things=True,
           over=("{v} is no longer in charge of {s}", "{v} doesn't look after {s} any more"),
           before=("Who was in charge of {s} before?",)),
    _Frame("belongs to", ("{s} belongs to {v}", "{s} was sold to {v}", "{v} bought {s}"),
           tuple(_SURNAMES), ("Who owns {s}?", "Who does {s} belong to?"),
           ("Does {s} belong to {v}?",), "What belongs to {v}?", of_things=True,
           over=("{s} doesn't belong to {v} any more",),
           before=("Who owned {s} before?", "Who did {s} belong to before?")),
    _Frame("likes", ("{s} [like|likes] {v}", "{s} [love|loves] {v}", "{s} [am|is] fond of {v}"),
           ("tea", "coffee", "chess", "old films", "olives", "cycling", "jazz", "crosswords"),
           ("What [do|does] {s} like?", "Which things [do|does] {s} like?"),
           ("[Do|Does] {s} like {v}?",), "Who likes {v}?", single=False,
           over=("{s} [don't|doesn't] like {v} any more", "{s} no longer [like|likes] {v}",
                 "{s} [am|is] tired of {v}"), counted="How many things [do|does] {s} like?"),
    _Frame("speaks", ("{s} [speak|speaks] {v}", "{s} [know|knows] some {v}"),
           ("Greek", "Polish", "Mandarin", "Swahili", "French"),
           ("Which languages [do|does] {s} speak?", "What languages [do|does] {s} know?"),
           ("[Do|Does] {s} speak {v}?",), "Who speaks {v}?", single=False,
           counted="How many languages [do|does] {s} speak?"),
    _Frame("has been to", ("{s} [have|has] been to {v}", "{s} visited {v}",
                           "{s} [was|was] in {v} on holiday"), _CITIES,
           ("Where [have|has] {s} been?", "Which cities [have|has] {s} visited?"),
           ("[Have|Has] {s} been to {v}?", "Did {s} visit {v}?"), "Who has been to {v}?",
           single=False, counted="How many cities [have|has] {s} been to?"),
    _Frame("owns", ("{s} [have|has] {v}", "{s} [own|owns] {v}", "{s} bought {v}", "{s} got {v}"),
           ("a canoe", "a grey cat", "a piano", "a drone", "a camper van", "a drill", "a tent"),
           ("What [do|does] {s} own?", "What [do|does] {s} have?"),
           ("[Do|Does] {s} have {v}?", "[Do|Does] {s} still own {v}?"), "Who has {v}?",
           single=False,
           over=("{s} sold {v}", "{s} no longer [have|has] {v}", "{s} gave {v} away",
                 "{s} [don't|doesn't] have {v} any more"),
           counted="How many things [do|does] {s} own?"),
    _Frame("plays", ("{s} [play|plays] {v}", "{s} [play|plays] {v} on Sundays", "{s} took up {v}"),
           ("the cello", "tennis", "football", "the drums", "bridge", "the oboe"),
           ("What [do|does] {s} play?",),
           ("[Do|Does] {s} play {v}?", "[Do|Does] {s} still play {v}?"),
           "Who plays {v}?", single=False,
           over=("{s} gave up {v}", "{s} [don't|doesn't] play {v} any more",
                 "{s} no longer [play|plays] {v}", "{s} stopped playing {v}")),
    _Frame("is allergic to", ("{s} [am|is] allergic to {v}", "{s} can't have {v}"),
           ("nuts", "pollen", "penicillin", "shellfish"),
           ("What [am|is] {s} allergic to?", "Which allergies [do|does] {s} have?"),
           ("[Am|Is] {s} allergic to {v}?",), "Who is allergic to {v}?", single=False,
           over=("{s} [am|is] not allergic to {v} any more",),
           counted="How many allergies [do|does] {s} have?"),
    _Frame("read", ("{s} read {v}", "{s} finished reading {v}", "{s} finished {v}"),
           ("'Night Train'", "'The Reef'", "'Salt Maps'", "'Two Rivers'"),
           ("Which books did {s} read?", "What [have|has] {s} read?"),
           ("Did {s} read {v}?", "[Have|Has] {s} read {v}?"), "Who read {v}?", single=False,
           counted="How many books did {s} read?"),
    _Frame("met", ("{s} met {v}", "{s} had lunch with {v}", "{s} ran into {v}"), tuple(_SURNAMES),
           ("Who did {s} meet?", "Whom [have|has] {s} met?"), ("Did {s} meet {v}?",),
           "Who met {v}?", single=False, counted="How many people did {s} meet?"),
    _Frame("learns", ("{s} [am|is] learning {v}", "{s} [take|takes] lessons in {v}"),
           ("pottery", "sailing", "Danish", "typing"),
           ("What [am|is] {s} learning?", "What [do|does] {s} take lessons in?"),
           ("[Am|Is] {s} learning {v}?",), "Who is learning {v}?", single=False,
           over=("{s} stopped learning {v}", "{s} [don't|doesn't] take lessons in {v} any more")),
    _Frame("owes", ("{s} [owe|owes] {v} money", "{s} borrowed 20 from {v}"), tuple(_SURNAMES),
           ("Who [do|does] {s} owe money?", "Whom [do|does] {s} owe money?"),
           ("[Do|Does] {s} owe {v} money?",), "Who owes {v} money?", single=False,
           over=("{s} paid {v} back", "{s} [don't|doesn't] owe {v} anything any more"),
           counted="How many people [do|does] {s} owe money?"),
    _Frame("was used by", ("{v} used {s}", "{v} borrowed {s}"), tuple(_SURNAMES),
           ("Who used {s}?", "Who has used {s}?"), ("Did {v} use {s}?",), "What did {v} use?",
           single=False, of_things=True, counted="How many people used {s}?"),
)  # fmt: skip
_STATES = (
    _Frame("is", ("{s} [am|is] {v}",),
           ("tall", "a doctor", "left-handed", "vegetarian", "shy", "a good cook", "a widower"),
           (), ("[Am|Is] {s} {v}?",), single=False),
    _Frame("has", ("{s} has {v}",),
           ("a flat roof", "two doors", "a crack", "a new battery", "a small window"), (),
           ("Does {s} have {v}?",), single=False, of_things=True),
    _Frame("has state", ("{s} is {v}",), ("broken", "repaired", "locked", "open", "empty"), (),
           ("Is {s} {v}?",), of_things=True),
)  # fmt: skip
"""Asked for yes or no alone."""
_SINGLE = tuple(one for one in _FRAMES if one.single)
_MANY = tuple(one for one in _FRAMES if not one.single)
_CORRECTIONS = (
    "Sorry, {v}", "no, {v}", "I meant {v}", "correction: {v}", "No wait, {v}, not {o}",
    "that should have been {v}",
)  # fmt: skip
_ENDS = (".", "", "", "!")
_FORM = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


@dataclass(eq=False)
class _Value:
    """A value that was told of a subject."""

    subject: str
    frame: _Frame
    value: str
    tell: int
    ended: int | None = None
    """The text by which it ended; None while it holds."""
    wrong: bool = False
    """Whether it never held."""


def plain_scenarios(count: int, seed: int = 0) -> list[Scenario]:
    """So many scenarios of one to eight plain sentences each, with questions."""
    rng = random.Random(seed)
    return [_Story(f"plain-{number:04}", rng).scenario() for number in range(count)]


class _Story:
    """One scenario while it is made."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self._name = name
        self._rng = rng
        frames = (*_FRAMES, *_STATES)
        chosen = _STATES if rng.random() < 0.1 else _SINGLE if rng.random() < 0.55 else _MANY
        self._frame = rng.choice(chosen)
        same_kind = [one for one in frames if one.of_things == self._frame.of_things]
        self._asides = [one for one in same_kind if one is not self._frame]
        names = _THINGS if self._frame.of_things else _NAMES
        self._subject, self._other = rng.sample(names, 2)
        self._speaker = ""
        if not self._frame.of_things and rng.random() < _FIRST_PERSON:
            if rng.random() < _SPEAKER:
                single = {name for name in _NAMES if " " not in name} - {self._other}
                self._speaker = rng.choice(sorted(single))
            self._subject = "I"
        self._at = datetime(2023, 1, 1) + timedelta(hours=rng.randrange(24_000))
        self._tells: list[ScenarioTell] = []
        self._values: list[_Value] = []

    def scenario(self) -> Scenario:
        """Tell what happens, and ask about it."""
        rng = self._rng
        if rng.random() < 0.12 and self._frame.over:
            # That it is over may be all that is known.
            self._tell(rng.choice(self._frame.over), self._subject, self._frame, self._new_value())
            self._values[-1].ended = self._values[-1].tell
        else:
            self._add(self._subject)
        for _ in range(rng.choice((0, 1, 2, 2, 3, 3, 4, 5, 6))):
            self._go_on()
        questions = list(self._questions())
        rng.shuffle(questions)
        left = Counter(_MOST)
        kept: list[ScenarioQuestion] = []
        for one in questions:
            left[one.type] -= 1
            if left[one.type] >= 0:
                kept.append(one)
        return Scenario(id=self._name, tells=tuple(self._tells), questions=tuple(kept))

    def _go_on(self) -> None:
        """One more sentence."""
        rng = self._rng
        held = self._held(self._subject, self._frame)
        many = () if self._frame.single else ("new", "new", "new")
        what = rng.choice(
            ("new", "new", *many, "over", "again", "correct", "other", "aside", "aside")
        )
        last = self._values[-1]
        if what == "over" and held and self._frame.over:
            self._end(rng.choice(held))
        elif what == "again" and held:
            again = rng.choice(held)
            self._tell(
                rng.choice(self._frame.forms), again.subject, again.frame, again.value,
                (again.tell, "merge"), value_of=again,
            )  # fmt: skip
        elif what == "correct" and last in held and last.tell == len(self._tells) - 1:
            last.wrong, last.ended = True, len(self._tells)
            self._tell(
                rng.choice(_CORRECTIONS), last.subject, last.frame, self._new_value(),
                (last.tell, "correct"), named=False, old=last.value,
            )  # fmt: skip
        elif what == "other":
            self._add(self._other)
        elif what == "aside":
            frame = rng.choice(self._asides)
            if not self._held(self._subject, frame):
                value = rng.choice(frame.values)
                self._tell(rng.choice(frame.forms), self._subject, frame, value)
        else:
            self._add(self._subject)

    def _add(self, subject: str) -> None:
        """A new value of the relation, which takes the place of the last where there is but one."""
        changes: list[tuple[int, str]] = []
        if self._frame.single:
            for one in self._held(subject, self._frame):
                one.ended = len(self._tells)
                changes.append((one.tell, "supersede"))
        form = self._rng.choice(self._frame.forms)
        self._tell(form, subject, self._frame, self._new_value(), *changes)

    def _end(self, one: _Value) -> None:
        one.ended = len(self._tells)
        form = self._rng.choice(self._frame.over)
        self._tell(form, one.subject, one.frame, one.value, (one.tell, "end"), value_of=one)

    def _new_value(self) -> str:
        used = {one.value for one in self._values}
        return self._rng.choice([one for one in self._frame.values if one not in used] or ["77"])

    def _held(self, subject: str, frame: _Frame) -> list[_Value]:
        return [
            one
            for one in self._values
            if one.subject == subject and one.frame is frame and one.ended is None
        ]

    def _tell(
        self,
        form: str,
        subject: str,
        frame: _Frame,
        value: str,
        *changes: tuple[int, str],
        named: bool = True,
        value_of: _Value | None = None,
        old: str = "",
    ) -> None:
        """Add a text of one sentence; ``value_of`` is what it says again or ends."""
        text = filled(form, subject, value, old) + self._rng.choice(_ENDS)
        written = _shown(subject, text)
        statement = ScenarioStatement(
            text=text,
            subject=written if named else "",
            about=subject,
            relation=frame.relation,
            values=(value,) if value in text else (),
            polarity="no" if form in frame.over else "yes",
            changes=tuple(
                ScenarioChange.model_validate({"tell": index, "statement": 0, "action": action})
                for index, action in changes
            ),
        )
        if value_of is None:
            self._values.append(_Value(subject, frame, value, len(self._tells)))
        self._tells.append(
            ScenarioTell(text=text, at=self._at, speaker=self._speaker, statements=(statement,))
        )
        self._at += timedelta(minutes=self._rng.choice((1, 30, 2_000, 20_000, 90_000)))

    def _questions(self) -> Iterator[ScenarioQuestion]:
        rng, subject, frame = self._rng, self._subject, self._frame
        for who in dict.fromkeys((subject, self._other)):
            for one in {value.frame.relation: value.frame for value in self._values}.values():
                if who == subject or one is frame:
                    yield from self._about(who, one)
        unknown = rng.choice(self._asides)
        if unknown.asked and not self._of(subject, unknown):
            name = self._speaker or subject
            yield _asked(filled(rng.choice(unknown.asked), name), "unknown")
        if frame.who:
            for value in {one.value for one in self._values if one.frame is frame}:
                having = [
                    one
                    for one in self._values
                    if one.value == value and one.frame is frame and one.ended is None
                ]
                if len(having) == 1 and having[0].subject == "I":
                    continue
                spans = [(one.tell, _shown(one.subject, self._text(one))) for one in having]
                if all(piece for _, piece in spans):
                    kind: QuestionType = "who" if having else "negated"
                    yield _asked(frame.who.format(v=value), kind, spans)

    def _about(self, who: str, frame: _Frame) -> Iterator[ScenarioQuestion]:
        """What is asked about one relation of a subject."""
        rng = self._rng
        name = self._speaker or who if who == "I" else who
        every = self._of(who, frame)
        held = [one for one in every if one.ended is None]
        spans = [(one.tell, one.value) for one in held]
        if frame.asked:
            question = filled(rng.choice(frame.asked), name)
            if held:
                yield _asked(question, "list" if len(held) > 1 else "current", spans)
            else:
                yield _asked(question, "negated" if every else "unknown")
        number = len(held)
        # One value is by far the commonest; it is asked for as often as the others.
        if frame.counted and every and (number != 1 or rng.random() < _ONE_COUNTED):
            answers = [str(number)] if number else ["none", "0"]
            yield _asked(filled(frame.counted, name), "count", answers=answers, of=every)
        past = [one for one in every if one.ended is not None and not one.wrong]
        if frame.before and every:
            last = max(past, key=lambda one: one.ended or 0, default=None)
            question = filled(rng.choice(frame.before), name)
            yield _asked(
                question, "past" if last else "unknown", [(last.tell, last.value)] if last else ()
            )
        for one in every:
            question = filled(rng.choice(frame.checked), name, one.value)
            yield _asked(
                question, "yesno", answers=["no" if one in past or one.wrong else "yes"], of=[one]
            )
        other = self._rng.choice(frame.values)
        if frame.single and held and other not in {one.value for one in every}:
            question = filled(rng.choice(frame.checked), name, other)
            yield _asked(question, "yesno", answers=["no"], of=held)
        elif not frame.single and other not in {one.value for one in every}:
            yield _asked(filled(rng.choice(frame.checked), name, other), "unknown")
        for earlier, later in pairwise(self._tells):
            day = earlier.at
            if later.at.date() == day.date() or rng.random() < 0.5 or not frame.asked:
                continue
            index = self._tells.index(earlier)
            then = [
                one
                for one in every
                if one.tell <= index and not one.wrong and (one.ended is None or one.ended > index)
            ]
            if len(then) == 1:
                yield _asked(
                    filled(rng.choice(frame.asked), name), "as_of", [(then[0].tell, then[0].value)],
                    as_of=day,
                )  # fmt: skip

    def _of(self, who: str, frame: _Frame) -> list[_Value]:
        return [one for one in self._values if one.subject == who and one.frame is frame]

    def _text(self, one: _Value) -> str:
        return self._tells[one.tell].text


def _asked(
    question: str,
    kind: QuestionType,
    spans: Sequence[tuple[int, str]] = (),
    *,
    answers: Sequence[str] = (),
    of: Sequence[_Value] = (),
    as_of: datetime | None = None,
) -> ScenarioQuestion:
    evidence = [index for index, _ in spans] or [
        one.tell if one.ended is None else one.ended for one in of
    ]
    return ScenarioQuestion(
        question=question,
        type=kind,
        answers=tuple(answers) or tuple(piece for _, piece in spans),
        evidence=tuple(dict.fromkeys(evidence)),
        spans=tuple(spans),
        as_of=as_of,
    )


def filled(form: str, subject: str, value: str = "", old: str = "") -> str:
    """A template with a subject and values, and its verbs in the person of the subject."""
    first = subject == "I"
    text = _FORM.sub(r"\1" if first else r"\2", form)
    owner = "my" if first else f"{subject}'s"
    if first:
        text = text.replace("Was {s}", "Was I").replace("the price of {s}", "my price")
    text = text.replace("{s's}", owner).format(s=subject, v=value, o=old)
    text = re.sub(r"(?<=\w )(?:My|The|Our|Her)\b", lambda one: one[0].lower(), text)
    return f"{text[0].upper()}{text[1:]}"


def _shown(subject: str, text: str) -> str:
    """A subject as a text has it; empty if it does not."""
    forms = ("I", "My", "my") if subject == "I" else (subject, subject[0].lower() + subject[1:])
    for form in forms:
        if re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text):
            return form
    return ""
