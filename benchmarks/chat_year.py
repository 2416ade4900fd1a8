"""A year of chat: how long it takes to ingest, and then to answer.

    python -m benchmarks.chat_year [--messages N] [--questions N] [--out FILE]

Six people write in sessions over a year. A third of the messages are texts of the scenarios of
``benchmarks/statements``, a third what people say of themselves, by templates, and a third small
talk. They are ingested as ``memnet ingest --conversation`` does, with the real encoder; then
questions of the scenarios held out and by templates are asked. Wall time and processor time of
the whole process are told, and the share of the ingest that learns statements from messages.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.environment import environment
from benchmarks.statements import scenarios
from memnet import Engine
from memnet.ingest.pipeline import Progress
from memnet.statements.messages import Learner

_RESULTS = Path(__file__).parent / "results" / "chat_year.json"
_SPEAKERS = ("Ada", "Ben", "Cleo", "Dora", "Emil", "Finn")
_SESSION = 40
"""Messages of a session, about."""
_OF_SELF = (
    "I live in {place}.",
    "I work at the {firm} in {place} now.",
    "My {thing} broke again, the repair costs {number} euros.",
    "I moved to {place} last {day}.",
    "My sister {other} is a {job}.",
    "I am allergic to {food}.",
    "I bought a {thing} for {number} euros on {day}.",
    "My new phone number ends in {number}.",
)
_TALK = (
    "Did you see the match on {day}?",
    "Haha, yes, {other} told me about the {thing}.",
    "Let us meet at {number} in front of the {firm}.",
    "{other}, can you bring {food} and the {thing} on {day}?",
    "The train to {place} was {number} minutes late, so we missed the {firm}.",
    "Ok, {day} then!",
    "Who takes the {thing} back to {place}?",
    "They say it will rain in {place} until {day}, better take the {thing}.",
)
_QUESTIONS = (
    "Where does {other} live?",
    "What is {other} allergic to?",
    "What did the repair of {other}'s {thing} cost?",
    "Where does {other} work?",
    "Which {thing} did {other} buy?",
    "What does {other}'s sister do?",
)
_WORDS = {
    "place": "Paris Rome Oslo Porto Gent Riga Bern Lyon Turin Cork Split Graz Vaasa Leeds".split(),
    "firm": "library bakery harbour hospital theatre foundry museum nursery brewery".split(),
    "thing": "boiler van router piano bicycle tent fridge boat camera kettle ladder".split(),
    "job": "baker nurse pilot tailor welder teacher gardener glazier roofer".split(),
    "food": "walnuts mackerel cheese lentils figs celery mustard rye".split(),
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "other": _SPEAKERS,
}


def filled(chance: Random, template: str) -> str:
    """A template with words put in."""
    words = {name: chance.choice(words) for name, words in _WORDS.items()}
    return template.format(number=chance.randrange(2, 2000), **words)


def messages(count: int, chance: Random) -> Iterator[dict[str, str]]:
    """Messages of a year, in the order of their time."""
    told = [tell.text for part in scenarios() for one in part for tell in one.tells]
    start, session, left = datetime(2025, 1, 1, 7), 0, 0
    moment = start
    for number in range(count):
        if not left:
            session, left = session + 1, chance.randrange(_SESSION // 2, _SESSION * 3 // 2)
            moment = max(moment, start + timedelta(days=365 * number / count))
        left -= 1
        moment += timedelta(seconds=chance.randrange(5, 120))
        kind = chance.randrange(3)
        text = chance.choice(told) if not kind else None
        yield {
            "id": f"m{number}",
            "session": f"s{session}",
            "speaker": chance.choice(_SPEAKERS),
            "time": moment.isoformat(timespec="seconds"),
            "text": text or filled(chance, chance.choice(_OF_SELF if kind == 1 else _TALK)),
        }


@contextmanager
def timed_learning(spent: list[float]) -> Iterator[None]:
    """Append the processor time, of its thread, of each step of learning from messages."""

    def timed(step: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(step)
        def run(*given: Any) -> Any:
            begun = time.thread_time()
            try:
                done = step(*given)
            finally:
                spent.append(time.thread_time() - begun)
            return timed(done) if callable(done) else done

        return run

    with patch.object(Learner, "prepare", timed(Learner.prepare)):
        yield


def main() -> None:
    """Make the messages, ingest them, ask, and write the result."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    chance = Random(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "chat.jsonl")
        with path.open("w", encoding="utf-8") as file:
            for message in messages(options.messages, chance):
                file.write(json.dumps(message) + "\n")
        with Engine.open(Path(folder, "store"), create=True) as memory:
            ingested = _ingest(memory, path)
            print(json.dumps(ingested), flush=True)
            result = {
                "environment": environment(),
                "messages": options.messages,
                "ingest": ingested,
                "ask": _ask(memory, options.questions, chance),
            }
    print(json.dumps(result["ask"]))
    options.out.write_text(json.dumps(result, indent=1) + "\n")


def _ingest(memory: Engine, path: Path) -> dict[str, Any]:
    def tell(progress: Progress) -> None:
        print(f"{progress.documents:,} messages, {time.perf_counter() - begun:.0f} s", flush=True)

    learning: list[float] = []
    begun, worked = time.perf_counter(), time.process_time()
    with timed_learning(learning):
        report = memory.ingest(path, read_as="conversation", on_progress=tell)
    return {
        "added": report.added,
        "seconds": round(time.perf_counter() - begun, 1),
        "processor_seconds": round(time.process_time() - worked, 1),
        "learning_processor_seconds": round(sum(learning), 1),
        "statements": len(memory.store.statements.ids()),
    }


def _ask(memory: Engine, count: int, chance: Random) -> dict[str, Any]:
    told = [question.question for one in scenarios()[1] for question in one.questions]
    wall, processor = list[float](), list[float]()
    for number in range(count + 5):
        question = chance.choice(told) if number % 2 else filled(chance, chance.choice(_QUESTIONS))
        begun, worked = time.perf_counter(), time.process_time()
        memory.ask(question)
        wall.append(time.perf_counter() - begun)
        processor.append(time.process_time() - worked)
    return {
        "questions": count,
        "wall_ms": _percentiles(wall[5:]),
        "processor_ms": _percentiles(processor[5:]),
    }


def _percentiles(seconds: list[float]) -> dict[str, float]:
    middle, high = 1000 * np.percentile(seconds, (50, 95))
    return {"p50": round(float(middle), 1), "p95": round(float(high), 1)}


if __name__ == "__main__":
    main()
