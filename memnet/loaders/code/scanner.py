"""Source code of any language, by its comments, empty lines and indentation."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memnet.loaders.code.comments import syntax_of
from memnet.loaders.document import DocumentBuilder, paragraphs

_CLOSER = re.compile(
    r"\s*(?:[)\]}>{]|end\b|done\b|fi\b|esac\b|else\b|elif\b|elsif\b|catch\b|finally\b|rescue\b|ensure\b|until\b|GO\b)"
)
_ATTRIBUTE = re.compile(r"\s*(?:@\w|#\[|\[[A-Z]\w*[(\]])")
_NAME = r"[A-Za-z_$][\w$]*(?:(?:::|\.|#)~?[A-Za-z_$][\w$]*)*[?!=]?"
_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|fileprivate|static|final|abstract|"
    r"async|override|virtual|sealed|partial|open|data|inline|pub(?:\([^)]{0,40}\))?|unsafe|const|"
    r"constexpr|local|declare|readonly|suspend|case|value|mutating|template<[^>]{0,200}>|typedef|"
    r"extern(?:\s+\"C\")?|create(?:\s+or\s+replace)?|temp|temporary|unique|materialized)\s+)*"
)
_KEYWORD = re.compile(
    rf"\s*\(?{_MODIFIERS}"
    r"(?P<kind>class|struct|interface|enum(?:\s+class)?|union|trait|fn|func|fun|function\*?|def|"
    r"defp|defmodule|defmacro|defun|defn-?|defvar|defcustom|define|sub|module|mod|namespace|type|"
    r"record|object|protocol|extension|contract|message|service|rpc|actor|table|view|procedure|"
    r"trigger|index|macro_rules!|macro|subroutine|program|entity)\s+"
    rf"(?:if\s+not\s+exists\s+)?"
    rf"(?:\((?:\w+\s+)?\*?(?P<receiver>\w+)[^()]{{0,100}}\)\s*)?[\"`'\[(]?(?P<name>{_NAME})",
    re.IGNORECASE,
)
_IMPL = re.compile(
    r"\s*(?:unsafe\s+)?impl(?:<[^{}]{0,100}?>)?\s+(?P<name>[^{]{1,100}?)\s*(?:\{|where\b|$)"
)
_ASSIGNED = re.compile(
    rf"\s*(?:[\w$<>\[\],.*&?:]+\s+){{0,6}}[*&$@]?(?P<name>{_NAME})(?:\[[^\[\]]{{0,80}}\])*"
    r"(?:\s*:[^=]{1,200})?\s*(?:=(?!=)|<-)"
)
_SHELL = re.compile(r"\s*(?P<name>[\w:-]{1,100})\s*\(\)\s*\{?\s*$")
_CALLABLE = re.compile(
    rf"\s*(?P<before>(?:[\w$<>\[\],.*&:?~@]+\s+){{0,8}}[*&]*)(?P<name>[~#]?{_NAME})\s*(?:<[^<>]{{0,80}}>)?\("
)
_WORD = re.compile(r"\W*(\w*)")
_NO_NAMES = frozenset(
    "if for while switch return else catch throw new case do sizeof assert require import using "
    "elif with print echo foreach unless until await yield delete typeof describe it test".split()
)
_CONTAINERS = frozenset(
    "class struct interface enum trait module mod namespace object protocol extension contract "
    "defmodule service actor record union".split()
)
_MAX_LINE = 300  # characters of a line in which a name is looked for
_MIN_SPLIT = 25  # lines of a class from which its members are blocks of their own
_MAX_LEVEL = 4
_TAB = 4


class _Chunk(NamedTuple):
    first: int  # index of its first line; ``end`` is that after its last
    end: int


def scan(builder: DocumentBuilder, text: str, name: str) -> None:
    """Add what a file defines: a heading, the comment before it, and its code.

    Args:
        builder: takes the blocks.
        text: of the file.
        name: of the file, the heading of code that follows a definition and is part of none.
    """
    _Scanner(builder, text, name).add(_Chunk(0, text.count("\n") + 1), "", 1)


class _Scanner:
    def __init__(self, builder: DocumentBuilder, text: str, name: str) -> None:
        self._builder = builder
        self._lines = text.split("\n")
        self._name = name
        self._syntax = syntax_of(name)
        self._comments = self._syntax.comment_lines(self._lines)
        self._indents = [
            len(expanded) - len(expanded.lstrip())
            for expanded in (line.expandtabs(_TAB) for line in self._lines)
        ]

    def add(self, within: _Chunk, outer: str, level: int) -> None:
        """Add the chunks of some lines, under the name of what they are in."""
        named = False
        first: int | None = None
        for chunk in self._chunks(within):
            code = self._code_start(chunk)
            first = chunk.first if first is None else first
            if code == chunk.end and named and chunk.end < within.end:
                continue  # a comment on its own is about what follows
            body = _Chunk(code, chunk.end)
            found = self._definition(body)
            if found and found[0] == "variable" and not self._is_one(body):
                found = None
            place = f"line {(code if code < chunk.end else first) + 1}"
            if found:
                self._builder.add("heading", f"{outer}{found[1]}", level=level, place=place)
            elif named:  # what follows is no part of the definition before
                name = outer.rstrip(".") or self._name
                self._builder.add("heading", name, level=max(level - 1, 1), place=place)
            named = found is not None
            self._comment(_Chunk(first, code))
            first = None
            if (
                found
                and found[0] in _CONTAINERS
                and len(range(*body)) >= _MIN_SPLIT
                and level < _MAX_LEVEL
            ):
                members = self._body(body)
                self._code(_Chunk(code, members.first))
                self.add(members, f"{outer}{found[1]}.", level + 1)
            else:
                self._code(body)
        if first is not None:
            self._comment(_Chunk(first, within.end))

    def _is_one(self, code: _Chunk) -> bool:
        """Whether some code is one statement of several lines."""
        base = self._indents[code.first]
        starts = [
            at
            for at in range(*code)
            if self._lines[at].strip()
            and not self._comments[at]
            and self._indents[at] <= base
            and not _CLOSER.match(self._lines[at])
        ]
        return len(starts) == 1 and code.end - code.first > 1

    def _chunks(self, within: _Chunk) -> Iterator[_Chunk]:
        """Runs of lines that belong together.

        A chunk begins after an empty line with a line that is not indented against the others, or
        with a definition after another one.
        """
        indents = [
            self._indents[at]
            for at in range(*within)
            if self._lines[at].strip() and not self._in(at) and not _CLOSER.match(self._lines[at])
        ]
        base = min(indents, default=0)
        first: int | None = None
        defined = False
        end = within.first
        for at in range(*within):
            line = self._lines[at]
            if not line.strip():
                continue
            if first is None:
                first = at
            elif not self._in(at) and self._indents[at] <= base and not _CLOSER.match(line):
                after_gap = not self._lines[at - 1].strip()
                begins = defined and self._begins_definition(_Chunk(at, within.end))
                if after_gap or (begins and not self._belongs(at - 1)):
                    yield _Chunk(first, end)
                    first, defined = at, False
            if not defined and self._indents[at] <= base and not self._comments[at]:
                defined = self._definition(_Chunk(at, at + 1), lines=1) is not None
            end = at + 1
        if first is not None:
            yield _Chunk(first, end)

    def _begins_definition(self, rest: _Chunk) -> bool:
        """Whether a class or a function begins at some line, or a comment on one."""
        code = self._code_start(rest)
        found = self._definition(_Chunk(code, rest.end), lines=1)
        return found is not None and found[0] != "variable"

    def _belongs(self, at: int) -> bool:
        """Whether a line belongs to what follows: a comment, an attribute."""
        return self._comments[at] or _ATTRIBUTE.match(self._lines[at]) is not None

    def _in(self, at: int) -> bool:
        """Whether a line goes on with the comment before it."""
        return at > 0 and self._comments[at] and self._comments[at - 1]

    def _code_start(self, chunk: _Chunk) -> int:
        """Where the code begins after the comment at the start of a chunk."""
        at = chunk.first
        while at < chunk.end and (self._comments[at] or not self._lines[at].strip()):
            at += 1
        return at

    def _definition(self, code: _Chunk, lines: int = 6) -> tuple[str, str] | None:
        """Kind and name of what is defined in the first lines of some code."""
        for at in range(code.first, min(code.first + lines, code.end)):
            line = self._lines[at][:_MAX_LINE]
            if self._comments[at] or not line.strip() or _ATTRIBUTE.match(line):
                continue
            return _defined(line, len(self._lines[at]))
        return None

    def _body(self, chunk: _Chunk) -> _Chunk:
        """The members of a class: the lines that are indented against its first."""
        base = self._indents[chunk.first]
        first, end = chunk.first + 1, chunk.end
        while first < end and (not self._lines[first].strip() or self._indents[first] <= base):
            first += 1
        return _Chunk(first, end)

    def _comment(self, lines: _Chunk) -> None:
        text = self._syntax.text(self._lines[lines.first : lines.end])
        for start, stop in paragraphs(text):
            line = lines.first + 1 + text.count("\n", 0, start)
            self._builder.add("paragraph", text[start:stop], place=f"line {line}")

    def _code(self, lines: _Chunk) -> None:
        self._builder.add(
            "code",
            "\n".join(self._lines[lines.first : lines.end]),
            place=f"line {lines.first + 1}",
        )


def _defined(line: str, length: int) -> tuple[str, str] | None:
    """Kind and name of what a line defines."""
    if found := _KEYWORD.match(line):
        receiver = f"{found['receiver']}." if found["receiver"] else ""
        return found["kind"].split()[0].lower(), f"{receiver}{found['name']}"
    if found := _IMPL.match(line):
        return "class", found["name"]
    if (found := _SHELL.match(line)) and found["name"] not in _NO_NAMES:
        return "function", found["name"]
    if (found := _ASSIGNED.match(line)) and _first_word(line) not in _NO_NAMES:
        return "variable", found["name"]
    found = _CALLABLE.match(line)
    if found is None or _first_word(line) in _NO_NAMES or found["name"] in _NO_NAMES:
        return None
    ends = line.rstrip()[-1:] if length <= _MAX_LINE else ""
    # Without a type before its name it is a call, unless a body follows.
    is_call = found["before"] == "" and ends not in "{:"
    return None if is_call or ends in ";." else ("function", found["name"])


def _first_word(line: str) -> str:
    found = _WORD.match(line)
    return found[1] if found else ""
