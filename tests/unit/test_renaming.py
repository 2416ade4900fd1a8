"""Names that change places, and tasks that share an epoch."""

import random
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError
from memnet.stories.model import StoryIds
from memnet.stories.network import Vocabulary
from memnet.stories.training import (
    BABI_NAMES,
    NameShuffler,
    StoryExample,
    TaskSampler,
    read_name_groups,
)

WORDS = (
    "mary john north south east west n s e w garden office is of the cat cats wolf wolves".split()
)
VOCABULARY = Vocabulary(sorted(WORDS))


def renaming(*words: str) -> NameShuffler:
    return NameShuffler(read_name_groups(BABI_NAMES), {"qa19": words, "qa15": words}, VOCABULARY)


def renamed(task: str, words: list[str], seed: int, *used: str) -> list[str]:
    table = renaming(*(used or WORDS)).draw(task, random.Random(seed))
    return VOCABULARY.decode(table[VOCABULARY.encode(words)].tolist())


@given(st.integers(0, 1000))
def test_every_word_becomes_another_one(seed: int) -> None:
    table = renaming(*WORDS).draw("qa19", random.Random(seed)).tolist()
    assert sorted(table) == list(range(len(VOCABULARY)))
    for word in ("is", "of", "the", "mary", "john", "cat"):
        (number,) = VOCABULARY.encode([word])
        assert table[number] == number


@given(st.integers(0, 1000))
def test_the_compass_stays_a_compass(seed: int) -> None:
    words = renamed("qa19", ["north", "south", "east", "west", "n", "s", "e", "w"], seed)
    opposite = {"north": "south", "south": "north", "east": "west", "west": "east"}
    assert (opposite[words[0]], opposite[words[2]]) == (words[1], words[3])
    assert [word[0] for word in words[:4]] == words[4:]


def test_all_eight_compasses_are_drawn() -> None:
    drawn = {tuple(renamed("qa19", ["north", "south", "east", "west"], n)) for n in range(200)}
    assert len(drawn) == 8


@given(st.integers(0, 1000))
def test_words_of_one_name_change_together(seed: int) -> None:
    assert renamed("qa15", ["wolf", "wolves", "cat", "cats"], seed) in (
        ["wolf", "wolves", "cat", "cats"],
        ["cat", "cats", "wolf", "wolves"],
    )


def test_names_that_a_task_never_uses_are_not_brought_in() -> None:
    for seed in range(50):
        assert renamed("qa19", ["garden"], seed, "garden", "north") == ["garden"]


@pytest.mark.parametrize("line", ["qa1 mary john", "qa1: mary", ": mary john", "qa1: a/b c"])
def test_a_line_that_is_none(tmp_path: Path, line: str) -> None:
    (tmp_path / "names.txt").write_text(f"# names\n{line}\n")
    with pytest.raises(InputError, match="line 2: expected"):
        read_name_groups(tmp_path / "names.txt")


def example(task: str, sentences: int) -> StoryExample:
    texts = torch.zeros(sentences, 1, dtype=torch.int64)
    return StoryExample(task, StoryIds(texts, texts[:0], texts[:0, 0], texts[:0]), [])


def test_an_epoch_shares_its_rows_by_the_root_of_the_error() -> None:
    sampler = TaskSampler({"easy": 100_000, "hard": 200_000})
    sampler.errors = {"easy": 0.04, "hard": 0.64}
    passes = sampler.passes()
    assert passes["hard"] * 200_000 == pytest.approx(4 * passes["easy"] * 100_000)
    assert passes["hard"] * 200_000 + passes["easy"] * 100_000 == pytest.approx(240_000)


def test_a_known_task_is_not_forgotten_and_a_small_one_not_worn_out() -> None:
    sampler = TaskSampler({"known": 100_000, "small": 10, "large": 100_000})
    sampler.errors = {"known": 0.0, "small": 1.0, "large": 0.005}
    passes = sampler.passes()
    assert passes["known"] == passes["large"] > 0
    assert passes["small"] == 8


def test_examples_come_as_often_as_the_passes_say() -> None:
    sampler = TaskSampler({"a": 60_000, "b": 960_000})
    examples = [example("a", 1)] * 1000 + [example("b", 16)] * 60_000
    chosen = sampler.sample(examples, random.Random(0))
    assert sum(one.task == "a" for one in chosen) == pytest.approx(2000, rel=0.02)
    assert sum(one.task == "b" for one in chosen) == pytest.approx(7500, rel=0.05)


def test_the_running_error_follows_the_batches() -> None:
    sampler = TaskSampler({"a": 10})
    for _ in range(200):
        sampler.update("a", 0.25)
    assert sampler.errors["a"] == pytest.approx(0.25, abs=1e-3)
