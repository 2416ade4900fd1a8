"""The text of an e-mail: what is new, what is quoted, and the signature."""

import re
from collections.abc import Iterator, Sequence

from memnet.loaders.document import DocumentBuilder

_QUOTE_MARK = re.compile(r"^(?:[ \t]{0,3}>)+[ \t]?")
# "On Fri, 1 Mar 2024 Ann wrote:" before a quotation.
_SAID = re.compile(
    r"(?:On|Am|Le|El|Il|Op|Em|Den|W dniu|Dne)\b[^\n]{5,300}:"
    r"|[^\n]{5,300}(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev):"
)
_ORIGINAL = re.compile(
    r"-{2,}\s*(?:Original Message|Forwarded [Mm]essage|Ursprüngliche Nachricht|Message d'origine|"
    r"Mensaje original|Messaggio originale)\s*-{2,}|Begin forwarded message:"
)
_DIGITS = re.compile(r"\d{1,2}[:.]\d{2}")
_MAX_INTRODUCTION = 400
# A line across, above a quoted message or a list's footer.
_RULE = re.compile(r"_{5,}|-{5,}|={5,}|\*{5,}")
_HEADER = re.compile(r"\*?(?:From|Von|De|Da|Van)\*?:\*? \S")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+•‣·] |\(?\d{1,3}[.)] )\S")
_SIGNATURE = "-- "


def flowed(text: str, *, joined: bool) -> str:
    """A text in which a space at the end of a line says that the next one continues it (RFC 3676).

    ``joined``: whether that space is none of the text's.
    """
    lines: list[str] = []
    mark, open_line = "", False
    for line in text.split("\n"):
        found = _QUOTE_MARK.match(line)
        begins = found[0].replace(" ", "") if found else ""
        content = line[found.end() :] if found else line.removeprefix(" ")  # stuffed
        continues = content.endswith(" ") and content != _SIGNATURE
        if open_line and begins == mark:
            lines[-1] += content
        else:
            lines.append(f"{begins} {content}" if begins else content)
        if continues and joined:
            lines[-1] = lines[-1][:-1]
        mark, open_line = begins, continues
    return "\n".join(lines)


def add_text(builder: DocumentBuilder, text: str) -> None:
    """Add the blocks of a plain text."""
    lines = text.split("\n")
    quoting = False  # whether what follows is a message that is quoted without marks
    for quoted, part in _parts(lines):
        for paragraph in _split(part):
            if _RULE.fullmatch(paragraph[0].strip()) and len(paragraph) > 1:
                paragraph = paragraph[1:]
            first = paragraph[0].strip()
            if _ORIGINAL.fullmatch(first) or (
                len(paragraph) >= 3 and _HEADER.match(first) and ": " in paragraph[1]
            ):
                quoting = True
            elif len(paragraph) == 1 and first.startswith("--") and _is_introduction(first):
                quoting = True  # "--- On Fri, 1/3/24, Ann <ann@example.org> wrote:"
            if quoted or quoting:
                builder.add("quote", "\n".join(paragraph))
            else:
                _add_paragraph(builder, paragraph)


def _parts(lines: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
    """Runs of quoted lines, without their marks, and of others.

    The line that says who is quoted goes with the quotation.
    """
    quoted, part = False, list[str]()
    for line in lines:
        found = _QUOTE_MARK.match(line)
        if (found is not None) != quoted and (found or line.strip()):
            if found:
                at = _introduction(part)
                yield False, part[:at]
                part = part[at:]
            else:
                yield True, part
                part = []
            quoted = found is not None
        part.append(line[found.end() :] if found else line)
    yield quoted, part


def _introduction(lines: Sequence[str]) -> int:
    """Where the one or two lines begin that say who is quoted; the length if there are none."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    for size in (1, 2):
        words = " ".join(lines[max(end - size, 0) : end]).strip()
        if _is_introduction(words):
            return max(end - size, 0)
    return len(lines)


def _is_introduction(words: str) -> bool:
    """Whether a line says who is quoted: in a known language, or by an address and a time."""
    if not words.endswith(":") or len(words) > _MAX_INTRODUCTION:
        return False
    return _SAID.fullmatch(words) is not None or (
        "@" in words and _DIGITS.search(words) is not None
    )


def _split(lines: Sequence[str]) -> Iterator[list[str]]:
    """Paragraphs: at empty lines, and before the signature."""
    paragraph: list[str] = []
    for line in lines:
        is_signature = line.rstrip("\r") in (_SIGNATURE, _SIGNATURE.strip())
        if paragraph and (is_signature or not line.strip()):
            yield paragraph
            paragraph = []
        if line.strip() and not is_signature:
            paragraph.append(line.rstrip())
    if paragraph:
        yield paragraph


def _add_paragraph(builder: DocumentBuilder, lines: Sequence[str]) -> None:
    """Add a paragraph, and the items of a list in it."""
    run: list[str] = []
    kind_is_item = False
    for line in lines:
        if _ITEM.match(line):
            builder.add("item" if kind_is_item else "paragraph", "\n".join(run))
            run, kind_is_item = [], True
        run.append(line)
    builder.add("item" if kind_is_item else "paragraph", "\n".join(run))
