"""Numbers of spreadsheets as their formats show them."""

import pytest

from memnet.loaders.tables.sheets import BUILT_IN, show, show_time


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        (0.125, "0.0%", "12.5%"),
        (0.4, "0%", "40%"),
        (0.005, "0.00", "0.01"),  # half up, where the float is a little less
        (1.005, "0.00", "1.01"),
        (815.0, '"$"#,##0.00', "$815.00"),
        (-815.0, '"$"#,##0.00', "-$815.00"),
        (2340.5, "#,##0.00", "2,340.50"),
        (17.0, "#,##0.00", "17.00"),
        (0.5, "#.##", ".5"),
        (4.0, "0.##", "4"),
        (471.0, "00000", "00471"),
        (75.0, '0 "l"', "75 l"),
        (75.0, "0\\ \\l", "75 l"),
        (2.5, 'General" h"', "2.5 h"),
        (0.1 + 0.2, 'General" h"', "0.3 h"),
        (60.0, "#,##0.00 [$€-407]", "60.00 €"),
        (60.0, "[$£-809]#,##0", "£60"),
        (-60.0, "#,##0.00 [$€-407];(#,##0.00 [$€-407])", "(60.00 €)"),
        (-60.0, "0.0;-0.0", "-60.0"),
        (-60.0, "0;[Red]0", "-60"),  # that it is red is not seen
        (-60.0, '_-* #,##0 "kr"_-;-* #,##0 "kr"_-;_-* "-" "kr"_-;_-@_-', "-60 kr"),
        (-0.001, "0.0", "0.0"),
        (0.0, '0;-0;"none "0', "none 0"),
        (2_500_000.0, '0.0,,"M"', "2.5M"),
        (3, "0.0", "3.0"),
    ],
)
def test_a_number_is_shown_as_its_format_says(number: float, code: str, shown: str) -> None:
    assert show(number, code) == shown


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (5.0, ""),
        (5.0, "@"),
        (5.0, "yyyy-mm-dd"),
        (5.0, "[h]:mm"),
        (5.0, "# ?/?"),
        (5.0, "000-000"),
        (5.0, "0.00E+00"),
        (5.0, "[>=10]0;0.0"),
        (5.0, ";;;"),
        (0.0, '0;-0;"-"'),
        (1e300, "0.00"),
        (float("inf"), "0"),
        (float("nan"), "0"),
    ],
)
def test_other_formats_are_left_to_the_caller(number: float, code: str) -> None:
    assert show(number, code) is None


def test_formats_known_by_number_are_covered() -> None:
    times = {code for code in BUILT_IN.values() if ":" in code}
    assert {show_time(98765, code) for code in times} == {"3:26", "3:26:05", "26:05", "27:26:05"}
    assert {show(-1234.5, code) for code in {*BUILT_IN.values()} - times} == {
        "-1235",
        "-1234.50",
        "-1,235",
        "-1,234.50",
        "-123450%",
        "-123450.00%",
        "-$1,235",
        "-$1,234.50",
        "(1,235)",
        "(1,234.50)",
        "($1,235)",
        "($1,234.50)",
    }
