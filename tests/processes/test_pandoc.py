"""Formats that pandoc reads, in a process of its own, and what happens where it does not."""

import sys
from pathlib import Path

import pytest

from memnet.errors import InputError
from memnet.loaders import pandoc
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile, find_format, format_by_name
from tests.unit.loaders.parsed import check, kinds, links, only

ORG = """#+TITLE: Ferries
#+AUTHOR: Ann

* North
The *Swan* sails to [[file:plan.org][the plan]].

- one
- two
* Costs :noexport:
| Trip | Price |
|------+-------|
| day  | $4    |

#+begin_src sh :exports none
ls
#+end_src
"""
ASCIIDOC = """= Ferries
Ann

include::other.adoc[]

ifdef::web[]
== North
endif::[]

The *Swan* sails to xref:plan.adoc[the plan].

* one
* two

|===
|Trip |Price

|day |$4
|===

----
ls
----
"""
LATEX = r"""\documentclass{article}\title{Ferries}\author{Ann}\begin{document}\maketitle
\section{North}The \emph{Swan} sails, $x^2$.
\begin{itemize}\item one\item two\end{itemize}\begin{verbatim}
ls
\end{verbatim}\end{document}"""
MAN = ".TH ferry 1\n.SH NAME\nferry \\- sails\n.SH OPTIONS\n.TP\n.B \\-a\nAll.\n"
DOCBOOK = """<article xmlns="http://docbook.org/ns/docbook"><title>Ferries</title>
<section><title>North</title><para>The Swan sails.</para></section></article>"""
JATS = """<article><front><article-meta><title-group><article-title>Ferries</article-title>
</title-group></article-meta></front><body><sec><title>North</title><p>The Swan sails.</p></sec>
</body></article>"""
FB2 = """<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"><description><title-info>
<book-title>Ferries</book-title></title-info></description><body><section><title><p>North</p>
</title><p>The Swan sails.</p></section></body></FictionBook>"""


def load(name: str, text: str | bytes) -> ParsedDocument:
    data = text.encode() if isinstance(text, str) else text
    found = find_format(name, data[:4096])
    assert found is not None
    document = only(list(found.loader()(SourceFile(name, data))))
    check(document, name)
    return document


@pytest.mark.parametrize(("name", "text"), [("a.org", ORG), ("a.adoc", ASCIIDOC)])
def test_headings_lists_tables_code_and_links(name: str, text: str) -> None:
    document = load(name, text)
    found = kinds(document)
    assert document.title == "Ferries"
    assert document.metadata["author"] == "Ann"
    assert found[:4] == [
        ("heading", "North"), ("paragraph", "The Swan sails to the plan."),
        ("item", "- one"), ("item", "- two"),
    ]  # fmt: skip
    assert [each for each in found if each[0] in ("header", "row", "code")] == [
        ("header", "Trip | Price"), ("row", "day | $4"), ("code", "ls"),
    ]  # fmt: skip
    assert links(document) == ["plan"]


@pytest.mark.parametrize(
    ("name", "text", "title", "found"),
    [
        ("a.tex", LATEX, "Ferries", ("heading", "North")),
        ("a.1", MAN, "ferry", ("item", "-a: All.")),
        ("a.dbk", DOCBOOK, "Ferries", ("paragraph", "The Swan sails.")),
        ("a.nxml", JATS, "Ferries", ("heading", "North")),
        ("a.fb2", FB2, "Ferries", ("paragraph", "The Swan sails.")),
        ("a.wiki", "== North ==\n* [[Plan|the plan]]", "a", ("item", "- the plan")),
        ("a.textile", "h1. North\n\n* one", "North", ("item", "- one")),
        ("a.typ", "= North\n- one", "North", ("item", "- one")),
        ("a.rtf", r"{\rtf1 {\b Swan} sails.\par}", "a", ("paragraph", "Swan sails.")),
        ("a.txt", r"{\rtf1 named as text.}", "a", ("paragraph", "named as text.")),
    ],
)
def test_other_formats(name: str, text: str, title: str, found: tuple[str, str]) -> None:
    document = load(name, text)
    assert document.title == title
    assert found in kinds(document)


def test_a_log_that_is_numbered_is_no_manual_page() -> None:
    assert find_format("system.log.1", b"started\nended\n") is None
    known = find_format("ls.1", MAN.encode())
    assert known is not None
    assert known.name == "man"


def test_a_part_that_pandoc_can_not_read_stays_as_it_is_written() -> None:
    broken = "* One\ntext\n* Two\n\\par Not closed \\begin{a}\n\n  + x :: \n* Three\nmore /text/\n"
    document = load("a.org", broken)
    assert "more text" in document.text
    assert "Not closed" in document.text


@pytest.mark.parametrize(
    ("name", "text"), [("a.org", ""), ("a.adoc", "// comment"), ("a.rtf", r"{\rtf1 }")]
)
def test_a_file_without_text_is_refused(name: str, text: str) -> None:
    with pytest.raises(InputError, match="is empty"):
        load(name, text)


@pytest.mark.parametrize("name", ["a.adoc", "a.tex", "a.textile", "a.wiki", "a.typ"])
@pytest.mark.parametrize("data", [b"\0" * 500, bytes(range(256)) * 10])
def test_a_binary_file_is_refused(name: str, data: bytes) -> None:
    with pytest.raises(InputError, match="binary"):
        load(name, data)


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("a.fb2", f'<?xml version="1.0" encoding="windows-1251"?>{FB2}', "cp1251"),
        ("a.org", "* Fähre\nDer Schwan fährt nach Köln.\n", "cp1252"),
        ("a.org", "* Паром\nЛебедь плывёт.\n", "utf-16"),
    ],
)
def test_a_text_in_another_encoding_is_read(name: str, text: str, encoding: str) -> None:
    text = text.replace("The Swan sails.", "Лебедь плывёт.")
    document = load(name, text.encode(encoding))
    assert document.text == load(name, text).text


@pytest.mark.parametrize("text", [DOCBOOK[:60], '<!DOCTYPE a [<!ENTITY b "ha">]><a>&b;'])
def test_damaged_xml_is_one_line(text: str) -> None:
    with pytest.raises(InputError) as raised:
        load("a.dbk", text)
    assert "\n" not in str(raised.value)


def test_nothing_outside_of_the_file_is_read() -> None:
    secret = Path(__file__).resolve()
    document = load("a.tex", rf"\input{{{secret}}}\includegraphics{{{secret}}} Text")
    assert document.text == "Text"


def test_without_pandoc_a_file_is_named_with_the_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pandoc, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"memnet-qa\[pandoc\]") as raised:
        load("a.org", ORG)
    assert raised.value.reason == "files that need pandoc"


@pytest.mark.skipif(sys.platform == "win32", reason="the program is a script")
@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'Unknown option --sandbox.' >&2; exit 2", "needs a newer pandoc"),
        ("echo 'Unknown input format asciidoc' >&2; exit 21", "needs a newer pandoc"),
        ("exit 251", "of memory"),
        ("kill -9 $$", "signal 9"),
        ("exec sleep 60", "takes pandoc more than 0.2 s"),
        ("echo 'Error: bad\nmore' >&2; exit 1", "by pandoc .Error: bad more.;"),
        ("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", "more than 1,000 bytes"),
    ],
)
def test_what_pandoc_says_is_one_line(
    script: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "pandoc"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr(pandoc, "executable", lambda: str(program))
    monkeypatch.setattr(pandoc, "_SECONDS", 0.2 if "sleep" in script else 20.0)
    monkeypatch.setattr(pandoc, "_MAX_OUTPUT", 1000)
    with pytest.raises(InputError, match=message):
        list(format_by_name("rtf").loader()(SourceFile("a.rtf", b"x")))
