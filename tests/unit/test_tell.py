import json
import sqlite3
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet import Config, Document, Engine
from memnet.config import TellConfig
from memnet.errors import InputError, StoreBusyError, StoreError
from memnet.statements.decisions import resolve
from memnet.statements.judge import RuleJudge, columns_of
from memnet.statements.memory import UsageBuffer
from memnet.statements.parsing import RuleParser, parse_sentence
from memnet.statements.protocol import Judgement, Label, predicate_of
from memnet.statements.relations import relation_of
from memnet.statements.teller import statement_slot
from memnet.storage import Told
from memnet.types import TellReport
from tests.toy import ToyEncoder, rows_of, toy_store


def engine_at(path: Path, **tell: object) -> Engine:
    encoder = ToyEncoder()
    store = toy_store(path, encoder, lock_seconds=0.2)  # fmt: skip
    return Engine(store, encoder, Config(tell=TellConfig.model_validate(tell)))


def _actions(report: TellReport) -> list[str]:
    return [decision.action for decision in report.decisions]


def _tell(engine: Engine, *texts: str, namespace: str = "") -> list[str]:
    return [action for text in texts for action in _actions(engine.tell(text, namespace=namespace))]


def _valid(engine: Engine, name: str) -> list[str]:
    return [told.text for told in engine.history(name) if told.valid_until is None]


@pytest.mark.parametrize(("first", "second", "action"), rows_of("exclusions.tsv"))
def test_what_excludes_what(toy_engine: Engine, first: str, second: str, action: str) -> None:
    assert _tell(toy_engine, first, second) == ["add", action]
    assert toy_engine.verify().problems == ()


def test_one_statement_may_end_several(toy_engine: Engine) -> None:
    _tell(toy_engine, "Ann lives in Paris.", "Ann went to Oslo.", "Ann likes tea.")
    report = toy_engine.tell("Ann moved to Rome.")
    assert _actions(report) == ["supersede", "supersede"]
    assert {decision.other_text for decision in report.decisions} == {
        "Ann lives in Paris.", "Ann went to Oslo.",
    }  # fmt: skip
    assert len({decision.slot for decision in report.decisions}) == 1
    assert _valid(toy_engine, "Ann") == ["Ann likes tea.", "Ann moved to Rome."]


def test_sentences_of_one_text_know_of_each_other(toy_engine: Engine) -> None:
    text = "Ann moved to Paris.  She works at Acme. Then she moved to Rome. Her boat is red."
    report = toy_engine.tell(text)
    assert _actions(report) == ["add", "add", "supersede", "add"]
    assert {decision.source for decision in report.decisions} == {"told/1"}
    told = toy_engine.store.statements.told(toy_engine.store.statements.ids_about(["ann"]))
    slots = toy_engine.store.fetch([one.id for one in told])
    assert all(text[slot.start : slot.end] == slot.text for slot in slots)
    assert [one.subject for one in told] == ["Ann", "Ann", "Ann", "Ann's boat"]
    assert told[0].valid_from == told[0].valid_until


def test_what_ended_stays_and_what_is_forgotten_goes(toy_engine: Engine) -> None:
    _tell(toy_engine, "Ann lives in Paris.", "Ann left Paris.")
    assert [told.text for told in toy_engine.history("Ann")] == [
        "Ann lives in Paris.",
        "Ann left Paris.",
    ]
    assert toy_engine.ask("Where does Ann live?").abstained
    toy_engine.tell("Forget that Ann left Paris.")
    report = toy_engine.tell("Please forget that Ann lives in Paris!")
    assert _actions(report) == ["erase"]
    assert (report.slots, report.decisions[0].slot) == (0, None)
    assert toy_engine.history("Ann") == ()
    database = sqlite3.connect(toy_engine.store.path / "memory.sqlite3")
    for table in ("source", "slot", "vector", "symbol"):
        assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    database.close()


def test_nothing_is_written_when_what_to_forget_is_unknown(toy_engine: Engine) -> None:
    with pytest.raises(InputError, match=r"no stored statement matches .* so nothing was done"):
        toy_engine.tell("Ann likes tea. Forget that Ann lives in Paris.")
    assert toy_engine.info().slots == 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((text, "the text holds no words") for text in ("", " \n", "...", "🚢")),
        ("Ann \udce9 moved.", "a broken character at offset 4"),
        ("x" * 10**6, "has 1,000,000 characters, the limit is 100,000"),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_what_is_no_text_is_refused(toy_engine: Engine, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        toy_engine.tell(text)


def test_namespaces_are_memories_of_their_own(toy_engine: Engine) -> None:
    assert _tell(toy_engine, "Ann moved to Paris.") == ["add"]
    assert _tell(toy_engine, "Ann moved to Rome.", namespace="other") == ["add"]
    assert [told.source for told in toy_engine.history("Ann", namespace="other")] == ["told/2"]
    assert len(toy_engine.history("Ann")) == 2


def test_told_sources_are_forgotten_and_their_names_not_used_again(toy_engine: Engine) -> None:
    toy_engine.ingest(Document(id="told/2", text="A document that took the name."))
    _tell(toy_engine, "Ann moved to Paris.", "Ann moved to Rome.")
    assert [told.source for told in toy_engine.history("Ann")] == ["told/1", "told/3"]
    assert toy_engine.forget("told/3") == 1
    assert _valid(toy_engine, "Ann") == []
    _tell(toy_engine, "Ann moved to Oslo.")
    assert [told.source for told in toy_engine.history("Ann")] == ["told/1", "told/4"]
    assert toy_engine.info().documents == 1


def test_ingest_leaves_what_was_told(toy_engine: Engine, tmp_path: Path) -> None:
    _tell(toy_engine, "Ann moved to Paris.")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("Ann moved to Kestle.")
    (tmp_path / "notes" / "b.txt").write_text("Bob stayed.")
    toy_engine.ingest(tmp_path / "notes")
    (tmp_path / "notes" / "a.txt").unlink()
    toy_engine.ingest(tmp_path / "notes")
    assert _valid(toy_engine, "Ann") == ["Ann moved to Paris."]


def test_the_least_used_goes_first(tmp_path: Path) -> None:
    with engine_at(tmp_path / "store", capacity=3) as engine:
        _tell(engine, "Ann likes tea.", "Bob likes tar.", "Carl likes rope.")
        for name, thing in (("Ann", "tea"), ("Carl", "rope")):
            engine.ask(f"{name} likes {thing}")
        report = engine.tell("Dan likes wind.")
        assert _actions(report) == ["add", "evict"]
        evicted = report.decisions[1]
        assert (evicted.slot, evicted.other_text) == (None, "Bob likes tar.")
        assert evicted.reason.endswith("the least used one.")
        assert engine.history("Bob") == ()
        assert _actions(engine.tell("Eve likes salt.")) == ["add", "evict"]
        assert engine.history("Dan") == ()
        assert engine.verify().problems == ()


def test_what_is_valid_no_longer_goes_before_what_is_used_less(tmp_path: Path) -> None:
    with engine_at(tmp_path / "store", capacity=2) as engine:
        _tell(engine, "Bob likes tar.", "Ann moved to Paris.")
        engine.ask("Where is Ann?")
        report = engine.tell("Ann moved to Rome.")
        assert _actions(report) == ["supersede", "evict"]
        assert report.decisions[1].other_text == "Ann moved to Paris."
        assert report.decisions[1].reason.endswith("no longer valid.")
        assert _valid(engine, "Bob") == ["Bob likes tar."]


def _usage(engine: Engine) -> dict[int, float]:
    return {used.id: used.usage for used in engine.store.statements.usage()}


def test_asking_raises_usage_without_waiting_for_a_writer(tmp_path: Path) -> None:
    first, second = (engine_at(tmp_path / "store") for _ in range(2))
    _tell(first, "Ann moved to Paris.")
    with first.store.writing():
        assert second.ask("Ann moved where to?").short == "Paris"
        second.close()
    assert _usage(first) == {1: 1.0}
    third = engine_at(tmp_path / "store")
    third.ask("Ann moved where to?")
    third.close()
    assert _usage(first)[1] == pytest.approx(2.0, rel=1e-4)
    first.ask("Ann moved where to?")
    assert _usage(first)[1] == pytest.approx(2.0, rel=1e-4)
    _tell(first, "Bob likes tea.")
    assert _usage(first)[1] == pytest.approx(3.0, rel=1e-4)
    assert first.verify().problems == ()
    first.close()


def test_usage_halves_with_time(toy_engine: Engine) -> None:
    _tell(toy_engine, "Ann moved to Paris.")
    store = toy_engine.store
    told = store.statements.told(store.statements.ids_about(["ann"]))[0]
    store.statements.add_usage({told.id: 0.5}, (told.valid_from or 0.0) + 20.0, 10.0)
    assert _usage(toy_engine)[told.id] == pytest.approx(0.75)


_PLACES = ["Paris", "Rome", "Oslo", "the harbour"]


@given(st.lists(st.tuples(st.sampled_from(["Ann", "Bob"]), st.sampled_from(_PLACES)), max_size=8))
def test_everyone_is_in_one_place_at_a_time(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[str, str]]
) -> None:
    with engine_at(tmp_path_factory.mktemp("moves") / "store") as engine:
        for name, place in moves:
            engine.tell(f"{name} moved to {place}.")
        for name in ("Ann", "Bob"):
            places = [place for mover, place in moves if mover == name]
            visited = [
                place
                for place, before in zip(places, [None, *places], strict=False)
                if place != before
            ]
            history = engine.history(name)
            assert [told.text for told in history] == [f"{name} moved to {p}." for p in visited]
            for earlier, later in pairwise(history):
                assert earlier.valid_until == later.valid_from
                assert earlier.valid_from <= later.valid_from
            assert [told.valid_until for told in history[-1:]] == [None] * bool(history)
        assert engine.verify().problems == ()


_SENTENCES = st.sampled_from(
    [
        "Ann moved to Paris.", "Ann lives in Rome.", "Ann likes tea.", "Ann doesn't like tea.",
        "The key is in the drawer.", "Bob has 3 boats.", "Bob has 4 boats.", "It rained.",
    ]
)  # fmt: skip


@given(st.lists(_SENTENCES, min_size=1, max_size=6))
def test_telling_the_same_twice_changes_nothing_but_usage(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    with engine_at(tmp_path_factory.mktemp("twice") / "store") as engine:
        for text in texts:
            engine.tell(text)
        slots, usage = engine.store.fetch(range(50)), _usage(engine)
        report = engine.tell(texts[-1])
        assert _actions(report) == ["merge"]
        assert engine.store.fetch(range(50)) == slots
        merged = report.decisions[0].slot
        assert merged == report.decisions[0].other
        changed = {slot for slot, used in _usage(engine).items() if used != usage[slot]}
        assert changed == {merged}


def test_time_never_goes_back(toy_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    _tell(toy_engine, "Ann moved to Paris.")
    monkeypatch.setattr(time, "time", lambda: 500.0)
    _tell(toy_engine, "Ann moved to Rome.")
    assert [(told.valid_from, told.valid_until) for told in toy_engine.history("Ann")] == [
        (1000.0, 1000.0), (1000.0, None),
    ]  # fmt: skip
    assert toy_engine.verify().problems == ()


def test_two_writers_take_turns(tmp_path: Path) -> None:
    first, second = (engine_at(tmp_path / "store") for _ in range(2))
    with first.store.writing(), pytest.raises(StoreBusyError, match="another process is writing"):
        second.tell("Ann moved to Paris.")
    release = threading.Event()

    def hold() -> None:
        with first.store.writing():
            release.set()
            time.sleep(0.05)

    thread = threading.Thread(target=hold)
    thread.start()
    release.wait()
    assert _tell(second, "Ann moved to Paris.") == ["add"]
    thread.join()
    assert _tell(first, "Ann moved to Rome.") == ["supersede"]
    for engine in (first, second):
        assert engine.ask("Ann moved where to?").short == "Rome"
        engine.close()


@pytest.mark.parametrize(
    ("sentence", "subject", "relation", "value"),
    [
        ("Ann moved to Paris.", "Ann", "X moved to Y", "paris"),
        ("Ann has now moved from Oslo to Paris", "Ann", "X has moved from Oslo to Y", "paris"),
        ("The old key is in the drawer of the desk", "The old key", "X is in Y",
         "drawer of the desk"),
        ("My sister lives in Oslo with Bob", "My sister", "X lives in Y", "oslo"),
        ("I'm at the harbour", "I", "X am at Y", "harbour"),
        ("ann orre works at Acme", "ann orre", "X works at Y", "acme"),
        ("The Orre Light is painted white", "The Orre Light", "X is painted white",
         "painted white"),
        ("The captain of the Petrel is Ann Orre", "The captain of the Petrel", "X is Y",
         "ann orre"),
        ("Ann met Bob in 1990", "Ann", "X met Y in N", ""),
        ("If Ann moved to Paris she left", "", "X If Ann moved to Paris she left", ""),
        ("There is a dog in the garden", "", "X There is a dog in the garden", ""),
        ("東京は大きい", "", "X 東京は大きい", ""),
    ],
)  # fmt: skip
def test_sentences_are_taken_apart(sentence: str, subject: str, relation: str, value: str) -> None:
    found = parse_sentence(sentence)
    assert (found.subject, found.relation_words) == (subject, relation)
    predicate = predicate_of(found.relation, found.values)
    assert (relation_of(predicate, subject).value if subject else "") == value


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("I live in Porto and I work at Telrex.", [("I", "Porto"), ("I", "Telrex")]),
        ("I live in Porto and work at Telrex", [("I", "Porto"), ("I", "Telrex")]),
        ("Ann works at Acme; she lives in Bonn", [("Ann", "Acme"), ("Ann", "Bonn")]),
        ("The pool is open, but the gym is closed", [("The pool", "open"), ("the gym", "closed")]),
        ("I like tea and I hate coffee", [("I", "tea"), ("I", "coffee")]),
        ("My boat is red and my number is 123", [("My boat", "red"), ("my number", "123")]),
    ],
)
def test_clauses_are_statements_of_their_own(sentence: str, clauses: list[tuple[str, str]]) -> None:
    found = RuleParser().parse(sentence, 0.0, ())
    assert [(one.subject, one.values[0]) for one in found] == clauses
    assert [sentence[one.start : one.end] for one in found] == [one.text for one in found]


@pytest.mark.parametrize(
    "sentence",
    [
        "Bo and Ann live in Rome",
        "I like tea and coffee",
        "I am tall and a doctor",
        "Yesterday my mother and I went to Rome",
        "Ida lives in Ulm, Bavaria",
        "He told me that she and I are friends",
        "Do I live in Porto and do I work at Telrex?",
        "Forget that I live in Porto and I work at Telrex",
        "I don't live in Porto and work at Telrex",
        "The dog is in the house and the garden",
        " and ".join(["I am tall"] * 60),
    ],
)
def test_what_is_one_clause_is_not_cut(sentence: str) -> None:
    assert [one.text for one in RuleParser().parse(sentence, 0.0, ())] == [sentence]


def test_what_one_clause_says_changes_without_the_other(tmp_path: Path) -> None:
    with engine_at(tmp_path / "store") as engine:
        engine.tell("I live in Porto and work at Telrex.")
        engine.tell("I moved to Rome.")
        held = [one.text for one in engine.history("I") if one.valid_until is None]
    assert sorted(held) == ["I moved to Rome.", "work at Telrex."]


def test_columns_say_what_the_text_said() -> None:
    """Relation and values are the predicate, whole: nothing is to be parsed again."""
    text = (
        "Ann moved to Paris, France. She doesn't like tea. Her boat is red. It is old. Bob left. "
        "Ann works at Acme since 1990 with Bob. Ann has 3 boats (two of them red)."
    )
    for parsed in RuleParser().parse(text, 0.0, ()):
        stored = _told(parsed.text, subject=parsed.subject)
        again = parse_sentence(parsed.text, subject=parsed.subject)
        assert (again.relation, again.values) == (parsed.relation, parsed.values)
        if parsed.subject:
            predicate = predicate_of(parsed.relation, parsed.values)
            assert relation_of(predicate, parsed.subject).words == parsed.relation_words
        assert columns_of(stored).about == parsed.about == statement_slot(parsed).key_symbols[0]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("I have an aunt. She lives in Ulm.", ""),
        ("Ida has an owl. It is in Ulm.", ""),
        ("The hut is sold. It is in Ulm.", "The hut"),
        ("Kestle is old. It is in Ulm.", "Kestle"),
        ("Ida has an owl. She lives in Ulm.", "Ida"),
        ("Luckily, Ida lives in Ulm.", "Ida"),
        ("Perhaps Ida lives in Ulm.", "Ida"),
        ("From today Ida lives in Ulm.", "Ida"),
        ("Ida's in Ulm.", "Ida"),
        ("Ida's left knee is swollen.", "Ida's left knee"),
    ],
)
def test_whom_a_statement_is_about(text: str, subject: str) -> None:
    assert RuleParser().parse(text, 0.0, ())[-1].subject == subject


def _told(
    text: str, relation: np.ndarray[Any, np.dtype[np.float32]] | None = None, subject: str = ""
) -> Told:
    parsed = parse_sentence(text, subject=subject)
    vector = np.zeros(2, np.float32) if relation is None else relation
    return Told(
        text, parsed.subject, parsed.aliases, parsed.relation, parsed.values, parsed.polarity,
        parsed.certainty, 0.0, 0.0, None, vector, act=parsed.act,
    )  # fmt: skip


def test_symbols_of_a_statement() -> None:
    slot = statement_slot(
        parse_sentence("The captain of the Petrel moved to the lighthouse of Orre.")
    )
    assert slot.key_symbols == ("captain of the petrel", "petrel")
    assert {"lighthouse of orre", "orre"} <= set(slot.value_symbols)
    assert slot.key_text == slot.text


def _at_cosines(cosines: list[float]) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Vectors [K, 2] with these cosines to (1, 0)."""
    angles = np.arccos(cosines)
    return np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32).reshape(-1, 2)


_RELATION = np.array([1.0, 0.0], np.float32)


def test_attention_compares_with_an_empty_slot() -> None:
    config = TellConfig(same_relation_floor=0.6, same_verb_weight=0.3, temperature=0.1)
    controller = RuleJudge(config)
    weights = controller.attention(
        _RELATION,
        _at_cosines([0.5, 0.7, 0.9]),
        same_verb=np.array([True, False, True]),
        permitted=np.array([True, True, False]),
    )
    logits = np.array([0.8, 0.7, -np.inf, 0.6]) / 0.1
    expected = np.exp(logits - 8) / np.exp(logits - 8).sum()
    np.testing.assert_allclose(weights, expected, atol=1e-5)
    none = np.zeros(0, np.bool_)
    nothing = controller.attention(_RELATION, _at_cosines([]), same_verb=none, permitted=none)
    assert nothing.tolist() == [1.0]


def test_the_most_attended_duplicate_is_merged_with() -> None:
    new = _told("Ann works at Acme.", _RELATION)
    texts = ("Ann is employed by Acme.", "Ann got a job at Acme.", "Bob got a job at Acme.")
    vectors = _at_cosines([0.8, 0.95, 1.0])
    earlier = [_told(text, vector) for text, vector in zip(texts, vectors, strict=True)]
    judgement = RuleJudge(TellConfig()).judge(new, earlier)
    np.testing.assert_allclose(judgement.labels.sum(axis=1), 1, atol=1e-6)
    choice = resolve(new, earlier, judgement, backdated=False)
    (merged,) = choice.changed
    assert (merged.label, merged.told.text, choice.added) == (Label.MERGE, texts[1], False)
    (only,) = resolve(
        new, earlier[:1], Judgement(judgement.labels[:1], judgement.partly[:1]), backdated=False
    ).changed
    assert only.told.text == texts[0]


def test_a_report_is_one_json_object(toy_engine: Engine) -> None:
    report = toy_engine.tell("Ann moved to Paris.")
    (decision,) = json.loads(report.model_dump_json())["decisions"]
    assert decision.pop("reason").startswith("Nothing was told about its subject")
    assert decision == dict.fromkeys(("other", "other_text", "weight")) | {
        "action": "add", "text": "Ann moved to Paris.", "slot": 1, "source": "told/1",
    }  # fmt: skip


@pytest.mark.parametrize("failing", [StoreError("the disk is full"), KeyboardInterrupt()])
def test_usage_that_can_not_be_stored_is_kept(
    toy_engine: Engine, monkeypatch: pytest.MonkeyPatch, failing: BaseException
) -> None:
    toy_engine.tell("Ann lives in Paris.")
    (slot,) = _usage(toy_engine)
    before = _usage(toy_engine)[slot]
    usage = UsageBuffer(toy_engine.store, TellConfig())
    usage.add({slot: 0.25})

    def fail(*_: object) -> None:
        usage.add({slot: 0.5})  # by a reader, meanwhile
        raise failing

    with monkeypatch.context() as patch:
        patch.setattr(toy_engine.store.statements, "add_usage", fail)
        with pytest.raises(type(failing)):
            usage.save()
    usage.save()
    assert _usage(toy_engine)[slot] == pytest.approx(before + 0.75, abs=1e-3)
    usage.save()
    assert _usage(toy_engine)[slot] == pytest.approx(before + 0.75, abs=1e-3)


def test_a_list_of_sources_shows_what_was_told(toy_engine: Engine) -> None:
    toy_engine.tell("Ann moved  to\nParis.")
    toy_engine.tell("Bo " + "very " * 40 + "tired.")
    toy_engine.tell("安" * 100)  # no space to cut at
    short, long, unspaced = (one.title for one in toy_engine.sources())
    assert short == "Ann moved to Paris."
    assert long == ("Bo " + "very " * 40)[:79] + "…"
    assert unspaced == "安" * 79 + "…"
