"""One question, several answerers: which are run, which answer wins, and whose models are used."""

import json
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from memnet import Answer, Document, Engine, Fact, Question, Scope
from memnet.checkpoints import MODEL, load_checkpoint, save_checkpoint
from memnet.config import HopConfig
from memnet.documents.controller import TextController, save_text_model
from memnet.errors import StoreError
from memnet.experts.answers import MIN_WEIGHT, ExpertAnswers, Routed
from memnet.experts.gate import EXPERTS
from memnet.facts.hops import FactModelConfig
from memnet.facts.model import AnswerRule
from memnet.facts.training import new_fact_model, save_fact_model
from memnet.storage import EVERYWHERE
from memnet.training import train_text
from memnet.types import Candidate
from tests.conftest import Memnet
from tests.toy import ToyEncoder

STORY = "1 Mary went to the garden.\n2 Mary went to the office.\n3 Where is Mary?\toffice\t2\n"
LIGHT = "The Orre Light was built by Una Thale in 1862. It is 34 metres tall."


def experts_of(engine: Engine) -> ExpertAnswers:
    assert isinstance(engine.answerer, ExpertAnswers)
    return engine.answerer


def _open(path: Path, model: Any = None) -> Engine:
    return Engine.open(path, create=True, encoder=ToyEncoder(), reader="sentences", answerer=model)


def _save_facts(engine: Engine, encoder: str | None = None) -> None:
    """An untrained fact model as the store's own."""
    torch.manual_seed(0)
    known = sorted(engine.store.contents.relations())
    config = FactModelConfig(width=8, heads=2, inner=8)
    model = new_fact_model(config, engine.store.dimension, known)
    notes = {"encoder": engine.store.fingerprint if encoder is None else encoder}
    save_fact_model(engine.store.models.folder("facts"), model, AnswerRule(0.0, 0.0, 9.0), notes)


@pytest.fixture
def facts_store(tmp_path: Path) -> Path:
    """A store of facts with an untrained model of its own."""
    with _open(tmp_path / "facts") as engine:
        engine.ingest(
            Fact(subject="Grey Heron", relation="built by", object="Ann Orre"),
            Fact(subject="Grey Heron", relation="home port", object="Kestle"),
        )
        _save_facts(engine)
    return tmp_path / "facts"


class _Expert:
    """Answers with a given confidence, and notes what it was asked."""

    def __init__(self, name: str, confidence: float | None, score: float = 0.0) -> None:
        self.name, self.confidence, self.score = name, confidence, score
        self.scopes: list[Scope] = []

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        self.scopes.append(scope)
        abstained = self.confidence == 0
        return Answer(
            question=question, kind="none" if abstained else "value",
            answer=None if abstained else self.name, confidence=self.confidence,
            abstained=abstained, candidates=(Candidate(text=self.name, score=self.score),),
            evidence=(), hops=(), model=self.name, elapsed_ms=0.0,
        )  # fmt: skip


@pytest.fixture
def mixture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Answer, dict[str, _Expert]]]:
    """Asks a mixture whose gate and experts are given."""

    def ask(
        weights: dict[Any, float], **given: tuple[float | None, float]
    ) -> tuple[Answer, dict[str, _Expert]]:
        given = {"statements": (0.0, 0.0), **given}
        experts = {name: _Expert(name, *numbers) for name, numbers in given.items()}
        with _open(tmp_path / "mixture") as engine:
            answerer = experts_of(engine)
            monkeypatch.setattr(answerer, "_route", lambda _: Routed(weights, EXPERTS))
            monkeypatch.setattr(
                answerer,
                "_answer_of",
                lambda name, asked, hops, top_k, _: experts[name].ask(
                    asked.text, hops, top_k, asked.scope
                ),
            )
            monkeypatch.setattr(answerer, "_fact_answerer", lambda: experts.get("facts"))
            return engine.ask("Who built it?"), experts

    return ask


def test_the_second_expert_is_run_if_it_has_enough_weight(mixture: Any) -> None:
    answer, asked = mixture({"documents": 0.95, "facts": 0.05}, documents=(0.2, 0), facts=(1.0, 0))
    assert answer.answer == "documents"
    assert (len(asked["documents"].scopes), len(asked["facts"].scopes)) == (1, 0)
    assert [(one.name, one.weight, one.confidence) for one in answer.experts] == [
        ("documents", 0.95, 0.2)
    ]
    answer, asked = mixture(
        {"documents": 1 - MIN_WEIGHT, "facts": MIN_WEIGHT}, documents=(0.2, 0), facts=(1.0, 0)
    )
    assert len(asked["facts"].scopes) == 1


def test_answers_compete_by_weight_times_confidence(mixture: Any) -> None:
    answer, _ = mixture({"facts": 0.6, "documents": 0.4}, documents=(0.8, 0), facts=(0.5, 0))
    assert answer.answer == "documents"
    assert [one.name for one in answer.experts] == ["documents", "facts"]
    answer, _ = mixture({"facts": 0.6, "documents": 0.4}, documents=(0.7, 0), facts=(0.5, 0))
    assert answer.answer == "facts"
    # An expert without a calibration counts by the score of its best candidate.
    answer, _ = mixture({"facts": 0.6, "documents": 0.4}, documents=(0.7, 0), facts=(None, 0.3))
    assert answer.answer == "documents"
    answer, _ = mixture({"facts": 0.6, "documents": 0.4}, documents=(0.7, 0), facts=(None, 2.5))
    assert answer.answer == "facts"
    assert answer.experts[0].confidence == 1


def test_an_abstention_never_wins_against_an_answer(mixture: Any) -> None:
    answer, _ = mixture({"facts": 0.8, "stories": 0.2}, facts=(0.0, 0.9), stories=(None, 0.1))
    assert answer.answer == "stories"
    answer, _ = mixture({"facts": 0.8, "stories": 0.2}, facts=(0.0, 0.9), stories=(0.0, 0.9))
    assert (answer.answer, answer.abstained, answer.experts[0].name) == (None, True, "facts")


def test_only_what_is_held_is_chosen(tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text(STORY)
    with _open(tmp_path / "store") as engine:
        answerer = experts_of(engine)
        assert answerer.route("Who?", EVERYWHERE).held == ("documents",)
        engine.ingest(Fact(subject="Grey Heron", relation="built by", object="Ann Orre"))
        assert answerer.route("Who?", EVERYWHERE).held == ("documents",)  # without a model
        engine.tell("Bo likes tea.")
        routed = answerer.route("What does Bo like?", EVERYWHERE)
        assert routed.held == ("documents", "statements")
        assert set(routed.weights) <= {"documents", "statements"}
        assert sum(routed.weights.values()) == pytest.approx(1)
        engine.ingest(tmp_path / "story.txt", namespace="tales")
        assert answerer.route("Where?", EVERYWHERE).held == ("documents", "statements", "stories")
        assert answerer.route("Where?", Scope("tales")).held == ("stories",)
        assert answerer.route("Where?", Scope("nothing")).held == ("documents",)


def test_gate_and_hops_share_one_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _open(tmp_path / "store") as engine:
        engine.ingest(Document(id="light", title="Orre Light", text=LIGHT))
        engine.tell("Bo likes tea.")
        asked: list[str] = []

        def count(name: str) -> None:
            real = getattr(engine.store, name)

            def counted(*given: Any) -> Any:
                asked.append(name)
                return real(*given)

            monkeypatch.setattr(engine.store, name, counted)

        searches = ["search_dense", "search_lexical", "search_terms"]
        for name in searches:
            count(name)
        answer = engine.ask("Who built the Orre Light?")
        assert answer.experts[0].name == "documents"
        assert answer.experts[0].weight < 1  # the gate was asked
        # Words are looked up for slips of spelling and for abbreviations first.
        assert sorted(asked) == [*searches, "search_terms", "search_terms"]


def test_stories_are_no_documents_and_documents_no_stories(tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text(STORY)
    with Engine.open(tmp_path / "store", create=True) as engine:
        engine.ingest(tmp_path / "story.txt", Document(id="light", title="Orre Light", text=LIGHT))
        engine.ingest(Document(id="note", text="Mary went to the kitchen. Mary went to the park."))
        mary = engine.ask("Where is Mary?")
        assert (mary.answer, mary.kind, mary.model) == ("office", "story", "babi")
        assert mary.experts[0].name == "stories"
        assert {item.source for item in mary.evidence} == {str(tmp_path / "story.txt")}
        light = engine.ask("Who built the Orre Light?")
        assert (light.short, light.experts[0].name) == ("Una Thale", "documents")
        kinds = {source.id: source.kind for source in engine.sources()}
        assert all(kinds[item.source] == "document" for item in light.evidence)
        assert kinds[str(tmp_path / "story.txt")] == "story"
        assert engine.info().documents == 3


def test_a_model_of_the_store_is_used_without_being_named(facts_store: Path) -> None:
    with _open(facts_store) as engine:
        answer = engine.ask("Who built the Grey Heron?")
        assert (answer.model, answer.notes) == ("models/facts", ())
        assert [one.name for one in answer.experts] == ["facts"]
        (model,) = engine.info().models
        assert (model.name, model.used, model.note) == ("facts", True, None)
        assert engine.verify().problems == ()
    with _open(facts_store, model="text") as engine:
        forced = engine.ask("Who built the Grey Heron?")
        assert (forced.model, forced.answer, forced.experts) == ("text", "Ann Orre", ())


def test_a_model_that_is_out_of_date_says_so(facts_store: Path) -> None:
    with _open(facts_store) as engine:
        engine.ingest(Fact(subject="Grey Heron", relation="mast count", object="3"))
        answer = engine.ask("Who built the Grey Heron?")
        assert answer.model == "models/facts"
        (note,) = answer.notes
        assert note == (
            "the store's model 'facts' is out of date: 1 of 3 relations came after its training "
            "('mast count'); train it again with 'memnet train facts'"
        )
        for number in range(3):
            engine.ingest(Fact(subject="Grey Heron", relation=f"new {number}", object="x"))
        answer = engine.ask("Who built the Grey Heron?")
        assert answer.model == "text"
        assert "is not used: 4 of 6 relations came after" in answer.notes[0]
        assert [one.used for one in engine.info().models] == [False]


def _cut(folder: Path) -> None:
    for file in folder.glob("*.safetensors"):
        file.write_bytes(file.read_bytes()[:100])


def _described(folder: Path, **changes: Any) -> None:
    arrays, description = load_checkpoint(folder, MODEL)
    save_checkpoint(folder, MODEL, arrays, {**description, **changes})


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (_cut, "damaged"),
        (lambda folder: (folder / "model.json").write_text("[" * 100_000), "can't be read"),
        (lambda folder: (folder / "model.json").write_text("{}"), "can't be read"),
        (lambda folder: _described(folder, kind="story"), "it is of kind 'story'"),
        (lambda folder: _described(folder, kind=["\x1b[2J"]), "it is of kind"),
        (lambda folder: _described(folder, trained=7), "encoder None"),
        (
            lambda folder: _described(folder, trained={"encoder": "another/384"}),
            "it was trained with encoder 'another/384', the store has 'toy/64'",
        ),
        (lambda folder: next(folder.glob("*.safetensors")).unlink(), "is missing"),
        (lambda folder: _described(folder, relations=7), "2 of 2 relations"),
        (lambda folder: _described(folder, config={"width": 10**9}), "does not describe"),
        (lambda folder: _described(folder, rule="none"), "does not describe"),
    ],
)
def test_a_foreign_model_in_a_store_does_no_harm(
    facts_store: Path, damage: Callable[[Path], object], complaint: str
) -> None:
    """A store may come from anyone: what is wrong with its model is a note of one line."""
    damage(facts_store / "models" / "facts")
    with _open(facts_store) as engine:
        answer = engine.ask("Who built the Grey Heron?")
        assert (answer.answer, answer.model) == ("Ann Orre", "text")
        (note,) = answer.notes
        assert "is not used" in note
        assert complaint in note or len(note) == 300
        assert note.isprintable()


def test_pickles_and_links_in_a_store_are_not_models(facts_store: Path, tmp_path: Path) -> None:
    models = facts_store / "models"
    (models / "facts" / "model.pkl").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    (models / "other").mkdir()
    shutil.move(models / "facts", tmp_path / "elsewhere")
    (models / "facts").symlink_to(tmp_path / "elsewhere")
    with _open(facts_store) as engine:
        assert engine.info().models == ()
        assert engine.ask("Who built the Grey Heron?").model == "text"
        engine.export_bundle(tmp_path / "bundle.zip")
        with pytest.raises(StoreError, match="is a link"):
            engine.store.models.new_folder("facts")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        assert not [name for name in archive.namelist() if "models" in name]


def test_a_bundle_carries_the_models(facts_store: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.zip"
    with _open(facts_store) as engine:
        before = engine.ask("Who built the Grey Heron?")
        engine.export_bundle(bundle)
        engine.export_bundle(tmp_path / "again.zip")
    assert bundle.read_bytes() == (tmp_path / "again.zip").read_bytes()
    Engine.import_bundle(bundle, tmp_path / "copy", ToyEncoder())
    with _open(tmp_path / "copy") as engine:
        after = engine.ask("Who built the Grey Heron?")
        assert after.model == "models/facts"
        assert after.candidates == before.candidates
        assert engine.verify().problems == ()
    for file in (tmp_path / "copy" / "models" / "facts").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "name", ["models/facts/../../x.json", "models/babi/model.json", "models/facts/model.pkl"]
)
def test_a_bundle_with_other_files_is_refused(facts_store: Path, tmp_path: Path, name: str) -> None:
    with _open(facts_store) as engine:
        engine.export_bundle(tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip", "a") as archive:
        archive.writestr(name, b"x")
    with pytest.raises(StoreError, match="does not hold exactly"):
        Engine.import_bundle(tmp_path / "bundle.zip", tmp_path / "copy", ToyEncoder())
    assert not (tmp_path / "copy").exists()


def test_a_text_model_of_the_store_takes_the_place_of_the_shipped_one(tmp_path: Path) -> None:
    with _open(tmp_path / "store") as engine:
        engine.ingest(Document(id="light", title="Orre Light", text=LIGHT))
        assert engine.ask("Who built the Orre Light?").model == "text"
        folder = engine.store.models.folder("text")
        save_text_model(folder, TextController(HopConfig()), {"encoder": "toy/64"})
    with _open(tmp_path / "store") as engine:
        assert engine.ask("Who built the Orre Light?").model == "models/text"
    arrays, description = load_checkpoint(folder, MODEL)
    arrays["first.weights"] = np.full_like(arrays["first.weights"], np.nan)
    save_checkpoint(folder, MODEL, arrays, description)
    with _open(tmp_path / "store") as engine:
        answer = engine.ask("Who built the Orre Light?")
        assert answer.model == "text"
        assert "not used" in answer.notes[0]
        assert engine.forget("light") == 1
        assert engine.info().models[0].name == "text"


def test_training_without_a_folder_makes_a_model_of_the_store(
    tmp_path: Path, memnet: Memnet
) -> None:
    ferries = Path(__file__).parents[2] / "examples" / "ferries"
    store = tmp_path / "store"
    with Engine.open(store, create=True) as engine:
        engine.ingest(ferries / "facts.tsv")
    questions = ("--train", ferries / "dev.jsonl", "--dev", ferries / "dev.jsonl")
    done, _ = memnet("train", "facts", *questions, "--epochs", "1", "--store", store)
    assert str(store / "models" / "facts") in done.replace("\n", "")
    database = stat.S_IMODE((store / "memory.sqlite3").stat().st_mode)
    for file in (store / "models" / "facts").glob("model*"):
        assert stat.S_IMODE(file.stat().st_mode) == database
    shown, _ = memnet("ask", "Who built the Grey Heron?", "--json", "--store", store)
    assert json.loads(shown)["model"] == "models/facts"
    assert "facts (used)" in memnet("info", "--store", store)[0]
    with Engine.open(store, answerer="untrained") as engine:
        engine.ingest(
            Document(id="light", title="Orre Light", text=LIGHT),
            Document(id="una", title="Una Thale", text="Una Thale was born in Kestle."),
        )
        train_text(engine, [[Question(question="Who built the Orre Light?", gold=("light",))]])
        # The shipped model finds the light as well.
        assert (engine.store.models.names(), engine.store.models.set_aside()) == (
            ("facts",), ("text-aside",),
        )  # fmt: skip


def test_explain_and_json_show_the_experts(tmp_path: Path, memnet: Memnet) -> None:
    store = ("--store", tmp_path / "store")
    (tmp_path / "light.txt").write_text(LIGHT)
    (tmp_path / "story.txt").write_text(STORY)
    memnet("ingest", tmp_path / "light.txt", tmp_path / "story.txt", *store)
    question = ("ask", "Who built the Orre Light?", *store)
    answer = json.loads(memnet(*question, "--json")[0])
    assert answer["experts"][0]["name"] == "documents"
    assert set(answer["experts"][0]) == {"name", "weight", "confidence"}
    shown, _ = memnet(*question, "--explain")
    assert "Answered by" in shown
    assert "documents" in shown
    assert "Answered by" not in memnet(*question)[0]
    forced = json.loads(memnet(*question, "--model", "text", "--json")[0])
    assert (forced["model"], forced["experts"]) == ("text", [])


def test_the_command_line_notes_a_model_that_does_not_fit(tmp_path: Path, memnet: Memnet) -> None:
    store = tmp_path / "store"
    (tmp_path / "facts.tsv").write_text("Grey Heron\tbuilt by\tAnn Orre\n")
    memnet("ingest", tmp_path / "facts.tsv", "--store", store)
    with Engine.open(store) as engine:
        _save_facts(engine, encoder="another/384")
    answer, note = memnet("ask", "Who built the Grey Heron?", "--store", store)
    assert answer.startswith("Ann Orre")
    assert note.startswith("Note: the store's model 'facts' is not used: ")
    shown, _ = memnet("info", "--store", store)
    assert "facts (the store's model 'facts' is not used: " in " ".join(shown.split())
