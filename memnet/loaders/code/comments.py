"""Comments of programming languages: which lines are one, and what it says."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

# Lines for programs: "#!/bin/sh", "-*- coding: utf-8 -*-".
_MACHINE_LINE = re.compile(
    r"\s*(?:#!|.*-\*-.*-\*-\s*$|.*\b(?:vim?|ex):\s*set?\b|.*eslint-|.*@ts-|.*noqa\b"
    r"|.*frozen_string_literal:|=(?:begin|end|cut|back|over|pod|encoding|for)\b)"
)
_DECORATION = re.compile(r"[-=*#~_/+|\s]*$")
_RULE = re.compile(r"^[-=*#~_/+]{3,}\s*|\s*[-=*#~_/+]{4,}$")
# Of documentation comments in HTML or XML.
_TAG = re.compile(
    r"</?(?:summary|remarks|para|returns|value|example|c|code|pre|b|i|em|strong|tt|p|br|ul|ol|li"
    r"|(?:a|h[1-6])(?:\s[^<>]{0,200})?)\s*/?>|</?see(?:also)?(?:\s[^<>]{0,200})?/?>"
)
# Of Java: "{@code x}"; of Perl: "C<x>".
_INLINE_TAG = re.compile(
    r"\{@(?:code|literal|link|linkplain|value)(?:\s+([^{}]{0,200})\}|\s)|\b[BCFILS]<([^<>\n]{1,200})>"
)
_POD = re.compile(r"=(?:head[1-6]|item)[ \t]+")


@dataclass(frozen=True)
class Syntax:
    """How comments are written."""

    lines: tuple[str, ...]  # what begins a comment up to the end of its line
    blocks: tuple[tuple[str, str], ...] = ()  # what begins and what ends a comment of any length

    def comment_lines(self, lines: Sequence[str]) -> list[bool]:
        """Of each line whether it is part of a comment and of nothing else."""
        found = []
        closing = ""
        for line in lines:
            text = line.strip()
            if closing:
                found.append(True)
                if closing in text:
                    closing = ""
                continue
            block = next((pair for pair in self.blocks if self._opens(line, pair[0])), None)
            if block is None:
                found.append(text.startswith(self.lines))
                continue
            end = text.find(block[1], len(block[0]))
            if end < 0:
                closing = block[1]
            found.append(end < 0 or end + len(block[1]) == len(text))
        return found

    def _opens(self, line: str, mark: str) -> bool:
        # "=head1" only at the start of a line, "/*" anywhere before other text.
        return line.startswith(mark) if mark.startswith("=") else line.lstrip().startswith(mark)

    def text(self, lines: Sequence[str]) -> str:
        """What a comment says: without its marks, and lines for programs or for decoration."""
        texts = []
        for line in lines:
            if _MACHINE_LINE.match(line):
                texts.append("")  # the lines keep their numbers
                continue
            text = _POD.sub("", self._without_marks(line.strip())).rstrip()
            texts.append("" if _DECORATION.match(text) else _RULE.sub("", text).rstrip())
        joined = _TAG.sub("", "\n".join(texts))
        return _INLINE_TAG.sub(lambda found: found[1] or found[2] or "", joined)

    def _without_marks(self, text: str) -> str:
        for opening, closing in self.blocks:
            if text.startswith(opening) and not opening.startswith("="):
                text = text[len(opening) :].lstrip("*!")
            if text.endswith(closing):
                text = text[: -len(closing)].rstrip("*")
        for mark in self.lines:
            if text.startswith(mark):
                # "///" and "##" are marks of documentation.
                return text[len(mark) :].lstrip(mark[0]).removeprefix("!").removeprefix(" ")
        if text.startswith("*") and any(opening == "/*" for opening, _ in self.blocks):
            text = text[1:]
        return text.removeprefix(" ")


_C = Syntax(("//",), (("/*", "*/"),))
HASH = Syntax(("#",))
_DASH = Syntax(("--",), (("--[[", "]]"), ("{-", "-}"), ("/*", "*/")))
_PERL = Syntax(("#",), (("=", "=cut"),))
_BY_SUFFIX = {
    suffix: syntax
    for suffixes, syntax in (
        (".py .pyi .pyw .sh .bash .zsh .fish .r .jl .tcl .cmake .mk .nim .ex .exs", HASH),
        (".pl .pm", _PERL),
        (".rb", Syntax(("#",), (("=begin", "=end"),))),
        (".ps1", Syntax(("#",), (("<#", "#>"),))),
        (".php", Syntax(("//", "#"), (("/*", "*/"),))),
        (".sql .lua .hs .elm", _DASH),
        (".lisp .el .scm .clj", Syntax((";",))),
        (".vb", Syntax(("'",))),
        (".erl", Syntax(("%",))),
        (".f90", Syntax(("!",))),
    )
    for suffix in suffixes.split()
}


def syntax_of(name: str) -> Syntax:
    """The syntax of a file's comments, by its suffix; that of C if it is not known."""
    return _BY_SUFFIX.get(PurePath(name).suffix.lower(), _C)
