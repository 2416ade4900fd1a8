import json
from typing import Any

import pytest

from memnet.errors import InputError
from tests.unit.loaders.parsed import kinds, only, placed, problems, read


def _cell(kind: str, source: Any, *outputs: Any, **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "outputs": list(outputs), **more}


def _notebook(*cells: Any, **more: Any) -> str:
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": list(cells), **more})


def test_cells() -> None:
    notebook = _notebook(
        _cell("markdown", ["# The *lamps*\n", "\n", "Each lamp is\n", "listed:\n\n- one\n- two"]),
        _cell(
            "code",
            "lamps = load()\n\nlamps\n",
            {"output_type": "stream", "name": "stdout", "text": ["loaded\n", "\x1b[31m3\x1b[0m\n"]},
            {"output_type": "stream", "name": "stderr", "text": "warning"},
            {"output_type": "execute_result", "data": {"text/plain": ["[1,\n", " 2]"]}},
            {"output_type": "display_data", "data": {"text/plain": "<Figure size 1x1>"}},
            {"output_type": "error", "traceback": ["Traceback"]},
        ),
        _cell("markdown", "### Wicks\n"),
        _cell("raw", "Some raw text"),
        _cell("code", ""),
        _cell("graph", "what is this"),
        metadata={"language_info": {"name": "python"}, "authors": [{"name": "Ann"}]},
    )
    items = read("my_lamps.ipynb", notebook)
    found = only(items[:1])
    assert list(zip(kinds(found), placed(found), strict=True)) == [
        ((kind, text), (place, text))
        for kind, place, text in [
            ("heading", "cell 1", "The lamps"),
            ("paragraph", "cell 1", "Each lamp is listed:"),
            ("item", "cell 1", "- one"),
            ("item", "cell 1", "- two"),
            ("code", "cell 2", "lamps = load()\n\nlamps"),
            ("code", "cell 2", "loaded\n3\n[1,\n 2]"),
            ("heading", "cell 3", "Wicks"),
            ("paragraph", "cell 4", "Some raw text"),
        ]
    ]
    assert [block.level for block in found.blocks if block.kind == "heading"] == [1, 3]
    assert found.title == "The lamps"
    assert found.metadata == {"language": "python", "author": "Ann"}
    assert list(problems(items)) == [
        "my_lamps.ipynb: cell 6 is of unknown kind 'graph' and left out"
    ]


def test_tables_in_cells_keep_their_spans() -> None:
    notebook = _notebook(
        _cell("code", "x = 1"), _cell("markdown", "| Lamp | Oil |\n|---|---|\n| red | 4 |")
    )
    found = only(read("a.ipynb", notebook))
    row = next(block for block in found.blocks if block.kind == "row")
    assert [(cell.header, found.text[cell.start : cell.end]) for cell in row.cells] == [
        ("Lamp", "red"),
        ("Oil", "4"),
    ]
    assert row.place == "cell 2"


def test_format_3() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Lamps"},
        {
            "cell_type": "code",
            "input": ["1 + 1"],
            "outputs": [
                {"output_type": "pyout", "text": ["2"]},
                {"output_type": "stream", "stream": "stderr", "text": "no"},
            ],
        },
    ]
    found = only(read("old-lamps.ipynb", json.dumps({"worksheets": [{"cells": cells}]})))
    assert kinds(found) == [("heading", "Lamps"), ("code", "1 + 1"), ("code", "2")]
    assert found.title == "old lamps"


def test_long_results_are_cut_at_a_line() -> None:
    lines = "".join(f"step {number}\n" for number in range(5000))
    output = {"output_type": "stream", "name": "stdout", "text": lines}
    found = only(read("a.ipynb", _notebook(_cell("code", "run()", output))))
    result = kinds(found)[1][1]
    assert len(result) <= 2004
    assert result.endswith("\n...")
    assert lines.startswith(result[:-3])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "is not JSON"),
        ("[]", "is no notebook"),
        ('{"a": 1}', "is no notebook"),
        ('{"cells": 3}', "is no notebook"),
        ('{"cells": []}', "without text or code"),
        ('{"cells": [1, {"cell_type": 5, "source": {"a": 1}, "outputs": 3}]}', "without text"),
        ('{"cells":' * 50_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook(data: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read("a.ipynb", data)
