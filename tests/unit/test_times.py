"""Two clocks: when something was told, and when it was so; what is as of a time, and undo."""

import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet import Config, Document, Engine
from memnet.config import TellConfig
from memnet.errors import InputError, ModelError
from memnet.protocols import (
    Judgement,
    Label,
    ParsedStatement,
    StatementJudge,
    StatementParser,
    Told,
)
from memnet.storage import Scope
from memnet.text.checks import check_moment
from memnet.text.english import query_terms
from memnet.types import Statement
from tests.toy import ToyEncoder, toy_store

_DAY = 86_400.0
_LATER = time.time() + _DAY


def engine_at(
    path: Path,
    parser: StatementParser | None = None,
    judge: StatementJudge | None = None,
    **tell: object,
) -> Engine:
    encoder = ToyEncoder()
    store = toy_store(path, encoder)
    config = Config(tell=TellConfig.model_validate(tell))
    return Engine(store, encoder, config, "untrained", "sentences", parser=parser, judge=judge)


class Says:
    """A judge that gives one label to the statement told last, and none to the others."""

    def __init__(self, label: Label, partly: bool = False) -> None:
        self.label, self.partly = label, partly

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        labels = [Label.NONE] * (len(earlier) - 1) + [self.label] * bool(earlier)
        return Judgement(
            np.eye(len(Label), dtype=np.float32)[labels], np.full(len(earlier), self.partly)
        )


def _at(day: str) -> float:
    moment = check_moment(f"{day}T00:00Z", "at")
    assert moment is not None
    return moment


def _tell(engine: Engine, *told: tuple[str, str], namespace: str = "") -> list[str]:
    return [
        decision.action
        for day, text in told
        for decision in engine.tell(text, at=f"{day}T00:00Z", namespace=namespace).decisions
    ]


def _held(engine: Engine, name: str | None = None) -> list[tuple[str, float, float | None]]:
    return [(one.text, one.valid_from, one.valid_until) for one in engine.history(name)]


def _found(engine: Engine, words: str, scope: Scope) -> set[str]:
    """What each way of searching finds; all of them must find the same."""
    store = engine.store
    dense = store.search_dense(engine.encoder.encode([words])[0], 50, scope)
    lexical = store.search_lexical(query_terms(words), 50, scope)
    symbolic = store.search_symbolic(["ann"], 50, scope).get("ann", [])
    passages = [slot.id for slot in store.last_passages(50, scope)]
    found = [
        {slot.text for slot in store.fetch(ids)}
        for ids in (dense.ids[dense.mask].tolist(), lexical.ids[lexical.mask].tolist(),
                    symbolic, passages)
    ]  # fmt: skip
    assert all(one == found[0] for one in found), found
    return found[0]


def test_what_ended_is_found_as_of_the_time_before(toy_engine: Engine) -> None:
    told = ("2026-01-10", "Ann moved to Paris."), ("2026-02-01", "Ann moved to Rome.")
    assert _tell(toy_engine, *told) == ["add", "supersede"]
    for day, expected in (
        ("2026-01-09", set()),
        ("2026-01-10", {"Ann moved to Paris."}),
        ("2026-01-31", {"Ann moved to Paris."}),
        ("2026-02-01", {"Ann moved to Rome."}),
        ("2030-01-01", {"Ann moved to Rome."}),
    ):
        for namespace in (None, ""):
            scope = Scope(namespace, as_of=_at(day))
            assert _found(toy_engine, "Ann moved", scope) == expected, day
    both = {"Ann moved to Paris.", "Ann moved to Rome."}
    assert _found(toy_engine, "Ann moved", Scope(past=True)) == both
    assert _found(toy_engine, "Ann moved", Scope()) == {"Ann moved to Rome."}
    assert _found(toy_engine, "Ann moved", Scope("")) == {"Ann moved to Rome."}
    answer = toy_engine.ask("Ann moved where to?", as_of="2026-01-15T00:00Z")
    assert answer.answer == "Ann moved to Paris."
    assert [one.place for one in answer.evidence] == ["told 2026-01-10, until 2026-02-01"]
    (now,) = toy_engine.ask("Ann moved where to?").evidence
    assert (now.text, now.place) == ("Ann moved to Rome.", "told 2026-02-01")
    (many,) = toy_engine.ask_many(["Ann moved where to?"], as_of=date(2026, 1, 20))
    assert many.answer == "Ann moved to Paris."
    assert toy_engine.verify().problems == ()


def test_documents_have_no_time(toy_engine: Engine) -> None:
    toy_engine.ingest(Document(id="a", title="Orre", text="The lamp of Orre is electric."))
    now, then = (
        toy_engine.ask("Which lamp is electric?", as_of=moment) for moment in (None, "1990-01-01")
    )
    assert now.evidence == then.evidence != ()
    assert now.evidence[0].place == "Orre"


def test_a_late_entry_takes_its_place_in_time(toy_engine: Engine) -> None:
    assert _tell(
        toy_engine,
        ("2026-01-01", "Ann moved to Paris."),
        ("2026-03-01", "Ann moved to Rome."),
    ) == ["add", "supersede"]
    report = toy_engine.tell("Ann moved to Oslo.", at="2026-02-01T00:00Z")
    assert [one.action for one in report.decisions] == ["supersede", "add"]
    assert report.decisions[0].other_text == "Ann moved to Paris."
    assert report.decisions[1].other_text == "Ann moved to Rome."
    assert report.decisions[1].reason.startswith("Backdated")
    january, february, march = map(_at, ("2026-01-01", "2026-02-01", "2026-03-01"))
    assert _held(toy_engine, "Ann") == [
        ("Ann moved to Paris.", january, february),
        ("Ann moved to Oslo.", february, march),
        ("Ann moved to Rome.", march, None),
    ]
    paris, oslo, _ = toy_engine.history("Ann")
    assert (paris.changed_by_text, paris.change) == ("Ann moved to Oslo.", "supersede")
    assert (oslo.changed_by_text, oslo.change) == ("Ann moved to Rome.", "supersede")
    assert toy_engine.ask("Ann moved where to?").answer == "Ann moved to Rome."
    assert toy_engine.verify().problems == ()


_PLACES = ["Paris", "Rome", "Oslo", "Kestle"]


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.sampled_from(_PLACES)), unique_by=lambda move: move[1]
    ),
    st.data(),
)
def test_the_order_of_telling_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[int, str]], data: st.DataObject
) -> None:
    """As of any day the answer is the last move before it, however late it was told.

    Each place once: what is told again is merged, and a merge keeps no second time (decision 23).
    """
    days = dict(moves)
    told = data.draw(st.permutations(sorted(days.items())))
    with engine_at(tmp_path_factory.mktemp("late") / "store") as engine:
        for day, place in told:
            engine.tell(f"Ann moved to {place}.", at=f"2026-01-{day:02}T00:00Z")
        for day in range(10):
            before = [place for moved, place in sorted(days.items()) if moved <= day]
            moment = datetime(2026, 1, day, 12, tzinfo=UTC).timestamp() if day else 0.0
            scope = Scope(as_of=moment)
            found = {slot.text for slot in engine.store.last_passages(9, scope)}
            assert found == {f"Ann moved to {place}." for place in before[-1:]}
        assert engine.verify().problems == ()


@given(st.permutations([(2, "Paris"), (5, "Rome"), (7, "Oslo")]))
def test_moves_that_say_their_day_may_be_told_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[int, str]]
) -> None:
    with engine_at(tmp_path_factory.mktemp("dated") / "store") as engine:
        for day, place in told:
            engine.tell(f"Ann moved to {place} on {day} January 2021.")
        for day, held in ((1, ""), (3, "Paris"), (6, "Rome"), (20, "Oslo")):
            scope = Scope(as_of=datetime(2021, 1, day, 12).timestamp())
            found = [slot.text for slot in engine.store.last_passages(9, scope)]
            assert [text.split()[3] for text in found] == held.split()
        assert {one.values for one in engine.history()} == {
            (place, f"on {day} January 2021") for day, place in told
        }


@pytest.mark.parametrize(
    "text",
    [
        "Ann moves to Paris on 3 January 2021.",  # no tense of the past
        "Ann moved to Paris on Monday.",  # which day that is depends on the telling
        "Ann did not move to Paris on 3 January 2021.",
        "Ann painted the boat on 3 January 2021.",  # excludes nothing that came before
        "Ann moved to Paris, and on 3 January 2021 the boat was sold.",
        "Ann moved to Paris on 3 January 2999.",
    ],
)
def test_other_days_in_a_sentence_are_not_when_it_begins_to_hold(
    toy_engine: Engine, text: str
) -> None:
    before = time.time()
    toy_engine.tell(text)
    assert all(one.valid_from >= before for one in toy_engine.history())


def test_a_correction_never_held_and_the_new_value_always_did(tmp_path: Path) -> None:
    with engine_at(tmp_path / "store", judge=Says(Label.CORRECT)) as engine:
        told = ("2026-01-01", "The dentist is at 3."), ("2026-01-02", "No wait, it's 3:30.")
        assert _tell(engine, *told) == ["add", "correct"]
        for day in ("2026-01-01", "2026-01-02", "2026-01-09"):
            texts = [slot.text for slot in engine.store.last_passages(9, Scope(as_of=_at(day)))]
            assert texts == ["No wait, it's 3:30."], day
        wrong, right = engine.history()
        assert (wrong.change, wrong.valid_until) == ("correct", wrong.valid_from)
        assert right.valid_from == wrong.valid_from < right.told
        assert engine.verify().problems == ()


@pytest.mark.parametrize("label", [Label.SUPERSEDE, Label.CORRECT, Label.END])
def test_what_changes_in_part_holds_on_and_says_so(tmp_path: Path, label: Label) -> None:
    with engine_at(tmp_path / "store", judge=Says(label, partly=True)) as engine:
        _tell(
            engine, ("2026-01-01", "Milo wears 29, Frieda 33."), ("2026-02-01", "Frieda wears 34.")
        )
        both, new = engine.history()
        assert (both.valid_until, both.changed_by) == (None, new.id)
        assert "part" in (both.reason or "")
        engine.undo()
        (both,) = engine.history()
        assert (both.change, both.changed_by, both.reason) == (None, None, None)


def test_contradictions_leave_all_valid_even_in_circles(tmp_path: Path) -> None:
    with engine_at(tmp_path / "store", judge=Says(Label.CONTRADICT)) as engine:
        texts = ["Ann is in Paris.", "Ann is in Rome.", "Ann is in Paris."]
        days = ["2026-01-01", "2026-01-02", "2026-01-03"]
        assert _tell(engine, *zip(days, texts, strict=True)) == ["add", "contradict", "contradict"]
        first, second, third = engine.history("Ann")
        assert {one.valid_until for one in (first, second, third)} == {None}
        assert [one.changed_by for one in (first, second, third)] == [second.id, third.id, None]
        assert [[by.changed_by for by in one.changes] for one in (first, second, third)] == [
            [second.id], [third.id], [],
        ]  # fmt: skip
        assert (first.change, third.change) == ("contradict", None)
        engine.undo()
        assert [one.change for one in engine.history("Ann")] == ["contradict", None]


def test_a_judge_that_gives_no_probabilities_is_named(tmp_path: Path) -> None:
    class Broken:
        def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
            shape = (len(earlier), 3)
            return Judgement(np.full(shape, np.nan, np.float32), np.zeros(shape[0], np.bool_))

    with engine_at(tmp_path / "store", judge=Broken()) as engine:
        with pytest.raises(ModelError, match=r"the judge of statements .* expected finite ones"):
            engine.tell("Ann is in Paris.")
        assert engine.info().slots == 0


class Fixed:
    """A parser that gives what it was made with."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.seen: list[list[str]] = []

    def parse(self, text: str, at: float, earlier: Sequence[Told]) -> list[ParsedStatement]:
        self.seen.append([one.text for one in earlier])
        given: dict[str, Any] = {"start": 0, "end": len(text), "subject": "Ann", "relation": "is"}
        return [ParsedStatement(text=text, **{**given, "values": (text,), **self.fields})]


def test_a_parser_says_when_it_was_so_and_knows_what_was_told_before(tmp_path: Path) -> None:
    ahead = time.time() + 9 * _DAY
    parser = Fixed(valid_from=_at("2020-01-01"), valid_until=ahead, certainty="planned")
    with engine_at(tmp_path / "store", parser, Says(Label.NONE)) as engine:
        for text in "abcde":
            engine.tell(f"away {text}")
        assert parser.seen[-1] == ["away b", "away c", "away d"]
        one = engine.history("Ann")[0]
        assert (one.valid_from, one.valid_until) == (_at("2020-01-01"), ahead)
        assert one.told > _at("2026-01-01")
        assert one.certainty == "planned"
        # It has an end, and holds until then.
        assert len(engine.store.last_passages(9)) == 5
        assert engine.store.last_passages(9, Scope(as_of=ahead)) == []


@pytest.mark.parametrize("fields", [{"start": 1}, {"valid_from": -1.0}, {"valid_until": 1e300}])
def test_a_parser_that_gives_what_is_not_there_is_named(tmp_path: Path, fields: Any) -> None:
    with engine_at(tmp_path / "store", parser=Fixed(**fields)) as engine:
        with pytest.raises(ModelError, match="the parser of statements gave"):
            engine.tell("Ann is ill.")
        assert engine.info().slots == 0


def _seen(engine: Engine) -> list[Any]:
    usage = [
        (one.id, pytest.approx(one.decayed(_LATER, 30 * _DAY), abs=1e-3))
        for one in engine.store.statements.usage()
    ]
    return [engine.history(), engine.store.fetch(range(1, 50)), usage]


_SENTENCES = st.sampled_from(
    [
        "Ann moved to Paris.", "Ann lives in Rome. Ann moved to Oslo.", "Ann likes tea.",
        "Ann doesn't like tea.", "Ann left Paris.", "Bob has 3 boats.", "Bob has 4 boats.",
    ]
)  # fmt: skip


@given(st.lists(st.tuples(_SENTENCES, st.sampled_from([None, 2, 5, 8])), min_size=1, max_size=6))
def test_undo_goes_back_step_by_step(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[str, int | None]]
) -> None:
    with engine_at(tmp_path_factory.mktemp("undo") / "store") as engine:
        states = [_seen(engine)]
        for text, day in told:
            engine.tell(text, at=None if day is None else f"2026-01-0{day}")
            states.append(_seen(engine))
        for before in reversed(states[:-1]):
            engine.undo()
            assert _seen(engine) == before
            assert engine.verify().problems == ()
        with pytest.raises(InputError, match="nothing was told in the default namespace"):
            engine.undo()


def test_undo_says_what_it_did_and_searches_find_it(toy_engine: Engine) -> None:
    _tell(toy_engine, ("2026-01-01", "Ann moved to Paris."), ("2026-02-01", "Ann moved to Rome."))
    report = toy_engine.undo()
    assert [one.text for one in report.removed] == ["Ann moved to Rome."]
    (restored,) = report.restored
    assert (restored.text, restored.valid_until) == ("Ann moved to Paris.", None)
    assert (restored.change, restored.reason, report.slots) == (None, None, 1)
    assert _found(toy_engine, "Ann moved", Scope()) == {"Ann moved to Paris."}


def test_undo_keeps_to_its_namespace_and_works_in_another_process(tmp_path: Path) -> None:
    first, second = (engine_at(tmp_path / "store") for _ in range(2))
    first.tell("Ann moved to Paris.")
    second.tell("Bob moved to Rome.", namespace="other")
    second.tell("Ann moved to Oslo.")
    assert [one.text for one in first.undo().removed] == ["Ann moved to Oslo."]
    assert [one.text for one in first.undo(namespace="other").removed] == ["Bob moved to Rome."]
    assert [one.text for one in second.undo().removed] == ["Ann moved to Paris."]
    with pytest.raises(InputError, match="nothing was told in namespace 'other'"):
        second.undo(namespace="other")
    first.close()
    second.close()


@pytest.mark.parametrize("how", ["forget that", "forget", "evict"])
def test_undo_stops_where_something_was_erased(tmp_path: Path, how: str) -> None:
    with engine_at(tmp_path / "store", capacity=2 if how == "evict" else None) as engine:
        engine.tell("Ann moved to Paris.")
        engine.tell("Bob likes tea.")
        if how == "forget that":
            engine.tell("Forget that Ann moved to Paris.")
        elif how == "forget":
            engine.forget("told/2")
        else:
            engine.tell("Cy likes salt.")
        before = _seen(engine)
        for _ in range(2):
            with pytest.raises(InputError, match="is for good: undo goes no further") as caught:
                engine.undo()
            assert "\n" not in str(caught.value)
            assert _seen(engine) == before
        if how != "evict":
            engine.tell("Dan likes salt.")
            assert [one.text for one in engine.undo().removed] == ["Dan likes salt."]
            assert _seen(engine) == before
        assert engine.verify().problems == ()


def test_an_undo_that_fails_half_way_leaves_all(
    toy_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _tell(toy_engine, ("2026-01-01", "Ann moved to Paris."), ("2026-02-01", "Ann moved to Rome."))
    before = _seen(toy_engine)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(toy_engine.store.statements, "erase", fail)
        with pytest.raises(KeyboardInterrupt):
            toy_engine.undo()
    assert _seen(toy_engine) == before
    toy_engine.undo()
    assert len(toy_engine.history()) == 1


def test_undo_keeps_the_usage_that_reads_gave(toy_engine: Engine) -> None:
    toy_engine.tell("Ann likes tea.")
    toy_engine.tell("Ann likes tea.")
    (used,) = toy_engine.store.statements.usage()
    assert used.usage == pytest.approx(2.0, abs=1e-3)
    toy_engine.store.statements.add_usage({used.id: 0.5}, used.used + 10, 30 * _DAY)
    toy_engine.undo()
    (left,) = toy_engine.store.statements.usage()
    assert left.usage == pytest.approx(1.5, abs=1e-3)


def test_history_has_all_that_is_known(toy_engine: Engine) -> None:
    _tell(
        toy_engine,
        ("2026-01-01", "My sister Clara lives in Paris since 2019."),
        ("2026-01-02", "My sister works at Acme."),
        ("2026-01-03", "Clara does not like fish."),
        ("2026-01-04", "Clara moved to Rome."),
        ("2026-01-05", "Bob might sell his boat."),
    )
    found = toy_engine.history("Clara")
    assert [(one.subject, one.relation, one.values, one.polarity) for one in found] == [
        ("My sister Clara", "lives in", ("Paris", "since 2019"), True),
        ("My sister", "works at", ("Acme",), True),
        ("Clara", "like", ("fish",), False),
        ("Clara", "moved to", ("Rome",), True),
    ]
    assert found[0].aliases == ("My sister", "Clara")
    assert (found[0].changed_by_text, found[0].change) == ("Clara moved to Rome.", "supersede")
    assert [one.certainty for one in toy_engine.history("bob")] == ["maybe"]
    assert len(toy_engine.history()) == 5
    assert toy_engine.history("nobody") == ()
    assert {type(one) for one in toy_engine.history()} == {Statement}


def test_an_alias_of_two_is_that_of_none(toy_engine: Engine) -> None:
    told = [
        ("2026-01-01", "My sister Clara lives in Paris."),
        ("2026-01-02", "My sister Ida lives in Rome."),
        ("2026-01-03", "My sister moved to Oslo."),
    ]
    assert _tell(toy_engine, *told) == ["add"] * 3
    assert "My sister Ida lives in Rome." not in [one.text for one in toy_engine.history("Clara")]
    assert _tell(toy_engine, ("2026-01-04", "Ida moved to Kestle.")) == ["supersede"]


_INSTANT = datetime(2026, 1, 12, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "given_",
    [
        "2026-01-12T09:30Z", "2026-01-12T10:30+01:00", " 2026-01-12 04:30-05:00 ", _INSTANT,
        _INSTANT.astimezone(timezone(timedelta(hours=9))),
    ],
)  # fmt: skip
def test_zones_are_heeded(given_: Any) -> None:
    assert check_moment(given_, "at") == _INSTANT.timestamp()


@pytest.fixture(params=["UTC0", "XYZ-5:30"])
def zone(request: pytest.FixtureRequest) -> Iterator[float]:
    """Hours that the local time of this process is ahead."""
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield 0.0 if request.param == "UTC0" else 5.5
    if before is None:
        del os.environ["TZ"]
    else:
        os.environ["TZ"] = before
    time.tzset()


def test_without_zone_it_is_local_and_a_date_is_its_start(zone: float) -> None:
    day = datetime(2026, 1, 12, tzinfo=UTC).timestamp() - 3600 * zone
    for value in ("2026-01-12", date(2026, 1, 12), datetime(2026, 1, 12), "20260112"):
        assert check_moment(value, "at") == day
    assert check_moment("2026-01-12T01:00", "at") == day + 3600


@pytest.mark.parametrize(
    ("named", "first", "last"),
    [
        ("2021", (2021, 1, 1), (2021, 12, 31)), ("March 2022", (2022, 3, 1), (2022, 3, 31)),
        (" 5 May 2023 ", (2023, 5, 5), (2023, 5, 5)),
        ("2023-05-05", (2023, 5, 5), (2023, 5, 5)),
    ],
)  # fmt: skip
def test_days_are_meant_from_their_start_or_to_their_end(
    named: str, first: tuple[int, int, int], last: tuple[int, int, int]
) -> None:
    assert check_moment(named, "at") == datetime(*first).timestamp()
    assert check_moment(named, "as_of", last=True) == datetime(*last, 23, 59, 59).timestamp()


def test_relative_days_are_before_now_and_a_period_that_goes_on_ends_now() -> None:
    day = timedelta(days=1)
    start = datetime.combine(date.today() - day, datetime.min.time())
    assert check_moment("yesterday", "at") == start.timestamp()
    assert check_moment("yesterday", "as_of", last=True) == (start + day).timestamp() - 1
    for named in ("today", date.today(), str(date.today().year)):
        now = check_moment(named, "as_of", last=True)
        assert now is not None
        assert abs(now - time.time()) < 60


@pytest.mark.parametrize(
    "value",
    [
        "", "soon", "yesterday or today", "since 2020", "2026-13-01", "2026-02-30", "10000-01-01",
        "9999-12-31", "2200-01-01", "1969-12-31T00:00Z", "0001-01-01", "nan", 5, 5.0, True,
        b"2026", "\ud800", "x" * 10**6, datetime.max, datetime.min, date.min, date.max,
    ],
    ids=lambda value: ascii(value)[:20],
)  # fmt: skip
def test_what_is_no_time_is_refused_in_one_line(toy_engine: Engine, value: Any) -> None:
    for use in (
        lambda: toy_engine.tell("Ann is ill.", at=value),
        lambda: toy_engine.ask("Is Ann ill?", as_of=value),
    ):
        with pytest.raises(InputError, match="expected a date or time in ISO 8601") as caught:
            use()
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 300
    assert toy_engine.info().slots == 0


@pytest.mark.parametrize(
    "text", ["Forget everything.", "please forget all of it", "Ann is here. Forget everything!"]
)
def test_everything_is_not_forgotten_at_once(toy_engine: Engine, text: str) -> None:
    toy_engine.tell("Ann likes tea.")
    with pytest.raises(InputError, match="would erase more than one statement, so nothing was"):
        toy_engine.tell(text)
    assert len(toy_engine.history()) == 1


def test_looking_for_candidates_uses_indexes(toy_engine: Engine, monkeypatch: Any) -> None:
    """No statement of ``tell`` walks over a whole table, however much was told."""
    toy_engine.tell("Ann moved to Paris.")
    connection = toy_engine.store.connection
    plans: list[str] = []
    rows = connection.rows

    def explained(statement: str, *parameters: Any) -> Any:
        if statement.lstrip().startswith(("SELECT", "WITH")):
            plan = rows(f"EXPLAIN QUERY PLAN {statement}", *parameters)
            plans.extend(row[3] for row in plan)
        return rows(statement, *parameters)

    monkeypatch.setattr(connection, "rows", explained)
    toy_engine.tell("Ann moved to Rome.")
    scans = {plan for plan in plans if plan.startswith("SCAN") and "json_each" not in plan}
    # Counting slots reads an index; a store has few commits since its vector index was saved.
    assert scans <= {
        "SCAN revision", "SCAN CONSTANT ROW", "SCAN slot USING COVERING INDEX slot_by_vector",
        "SCAN tombstone", "SCAN sqlite_sequence",
        "SCAN quick_vector", "SCAN evicted_source",  # their first rows
    }, scans  # fmt: skip


def test_candidates_are_those_told_just_before_and_near_ones(tmp_path: Path) -> None:
    seen: list[list[str]] = []

    class Watching(Says):
        def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
            seen.append([one.text for one in earlier])
            return super().judge(new, earlier)

    with engine_at(tmp_path / "store", judge=Watching(Label.NONE)) as engine:
        engine.tell("The dentist expects Ann at three.")
        for number in range(30):
            engine.tell(f"Boat {number} came in.")
        engine.tell("No wait, it's 3:30.")
        assert seen[-1][-3:] == [f"Boat {number} came in." for number in (27, 28, 29)]
        engine.tell("The dentist expects everyone at three.")
        assert "The dentist expects Ann at three." in seen[-1]
        assert len(seen[-1]) <= 19
