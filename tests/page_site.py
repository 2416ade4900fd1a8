"""The page of a server for tests: serving a memory, answers that are known, what axe-core finds."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axe_playwright_python.sync_playwright import Axe

from memnet import Engine
from memnet.server.settings import ServerSettings
from memnet.storage import Scope
from memnet.types import Answer, Candidate, Evidence, Quote
from tests.serving import serving


@contextmanager
def served(engine: Engine, settings: ServerSettings | None = None) -> Iterator[str]:
    """A server of a memory on a free port; its URL."""
    with serving(engine, settings) as client:
        yield str(client.base_url)


class Quoting:
    """Answers every question with sentences of sources, of which it marks some words."""

    def __init__(self, engine: Engine, words: str, *places: tuple[str, str], both: bool = False):
        self._engine, self._words, self._places, self._both = engine, words, places, both

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        evidence, quotes, candidates = [], [], []
        for number, (source, sentence) in enumerate(self._places, 1):
            document = self._engine.get(source)
            assert document is not None
            start = document.text.index(sentence)
            end = start + len(sentence)
            place: dict[str, Any] = {"source": source, "start": start, "end": end, "text": sentence}
            evidence.append(
                Evidence(id=number, kind="passage", title="Found", score=1, hop=1, **place)
            )
            quotes.append(Quote(evidence=number, weight=0.5, **place))
            at = start + sentence.index(self._words)
            candidates.append(
                Candidate(
                    text=self._words, score=0.9, evidence=number, start=at,
                    end=at + len(self._words),
                )
            )  # fmt: skip
        lines = [quote.text for quote in quotes] + ["Which is right?"] * self._both
        return Answer(
            question=question, kind="value", answer="\n".join(lines), short=self._words,
            quotes=tuple(quotes), confidence=0.5, abstained=False, contradiction=self._both,
            candidates=tuple(candidates), evidence=tuple(evidence), hops=(), model="test",
            elapsed_ms=1.0,
        )  # fmt: skip


def ask(page: Any, question: str) -> None:
    """Asks in the conversation that is shown, and waits for the answer."""
    number = page.locator("article.exchange").count() + 1
    page.fill("#question", question)
    page.press("#question", "Enter")
    page.wait_for_selector(f"article.exchange[aria-busy=false] >> nth={number - 1}")


def texts(page: Any, selector: str) -> list[str]:
    found: list[str] = page.locator(selector).all_text_contents()
    return found


def no_sideways_scroll(page: Any) -> bool:
    fits: bool = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return fits


def violations(page: Any) -> list[str]:
    """Rules of axe-core that the page breaks, with the first element."""
    page.wait_for_timeout(300)  # colours are compared when all has appeared
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found]
