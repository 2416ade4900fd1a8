"""A thousand kills of processes that change a store."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests import killed
from tests.processes.test_crash import kill_again_and_again
from tests.serving import open_toy, served_process
from tests.waiting import until


@pytest.mark.parametrize("seed", range(20))
def test_killed_processes_lose_nothing_they_acknowledged(tmp_path: Path, seed: int) -> None:
    seen = kill_again_and_again(tmp_path / "store", random.Random(seed), 50)
    assert seen["acknowledged"] > 12
    assert seen["in doubt"] > 2


def test_copies_taken_while_a_process_writes_are_right_or_refused(tmp_path: Path) -> None:
    assert killed.copy_while_written(tmp_path, random.Random(1), 40).total() == 40


def _text(path: Path) -> str:
    """Of a file that may be replaced meanwhile."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def test_a_kill_during_an_upload_leaves_nothing_of_it_on_its_way(tmp_path: Path) -> None:
    store = tmp_path / "store"

    def send(url: str, text: str) -> httpx.Response:
        return httpx.post(f"{url}/upload", files=[("files", ("a.txt", text.encode()))], timeout=60)

    with served_process(store) as (process, url):
        assert send(url, "The first text.").json()["reports"][0]["report"]["added"] == 1
        (source,) = httpx.get(f"{url}/sources").json()["sources"]
        kept = Path(source["id"])
        with ThreadPoolExecutor(1) as pool:
            # It takes many seconds to read, and the other stands aside meanwhile.
            sending = pool.submit(send, url, "Another text is here now. " * 500_000)
            until(lambda: "Another" in _text(kept))
            process.kill()
            with pytest.raises(httpx.HTTPError):
                sending.result()
    with served_process(store) as (_, url):
        assert httpx.get(f"{url}/sources/{quote(source['id'], safe='')}").json()["text"] == (
            "The first text."
        )
        assert send(url, "The last text.").json()["reports"][0]["report"]["updated"] == 1
        left = [path for path in (store / "uploads").rglob("*") if path.is_file()]
        assert left == [kept]
        assert kept.read_text() == "The last text."
    with open_toy(store) as memory:
        assert memory.verify().problems == ()
