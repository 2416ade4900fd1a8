"""reStructuredText: what is read of it, and what is left out."""

import pytest
from hypothesis import given

from memnet.errors import InputError
from memnet.loaders.document import ParsedDocument
from tests.unit.loaders.parsed import kinds, links, only, read, soup, survives


def document(text: str) -> ParsedDocument:
    return only(read("some-page.rst", text))


def shown(text: str) -> list[tuple[str, str]]:
    return kinds(document(f"Intro.\n\n{text}"))[1:]


def texts(text: str) -> list[str]:
    return [part for _, part in shown(text)]


def test_sections_are_headings_by_the_order_of_their_adornments() -> None:
    page = document(
        ":author: Ann\n\n.. _ferry-page:\n\n=======\nFerries\n=======\n\na\n\nNorth\n-----\n\nb\n\n"
        "Deep\n~~~~\n\nc\n\nSouth\n-----\nd\n"
    )
    assert (page.title, page.metadata, page.names) == (
        "Ferries",
        {"author": "Ann"},
        ("ferry-page",),
    )
    headings = [block for block in page.blocks if block.kind == "heading"]
    assert [(page.text[one.start : one.end], one.level) for one in headings] == [
        ("North", 2), ("Deep", 3), ("South", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("*em* **bold** ``a *b* `c``` 2*3*4", "em bold a *b* `c` 2*3*4"),
        (":ref:`Text <label>` :ref:`two-words`", "Text two words"),
        (":func:`~os.path.join` :class:`!Foo` :meth:`a.b`", "join Foo a.b"),
        (":doc:`/guide/first-steps` :pep:`8` :kbd:`Ctrl+C`", "first-steps PEP 8 Ctrl+C"),
        (":menuselection:`File --> Open` :guilabel:`&Save`", "File > Open Save"),
        ("`Site <https://x.org>`_ `two words`_ word_ __init__", "Site two words word __init__"),
        ("note [1]_ and [#a]_ but [Knuth]_ |release|", "note [1] and [#a] but [Knuth] release"),
        (r"\*esc\* foo\ s a_b_ snake_case", "*esc* foos a_b snake_case"),
        ("unknown:`role <x>` and :my:role:`text`", "unknown:role <x> and text"),
    ],
)
def test_markup_within_a_text(source: str, text: str) -> None:
    assert texts(source) == [" ".join(text.split())]


def test_substitutions_are_put_in() -> None:
    assert texts(".. |x| replace:: the *ferry*\n\nTake |x|.")[-1] == "Take the ferry."


def test_links_are_names() -> None:
    page = document(
        "See :doc:`/a/plan` :ref:`x <the-label>` `y <z/other.rst>`_ `w <https://x.org>`_ `Own "
        "part`_.\n\n"
        ".. toctree::\n   :maxdepth: 1\n\n   install\n   Use it <usage/guide>\n"
    )
    assert links(page) == ["plan", "the label", "other", "Own part", "install", "guide"]
    assert "install" not in page.text


def test_a_page_that_is_only_a_table_of_contents_leads_to_its_entries() -> None:
    page = document("Guide\n=====\n\n.. toctree::\n\n   install\n   usage/first\n")
    assert kinds(page) == [("heading", "Guide")]
    assert links(page) == ["install", "first"]


def test_items_are_blocks() -> None:
    assert shown("* one\n  more\n\n  para\n\n* two\n\n  #. deep\n  #. deeper\n\n3) three") == [
        ("item", "- one more"), ("item", "para"), ("item", "- two"), ("item", "1. deep"),
        ("item", "2. deeper"), ("item", "3. three"),
    ]  # fmt: skip
    assert texts("2. Not an item but\na paragraph of two lines.") == [
        "2. Not an item but a paragraph of two lines."
    ]


def test_definitions_fields_and_options_stand_with_their_terms() -> None:
    assert texts("Term\n   Its text.\n\nOther : kind\n   More.") == [
        "Term: Its text.",
        "Other : kind: More.",
    ]
    assert texts(":param int a: the first\n:returns: nothing") == [
        "param int a: the first",
        "returns: nothing",
    ]
    assert texts("-a, --all   Everything.\n--size=N\n    The size.") == [
        "-a, --all: Everything.", "--size=N: The size.",
    ]  # fmt: skip


def test_code_is_kept_as_it_stands() -> None:
    assert shown("Do this::\n\n   a\n     *b*\n\nend") == [
        ("paragraph", "Do this:"), ("code", "a\n  *b*"), ("paragraph", "end"),
    ]  # fmt: skip
    assert shown("::\n\n   a") == [("code", "a")]
    assert shown("x::\n\n> a\n> b\n\nend")[1:] == [("code", "> a\n> b"), ("paragraph", "end")]
    assert shown(".. code-block:: python\n   :linenos:\n\n   a\n\n   b") == [("code", "a\n\nb")]
    assert shown(">>> 1 + 1\n2") == [("code", ">>> 1 + 1\n2")]


def test_directives() -> None:
    assert texts(".. note:: Body *one*\n   goes on.\n\n   Two.") == [
        "Note: Body one goes on.",
        "Two.",
    ]
    assert texts(".. warning::\n\n   Body") == ["Warning: Body"]
    assert texts(".. admonition:: Mind\n\n   Body") == ["Mind", "Body"]
    assert texts(".. versionadded:: 3.1\n.. deprecated:: 3.2\n   Use x.\n\nend") == [
        "Added in version 3.1", "Deprecated since version 3.2: Use x.", "end",
    ]  # fmt: skip
    assert texts(".. confval:: SPEED\n   :type: int\n\n   How fast.") == ["SPEED: How fast."]
    assert texts(".. only:: html\n\n   Body") == ["Body"]
    assert texts(".. image:: a.png\n   :alt: The tall old tower") == ["The tall old tower"]
    assert texts(".. raw:: html\n\n   <b>\n\n.. a comment\n   of two lines\n\nend") == ["end"]
    assert texts("..\n\n   Quoted after an empty comment.") == ["Quoted after an empty comment."]


GRID = """\
+-----+-----+
| A   | B   |
+=====+=====+
| 1   | 2   |
|     | 3   |
+-----+-----+
| over both |
+-----+-----+
"""
SIMPLE = """\
========= =====
 A         B
========= =====
1         2
          3
over both
========= =====
"""
LIST = """\
.. list-table::
   :header-rows: 1

   * - A
     - B
   * - 1
     - 2
       3
   * - over both
     -
"""
CSV = """\
.. csv-table::
   :header: A, B

   1, "2 3"
   over both,
"""


@pytest.mark.parametrize("table", [GRID, SIMPLE, LIST, CSV])
def test_tables_are_rows_under_their_headers(table: str) -> None:
    page = document(f"Intro.\n\n{table}\nend")
    assert kinds(page)[1:] == [
        ("header", "A | B"), ("row", "1 | 2 3"), ("row", "over both"), ("paragraph", "end"),
    ]  # fmt: skip
    assert [cell.header for cell in page.blocks[2].cells] == ["A", "B"]


def test_quotes_and_line_blocks() -> None:
    assert shown("    Said.\n\n    -- Ann\n\n| one\n| *two*") == [
        ("quote", "Said."), ("quote", "—Ann"), ("paragraph", "one\ntwo"),
    ]  # fmt: skip


def test_a_page_without_text_is_refused() -> None:
    for empty in ("", ".. comment", ".. _a: https://x.org", ":orphan:"):
        with pytest.raises(InputError, match="empty"):
            document(empty)


def test_what_is_nested_too_deeply_stays_text() -> None:
    nested = "\n\n".join("  " * depth + f"* word{depth}" for depth in range(40))
    text = document(nested).text
    assert all(f"word{depth}" in text for depth in range(40))
    with pytest.raises(InputError, match="nested too deep"):
        document("- " * 1000 + "x")


@given(
    soup(
        ".. :: ::\n\n a:: note:: table:: list-table:: |a| |x| _a: `a` `a`_ :a:`b` ** * `` - 1. #. "
        "==== ---- ~~~~ === =  +--+ +==+ | > >>> :a: -a --b \\ [1] [1]_ word \t"
    )
)
def test_any_text_is_read(text: str) -> None:
    survives("a.rst", text)
