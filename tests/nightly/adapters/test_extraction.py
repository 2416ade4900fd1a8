"""Extractors from other libraries; what is really theirs is skipped where they are missing."""

import importlib
import importlib.metadata
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from memnet import DependencyError, Document, Engine, ModelError
from memnet.adapters.extraction import GlinerExtractor, SpacyExtractor
from memnet.protocols import Extractor
from tests.nightly.adapters.examples import printed
from tests.toy import ToyEncoder

PACKAGE = "memnet.adapters"
TEXT = "the ketch merlin was built in 1862 by una thale, and una thale sank her."
PATTERNS = [
    {"label": "PERSON", "pattern": "una thale"},
    {"label": "PRODUCT", "pattern": "merlin"},
    {"label": "DATE", "pattern": "1862"},
]


def spacy_pipeline(patterns: list[dict[str, str]]) -> Any:
    spacy = pytest.importorskip("spacy", exc_type=ImportError)
    pipeline = spacy.blank("en")
    pipeline.add_pipe("entity_ruler").add_patterns(patterns)
    return pipeline


def test_names_of_a_spacy_pipeline() -> None:
    extractor: Extractor = SpacyExtractor(spacy_pipeline(PATTERNS))
    assert extractor.extract(TEXT) == ["merlin", "una thale"]
    chosen = SpacyExtractor(spacy_pipeline(PATTERNS), ["DATE", "PERSON"])
    assert chosen.extract(TEXT) == ["1862", "una thale"]


def test_a_spacy_pipeline_from_its_folder(tmp_path: Path) -> None:
    spacy_pipeline(PATTERNS).to_disk(tmp_path / "pipeline")
    extractor = SpacyExtractor(str(tmp_path / "pipeline"))
    assert extractor.extract(TEXT) == ["merlin", "una thale"]
    with pytest.raises(ModelError, match="can't load"):
        SpacyExtractor("nothing_of_this_name")


def test_the_fingerprint_tells_what_decides_the_names() -> None:
    pipeline = spacy_pipeline(PATTERNS)
    first = SpacyExtractor(pipeline)
    first.extract("words that it has not seen before")
    assert SpacyExtractor(pipeline).fingerprint == first.fingerprint
    assert SpacyExtractor(spacy_pipeline(PATTERNS)).fingerprint == first.fingerprint
    assert SpacyExtractor(pipeline, ["DATE"]).fingerprint != first.fingerprint
    assert SpacyExtractor(spacy_pipeline(PATTERNS[:1])).fingerprint != first.fingerprint


def test_hops_follow_the_names_that_spacy_finds(tmp_path: Path) -> None:
    """Written small, they are no runs of capitalised words."""
    documents = [
        Document(id="merlin", title="merlin", text=TEXT),
        Document(id="una", title="una thale", text="born on the quay of kestle."),
    ]
    links = {}
    for name, extractor in (("without", None), ("with", SpacyExtractor(spacy_pipeline(PATTERNS)))):
        with Engine.open(
            tmp_path / name, create=True, encoder=ToyEncoder(), reader="sentences",
            answerer="untrained", extractor=extractor,
        ) as memory:  # fmt: skip
            memory.ingest(documents)
            links[name] = memory.store.search_mentions(["una thale"], 10).get("una thale", [])
    assert links["without"] == []
    assert len(links["with"]) == 1


class StandIn:
    """Stands in for ``gliner.GLiNER``, whose weights are too large to ship."""

    @classmethod
    def from_pretrained(cls, model_id: str, *, local_files_only: bool) -> "StandIn":
        if model_id == "missing":
            raise FileNotFoundError(f"no {model_id}, {local_files_only}")
        return cls()

    def predict_entities(
        self, text: str, labels: list[str], threshold: float
    ) -> list[dict[str, Any]]:
        found = [("merlin", "ship", 0.9), ("una thale", "person", 0.6), ("una thale", "person", 1)]
        return [
            {"text": name, "label": label, "score": score}
            for name, label, score in found
            if label in labels and score >= threshold
        ]


@pytest.fixture
def gliner(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("gliner")
    module.__dict__["GLiNER"] = StandIn
    monkeypatch.setitem(sys.modules, "gliner", module)
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "1.0")


@pytest.mark.usefixtures("gliner")
def test_names_of_a_gliner_model() -> None:
    extractor: Extractor = GlinerExtractor("small", ["ship", "person"])
    assert extractor.extract(TEXT) == ["merlin", "una thale"]
    assert GlinerExtractor("small", ["person"], 0.7).extract(TEXT) == ["una thale"]
    prints = {
        one.fingerprint
        for one in (
            extractor,
            GlinerExtractor("small", ["person"]),
            GlinerExtractor("small", ["ship", "person"], 0.7),
            GlinerExtractor("large", ["ship", "person"]),
        )
    }
    assert len(prints) == 4
    with pytest.raises(ModelError, match="no missing, True"):
        GlinerExtractor("missing", fetch=False)


def test_gliner_has_what_is_called() -> None:
    pytest.importorskip("gliner", exc_type=ImportError)
    model = importlib.import_module("gliner.model")
    for owner in (model.GLiNER, model.UniEncoderSpanGLiNER):
        assert callable(owner.from_pretrained)
    names = model.UniEncoderSpanGLiNER.predict_entities.__code__.co_varnames
    assert {"text", "labels", "threshold"} <= set(names)


@pytest.mark.parametrize(
    ("module", "make", "extra"),
    [
        ("spacy", lambda: SpacyExtractor("en_core_web_sm"), "spacy"),
        ("gliner", lambda: GlinerExtractor("small"), "gliner"),
        ("langchain_core", lambda: importlib.import_module(f"{PACKAGE}.langchain"), "langchain"),
        ("haystack", lambda: importlib.import_module(f"{PACKAGE}.haystack"), "haystack"),
        ("llama_index", lambda: importlib.import_module(f"{PACKAGE}.llamaindex"), "llamaindex"),
    ],
)
def test_a_missing_library_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, make: Any, extra: str
) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == module or name.startswith(f"{PACKAGE}.{extra}"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)  # type: ignore[arg-type]
    with pytest.raises(DependencyError, match=rf"pip install 'memnet-qa\[{extra}\]'") as caught:
        make()
    assert "\n" not in str(caught.value)


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("spacy", exc_type=ImportError)
    assert printed("Names", tmp_path, monkeypatch, capsys) == ["['una thale']"]
