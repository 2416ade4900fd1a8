"""Pages of PDF files as pictures, with the words of a span marked."""

import io
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import numpy as np
import pypdfium2 as pdfium
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from memnet import Engine
from memnet.server.pdf_child import find_words, words
from memnet.server.sources import page_spans
from tests.serving import serving
from tests.unit.test_server import error_of

SCALE = 2.0
SPAN = "86,400 pounds, a third of it paid by the herring fleet"
"""Of two lines of page 2."""


@pytest.fixture
def client(toy_engine: Engine, saltmere_pdf: Path) -> Iterator[httpx.Client]:
    toy_engine.ingest(saltmere_pdf)
    with serving(toy_engine) as client:
        yield client


@pytest.fixture
def url(saltmere_pdf: Path) -> str:
    return f"/sources/{quote(str(saltmere_pdf), safe='')}"


def pixels(data: bytes) -> NDArray[np.int64]:
    with Image.open(io.BytesIO(data)) as image:
        return np.array(image.convert("RGB"), np.int64)


def test_the_words_of_a_span_are_marked_and_no_others(
    client: httpx.Client, url: str, saltmere_pdf: Path
) -> None:
    start = client.get(url).json()["text"].index(SPAN)
    span = {"start": start, "end": start + len(SPAN), "scale": SCALE}
    marked = pixels(client.get(f"{url}/pages/2.png", params=span).content)
    plain = pixels(client.get(f"{url}/pages/2.png", params={"scale": SCALE}).content)
    changed = (marked != plain).any(axis=2)
    boxes = np.zeros_like(changed)
    near = np.zeros_like(changed)
    document = pdfium.PdfDocument(saltmere_pdf)
    page = document[1]
    text_page = page.get_textpage()
    for word in SPAN.split():
        found = text_page.search(word, match_whole_word=False)
        while (place := found.get_next()) is not None:
            # "a", "of" and "the" stand elsewhere, too.
            context = text_page.get_text_range(max(0, place[0] - 200), 400)
            if "86,400" not in context:
                continue
            for number in range(place[0], place[0] + place[1]):
                left, bottom, right, top = text_page.get_charbox(number)
                height = page.get_height()
                rows = slice(int((height - top) * SCALE), int((height - bottom) * SCALE) + 1)
                if word in ("86,400", "pounds,", "third", "herring", "fleet", "paid"):
                    boxes[rows, int(left * SCALE) : int(right * SCALE) + 1] = True
                margin = slice(max(0, rows.start - 12), rows.stop + 12)
                near[margin, int(left * SCALE) - 12 : int(right * SCALE) + 13] = True
    for part in (text_page, page, document):
        part.close()
    assert boxes.sum() > 1000
    # What is black stays black under a highlighter.
    light = plain.min(axis=2) > 128
    assert changed[boxes & light].all()
    assert not changed[~near].any()
    assert changed.sum() < 0.1 * changed.size


def test_a_page_is_drawn_as_pdfium_draws_it(
    client: httpx.Client, url: str, saltmere_pdf: Path
) -> None:
    drawn = pixels(client.get(f"{url}/pages/1.png", params={"scale": 1}).content)
    document = pdfium.PdfDocument(saltmere_pdf)
    page = document[0]
    expected = np.array(page.render(scale=1).to_pil().convert("RGB"), np.int64)
    page.close()
    document.close()
    assert np.array_equal(drawn, expected)


def test_each_page_has_its_part_of_the_text(client: httpx.Client, url: str) -> None:
    text = client.get(url).json()["text"]
    pages = client.get(f"{url}/pages").json()["pages"]
    assert [page["page"] for page in pages] == [1, 2, 3]
    assert {(page["width"], page["height"]) for page in pages} == {(420.0, 595.0)}
    parts = [text[page["start"] : page["end"]] for page in pages]
    assert "a year of mud and patience" in parts[0]
    assert SPAN in parts[1]
    assert all(SPAN not in part for part in (parts[0], parts[2]))


def test_only_pdf_files_that_are_there_have_pages(
    client: httpx.Client, toy_engine: Engine, tmp_path: Path, saltmere_pdf: Path, url: str
) -> None:
    note = tmp_path / "note.txt"
    note.write_text("No PDF.")
    gone = tmp_path / "gone.pdf"
    gone.write_bytes(saltmere_pdf.read_bytes())
    toy_engine.ingest(note, gone)
    gone.unlink()
    for path in (note, gone, "nothing"):
        response = client.get(f"/sources/{quote(str(path), safe='')}/pages")
        assert error_of(response) == (404, "not_found")
    for number in ("0", "4", "-1", "99999999999"):
        assert error_of(client.get(f"{url}/pages/{number}.png")) == (404, "not_found")
    assert error_of(client.get(f"{url}/pages/x.png"))[0] == 422
    assert error_of(client.get(f"{url}/pages/1.png", params={"scale": 100}))[0] == 422


def test_a_file_that_was_damaged_since_breaks_no_server(
    client: httpx.Client, toy_engine: Engine, tmp_path: Path, saltmere_pdf: Path
) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(saltmere_pdf.read_bytes())
    toy_engine.ingest(path)
    path.write_bytes(b"%PDF-1.4 nothing more")
    response = client.get(f"/sources/{quote(str(path), safe='')}/pages")
    assert error_of(response) == (400, "invalid_request")
    assert client.get("/healthz").status_code == 200


def test_words_are_found_through_breaks_running_headers_and_columns() -> None:
    page = words(
        "Annual Report 7 The har\u00adbour was dredg\u00aded twice. Left Right well-known one"
    )
    for text, span, expected in (
        ("The harbour was dredged twice.", "harbour was dredged", ["harbour", "was", "dredged"]),
        ("The harbour was dredged twice.", "twice", ["twice"]),
        ("Right Left", "Left", ["left"]),
        ("It is well-known", "well-known", ["wellknown"]),
        ("Nothing of it stands there.", "Nothing", []),
    ):
        start = text.index(span)
        found = find_words(words(text), page, start, start + len(span))
        assert [page[index].text for index in found] == expected


def test_of_words_that_stand_twice_those_in_their_place_are_found() -> None:
    page = words("the ship sank here and then the ship rose there")
    text = "the ship sank here and then the ship rose there"
    second = text.rindex("the ship")
    assert find_words(words(text), page, second, second + 8) == [6, 7]
    assert find_words(words(text), page, 0, 8) == [0, 1]


@given(
    st.lists(st.sampled_from(["ship", "sea", "the", "light"]), min_size=1, max_size=30), st.data()
)
def test_an_equal_text_is_found_where_it_stands(texts: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(texts) - 1))
    last = data.draw(st.integers(first, len(texts) - 1))
    found = words(" ".join(texts))
    indices = find_words(found, found, found[first].start, found[last].end)
    assert [found[index].text for index in indices] == texts[first : last + 1]


def test_pages_of_places_are_numbers_of_pages() -> None:
    places = [(0, 5, "p. 1"), (5, 9, "pp. 1-2"), (9, 12, "p. ii (4)"), (12, 13, "pp. ii-v (4-6)"),
              (13, 20, "Sheet1!B4")]  # fmt: skip
    assert page_spans(places) == {1: (0, 9), 2: (5, 9), 4: (9, 13), 5: (12, 13), 6: (12, 13)}
