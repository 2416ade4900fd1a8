import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

# Several processes share the cores: a thread that waits spinning takes one from the others.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Names of models that don't exist are looked for on this machine only.
os.environ["HF_HUB_OFFLINE"] = "1"

from memnet import Engine
from memnet.loaders import formats
from tests import session
from tests.toy import toy_memory

if TYPE_CHECKING:
    from tests.postgres_server import Schema, Server

_TESTS = Path(__file__).parent
EXAMPLES = _TESTS.parent / "examples" / "saltmere"

_FOLDERS = ("unit", "models", "processes", "postgres", "browser", "nightly")

# "make nightly" chooses the thorough one by --hypothesis-profile. How fast examples are made or run
# says more of what else the machine does than of the code. The other tries the same examples in
# each run: what fails fails again.
for _name, _examples in {"check": 10, "thorough": 500}.items():
    settings.register_profile(
        _name,
        deadline=None,
        derandomize=_name != "thorough",
        max_examples=_examples,
        stateful_step_count=15,
        suppress_health_check=[
            HealthCheck.data_too_large,
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
        ],
    )
settings.load_profile("check")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the process that starts the workers of xdist
        session.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        session.end()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test by its folder."""
    for item in items:
        if _folder(item) in _FOLDERS:
            item.add_marker(_folder(item))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what was skipped, by reason."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section("skipped")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count:5} {reason}")


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(_TESTS).parts[0] if item.path.is_relative_to(_TESTS) else ""


@pytest.fixture(autouse=True)
def _unit_tests_train_nothing(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        pytest.fail("this test trains a model: move it to tests/models or tests/nightly")

    if _folder(request.node) == "unit":
        monkeypatch.setattr("torch.optim.AdamW.step", refused)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Torch on one thread, as a user's own setting would be."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def toy_engine(tmp_path: Path) -> Iterator[Engine]:
    """An empty memory with an encoder that needs no weights."""
    with toy_memory(tmp_path / "store") as engine:
        yield engine


@pytest.fixture(scope="session")
def saltmere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The shipped example, ingested with the real encoder; for reading only."""

    def ingest(path: Path) -> None:
        with Engine.open(path, create=True) as engine:
            engine.ingest(EXAMPLES / "memory")

    store = tmp_path_factory.mktemp("saltmere") / "store"
    shutil.copytree(session.made_once("saltmere", ingest), store)
    with Engine.open(store) as engine:
        yield engine


Memnet = Callable[..., tuple[str, str]]


@pytest.fixture
def memnet(capsys: pytest.CaptureFixture[str]) -> Memnet:
    """Run a command in this process; gives what it printed to standard output and error."""

    from memnet.cli.main import run

    def call(*arguments: object, code: int = 0) -> tuple[str, str]:
        capsys.readouterr()
        assert run([*map(str, arguments)]) == code
        printed = capsys.readouterr()
        return printed.out, printed.err

    return call


@pytest.fixture
def saltmere_pdf() -> Path:
    """A PDF file of the shipped example."""
    return EXAMPLES / "memory" / "board" / "annual-report-2011.pdf"


@pytest.fixture(scope="session")
def postgres() -> "Server":
    """A PostgreSQL server with pgvector, one for all tests of a run."""
    from tests.postgres_server import shared_server

    return shared_server()


@pytest.fixture
def postgres_schema(postgres: "Server") -> Iterator["Schema"]:
    """An empty schema of that server."""
    from tests.postgres_server import new_schema

    with new_schema(postgres) as schema:
        yield schema


@pytest.fixture
def without_ocr(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Text in pictures is not read, as where the extra for it is missing."""
    monkeypatch.setattr(formats, "find_spec", lambda _: None)
    formats.reads_pictures.cache_clear()
    yield
    formats.reads_pictures.cache_clear()
