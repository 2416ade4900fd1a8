"""What a file is by its content, where its name says something else or nothing."""

import gzip
import io
import tarfile
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError
from memnet.loaders.formats import FORMATS, HEAD, find_format, reads_pictures, recognise


def _zip() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.txt", "text")
    return stream.getvalue()


def _tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return stream.getvalue()


_MAIL = b"Return-Path: <a@b.c>\r\nReceived: from x\r\n\tby y\r\nSubject: Hi\r\n\r\nText\r\n"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"%PDF-1.7\n", "pdf"),
        (b"\n\n junk before\n%PDF-1.4\n", "pdf"),
        (_zip(), "zip"),
        (_tar(), "tar"),
        (gzip.compress(b"x", mtime=0), "gzip"),
        (b"<!DOCTYPE html><p>", "html"),
        (b"\xef\xbb\xbf\n <HTML lang=en>", "html"),
        (b"<?xml version='1.0'?>\n<!-- saved -->\n<!-- twice --><html>", "html"),
        (b"<head><title>x</title>", "html"),
        (_MAIL, "mail"),
        (b"From: a@b.c\nTo: d@e.f\nMessage-ID: <1@b>\n\nText", "mail"),
        (b"From ann@example.org Fri Mar  1 14:05:00 2024\nFrom: ann\n\nHi\n", "mbox"),
    ],
)
def test_formats_are_recognised_by_their_content(head: bytes, name: str) -> None:
    content = recognise(head[:HEAD])
    assert content is not None
    assert (content.name, content.reason) == (name, "")


@pytest.mark.parametrize(
    ("head", "what", "reason"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "is a PNG image: .*memnet-qa.ocr.", "images"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "is a JPEG image", "images"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "is a WebP image", "images"),
        (b"\0\0\0\x18ftypheic", "is a HEIC image", "images"),
        (b"\0\0\0\x18ftypmp42", "is an MPEG-4 video", "videos"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Office 97-2003", "files of old Office programs"),
    ],
)
@pytest.mark.parametrize("name", ["a", "a.txt", "a.pdf", "a.unknown"])
def test_what_holds_no_text_is_named_whatever_its_name(
    without_ocr: None, head: bytes, what: str, reason: str, name: str
) -> None:
    with pytest.raises(InputError, match=what) as caught:
        find_format(name, head)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("name", "head", "found"),
    [
        ("a.txt", b"Some text", "text"),
        ("A.TXT", b"Some text", "text"),
        ("README", b"Some text", "text"),
        ("README", "Die Größe".encode("cp1252"), "text"),
        ("a.md", b"<html><p>A note may start with this.", "markdown"),
        ("a.txt", b"<!doctype html><p>", "html"),
        ("a.txt", b"%PDF-1.7", "pdf"),
        ("a.html", b"%PDF-1.7", "pdf"),
        ("a.unknown", b"%PDF-1.7", "pdf"),
        ("a", b"%PDF-1.7", "pdf"),
        ("a.md", _zip(), "archive"),
        ("a.docx", _zip(), "docx"),
        ("a.docx", b"<html><body>", "html"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "docx"),
        ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "sheets"),
        ("a.xlsx", _zip(), "sheets"),
        ("a.epub", _zip(), "epub"),
        ("a.zip", _zip(), "archive"),
        ("a", _zip(), "archive"),
        ("a.tar.gz", gzip.compress(_tar(), mtime=0), "archive"),
        ("a.jar", _zip(), None),
        ("a.unknown", b"text", None),
        ("README.Debian", b"text", "text"),
        ("changelog.Debian.amd64", b"text", "text"),
        ("a.unknown", _MAIL, "mail"),
        ("1709300000.M1.host:2,S", _MAIL, "mail"),
        ("inbox", b"From a@b.c Fri Mar  1 14:05:00 2024\nFrom: ann\n\nHi\n", "mail"),
        ("a.eml", _MAIL, "mail"),
    ],
)
def test_the_suffix_is_believed_unless_the_content_leaves_no_doubt(
    name: str, head: bytes, found: str | None
) -> None:
    known = find_format(name, head)
    assert (known.name if known else None) == found


def test_binary_without_a_suffix_is_no_text() -> None:
    with pytest.raises(InputError, match="is binary") as caught:
        find_format("core", b"\1\2\0\3" * 50)
    assert caught.value.reason == "binary files"


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_every_format_keeps_its_suffixes(known) -> None:  # type: ignore[no-untyped-def]
    if known.name == "picture" and not reads_pictures():
        pytest.skip("needs the extra ocr")
    for suffix in known.suffixes:
        assert suffix == suffix.lower()
        assert find_format(f"a{suffix}") == known


@given(data=st.binary(max_size=300))
def test_any_bytes_have_a_format_or_none(data: bytes) -> None:
    for name in ("a", "a.txt", "a.unknown"):
        try:
            find_format(name, data)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017
