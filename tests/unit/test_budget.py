"""Bounded memory: what is evicted first, what never is, and what can't be stored any more."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet import Config, Engine, InputError, Message
from memnet.cli import show as statement_table
from memnet.config import MessageConfig, TellConfig
from memnet.types import Statement, StatementChange
from tests.toy import ToyEncoder, toy_memory


@contextmanager
def _memory(path: Path, config: Config) -> Iterator[Engine]:
    with toy_memory(path, config) as engine:
        yield engine
        assert engine.verify().problems == ()


def _room_for(capacity: int | None) -> Config:
    return Config(tell=TellConfig(capacity=capacity))


def _texts(engine: Engine) -> list[str]:
    return [one.text for one in engine.history()]


def _standing(engine: Engine) -> set[str]:
    return {one.text for one in engine.history() if one.standing}


_NAMES = ("Ann", "Bob", "Carl", "Dan", "Eve", "Fay", "Gus", "Hal")


class _Oracle:
    """What a memory of some room holds: by text the usage and whether it is standing."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.held: dict[str, tuple[float, bool]] = {}

    def tell(self, text: str, standing: bool) -> bool:
        """Whether there is room."""
        usage, was = self.held.get(text, (0.0, False))
        after = {**self.held, text: (usage + 1.0, was or standing)}
        while len(after) > self._capacity:
            free = [one for one, (_, stays) in after.items() if not stays and one != text]
            if not free:
                return False
            del after[min(free, key=lambda one: after[one][0])]
        self.held = after
        return True

    def use(self, text: str, weight: float) -> None:
        if text in self.held:
            usage, standing = self.held[text]
            self.held[text] = usage + weight, standing


@given(
    st.integers(1, 5),
    st.lists(
        st.tuples(st.sampled_from(_NAMES), st.booleans(), st.sampled_from([None, 0.25, 0.5, 3.0])),
        max_size=14,
    ),
)
def test_the_least_used_goes_and_what_is_standing_stays(
    capacity: int, steps: Sequence[tuple[str, bool, float | None]]
) -> None:
    oracle = _Oracle(capacity)
    with (
        TemporaryDirectory() as folder,
        _memory(Path(folder) / "store", _room_for(capacity)) as engine,
    ):
        for name, standing, weight in steps:
            text = f"{name} likes tea."
            if weight is not None:
                used = {one.id: weight for one in engine.history() if one.text == text}
                engine.store.statements.add_usage(used, 4e9, 1e30)
                oracle.use(text, weight)
            elif oracle.tell(text, standing):
                engine.tell(text, standing=standing)
            else:
                with pytest.raises(InputError, match="can't be evicted"):
                    engine.tell(text, standing=standing)
            assert set(_texts(engine)) == set(oracle.held)
            assert _standing(engine) == {one for one, (_, stays) in oracle.held.items() if stays}


def test_without_room_nothing_of_a_text_is_told(tmp_path: Path) -> None:
    with _memory(tmp_path / "store", _room_for(2)) as engine:
        engine.tell("Ann likes tea.", standing=True)
        with pytest.raises(InputError, match=r"capacity is 2 .* 'Carl likes rope.' .* be 3 that"):
            engine.tell("Bob likes tar. Carl likes rope.", standing=True)
        assert _texts(engine) == ["Ann likes tea."]
        engine.tell("Bob likes tar.", standing=True)
        with pytest.raises(InputError, match="can't be evicted"):
            engine.tell("Dan likes wind.")
        engine.tell("Forget that Bob likes tar.")
        engine.tell("Dan likes wind.")
        assert _texts(engine) == ["Ann likes tea.", "Dan likes wind."]


def test_what_takes_the_place_of_a_standing_statement_is_standing(tmp_path: Path) -> None:
    with _memory(tmp_path / "store", _room_for(None)) as engine:
        engine.tell("Ann moved to Paris.", standing=True, at="2024-01-01")
        engine.tell("Ann moved to Rome.", at="2024-03-01")
        assert _standing(engine) == {"Ann moved to Paris.", "Ann moved to Rome."}
        engine.tell("Ann moved to Oslo.", at="2024-02-01")  # which Rome ends
        assert _standing(engine) == {
            "Ann moved to Paris.", "Ann moved to Oslo.", "Ann moved to Rome.",
        }  # fmt: skip
        engine.undo()
        engine.undo()
        assert _standing(engine) == {"Ann moved to Paris."}
        engine.tell("Ann no longer lives in Paris.", at="2024-04-01")
        ended, _denial = engine.history("Ann")
        assert ended.standing
        assert ended.valid_until is not None
        engine.tell("Forget that Ann moved to Paris.", at="2023-01-01")


def test_a_late_standing_entry_makes_what_ends_it_standing(tmp_path: Path) -> None:
    with _memory(tmp_path / "store", _room_for(None)) as engine:
        engine.tell("Ann moved to Rome.", at="2024-03-01")
        engine.tell("Ann moved to Oslo.", at="2024-02-01", standing=True)
        assert len(_standing(engine)) == 2
        engine.undo()
        assert [(one.text, one.standing) for one in engine.history()] == [
            ("Ann moved to Rome.", False)
        ]


def test_a_repetition_makes_standing_and_undo_takes_that_back(tmp_path: Path) -> None:
    with _memory(tmp_path / "store", _room_for(None)) as engine:
        engine.tell("Ann likes tea.")
        engine.tell("Ann likes tea.", standing=True)
        assert _standing(engine) == {"Ann likes tea."}
        engine.tell("Ann likes tea.")
        assert _standing(engine) == {"Ann likes tea."}
        engine.undo()
        assert _standing(engine) == {"Ann likes tea."}
        engine.undo()
        assert _standing(engine) == set()
        assert _texts(engine) == ["Ann likes tea."]


def test_a_bundle_keeps_what_is_standing(tmp_path: Path) -> None:
    with _memory(tmp_path / "store", _room_for(None)) as engine:
        engine.tell("Ann likes tea.", standing=True)
        engine.tell("Bob likes tar.")
        engine.export_bundle(tmp_path / "bundle")
    Engine.import_bundle(tmp_path / "bundle", tmp_path / "copy", ToyEncoder())
    with _memory(tmp_path / "copy", _room_for(1)) as engine:
        assert _standing(engine) == {"Ann likes tea."}
        with pytest.raises(InputError, match="can't be evicted"):
            engine.tell("Dan likes wind.")


def test_standing_statements_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    statement = Statement(
        id=1, source="told/1", text="Ann likes tea.", valid_from=86_400 * 20_000.5,
        valid_until=None, subject="Ann", standing=True,
    )  # fmt: skip
    statement_table.show_statements([statement])
    assert "2024-10-04 - (standing)" in capsys.readouterr().out


def test_history_breaks_lines_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "60", "LINES": "50"}.items():
        monkeypatch.setenv(name, value)
    reason = "The same subject and relation have a new value."
    change = StatementChange(
        changed_by=2, text="Ann moved to Rome.", change="supersede", reason=reason
    )
    statement = Statement(
        id=1, source="told/1", text="She lives in Paris.", valid_from=86_400 * 20_000.5,
        valid_until=86_400 * 20_010.5, subject="Ann", relation="lives in", values=("Paris",),
        certainty="planned", told=86_400 * 20_001.5, changes=(change,),
    )  # fmt: skip
    statement_table.show_statements([statement])
    shown = capsys.readouterr().out
    expected = (
        "2024-10-04 - 2024-10-14 She lives in Paris. (told/1, planned, said 2024-10-05) "
        "Ann | lives in | Paris "
        f'superseded by "Ann moved to Rome.": {reason}'
    )
    assert shown.split() == expected.split()
    assert max(map(len, shown.splitlines())) <= 60


def _said(number: int, text: str = "", session: str = "s") -> Message:
    return Message(
        id=f"{session}:{number}",
        session=session,
        speaker=_NAMES[number % 2],
        time="2024-03-01",
        text=text or f"The {_NAMES[number % 8]} boat number {number} has a mast.",
    )


def _messages_of(capacity: int | None) -> Config:
    return Config(messages=MessageConfig(capacity=capacity))


def _kept(engine: Engine) -> list[str]:
    return [one.id for one in engine.sources() if one.kind == "document"]


class _Said:
    """What is left of messages, by id the slots and the usage; the oldest first."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self.held: dict[str, tuple[int, float]] = {}

    def remember(self, messages: Sequence[tuple[str, int]]) -> int:
        """How many are evicted."""
        held = self.held | {name: (slots, 1.0) for name, slots in messages if name not in self.held}
        last, evicted = messages[-1][0], 0
        while sum(slots for slots, _ in held.values()) > self._capacity:
            del held[min((one for one in held if one != last), key=lambda one: held[one][1])]
            evicted += 1
        self.held = held
        return evicted


@given(
    st.integers(3, 9),
    st.lists(
        st.one_of(
            st.lists(st.integers(1, 3), min_size=1, max_size=6),
            st.tuples(st.integers(0, 30), st.sampled_from([0.25, 1.0, 3.0])),
        ),
        max_size=8,
    ),
)
def test_the_least_used_messages_go_whole_and_the_oldest_first(
    capacity: int, steps: Sequence[list[int] | tuple[int, float]]
) -> None:
    oracle, number = _Said(capacity), 0
    config = Config(
        messages=MessageConfig(capacity=capacity),
        tell=TellConfig(usage_half_life=1e15),
    )
    with TemporaryDirectory() as folder, _memory(Path(folder) / "store", config) as engine:
        for step in steps:
            if isinstance(step, tuple):
                place, weight = step
                names = list(oracle.held)[place : place + 1]
                slots = _slots_of(engine, names)
                engine.store.statements.add_usage(dict.fromkeys(slots[:1], weight), 1e9, 1e15)
                for name in names:
                    count, usage = oracle.held[name]
                    oracle.held[name] = count, usage + weight
                continue
            texts = [f"{'word ' * 190}.\n\n" * count for count in step]
            batch = [_said(number + place, text) for place, text in enumerate(texts)]
            number += len(batch)
            report = engine.remember(batch)
            evicted = oracle.remember(
                [(one.id, count) for one, count in zip(batch, step, strict=True)]
            )
            assert report.evicted == evicted
            assert report.slots == sum(count for count, _ in oracle.held.values()) <= capacity
            assert _kept(engine) == list(oracle.held)
        assert engine.store.messages.count_slots() == engine.store.count_slots()


def _slots_of(engine: Engine, names: Sequence[str]) -> list[int]:
    stored = engine.store.fetch(range(1, 1000))
    return [slot.id for slot in stored if slot.source in names]


def test_what_answers_attend_to_stays(tmp_path: Path) -> None:
    with _memory(tmp_path / "store", _messages_of(4)) as engine:
        engine.remember([
            _said(1, "I painted the lighthouse red."), *(_said(number) for number in range(2, 5))
        ])  # fmt: skip
        answer = engine.ask("What colour is the lighthouse?")
        assert answer.evidence[0].source == "s:1"
        report = engine.remember([_said(5), _said(6)])
        assert (report.added, report.evicted, report.slots) == (2, 2, 4)
        assert "s:1" in _kept(engine)
        assert engine.ask("What colour is the lighthouse?").evidence[0].source == "s:1"


def test_only_messages_are_counted_and_evicted(tmp_path: Path) -> None:
    with _memory(tmp_path / "store", _messages_of(1)) as engine:
        (tmp_path / "mast.txt").write_text("A mast is made of wood.")
        engine.ingest(tmp_path / "mast.txt")
        engine.tell("Ann likes tea.")
        assert engine.remember([_said(1)]).evicted == 0
        assert engine.remember([_said(2)]).evicted == 1
        assert _kept(engine) == [str(tmp_path / "mast.txt"), "s:2"]
        assert _texts(engine) == ["Ann likes tea."]


def test_what_was_evicted_stays_away_until_there_is_room(tmp_path: Path) -> None:
    messages = [_said(number) for number in range(1, 6)]
    with _memory(tmp_path / "store", _messages_of(3)) as engine:
        assert engine.remember(messages).evicted == 2
        again = engine.remember(messages)
        assert (again.added, again.unchanged, again.evicted) == (0, 5, 0)
        assert _kept(engine) == ["s:3", "s:4", "s:5"]
        changed = engine.remember([_said(1, "Another boat altogether.")])
        assert (changed.added, changed.evicted) == (1, 1)
        assert _kept(engine) == ["s:4", "s:5", "s:1"]
        engine.forget("s:4")
        assert engine.remember(messages[1:2]).added == 1
    with _memory(tmp_path / "store", _messages_of(None)) as engine:
        assert engine.remember(messages[2:3]).added == 1


def test_a_message_that_is_larger_than_all_room_displaces_nothing(tmp_path: Path) -> None:
    problems: list[str] = []
    with _memory(tmp_path / "store", _messages_of(3)) as engine:
        engine.remember([_said(1)])
        report = engine.ingest(
            [_said(2, "word " * 200_000), _said(3)],
            on_problem=lambda one: problems.append(str(one)),
        )
        assert (report.added, report.skipped, report.evicted) == (1, 1, 0)
        assert _kept(engine) == ["s:1", "s:3"]
    [problem] = problems
    assert "takes 1," in problem
    assert "room is for 3; split it" in problem
    assert "\n" not in problem


def test_a_file_whose_messages_were_evicted_is_not_read_again(tmp_path: Path) -> None:
    def line(number: int) -> str:
        said = _said(number)
        title = f"{said.speaker}, {said.time}"
        return json.dumps({"id": said.id, "title": title, "text": said.text}) + "\n"

    path = tmp_path / "chat.jsonl"
    path.write_text("".join(map(line, range(1, 6))))
    with _memory(tmp_path / "store", _messages_of(2)) as engine:
        assert engine.ingest(path).evicted == 3
        again = engine.ingest(path)
        assert (again.added, again.unchanged, again.evicted) == (0, 2, 0)
        with path.open("a") as file:
            file.write(line(6))
        grown = engine.ingest(path)
        assert (grown.added, grown.unchanged, grown.evicted) == (1, 5, 1)
        assert len(_kept(engine)) == 2


def test_a_failed_batch_evicts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _memory(tmp_path / "store", _messages_of(2)) as engine:
        engine.remember([_said(1), _said(2)])

        def failing(*_: object) -> int:
            raise OSError("no more")

        monkeypatch.setattr(engine.store.messages, "evict", failing)
        with pytest.raises(OSError, match="no more"):
            engine.remember([_said(3)])
        monkeypatch.undo()
        assert _kept(engine) == ["s:1", "s:2"]
        engine.remember([_said(3)])
        assert _kept(engine) == ["s:2", "s:3"]


def test_usage_of_messages_survives_a_bundle(tmp_path: Path) -> None:
    with _memory(tmp_path / "store", _messages_of(None)) as engine:
        engine.remember([_said(1), _said(2)])
        engine.store.statements.add_usage({1: 2.0}, 4e9, 1e30)
        engine.export_bundle(tmp_path / "bundle")
    Engine.import_bundle(tmp_path / "bundle", tmp_path / "copy", ToyEncoder())
    with _memory(tmp_path / "copy", _messages_of(2)) as engine:
        engine.remember([_said(3)])
        assert _kept(engine) == ["s:1", "s:3"]
