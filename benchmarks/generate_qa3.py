"""Stories like those of bAbI task 3: "Where was the football before the hallway?".

    python -m benchmarks.generate_qa3 --stories 2000 --seed 0 --out FILE
    python -m benchmarks.generate_qa3 --stories 2000 --seed 0 --compare REAL_FILE

The rules were worked out from the task's published stories. People move between places, take what
lies there and drop what they carry. After every second sentence a question is asked if there is one
with exactly three supporting sentences: the last taking or dropping of an object, not more than
five sentences ago, and two successive moves of the one who carried it. Five questions end a story.
``--compare`` prints how the generated stories differ from those of a file.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.qa3_statistics import comparison
from benchmarks.qa3_world import Asked, Trails, World

_SENTENCES_BEFORE_A_QUESTION = 2
_QUESTIONS = 5
_FADING = 0.8
"""How likely a place is asked about, of how likely the one that the object was in next."""
_MISSED = 0.01
"""Share of chances to ask the only possible question that pass without it."""


def generate_story(random: np.random.Generator) -> list[str]:
    """The lines of a story in the bAbI format."""
    world, trails = World(random), Trails()
    lines: list[str] = []
    numbers: list[int] = []
    while len(lines) < len(numbers) + _QUESTIONS:
        for _ in range(_SENTENCES_BEFORE_A_QUESTION):
            action = world.act()
            trails.record(action)
            numbers.append(len(lines) + 1)
            lines.append(f"{numbers[-1]} {action.sentence()}")
        question = _choose(trails.recent_questions(), random)
        if question is not None:
            supports = " ".join(str(numbers[sentence]) for sentence in question.supports)
            lines.append(
                f"{len(lines) + 1} Where was the {question.object} before the {question.place}? "
                f"\t{question.answer}\t{supports}"
            )
    return lines


def _choose(questions: Sequence[Asked], random: np.random.Generator) -> Asked | None:
    if random.random() < _MISSED ** len(questions):
        return None
    weights = np.array([_FADING**question.steps_back for question in questions])
    return questions[random.choice(len(questions), p=weights / weights.sum())]


def generate(stories: int, seed: int) -> str:
    """Stories in the bAbI format; the same for the same seed."""
    random = np.random.default_rng(seed)
    return "".join(f"{line}\n" for _ in range(stories) for line in generate_story(random))


def main() -> None:
    """Write generated stories, or compare them with real ones."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stories", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--compare", type=Path, nargs="+", metavar="REAL_FILE")
    options = parser.parse_args()
    if not options.out and not options.compare:
        parser.error("nothing to do with the stories; give --out, --compare or both")
    text = generate(options.stories, options.seed)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    if options.compare:
        print(comparison(options.compare, text))


if __name__ == "__main__":
    main()
