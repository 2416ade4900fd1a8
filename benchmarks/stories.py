"""Stories: the error of a trained model on each task, and how fast it answers.

    python -m benchmarks.stories --data DIR [--model MODEL]

DIR holds ``<task>_valid.txt`` files in the bAbI format.
"""

import argparse
import json
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.environment import environment
from memnet import Engine
from memnet.checkpoints import load_checkpoint
from memnet.experts.registry import model_folder
from memnet.ingest.babi import Story, parse_stories
from memnet.stories.answers import answer_story
from memnet.stories.network import StoryNetwork, load_story_model, tokenize_story

_ASKED = 200
"""Questions asked one by one through the store."""
_FAILED = 0.05
_RESULTS = Path(__file__).parent / "results" / "stories.json"


def main() -> None:
    """Run the benchmark and write its results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", default="babi")
    parser.add_argument("--out", type=Path, default=_RESULTS)
    options = parser.parse_args()
    files = sorted(options.data.glob("*_valid.txt"), key=lambda path: (len(path.name), path.name))
    tasks = {
        path.stem.removesuffix("_valid"): parse_stories(path.read_text(), path.name)
        for path in files
    }
    folder = model_folder(options.model)
    model = load_story_model(folder)
    arrays, description = load_checkpoint(folder, "model")
    errors, hops, questions, seconds = _tasks(model, tasks)
    results = {
        "environment": environment(),
        "trained": description["trained"],
        "parameters": sum(array.size for array in arrays.values()),
        "errors": errors,
        "mean_error": float(np.mean(list(errors.values()))),
        "failed": sum(error > _FAILED for error in errors.values()),
        "hops": hops,
        "questions_per_second": questions / seconds,
        "ask_ms": _ask(options.model, tasks),
    }
    options.out.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


def _tasks(
    model: StoryNetwork, tasks: dict[str, list[Story]]
) -> tuple[dict[str, float], dict[str, float], int, float]:
    """Error and mean hops of each task; how many questions were answered in how many seconds."""
    errors: dict[str, float] = {}
    hops: dict[str, float] = {}
    questions, seconds = 0, 0.0
    for task, stories in tasks.items():
        right: list[bool] = []
        needed: list[float] = []
        for story in stories:
            started = time.perf_counter()
            answers = answer_story(model, tokenize_story(story))
            seconds += time.perf_counter() - started
            for question, answer in zip(story.questions, answers, strict=True):
                right.append(answer.words == tuple(map(str.casefold, question.answers)))
                number = np.arange(1, len(answer.halting) + 1)
                needed.append(float(number @ answer.halting))
        errors[task] = 1 - float(np.mean(right))
        hops[task] = float(np.mean(needed))
        questions += len(right)
    return errors, hops, questions, seconds


def _ask(model: str, tasks: dict[str, list[Story]]) -> dict[str, Any]:
    """Milliseconds of ``Engine.ask`` about stories in a store, each in a namespace of its own."""
    chosen = [story for stories in tasks.values() for story in islice(stories, 10)][:_ASKED]
    elapsed: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "story.txt")
        with Engine.open(Path(folder, "store"), create=True, answerer=model) as engine:
            for number, story in enumerate(chosen):
                lines = [*story.sentences, f"{story.questions[-1].text}\tunknown"]
                text.write_text("".join(f"{n} {line}\n" for n, line in enumerate(lines, 1)))
                engine.ingest(text, namespace=str(number))
            for number, story in enumerate(chosen):
                started = time.perf_counter()
                engine.ask(story.questions[-1].text, namespace=str(number))
                elapsed.append((time.perf_counter() - started) * 1000)
    return {
        "n": len(elapsed),
        "p50": float(np.percentile(elapsed, 50)),
        "p95": float(np.percentile(elapsed, 95)),
        "sentences": float(np.mean([len(story.sentences) for story in chosen])),
    }


if __name__ == "__main__":
    main()
