import gc
import threading
from collections.abc import Iterator

import pytest

from memnet.runtime.process import not_collecting, raise_gc_threshold, raised_gc_threshold


@pytest.fixture(autouse=True)
def _unchanged() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    assert gc.isenabled()


def test_the_threshold_is_that_of_before_once_the_last_block_ends() -> None:
    gc.set_threshold(123, 4, 5)
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with raised_gc_threshold:
            entered.set()
            assert leave.wait(20)

    thread = threading.Thread(target=other)
    with pytest.raises(KeyError), raised_gc_threshold:  # noqa: PT012
        thread.start()
        assert entered.wait(20)
        raise KeyError
    assert gc.get_threshold() == (50_000, 4, 5)
    leave.set()
    thread.join()
    assert gc.get_threshold() == (123, 4, 5)


@pytest.mark.parametrize("threshold", [0, 60_000])
def test_whoever_looks_for_cycles_more_seldom_is_left_to_it(threshold: int) -> None:
    gc.set_threshold(threshold)
    with raised_gc_threshold:
        assert gc.get_threshold()[0] == threshold
    raise_gc_threshold()
    assert gc.get_threshold()[0] == threshold


def test_nothing_is_collected_in_the_block() -> None:
    with not_collecting():
        assert not gc.isenabled()
        with not_collecting():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
