"""Where short answers begin and end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.reader.values import with_borders


@pytest.mark.parametrize(
    ("text", "read", "expected"),
    [
        ("Stored at -18 °C or less.", "18", "-18 °C"),
        ("Stored at −4.5 °C.", "4.5", "−4.5 °C"),
        ("It sank by +3 % in May.", "3", "+3 %"),
        ("The pass costs € 7.20 a day.", "7", "€ 7.20"),
        ("The pass costs 7,20 € a day.", "7,20", "7,20 €"),
        ("A ton is $1,250.", "250", "$1,250"),
        ("Weigh 40 g of salt.", "40", "40 g"),
        ("Call +43 660 123 45 at night.", "660", "+43 660 123 45"),
        ("Soak it for 2-3 weeks.", "3", "2-3 weeks"),
        ("Room B-12 is free.", "12", "12"),
        ("Sold for 90 crowns to Ida Voss.", "90 crowns to", "90 crowns"),
        ("The password is heron-7-cliff, in lower case.", "heron", "heron-7-cliff"),
        ("The host is quay_box.", "quay", "quay_box"),
        ("It is low - mostly.", "low", "low"),
        ("See pages 4, 7 and 9.", "7", "7"),
        ("It opened in 1987 with 450 seats.", "1987", "1987"),
        ("Ask Ada Mull (the cook) first.", "Ada Mull (the cook", "Ada Mull (the cook)"),
        ("Ask Ada Mull (the cook) first.", "cook)", "(the cook)"),
        ("Ask 1) Ada or Bo.", ") Ada", "Ada"),
        ("Call it “Red Kite” then.", "“Red", "“Red Kite”"),
        ("- red paint\n- blue paint", "red paint\n- blue", "red paint"),
        ("1. red paint\n2. blue paint", "- red paint"[2:], "red paint"),
        ("colour: dark green, matt", ": dark green,", "dark green"),
        ("A hard line\nbreak stays", "line\nbreak", "line\nbreak"),
        ("Sail: jib; Price £: 60; Sold: no", "£: 60", "60"),
        ("Sail: jib; Area (m²): 14.5", "(m²): 14.5", "14.5"),
        ("Sail: jib; Price: £ 60", "£ 60", "£ 60"),
        ("Monday | 8 to 9 | Ann", "8 to 9 | Ann", "8 to 9"),
        ("The undertow is strong", "tow", "undertow"),
        ("it is on 16 May\n11:40 <ida> fine", "16 May\n11:40", "16 May"),
        ("open from 9:00 to\n17:30 in May", "9:00 to\n17:30", "9:00 to\n17:30"),
        ("it is on 16 May\n[3.5.24, 11:40] Ida: fine", "16 May\n[3.5.24", "16 May"),
        ("—", "—", "—"),
        ("It leaves from Quay A.", "Quay A", "Quay A"),
        ("Deposit – 40 euros", "40 euros", "40 euros"),
        ("Ida Voss (1871–1940) painted.", "1871", "1871"),
        ("Open for 1871–1940.", "1871–1940", "1871–1940"),
    ],
)
def test_short_answers_end_at_sensible_borders(text: str, read: str, expected: str) -> None:
    start = text.index(read)
    first, last = with_borders(text, start, start + len(read))
    assert text[first:last] == expected


@given(st.text("ab 1.-(\n)“”|€°C", max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_a_span_stays_a_span_of_its_text(text: str, start: int, length: int) -> None:
    start, end = min(start, len(text)), min(start + length, len(text))
    first, last = with_borders(text, start, end)
    assert 0 <= first <= last <= len(text)
    assert first < last or start == end
