"""E-mail: single messages, and mailboxes (mbox) of them; what is new, quoted, and signed."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from pathlib import PurePath
from typing import Any, TypeAlias

from memnet.errors import InputError, Problem
from memnet.io import codec_named, decode, decode_as, with_line_feeds
from memnet.loaders.document import (
    BlockKind,
    DocumentBuilder,
    ParsedDocument,
    one_line,
    well_formed,
)
from memnet.loaders.formats import SourceFile, find_format
from memnet.loaders.reading import read_source
from memnet.loaders.web import html

# What separates the messages of a mailbox: a line "From ann@example.org Fri Mar 1 ..." after an
# empty line and before a header.
_FROM_LINE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\r\n\r\n))From [^\n]{0,1000}\n(?=[!-9;-~]+:|>From )")
# How a line of the text that begins like a separator is written.
_QUOTED_FROM = re.compile(rb"(?m)^>(>*From )")
_HEADER = re.compile(rb"[!-9;-~]{1,100}:[ \t\r\n]?")
# "Re: Fwd: " before a subject, in several languages.
_PREFIX = re.compile(
    r"^(?:(?:Re|Fwd?|Aw|Wg|Sv|Vs|Antw|Tr|Rif|Odp)(?:\[\d+\])?:\s*)+", re.IGNORECASE
)
# Codecs whose texts may go as UTF-8 by chance: of characters of several bytes each.
_WIDE = re.compile(r"(?!utf-8)utf-|gb|hz|big5|cp9[34]|euc_|iso2022")
_NOT_ASCII = re.compile(r"([^\x00-\x7f]+[ \t]*)")
_Mail: TypeAlias = "Message[str, str]"
_MAX_DEPTH = 5  # of messages attached to messages
_MAX_PARTS = 1000  # of one message
# Characters that are looked at of a header: addresses of a whole company are not text.
_MAX_HEADER = 10_000
_MAX_PEOPLE = 50  # recipients that the metadata list
_MAX_SHOWN = 5  # recipients that the text lists
# Modules that do not read attachments: they would have no end.
_NOT_ATTACHED = frozenset({"mail", "archive"})
_MIN_WORDS = 30  # a shorter plain text may say only that the message is to be read as HTML

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
_QUOTED_HEADER = re.compile(r"\*?(?:From|Von|De|Da|Van)\*?:\*? \S")
_ITEM = re.compile(r"(?P<indent>[ \t]*)(?:[-*+•‣·] |\(?\d{1,3}[.)] )\S")
_SIGNATURE = "-- "


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """A document for each message, and one for each attachment that can be read."""
    starts = [found.span() for found in _FROM_LINE.finditer(file.data)]
    if not starts or starts[0][0] > 0:
        if not _HEADER.match(file.data.lstrip()):
            raise InputError(
                'holds no e-mail, expected lines such as "From: ann@example.org" at its start; '
                "export the message again"
            )
        yield from _documents(file, _parsed(file.data), file.name, 0)
        return
    used: set[str] = set()
    ends = [start for start, _ in starts[1:]] + [len(file.data)]
    for number, ((_, start), end) in enumerate(zip(starts, ends, strict=True), 1):
        try:
            message = _parsed(_QUOTED_FROM.sub(rb"\1", file.data[start:end]))
            key = _header(message, "message-id").strip(" <>")
            key = key if key and key not in used else str(number)
            used.add(key)
            yield from _documents(file, message, f"{file.name}#{key}", 0)
        except InputError as error:
            yield Problem(f"{file.name}#{number}", str(error))
        except MemoryError:
            raise
        except Exception as error:  # of the standard library on damaged headers
            yield Problem(f"{file.name}#{number}", str(_damaged(error)))


class _Policy(policy.Compat32):
    """Headers with bytes beyond ASCII as the text that these are."""

    def header_fetch_parse(self, name: str, value: str) -> str:  # noqa: ARG002
        return _text(value.encode("utf-8", "surrogateescape"), None)


_POLICY = _Policy()


def _parsed(raw: bytes) -> _Mail:
    try:
        return message_from_bytes(raw, policy=_POLICY)
    except (RecursionError, ValueError, LookupError) as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> InputError:
    return InputError(f"is a damaged e-mail ({type(error).__name__}); export it again")


def _documents(
    file: SourceFile, message: _Mail, name: str, depth: int
) -> Iterator[ParsedDocument | Problem]:
    """The documents of a message that is attached to ``depth`` others."""
    builder = DocumentBuilder()
    metadata, sender, day = _metadata(message)
    builder.place = f"{day} {sender}".strip()
    # Others wrote what a message quotes.
    builder.quoted = ", ".join(filter(None, (f"quoted by {sender}" if sender else "quoted", day)))
    shown = metadata.get("to", [])
    more = f" and {len(shown) - _MAX_SHOWN} more" if len(shown) > _MAX_SHOWN else ""
    to = ", ".join(map(_short_name, shown[:_MAX_SHOWN])) + more
    builder.add_row([("From", sender, ""), ("To", to, ""), ("Date", day, "")], labelled=True)
    attachments: list[tuple[str, _Mail]] = []
    inner: list[_Mail] = []
    headed = len(builder)
    for part in _parts(message, attachments, inner):
        _add_part(builder, part)
    title = metadata.pop("subject", "") or file.title
    if attachments:
        metadata["attachments"] = [attached for attached, _ in attachments]
    if len(builder) > headed or attachments or inner or metadata.get("from"):
        topic = _PREFIX.sub("", title)
        names = [topic] if topic != title else []  # all messages of a thread share it
        yield builder.build(name, title[: file.max_title], metadata=metadata, names=names)
    else:
        yield Problem(name, "is an e-mail without a sender and a text; leave it out")
    yield from _attached(file, attachments, name)
    for number, enclosed in enumerate(inner, 1):
        if depth < _MAX_DEPTH:
            yield from _documents(file, enclosed, f"{name}#message-{number}", depth + 1)
        else:
            yield Problem(name, "holds messages in messages too deeply; save them on their own")


def _metadata(message: _Mail) -> tuple[dict[str, Any], str, str]:
    """Metadata, the sender's name, and the day."""
    metadata: dict[str, Any] = {}
    for key in ("from", "to", "cc"):
        if people := _people(message.get_all(key, [])):
            metadata[key] = people[0] if key == "from" else people
    sender = _short_name(metadata.get("from", ""))
    day = ""
    try:
        time = parsedate_to_datetime(one_line(_header(message, "date")))
        day, metadata["date"] = time.date().isoformat(), time.isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        pass  # none, or not written as the standard says
    named = {
        "subject": _header(message, "subject"),
        "message_id": _header(message, "message-id").strip(" <>"),
        "in_reply_to": _header(message, "in-reply-to").strip(" <>"),
    }
    metadata |= {key: value for key, value in named.items() if value}
    return metadata, sender, day


def _header(message: _Mail, key: str) -> str:
    return _decoded(str(message.get(key, "")))


def _decoded(value: str) -> str:
    value = value[:_MAX_HEADER]
    words = []
    for run in _NOT_ASCII.split(value):  # which stand there as they are, though none should
        try:
            parts = decode_header(run) if run.isascii() else [(run, None)]
        except (HeaderParseError, ValueError):
            parts = [(run, None)]
        words += [
            part if isinstance(part, str) else _text(part, charset) for part, charset in parts
        ]
    return one_line(well_formed("".join(words)))


def _people(values: Sequence[Any]) -> list[str]:
    """Those whom a header names: "Ann Lee <ann@example.org>"."""
    texts = [str(value)[:_MAX_HEADER] for value in values]
    try:
        named = getaddresses(texts)
    except RecursionError:  # thousands of "(" in a row
        named = []
    people = []
    for name, address in named:
        name, address = _decoded(name).strip("'\""), one_line(well_formed(address))
        people.append(f"{name} <{address}>" if name and address else name or address)
    return [person for person in people if person][:_MAX_PEOPLE]


def _short_name(person: str) -> str:
    """The name without the address, or what stands before the "@"."""
    name, _, address = person.partition(" <")
    return name if address else name.partition("@")[0]


def _parts(
    message: _Mail, attachments: list[tuple[str, _Mail]], inner: list[_Mail]
) -> Iterator[_Mail]:
    """The parts that are the text of a message, in order; other parts go into the lists."""
    pending = [message]
    for _ in range(_MAX_PARTS):
        if not pending:
            return
        part = pending.pop()
        kind = part.get_content_type()
        # The payload of any other part is decoded, which a damaged charset breaks.
        children = part.get_payload() if part.is_multipart() else []
        parts = [child for child in children if isinstance(child, Message)]
        if kind == "message/rfc822":
            inner += parts
        elif parts:
            # The reader's program shows one of the alternatives, or the first of related parts.
            if kind == "multipart/alternative":
                parts = [_best(parts)]
            elif kind == "multipart/report":
                parts = [child for child in parts if child.get_content_type() == "text/plain"]
            pending += reversed(parts)
        elif name := _file_name(part):
            attachments.append((name, part))
        elif kind in ("text/plain", "text/html"):
            yield part


def _best(alternatives: Sequence[_Mail]) -> _Mail:
    """The plain text, unless it is much too short; else the last, which is the richest."""
    for part in alternatives:
        if part.get_content_type() == "text/plain" and (
            len(_content(part).split()) >= _MIN_WORDS or _is_all(part, alternatives)
        ):
            return part
    return alternatives[-1]


def _is_all(part: _Mail, alternatives: Sequence[_Mail]) -> bool:
    """Whether a short plain text says what the alternatives say."""
    said = len(_content(part).split())
    pages = [other for other in alternatives if other.get_content_type() == "text/html"]
    if not said or not pages:
        return said > 0 and len(alternatives) == 1
    builder = DocumentBuilder()
    html.add(builder, _content(pages[0]), whole=True)
    return len(builder.build("", "").text.split()) <= 2 * said + 5


def _file_name(part: _Mail) -> str:
    """The name of an attachment; empty for a part of the text."""
    try:
        name = part.get_filename() or ""
    except (ValueError, LookupError, TypeError):  # an unknown charset, a broken RFC 2231 value
        name = "attachment"
    name = PurePath(_decoded(name).replace("\\", "/")).name
    return name or ("attachment" if part.get_content_disposition() == "attachment" else "")


def _content(part: _Mail) -> str:
    """The decoded text of a part."""
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    try:
        charset = part.get_content_charset()
    except (ValueError, LookupError):
        charset = None
    return with_line_feeds(_text(payload, charset))


def _text(data: bytes, charset: str | None) -> str:
    """Bytes as text: by their charset or as UTF-8; without a charset as ``memnet.io.decode``."""
    codec = codec_named(charset or "")
    if _WIDE.match(codec):
        with suppress(ValueError):
            return decode_as(data, codec)
    # What goes as UTF-8 is hardly ever text of a code page with one byte for each character.
    with suppress(ValueError):
        return data.decode()
    if codec and codec != "utf-8":
        return decode_as(data, codec, "replace")
    with suppress(InputError):
        return decode(data)
    return data.decode("utf-8", "replace")


def _add_part(builder: DocumentBuilder, part: _Mail) -> None:
    text = _content(part)
    if part.get_content_type() == "text/html":
        html.add(builder, text, whole=True)
        return
    if str(part.get_param("format", "")).lower() == "flowed":
        text = _flowed(text, joined=str(part.get_param("delsp", "")).lower() == "yes")
    _add_text(builder, text)


def _attached(
    file: SourceFile, attachments: Sequence[tuple[str, _Mail]], name: str
) -> Iterator[ParsedDocument | Problem]:
    """The documents of attachments whose format can be read."""
    used: set[str] = set()
    for attached, content in attachments:
        known = find_format(attached)
        payload = content.get_payload(decode=True)
        if known is None or known.module in _NOT_ATTACHED or not isinstance(payload, bytes):
            continue
        part = f"{name}#{attached}"
        if part in used:
            part = f"{name}#{len(used) + 1}-{attached}"
        used.add(part)
        inner = SourceFile(
            part, payload, max_characters=file.max_characters, max_title=file.max_title
        )
        title = replace(inner, name=attached).title
        for item in read_source(known, inner):
            if isinstance(item, ParsedDocument) and item.title == inner.title:
                item = replace(item, title=title)
            yield item


def _flowed(text: str, *, joined: bool) -> str:
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


def _add_text(builder: DocumentBuilder, text: str) -> None:
    """Add the blocks of a plain text."""
    lines = text.split("\n")
    quoting = False  # whether what follows is a message that is quoted without marks
    for quoted, part in _quoted_parts(lines):
        for paragraph in _split(part):
            if _RULE.fullmatch(paragraph[0].strip()) and len(paragraph) > 1:
                paragraph = paragraph[1:]
            first = paragraph[0].strip()
            if _ORIGINAL.fullmatch(first) or (
                len(paragraph) >= 3 and _QUOTED_HEADER.match(first) and ": " in paragraph[1]
            ):
                quoting = True
            elif len(paragraph) == 1 and first.startswith("--") and _is_introduction(first):
                quoting = True  # "--- On Fri, 1/3/24, Ann <ann@example.org> wrote:"
            if quoted or quoting:
                builder.add("quote", "\n".join(paragraph))
            else:
                _add_paragraph(builder, paragraph)


def _quoted_parts(lines: Sequence[str]) -> Iterator[tuple[bool, list[str]]]:
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
    return bool(_SAID.fullmatch(words) or ("@" in words and _DIGITS.search(words)))


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
    kind: BlockKind = "paragraph"
    for line in lines:
        if _ITEM.match(line):
            builder.add(kind, "\n".join(run))
            run, kind = [], "item"
        run.append(line)
    builder.add(kind, "\n".join(run))
