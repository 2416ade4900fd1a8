"""How far generated stories of bAbI task 3 are from real ones: a table of statistics with p-values.

A p-value is the share of random divisions of all stories, real and generated, that differ at least
as much (chi-square) as the true one. Whole stories are divided, since what stands in one story goes
together. Numbers are compared by the tenths of the real ones.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.qa3_world import QUESTION, Asked, Trails, read_action
from memnet.ingest.babi import Story, StoryQuestion, parse_stories

Values = dict[str, list[str] | list[int]]
"""By the name of a statistic, its values in one story."""
_DIVISIONS = 2000


def comparison(real_files: Iterable[Path], generated: str) -> str:
    """The table, below how many real questions the generator's rules answer as their files do."""
    read = [
        story
        for file in real_files
        for story in parse_stories(file.read_text(encoding="utf-8"), str(file))
    ]
    real = list({(story.sentences, story.questions): story for story in read}.values())
    made = parse_stories(generated, "generated")
    agreements = [known is not None for story in read for _, known in explained(story)]
    rows = [
        f"{sum(agreements)} of {len(agreements)} real questions have the answer and the three "
        "supports that the rules give.",
        f"{len(real)} distinct real stories of {len(read)}, {len(made)} generated ones.",
        "",
        "| statistic | real | generated | p |",
        "|---|---|---|---|",
    ]
    values = [_values(story) for story in (*real, *made)]
    random = np.random.default_rng(0)
    for name in values[0]:
        column = [story.get(name, []) for story in values]
        chance = _p_value(_counts(column, len(real)), len(real), random)
        shown = f"{_summary(column[: len(real)])} | {_summary(column[len(real) :])}"
        rows.append(f"| {name} | {shown} | {chance:.3f} |")
    return "\n".join(rows)


def explained(story: Story) -> Iterator[tuple[StoryQuestion, Asked | None]]:
    """The questions of a story as the rules know them; None where answer or supports differ."""
    trails = Trails()
    for question in story.questions:
        for sentence in story.sentences[trails.sentences : question.after]:
            trails.record(read_action(sentence))
        item, place = _subject(question)
        yield (
            question,
            next(
                (
                    known
                    for known in trails.questions(item)
                    if (known.place, (known.answer,), known.supports)
                    == (place, question.answers, question.supports)
                ),
                None,
            ),
        )


def _values(story: Story) -> Values:
    values: defaultdict[str, list[str] | list[int]] = defaultdict(
        list,
        {
            "sentences": [len(story.sentences)],
            "sentences before the first question": [story.questions[0].after],
            "sentences between questions": [
                later.after - earlier.after for earlier, later in pairwise(story.questions)
            ],
            "people who act": [len({sentence.split()[0] for sentence in story.sentences})],
        },
    )
    return {**values, **_question_values(story), **_action_values(story)}


def _question_values(story: Story) -> Values:
    subjects = [_subject(question) for question in story.questions]
    supports = {
        f"distance to the {name}": [
            question.after - question.supports[number] for question in story.questions
        ]
        for number, name in enumerate(("taking or dropping", "move there", "move before"))
    }
    return {
        **supports,
        "places carried to after the one asked about": [
            known.steps_back for _, known in explained(story) if known is not None
        ],
        "object asked about is held": [
            _yes(read_action(story.sentences[question.supports[0]]).kind == "take")
            for question in story.questions
        ],
        "the last question again": [_yes(one == other) for one, other in pairwise(subjects)],
        "object asked about": [item for item, _ in subjects],
        "place asked about": [place for _, place in subjects],
        "answer": [question.answers[0] for question in story.questions],
    }


def _action_values(story: Story) -> Values:
    actions = [read_action(sentence) for sentence in story.sentences]
    values: Values = {
        "kind of action": [action.kind for action in actions],
        "kinds of two in a row": [f"{one.kind} {other.kind}" for one, other in pairwise(actions)],
        "actor": [action.actor for action in actions],
        "the last actor again": [
            _yes(one.actor == other.actor) for one, other in pairwise(actions)
        ],
        "place moved to": [action.target for action in actions if action.kind == "move"],
        "object taken or dropped": [action.target for action in actions if action.kind != "move"],
    }
    for kind in ("move", "take", "drop"):
        chosen = [action for action in actions if action.kind == kind]
        values[f"verb of a {kind}"] = [action.verb for action in chosen]
        if kind != "move":
            values[f'"there" in a {kind}'] = [_yes(action.there) for action in chosen]
    return values


def _subject(question: StoryQuestion) -> tuple[str, str]:
    """Object and place that a question asks about."""
    match = QUESTION.fullmatch(question.text)
    if match is None:
        raise ValueError(f"{question.text!r} is no question of task 3; give a file of that task")
    return match[1], match[2]


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _summary(column: Iterable[Sequence[str] | Sequence[int]]) -> str:
    """Mean, quartiles and range of numbers; shares of words."""
    values = np.array([value for story in column for value in story])
    if values.dtype.kind == "U":
        shares = sorted(Counter(values.tolist()).items())
        return ", ".join(f"{word} {100 * count / len(values):.1f} %" for word, count in shares)
    low, first, median, third, high = np.quantile(values, (0, 0.25, 0.5, 0.75, 1))
    return (
        f"{low:.0f} to {high:.0f}, quartiles {first:.0f}, {median:.0f}, {third:.0f}, "
        f"mean {values.mean():.2f}"
    )


def _counts(column: Sequence[Sequence[str] | Sequence[int]], real: int) -> NDArray[np.int64]:
    """How often each word, or number of each tenth, stands in each story: [stories, kinds]."""
    values = [np.array(story) for story in column]
    together = np.concatenate(values)
    if together.dtype.kind == "U":
        kinds = np.unique(together)
        places = [np.searchsorted(kinds, story) for story in values]
    else:
        kinds = np.unique(np.quantile(np.concatenate(values[:real]), np.linspace(0.1, 0.9, 9)))
        places = [np.digitize(story, kinds) for story in values]
    return np.array([np.bincount(place, minlength=len(kinds) + 1) for place in places])


def _p_value(counts: NDArray[np.int64], real: int, random: np.random.Generator) -> float:
    """Share of random divisions of the stories that differ as much as that into the first ``real``.

    Args:
        counts: [stories, kinds] int64.
        real: how many of the stories, the first ones, are real.
        random: what the divisions are drawn with.
    """
    total = counts.sum(axis=0)
    counts, total = counts[:, total > 0], total[total > 0]

    def difference(part: NDArray[np.int64]) -> float:
        expected = total * part.sum() / total.sum()
        return float(((part - expected) ** 2 * (1 / expected + 1 / (total - expected))).sum())

    found = difference(counts[:real].sum(axis=0))
    larger = sum(
        difference(counts[random.permutation(len(counts))[:real]].sum(axis=0)) >= found
        for _ in range(_DIVISIONS)
    )
    return (1 + larger) / (1 + _DIVISIONS)
