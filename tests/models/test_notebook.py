"""The notebook of attention says what it says in the repository, wherever it is run."""

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import EXAMPLES

NOTEBOOK = EXAMPLES.parent / "attention.ipynb"


@pytest.fixture(scope="module")
def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def printed(cell: dict[str, Any]) -> str:
    return "".join(
        "".join(output["text"]) for output in cell["outputs"] if output["output_type"] == "stream"
    )


def test_outputs_are_kept_small_and_whole(cells: list[dict[str, Any]]) -> None:
    assert NOTEBOOK.stat().st_size < 300_000
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        kinds = {output["output_type"] for output in cell["outputs"]}
        assert kinds <= {"stream", "display_data"}  # no error, and no value left over
        drawn = sum("image/png" in output.get("data", {}) for output in cell["outputs"])
        assert drawn == "".join(cell["source"]).count("plt.show()")


def test_running_it_prints_what_it_holds(
    cells: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    drawn: list[int] = []

    def show() -> None:
        drawn.extend(pyplot.get_fignums())
        pyplot.close("all")

    monkeypatch.setattr(pyplot, "show", show)
    monkeypatch.chdir(NOTEBOOK.parent)
    monkeypatch.setattr("tempfile.tempdir", None)
    names: dict[str, Any] = {}
    for cell in cells:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), names)  # noqa: S102
        assert said.getvalue() == printed(cell)
    assert len(drawn) == sum("".join(cell["source"]).count("plt.show()") for cell in cells)


def test_it_draws_every_attention_of_the_library(cells: list[dict[str, Any]]) -> None:
    import memnet.attention as library

    source = "\n".join("".join(cell["source"]) for cell in cells)
    elsewhere = {
        "Attended", "MultiHeadAttention", "MultiLayerAttention", "TransformerEncoder",
        "TransformerLayer",
    }  # fmt: skip
    assert {name for name in library.__all__ if name not in source} <= elsewhere


def test_it_runs_in_its_folder() -> None:
    assert Path(NOTEBOOK.parent / "ferries" / "facts.tsv").is_file()
