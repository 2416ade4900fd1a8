"""The files beside a store's rows: uploads and models, links in their place, and what fails."""

import io
import os
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

import pytest

from memnet.errors import StoreError
from memnet.storage.files import ModelFolders, Uploads, add_file

pytestmark = pytest.mark.skipif(os.name == "nt", reason="makes links, as only some may there")


class Breaking(io.BytesIO):
    """A stream that ends in an error."""

    def read(self, _: int | None = -1, /) -> bytes:
        raise OSError("the disk is gone")


@pytest.fixture
def uploads(tmp_path: Path) -> Uploads:
    (tmp_path / "store").mkdir()
    return Uploads(tmp_path / "store")


def _put(uploads: Uploads, content: bytes, name: str = "a.txt") -> Path:
    with uploads.replacing(name, io.BytesIO(content), "") as path:
        pass
    return path


def _fail_in_block(uploads: Uploads, name: str, content: bytes) -> None:
    with uploads.replacing(name, io.BytesIO(content), "") as path:
        assert path.read_bytes() == content
        raise ValueError("in the block")


def test_what_a_killed_process_left_on_its_way_is_removed(uploads: Uploads, tmp_path: Path) -> None:
    _put(uploads, b"first")
    left = tmp_path / "store" / "uploads" / "incoming" / "left"
    left.write_bytes(b"half")
    path = _put(uploads, b"second")
    assert not left.exists()
    assert path.read_bytes() == b"second"


def test_what_was_there_stays_where_reading_or_the_block_fails(
    uploads: Uploads, tmp_path: Path
) -> None:
    path = _put(uploads, b"first")
    broken = cast(BinaryIO, Breaking())
    with (
        pytest.raises(StoreError, match=r"the upload a\.txt can't be kept in .*the disk is gone"),
        uploads.replacing("a.txt", broken, ""),
    ):
        pass
    with pytest.raises(ValueError, match="in the block"):
        _fail_in_block(uploads, "a.txt", b"second")
    assert path.read_bytes() == b"first"
    with pytest.raises(ValueError, match="in the block"):
        _fail_in_block(uploads, "new.txt", b"new")
    assert [one.name for one in path.parent.iterdir()] == ["a.txt"]
    assert not list((tmp_path / "store" / "uploads" / "incoming").iterdir())


@pytest.mark.parametrize("part", ["", "default", "incoming"])
def test_a_link_in_the_place_of_a_folder_is_refused(
    uploads: Uploads, tmp_path: Path, part: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = tmp_path / "store" / "uploads" / part
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(elsewhere)
    with pytest.raises(StoreError, match="is a link; remove it to keep uploads there"):
        _put(uploads, b"first")
    assert not list(elsewhere.rglob("*"))


def test_only_uploads_are_removed(uploads: Uploads, tmp_path: Path) -> None:
    path = _put(uploads, b"first")
    other = tmp_path / "other.txt"
    other.write_text("mine")
    around = path.parent / ".." / ".." / ".." / "other.txt"
    assert uploads.among([str(other), str(path), str(around)]) == [str(path)]
    uploads.remove([str(other), str(around), str(path), str(path)])
    assert other.exists()
    assert not path.exists()


def test_files_of_models_are_known_by_their_names(tmp_path: Path) -> None:
    models = ModelFolders(tmp_path)
    for name in ("models/text/other.json", "models/../model.json", "model.json"):
        with pytest.raises(ValueError, match="is not a file of a store"):
            add_file(tmp_path, name, BytesIO(b"{}"))
    add_file(tmp_path, "models/text/model.json", BytesIO(b"{}"))
    [(name, file)] = models.files().items()
    assert (name, file.read_bytes()) == ("models/text/model.json", b"{}")
    (tmp_path / "models" / "facts").symlink_to(tmp_path / "models" / "text")
    assert models.names() == ("text",)
    with pytest.raises(StoreError, match="is a link or lies in one"):
        models.new_folder("facts")
