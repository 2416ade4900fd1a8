"""Subtitles: cues, speakers, repeated lines, and paragraphs of what is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError
from tests.unit.loaders.parsed import only, placed, read, survives, texts

_SRT = """\
1
00:00:01,000 --> 00:00:03,000
<i>The lamp</i> of the pier
{\\an8}was lit

2
00:00:03,200 --> 00:00:05,000
in 1890.

3
00:00:05,500 --> 00:00:07,000
- Who lit it?
- Ann &amp; Ben.

4
00:01:20,900 --> 00:01:23,000
BEN: Not I.
"""


def test_cues_become_paragraphs() -> None:
    found = only(read("pier-talk.en.srt", _SRT))
    assert placed(found) == [
        ("00:00:01", "The lamp of the pier was lit in 1890."),
        ("00:00:05", "Who lit it?"),
        ("00:00:05", "Ann & Ben."),
        ("00:01:20", "BEN: Not I."),
    ]
    assert found.title == "pier talk"
    assert found.metadata == {"speakers": ["BEN"]}


def test_webvtt() -> None:
    text = """\
WEBVTT - The pier

STYLE
::cue { color: red }

NOTE
not shown

intro
00:01.000 --> 00:03.000 align:start position:0%
<v Ann>Good <c.yellow>morning</c>.</v>

01:00:04.000 --> 01:00:06.000
<v.loud Ben Lee>Morning.</v>
"""
    found = only(read("a.vtt", text))
    assert placed(found) == [("00:00:01", "Ann: Good morning."), ("01:00:04", "Ben Lee: Morning.")]
    assert found.title == "The pier"
    assert found.metadata == {"speakers": ["Ann", "Ben Lee"]}


def test_captions_that_roll_up_are_read_once() -> None:
    cues = [
        ("00:00:00.000 --> 00:00:02.000", " \nthe lamp<00:00:01.000><c> was lit</c>"),
        ("00:00:02.000 --> 00:00:02.010", "the lamp was lit\n "),
        ("00:00:02.010 --> 00:00:04.000", "the lamp was lit\nby<00:00:03.000><c> Ann</c>"),
        ("00:00:04.000 --> 00:00:04.010", "by Ann\n "),
        ("00:00:04.010 --> 00:00:06.000", "by Ann\nin 1890"),
    ]
    text = "WEBVTT\n\n" + "\n\n".join(f"{time}\n{said}" for time, said in cues)
    assert texts(only(read("a.vtt", text))) == ["the lamp was lit by Ann in 1890"]


@pytest.mark.parametrize("between", ["\n", ""])
def test_a_word_said_twice_is_kept_after_a_pause(between: str) -> None:
    first, last = (f"{n}\n00:00:{n}0,000 --> 00:00:{n}1,000\nNo.\n" for n in (1, 2))
    found = placed(only(read("a.srt", first + between + last)))
    assert found == [("00:00:10", "No."), ("00:00:20", "No.")]


def test_paragraphs_are_short() -> None:
    cues = [
        f"00:{n // 60}:{n % 60},000 --> 00:{n // 60}:{n % 60},900\nThis is {n}{dot}\n"
        for dot, start in ((".", 0), ("", 300))
        for n in range(start, start + 300)
    ]
    found = placed(only(read("a.srt", "\n".join(cues))))
    assert len(found) >= 15
    assert all(len(text) <= 900 for _, text in found)
    assert " ".join(text for _, text in found).split()[:5] == ["This", "is", "0.", "This", "is"]
    # A paragraph of sentences ends with one.
    assert all(text.endswith(".") for place, text in found if place < "00:04:00")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings(encoding: str) -> None:
    data = "1\r\n00:00:01,000 --> 00:00:02,000\r\nÀ bientôt\r\n\r\n".encode(encoding)
    assert texts(only(read("a.srt", data))) == ["À bientôt"]


@pytest.mark.parametrize("text", ["", "WEBVTT\n", "Hello.\n", "1\n00:00:01 -> 00:00:02\nHi\n"])
def test_what_holds_no_cue(text: str) -> None:
    with pytest.raises(InputError, match="holds no subtitles"):
        read("a.vtt", text)


@given(
    st.lists(
        st.tuples(st.integers(0, 90_000), st.text(st.sampled_from("ab-<>&{}:.\n v/"), max_size=20)),
        max_size=20,
    )
)
def test_any_cues_are_read(cues: list[tuple[int, str]]) -> None:
    text = "".join(
        f"{at // 3600}:{at // 60 % 60}:{at % 60},5 --> 9:9:9,9\n{said}\n\n" for at, said in cues
    )
    survives("a.srt", text)
