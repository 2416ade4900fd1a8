import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from memnet.errors import ModelError
from memnet.learning.loop import arrays_of
from memnet.stories.answers import StoryAnswer, answer_story
from memnet.stories.model import StoryModel, collate, save_story_model
from memnet.stories.network import (
    END,
    PADDING,
    UNKNOWN,
    StoryModelConfig,
    StoryNetwork,
    StoryWords,
    Vocabulary,
    load_story_model,
    tokenize,
)

WORDS = ["ann", "ben", "cup", "hall", "is", "kitchen", "took", "went", "where", "yard"]
CONFIG = StoryModelConfig(width=16, heads=2, inner=24, hops=3, blocks=2, queries=3)


@pytest.fixture(scope="module")
def model() -> StoryModel:
    torch.manual_seed(1)
    return StoryModel(Vocabulary(WORDS), CONFIG).eval()


def network(model: StoryModel) -> StoryNetwork:
    return StoryNetwork(arrays_of(model.state_dict()), model.network.vocabulary, model.config)


def ask_story(
    model: StoryModel, sentences: list[str], question: str, hops: int | None = None
) -> StoryAnswer:
    words = [tokenize(sentence) for sentence in sentences]
    story = StoryWords(words, [tokenize(question)], [len(words)])
    [answer] = answer_story(network(model), story, hops)
    return answer


words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)


@st.composite
def stories(draw: st.DrawFn) -> StoryWords:
    sentences = draw(st.lists(words, min_size=1, max_size=7))
    questions = draw(st.lists(words, min_size=1, max_size=3))
    after = [draw(st.integers(1, len(sentences))) for _ in questions]
    return StoryWords(sentences, questions, after)


def test_words_are_split_and_numbered() -> None:
    assert tokenize("Where is Ann's 2nd well-known cup?") == [
        "where", "is", "ann's", "2nd", "well-known", "cup",
    ]  # fmt: skip
    vocabulary = Vocabulary.from_stories([StoryWords([["b", "a"], ["a", "c"]], [], [])])
    numbers = vocabulary.encode(["c", "a", "zebra"])
    assert vocabulary.decode([*numbers[:2], END, numbers[0]]) == ["c", "a"]
    assert numbers[2] == UNKNOWN
    assert vocabulary.unknown(["zebra", "a", "yak", "zebra"]) == ["zebra", "yak"]
    assert len({PADDING, UNKNOWN, END, *numbers[:2]}) == 5


def test_the_sentence_encoder_sees_order_and_not_padding() -> None:
    torch.manual_seed(0)
    sizes = StoryModelConfig(width=8, heads=2, queries=3, longest_sentence=6)
    encoder = StoryModel(Vocabulary(WORDS[:6]), sizes).network
    with torch.no_grad():
        [short] = encoder._encoded(torch.tensor([[[3, 4, 5], [5, 4, 3], [3, 4, 5]]]))
        [padded] = encoder._encoded(torch.tensor([[[3, 4, 5, 0, 0, 0]]]))
        [empty] = encoder._encoded(torch.zeros(1, 1, 4, dtype=torch.int64))
    torch.testing.assert_close(short[0], short[2])
    torch.testing.assert_close(short[:1], padded)
    assert not torch.allclose(short[0], short[1])
    assert empty.isfinite().all()


@given(st.lists(stories(), min_size=1, max_size=4))
def test_arrays_answer_as_a_batch_of_tensors(model: StoryModel, batch: list[StoryWords]) -> None:
    with torch.no_grad():
        learned = model(collate([model.encode(story) for story in batch]))
    for row, story in enumerate(batch):
        found = network(model).read_story(story)
        made, asked, count = found.halting.shape[1], len(story.questions), len(story.sentences)
        expected = (
            learned.logits[row, :asked],
            learned.alignments[row, :asked, :, :count],
            learned.weights[row, :made, :asked, :count],
            learned.halting[row, :made, :asked],
        )
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == np.float32
            # Where the batch hops once more than the story alone, the answer is nearly the same.
            np.testing.assert_allclose(one[0], other.numpy(), atol=5e-3)


@given(stories(), st.lists(words, min_size=1, max_size=3))
def test_what_comes_later_changes_no_answer(
    model: StoryModel, story: StoryWords, later: list[list[str]]
) -> None:
    before = answer_story(network(model), story)
    longer = story._replace(sentences=[*story.sentences, *later])
    after = answer_story(network(model), longer)
    for first, second in zip(before, after, strict=True):
        assert first.words == second.words
        count = len(story.sentences)
        np.testing.assert_allclose(first.attention, second.attention[:, :count], atol=1e-5)
        assert not second.attention[:, count:].any()


def test_weights_and_halting_are_shares(model: StoryModel) -> None:
    answer = ask_story(model, ["Ann went to the hall.", "Ben took a cup."], "Where is Ann?")
    np.testing.assert_allclose(answer.attention.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(answer.alignments.sum(axis=1), 1, atol=1e-5)
    assert answer.halting.sum() == pytest.approx(1, abs=1e-2)
    assert len(answer.alignments) == len(answer.words)
    assert 0 < answer.probability <= 1


def test_a_model_that_wants_to_halt_does(model: StoryModel) -> None:
    eager = StoryModel(model.network.vocabulary, CONFIG).eval()
    eager.load_state_dict(model.state_dict())
    with torch.no_grad():
        eager.hops.halting.score.bias.fill_(20.0)
    answer = ask_story(eager, ["ann went", "ben went"], "where is ann")
    assert answer.attention.shape == (1, 2)
    with torch.no_grad():
        eager.hops.halting.score.bias.fill_(-20.0)
    assert ask_story(eager, ["ann went"], "where is ann").attention.shape == (3, 1)
    assert ask_story(eager, ["ann went"], "where is ann", hops=2).attention.shape == (2, 1)


def test_unknown_words_and_long_input_are_no_crash(model: StoryModel) -> None:
    answer = ask_story(model, ["Zoe flew " + "far " * 90, ""], "Where is Zoe, Ann?")
    assert answer.unknown == ("zoe",)
    assert ask_story(model, [], "Where is Ann?").attention.shape == (3, 0)
    assert ask_story(model, ["ann went"] * 3000, "where is ann").attention.shape[1] == 3000


def test_a_model_comes_back_as_it_was_saved(model: StoryModel, tmp_path: Path) -> None:
    asked = StoryWords([["ann", "went", "hall"], ["ben", "took", "cup"]], [["where", "is"]], [2])
    save_story_model(tmp_path, model, {"seed": 3})
    save_story_model(tmp_path, model, {"seed": 4})
    loaded = load_story_model(tmp_path)
    assert loaded.config == model.config
    assert loaded.vocabulary.words == model.network.vocabulary.words
    first, second = (answer_story(m, asked)[0] for m in (network(model), loaded))
    assert (first.words, first.probability) == (second.words, second.probability)
    assert json.loads((tmp_path / "model.json").read_text())["trained"] == {"seed": 4}
    assert len(list(tmp_path.iterdir())) == 2


def _edit(folder: Path, **changes: object) -> None:
    path = folder / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _weights(folder: Path) -> Path:
    return next(folder.glob("*.safetensors"))


def _truncate(folder: Path) -> None:
    _weights(folder).write_bytes(_weights(folder).read_bytes()[:-100])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (shutil.rmtree, "holds no complete model"),
        (_truncate, "is damaged"),
        (lambda folder: _weights(folder).unlink(), r"no complete model \(model-.* is missing\)"),
        (lambda folder: _edit(folder, format=99), "has format 99, .* reads format 1"),
        (lambda folder: _edit(folder, kind="poem"), "of kind 'poem', expected one for stories"),
        (lambda folder: (folder / "model.json").write_text("{"), "can't be read"),
        (lambda folder: _edit(folder, config={"width": "wide"}), "does not describe a model"),
    ],
)
def test_damaged_models_are_refused(
    model: StoryModel, tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    save_story_model(tmp_path / "model", model, {})
    damage(tmp_path / "model")
    with pytest.raises(ModelError, match=message) as caught:
        load_story_model(tmp_path / "model")
    assert "\n" not in str(caught.value)


def test_a_tensor_of_the_wrong_shape_is_refused(model: StoryModel, tmp_path: Path) -> None:
    save_story_model(tmp_path, model, {})
    path = _weights(tmp_path)
    tensors = load_file(path)
    tensors["kinds"] = torch.zeros(3, 16)
    save_file(tensors, path)
    _edit(tmp_path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    with pytest.raises(ModelError, match=r"tensor kinds has shape \(3, 16\), expected \(2, 16\)"):
        load_story_model(tmp_path)
