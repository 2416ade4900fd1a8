"""Rows of a text as the network for verdicts reads them: each cell behind its header."""

import pytest

from memnet.reader.rows import with_headers

_TEXT = "Boats\n\nBoat | Owner | Paid\nCurlew | Ann | yes\nHeron |  | no\n\nPay by May."


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        ("Curlew | Ann | yes", ["Boat: Curlew; Owner: Ann; Paid: yes"]),
        ("Heron |  | no", ["Boat: Heron; Paid: no"]),
        ("Pay by May.", ["Pay by May."]),
        (
            "Curlew | Ann | yes\nHeron |  | no\n\nPay by May.",
            ["Boat: Curlew; Owner: Ann; Paid: yes", "Boat: Heron; Paid: no", "Pay by May."],
        ),
    ],
)
def test_rows_of_a_text_have_their_headers_in_front(part: str, lines: list[str]) -> None:
    start = _TEXT.index(part)
    assert with_headers(_TEXT, "Boats", start, start + len(part)).splitlines() == lines


@pytest.mark.parametrize("text", ["The boats are in.", "Boat: Curlew; Paid: yes"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert with_headers(text, "Boats", 0, len(text)) == text
