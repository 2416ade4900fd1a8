"""Makes what the gate is measured on, but for what was written by hand.

    python -m benchmarks.gate.make_measured

Facts about invented mountain huts with questions to train a fact model on, portraits of plants,
further statements, stories, and ``formed.jsonl``: questions about them in other forms than those
that the gate is trained on. ``documents.jsonl``, ``statements.txt`` and ``hand.jsonl`` are by hand.
"""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "measured"
HUTS = (
    "Kaltbach Steinfeld Murmel Rauhorn Gamsrast Silberloch Windegg Firnblick Almrausch Schattwand "
    "Edelgrat Nebelhorn Tauboden Quellried"
).split()
PEAKS = (
    "Grosser Zinken;Kleiner Zinken;Schwarzkofel;Weissnadel;Adlerspitz;Hohe Wacht;Eiskogel;"
    "Rotwand Tower;Sattelberg;Mittagstein;Teufelsgrat;Blauer Kamm"
).split(";")
PEOPLE = (
    "Anton Gruber;Lisbeth Moser;Karl Pichler;Resi Hofer;Toni Egger;Marta Lechner;Sepp Thaler;"
    "Vroni Brandl;Georg Auer;Hanna Kofler;Jakob Rainer;Lena Steiner;Matthias Wolf;Paula Fuchs;"
    "Veit Kern;Zenzi Unger"
).split(";")
CLUBS = "Marbach Alpine Club;Friends of Nature;Rope Society;Old Guides;Youth Section".split(";")
TOWNS = "Marbach;Tull;Oberwies;Lauterau;Sankt Veith;Griess;Hinterthal;Pruggern".split(";")
TRAILS = (
    "Goat Path;Hunter's Way;Salt Route;Milk Stair;Chapel Trail;Ridge Walk;Mule Track;"
    "Long Traverse;Brook Path;Lantern Way;Smuggler's Gap;Pine Walk;Glacier Trail;Old Road"
).split(";")
TO_LEARN = {
    "beds": ("What is the number of beds of the {0}?", "How many beds does the {0} have?"),
    "warden": ("Who is the warden of the {0}?", "The warden of which hut is {1}?"),
    "stands_below": ("Below which peak is the {0}?", "Which hut stands below the {1}?"),
    "opened_in": ("When was the {0} opened?", "Which hut was opened in {1}?"),
    "belongs_to": ("To whom does the {0} belong?", "What belongs to the {1}?"),
    "height": ("What is the height of the {0}?", "How high is the {0}?"),
    "first_climbed_by": ("Who was the first to climb the {0}?", "What did {1} climb first?"),
    "comes_from": ("From where does {0} come?", "Who is from {1}?"),
    "leads_to": ("To which hut does the {0} lead?", "What leads to the {1}?"),
    "starts_in": ("Where does the {0} start?", "What starts in {1}?"),
    "takes_hours": ("How many hours does the {0} take?", "How long does the {0} take?"),
    "seat": ("Where is the seat of the {0}?", "Which club has its seat in {1}?"),
}
TO_LEARN_TWO = {
    ("warden", "comes_from"): "From where does the warden of the {0} come?",
    ("stands_below", "height"): "What is the height of the peak above the {0}?",
    ("stands_below", "first_climbed_by"): "Who was the first to climb the peak above the {0}?",
    ("belongs_to", "seat"): "Where is the seat of the club of the {0}?",
    ("leads_to", "warden"): "Who is the warden of the hut to which the {0} leads?",
    ("leads_to", "beds"): "How many beds does the hut have to which the {0} leads?",
    ("first_climbed_by", "comes_from"): "From where did the first to climb the {0} come?",
}
MEASURED = {
    "beds": ("How many people can sleep in the {0}?", "For how many sleepers is the {0} made?"),
    "warden": ("Who looks after the {0}?", "Which hut is in the care of {1}?"),
    "stands_below": ("Under which summit does the {0} stand?", "What hut lies beneath {1}?"),
    "opened_in": ("Since when has the {0} been open?", "Name the hut that opened in {1}."),
    "belongs_to": ("Which club is the {0} the property of?", "List the huts of the {1}."),
    "height": ("How many metres is the {0} high?",),
    "first_climbed_by": ("By whom was the {0} climbed first?", "Which summit did {1} conquer?"),
    "comes_from": ("Where does {0} hail from?", "Name someone who comes from {1}."),
    "leads_to": ("Where do I get if I follow the {0}?", "By which trail is the {1} reached?"),
    "starts_in": ("In which place does the {0} set out?", "Tell me the trails out of {1}."),
    "takes_hours": ("How long is the walk on the {0}?",),
}
PLANTS = (
    "Amber Lily;Fen Bell;Hill Sage;Moonwort;Copper Rose;Silk Fern;Marsh Star;Thorn Apple".split(";")
)
PLANT_TEXT = (
    "The {0} grows {1} centimetres tall and flowers in {2}. It wants {3} soil and is planted {4} "
    "centimetres apart. It {5} frost. Its {6} petals attract {7}. It was first described by {8}."
)
PLANT_FORMS = (
    "How tall does the {0} get?", "In which month does the {0} flower?",
    "What soil does the {0} want?", "How far apart is the {0} planted?",
    "Can the {0} stand frost?", "What colour are the petals of the {0}?",
    "Which insects come to the {0}?", "Who was the first to describe the {0}?",
    "Is the {0} taller than a metre?", "What is a good place for a {0}?",
    "Would the {0} survive a cold winter?", "What should I know about planting the {0}?",
)  # fmt: skip
TOLD = (
    ("{a} keeps bees behind {p}.", "Behind what does {a} keep bees?", "Who is a beekeeper?"),
    ("{a} was promoted to head of {s}.", "To what was {a} promoted?", "Who is head of {s} now?"),
    ("{a}'s favourite dish is {t}.", "What is {a}'s favourite dish?", "Who is fond of {t}?"),
    ("I gave {a} the key of {p}.", "To whom did I give the key of {p}?", "Who can open {p}?"),
    ("{a} takes the bus number {n}.", "Which bus does {a} take?", "Who rides on the {n}?"),
    ("{a} is writing a thesis on {s}.", "What is {a}'s thesis on?", "Who does research on {s}?"),
    ("My godchild {a} wants {t}.", "What does my godchild want?", "Who wished for {t}?"),
    ("{a} won {n} euros.", "How much did {a} win?", "What luck did {a} have?"),
    ("{a} can't swim.", "Is {a} able to swim?", "Which of my friends can't swim?"),
    ("{a} has moved in with {b}.", "With whom has {a} moved in?", "Who shares a flat with {b}?"),
    ("The handyman {a} charges {n} an hour.", "What does {a} charge?", "Who is our handyman?"),
    ("{a} got engaged to {b}.", "Whom is {a} going to marry?", "Who is engaged to {b}?"),
    ("My seat at the opera is {n}.", "What seat do I have?", "Where do I sit tonight?"),
)  # fmt: skip
STORY_FORMS = (
    "Where did {0} go?", "Who is in the {1}?", "Did {0} go to the {1}?", "Who has the {2}?",
    "Has {0} got the {2}?", "Who took the {2}?", "Is the {2} in the {1}?", "Who went to the {1}?",
    "What did {0} get?", "Who left the {1}?", "Is {0} not in the {1}?", "Who is with {0}?",
    "In which room is {0}?", "What is in the {1}?", "Where has {0} been?", "Where is the {2} now?",
    "Was {0} in the {1}?", "Who dropped the {2}?", "Has anybody been to the {1}?",
    "Which of them is in the {1}?",
)  # fmt: skip


def main() -> None:
    """Draw and write everything."""
    choice = random.Random(21)
    asked: list[dict[str, str]] = []
    facts = _facts(choice)
    _write("facts.tsv", ("\t".join(fact) for fact in facts))
    train, dev = _learned(choice, facts)
    _write("facts_train.jsonl", map(json.dumps, train))
    _write("facts_dev.jsonl", map(json.dumps, dev))
    asked += _measured(choice, facts)
    asked += _plants(choice)
    asked += _told(choice)
    asked += _stories(choice)
    _write("formed.jsonl", map(json.dumps, asked))


def _facts(choice: random.Random) -> list[tuple[str, str, str]]:
    huts = [f"{name} Hut" for name in HUTS]
    made: list[tuple[str, str, str]] = []
    wardens = choice.sample(PEOPLE, len(huts))
    peaks = [*PEAKS, *choice.sample(PEAKS, len(huts) - len(PEAKS))]
    for place, hut in enumerate(huts):
        made += [
            (hut, "beds", str(choice.randrange(12, 120))),
            (hut, "warden", wardens[place]),
            (hut, "stands_below", peaks[place]),
            (hut, "opened_in", str(1876 + 3 * choice.randrange(40))),
            (hut, "belongs_to", choice.choice(CLUBS)),
        ]
        made += [
            (TRAILS[place], "leads_to", huts[choice.randrange(len(huts))]),
            (TRAILS[place], "starts_in", choice.choice(TOWNS)),
            (TRAILS[place], "takes_hours", str(choice.randrange(2, 9))),
        ]
    for peak in PEAKS:
        made.append((peak, "height", f"2,{choice.randrange(100, 999)}"))
        made.append((peak, "first_climbed_by", choice.choice(PEOPLE)))
    made += [(person, "comes_from", choice.choice(TOWNS)) for person in PEOPLE]
    made += [(club, "seat", choice.choice(TOWNS)) for club in CLUBS]
    return made


def _learned(
    choice: random.Random, facts: list[tuple[str, str, str]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Questions for the fact model, with their answers."""
    asked: dict[str, tuple[list[str], int]] = {}
    for subject, relation, value in facts:
        forward, *others = TO_LEARN[relation]
        for form in (forward, *others):
            backward = "{1}" in form
            answer = subject if backward else value
            asked.setdefault(form.format(subject, value), ([], 1))[0].append(answer)
    for (first, second), form in TO_LEARN_TWO.items():
        for subject, relation, value in facts:
            if relation == first:
                ends = [o for s, r, o in facts if (s, r) == (value, second)]
                asked[form.format(subject)] = (ends, 2)
    rows = [{"question": q, "answers": a, "hops": h} for q, (a, h) in asked.items() if a]
    choice.shuffle(rows)
    return rows[50:], rows[:50]


def _measured(choice: random.Random, facts: list[tuple[str, str, str]]) -> list[dict[str, str]]:
    forms = {
        form.format(subject, value)
        for subject, relation, value in facts
        for form in MEASURED.get(relation, ())
    }
    return [{"question": one, "expert": "facts"} for one in choice.sample(sorted(forms), 85)]


def _plants(choice: random.Random) -> list[dict[str, str]]:
    """Portraits of plants, a document each."""
    documents, asked = [], []
    for plant in PLANTS:
        text = PLANT_TEXT.format(
            plant, choice.randrange(20, 180), choice.choice(["May", "June", "August"]),
            choice.choice(["dry", "moist", "chalky"]), choice.randrange(10, 60),
            choice.choice(["bears", "does not bear"]), choice.choice(["red", "white", "blue"]),
            choice.choice(["moths", "bees", "hoverflies"]),
            choice.choice(["Linden", "Vos", "Abel"]),
        )  # fmt: skip
        documents.append({"id": plant, "title": plant, "text": text})
        asked += [form.format(plant) for form in PLANT_FORMS]
    _write("plants.jsonl", map(json.dumps, documents))
    return [{"question": one, "expert": "documents"} for one in choice.sample(asked, 90)]


def _told(choice: random.Random) -> list[dict[str, str]]:
    names = "Aylin Bruno Cosima Dennis Elke Farid Gesine Henrik Ilse Jurek Kaya Lutz Milena".split()
    statements, asked = [], []
    for surname in ("", " Behrens", " Cole", " Dahl"):
        for statement, *questions in TOLD:
            one, other = choice.sample(names, 2)
            filled = {
                "a": one + surname, "b": other,
                "p": choice.choice(["the chapel", "the old barn", "the sauna", "the boathouse"]),
                "s": choice.choice(["marketing", "volcanoes", "river law", "purchasing"]),
                "t": choice.choice(["lentil soup", "a kite", "dumplings", "a microscope"]),
                "n": str(choice.randrange(11, 990)),
            }  # fmt: skip
            statements.append(statement.format(**filled))
            asked += [question.format(**filled) for question in questions]
    _write("more_statements.txt", statements)
    return [
        {"question": one, "expert": "statements"}
        for one in choice.sample(list(dict.fromkeys(asked)), 75)
    ]


def _stories(choice: random.Random) -> list[dict[str, str]]:
    people = "Mary John Daniel Sandra Bill Fred".split()
    places, things = "kitchen garden office hallway bedroom".split(), "milk apple football".split()
    lines, number, asked = [], 0, []
    for _ in range(40):
        one, place, thing = (choice.choice(given) for given in (people, places, things))
        for line in choice.sample(
            [
                f"{one} went to the {place}.",
                f"{one} got the {thing}.",
                f"{one} dropped the {thing}.",
            ],
            2,
        ):
            number += 1
            lines.append(f"{number} {line}")
        form = choice.choice(STORY_FORMS)
        asked.append(form.format(one, place, thing))
    lines.append(f"{number + 1} Where is Mary?\tgarden\t1")
    for form in STORY_FORMS:
        asked += [
            form.format(person, choice.choice(places), choice.choice(things))
            for person in choice.sample(people, 6)
        ]
    _write("story.txt", lines)
    return [
        {"question": one, "expert": "stories"}
        for one in choice.sample(list(dict.fromkeys(asked)), 100)
    ]


def _write(name: str, lines: Iterable[str]) -> None:
    (HERE / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
