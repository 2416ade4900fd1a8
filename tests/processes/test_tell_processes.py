"""Long texts are judged before the writer's lock is taken, and once more what has changed since."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memnet import Config, Engine
from memnet.config import TellConfig
from memnet.protocols import Judgement, Told
from memnet.statements import teller
from memnet.statements.judge import RuleJudge
from tests.toy import ToyEncoder, toy_store
from tests.unit.test_tell import _valid, engine_at
from tests.waiting import PATIENCE

_LONG = "Ann lives in Paris. Bob lives in Rome. Ann moved to Oslo. Eve is a nurse. Bob left Rome."


def _open(path: Path, judge: RuleJudge | None = None) -> Engine:
    encoder = ToyEncoder()
    store = toy_store(path, encoder, lock_seconds=0.0)  # fmt: skip
    return Engine(store, encoder, Config(), judge=judge or Watched())


class Watched(RuleJudge):
    """The rules, which call something before each judgement and count them."""

    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        super().__init__(TellConfig())
        self.count = 0
        self._before = before

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        self.count += 1
        self._before()
        return super().judge(new, earlier)


def _held(engine: Engine) -> list[tuple[str, bool, str | None, str | None]]:
    return [
        (one.text, one.valid_until is None, one.change, one.changed_by_text)
        for one in engine.history()
    ]


_NAMES, _PLACES = ("Ann", "Bob", "My sister Eve"), ("Paris", "Rome")
_SENTENCES = st.one_of(
    st.builds("{} {} {}.".format, st.sampled_from(_NAMES),
              st.sampled_from(("lives in", "moved to", "left", "no longer lives in", "likes")),
              st.sampled_from(_PLACES)),
    st.builds("Forget that Ann lives in {}.".format, st.sampled_from(_PLACES)),
)  # fmt: skip


@example([], ["Ann lives in Paris.", "Ann lives in Rome.", "Forget that Ann lives in Paris."])
@example(
    [],
    [
        "Bob lives in Paris.", "Ann lives in Paris.", "Ann lives in Rome.",
        "Forget that Ann lives in Paris.", "Ann lives in Paris.", "Forget that Ann lives in Paris.",
    ],
)  # fmt: skip
@given(before=st.lists(_SENTENCES, max_size=4), text=st.lists(_SENTENCES, min_size=3, max_size=8))
def test_what_is_judged_ahead_is_what_is_done(
    tmp_path_factory: pytest.TempPathFactory, before: list[str], text: list[str]
) -> None:
    """A text does the same judged ahead as judged while the lock is held."""
    outcomes: list[object] = []
    for at_once in (0, 100):
        judge = Watched()
        with (
            pytest.MonkeyPatch.context() as patch,
            _open(tmp_path_factory.mktemp("ahead") / "store", judge) as engine,
        ):
            patch.setattr(teller, "_JUDGED_AT_ONCE", 100)
            told = [one for one in before if not one.startswith("Forget")]
            for day, one in enumerate(told, start=1):
                engine.tell(one, at=f"2026-01-{day:02}")
            patch.setattr(teller, "_JUDGED_AT_ONCE", at_once)
            judge.count = 0
            try:
                report = engine.tell(" ".join(text), at="2026-02-01")
            except Exception as error:
                outcomes.append((type(error), _held(engine)))
            else:
                decisions = [(one.action, one.text, one.other_text) for one in report.decisions]
                outcomes.append((decisions, _held(engine)))
                # What is told again after it was erased has others near than when it was judged.
                erased = sum(one.startswith("Forget") for one in text)
                assert judge.count <= len(text) + erased, "judged again, though nothing has changed"
    assert outcomes[0] == outcomes[1]


def test_others_write_while_a_long_text_is_judged(tmp_path: Path) -> None:
    judging, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        judging.set()
        assert go_on.wait(PATIENCE)

    path = tmp_path / "store"
    judge = Watched(wait)
    with _open(path) as other, _open(path, judge) as engine:
        other.tell("Eve is a baker.")
        teller_thread = threading.Thread(target=engine.tell, args=(_LONG,))
        teller_thread.start()
        assert judging.wait(PATIENCE)
        other.tell("Ann lives in Riga.")  # would raise StoreBusyError at once
        assert [one.text for one in other.history("Bob")] == []
        go_on.set()
        teller_thread.join(PATIENCE)
        sentences = _LONG.count(".")
        assert sentences < judge.count < 2 * sentences, "judged again is what has changed"
        held = {one.text: one.changed_by_text for one in engine.history()}
        assert held["Ann lives in Riga."] == "Ann lives in Paris."
        assert held["Ann lives in Paris."] == "Ann moved to Oslo."
        assert engine.verify().problems == ()


_KILLED = """
import sys, time
from pathlib import Path
from tests.processes.test_tell_processes import Watched, _open, _LONG
def wait():
    print("judging", flush=True)
    time.sleep(600)
with _open(Path(sys.argv[1]), Watched(wait)) as engine:
    engine.tell(_LONG)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="kills by a signal")
def test_a_process_killed_while_it_judges_holds_up_nobody(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with _open(path) as engine:
        engine.tell("Ann lives in Riga.")
        with subprocess.Popen(
            [sys.executable, "-c", _KILLED, str(path)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "judging\n"
            engine.tell("Ann likes tea.")
            os.kill(process.pid, signal.SIGKILL)
        engine.tell("Ann moved to Rome.")
        assert [one.text for one in engine.history()] == [
            "Ann lives in Riga.", "Ann likes tea.", "Ann moved to Rome.",
        ]  # fmt: skip
        assert engine.verify().problems == ()


_TELLER = """
import sys
from pathlib import Path
from tests.unit.test_tell import engine_at
engine = engine_at(Path(sys.argv[1]))
for number in range(10_000):
    engine.tell(f"Ann moved to Town{number}. Bob moved to Town{number}.")
    print(number, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [0, 5])
def test_a_killed_writer_leaves_whole_texts(tmp_path: Path, acknowledged: int) -> None:
    path = tmp_path / "store"
    process = subprocess.Popen(
        [sys.executable, "-c", _TELLER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    while int(process.stdout.readline()) < acknowledged:
        pass
    process.kill()
    process.communicate()
    with engine_at(path) as engine:
        ann, bob = engine.history("Ann"), engine.history("Bob")
        assert len(ann) == len(bob) > acknowledged
        assert [told.text[-8:] for told in ann] == [told.text[-8:] for told in bob]
        assert len(_valid(engine, "Ann")) == len(_valid(engine, "Bob")) == 1
        engine.verify(repair=True)
        assert engine.verify().problems == ()
