"""The page of ``memnet serve``, in Chromium."""

import gzip
import hashlib
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memnet import Document, Engine, Fact
from memnet.server.settings import ServerSettings
from memnet.storage import Scope
from tests.conftest import EXAMPLES
from tests.page_site import Quoting, ask, no_sideways_scroll, served, texts, violations

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")

_MAX_WEIGHT = 60_000
"""Bytes of all files of the page as they are sent."""
_VIEWS = ("ask", "sources", "remembered", "facts?entity=Orre+Light")
_LIGHT = "The Orre Light was built by Tobias Wrennick in 1847."
_DOCUMENT = Document(id="light", title="Orre Light", text=_LIGHT)
_QUESTION = "Who built the Orre Light?"

Open = Callable[..., Any]


def test_the_answer_stands_first_and_evidence_below(toy_engine: Engine, open_page: Open) -> None:
    toy_engine.ingest(
        _DOCUMENT, Document(id="b", title="Herring", text="The herring fleet sails from Kestle.")
    )
    page = open_page()
    ask(page, _QUESTION)
    answer = toy_engine.ask(_QUESTION)
    assert _LIGHT in page.inner_text("article .quotes")
    assert texts(page, ".evidence .title bdi") == [item.title for item in answer.evidence]
    assert page.locator(".evidence").first.is_visible()
    assert page.get_by_role("status").filter(has_text="evidence").count() == 1
    page.click(".how > summary")
    page.wait_for_selector(".steps")
    assert page.locator(".steps > li").count() == len(answer.hops)
    assert "Orre Light because the question names “Orre Light”" in page.inner_text(".steps")
    page.click(".behind > summary")
    assert page.locator(".hops .bar").count() == sum(
        weight.weight >= 0.01 for hop in answer.hops for weight in hop.weights[:6]
    )
    assert f"{answer.hops[0].weights[0].weight:.2f}" in texts(page, ".hops .number")


def test_what_hops_hardly_attended_to_is_folded(toy_engine: Engine, open_page: Open) -> None:
    toy_engine.ingest(
        _DOCUMENT,
        *(
            Document(id=str(n), title=f"Boat {n}", text=f"The boat Orre {n} sails to the light.")
            for n in range(4)
        ),
    )
    answer = toy_engine.ask(_QUESTION)
    strong = [item.title for item in answer.evidence if item.id in answer.carrying]
    weak = [item.title for item in answer.evidence if item.id not in answer.carrying]
    assert strong
    assert weak
    page = open_page()
    ask(page, _QUESTION)
    assert texts(page, ".evidence:not([hidden]) .title bdi") == strong
    page.get_by_role("button", name=f"{len(weak)} more of less weight").click()
    titles = [item.title for item in answer.evidence]
    assert texts(page, ".evidence:not([hidden]) .title bdi") == titles
    assert texts(page, ".evidence.weak .title bdi") == weak
    focused = page.evaluate("document.activeElement.closest('.evidence').className")
    assert focused == "evidence weak"
    assert violations(page) == []


@pytest.mark.parametrize("width", [390, 1280])
def test_rows_are_a_table_and_items_are_lists(
    toy_engine: Engine, open_page: Open, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    rows = "Boat | Home | Length (m)\nTern | Kestle | 12\nSkua | Orre | 9"
    steps = "How to moor:\n3. Throw the 🐟 rope.\n4. Pull it."
    toy_engine.ingest(
        Document(id="boats", title="Boats", text=rows), Document(id="b", title="B", text=steps)
    )
    page = open_page(color_scheme="dark", viewport={"width": width, "height": 700})
    ask(page, "What home has the boat Tern?")
    assert page.inner_text(".headline") == "Kestle"
    assert texts(page, ".quotes th") == ["Boat", "Home", "Length (m)"]
    assert texts(page, ".quotes td") == ["Tern", "Kestle", "12"]
    assert texts(page, ".quotes td mark.short") == ["Kestle"]
    assert violations(page) == []
    assert no_sideways_scroll(page)
    ask(page, "Which boat is longer, the Tern or the Skua?")
    assert "Length 12 m; Skua: Length 9 m" in page.inner_text("#turn-2 .quotes > p")
    monkeypatch.setattr(toy_engine, "answerer", Quoting(toy_engine, "Pull", ("b", steps)))
    ask(page, "How do I moor?")
    assert texts(page, "#turn-3 .quotes p") == ["How to moor:"]
    items = page.locator("#turn-3 .quotes ol > li")
    assert items.evaluate_all("all => all.map((one) => one.value)") == [3, 4]
    assert items.all_text_contents() == ["Throw the 🐟 rope.", "Pull it.1"]
    assert texts(page, "#turn-3 .quotes li mark.short") == ["Pull"]


def test_words_and_columns_go_from_right_to_left_in_hebrew(
    toy_engine: Engine, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "חדר | מחיר\nאולם גדול | 200"
    toy_engine.ingest(Document(id="rooms", title="חדרים", text=rows))
    monkeypatch.setattr(toy_engine, "answerer", Quoting(toy_engine, "אולם גדול", ("rooms", rows)))
    page = open_page()
    ask(page, "איפה?")
    directions = "some => some.map((one) => getComputedStyle(one).direction)"
    found = page.locator("#turn-1-asked, .headline, .quotes table").evaluate_all(directions)
    assert found == ["rtl"] * 3


def test_a_greeting_is_answered_without_evidence(toy_engine: Engine, open_page: Open) -> None:
    toy_engine.ingest(_DOCUMENT)
    page = open_page()
    ask(page, "Hello!")
    assert 'Ask about what is stored: "Orre Light".' in page.inner_text("article")
    assert "similar" not in page.inner_text("article")
    assert page.locator(".evidence, .meta").count() == 0


def test_no_answer_is_said_plainly(open_page: Open) -> None:
    page = open_page()
    ask(page, _QUESTION)
    assert page.inner_text(".headline") == "The memory does not hold the answer."
    assert "Nothing similar is stored." in page.inner_text("article")


def test_without_an_answer_the_nearest_sentence_is_shown(
    toy_engine: Engine, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Minutes of the 3rd 🎻 of May. Present: Ann.\nA mill in Orre is let. It has no roof."
    toy_engine.ingest(Document(id="a", text=text))
    question = "Who is the mayor of Orre?"
    found = Quoting(toy_engine, "mill", ("a", text)).ask(question, None, 5, Scope())
    nothing = {"kind": "none", "answer": None, "short": None, "abstained": True}
    answer = found.model_copy(update={**nothing, "quotes": (), "candidates": ()})
    monkeypatch.setattr(toy_engine, "answerer", SimpleNamespace(ask=lambda *_: answer))
    page = open_page()
    ask(page, question)
    assert page.inner_text(".evidence .text") == "A mill in Orre is let."
    assert "step" not in page.inner_text(".evidence .title")


def test_contradictions_have_two_sides(
    toy_engine: Engine, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [("a", "The boat is red."), ("b", "The boat is blue.")]
    toy_engine.ingest(*(Document(id=source, text=text) for source, text in pieces))
    answerer = Quoting(toy_engine, "The boat", *pieces, both=True)
    monkeypatch.setattr(toy_engine, "answerer", answerer)
    page = open_page()
    ask(page, "What colour is the boat?")
    assert texts(page, ".sides blockquote") == ["The boat is red.", "The boat is blue."]
    assert "Which is right?" in page.inner_text("article")


def test_a_source_opens_at_its_place_with_the_words_marked(
    toy_engine: Engine, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Characters outside the Basic Multilingual Plane count once here and twice in a browser.
    filler = "\n\n".join(f"Sentence {number} tells 🐟 of herring nets." for number in range(400))
    source = "a/b?c#d"
    toy_engine.ingest(Document(id=source, title="Log", text=f"{filler}\n\n{_LIGHT}\n\n{filler}"))
    answerer = Quoting(toy_engine, "Tobias Wrennick", (source, _LIGHT))
    monkeypatch.setattr(toy_engine, "answerer", answerer)
    page = open_page(viewport={"width": 1280, "height": 700})
    ask(page, _QUESTION)
    assert page.inner_text(".headline") == "Tobias Wrennick"
    assert texts(page, "article mark.short") == ["Tobias Wrennick"]
    page.click(".evidence > button")
    page.wait_for_selector("#reader mark")
    assert "".join(texts(page, "#reader mark.sentence")) == _LIGHT
    assert texts(page, "#reader mark.short") == ["Tobias Wrennick"]
    playwright.expect(page.locator("#reader mark").first).to_be_in_viewport()
    assert "Sentence 300 tells" not in page.inner_text("#reader .reading-text")
    page.click("#reader button:text('Earlier')")
    playwright.expect(page.locator("#reader .reading-text")).to_contain_text("Sentence 300 tells")
    assert "".join(texts(page, "#reader mark.sentence")) == _LIGHT


def test_a_pdf_file_opens_as_the_picture_of_its_page(
    toy_engine: Engine, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy_engine.ingest(EXAMPLES / "memory" / "board" / "annual-report-2011.pdf")
    (source,) = toy_engine.sources()
    document = toy_engine.get(source.id)
    assert document is not None
    sentence = "The dredging of Kestle harbour cost 86,400 pounds"
    answerer = Quoting(toy_engine, "86,400 pounds", (source.id, sentence))
    monkeypatch.setattr(toy_engine, "answerer", answerer)
    page = open_page()
    ask(page, "What did the dredging of Kestle harbour cost?")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if ".png" in request.url else None)
    page.click(".evidence > button")
    image = page.locator("#reader img")
    image.wait_for()
    assert image.evaluate("(one) => one.decode().then(() => one.naturalWidth)") > 500
    assert "pages/2.png" in asked[0]
    start, end = (int(re.findall(rf"[?&]{name}=(\d+)", asked[0])[0]) for name in ("start", "end"))
    assert document.text[start:end] == "86,400 pounds"
    width = image.bounding_box()["width"]
    page.click("#reader button[aria-label='Larger']")
    playwright.expect(page.locator("#reader button[aria-label='Smaller']")).to_be_enabled()
    assert image.bounding_box()["width"] > 1.4 * width
    assert no_sideways_scroll(page)
    page.click("#reader button[aria-label='Next page']")
    playwright.expect(page.locator("#reader .turn")).to_contain_text("3 of 3")
    page.click("#reader button:text('Text')")
    assert "".join(texts(page, "#reader mark.sentence")) == sentence


def test_uploads_are_read_and_listed(toy_engine: Engine, open_page: Open, tmp_path: Path) -> None:
    (tmp_path / "light.md").write_text(f"# Orre Light\n\n{_LIGHT}\n")
    (tmp_path / "none.bin").write_bytes(b"\x00\x01\x02")
    page = open_page("#/sources")
    page.set_input_files("#files", [tmp_path / "light.md", tmp_path / "none.bin"])
    page.wait_for_selector("#uploads li:has-text('none.bin')")
    lines = dict(line.split(": ", 1) for line in texts(page, "#uploads li"))
    assert lines["light.md"] == "1 added"
    assert lines["none.bin"]
    page.wait_for_selector(".source")
    assert len(texts(page, ".source")) == len(list(toy_engine.sources())) == 1
    ask_page = open_page()
    ask(ask_page, _QUESTION)
    assert _LIGHT in ask_page.inner_text("article")


def test_an_opened_sheet_has_columns_and_an_opened_chat_days(
    toy_engine: Engine, open_page: Open, tmp_path: Path
) -> None:
    sheet, chat = tmp_path / "boats.csv", tmp_path / "chat.txt"
    sheet.write_text("Boat,Berth,Paid\nSkua 🐟,,no\nTern,B4,yes\n")
    chat.write_text(
        "12/03/2024, 09:15 - Mara: Who feeds the cat?\n12/03/2024, 09:17 - Jon: I do\n"
        "13/03/2024, 20:01 - Mara: Thanks\n"
    )
    (tmp_path / "port.yaml").write_text("image: foo; tag: bar\nport: 80\n")
    toy_engine.ingest([sheet, chat, tmp_path / "port.yaml"])
    page = open_page()
    ask(page, "Which berth has the boat Tern?")
    page.click(".evidence > button")
    page.wait_for_selector("#reader table")
    assert texts(page, "#reader th") == ["Boat", "Berth", "Paid"]
    assert texts(page, "#reader td") == ["Skua 🐟", "", "no", "Tern", "B4", "yes"]
    assert texts(page, "#reader mark.short") == ["B4"]
    assert violations(page) == []
    page.goto(page.url.split("#")[0] + "#/sources")
    page.click(".source button:has-text('Mara and Jon')")
    page.wait_for_selector("#reader .message")
    shown = texts(page, "#reader .reading-text > *")
    assert shown[::3] == ["12 Mar 2024", "13 Mar 2024"]
    assert [one.split()[0] for one in shown if one not in shown[::3]] == ["Mara", "Jon", "Mara"]
    page.keyboard.press("Escape")
    page.click(".source button:has-text('port.yaml')")
    page.wait_for_selector("#reader pre")
    assert texts(page, "#reader pre") == ["image: foo; tag: bar\nport: 80"]


def test_told_statements_have_a_time_line_and_can_be_undone(
    toy_engine: Engine, open_page: Open
) -> None:
    page = open_page("#/remembered")
    for text, day in (("Ann lives in Paris.", "2024-02-01"), ("Ann moved to Rome.", "2025-03-01")):
        page.fill("#tell", text)
        page.fill("#tell-at", day)
        page.press("#tell", "Enter")
        page.wait_for_selector(f"#decisions :text('{text}')")
        page.wait_for_selector(f"#history :text('{text}')")
    told = toy_engine.history()
    assert texts(page, ".statement .text") == [one.text for one in told]
    assert page.locator("svg.track.ended").count() == sum(
        one.valid_until is not None for one in told
    )
    assert "replaced by “Ann moved to Rome.”" in page.inner_text("#history")
    page.click("#undo")
    page.wait_for_selector("#decisions :text('removed')")
    playwright.expect(page.locator(".statement")).to_have_count(1)
    assert [one.text for one in toy_engine.history()] == ["Ann lives in Paris."]


def test_forgetting_asks_first(toy_engine: Engine, open_page: Open) -> None:
    toy_engine.ingest(Document(id="notes/a b", title="Keep", text=_LIGHT))
    page = open_page("#/sources")
    page.click(".forget")
    page.click("#confirm button:text('Cancel')")
    assert "notes/a b" in toy_engine
    page.click(".forget")
    page.click("#confirm-yes")
    page.wait_for_selector("#sources-count:text('Nothing is stored here.')")
    assert "notes/a b" not in toy_engine


def test_text_of_documents_is_never_markup(toy_engine: Engine, open_page: Open) -> None:
    markup = "<img src=x onerror='window.ran=1'><script>window.ran=1</script>"
    hostile = f"The lighthouse of \u202eevil\u202e says {markup} to \u2067all\u2067 ships."
    toy_engine.ingest(
        Document(id=f"{markup}", title=f"{markup} lighthouse", text=hostile),
        Document(id="long", title="long " * 300, text="lighthouse " + "x" * 1_000_000),
        Document(id="\u202egnp.exe", title="\u202egnp.exe", text="A lighthouse."),
    )
    toy_engine.ingest([Fact(subject=markup, relation=markup, object=markup)])
    toy_engine.tell(f"Ann likes {markup}.")
    page = open_page(viewport={"width": 360, "height": 740})
    ask(page, "What does the lighthouse say?")
    assert markup in page.inner_text("article")
    for number in range(min(3, page.locator(".evidence:not([hidden])").count())):
        page.locator(".evidence > button").nth(number).click()
        page.wait_for_selector("#reader .reading-text")
        assert no_sideways_scroll(page)
        page.keyboard.press("Escape")
    page.click(".how > summary")
    page.click(".behind > summary")
    page.wait_for_selector(".hops")
    assert no_sideways_scroll(page)
    page.goto(f"{page.url.split('#')[0]}#/sources")
    page.wait_for_selector(".source")
    assert no_sideways_scroll(page)
    page.goto(f"{page.url.split('#')[0]}#/remembered")
    page.wait_for_selector(".statement")
    page.goto(f"{page.url.split('#')[0]}#/facts?entity=%3Cimg%20src%3Dx")
    page.wait_for_selector("#graph > *")
    assert page.evaluate(
        "[window.ran, document.querySelectorAll('main img, main script').length]"
    ) == [None, 0]


def test_all_goes_by_keyboard(toy_engine: Engine, open_page: Open) -> None:
    toy_engine.ingest(
        _DOCUMENT,
        Document(id="dun", title="Dun Light", text="The Dun Light was built by Una Thale."),
    )
    page = open_page("#/sources")
    press = page.keyboard.press
    press("/")
    page.wait_for_selector("#question:focus")
    page.keyboard.type("Who built the Orre Light?/jk")  # letters in a field are letters
    for _ in "/jk":
        press("Backspace")
    press("Enter")
    page.wait_for_selector("article[aria-busy=false]")
    press("Escape")  # gives the question back
    assert page.input_value("#question") == "Who built the Orre Light?"
    press("Escape")  # leaves the field
    press("j")
    first = page.locator(".evidence > button").first
    playwright.expect(first).to_be_focused()
    press("j")
    press("k")
    press("Enter")
    page.wait_for_selector("#reader mark")
    press("Escape")
    assert page.is_hidden("#reader")
    playwright.expect(first).to_be_focused()
    press("h")
    page.wait_for_selector(".steps")
    press("?")
    assert page.is_visible("#keys")
    press("Escape")
    press("3")
    page.wait_for_selector("#remembered-title")
    press("?")
    page.uncheck("#single-keys")
    press("Escape")
    press("2")
    assert page.is_hidden("#sources")


def test_facts_lead_on_from_node_to_node(toy_engine: Engine, open_page: Open) -> None:
    toy_engine.ingest(
        [
            Fact(subject="Orre Light", relation="built by", object="Tobias Wrennick"),
            Fact(subject="Tobias Wrennick", relation="born in", object="Kestle"),
        ]
    )
    page = open_page(
        "#/facts?entity=Orre+Light&path=" + '[["Orre Light","built by","Tobias Wrennick"]]'
    )
    nodes = page.locator(".graph .node")
    nodes.nth(1).wait_for()
    assert texts(page, ".graph .node text") == ["Orre Light", "Tobias Wrennick"]
    assert page.locator(".graph .edge.path").count() == 1
    nodes.nth(1).focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".graph .node:has-text('Kestle')")
    assert page.input_value("#entity") == "Tobias Wrennick"
    labels = [node.get_attribute("aria-label") for node in nodes.all()]
    assert set(labels) == {
        "Tobias Wrennick", "Tobias Wrennick born in Kestle", "Orre Light built by Tobias Wrennick",
    }  # fmt: skip


def test_facts_say_how_to_begin(toy_engine: Engine, open_page: Open) -> None:
    page = open_page("#/facts")
    page.wait_for_selector("#graph:has-text('No table of facts is stored.')")
    assert "memnet ingest --facts FILE" in page.inner_text("#graph")
    assert violations(page) == []
    page.click("#graph a")
    page.wait_for_selector("#sources-title")
    toy_engine.ingest(Fact(subject="Una Thale", relation="born_in", object="Kestle"))
    page.click("nav a[href='#/facts']")
    page.wait_for_selector("#graph:has-text('Give a name')")
    page.fill("#entity", "Kestle")
    page.press("#entity", "Enter")
    page.wait_for_selector("svg.graph")


def test_a_token_is_asked_for_and_wrong_options_are_explained(
    browser: Any, toy_engine: Engine
) -> None:
    digest = hashlib.sha256(b"secret").hexdigest()
    with served(toy_engine, ServerSettings(token_digest=digest)) as url:
        page = browser.new_page()
        page.goto(url)
        page.fill("#token", "secret")
        page.press("#token", "Enter")
        playwright.expect(page.locator("#info")).to_contain_text("Nothing stored")
        page.click(".options summary")
        page.fill("#where", "year")
        page.fill("#question", "Who?")
        page.press("#question", "Enter")
        page.wait_for_selector(".failure:has-text('invalid condition “year”')")
        page.close()


def test_both_colour_schemes_fit_a_phone_and_satisfy_axe(
    toy_engine: Engine, open_page: Open
) -> None:
    toy_engine.ingest(_DOCUMENT)
    toy_engine.ingest([Fact(subject="Orre Light", relation="built by", object="Tobias Wrennick")])
    toy_engine.tell("Ann moved to Rome.")
    page = open_page(viewport={"width": 360, "height": 740})

    def check(view: str) -> None:
        assert no_sideways_scroll(page), view
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            brightness = max(int(number) for number in re.findall(r"\d+", paper)[:3])
            assert (brightness < 60) == (scheme == "dark")
            assert violations(page) == [], (view, scheme)

    for view in _VIEWS:
        page.goto(f"{page.url.split('#')[0]}#/{view}")
        if view == "ask":
            ask(page, _QUESTION)
            page.click(".how > summary")
            page.click(".behind > summary")
        else:
            page.locator(f"#{view.split('?')[0]} :is(.source, .statement, .graph)").first.wait_for()
        check(view)
    page.goto(f"{page.url.split('#')[0]}#/ask")  # where the conversation goes on
    page.wait_for_selector("#thread .exchange")
    page.click("#new")
    page.wait_for_selector(".earlier a")
    check("earlier")
    page.click(".earlier a")
    page.click(".evidence > button")
    page.wait_for_selector("#reader .reading-text")
    check("reader")


def test_the_page_is_light_and_loads_nothing_from_elsewhere() -> None:
    folder = files("memnet.server") / "page"
    contents = [file.read_bytes() for file in folder.iterdir() if file.is_file()]
    assert sum(len(gzip.compress(content)) for content in contents) < _MAX_WEIGHT
    for content in contents:
        addresses = re.findall(rb"https?://[^\"' ]+", content)
        assert set(addresses) <= {b"http://www.w3.org/2000/svg"}
        # Ways around text nodes, and what the policy would refuse.
        assert not re.search(
            rb"innerHTML|outerHTML|insertAdjacentHTML|eval\(| style=| on\w+=\"",
            content,
        )
