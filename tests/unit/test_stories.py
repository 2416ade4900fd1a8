import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet import Engine
from memnet.errors import InputError, Problem
from memnet.ingest.babi import Story, StoryQuestion, looks_like_stories, parse_stories
from memnet.storage import Slot

_TEXT = (
    "1 Ada walked to the harbour.\n"
    "2 Bo rowed to the island. \n"
    "3 Where is Ada? \tharbour\t1\n"
    "4 Ada walked to the mill.\n"
    "5 How do you get from the mill to the island?\tn,w\t4 2\n"
    "1 Cy slept.\r\n"
    "\r\n"
    "2 Did Cy sleep?\tyes\t1\r\n"
    "3 What does Cy dream of?"
)


def test_stories_are_read() -> None:
    first, second = parse_stories(_TEXT, "tale.txt")
    assert first.sentences == (
        "Ada walked to the harbour.",
        "Bo rowed to the island.",
        "Ada walked to the mill.",
    )
    assert first.questions == (
        StoryQuestion("Where is Ada?", ("harbour",), 2, (0,)),
        StoryQuestion("How do you get from the mill to the island?", ("n", "w"), 3, (2, 1)),
    )
    assert second.sentences == ("Cy slept.",)
    assert second.questions == (
        StoryQuestion("Did Cy sleep?", ("yes",), 1, (0,)),
        StoryQuestion("What does Cy dream of?", (), 1, ()),
    )
    for story in (first, second):
        assert [_TEXT[start:end] for start, end in story.spans] == list(story.sentences)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "t: holds no story; expected lines '<number> <sentence>'"),
        ("1 \n", "t, line 1: is '1', expected '<number> <sentence>'; correct it"),
        ("1 Ada left.\nBo left.\n", "t, line 2: is 'Bo left.', expected '<number> <sentence>'"),
        ("1 Ada left.\n2. Bo left.", "t, line 2: is '2. Bo left.', expected"),
        ("1 Ada left.\n99999999999 Bo left.", "t, line 2: is '99999999999 Bo left.', expected"),
        ("2 Ada left.\n", "t, line 1: is numbered 2 after no other line; the numbers of a story"),
        ("0 Ada left.\n", "t, line 1: is numbered 0 after no other line"),
        ("1 A.\n2 B.\n\n2 C.", "t, line 4: is numbered 2 after 2"),
        ("1 A.\n1 B.\n3 C.\n2 D.", "t, line 4: is numbered 2 after 3"),
        ("1 Where is Ada?\thome\t1", "t, line 1: asks 'Where is Ada?' before any sentence"),
        ("1 A.\n2 Who?\t\t1", "t, line 2: has 3 columns, expected '<question><tab><answer>"),
        ("1 A.\n2 Who?\ta,\t1", "t, line 2: has 3 columns"),
        ("1 A.\n2 \tno\t1", r"t, line 2: is '2 \tno\t1', expected"),
        ("1 A.\n2 Who?\tA\t1\t1", "t, line 2: has 4 columns"),
        ("1 A.\n2 Who?\tA\t0", "t, line 2: is supported by '0', expected the number of a"),
        ("1 A.\n2 Who?\tA\t2", "t, line 2: is supported by '2'"),
        ("1 A.\n2 Who?\tA\t1\n3 Who?\tA\t1 2", "t, line 3: is supported by '2'"),
        ("1 A.\n2 Who?\tA\t3\n3 B.", "t, line 2: is supported by '3'"),
        ("1 A.\n2 Who?\tA\tone", "t, line 2: is supported by 'one'"),
        ("1 A.\n1 B.\n2 Who?\tA\t1 9", "t, line 3: is supported by '9'"),
    ],
)
def test_mistakes_are_explained(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_stories(text, "t")
    assert str(caught.value).startswith(complaint)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_TEXT, True),
        ("\n 1 Ada left.\n2 Who left? \tAda\t1\n", True),
        ("1 Ada left.\nBo left.\n3 Who left?\tAda\t1\n", True),
        ("1 Ada left.\n2 Bo left.\n", False),
        ("1 Ada left.\n2 Who left?\n", False),
        ("1 Who left?\tAda\n2 Who came?\tBo\n", False),
        ("1. Ada left.\n2. Who left?\tAda\n", False),
        ("1 cup of flour\n2 eggs\n", False),
        ("1\tcup\tof flour\n2\teggs, or none?\tyes\n", False),
        ("10 Ada left.\n11 Who left?\tAda\t10\n", False),
        ("Ada left.\n1 Bo left.\n2 Who left?\tBo\t1\n", False),
        ("1", False),
        ("", False),
    ],
)
def test_only_stories_look_like_stories(text: str, expected: bool) -> None:
    assert looks_like_stories(text) is expected


@pytest.mark.parametrize("text", ["1 " + " " * 200_000, "1 a\n" + "2 ? " * 50_000, "1 " * 100_000])
def test_odd_lines_cost_no_more_than_others(text: str) -> None:
    assert not looks_like_stories(text)
    assert len(parse_stories(text + "x.", "t")) == 1


_WORDS = st.lists(
    st.text(st.characters(codec="utf-8", categories=["L"]), min_size=1, max_size=9),
    min_size=1,
    max_size=4,
)


@st.composite
def _stories(draw: st.DrawFn) -> tuple[str, Story]:
    """Lines of a story, and the story that they are, its spans counted from the first line."""
    lines = ""
    sentences: list[str] = []
    spans: list[tuple[int, int]] = []
    questions: list[StoryQuestion] = []
    numbers: list[int] = []
    for number in range(1, draw(st.integers(2, 9))):
        words = " ".join(draw(_WORDS))
        lines += f"{number} "
        if not sentences or draw(st.booleans()):
            spans.append((len(lines), len(lines) + len(words) + 1))
            sentences.append(words + ".")
            numbers.append(number)
            lines += f"{words}.\n"
        else:
            answers = tuple(draw(_WORDS))
            supports = tuple(draw(st.lists(st.integers(0, len(sentences) - 1))))
            questions.append(StoryQuestion(words + "?", answers, len(sentences), supports))
            shown = " ".join(str(numbers[place]) for place in supports)
            lines += f"{words}? \t{','.join(answers)}\t{shown}\n"
    return lines, Story(tuple(sentences), tuple(spans), tuple(questions))


@given(st.lists(_stories(), min_size=1, max_size=4))
def test_what_was_written_is_read(written: list[tuple[str, Story]]) -> None:
    text = "".join(lines for lines, _ in written)
    read = parse_stories(text, "t")
    assert [(story.sentences, story.questions) for story in read] == [
        (story.sentences, story.questions) for _, story in written
    ]
    position = 0
    for (lines, story), found in zip(written, read, strict=True):
        assert found.spans == tuple((position + a, position + b) for a, b in story.spans)
        position += len(lines)


def test_a_long_story() -> None:
    text = "".join(f"{number} Ada took step {number}.\n" for number in range(1, 10_001))
    (story,) = parse_stories(f"{text}10001 Where is Ada?\there\t10000", "t")
    assert len(story.sentences) == 10_000
    assert story.questions[0].supports == (9_999,)
    assert text[slice(*story.spans[-1])] == "Ada took step 10000."


def _write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


def _slots(engine: Engine, source: Path | str) -> list[Slot]:
    return [slot for slot in engine.store.fetch(range(1, 100)) if slot.source == str(source)]


def test_a_story_is_ingested_by_the_sentence(toy_engine: Engine, tmp_path: Path) -> None:
    lines = ["\ufeff1 Ada went to Mill Road.", "2 Bo slept.", "3 Who slept?\tBo\t2", "4 Bo slept."]
    path = _write(tmp_path / "story.txt", "\r\n".join(lines))
    report = toy_engine.ingest(path)
    assert (report.added, report.skipped) == (1, 0)
    slots = _slots(toy_engine, path)
    assert [slot.text for slot in slots] == ["Ada went to Mill Road.", "Bo slept.", "Bo slept."]
    text = path.read_bytes().decode("utf-8-sig")
    assert all(text[slot.start : slot.end] == slot.text for slot in slots)
    assert [slot.start for slot in slots] == sorted(slot.start for slot in slots)
    before = toy_engine.info()
    assert toy_engine.ingest(path).unchanged == 1
    assert toy_engine.info() == before


def test_each_story_is_a_source_of_its_own(toy_engine: Engine, tmp_path: Path) -> None:
    path = _write(tmp_path / "tales.txt", _TEXT)
    assert toy_engine.ingest(path).added == 2
    for number, story in enumerate(parse_stories(_TEXT, "t"), start=1):
        slots = _slots(toy_engine, f"{path}#{number}")
        assert [slot.text for slot in slots] == list(story.sentences)
        assert [(slot.start, slot.end) for slot in slots] == list(story.spans)
    # A question less changes nothing, a sentence more its own story.
    report = toy_engine.ingest(_write(path, _TEXT.rpartition("\n")[0]))
    assert (report.updated, report.unchanged) == (0, 2)
    report = toy_engine.ingest(_write(path, f"{_TEXT}\n4 Cy woke."))
    assert (report.updated, report.unchanged) == (1, 1)
    report = toy_engine.ingest(_write(path, _TEXT[: _TEXT.index("1 Cy")]))
    assert (report.added, report.removed) == (1, 2)


def test_a_bad_story_is_reported_and_the_rest_goes_in(toy_engine: Engine, tmp_path: Path) -> None:
    bad = _write(tmp_path / "bad.txt", "1 Ada left.\n2 Who?\tAda\t7\n")
    mixed = _write(tmp_path / "mixed.txt", f"{_TEXT}\n1 Di sang.\nDi ate.\n1 Di slept.\n")
    good = _write(tmp_path / "plain.txt", "1. Ada left.\n2. Bo left.")
    problems: list[Problem] = []
    report = toy_engine.ingest(tmp_path, on_problem=problems.append)
    assert (report.added, report.skipped) == (4, 2)
    assert [problem.where for problem in problems] == [f"{bad}, line 2", f"{mixed}, line 11"]
    assert [slot.text for slot in _slots(toy_engine, f"{mixed}#4")] == ["Di slept."]
    assert [slot.text for slot in _slots(toy_engine, good)] == ["1. Ada left.\n2. Bo left."]


def test_a_story_from_standard_input(toy_engine: Engine) -> None:
    toy_engine.ingest(io.BytesIO(b"1 Ada left.\n2 Who left?\tAda\t1\n3 Bo left.\n"))
    assert [slot.text for slot in toy_engine.store.fetch([1, 2, 3])] == ["Ada left.", "Bo left."]
    with pytest.raises(InputError, match="standard input, line 2: is supported by '3'"):
        toy_engine.ingest(io.BytesIO(b"1 Ada left.\n2 Who left?\tAda\t3\n"))
