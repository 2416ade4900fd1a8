"""The page of ``memnet serve`` in Chromium; nothing on it may break the policy or throw."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memnet import Engine
from tests.page_site import served

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")

playwright.expect.set_options(timeout=20_000)  # as of a page; a busy machine takes long
_CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
Open = Callable[..., Any]


# While it runs, so does its event loop: no longer than the module, whatever comes next here.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if _CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any, toy_engine: Engine) -> Iterator[Open]:
    """Opens the page of ``toy_engine``; nothing on it may break the policy or throw."""
    contexts: list[Any] = []
    problems: list[str] = []
    with served(toy_engine) as url:

        def opened(path: str = "", **options: Any) -> Any:
            context = browser.new_context(locale="en-GB", **options)
            contexts.append(context)
            page = context.new_page()
            page.set_default_timeout(20_000)
            page.on("pageerror", lambda error: problems.append(str(error)))
            # The browser reports what the policy refuses as an error.
            page.on("console", lambda one: problems.extend([one.text] * (one.type == "error")))
            page.add_init_script(
                "addEventListener('securitypolicyviolation', (event) => "
                "console.error('policy: ' + event.violatedDirective))"
            )
            page.goto(url + path)
            playwright.expect(page.locator("#info")).not_to_be_empty()
            return page

        yield opened
        for context in contexts:
            context.close()
    assert problems == []
