from pathlib import Path

import pytest

from benchmarks.generate_qa3 import generate
from benchmarks.qa3_statistics import comparison, explained
from benchmarks.qa3_world import read_action
from memnet.ingest.babi import Story, looks_like_stories, parse_stories

_TAKES = ("got", "grabbed", "took", "picked up")
_DROPS = ("dropped", "left", "discarded", "put down")


@pytest.fixture(scope="module")
def stories() -> list[Story]:
    return parse_stories(generate(80, seed=3), "generated")


def _told(sentence: str) -> tuple[str, str, str]:
    """Who did what to which target."""
    actor, _, rest = sentence.removesuffix(".").removesuffix(" there").partition(" ")
    verb, _, target = rest.partition(" the ")
    return actor, "take" if verb in _TAKES else "drop" if verb in _DROPS else "move", target


def _places(sentences: tuple[str, ...], item: str) -> list[str]:
    """The places that an object is known to have been in, one after the other."""
    where: dict[str, str] = {}
    holder = ""
    places: list[str] = []
    for sentence in sentences:
        actor, kind, target = _told(sentence)
        if kind == "move":
            where[actor] = target
        elif target == item:
            holder = actor if kind == "take" else ""
        place = where.get(holder)
        if place and places[-1:] != [place]:
            places.append(place)
    return places


def _place_before(sentences: tuple[str, ...], item: str, place: str) -> str:
    """Where an object was before it last came to a place."""
    places = _places(sentences, item)
    return next(
        earlier
        for earlier, later in zip(places[-2::-1], places[:0:-1], strict=True)
        if later == place
    )


def test_the_same_seed_gives_the_same_stories(stories: list[Story]) -> None:
    assert generate(5, seed=7) == generate(5, seed=7)
    assert generate(5, seed=7) != generate(5, seed=8)
    assert generate(9, seed=7).startswith(generate(5, seed=7))


def test_stories_have_the_form_of_the_task(stories: list[Story]) -> None:
    assert looks_like_stories(generate(1, seed=0))
    assert len(stories) == 80
    for story in stories:
        assert len(story.questions) == 5
        assert story.questions[-1].after == len(story.sentences)
        assert len({question.after for question in story.questions}) == 5
        assert all(question.after % 2 == 0 for question in story.questions)
        assert [read_action(sentence).sentence() for sentence in story.sentences] == list(
            story.sentences
        )


def test_what_happens_is_possible(stories: list[Story]) -> None:
    for story in stories:
        where: dict[str, str] = {}
        holders: dict[str, str] = {}
        for sentence in story.sentences:
            actor, kind, target = _told(sentence)
            if kind == "move":
                assert where.get(actor) != target
                where[actor] = target
            elif kind == "take":
                assert target not in holders
                # What is known of both agrees; before, each may be anywhere.
                if actor in where and target in where:
                    assert where[actor] == where[target]
                holders[target] = actor
            else:
                assert holders.pop(target) == actor
                where.pop(target, None)
                if actor in where:
                    where[target] = where[actor]


def test_answers_are_right(stories: list[Story]) -> None:
    for story in stories:
        for question in story.questions:
            item, place = question.text[len("Where was the ") : -1].split(" before the ")
            assert question.answers == (
                _place_before(story.sentences[: question.after], item, place),
            )


def test_three_sentences_support_an_answer(stories: list[Story]) -> None:
    for story in stories:
        for question in story.questions:
            handled, arrived, left = (_told(story.sentences[i]) for i in question.supports)
            item, place = question.text[len("Where was the ") : -1].split(" before the ")
            assert handled[1] != "move"
            assert handled[2] == item
            assert arrived == (handled[0], "move", place)
            assert left == (handled[0], "move", question.answers[0])
            assert question.supports[2] < question.supports[1]
            assert question.after - question.supports[0] <= 5
            # It is carried all the way, and its carrier goes nowhere between the two.
            first, last = question.supports[2], question.supports[1]
            before = [_told(sentence) for sentence in story.sentences[:last]]
            handlings = [index for index, told in enumerate(before) if told[2] == item]
            assert handlings[-1] < first
            assert before[handlings[-1]] == (handled[0], "take", item)
            assert (handled[0], "move") not in [told[:2] for told in before[first + 1 :]]


def test_the_rules_know_every_question(stories: list[Story]) -> None:
    for story in stories:
        known = [known for _, known in explained(story) if known is not None]
        assert [(question.supports, *question.answers) for question in story.questions] == [
            (question.supports, question.answer) for question in known
        ]


def test_a_comparison_finds_what_differs(tmp_path: Path) -> None:
    real = tmp_path / "real.txt"
    real.write_text(generate(40, seed=1).replace(" got the ", " took the "))
    table = comparison([real, real], generate(40, seed=2))
    assert "400 of 400 real questions have the answer and the three supports" in table
    assert "40 distinct real stories of 80, 40 generated ones." in table
    chances = {
        cells[1].strip(): float(cells[4])
        for cells in (line.split("|") for line in table.splitlines()[5:])
    }
    assert chances.pop("verb of a take") < 0.01
    assert min(chances.values()) > 0.001


def test_other_tasks_are_refused(tmp_path: Path) -> None:
    real = tmp_path / "real.txt"
    real.write_text("1 Ada sang.\n2 Who sang?\tAda\t1\n")
    with pytest.raises(ValueError, match=r"'Ada sang\.' is no sentence of task 3; give a file"):
        comparison([real], generate(2, seed=0))
