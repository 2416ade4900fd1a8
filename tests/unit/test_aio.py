"""The asyncio wrapper: calls run beside the event loop, and beside each other."""

import asyncio
import inspect
import threading
from pathlib import Path

import pytest

from memnet import Document, Engine, InputError, StoreError
from memnet.aio import AsyncEngine

DOCUMENTS = [Document(id=str(number), text=f"Boat {number} is old.") for number in range(3)]


def _open(path: Path) -> AsyncEngine:
    return AsyncEngine.open(path, create=True, answerer="untrained", reader="sentences")


def test_a_memory_is_filled_asked_and_closed(tmp_path: Path) -> None:
    async def use() -> Engine:
        async with _open(tmp_path / "store") as memory:
            assert (await memory.ingest(DOCUMENTS)).added == 3
            await memory.tell("Ann moved to Paris.")
            assert (await memory.ask("Where is Ann?")).answer is not None
            questions = [f"Is boat {number} old?" for number in range(3)]
            answers = await memory.ask_many(questions, top_k=1)
            assert [answer.question for answer in answers] == questions
            assert [item.source for item in await memory.search("boat 1", 1)] == ["1"]
            assert [item.id for item in await memory.sources()][:3] == ["0", "1", "2"]
            assert await memory.get("0") == DOCUMENTS[0]
            assert await memory.forget("0") == 1
            with pytest.raises(InputError, match="is empty"):
                await memory.ask("")
            return memory.engine

    engine = asyncio.run(use())
    with pytest.raises(StoreError, match="is closed"):
        len(engine)


def test_it_may_be_awaited_and_closed_by_hand(tmp_path: Path) -> None:
    async def use() -> None:
        memory = _open(tmp_path / "store")
        with pytest.raises(RuntimeError, match="is not open"):
            await memory.info()
        opened = await memory
        assert (await opened.info()).slots == 0
        await opened.close()
        with pytest.raises(StoreError, match="there is no memnet store"):
            await AsyncEngine.open(tmp_path / "none")

    asyncio.run(use())


def test_the_loop_goes_on_while_calls_run_beside_each_other(tmp_path: Path) -> None:
    """Two calls have to be under way, and the loop has to come by, for either to end."""
    together = threading.Barrier(3, timeout=30)

    async def use() -> None:
        async with _open(tmp_path / "store") as memory:
            calls = [asyncio.ensure_future(memory.run(together.wait)) for _ in range(2)]
            while together.n_waiting < 2:
                await asyncio.sleep(0.01)
            together.wait()
            await asyncio.gather(*calls)

    asyncio.run(use())


def test_every_method_of_an_engine_can_be_awaited() -> None:
    for name in (name for name in vars(Engine) if not name.startswith("_")):
        if name not in ("open", "preload", "import_bundle", "encode_anew"):
            assert inspect.iscoroutinefunction(getattr(AsyncEngine, name)), name
