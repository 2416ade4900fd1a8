"""What a speaker plainly says of himself: sentences of a message that become statements.

Plain are statements that begin with "I" or "my": no questions, no requests, nothing in quotes or
code, and nothing that is only thought, hoped or wished. What is left out is still in the message.
"""

import re
from collections.abc import Iterator

from memnet.text.english import sentences

_MAX_SENTENCE = 300
"""Characters: a longer one says more than one thing."""
_MAX_MESSAGE = 20_000
"""Characters of a message that are looked at: a longer one is a text that somebody pasted."""
_MAYBE = re.compile(r"\b(?:I|[Mm]y)\b")
_BEGIN = re.compile(
    r"(?:(?:and|but|so|also|well|yes|yeah|no|oh|actually|btw|by the way)\b,? )?"
    r"(?P<said>(?:I|I['’](?:m|ve)) |my (?=\w+ ))",
    re.IGNORECASE,
)
"""The beginning of a plain sentence, and where in it the statement starts."""
_NOT_PLAIN = re.compile(
    r"(?:(?:also|just|really|still|always|honestly|actually|only|kinda|sort of|definitely|totally|"
    r"do|did|am|was|['’]m|have|had|['’]ve|been|not|don['’]t|didn['’]t) ){0,4}"
    r"(?:think|thinks|thought|thinking|guess|guessed|hope|hoped|hoping|hopes|wonder|wondered|"
    r"wondering|wish|wished|wishes|suppose|supposed|believe|bet|assume|imagine|feel|felt|feeling|"
    r"doubt|expect|know|knew|mean|meant|see|saw|say|said|saying|tell|told|ask|asked|asking|"
    r"agree|understand|understood|want|wanted|wants|need|needed|needs|require|"
    r"looking|trying|try|tried|would|could|should|might|may|must|can|can['’]t|couldn['’]t|"
    r"wouldn['’]t|shouldn['’]t|ca|cannot|will|won['’]t|shall|going to|gonna|about to|if|sorry|"
    r"afraid|sure|unsure|glad|happy|curious|good|fine|great|well|ok|okay|doing|excited|interested|"
    r"confused|kidding|joking|so|very|too|here|in|on|at it|bad|wrong|right|same|question|"
    r"guess is|point is|appreciate|apologi[sz]e|thank|love (?:it|that|this|you|how|your)|"
    r"like (?:it|that|this|your|how))\b",
    re.IGNORECASE,
)
"""What may follow "I" or "my" where nothing lasting, or nothing certain, is said of the speaker."""
_CONDITION = re.compile(
    r"\b(?:if|unless|whether|would|could|might|as if|suppose|imagine|please|can you|could you|"
    r"you should|pretend)\b|[`{}<>=|]|https?:",
    re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)", re.MULTILINE)
_QUOTED_LINE = re.compile(r"[ \t]*(?:>|\||    |\t)")
_OPEN, _CLOSED, _PLAIN_QUOTES = "“«„", "”»", '"'
_ROLES = frozenset("assistant system tool function developer bot model ai".split())
"""Speakers that are no people: what they say of themselves is not remembered."""
_USER = "user"


def subject_of(speaker: str) -> str | None:
    """Who "I" is in a message: the speaker; "I" for the user of an assistant, None for none."""
    name = speaker.strip()
    if not name or name.casefold() in _ROLES:
        return None
    return "I" if name.casefold() == _USER else name


def plain_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Where a message has plain sentences of its speaker about himself: their spans."""
    # Most messages end here: to look for one word costs a thousandth of taking sentences apart.
    if not _MAYBE.search(text, 0, _MAX_MESSAGE):
        return
    text = text[:_MAX_MESSAGE]
    code = [found.start() for found in _FENCE.finditer(text)]
    for line_start, line in _lines(text):
        if not _MAYBE.search(line) or _QUOTED_LINE.match(line):
            continue
        if sum(place <= line_start for place in code) % 2:
            continue
        for start, end in sentences(line):
            said = _said(line[start:end])
            if said is not None and not _in_quotes(text, line_start + start):
                yield line_start + start + said, line_start + end


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.splitlines(keepends=True):
        yield start, line
        start += len(line)


def _said(sentence: str) -> int | None:
    """Where in a sentence a plain statement of its speaker starts; None if it is not one."""
    begin = _BEGIN.match(sentence)
    if begin is None or len(sentence) > _MAX_SENTENCE or sentence.rstrip(" \"'”’)").endswith("?"):
        return None
    if _NOT_PLAIN.match(sentence, begin.end("said")) or _CONDITION.search(sentence):
        return None
    if sentence.count(_PLAIN_QUOTES) % 2 or "?" in sentence:
        return None
    return begin.start("said")


def _in_quotes(text: str, place: int) -> bool:
    """Whether a place of a text is within quotation marks of the same paragraph."""
    begin = text.rfind("\n\n", 0, place) + 1
    before = text[begin:place]
    opened = sum(map(before.count, _OPEN)) > sum(map(before.count, _CLOSED))
    return opened or before.count(_PLAIN_QUOTES) % 2 == 1
