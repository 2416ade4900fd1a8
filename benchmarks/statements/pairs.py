"""Scenarios of plain sentences, made from templates: which relations have one value at a time.

What people write to a memory seldom shows it plainly; these do: whoever moves lives elsewhere, and
whoever likes coffee may like tea as well. They are learned from, never measured on.
"""

import random
import re
from datetime import datetime, timedelta
from typing import NamedTuple

from memnet.statements.training.scenarios import (
    Scenario,
    ScenarioChange,
    ScenarioStatement,
    ScenarioTell,
)

_NAMES = (
    "Amara", "Bogdan", "Chiara", "Dmitri", "Eszter", "Farid", "Giulia", "Hana", "Ivo", "Jiro",
    "Katya", "Liam", "Mei", "Noor", "Olek", "Priya", "Quentin", "Rosa", "Sven", "Tala", "Umar",
    "Vera", "Wim", "Xenia", "Yusuf", "Zora", "My brother", "My sister", "Grandpa", "Our neighbour",
    "My boss", "Her uncle", "The plumber", "Dr. Anand", "Mrs. Kowal", "Uncle Teo",
)  # fmt: skip
_THINGS = (
    "The shed", "The blue van", "Our printer", "The east wing", "The old server", "My bike",
    "The kiosk", "The pool", "Gate 4", "The green boat", "The spare laptop", "The library",
)  # fmt: skip
_CITIES = "Lima Oslo Tunis Kraków Bergen Quito Leeds Turin Osaka Accra Nantes Riga".split()
_SURNAMES = "Novak Haddad Lindgren Okoye Ferrari Tanaka Moreau Petrov Byrne Kaya".split()


class _Frame(NamedTuple):
    """A relation and how it is said."""

    relation: str
    forms: tuple[str, ...]
    """With {s} for the subject and {v} for the value."""
    values: tuple[str, ...]
    single: bool
    """Whether a new value takes the place of the last."""
    of_things: bool = False
    over: tuple[str, ...] = ()
    """How it is said to hold no longer."""


_FRAMES = (
    _Frame("lives in", ("{s} lives in {v}", "{s} moved to {v}", "{s} is living in {v} now"),
           tuple(_CITIES), True, over=("{s} no longer lives in {v}", "{s} left {v}")),
    _Frame("works at", ("{s} works at {v}", "{s} has a new job at {v}", "{s} started at {v}"),
           ("Nordlicht", "the harbour", "a bakery", "Telrex", "the town hall", "Kappa Labs"), True,
           over=("{s} doesn't work at {v} any more", "{s} quit at {v}")),
    _Frame("is married to", ("{s} is married to {v}", "{s} married {v}"),
           tuple(f"Alex {name}" for name in _SURNAMES), True,
           over=("{s} and {v} are divorced",)),
    _Frame("has phone number", ("{s}'s number is {v}", "{s} has a new phone number, {v}"),
           ("0151 443 210", "020 7946 018", "+39 06 5587", "555-0173", "0664 88 120"), True),
    _Frame("is aged", ("{s} is {v} years old", "{s} turned {v} today"),
           ("31", "32", "40", "58", "67", "9", "10"), True),
    _Frame("weighs", ("{s} weighs {v}", "{s} is at {v} now"),
           ("71 kg", "69 kg", "82.5 kg", "80 kg", "64 kg"), True),
    _Frame("is called", ("{s} is called {v} now", "{s} changed her name to {v}"),
           tuple(_SURNAMES), True),
    _Frame("takes the bus", ("{s} takes bus {v} to work", "{s} goes to work by bus {v}"),
           ("12", "40", "7", "181", "N3"), True),
    _Frame("has favourite colour", ("{s}'s favourite colour is {v}",),
           ("teal", "orange", "violet", "grey"), True),
    _Frame("is treated by", ("{s}'s doctor is {v}", "{s} is with doctor {v} now"),
           tuple(f"Dr. {name}" for name in _SURNAMES), True),
    _Frame("is in", ("{s} is in {v}", "{s} is in {v} at the moment"), tuple(_CITIES), True),
    _Frame("costs", ("{s} costs {v}", "{s} is {v} now", "the price of {s} is {v}"),
           ("120 euros", "95 euros", "$40", "1,200 a month", "9.90"), True, True),
    _Frame("stands", ("{s} is in {v}", "{s} was moved to {v}", "{s} stands in {v}"),
           ("the cellar", "hall B", "the yard", "room 12", "the garage"), True, True),
    _Frame("has code", ("the code of {s} is {v}", "{s} has the code {v} now"),
           ("4471", "9002", "1357", "83-B", "2266"), True, True),
    _Frame("has colour", ("{s} is {v}", "{s} was painted {v}"),
           ("red", "white", "dark green", "yellow", "black"), True, True),
    _Frame("is open", ("{s} is open until {v}", "{s} closes at {v}"),
           ("6 pm", "17:00", "half past eight", "noon"), True, True),
    _Frame("is run by", ("{v} is in charge of {s}", "{s} is looked after by {v}"),
           tuple(_SURNAMES), True, True),
    _Frame("has state", ("{s} is {v}",), ("broken", "repaired", "locked", "open", "empty"), True,
           True),
    _Frame("belongs to", ("{s} belongs to {v}", "{s} was sold to {v}"), tuple(_SURNAMES), True,
           True),
    _Frame("likes", ("{s} likes {v}", "{s} loves {v}", "{s} is fond of {v}"),
           ("tea", "coffee", "chess", "old films", "olives", "cycling", "jazz", "crosswords"),
           False, over=("{s} doesn't like {v} any more",)),
    _Frame("speaks", ("{s} speaks {v}", "{s} knows some {v}"),
           ("Greek", "Polish", "Mandarin", "Swahili", "French"), False),
    _Frame("has been to", ("{s} has been to {v}", "{s} visited {v}", "{s} was in {v} on holiday"),
           tuple(_CITIES), False),
    _Frame("owns", ("{s} has {v}", "{s} owns {v}", "{s} bought {v}"),
           ("a canoe", "two cats", "a piano", "3 children", "4 boats", "a camper van", "a drill"),
           False, over=("{s} sold {v}", "{s} no longer has {v}")),
    _Frame("plays", ("{s} plays {v}", "{s} plays {v} on Sundays"),
           ("the cello", "tennis", "football", "the drums", "bridge"), False,
           over=("{s} gave up {v}", "{s} doesn't play {v} any more")),
    _Frame("is", ("{s} is {v}",),
           ("tall", "a doctor", "left-handed", "vegetarian", "shy", "a good cook", "a widower"),
           False),
    _Frame("is allergic to", ("{s} is allergic to {v}", "{s} can't have {v}"),
           ("nuts", "pollen", "penicillin", "shellfish"), False),
    _Frame("read", ("{s} read {v}", "{s} finished reading {v}"),
           ("'Night Train'", "'The Reef'", "'Salt Maps'", "'Two Rivers'"), False),
    _Frame("met", ("{s} met {v}", "{s} had lunch with {v}", "{s} knows {v}"), tuple(_SURNAMES),
           False),
    _Frame("learned", ("{s} is learning {v}", "{s} takes lessons in {v}"),
           ("pottery", "sailing", "Danish", "typing"), False),
    _Frame("owes", ("{s} owes {v} money", "{s} borrowed 20 from {v}"), tuple(_SURNAMES), False,
           over=("{s} paid {v} back",)),
    _Frame("has", ("{s} has {v}",),
           ("a flat roof", "two doors", "a crack", "a new battery", "a small window"), False, True),
    _Frame("was used by", ("{v} used {s}", "{v} was at {s}"), tuple(_SURNAMES), False, True),
)  # fmt: skip
_CORRECTIONS = (
    "Sorry, {v}", "no, {v}", "I meant {v}", "correction: {v}", "No wait, {v}, not {o}",
    "that should have been {v}",
)  # fmt: skip
_ENDS = (".", "", "", "!")


def pair_scenarios(count: int, seed: int = 0) -> list[Scenario]:
    """So many scenarios without questions, of two to five plain sentences each."""
    rng = random.Random(seed)
    return [_scenario(f"pairs-{number:04}", rng) for number in range(count)]


def _scenario(name: str, rng: random.Random) -> Scenario:
    frame = rng.choice(_FRAMES)
    subject, other = rng.sample(_THINGS if frame.of_things else _NAMES, 2)
    first, second = rng.sample(frame.values, 2)
    at = datetime(2023, 1, 1) + timedelta(hours=rng.randrange(24_000))
    tells: list[ScenarioTell] = []

    def tell(
        form: str,
        who: str,
        relation: str,
        value: str,
        *changes: tuple[int, str],
        named: bool = True,
    ) -> int:
        nonlocal at
        text = form.format(s=who, v=value, o=first)
        text = re.sub(r"(?<=\w )(?:My|The|Our|Her)\b", lambda one: one[0].lower(), text)
        text = f"{text[0].upper()}{text[1:]}{rng.choice(_ENDS)}"
        own = next((one for one in (who, who[0].lower() + who[1:]) if one in text), "")
        statement = ScenarioStatement(
            text=text,
            subject=own if named else "",
            about=who,
            relation=relation,
            values=(value,) if value in text else (),
            polarity="no" if form in frame.over else "yes",
            changes=tuple(
                ScenarioChange.model_validate({"tell": index, "statement": 0, "action": action})
                for index, action in changes
            ),
        )
        tells.append(ScenarioTell(text=text, at=at, statements=(statement,)))
        at += timedelta(minutes=rng.choice((1, 30, 2_000, 20_000, 90_000)))
        return len(tells) - 1

    def aside() -> None:
        """A sentence that changes nothing: of another relation, or about another."""
        if rng.random() < 0.5:
            tell(rng.choice(frame.forms), other, frame.relation, rng.choice(frame.values))
            return
        kinds = [one for one in _FRAMES if one.of_things == frame.of_things and one != frame]
        beside = rng.choice(kinds)
        if beside.relation not in {one.statements[0].relation for one in tells}:
            tell(rng.choice(beside.forms), subject, beside.relation, rng.choice(beside.values))

    asides = rng.choice((0, 1, 1, 2))
    start = tell(rng.choice(frame.forms), subject, frame.relation, first)
    what = rng.choice(("new", "new", "new", "again", "over", "correct"))
    if what == "correct":
        form = rng.choice(_CORRECTIONS)
        tell(form, subject, frame.relation, second, (start, "correct"), named=False)
        return Scenario(id=name, tells=tuple(tells))
    for _ in range(asides):
        aside()
    if what == "again":
        tell(rng.choice(frame.forms), subject, frame.relation, first, (start, "merge"))
    elif what == "over" and frame.over:
        tell(rng.choice(frame.over), subject, frame.relation, first, (start, "end"))
    else:
        changes = ((start, "supersede"),) if frame.single else ()
        tell(rng.choice(frame.forms), subject, frame.relation, second, *changes)
    return Scenario(id=name, tells=tuple(tells))
