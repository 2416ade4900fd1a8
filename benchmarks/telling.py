"""How long it takes to tell one statement to a memory of many.

    python -m benchmarks.telling [--statements N] [--folder DIR] [--tells N] [--out FILE]

A store is filled with generated statements about some thousand people and things, told over a year,
by its bulk path; ``--folder`` keeps it for another run, which works on a copy. Then texts are told
one by one: four fifths by the same templates, about those of whom something is known, and one fifth
sentences of the scenarios held out, few of which rules parse. What each takes is told as wall time
and as processor time of the whole process, with the longest that a text held the writer's lock.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.environment import environment
from benchmarks.statements import scenarios
from memnet import Engine, MemoryStore
from memnet.statements.parsing import RuleParser
from memnet.statements.teller import statement_slot
from memnet.storage import NewSource

_RESULTS = Path(__file__).parent / "results" / "telling.json"
_FIRST = (
    "Ada Ben Cleo Dora Emil Finn Gus Hana Ines Jonas Kaya Lars Mona Nils Olga Pia Quentin Rosa "
    "Sven Tara Udo Vera Wim Xenia Yann Zoe"
).split()
_LAST = (
    "Abel Brandt Castor Dietz Engel Falk Graf Hauser Iversen Jansen Keller Lindt Moser Noack Otto "
    "Pohl Quast Reuter Sander Thoma Ulmer Vogt Wagner Xaver Yilmaz Zander"
).split()
_THINGS = (
    "printer", "boiler", "van", "greenhouse", "router", "piano", "bicycle", "roof", "fridge", "boat"
)  # fmt: skip
_PLACES = (
    "Paris Rome Oslo Porto Gent Riga Bern Lyon Turin Cork Split Graz Vaasa Ghent Leeds Malmo Brno "
    "Pisa Lille Bonn"
).split()
_JOBS = ("baker", "nurse", "pilot", "tailor", "welder", "teacher", "gardener", "glazier")
_FIRMS = (
    "Siemens",
    "Kestle Foundry",
    "the harbour office",
    "Acme",
    "Northwind",
    "the city library",
)
_FOODS = ("walnuts", "rye bread", "mackerel", "goat cheese", "lentils", "black tea", "figs")
_TEMPLATES = (
    "{who} moved to {place}.",
    "{who} works at {firm}.",
    "{who} is a {job}.",
    "{who} likes {food}.",
    "{who} is allergic to {food}.",
    "{who} has {number} cousins in {place}.",
    "{who}'s {thing} was repaired by {other} for {number} euros.",
    "The {thing} of {who} stands in the shed behind house {number} in {place}.",
    "{who} plays chess with {other} on Tuesdays.",
    "{who}'s phone number ends in {number}.",
    "{who} will visit {other} in {place}.",
    "{who} no longer works at {firm}.",
)
_FREE = 5
"""One text in so many is one of a scenario."""
_YEAR = 365 * 86_400.0
_PAGE = 5_000
_WARM = 10


def statements(chance: Random, subjects: int) -> Iterator[str]:
    """Sentences without end, in no order."""
    people = [f"{first} {last}" for first in _FIRST for last in _LAST]
    people += [f"{one} {number}" for number in ("II", "III", "IV", "V") for one in people]
    people = people[:subjects]
    while True:
        yield chance.choice(_TEMPLATES).format(
            who=chance.choice(people), other=chance.choice(people), place=chance.choice(_PLACES),
            firm=chance.choice(_FIRMS), job=chance.choice(_JOBS), food=chance.choice(_FOODS),
            thing=chance.choice(_THINGS), number=chance.randrange(2, 10_000),
        )  # fmt: skip


def fill(memory: Engine, count: int, chance: Random) -> None:
    """Store statements by the bulk path, as rules parse them, told over a year."""
    parser, start = RuleParser(), time.time() - _YEAR
    texts = statements(chance, count // 20)
    for first in range(0, count, _PAGE):
        sources: list[NewSource] = []
        for number in range(first, min(first + _PAGE, count)):
            told = start + _YEAR * number / count
            text = next(texts)
            slot = statement_slot(parser.parse(text, told, ())[0])
            said = replace(slot.structure, told=told)
            slot = replace(slot, valid_from=told, structure=said)
            digest = blake2b(f"{number} {text}".encode(), digest_size=16).digest()
            sources.append(NewSource(f"filled/{number}", digest, [slot], kind="statement"))
        memory.store.put(sources, memory.encoder.encode)
        print(f"{first + len(sources):,} statements", flush=True)


@contextmanager
def timed_lock(held: list[float]) -> Iterator[None]:
    """Append for how many seconds the writer's lock is held, each time that it is."""
    writing = MemoryStore.writing

    @contextmanager
    def timed(store: MemoryStore, wait: float | None = None) -> Iterator[None]:
        with writing(store, wait):
            started = time.perf_counter()
            try:
                yield
            finally:
                held.append(time.perf_counter() - started)

    with patch.object(MemoryStore, "writing", timed):
        yield


def measure(memory: Engine, texts: list[str]) -> dict[str, Any]:
    """Tell texts one by one; milliseconds of each."""
    wall, processor, locked = list[float](), list[float](), list[float]()
    for number, text in enumerate(texts):
        held: list[float] = []
        with timed_lock(held):
            begun, worked = time.perf_counter(), time.process_time()
            memory.tell(text)
            taken = time.perf_counter() - begun, time.process_time() - worked
        if number >= _WARM:
            wall.append(taken[0])
            processor.append(taken[1])
            locked.append(max(held))
    parts = {"wall": wall, "processor": processor, "locked": locked}
    return {f"{name}_ms": _percentiles(times) for name, times in parts.items()}


def _percentiles(seconds: list[float]) -> dict[str, float]:
    return {
        f"p{share}": round(1000 * float(np.percentile(seconds, share)), 1) for share in (50, 95)
    }


def main() -> None:
    """Fill a store, tell, and write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--statements", type=int, default=100_000)
    parser.add_argument("--tells", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="of the filled store, which is made if missing")
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        filled = options.folder or Path(scratch, "filled")
        if not filled.exists():
            with Engine.open(filled, create=True) as memory:
                fill(memory, options.statements, Random(0))
        work = Path(scratch, "store")
        shutil.copytree(filled, work)
        chance = Random(1)
        generated = statements(chance, options.statements // 20)
        free = [tell.text for one in scenarios()[1] for tell in one.tells]
        texts = [
            chance.choice(free) if number % _FREE == 0 else next(generated)
            for number in range(_WARM + options.tells)
        ]
        with Engine.open(work) as memory:
            result = {
                "environment": environment(),
                "statements": memory.store.statements.count(),
                "texts": options.tells,
                **measure(memory, texts),
                "one_long_text": measure(memory, [*texts[:_WARM], " ".join(texts[-100:])]),
            }
    print(json.dumps(result, indent=1))
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
