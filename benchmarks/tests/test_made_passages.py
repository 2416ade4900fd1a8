"""Passages for benchmarks in any number: what they share with the real ones, and how words grow."""

import os
import re
import subprocess
import sys

from benchmarks.made_passages import Passages

_SYLLABLES = ("ba", "de", "ki", "lo", "mu", "ne", "ra", "so", "ti", "vu")
_NAMES = [(a + b + c).title() for a in _SYLLABLES for b in _SYLLABLES for c in _SYLLABLES]
_REAL = [
    {"title": name, "text": f"{name} was built in 1912 by Una {_NAMES[place - 1]}, for 27 boats."}
    for place, name in enumerate(_NAMES)
]


def test_the_first_passages_are_the_real_ones_and_names_stay_together() -> None:
    made = list(Passages(_REAL).make(2500))
    assert [{"title": one["title"], "text": one["text"]} for one in made[:1000]] == _REAL
    assert len({one["id"] for one in made}) == 2500
    for place, one in enumerate(made[1000:2000]):
        title, text = one["title"], one["text"]
        before = made[1000 + (place - 1) % 1000]["title"]
        # "Una" is in too many passages to become another name.
        assert re.fullmatch(
            rf"{title} was built in \d{{4}} by Una {before}, for 2\d boats\.", text
        ), text


def test_names_grow_as_a_power_of_the_passages() -> None:
    made = [one["title"] for one in Passages(_REAL).make(64_000)]
    few, many = len(set(made[:16_000])), len(set(made))
    # Four times as many, with the exponent 0.55.
    assert 1.7 < many / few < 2.5


def test_the_same_in_every_process() -> None:
    code = (
        "from benchmarks.made_passages import Passages; "
        "from benchmarks.tests.test_made_passages import _REAL; "
        "print([*Passages(_REAL).make(1500)][-5:])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
