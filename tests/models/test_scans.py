"""Text in pictures: scans and photographs are read, asked about, and their words marked."""

import io
import shutil
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from memnet import Engine
from memnet.errors import InputError
from memnet.loaders.formats import reads_pictures
from memnet.loaders.pdf import scans
from memnet.loaders.process import LoaderProcess
from memnet.loaders.reading import FileToLoad, LoadLimits
from tests import session
from tests.conftest import EXAMPLES
from tests.serving import serving
from tests.unit.loaders import parsed

pytestmark = pytest.mark.skipif(not reads_pictures(), reason="needs the extra ocr")
_FOLDER = EXAMPLES.parent / "scans"
_LINES = ["The quay of Brannock was rebuilt", "with granite from Ordle in 1903."]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(scans, "_FOLDER", tmp_path / "cache" / "memnet" / "ocr")
    return tmp_path / "cache" / "memnet" / "ocr"


def picture(*lines: str, at: int = 60) -> Image.Image:
    image = Image.new("RGB", (900, 500), "white")
    for number, line in enumerate(lines):
        place = (60, at + 50 * number)
        ImageDraw.Draw(image).text(place, line, "black", ImageFont.load_default(36))
    return image


def saved(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    image.save(file := io.BytesIO(), kind, **options)
    return file.getvalue()


def _read(folder: Path) -> None:
    """What is read of the example's scans, as it is kept."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scans, "_FOLDER", folder)
        for path in _FOLDER.iterdir():
            parsed.read(path.name, path.read_bytes())


@pytest.fixture
def memory(toy_engine: Engine, cache: Path) -> Engine:
    shutil.copytree(session.made_once("scans", _read), cache)
    toy_engine.ingest(_FOLDER)
    return toy_engine


def test_an_invoice_and_a_notice_are_read(memory: Engine) -> None:
    invoice = memory.get(str(_FOLDER / "invoice-2291.pdf"))
    notice = memory.get(str(_FOLDER / "notice-on-the-door.jpg"))
    assert invoice is not None
    assert notice is not None
    assert "Bronze shackle | 12 | 6.50 | 78.00" in invoice.text
    assert "Swimming lessons move to the harbour school in Low Tassen." in notice.text
    assert notice.title == "Fenna Public Baths"


def test_they_answer_questions(tmp_path: Path, cache: Path) -> None:
    shutil.copytree(session.made_once("scans", _read), cache)
    with Engine.open(tmp_path / "memory", create=True) as memory:
        memory.ingest(_FOLDER)
        for question, answer, file in (
            ("When must invoice 2291 be paid?", "13 June 2024", "invoice-2291.pdf"),
            ("Where do the swimming lessons move?", "Low Tassen", "notice-on-the-door.jpg"),
        ):
            found = memory.ask(question).evidence[0]
            assert answer in found.text
            assert (found.source, found.place) == (str(_FOLDER / file), "p. 1")


def test_the_words_are_marked_in_the_picture(memory: Engine) -> None:
    name = str(_FOLDER / "notice-on-the-door.jpg")
    source = memory.get(name)
    assert source is not None
    start = source.text.index("Swimming lessons")
    url = f"/sources/{quote(name, safe='')}/pages/1.png"
    with serving(memory) as client:
        plain, marked = (
            np.asarray(Image.open(io.BytesIO(client.get(url, params=span).content)), np.int64)
            for span in ({}, {"start": start, "end": start + len("Swimming lessons")})
        )
    down, across = np.nonzero((plain != marked).any(axis=2))
    height, width = plain.shape[:2]
    assert 0.35 < down.min() / height < down.max() / height < 0.6
    assert across.max() < 0.6 * width
    assert len(down) > 0.005 * width * height


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_pages_that_lie_or_stand_upside_down_are_turned(angle: int) -> None:
    turned = picture(*_LINES).rotate(angle, expand=True)
    assert " ".join(parsed.only(parsed.read("a.png", saved(turned))).text.split()) == " ".join(
        _LINES
    )


def test_a_photograph_is_turned_as_the_camera_says() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    data = saved(picture(*_LINES).rotate(90, expand=True), "JPEG", exif=exif)
    assert _LINES[0] in parsed.only(parsed.read("a.jpg", data)).text


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "LA", "I;16", "CMYK"])
def test_pictures_of_each_kind_of_colour(mode: str) -> None:
    given = picture(*_LINES)
    if mode == "I;16":
        given = Image.fromarray(np.asarray(given.convert("L"), np.uint16) * 256)
    elif "A" in mode:  # letters upon nothing
        given.putalpha(given.convert("L").point(lambda value: 255 - value))
    data = saved(given if "A" in mode or mode == "I;16" else given.convert(mode), "TIFF")
    assert _LINES[1] in parsed.only(parsed.read("a.tif", data)).text


def test_a_file_of_pages_is_gone_on_with(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [picture(f"Ledger {number} is kept in room {number}4.") for number in (1, 2, 3)]
    data = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    read: list[object] = []
    recognise = scans._recognise

    def counting(*given: object) -> list[scans.ScanLine]:
        if len(read) == 2:
            raise KeyboardInterrupt
        read.append(given)
        return recognise(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(scans, "_recognise", counting)
    with pytest.raises(KeyboardInterrupt):
        parsed.read("ledgers.tif", data)
    del read[1:]
    document = parsed.only(parsed.read("ledgers.tif", data))
    assert len(read) == 2  # the third page alone was read again
    assert [block.place for block in document.blocks] == ["p. 1", "p. 2", "p. 3"]
    assert len([*cache.iterdir()]) == 3
    (damaged, *_) = cache.iterdir()
    damaged.write_text("[")
    read.clear()
    assert parsed.only(parsed.read("ledgers.tif", data)) == document
    assert len(read) == 1


def test_what_is_forgotten_is_not_kept(memory: Engine, cache: Path) -> None:
    assert [*cache.iterdir()]
    memory.forget(str(_FOLDER / "invoice-2291.pdf"))
    assert not [*cache.iterdir()]


@pytest.mark.parametrize("image", ["empty", "noise", "large"])
def test_a_picture_without_text_is_none(image: str) -> None:
    noise = np.random.default_rng(5).normal(128, 45, (150, 200, 3)).clip(0, 255).astype(np.uint8)
    given = {
        "empty": Image.new("L", (900, 1200), 250),
        "noise": Image.fromarray(noise).resize((1600, 1200)),
        "large": Image.new("L", (11_000, 9_200), 200),  # a hundred megapixels
    }[image]
    with pytest.raises(InputError, match="no text is recognised") as raised:
        parsed.read("a.png", saved(given))
    assert raised.value.reason == "images"


def test_what_is_no_picture_is_refused() -> None:
    bomb = saved(Image.new("1", (20_000, 10_000)))
    for data, what in (
        (bomb, "more than 178 megapixels"),
        (saved(picture(*_LINES), "JPEG")[:9000], "not a complete image.*cut off"),
        (b"Some text.", "not a complete image.*suffix says"),
    ):
        with pytest.raises(InputError, match=what):
            parsed.read("a.png", data)


def test_pages_are_read_within_the_limits_of_the_process(tmp_path: Path) -> None:
    told: list[tuple[object, ...]] = []
    path = tmp_path / "a.webp"
    path.write_bytes(saved(picture(*_LINES), "WEBP"))
    limits = LoadLimits(1 << 26, 10**7, 1000, 2 << 30, 60)
    with LoaderProcess(limits, lambda *page: told.append(page)) as loaders:
        found = list(loaders.load(FileToLoad(str(path), str(path), "picture")))
    assert _LINES[0] in parsed.only(found).text
    assert told == [(str(path), 1, 1)]
