"""Questions that headings ask: rules of English, for headings that leave no doubt.

"How do I lock a vault?" stands so, "Locking a vault", "Lock a vault" and "To lock a vault" ask it,
"Vault" asks what a vault is if its section begins by saying so, and "Requirements" for a list.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from memnet.text.english import sentences, units

Kind = Literal["definition", "statement", "list", "steps"]

_NUMBER = re.compile(
    r"^(?:\d+(?:\.\d+)+\.?|\d+[.):]|(?:step|chapter|part|section|question|q)\s*\d*[.:)])\s+", re.I
)
"""Before a heading that is counted."""
_MARKS = " \t\n*_`#:.!¶"
_ASIDE = re.compile(r"\([^()]*\)$")
_WORD = re.compile(r"[^\W\d_][\w'’.+-]*")
_MIN_WORDS, _MAX_WORDS = 2, 14
_MAX_NAME_WORDS = 6
"""Of what is defined or listed."""
_MAX_QUOTE = 900
"""Characters of the blocks that answer; more is rather a chapter than an answer."""
_MIN_ITEMS = 3
_BEGINNING = 4
"""Blocks of a section among which a list of steps begins."""
_SAYS_NOTHING = frozenset(
    """
    about abstract acknowledgements addendum additional advanced appendix article background
    basics bibliography biography body card changelog chapter comments conclusion conclusions
    contact content contents credits description detail details discussion document
    documentation draft example examples exercises faq faqs feedback footnotes foreword further
    general getting glossary guide heading history home important index info information intro
    introduction items journal licence license links list log manual meeting minutes misc
    miscellaneous more motivation next note notes other others outline overview page paragraph
    points preface problem quick reading readme references related remarks resources result
    results review scope section see setup sidebar solution sources start started steps
    subsection summary support tables terms text tips title todo topics tutorial update updates
    usage version warning warnings what
    """.split()
)
"""Words of headings that name a part of any text, and no subject."""
_DATES = frozenset(
    """
    jan feb mar apr jun jul aug sep sept oct nov dec january february march april may june july
    august september october november december monday tuesday wednesday thursday friday saturday
    sunday mon tue wed thu fri sat sun today yesterday week day month year am pm st nd rd th v of
    and the
    """.split()
)
_VERBS = frozenset(
    """
    access activate add adjust allow apply ask assemble assign attach become begin bind block
    boil book bring browse build buy calculate calibrate call cancel care change check choose
    claim clean clear close collect combine compile compress configure connect contact
    contribute convert cook copy create customise customize cut debug decrypt define delete
    deploy develop disable disconnect display download edit embed enable encrypt enter evaluate
    exclude export extend filter find fix format generate get give grow handle hide host ignore
    implement import improve include increase initialize insert inspect install integrate invite
    join keep launch leave limit link listen load lock log make manage measure merge migrate
    modify monitor mount move open operate order organise organize override pair paste pay plan
    plant play post prepare prevent print process protect provide publish query read rebuild
    recover reduce register remove rename renew repair replace report request reset resize
    resolve restart restore retrieve return revoke rotate run save scan schedule search secure
    select send set share show sign solve sort specify start stop store submit subscribe switch
    sync synchronise synchronize take test track train transfer translate troubleshoot turn
    uninstall unlock unmount update upgrade upload use validate verify view visit wash wear
    withdraw write
    """.split()
)
"""What people do by instructions."""
_NOUNS_TOO = frozenset(
    """
    access book build call care change check claim cook copy cut debug display download export
    filter format host import limit link load lock log order pair plan plant play post print
    process query report request reset return run save scan schedule search set share show sign
    sort start stop store switch sync test track train transfer turn update upgrade upload use
    view visit wash work
    """.split()
)
"""Verbs that often are no verb before a noun: "Export options", "Use cases"."""
_GERUNDS_TOO = frozenset(
    """
    booking building cleaning closing cooking cutting debugging displaying hosting listening
    loading meeting monitoring opening operating ordering planning planting playing posting
    pricing printing processing providing publishing reading running scheduling setting sharing
    signing sorting supporting testing tracking training turning washing writing
    """.split()
)
"""Gerunds that often are no verb before a noun: "Running costs"."""
_DOUBLED = frozenset("begin cut debug format get log plan reset run scan set stop submit".split())
"""Verbs whose last letter is doubled before -ing."""
_AFTER_VERB = frozenset(
    """
    a all an and another any between by each existing for from in into it its multiple my new
    off on one or other out over several some the their this through to two up via with without
    your
    """.split()
)
"""Words that show that the one before is a verb here."""
_NOUNS_AFTER_NOUNS = frozenset(
    """
    behavior behaviour cases ceremony code command cost costs date dates duration error errors
    event fee fees file format guide history key keys level limit limits list menu method mode
    modes notes number option options order page panel period permission permissions phase plan
    point points policy port procedure process rate rates request role roles rules settings size
    state status step steps strategy style system time times tools type types view window
    """.split()
)
"""Before which a verb may be a part of a name: "Unlock duration"."""
_LISTED = {
    **dict.fromkeys(
        "fees ingredients materials options permissions prerequisites requirements rules supplies"
        " tools".split(),
        "for",
    ),
    **dict.fromkeys(
        "advantages arguments benefits causes components dependencies disadvantages duties features"
        " flags goals limitations members objectives parameters parts properties purposes"
        " responsibilities risks roles symptoms types".split(),
        "of",
    ),
}
"""Names of lists that are lists of something, and how what they are of is joined to them."""
_MAX_INTRODUCTION = 200
"""Characters before a list that is what its heading names."""
_NOT_LISTED = frozenset("& + about and by in on or to vs what which with you your".split())
"""Words of headings that name something else than the items of one list."""
_YOU = re.compile(r"\byou(?:r|rself)?\b", re.I)
_DEFINES = (
    r"(?:\s\([^()]{1,60}\))?,?\s(?P<verb>is|are)\s"
    r"(?:an?|the|any|one of|when|where|what|how|used|someone|something)\b"
)
_MEANS = r"(?:\s\([^()]{1,60}\))?,?\s(?P<verb>means|refers to|stands for|describes)\s"
_WHY = re.compile(r"why\b", re.I)
_HOW = re.compile(r"how (?:(?:do|can|should|would|could) (?:i|you|we)|to)\b", re.I)
_ASKS = re.compile(
    r"(?:who|whom|whose|what|which|where|when|why|how|is|are|was|were|do|does|did|can|could|may"
    r"|must|should|will|would|has|have|am|if|in|on|at|for|from|to|with|i)\b",
    re.I,
)


class Asked(NamedTuple):
    """What a heading asks, and the pieces of its section that answer."""

    question: str
    kind: Kind | None
    """Of the answer; None where the heading does not tell."""
    quotes: tuple[str, ...]


def asked_by(heading: str, above: str, text: str) -> Asked | None:
    """The question that a heading asks.

    Args:
        heading: as it stands.
        above: the heading or title above it, or empty.
        text: of its section, from its first window, without the heading.

    Returns:
        None where none can be made of it without doubt: for "Overview", dates, numbers, and names
        that the section neither defines nor lists.
    """
    plain = _plain(heading)
    blocks = [line.strip() for line in text.split("\n") if line.strip()]
    if not blocks or _names_nothing(plain):
        return None
    asked = (
        _as_it_stands(plain, blocks)
        or _definition(plain, blocks)
        or _instruction(plain, blocks)
        or _list(plain, _plain(above), blocks)
    )
    if asked is None or not asked.quotes or sum(map(len, asked.quotes)) > _MAX_QUOTE:
        return None
    return asked


def _plain(heading: str) -> str:
    """A heading without what counts it and without marks."""
    plain = " ".join(heading.split()).strip(_MARKS)
    return _NUMBER.sub("", plain).replace("`", "").strip(_MARKS)


def _names_nothing(plain: str) -> bool:
    """Whether a heading is a date, a number or the name of any part of a text."""
    words = {word.casefold().strip(".") for word in _WORD.findall(plain)}
    letters = sum(char.isalpha() for char in plain)
    return letters < 3 or words <= _DATES or words <= _SAYS_NOTHING | _DATES


def _as_it_stands(plain: str, blocks: Sequence[str]) -> Asked | None:
    if not plain.endswith("?") or not _ASKS.match(plain):
        return None
    if not _MIN_WORDS < len(plain.split()) <= 2 * _MAX_WORDS:
        return None
    if _HOW.match(plain):
        return Asked(plain, "steps", _first_blocks(blocks))
    return Asked(plain, "statement" if _WHY.match(plain) else None, _first_blocks(blocks))


def _definition(plain: str, blocks: Sequence[str]) -> Asked | None:
    """What a name is, if the first sentence of its section says so."""
    first = _first_sentence(blocks[0])
    name = re.sub(r"^(?:an?|the)\s", "", plain, flags=re.I)
    if len(name.split()) > _MAX_NAME_WORDS:
        return None
    subject = rf"(?P<article>an?|the)?\s*(?P<name>{re.escape(name)}(?:e?s)?)"
    match = re.match(f"{subject}(?:{_DEFINES})", first, re.I) or re.match(
        f"{subject}(?:{_MEANS})", first, re.I
    )
    if match is None:
        return None
    verb = match["verb"].casefold()
    article = f"{match['article'].casefold()} " if match["article"] else ""
    if verb in ("is", "are"):
        question = f"What {verb} {article}{match['name']}?"
    elif verb == "describes":
        question = f"What does {article}{match['name']} describe?"
    else:
        question = f"What does {article}{match['name']} mean?"
    return Asked(question, "definition", (first,))


def _instruction(plain: str, blocks: Sequence[str]) -> Asked | None:
    """How to do what a heading names, if its section tells to do something."""
    action = _action(_ASIDE.sub("", plain).rstrip())
    if action is None or ":" in action or not _MIN_WORDS <= len(action.split()) <= _MAX_WORDS:
        return None
    if not any(_instructs(block) for block in blocks):
        return None
    own = re.sub(r"\byour\b", "my", action, flags=re.I)
    own = re.sub(r"\byou\b", "I", own, flags=re.I)
    return Asked(f"How do I {own}?", "steps", _steps(blocks))


def _action(plain: str) -> str | None:
    """What is to be done: "lock a vault" of "Locking a vault" and of "How to lock a vault"."""
    stated = re.sub(r"^(?:how )?to\s+", "", plain, flags=re.I)
    words = stated.split()
    if len(words) < _MIN_WORDS:
        return None
    first, second = words[0].casefold(), words[1].casefold()
    verb = first if first in _VERBS else _BASES.get(first)
    if verb is None:
        return None
    if stated == plain and second not in _AFTER_VERB:  # it may be the first part of a name
        named = len(words) == _MIN_WORDS and second in _NOUNS_AFTER_NOUNS
        if named or first in _NOUNS_TOO or first in _GERUNDS_TOO:
            return None
    joined = [verb]
    for before, word in pairwise(words):  # "adding and editing"
        also = before in ("and", "or", "&")
        joined.append(_BASES.get(word.casefold(), word) if also else word)
    return " ".join(joined)


def _gerund(verb: str) -> str:
    if verb in _DOUBLED:
        return f"{verb}{verb[-1]}ing"
    if verb.endswith("e") and not verb.endswith("ee"):
        return f"{verb[:-1]}ing"
    return f"{verb}ing"


_BASES = {_gerund(verb): verb for verb in _VERBS}


def _instructs(block: str) -> bool:
    """Whether a block addresses its reader or begins with what is to be done."""
    words = _WORD.findall(block.casefold())
    return bool(_YOU.search(block)) or any(word in _VERBS for word in words[:1])


def _list(plain: str, above: str, blocks: Sequence[str]) -> Asked | None:
    """What the items are, if a section begins with a list and its heading is a plural."""
    run = _first_blocks(blocks)
    if sum(map(_is_item, run)) < _MIN_ITEMS or (
        not _is_item(run[0]) and len(run[0]) > _MAX_INTRODUCTION
    ):
        return None
    words = plain.split()
    first, last = words[0].casefold(), words[-1].casefold()
    name = " ".join([first if words[0].istitle() else words[0], *words[1:]])
    if last in _LISTED and len(words) == 1:
        named = above and not above.endswith("?") and not _names_nothing(above)
        question = f"What are the {name} {_LISTED[last]} {above}?" if named else None
    else:
        plural = len(words) > 1 and re.fullmatch(r"[a-z-]{3,}[^su]s", last)
        other = not _NOT_LISTED.isdisjoint(plain.casefold().split())
        verb = first in _VERBS or first.endswith("ing") or first in ("my", "our", "the")
        listed = plural and not other and not verb and len(words) <= _MAX_NAME_WORDS
        question = f"What are the {name}?" if listed else None
    return Asked(question, "list", run) if question else None


def _steps(blocks: Sequence[str]) -> tuple[str, ...]:
    """The first list of a section with what introduces it, else what the section begins with."""
    for number in range(min(_BEGINNING, len(blocks))):
        run = _first_blocks(blocks[number:])
        if sum(map(_is_item, run)) >= 2:
            return run
    return _first_blocks(blocks)


def _first_blocks(blocks: Sequence[str]) -> tuple[str, ...]:
    """The first block, with the list or the one block that it introduces; or the first list."""
    listed = 0 if _is_item(blocks[0]) else 1
    end = listed
    while end < len(blocks) and _is_item(blocks[end]):
        end += 1
    if end > listed:
        introduces = listed == 0 or blocks[0].endswith(":")
        return tuple(blocks[:end] if introduces else blocks[:1])
    return tuple(blocks[: 2 if blocks[0].endswith(":") else 1])


def _is_item(block: str) -> bool:
    found = units(block)
    return bool(found) and found[0].kind == "item"


def _first_sentence(block: str) -> str:
    spans = sentences(block)
    return block[slice(*spans[0])] if spans else block
