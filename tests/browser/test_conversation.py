"""Conversations on the page: turns and addresses, follow-ups, files, sources, hostile texts."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memnet import Document, Engine, Fact
from memnet.storage import Scope
from memnet.types import Answer
from tests.page_site import Quoting, ask, no_sideways_scroll, texts, violations

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")

Open = Callable[..., Any]
_DOVE = "Who sails the Dove?"


@pytest.fixture
def boats(toy_engine: Engine) -> Engine:
    toy_engine.ingest(
        Document(id="dove", title="Dove", text="The Dove is sailed by Ann Vale."),
        Document(id="swift", title="Swift", text="The Swift is sailed by Bo Tarn."),
    )
    return toy_engine


def test_turns_stay_on_the_page_and_have_addresses(boats: Engine, open_page: Open) -> None:
    page = open_page()
    ask(page, _DOVE)
    first = page.url
    assert "q=Who+sails+the+Dove" in first
    ask(page, "And the Swift?")
    assert texts(page, ".asked h2") == [_DOVE, "And the Swift?"]
    assert "Understood as Who sails the Swift?" in page.locator("#turn-2 .meant").text_content()
    assert "Bo Tarn" in page.inner_text("#turn-2 .quotes")
    assert page.input_value("#question") == ""
    assert page.title().startswith("And the Swift?")
    page.go_back()
    assert page.url == first
    playwright.expect(page.locator("#turn-1[data-current]")).to_be_visible()
    assert page.locator("article").count() == 2
    page.go_forward()
    playwright.expect(page.locator("#turn-2[data-current]")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/ask" in request.url else None)
    page.reload()
    page.wait_for_selector("#turn-2[aria-busy=false]")
    assert texts(page, ".asked h2") == [_DOVE, "And the Swift?"]
    assert "Bo Tarn" in page.inner_text("#turn-2 .quotes")
    assert asked == []


def test_an_address_is_opened_by_somebody_else(boats: Engine, open_page: Open) -> None:
    page = open_page()
    ask(page, _DOVE)
    ask(page, "And the Swift?")
    link = page.locator("#turn-2 .address").get_attribute("href")
    other = open_page(link)
    other.wait_for_selector("article[aria-busy=false]")
    assert texts(other, ".asked h2") == ["And the Swift?"]
    assert "Bo Tarn" in other.inner_text(".quotes")
    assert "Who sails the Swift?" in other.inner_text(".meant")
    ask(other, "And the Dove?")
    assert "Who sails the Dove?" in other.inner_text("#turn-2 .meant")
    other.click("#turn-2 .meant button")  # as it was typed
    other.wait_for_selector("#turn-3[aria-busy=false]")
    assert other.inner_text("#turn-3 .meant") == ""


def test_options_are_part_of_an_address(boats: Engine, open_page: Open) -> None:
    for boat, sailor in (("Dove", "Cy Orne"), ("Lark", "Di Pell"), ("Tern", "Ed Quay")):
        text = f"The {boat} is sailed by {sailor}."
        boats.ingest(Document(id=f"old {boat}", title=boat, text=text), namespace="old")
    page = open_page()
    page.fill("#namespace", "old")
    page.press("#namespace", "Tab")
    ask(page, _DOVE)
    assert "Cy" in page.inner_text(".quotes")
    other = open_page(page.locator(".address").get_attribute("href"))
    other.wait_for_selector("article[aria-busy=false]")
    assert "in the collection old" in other.inner_text("article")
    assert "Cy" in other.inner_text(".quotes")
    assert "Ann Vale" not in other.inner_text("article")


def test_escape_stops_a_question_and_gives_it_back(
    boats: Engine, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = open_page()
    ask(page, _DOVE)
    before = page.url

    class Slow:
        def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
            time.sleep(1)
            return given.ask(question, hops, top_k, scope)

    given = boats.answerer
    monkeypatch.setattr(boats, "answerer", Slow())
    page.fill("#question", "Who sails the Swift?")
    page.press("#question", "Enter")
    page.wait_for_selector("#turn-2")
    page.keyboard.press("Escape")
    assert page.input_value("#question") == "Who sails the Swift?"
    assert page.locator("article").count() == 1
    assert page.url == before
    page.fill("#question", "")
    page.keyboard.press("Escape")
    assert page.input_value("#question") == _DOVE
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") != "question"


def test_the_field_grows_and_takes_line_breaks(boats: Engine, open_page: Open) -> None:
    page = open_page()
    field = page.locator("#question")
    low = field.bounding_box()["height"]
    field.press_sequentially("Who sails")
    field.press("Shift+Enter")
    field.press_sequentially("the Dove?")
    assert field.bounding_box()["height"] > 1.5 * low
    field.fill("long " * 390)
    assert field.bounding_box()["height"] < page.viewport_size["height"] / 2
    assert no_sideways_scroll(page)


def test_what_fails_is_said_and_the_question_kept(boats: Engine, open_page: Open) -> None:
    page = open_page()
    page.click(".options summary")
    page.fill("#where", "year")
    page.fill("#question", _DOVE)
    page.press("#question", "Enter")
    page.wait_for_selector("article .failure:has-text('invalid condition “year”')")
    assert page.input_value("#question") == _DOVE
    page.fill("#where", "")
    page.press("#question", "Enter")
    page.wait_for_selector("#turn-1[aria-busy=false]")
    assert page.locator("article").count() == 1


def test_earlier_conversations_are_kept_until_they_are_cleared(
    boats: Engine, open_page: Open
) -> None:
    page = open_page()
    ask(page, _DOVE)
    ask(page, "And the Swift?")
    page.click("#new")
    page.click(".earlier a")
    page.wait_for_selector("#turn-2[aria-busy=false]")
    page.click("#new")
    page.click(".earlier button")
    page.reload()
    page.wait_for_selector(".lead")
    assert page.locator(".earlier").count() == 0


def test_a_passage_is_shown_as_one(
    boats: Engine, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    sure = Quoting(boats, "Ann Vale", ("dove", "The Dove is sailed by Ann Vale."))

    class Unsure:
        def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
            answer = sure.ask(question, hops, top_k, scope)
            return answer.model_copy(update={"shown": "passage", "short": None})

    monkeypatch.setattr(boats, "answerer", Unsure())
    page = open_page()
    ask(page, _DOVE)
    assert "Not sure; this may answer:" in page.inner_text("article")
    assert page.locator("article mark, .headline").count() == 0
    assert page.locator(".answer.passage").count() == 1


def test_the_beginning_says_what_to_do(toy_engine: Engine, open_page: Open, tmp_path: Path) -> None:
    page = open_page()
    page.wait_for_selector("#welcome:has-text('Nothing is stored yet.')")
    assert violations(page) == []
    (tmp_path / "moor.md").write_text("# Mooring\n\n## How to moor a boat\n\n1. Throw the rope.\n")
    page.set_input_files("#files", [tmp_path / "moor.md"])
    page.wait_for_selector("#uploads li:has-text('1 added')")
    page.wait_for_selector(".lead:has-text('1 source')")
    page.click(".example:has-text('How do I moor a boat?')")
    page.wait_for_selector("#turn-1[aria-busy=false]")
    assert "Throw the rope." in page.inner_text(".quotes")


_DROP = """(files) => { const data = new DataTransfer();
    for (const [name, text] of files) data.items.add(new File([text], name));
    for (const kind of ['dragover', 'drop'])
      document.body.dispatchEvent(
        new DragEvent(kind, {dataTransfer: data, bubbles: true, cancelable: true}));
}"""


def test_files_are_dropped_anywhere_and_folders_keep_their_paths(
    boats: Engine, open_page: Open, tmp_path: Path
) -> None:
    page = open_page()
    ask(page, _DOVE)
    page.evaluate(_DROP, [["light.txt", "The Orre Light is white."], ["x.bin", "\x00\x01"]])
    page.wait_for_selector("#uploads li:has-text('light.txt: 1 added')")
    assert page.locator("#uploads li").count() == 2
    assert page.locator("article").count() == 1  # the conversation stays
    for name in ("log/1971/day.txt", "log/1972/day.txt", "log/.git/day.txt"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(f"Written in {name}.")
    page.set_input_files("#folder", tmp_path / "log")
    page.wait_for_selector("#uploads li:has-text('log/1972/day.txt: 1 added')")
    stored = {source.id.split("/default/")[-1] for source in boats.sources() if source.origin}
    assert stored == {"light.txt", "log/1971/day.txt", "log/1972/day.txt"}
    page.click("#close-uploads")
    assert page.is_hidden("#uploading")


def test_sources_are_a_tree_that_is_searched(
    boats: Engine, open_page: Open, tmp_path: Path
) -> None:
    for name, text in {
        "a/north/tide.md": "# Tide tables\n\nThe flood stands at noon.",
        "a/north/crane.md": "# Crane\n\nIt lifts barrels.",
        "a/south/mail.eml": "From: Ann <a@b.example>\nSubject: Rope\nDate: Tue, 04 Mar 2025 "
        "09:15:00 +0000\n\nThe rope is worn.",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    boats.ingest(tmp_path)
    boats.tell("Ann lives in Rome.")
    page = open_page("#/sources")
    page.wait_for_selector(".source")
    folders = [one.split("/")[-1] for one in texts(page, ".folder > summary")]
    assert set(folders) == {"a 3", "north 2", "south 1", "Remembered 1", "Without a file 2"}
    count = page.locator("#sources-count")

    def found() -> list[str]:
        return texts(page, "#sources-list .title")

    page.fill("#find", "tide")
    playwright.expect(count).to_have_text("1 source")
    assert found() == ["Tide tables"]
    page.fill("#find", "barrels")
    page.wait_for_selector("#hits mark:has-text('barrels')")
    playwright.expect(count).to_have_text("No title fits.")
    page.click("#hits .title")
    page.wait_for_selector("#reader mark")
    page.keyboard.press("Escape")
    page.fill("#find", "")
    page.fill("#since", "2025-03-01")
    playwright.expect(count).to_have_text("1 source")
    assert found() == ["Rope"]
    page.fill("#until", "2025-03-02")
    playwright.expect(count).to_have_text("Nothing fits.")
    page.fill("#since", "")
    page.fill("#until", "")
    page.select_option("#kind", "statement")
    playwright.expect(count).to_have_text("1 source")
    assert violations(page) == []


def test_equal_titles_are_cut_where_they_differ(toy_engine: Engine, open_page: Open) -> None:
    head = "Minutes of the yearly meeting of the board of the isles and of their lights, held in "
    toy_engine.ingest(
        *(
            Document(id=str(year), title=f"{head}{year}", text=f"The board met in {year}.")
            for year in (1901, 1902, 1903)
        )
    )
    page = open_page()
    ask(page, "When did the board meet?")
    page.click(".how > summary")
    page.wait_for_selector(".steps")
    names = texts(page, ".steps li:first-child li strong")
    assert len(names) == len(set(names)) == 3
    assert all(len(name) < len(head) for name in names)


def test_the_graph_drops_no_fact(toy_engine: Engine, open_page: Open) -> None:
    facts = [
        ("Orre", "has", "Skellin"), ("Skellin", "lies on", "Orre"), ("Orre", "owns", "Skellin"),
        ("Orre", "has", "Pell"), ("Pell", "trades with", "Skellin"), ("Orre", "rules", "Orre"),
    ]  # fmt: skip
    toy_engine.ingest([Fact(subject=s, relation=r, object=o) for s, r, o in facts])
    page = open_page("#/facts?entity=Orre")
    page.wait_for_selector(".graph .edge")
    shown = page.locator(".graph .edge").evaluate_all(
        "all => all.reduce((sum, one) => sum + Number(one.dataset.facts), 0)"
    )
    assert shown == len(facts)
    page.click("#graph summary")
    assert len(texts(page, "#graph li")) == len(facts)
    drawn = " ".join(texts(page, ".graph .small"))
    assert all(relation in drawn for _, relation, _ in facts)


_HOSTILE = """# <img src=x onerror='window.ran=1'>

A [link](javascript:window.ran=1), a [good one](https://harbour.example/a) and **<b>bold</b>** text.

| <script>window.ran=1</script> | Price |
|---|---|
| <svg onload=window.ran=1> | 4 |

```html
<iframe src="javascript:window.ran=1"></iframe>
```

- <a href="javascript:window.ran=1">item</a>
"""


def test_markdown_has_form_and_no_markup(
    toy_engine: Engine, open_page: Open, tmp_path: Path
) -> None:
    name = "<img src=x onerror=window.ran=1>.md"
    (tmp_path / name).write_text(_HOSTILE)
    toy_engine.ingest(tmp_path / name)
    toy_engine.ingest(Document(id="raw", title="Raw", text=_HOSTILE))
    page = open_page("#/sources")
    page.wait_for_selector(".source")
    for number in range(2):
        page.locator("#sources-list .title").nth(number).click()
        page.wait_for_selector("#reader .reading-text")
        assert "javascript:window.ran=1" in page.inner_text("#reader pre")
        assert texts(page, "#reader li")
        links = page.locator("#reader .reading-text a")
        hrefs = links.evaluate_all("all => all.map((one) => one.href)")
        assert set(hrefs) <= {"https://harbour.example/a"}
        if number:
            assert texts(page, "#reader th") == ["<script>window.ran=1</script>", "Price"]
            assert texts(page, "#reader h3") == ["<img src=x onerror='window.ran=1'>"]
            assert texts(page, "#reader strong") == ["<b>bold</b>"]
        page.keyboard.press("Escape")
    ask_page = open_page()
    ask(ask_page, "What is the price of svg onload?")
    hostile = "img, script, svg, iframe, b, a[href^=javascript]"
    for one in (page, ask_page):
        assert one.evaluate("window.ran") is None
        assert one.locator(f"#sources-list :is({hostile}), article :is({hostile})").count() == 0


def test_a_conversation_fits_a_phone_and_twice_the_size(boats: Engine, open_page: Open) -> None:
    boats.tell("Ann lives in Rome.")
    page = open_page(viewport={"width": 390, "height": 844})
    ask(page, _DOVE)
    ask(page, "And the Swift?")
    page.click("#turn-2 .how > summary")
    page.click("#turn-2 .behind > summary")
    for scheme, width, height in (("light", 390, 844), ("dark", 640, 400)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": height})
        assert no_sideways_scroll(page)
        assert violations(page) == []
    page.click("#turn-2 .evidence > button")
    page.wait_for_selector("#reader .reading-text")
    assert violations(page) == []
