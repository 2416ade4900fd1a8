"""Subtitles, SubRip and WebVTT: cues become paragraphs, placed by the time they begin at."""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import NamedTuple

from memnet.errors import InputError, Problem
from memnet.io import decode, with_line_feeds
from memnet.loaders.document import DocumentBuilder, ParsedDocument, one_line
from memnet.loaders.formats import SourceFile

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_VOICE = re.compile(r"<v(?:\.[^\s>]{0,100})?\s([^<>]{1,200})>")
# "<i>", "<00:00:01.000>", "<c.yellow>", and the "{\an8}" of players.
_MARKUP = re.compile(r"</?[a-zA-Z0-9:.][^<>]{0,200}>|\{\\[^{}]{0,200}\}")
_SPEAKER = re.compile(r"(?:>>+\s*)?([^\W\d_][^:\n.!?]{0,30}):\s+(?=\S)")
_DASH = re.compile(r"^[-‐–—]\s*(?=\S)")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*$")
# A paragraph ends at the first end of a sentence after so much, and at the end of any cue after
# twice as much, as automatic captions have no punctuation.
_MAX_SECONDS = 30.0
_MAX_CHARACTERS = 400
_HARD_LIMIT = 2
_PAUSE = 4.0  # seconds of silence that end a paragraph
_LANGUAGE = re.compile(r"\.[a-z]{2,3}(?:-[A-Za-z]{2,4})?$")


class _Cue(NamedTuple):
    start: float
    end: float
    lines: list[tuple[str, str]]  # speaker and text of each


@dataclass
class _Paragraph:
    """What one speaker says without a pause."""

    start: float
    speaker: str
    end: float = 0.0
    text: str = ""

    def is_full(self) -> bool:
        size = max((self.end - self.start) / _MAX_SECONDS, len(self.text) / _MAX_CHARACTERS)
        return size >= _HARD_LIMIT or (size >= 1 and bool(_SENTENCE_END.search(self.text)))


def load(file: SourceFile) -> Iterator[ParsedDocument | Problem]:
    """The document of all that is said."""
    text = with_line_feeds(decode(file.data))
    builder = DocumentBuilder()
    speakers: dict[str, None] = {}
    for part in _paragraphs(_without_repeats(_cues(text))):
        label = f"{part.speaker}: " if part.speaker else ""
        whole = int(part.start)
        clock = f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"
        builder.add("message", f"{label}{part.text}", place=clock)
        speakers[part.speaker] = None
    if not len(builder):
        raise InputError(
            'holds no subtitles, expected times such as "00:01:20,000 --> 00:01:22,500" with a '
            "text below; export them again as SubRip or WebVTT"
        )
    named = list(filter(None, speakers))
    metadata = {"speakers": named} if named else {}
    yield builder.build(file.name, _title(file, text), metadata=metadata)


def _title(file: SourceFile, text: str) -> str:
    first, _, _ = text.partition("\n")
    if first.startswith("WEBVTT"):
        named = first.removeprefix("WEBVTT").strip(" -\t")
        if named and ":" not in named:
            return one_line(named)
    stem = _LANGUAGE.sub("", PurePath(file.name).stem)  # "talk.en.vtt"
    return stem.replace("_", " ").replace("-", " ").strip() or file.title


def _cues(text: str) -> Iterator[_Cue]:
    """The cues: a line of times, then text up to an empty line or to the next times."""
    times: tuple[float, float] | None = None
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        timing = _TIMING.match(line)
        if timing:
            if times is not None:  # no empty line between: the last line is the next one's number
                yield _cue(times, lines[:-1] if lines and lines[-1].strip().isdecimal() else lines)
            times, lines = (_seconds(timing.groups()[:4]), _seconds(timing.groups()[4:])), []
        elif times is not None and line.strip():
            lines.append(line)
        elif times is not None and lines:
            yield _cue(times, lines)
            times, lines = None, []
    if times is not None:
        yield _cue(times, lines)


def _cue(times: tuple[float, float], lines: Iterable[str]) -> _Cue:
    return _Cue(*times, [said for line in lines if (said := _line(line))[1]])


def _line(line: str) -> tuple[str, str]:
    """The speaker, if one is named, and the text of a line."""
    voice = _VOICE.search(line)
    text = one_line(html.unescape(_MARKUP.sub("", _VOICE.sub("", line))))
    if voice:
        return one_line(html.unescape(voice[1])), text
    named = _SPEAKER.match(text)
    if named and (named[1].isupper() or text.startswith(">>")):  # "ANN: Where is it?"
        return named[1], text[named.end() :]
    return "", text.removeprefix(">>").strip()


def _without_repeats(cues: Iterable[_Cue]) -> Iterator[_Cue]:
    """The cues without the lines that the cue before showed already.

    Captions that roll up show each line two or three times: as it is spoken, and above the next.
    """
    shown: list[tuple[str, str]] = []
    before = 0.0
    for cue in cues:
        repeated = 0
        if cue.start - before < _PAUSE:
            while repeated < len(cue.lines) and cue.lines[repeated] in shown:
                repeated += 1
        if cue.lines:
            shown, before = cue.lines, cue.end
        yield cue._replace(lines=cue.lines[repeated:])


def _paragraphs(cues: Iterable[_Cue]) -> Iterator[_Paragraph]:
    current: _Paragraph | None = None
    for cue in cues:
        for number, (speaker, said) in enumerate(cue.lines):
            text = _DASH.sub("", said)  # "- Where? - There.": two people speak
            if current is not None and (
                (number == 0 and (cue.start - current.end > _PAUSE or current.is_full()))
                or (speaker and speaker != current.speaker)
                or text != said
            ):
                yield current
                current = None
            current = current or _Paragraph(cue.start, speaker)
            current.text = f"{current.text} {text}".lstrip()
            current.end = cue.end
    if current is not None:
        yield current


def _seconds(parts: Iterable[str | None]) -> float:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{fraction}")
