import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

# Several processes share the cores: a thread that waits spinning takes one from the others.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Names of models that don't exist are looked for on this machine only.
os.environ["HF_HUB_OFFLINE"] = "1"

from memnet import Config, Engine, MemoryStore
from tests.toy import ToyEncoder

if TYPE_CHECKING:
    from tests.postgres_server import Schema, Server

# How fast examples are made or run says more of what else the machine does than of the code.
settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")

EXAMPLES = Path(__file__).parents[1] / "examples" / "saltmere"


@pytest.fixture(autouse=True)
def _only_slow_tests_train(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that trains a model and is not marked so fails, lest the first stage grow slow."""

    def refused(*_: object, **__: object) -> None:
        pytest.fail("this test trains a model: mark it with @pytest.mark.slow")

    marks = {mark.name for mark in request.node.iter_markers()}
    if marks.isdisjoint({"slow", "gpu"}):
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
    encoder = ToyEncoder()
    store = MemoryStore(
        tmp_path / "store",
        fingerprint=encoder.fingerprint,
        dimension=encoder.dimension,
        create=True,
    )
    with Engine(store, encoder, Config(), answerer="untrained", reader="sentences") as engine:
        yield engine


@pytest.fixture(scope="session")
def saltmere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The shipped example, ingested with the real encoder; for reading only."""
    with Engine.open(tmp_path_factory.mktemp("saltmere") / "store", create=True) as engine:
        engine.ingest(EXAMPLES / "memory")
        yield engine


@pytest.fixture
def saltmere_pdf() -> Path:
    """A PDF file of the shipped example."""
    return EXAMPLES / "memory" / "board" / "annual-report-2011.pdf"


@pytest.fixture(scope="session")
def postgres() -> Iterator["Server"]:
    """A PostgreSQL server with pgvector, one for all tests of a process."""
    from tests.postgres_server import running_server

    with running_server() as server:
        yield server


@pytest.fixture
def postgres_schema(postgres: "Server") -> Iterator["Schema"]:
    """An empty schema of that server."""
    from tests.postgres_server import new_schema

    with new_schema(postgres) as schema:
        yield schema
