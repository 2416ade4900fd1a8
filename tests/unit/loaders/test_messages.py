"""Messages of the process of the loaders: documents come through, and nothing else does."""

import io
import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.loaders import reading
from memnet.loaders.document import Block, Cell, DocumentBuilder, ParsedDocument
from memnet.loaders.reading import BadMessageError, item_message, message_item, parse_message

_LABELS = st.text(max_size=20)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)


def _through(sent: ParsedDocument) -> ParsedDocument:
    stream = io.BytesIO()
    reading.write_message(stream, item_message(sent))
    stream.seek(0)
    got = message_item(parse_message(reading.read_message(stream) or b""), "a", "")
    assert isinstance(got, ParsedDocument)
    return got


@given(st.lists(st.tuples(_TEXTS, _LABELS), max_size=5), _LABELS, st.tuples(_TEXTS))
def test_a_document_comes_through_as_it_is(
    parts: list[tuple[str, str]], title: str, names: tuple[str, ...]
) -> None:
    text, blocks = "", []
    for part, place in parts:
        start, text = len(text), text + part
        end = len(text)
        cells = (Cell(place, start, end, place),)
        blocks.append(Block("row", start, end, 2, place, True, (place,), cells))
    sent = ParsedDocument("a/b", title, text, tuple(blocks), "", {"k": [1, None]}, names)
    assert _through(sent) == sent


def test_labels_of_any_length_do_not_cost_the_document() -> None:
    long = "x" * 5000
    block = Block("paragraph", 0, 4, place=long, links=(long, "short"))
    sent = ParsedDocument("a", "t", "text", (block,), names=("name", long))
    got = _through(sent)
    assert (got.names, got.blocks[0].links) == (("name",), ("short",))
    assert got.blocks[0].place == "x" * 1000


def test_items_of_any_depth_do_not_cost_the_document() -> None:
    builder = DocumentBuilder()
    for level in range(0, 3000, 30):
        builder.add("item", "- one", level=level)
    sent = builder.build("a", "t")
    assert _through(sent) == sent
    assert len(sent.text) < 50_000


_PLAIN = ["document", "a", "t", "text", [["code", 0, 4, 0, "", False, [], []]], {}, []]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ([0], "documents"),
        ([1], "b"),
        ([1], "ab"),
        ([1], None),
        ([2], 1),
        ([3], ["text"]),
        ([4], None),
        ([4, 0], []),
        ([4, 0, 0], "script"),
        ([4, 0, 0], []),
        ([4, 0, 1], -1),
        ([4, 0, 1], 0.5),
        ([4, 0, 2], 5),
        ([4, 0, 3], -1),
        ([4, 0, 4], None),
        ([4, 0, 4], "x" * 2000),
        ([4, 0, 5], 1),
        ([4, 0, 6], [1]),
        ([4, 0, 7], [["h", 0, 5, ""]]),
        ([4, 0, 7], [["h", 0, 4]]),
        ([4, 0, 7], {"h": 1}),
        ([5], []),
        ([6], "names"),
        ([6], [["x"]]),
    ],
)
def test_a_message_with_any_part_wrong_is_refused(path: list[int], value: object) -> None:
    assert isinstance(message_item(_PLAIN, "a", ""), ParsedDocument)
    message = json.loads(json.dumps(_PLAIN))
    part = message
    for index in path[:-1]:
        part = part[index]
    part[path[-1]] = value
    with pytest.raises(BadMessageError):
        message_item(message, "a", "")


def test_blocks_that_overlap_are_refused() -> None:
    blocks = [["code", 0, 3, 0, "", False, [], []], ["code", 2, 4, 0, "", False, [], []]]
    with pytest.raises(BadMessageError):
        message_item(["document", "a", "t", "text", blocks, {}, []], "a", "")


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"[1", b"\xff", b"[" * 200_000, b"[" + b"9" * 5000 + b"]"]
)
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(BadMessageError):
        parse_message(data)


@pytest.mark.parametrize(
    "data", [b"", b"\0\0", struct.pack(">I", 5) + b"abc", struct.pack(">I", (1 << 28) + 1) + b"abc"]
)
def test_a_stream_that_is_cut_or_announces_too_much_ends(data: bytes) -> None:
    assert reading.read_message(io.BytesIO(data)) is None
