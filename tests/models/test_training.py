import json
import math
import random
from pathlib import Path

import pytest
import torch

from memnet.errors import InputError, ModelError
from memnet.ingest.babi import parse_stories
from memnet.learning import TrainingProgress
from memnet.learning.loop import EpochReport, TrainingConfig
from memnet.stories.answers import evaluate_stories, read_story_questions
from memnet.stories.model import StoryIds
from memnet.stories.network import StoryModelConfig, load_story_model
from memnet.stories.training import StoryExample, read_story_data, support_loss, train_stories

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIG = StoryModelConfig(width=24, heads=2, inner=32, hops=2, blocks=2, queries=4)


def moves(stories: int, seed: int) -> str:
    """Stories of people who walk about, asked where somebody is."""
    choice = random.Random(seed)
    lines: list[str] = []
    for _ in range(stories):
        place: dict[str, str] = {}
        for number in range(1, 5):
            who = choice.choice(["Ann", "Ben", "Cid"])
            place[who] = choice.choice(["hall", "yard", "attic"])
            lines.append(f"{number} {who} went to the {place[who]}.")
        who = choice.choice(sorted(place))
        lines.append(f"5 Where is {who}?\t{place[who]}\t1")
    return "\n".join(lines) + "\n"


def _written(folder: Path, stories: int) -> Path:
    folder.mkdir()
    (folder / "walk_train.txt").write_text(moves(stories, 1))
    (folder / "walk_valid.txt").write_text(moves(60, 2))
    (folder / "stroll_valid.txt").write_text(moves(30, 3))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Stories, as many as it takes to learn something."""
    return _written(tmp_path / "data", 800)


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Stories for what is the same however many there are."""
    return _written(tmp_path / "few", 150)


def test_it_learns_and_keeps_the_best(data: Path, tmp_path: Path) -> None:
    reports: list[EpochReport] = []
    config = TrainingConfig(epochs=5, warm_up=20, learning_rate=5e-3)
    best = train_stories(read_story_data(data), tmp_path / "out", CONFIG, config, reports.append)
    assert best < 0.1 < reports[0].error  # guessing is wrong two times in three
    assert best == min(report.error for report in reports) == reports[-1].best
    assert set(reports[0].errors) == {"walk", "stroll"}
    model = load_story_model(tmp_path / "out")
    for name, error in min(reports, key=lambda report: report.error).errors.items():
        stories = parse_stories((data / f"{name}_valid.txt").read_text(), name)
        scores = evaluate_stories(model, stories)
        assert scores.em == pytest.approx(1 - error)
        assert scores.n == len(stories)
    notes = json.loads((tmp_path / "out" / "model.json").read_text())["trained"]
    assert notes["training"]["seed"] == 0
    assert notes["data"] == read_story_data(data).digest
    assert not list((tmp_path / "out").glob("training*"))


def test_a_run_that_goes_on_starts_where_it_was_and_another_does_not(
    few: Path, tmp_path: Path
) -> None:
    stories, config = read_story_data(few), TrainingConfig(epochs=4)

    def stop(_: EpochReport) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_stories(stories, tmp_path / "out", CONFIG, config, stop)
    with pytest.raises(ModelError, match="holds an unfinished run on other data or settings"):
        train_stories(stories, tmp_path / "out", CONFIG, TrainingConfig(epochs=4, seed=1))
    said: list[TrainingProgress] = []
    train_stories(stories, tmp_path / "out", CONFIG, config, on_progress=said.append)
    assert said[0] == TrainingProgress("training", 0, 0.25)
    assert said[1].share > 0.25


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("other.txt", "", "holds no file named <task>_train.txt"),
        ("walk_train.txt", "", "holds no story"),
        ("walk_train.txt", "1 Ann went.\n", "holds no question"),
        ("walk_train.txt", "Ann went.\n", "walk_train.txt, line 1: is 'Ann went.'"),
        ("walk_train.txt", "1 Where is Ann?\thall\t1\n", "before any sentence"),
    ],
)
def test_bad_data_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read_story_data(tmp_path)


def test_a_folder_that_is_a_file_is_refused(few: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(ModelError, match="can't be written"):
        train_stories(read_story_data(few), tmp_path / "out", CONFIG, TrainingConfig(epochs=1))


def test_question_files_of_both_kinds(tmp_path: Path) -> None:
    lines = tmp_path / "questions.jsonl"
    lines.write_text('{"question": "Where is Ann?", "answers": ["hall"]}\n')
    assert read_story_questions(lines) is None
    stories = tmp_path / "story.txt"
    stories.write_text(moves(3, 4))
    assert [len(story.sentences) for story in read_story_questions(stories) or []] == [4, 4, 4]


def test_the_loss_of_supports_asks_for_an_equal_share_of_the_attention() -> None:
    weights = torch.rand(2, 3, 2, 4, generator=torch.Generator().manual_seed(5))
    stories = parse_stories(
        "1 Ann ran.\n2 Ben sat.\n3 Who ran?\tAnn\t1\n4 Who sat?\tBen\t2 1\n"
        "1 Cid ran.\n2 Who sat?\tnobody\n",
        "story",
    )
    examples = [
        StoryExample("walk", StoryIds(*[torch.zeros(1)] * 4), [q.supports for q in story.questions])
        for story in stories
    ]
    losses: list[float] = []
    for row, story in enumerate(stories):
        for place, question in enumerate(story.questions):
            nats = 0.0
            for sentence in question.supports:
                mean = sum(float(weights[row, hop, place, sentence]) for hop in range(3)) / 3
                nats -= math.log(mean) / len(question.supports)
            losses += [nats] if question.supports else []
    assert len(losses) == 2
    assert float(support_loss(weights, examples)) == pytest.approx(sum(losses) / 2, abs=1e-4)
    assert float(support_loss(weights, [e._replace(supports=[]) for e in examples])) == 0
