"""Files become text: limits, files that change meanwhile, encodings."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError
from memnet.io import decode, read_file

_FRENCH = "L’été à la forêt : « où êtes-vous ? » Ça coûte 5 €, naïve – œuvre de l’élève."
_GERMAN = "Die Größe der Straße übersteigt fünf Füße; schön wär’s, Herr Müller."
_WELSH_ENGLISH = "The café’s “résumé” — 20 °C, ½ litre, §3, x² and 5 µm."


_QUOTED = "The ‘Elm’ suite costs €60 – “late” guests ring Ann’s bell…"


@pytest.mark.parametrize(
    "text", [_FRENCH, _GERMAN, _WELSH_ENGLISH, _QUOTED, "caf\xe9", "\xa9 2024 Ann"]
)
def test_windows_1252_is_read_as_itself(text: str) -> None:
    assert decode(text.encode("cp1252")) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Съешь же ещё этих мягких французских булок", "cp1251"),
        ("Съешь же ещё этих мягких французских булок", "koi8-r"),
        ("Ξεσκεπάζω την ψυχοφθόρα βδελυγμία", "cp1253"),
        ("דג סקרן שט בים מאוכזב", "cp1255"),
        ("いろはにほへと散りぬるを", "shift-jis"),
        ("いろはにほへと散りぬるを", "euc-jp"),
        ("猫は庭です。", "euc-jp"),
        ("Vi bor vid en sjö.", "cp850"),
        ("Il est déjà là.", "cp850"),
        ("视野无限广，窗外有蓝天", "gb18030"),
        ("Zażółć gęślą jaźń, pójdźże kiń tę chmurność w głąb flaszy", "cp1250"),
        ("Zażółć gęślą jaźń, pójdźże kiń tę chmurność w głąb flaszy", "iso-8859-2"),
        (_GERMAN.replace("’", "'"), "mac-roman"),
        (_GERMAN.replace("’", "'"), "cp850"),
        ("Där står på bänken en låda", "mac-roman"),
        ("El pingüino comió jamón en la estación más cálida", "mac-roman"),
    ],
)
def test_other_code_pages_are_refused_rather_than_garbled(text: str, encoding: str) -> None:
    try:
        found = decode(text.encode(encoding))
    except InputError as error:
        assert "convert it to UTF-8 first" in str(error)  # noqa: PT017
    else:
        assert found == text


_HARBOUR = {
    "cp1250": "Przystań leży na północ od miasta. Latarnię zbudowano później, w roku następnym, "
    "a łódź strażnika stoi przy moście. Ścieżka jest wąska i śliska, więc idźcie ostrożnie.",
    "iso8859-2": "Přístav leží severně od města. Maják byl postaven později, až v příštím století, "
    "a člun strážce stojí u mostu. Žádná loď tu nesmí zůstat přes noc bez svolení.",
    "cp1251": "Маяк стоит к северу от гавани, а ключ от него хранится у смотрителя.",
    "koi8-r": "Маяк стоит к северу от гавани, а ключ от него хранится у смотрителя.",
    "cp1253": "Ο φάρος βρίσκεται βόρεια του λιμανιού και το κλειδί το έχει ο φύλακας.",
    "cp1254": "Deniz feneri limanın kuzeyindedir; anahtarı bekçidedir, şifresi değişmiştir.",
    "gb18030": "灯塔在港口的北边，钥匙由看守人保管，每年春天检查一次。",
    "cp932": "灯台は港の北にあり、鍵は番人が持っています。毎年春に点検します。",
    "cp949": "등대는 항구의 북쪽에 있고 열쇠는 등대지기가 가지고 있다.",
}


@pytest.mark.parametrize(("encoding", "text"), _HARBOUR.items())
def test_a_text_that_is_long_enough_is_read_in_the_encoding_it_has(
    encoding: str, text: str
) -> None:
    pytest.importorskip("chardet")
    assert decode(f"{text}\n".encode(encoding) * 3) == f"{text}\n" * 3


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_mark_tells_the_encoding(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)) == text


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")))
def test_all_of_utf_8_is_read_as_it_stands(text: str) -> None:
    assert decode(text.encode()) == text


@given(data=st.binary(max_size=200))
def test_any_bytes_are_text_or_refused_in_one_line(data: bytes) -> None:
    try:
        text = decode(data)
    except InputError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        text.encode()  # no unpaired surrogates


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_recognised(encoding: str) -> None:
    assert decode(_FRENCH.encode(encoding)) == _FRENCH


def test_iso_2022_jp_is_recognised_by_its_escape_sequences() -> None:
    assert decode("受付は2階です。\n".encode("iso-2022-jp") * 2) == "受付は2階です。\n" * 2


@pytest.mark.parametrize(
    "data",
    [
        b"PNG\0\1\2",
        b"\0",
        b"text\0",
        b"\0" * 100,
        bytes(range(256)),
        "one \0 two".encode("utf-16-le"),
        b"caf\xe9 \x02\x03\x04",
    ],
)
def test_binary_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="is binary"):
        decode(data)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (_FRENCH.encode()[:-1] + b"\xc3", _FRENCH[:-1] + "\ufffd"),
        (_FRENCH.encode() + b" \xff " + _GERMAN.encode(), f"{_FRENCH} \ufffd {_GERMAN}"),
        ("漢字".encode() * 20 + "漢".encode()[:2], "漢字" * 20 + "\ufffd"),
    ],
)
def test_a_damaged_byte_of_utf_8_is_a_mark_in_the_text(data: bytes, text: str) -> None:
    assert decode(data) == text


@pytest.mark.parametrize("changing", [range(2, 3), range(99)])
def test_a_file_that_changes_is_read_as_it_is_afterwards_if_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changing: range
) -> None:
    path = tmp_path / "a.log"
    path.write_text("one")
    real = os.fstat
    states: list[os.stat_result] = []

    def fstat(descriptor: int) -> os.stat_result:
        states.append(real(descriptor))
        if len(states) in changing:  # the second time its size is looked at
            with path.open("a") as other:
                other.write(" two")
        return states[-1]

    monkeypatch.setattr(os, "fstat", fstat)
    if len(changing) == 1:
        assert read_file(path, 100) == b"one two"
        assert len(states) > 3  # it was read twice
    else:
        with pytest.raises(InputError, match="changes while it is read"):
            read_file(path, 1000)


def test_the_limit_is_checked_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a terabyte that takes no space
    with pytest.raises(InputError, match="holds 1,099,511,627,776 bytes, the limit is 1,000"):
        read_file(path, 1000)


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="has no such files")
def test_files_without_a_size_are_read() -> None:
    assert read_file("/proc/version", 1000)
    with pytest.raises(InputError, match="changes while it is read"):
        read_file("/proc/version", 3)
