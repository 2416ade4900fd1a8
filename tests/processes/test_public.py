import importlib
import sys
import tomllib
from pathlib import Path

import memnet
from memnet import errors, training, types
from memnet.facts.hops import FactModelConfig
from memnet.facts.model import AnswerRule
from memnet.facts.training import new_fact_model, save_fact_model
from tests.waiting import completed


def test_public_names_are_what_they_say() -> None:
    assert sorted(memnet.__all__) == memnet.__all__
    for name in memnet.__all__:
        value = getattr(memnet, name)
        assert value.__name__ == name
        assert getattr(importlib.import_module(value.__module__), name) is value
    assert set(dir(memnet)) == {*memnet.__all__, "__version__"}
    assert not hasattr(memnet, "nothing_of_this_name")


def test_names_of_trainings_are_what_they_say() -> None:
    assert sorted(training.__all__) == training.__all__
    for name in training.__all__:
        assert getattr(training, name).__name__ == name
    code = "import memnet.training, sys; print({'torch', 'faiss'} & set(sys.modules))"
    done = completed([sys.executable, "-c", code])
    assert done.stdout == "set()\n"


def test_all_errors_and_values_are_public() -> None:
    """Whoever annotates with a result, or catches an error, finds it in ``memnet``."""
    names = {
        name
        for module in (errors, types)
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }
    assert names - {"Value"} <= set(memnet.__all__)


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import memnet, sys; print({'torch', 'faiss', 'numpy', 'pydantic'} & set(sys.modules))"
    done = completed([sys.executable, "-c", code])
    assert done.stdout == "set()\n"


_COMMAND = [sys.executable, "-m", "tests.without_torch"]


def test_answers_need_no_torch(tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "store")]

    def command(*arguments: str) -> str:
        return completed([*_COMMAND, "installed", *arguments, *store]).stdout

    story = "1 Mary moved to the garden.\n2 Where is Mary?\tgarden\t1\n"
    (tmp_path / "orre.txt").write_text("Una Thale raised the Orre Light in 1862.")
    (tmp_path / "story.txt").write_text(story)
    (tmp_path / "facts.tsv").write_text("Orre Light\tbuilt_by\tUna Thale\n")
    command("ingest", str(tmp_path))
    command("tell", "Una Thale moved to Kestle.")
    shown = command("ask", "Who raised the Orre Light?")
    assert shown.startswith("**Una Thale** raised the Orre Light in 1862.")
    assert command("ask", "Where is Mary?", "--model", "babi").startswith("garden")
    model = new_fact_model(FactModelConfig(width=8, heads=2, inner=8), 384, ["built by"])
    save_fact_model(tmp_path / "model", model, AnswerRule(0.5, 1.0, 9.0), {})
    shown = command("ask", "Who built the Orre Light?", "--model", str(tmp_path / "model"))
    assert "Una Thale" in shown


def test_training_without_torch_is_one_line(tmp_path: Path) -> None:
    arguments = ["train", "babi", "--data", str(tmp_path), "--out", str(tmp_path / "model")]
    done = completed([*_COMMAND, "hidden", *arguments], check=False)
    assert done.returncode == 1
    assert done.stderr == "Error: training needs torch; run: pip install 'memnet-qa[train]'\n"


def test_the_wheel_has_every_file_that_is_no_module() -> None:
    """It is built, installed and run in tests/nightly."""
    package = Path(memnet.__file__).parent
    project = tomllib.loads((package.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["memnet"]
    listed = {path for pattern in patterns for path in package.glob(pattern)}
    files = (path for path in package.rglob("*") if path.suffix not in (".py", ".pyc"))
    assert [path for path in files if path.is_file() and path not in listed] == []
