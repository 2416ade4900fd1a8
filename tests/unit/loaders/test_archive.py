"""Archives as folders: what is in them, what is left out, and hostile ones."""

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError, Problem
from memnet.loaders import archive
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile, format_by_name

Content = str | bytes


def _zip(members: Iterable[tuple[str | zipfile.ZipInfo, Content]], **options: Any) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, **options) as packed:
        for name, content in members:
            packed.writestr(name, content)
    return stream.getvalue()


def _tar(members: dict[str, Content], mode: str = "w") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as packed:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            data = content.encode() if isinstance(content, str) else content
            info.size = len(data)
            packed.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def _load(data: bytes, name: str = "a.zip", **limits: int) -> tuple[dict[str, str], list[Problem]]:
    items = list(archive.load(SourceFile(name, data, **limits)))  # type: ignore[arg-type]
    documents = [item for item in items if isinstance(item, ParsedDocument)]
    assert len({document.name for document in documents}) == len(documents)
    texts = {document.name: document.text for document in documents}
    return texts, [item for item in items if isinstance(item, Problem)]


_NOTES: dict[str, Content] = {"b.txt": "Second.", "notes/a.txt": "First."}
_READ = {"a.zip/b.txt": "Second.", "a.zip/notes/a.txt": "First."}


@pytest.mark.parametrize(
    "data",
    [_zip(_NOTES.items()), _tar(_NOTES), _tar(_NOTES, "w:gz"), gzip.compress(_tar(_NOTES))],
    ids=["zip", "tar", "tar.gz", "gzip of tar"],
)
def test_each_file_is_a_document_named_by_its_path(data: bytes) -> None:
    assert _load(data) == (_READ, [])


def test_a_single_file_that_is_compressed_is_read_by_its_own_name() -> None:
    data = gzip.compress(b"Changes.")
    assert _load(data, "doc/changelog.gz") == ({"doc/changelog.gz/changelog": "Changes."}, [])
    assert _load(data, "doc/news.txt.gz") == ({"doc/news.txt.gz/news.txt": "Changes."}, [])
    _, (problem,) = _load(data, "doc/table.unknown.gz")
    assert problem.reason == "of unknown kind"


def test_archives_in_archives_are_read_two_deep() -> None:
    inner = _zip([("a.txt", "Deep.")])
    middle = _zip([("inner.zip", inner), ("b.txt", "Middle.")])
    texts, (problem,) = _load(_zip([("middle.zip", middle), ("c.txt", "Outer.")]))
    assert texts == {"a.zip/c.txt": "Outer.", "a.zip/middle.zip/b.txt": "Middle."}
    assert problem.where == "a.zip/middle.zip/inner.zip"
    assert "archive in an archive in an archive" in problem.what


def test_what_a_folder_would_leave_out_is_left_out() -> None:
    link = zipfile.ZipInfo("link.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    texts, problems = _load(
        _zip(
            [
                ("a.txt", "Read."), (".git/config.txt", "x"), ("b/.hidden.txt", "x"),
                ("__MACOSX/._a.txt", "x"), (".DS_Store", "x"), ("empty/", ""), (link, "/etc/x"),
            ]
        )
    )  # fmt: skip
    assert (texts, problems) == ({"a.zip/a.txt": "Read."}, [])


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_of_a_tar_file_are_left_out(kind: bytes) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as packed:
        info = tarfile.TarInfo("a.txt")
        info.type, info.linkname = kind, "/etc/passwd"
        packed.addfile(info)
    assert _load(stream.getvalue(), "a.tar") == ({}, [])


@pytest.mark.parametrize(
    "name", ["../a.txt", "b/../../a.txt", "/etc/a.txt", "C:\\a.txt", "..\\..\\a.txt", "//x/a.txt"]
)
def test_paths_that_lead_out_are_not_read(name: str) -> None:
    texts, (problem,) = _load(_zip([("ok.txt", "Read."), (name, "Not read.")]))
    assert texts == {"a.zip/ok.txt": "Read."}
    assert "leads out of the archive" in problem.what


@pytest.mark.parametrize(
    ("name", "path"), [("a\\b.txt", "a/b.txt"), ("./a.txt", "a.txt"), ("b/../a.txt", "a.txt")]
)
def test_paths_within_are_written_in_one_way(name: str, path: str) -> None:
    assert _load(_zip([(name, "Read.")])) == ({f"a.zip/{path}": "Read."}, [])


def test_the_last_of_equal_names_is_read() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = _zip([("a.txt", "First."), ("a.txt", "Last.")])
    assert _load(data) == ({"a.zip/a.txt": "Last."}, [])


def test_names_in_utf_8_without_the_flag_are_recognised() -> None:
    data = _zip([("Gr\u00f6\u00dfe.txt", "Read.")])
    assert _load(data)[0] == {"a.zip/Gr\u00f6\u00dfe.txt": "Read."}
    unflagged = data.replace(b"\x00\x08", b"\x00\x00").replace(
        b"\x14\x00\x00\x08", b"\x14\x00\x00\x00"
    )
    assert _load(unflagged)[0] == {"a.zip/Gr\u00f6\u00dfe.txt": "Read."}
    old = data.replace(b"\x00\x08", b"\x00\x00").replace(
        "Gr\u00f6\u00dfe".encode(), b"Gr\x94xx\xe1e"
    )
    assert _load(old)[0] == {"a.zip/Gr\u00f6xx\u00dfe.txt": "Read."}


def _encrypted(data: bytes, names: Iterable[str]) -> bytes:
    """The zip file with the flag of a password set for some members."""
    changed = bytearray(data)
    for name in names:
        for at in (index for index in range(len(data)) if data.startswith(name.encode(), index)):
            for mark, start, flag in ((b"PK\3\4", 30, 6), (b"PK\1\2", 46, 8)):
                if data[at - start : at - start + 4] == mark:
                    changed[at - start + flag] |= 1
    return bytes(changed)


def test_encrypted_files_are_counted_in_one_problem() -> None:
    data = _zip([("a.txt", "Read."), ("b.txt", "x"), ("c.txt", "x")])
    texts, (problem,) = _load(_encrypted(data, ["b.txt", "c.txt"]))
    assert texts == {"a.zip/a.txt": "Read."}
    assert "holds 2 of 3 files under a password" in problem.what


def test_images_and_unknown_kinds_are_problems_with_a_reason(without_ocr: None) -> None:
    image = b"\x89PNG\r\n\x1a\n\0\0"
    texts, problems = _load(
        _zip([("a.txt", "Read."), ("b.png", image), ("c.woff2", "x"), ("d.x", "x"), ("e.txt", "")])
    )
    assert list(texts) == ["a.zip/a.txt"]
    assert [problem.reason for problem in problems] == [
        "images", "fonts", "of unknown kind", "empty",
    ]  # fmt: skip


def test_a_bomb_is_stopped_at_the_limit_and_what_came_before_is_kept() -> None:
    data = _zip([("a.txt", "Read."), ("b.txt", b"\0" * 10_000_000), ("c.txt", "Not read.")])
    assert len(data) < 20_000
    texts, (problem,) = _load(data, max_unpacked=1_000_000)
    assert texts == {"a.zip/a.txt": "Read."}
    assert problem.what.startswith("unpacks to more than 1,000,000 bytes")


def test_the_limit_is_that_of_all_archives_within() -> None:
    inner = _zip([("a.txt", b"a" * 60_000)])
    data = _zip([("1.zip", inner), ("2.zip", inner)])
    assert len(_load(data, max_unpacked=200_000)[0]) == 2
    texts, problems = _load(data, max_unpacked=100_000)
    assert (list(texts), len(problems)) == (["a.zip/1.zip/a.txt"], 1)


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: _tar({"a.txt": data}, "w:gz")])
def test_a_gzip_bomb_is_refused(pack: Any) -> None:
    with pytest.raises(InputError, match="unpacks to more than"):
        _load(pack(b"\0" * 10_000_000), "a.gz", max_unpacked=1_000_000)


def test_too_many_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_MAX_MEMBERS", 3)
    for data in (
        _zip([(f"{n}.txt", "x") for n in range(4)]),
        _tar({f"{n}.txt": "x" for n in range(4)}),
    ):
        with pytest.raises(InputError, match="holds 4 files, the limit is 3"):
            _load(data)


def test_siblings_are_those_in_the_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes | None] = []

    def load(file: SourceFile) -> Iterable[ParsedDocument]:
        seen.extend(map(file.sibling, ["b.txt", "../users.txt", "../../etc/x", "/users.txt", "no"]))
        return ()

    known = type("Known", (), {"name": "text", "isolated": True, "loader": lambda _self: load})()
    monkeypatch.setattr(archive, "find_format", lambda name, _head: known)
    _load(_zip([("users.txt", "Users."), ("channel/a.txt", "x"), ("channel/b.txt", "B.")]))
    assert seen[:5] == [b"B.", b"Users.", None, None, None]


def test_a_damaged_type_of_a_document_is_no_crash() -> None:
    data = bytearray(_zip([("mimetype", "application/epub+zip"), ("a.txt", "Read.")]))
    data[:4] = b"PK\5\6"  # in the place of the mark of its first member
    texts, (problem,) = _load(bytes(data))
    assert (list(texts), problem.where) == (["a.zip/a.txt"], "a.zip/mimetype")


_PACKED = [_zip(_NOTES.items()), _tar(_NOTES), _tar(_NOTES, "w:gz"), gzip.compress(b"Read. " * 99)]


@given(st.data())
def test_any_changed_or_truncated_archive_gives_documents_or_problems(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(_PACKED)))
    for _ in range(data.draw(st.integers(0, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        _load(bytes(content[: data.draw(st.integers(20, len(content)))]))
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("members", "format_name"),
    [
        ({"[Content_Types].xml": "x", "word/document.xml": "x"}, "docx"),
        ({"ppt/presentation.xml": "x", "[Content_Types].xml": "x"}, "pptx"),
        ({"[Content_Types].xml": "x", "xl/workbook.xml": "x"}, "sheets"),
        ({"mimetype": "application/epub+zip"}, "epub"),
        ({"mimetype": "application/vnd.oasis.opendocument.text"}, "opendocument"),
        ({"mimetype": "application/vnd.oasis.opendocument.spreadsheet"}, "sheets"),
    ],
)
def test_a_document_that_is_named_as_an_archive_is_read_as_what_it_is(
    members: dict[str, str], format_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[str] = []

    def by_name(name: str) -> Any:
        used.append(name)
        return type("Known", (), {"loader": lambda _self: lambda _file: iter(())})()

    monkeypatch.setattr(archive, "format_by_name", by_name)
    _load(_zip(members.items()))
    assert used == [format_name]


def test_text_that_is_named_as_an_archive_is_refused() -> None:
    with pytest.raises(InputError, match="is not a zip, tar or gzip file"):
        list(format_by_name("archive").loader()(SourceFile("a.zip", b"Some text.")))


def test_a_member_without_a_name_does_no_harm() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "One.")
        archive.writestr("b.txt", "Two.")
    data = file.getvalue()
    # The central directory says that the name of the second member is 0 bytes long.
    second = data.rindex(b"PK\x01\x02")
    damaged = data[: second + 28] + b"\0\0" + data[second + 30 :].replace(b"b.txt", b"", 1)
    end = damaged.rindex(b"PK\x05\x06")
    size = int.from_bytes(damaged[end + 12 : end + 16], "little") - len(b"b.txt")
    damaged = damaged[: end + 12] + size.to_bytes(4, "little") + damaged[end + 16 :]
    found, _ = _load(damaged)
    assert "One." in found.values()
