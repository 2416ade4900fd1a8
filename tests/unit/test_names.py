import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memnet.text.english import CONNECTIVES
from memnet.text.names import (
    is_name,
    maximal_names,
    mentions,
    normalise,
    opening_names,
    possible_names,
    title_symbols,
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Robert Holmes à Court", "robert holmes a court"),
        ("Blade_Runner", "blade runner"),
        ("  O'Neill,  J.R. ", "o neill j r"),
        ("ÆRØ", "ærø"),
        ("Straße", "strasse"),
        ("東京", "東京"),
        ("...", ""),
    ],
)
def test_normalise(name: str, expected: str) -> None:
    assert normalise(name) == expected


@given(st.text())
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


def test_title_symbols() -> None:
    assert title_symbols("The Grey Heron (ship)") == ("the grey heron ship", "the grey heron")
    assert title_symbols("Orre") == ("orre",)
    assert title_symbols("") == ()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Ann Orre (born 1921) was a builder.", ("ann orre",)),
        ("The Orre Light is a tower. Bo Rank was there.", ("orre light",)),
        ('"Grey Heron" is a song by Ann Dell.', ("grey heron",)),
        ("Cy Dell, 2nd Baron of Orre, is a lord.", ("cy dell 2nd baron of orre", "cy dell")),
        (
            "The Orre Light, also known as Rank's Candle, is a lighthouse.",
            ("orre light", "rank s candle"),
        ),
        ("Guild of Salters or Salt House was a guild.", ("guild of salters", "salt house")),
        ("When Ann Orre was young, there was war.", ()),
        ("She was born in Kestle.", ()),
        ("Ann Orre. She was a builder.", ()),
        ("Ann Orre built it in 1921", ()),
        ("", ()),
    ],
)
def test_a_text_says_first_what_it_is_about(text: str, names: tuple[str, ...]) -> None:
    assert opening_names(text) == names


@given(st.text('AÉb ,.("“”is \n1'))
def test_opening_names_are_names_of_any_text(text: str) -> None:
    for name in opening_names(text):
        assert name
        assert normalise(name) == name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It was directed by Tim Burton.", "tim burton"),
        ("He met President John F. Kennedy there.", "john f kennedy"),
        ("She was born in Woodson, Arkansas, in 1911.", "woodson arkansas"),
        ("the keeper of the Rank of Orre, a guild", "rank of orre"),
        ("They sailed the Amber Fox. Later it sank.", "amber fox"),
        ('He wrote "the long way home" at sea.', "the long way home"),
        ("It left Orre for Port Ann's harbour.", "port ann s"),
        ("Ludwig van Beethoven came.", "ludwig van beethoven"),
    ],
)
def test_mentions_are_found(text: str, found: str) -> None:
    assert found in mentions(text)


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("The sea was calm.", "the"),
        ("It rained in March and again in May.", "march"),
        ("In 1911 it burned.", "1911"),
        ("They met Ann. Bert had left.", "ann bert"),
        ("a small harbour and its boats", "harbour"),
    ],
)
def test_what_is_no_name(text: str, absent: str) -> None:
    assert absent not in mentions(text)


@given(st.text())
def test_mentions_are_normalised_and_distinct(text: str) -> None:
    found = mentions(text)
    assert list(found) == list(dict.fromkeys(found))
    assert all(name == normalise(name) for name in found)


def every_word_mentions(text: str) -> tuple[str, ...]:
    """As ``mentions``, by a look at every word and at all that is between them."""
    runs: list[list[list[tuple[int, int]]]] = [[]]
    end, connectives, is_new = 0, 0, True
    for match in re.finditer(r"[\w&]+(?:['’.\-]\w+)*\.?", text):
        word, gap = match[0], text[end : match.start()]
        end = match.end()
        if is_new or len(gap) > 3 or gap.strip(" ,-–/:'’!&\u00a0"):
            runs.append([])
        is_new = len(word) > 3 and word.endswith(".") and word.count(".") == 1
        if word[0].isupper() or word[0].isdigit():
            if not runs[-1] or connectives or gap != " ":
                runs[-1].append([])
            runs[-1][-1].append(match.span())
            connectives = 0
        elif runs[-1] and word in CONNECTIVES and connectives < 2:
            connectives += 1
        else:
            runs.append([])
            connectives = 0
    spans = []
    for run in runs:
        for first in range(len(run)):
            spans += [(run[first][0][0], last[-1][1]) for last in run[first : first + 3]]
            words = run[first]
            spans += [(one[0][0], one[-1][1]) for one in (words[1:], words[:-1]) if one]
    names = [text[start:stop] for start, stop in sorted(spans)]
    names += re.findall(r'["“]\s?([^"“”\n]{2,80}?)\s?["”]', text)
    return tuple(dict.fromkeys(name for name in map(normalise, names) if is_name(name)))


@given(
    st.lists(st.sampled_from([*"aAbB09é\u00c9²日ǅ_&.,'’-– \u00a0\"“”(\n", " of ", " the "])).map(
        "".join
    )
)
@example("Ann'.Bea &Cid _Dot x-Eve y.-Fay")
@example("Rank of the Orre, and Édouard's J. Mill-Port. The ²Keys")
def test_mentions_are_those_of_a_look_at_every_word(text: str) -> None:
    assert mentions(text) == every_word_mentions(text)


def test_possible_names_of_a_question_come_in_any_case() -> None:
    found = possible_names("who built the orre light?")
    assert "orre light" in found
    assert "who" not in found
    assert found.index("the orre light") < found.index("light")


def test_longest_drops_parts_of_longer_names() -> None:
    assert maximal_names(["orre", "orre light", "light", "lightning"]) == [
        "orre light",
        "lightning",
    ]
