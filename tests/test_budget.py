"""Bounded memory: what is evicted first, what never is, and what can't be stored any more."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from memnet import Config, Engine, InputError, MemoryStore
from memnet.cli import statements as statement_table
from memnet.config import TellConfig
from memnet.types import Statement
from tests.toy import ToyEncoder


@contextmanager
def _memory(path: Path, config: Config) -> Iterator[Engine]:
    encoder = ToyEncoder()
    store = MemoryStore(
        path, fingerprint=encoder.fingerprint, dimension=encoder.dimension, create=True
    )
    with Engine(store, encoder, config, answerer="untrained", reader="sentences") as engine:
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


@settings(max_examples=25, deadline=None)
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
        with pytest.raises(InputError) as caught:
            engine.tell("Bob likes tar. Carl likes rope.", standing=True)
        assert str(caught.value) == (
            "room is for 2 told statements, and with 'Carl likes rope.' there would be 3 that "
            "can't be evicted, so nothing was told; set a larger capacity, or forget standing "
            "statements"
        )
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
        [ended] = engine.history("Ann")
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
    encoder = ToyEncoder()
    with _memory(tmp_path / "store", _room_for(None)) as engine:
        engine.tell("Ann likes tea.", standing=True)
        engine.tell("Bob likes tar.")
        engine.export_bundle(tmp_path / "bundle")
    Engine.import_bundle(tmp_path / "bundle", tmp_path / "copy", encoder)
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


def test_history_is_no_place_for_standing() -> None:
    from memnet.cli.tell import tell

    result = CliRunner().invoke(tell, ["--history", "Ann", "--standing"])
    assert result.exit_code == 2
    assert "give either a TEXT" in result.output
