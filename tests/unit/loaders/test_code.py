"""Source code and settings: definitions, comments, runs of lines and their places."""

import ast
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError
from tests.unit.loaders.parsed import kinds, only, placed, read, texts

_PYTHON = '''\
#!/usr/bin/env python3
# Copyright Ann Lee.

"""Lamps of the pier."""

import os

# Wicks burn for so long.
HOURS = 5

# Lights what burns.
@cached
class Lamp(Thing):
    """A lamp.

    It burns oil.
    """

    colour = "red"

    # Only at night.
    def light(self, hours: int = HOURS) -> None:
        """Light the lamp."""
        if hours:
            self.lit = True

    class Wick:
        def trim(self): "Cut it."


def count():
    # how many
    return 3


if __name__ == "__main__":
    print(count())
'''


def test_python_by_definition() -> None:
    found = only(read("pier_lamps.py", _PYTHON))
    assert found.title == "pier_lamps.py"
    assert kinds(found) == [
        ("paragraph", "Copyright Ann Lee."),
        ("paragraph", "Lamps of the pier."),
        ("code", "import os"),
        ("code", "# Wicks burn for so long.\nHOURS = 5"),
        ("heading", "Lamp"),
        ("paragraph", "Lights what burns."),
        ("paragraph", "A lamp."),
        ("paragraph", "It burns oil."),
        ("code", '@cached\nclass Lamp(Thing):\n    colour = "red"'),
        ("heading", "Lamp.light"),
        ("paragraph", "Only at night."),
        ("paragraph", "Light the lamp."),
        (
            "code",
            "    def light(self, hours: int = HOURS) -> None:\n        if hours:\n"
            "            self.lit = True",
        ),
        ("heading", "Lamp.Wick"),
        ("code", "    class Wick:"),
        ("heading", "Lamp.Wick.trim"),
        ("paragraph", "Cut it."),
        ("code", '        def trim(self): "Cut it."'),
        ("heading", "count"),
        ("code", "def count():\n    # how many\n    return 3"),
        ("heading", "pier_lamps.py"),
        ("code", 'if __name__ == "__main__":\n    print(count())'),
    ]
    places = {text: place for place, text in placed(found)}
    lines = _PYTHON.split("\n")
    for text, expected in {
        "Copyright Ann Lee.": "# Copyright", "Lamps of the pier.": '"""Lamps',
        "Lamp": "class Lamp", "It burns oil.": "    It burns", "Lamp.light": "    def light",
        "count": "def count",
    }.items():  # fmt: skip
        assert lines[int(places[text].removeprefix("line ")) - 1].startswith(expected)


def test_no_word_of_a_module_is_lost() -> None:
    for module in (ast, pytest):
        path = Path(str(module.__file__))
        source = path.read_text("utf-8")
        found = only(read(path.name, source))
        lines = {line.strip() for text in texts(found) for line in text.split("\n")}
        missing = [
            line
            for line in source.split("\n")
            if line.strip(" \t#\"'-=")
            and line.strip() not in lines
            and line.strip().strip("#\"' ") not in lines
            and not line.lstrip().startswith(('"""', 'r"""'))
        ]
        assert missing == []


def test_python_of_another_version_is_read_by_its_empty_lines() -> None:
    found = only(read("old.py", "# Counts.\n\ndef count():\n    print 3\n\nprint count()\n"))
    assert kinds(found) == [
        ("paragraph", "Counts."),
        ("code", "def count():\n    print 3"),
        ("code", "print count()"),
    ]


def test_settings_by_empty_lines() -> None:
    found = only(
        read(
            "lamps.toml", "# All lamps.\nname = 1\n\n# Red ones.\n[lamp.red] # x\noil = 3\n\n# end"
        )
    )
    assert placed(found) == [
        ("line 1", "# All lamps.\nname = 1"),
        ("line 4", "# Red ones.\n[lamp.red] # x\noil = 3"),
        ("line 8", "end"),
    ]
    found = only(read("lamps.yaml", "lamps:\n  red:\n    oil: 3\n\n  blue: 1\n\nversion: 3"))
    assert placed(found) == [
        ("line 1", "lamps:\n  red:\n    oil: 3\n\n  blue: 1"),
        ("line 7", "version: 3"),
    ]


@pytest.mark.parametrize(
    ("name", "comment"),
    [
        ("a.rs", "//! Lamps *burn*.\n//\n/// Oil."),
        ("a.js", "/**\n * Lamps *burn*.\n *\n * Oil.\n */"),
        ("a.php", "# Lamps *burn*.\n#\n# Oil."),
        ("a.sql", "-- Lamps *burn*.\n-----------\n\n-- Oil."),
        ("a.el", ";;; Lamps *burn*. -----\n;;; -*- mode -*-\n;; Oil."),
    ],
)
def test_comments_of_other_languages_are_paragraphs(name: str, comment: str) -> None:
    found = only(read(name, f"{comment}\nlight(a)\n{{\n\n  b\n}}\n\n\nc"))
    assert kinds(found) == [
        ("paragraph", "Lamps *burn*."),
        ("paragraph", "Oil."),
        ("code", "light(a)\n{\n\n  b\n}"),
        ("code", "c"),
    ]


@given(
    st.lists(
        st.sampled_from(["a: 1", "b:", "  c: 2", "[d]", "# e", "", "- f", ": x"]), max_size=15
    ),
    st.sampled_from(["a.yaml", "a.ini"]),
)
def test_settings_lose_no_line(lines: list[str], name: str) -> None:
    try:
        found = only(read(name, "\n".join(lines)))
    except InputError:
        assert not any(lines)
        return
    kept = [line.lstrip("# ") for text in texts(found) for line in text.split("\n") if line]
    assert kept == [line.lstrip("# ") for line in lines if line]


@pytest.mark.parametrize("name", ["a.py", "a.js", "a.toml"])
def test_what_no_one_wrote(name: str) -> None:
    with pytest.raises(InputError, match="is empty"):
        read(name, "\n\n")
    with pytest.raises(InputError, match="holds no text to read"):
        read(name, "var a=1;" * 1000)
    with pytest.raises(InputError, match="is binary"):
        read(name, b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff")


@pytest.mark.parametrize(
    "source",
    [
        "(" * 50_000,
        "-" * 50_000 + "1",
        "x = " + "[" * 3000 + "]" * 3000,
        "class A:\n" + "".join(f"{' ' * n}class A{n}:\n" for n in range(1, 90)) + " " * 90 + "pass",
        "# a\n" * 50_000,
        "/*\n" * 20_000,
        "a = 1\n\n" * 20_000,
        "int f(int a)\n{\n}\n" * 10_000,
        "public static " * 100 + "\n" + "int a b c d e f g h i j k l m n o p(\n" * 5000,
        "<b" * 50_000 + "\n" + "{@code " * 10_000,
        "impl<" * 60 + "\n" + "\n".join("impl<" + "a" * 200 for _ in range(2000)),
        "'''" + "\n\n" * 20_000 + "'''",
        "\x00\n\x0c\n\x1f",
    ],
)
@pytest.mark.parametrize("name", ["a.py", "a.rs"])
def test_hostile_code_takes_little_time(source: str, name: str) -> None:
    started = time.process_time()
    try:
        read(name, source)
    except InputError as error:
        assert "holds no" in str(error) or "is binary" in str(error)  # noqa: PT017
    assert time.process_time() - started < 20


@given(
    st.lists(
        st.sampled_from(
            "# a|// b|/* c|*/|class A {|  def f():|    x|}||x = 1|@d|'''|  end".split("|")
        ),
        max_size=25,
    ),
    st.sampled_from(["a.py", "a.rb", "a.c"]),
)
def test_code_lines_keep_their_order(lines: list[str], name: str) -> None:
    try:
        found = only(read(name, "\n".join(lines)))
    except InputError:
        return
    code = [
        line
        for block, text in zip(found.blocks, texts(found), strict=True)
        if block.kind == "code"
        for line in text.split("\n")
        if line.strip()
    ]
    given_lines = iter(line for line in lines if line.strip())
    assert all(line in given_lines for line in code)
