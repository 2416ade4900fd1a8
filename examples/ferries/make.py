"""Makes the ferries of the Saltmere Isles: facts, and questions about them with their answers.

    python examples/ferries/make.py

Everything is invented. The facts are drawn at random, the questions follow from them.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
TOWNS = {
    "Orrehaven": "Orre", "Strandwick": "Orre", "Pellgate": "Pell", "Kestle": "Great Saltmere",
    "Port Averin": "Great Saltmere", "Lowmere": "Great Saltmere", "Skerrow": "Skerrow Holm",
    "Dunnet Sound": "Pell", "Marrack": "Innis Marrack", "Thornby Quay": "Thorn Isle",
}  # fmt: skip
FIRST = "Tobias Agnes Corvin Mabel Jory Hesper Piran Wenna Silas Edith Austol Lowen".split()
LAST = "Wrennick Thale Pascoe Orde Tremay Holloway Nance Carrick Dunmore Veal".split()
SHIPS = """Morning Petrel;Grey Heron;Blue Tern;Lady Averin;Night Heron;Sea Thrift;Old Margery;
Kittiwake;Silver Dabchick;North Star of Pell;Harbour Queen;Little Auk;Storm Petrel;Red Plover;
Golden Samphire;Marram;Two Sisters;Brave Cormorant;Sandpiper;Evening Curlew;Whimbrel;Long Patience;
Gannet of Orre;Quiet Bess;Fulmar;Winter Teal;Razorbill;Merry Dunlin;Oystercatcher;Spindrift"""
KINDS = ("ferry", "cutter", "trawler", "tug")
Fact = tuple[str, str, str]


def facts(choice: random.Random) -> list[Fact]:
    """The facts: towns, people and ships."""
    people = [f"{first} {last}" for first in FIRST for last in LAST]
    people = choice.sample(people, 48)
    made = [(town, "lies_on", island) for town, island in TOWNS.items()]
    builders = people[:14]
    for place, person in enumerate(people):
        made.append((person, "born_in", choice.choice(list(TOWNS))))
        if place >= 4:
            made.append((person, "apprenticed_to", choice.choice(builders[: min(place, 14)])))
    for ship in " ".join(SHIPS.split()).split(";"):
        name = ship.strip()
        made += [
            (name, "built_by", choice.choice(builders)),
            (name, "has_captain", choice.choice(people[14:])),
            (name, "home_port", choice.choice(list(TOWNS))),
            (name, "is_a", choice.choice(KINDS)),
            (name, "launched_in", str(choice.randrange(1850, 1890))),
        ]
    return made


ASKED = (
    (("born_in",), "Where was {0} born?", "In which town was {0} born?"),
    (("built_by",), "Who built the {0}?", "By whom was the {0} built?"),
    (("~built_by",), "Which ships did {0} build?", "What was built by {0}?"),
    (("has_captain",), "Who is the captain of the {0}?", "Who commands the {0}?"),
    (("~has_captain",), "Which ship does {0} command?", "Of which ship is {0} the captain?"),
    (("home_port",), "What is the home port of the {0}?", "Where does the {0} lie in harbour?"),
    (("launched_in",), "When was the {0} launched?", "In which year did the {0} first sail?"),
    (("apprenticed_to",), "Who taught {0}?", "Whose apprentice was {0}?"),
    (("~apprenticed_to",), "Who were the apprentices of {0}?", "Whom did {0} teach?"),
    (("built_by", "born_in"), "Where was the builder of the {0} born?",
     "In which town was the man born who built the {0}?"),
    (("has_captain", "born_in"), "Where was the captain of the {0} born?",
     "In which town was the one who commands the {0} born?"),
    (("home_port", "lies_on"), "On which island is the home port of the {0}?",
     "On which island does the harbour of the {0} lie?"),
    (("built_by", "apprenticed_to"), "Who taught the builder of the {0}?",
     "Whose apprentice built the {0}?"),
    (("~apprenticed_to", "~built_by"), "Which ships were built by apprentices of {0}?",
     "What did the pupils of {0} build?"),
    (("built_by", "~built_by"), "Which ships have the same builder as the {0}?",
     "What else did the builder of the {0} build?"),
    (("built_by", "born_in", "lies_on"), "On which island was the builder of the {0} born?",
     "From which island came the man who built the {0}?"),
    (("has_captain", "born_in", "lies_on"), "On which island was the captain of the {0} born?",
     "From which island comes the one who commands the {0}?"),
)  # fmt: skip
BOTH = (
    ("~is_a", "~home_port", "Which {0} has its home port in {1}?", "Which {0} lies at {1}?"),
    ("~built_by", "~home_port", "Which ships of {1} did {0} build?",
     "What with its home port in {1} was built by {0}?"),
    ("~is_a", "~built_by", "Which {0} was built by {1}?", "Which {0} did {1} build?"),
)  # fmt: skip


def questions(made: list[Fact], choice: random.Random) -> Iterator[dict[str, object]]:
    """Every question that has an answer, in one of its wordings."""
    entities = sorted({name for fact in made for name in (fact[0], fact[2])})
    for way, *wordings in ASKED:
        for entity in entities:
            answers = _follow(made, entity, way)
            if way == ("built_by", "~built_by"):
                answers.discard(entity)
            if answers:
                text = choice.choice(wordings).format(entity)
                yield {"question": text, "answers": sorted(answers), "hops": len(way)}
    for first, second, *wordings in BOTH:
        for one in entities:
            for other in entities:
                answers = _follow(made, one, (first,)) & _follow(made, other, (second,))
                if answers:
                    text = choice.choice(wordings).format(one, other)
                    yield {"question": text, "answers": sorted(answers), "hops": 1}


def _follow(made: list[Fact], entity: str, way: tuple[str, ...]) -> set[str]:
    found = {entity}
    for relation in way:
        name = relation.removeprefix("~")
        found = {
            (subject if relation != name else value)
            for subject, verb, value in made
            if verb == name and (value if relation != name else subject) in found
        }
    return found


def main() -> None:
    """Write the files."""
    choice = random.Random(7)
    made = facts(choice)
    lines = list(questions(made, choice))
    choice.shuffle(lines)
    (FOLDER / "facts.tsv").write_text("".join("\t".join(fact) + "\n" for fact in made))
    for name, part in (("train", lines[len(lines) // 5 :]), ("dev", lines[: len(lines) // 5])):
        text = "".join(json.dumps(line) + "\n" for line in part)
        (FOLDER / f"{name}.jsonl").write_text(text)


if __name__ == "__main__":
    main()
