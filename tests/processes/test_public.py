import importlib
import re
import sys
from pathlib import Path

import memnet
from memnet import errors, training, types
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


def test_reading_and_writing_in_eight_bits_needs_no_torch(tmp_path: Path) -> None:
    """Its import takes several times as long as all else that a cold ``memnet ask`` does."""
    (tmp_path / "orre.txt").write_text("Una Thale raised the Orre Light in 1862.")
    command = [sys.executable, "-X", "importtime", "-m", "memnet"]
    store = ["--store", str(tmp_path / "store")]
    question = ["ask", "Who raised the Orre Light?", *store]
    told = ["tell", "Una Thale moved to Kestle.", *store]
    for arguments in (["ingest", str(tmp_path / "orre.txt"), *store], told, question):
        done = completed([*command, *arguments])
        assert not re.search(r"\| +torch$", done.stderr, re.MULTILINE)
    assert done.stdout.startswith("**Una Thale** raised the Orre Light in 1862.")
