"""Forms of sentences that say something of a passage's subject ("..., directed by Ann Orre")."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memnet.storage import MemoryStore, Slot
from memnet.text.names import without_brackets

_WORD = r"(?:[A-Z]\.|[A-Z][\w'’-]+)"
_NAME = rf"(?P<answer>{_WORD}(?: (?:(?:of|de|van|von|la|the) )*{_WORD})*)"
_DATE = r"(?P<answer>(?:\d{1,2} )?(?:[A-Z][a-z]+ )?(?:\d{1,2}, )?[12]\d{3})"
_AFTER_SUBJECT = 260
"""Characters in which a passage says of its subject what it is and where it is from."""
_BORN = ("When was {} born?", "What is the date of birth of {}?", "When is {}'s birthday?")


class Form(NamedTuple):
    """A form of sentence."""

    relation: str
    pattern: re.Pattern[str]
    questions: tuple[str, ...]
    roles: tuple[str, ...] = ()
    """What the answer is to the subject, to ask on about it; none where no one asks so."""


class Statement(NamedTuple):
    """What a passage says of its subject."""

    slot: Slot
    form: Form
    answer: str

    @property
    def subject(self) -> str:
        """What the passage is about."""
        return without_brackets(self.slot.title)


def _form(relation: str, pattern: str, *questions: str, role: str = "") -> Form:
    roles = (f"the {role} of {{}}", f"{{}}'s {role}") if role else ()
    return Form(relation, re.compile(pattern), questions, roles)


_FORMS = (
    _form("director", rf"\bdirected by {_NAME}", "Who directed {}?",
          "Who is the director of {}?", role="director"),
    _form("writer", rf"\bwritten by {_NAME}", "Who wrote {}?", "Who is the writer of {}?",
          role="writer"),
    _form("producer", rf"\bproduced by {_NAME}", "Who produced {}?", role="producer"),
    _form("composer", rf"\b(?:composed|music) by {_NAME}", "Who composed {}?",
          "Who is the composer of {}?", role="composer"),
    _form("performer", r"\bby (?:the )?(?:[A-Z][a-z]+ )+(?:[a-z-]+ )*(?:band|singer|rapper|artist|"
          rf"musician|group|duo|songwriter) {_NAME}", "Who performed {}?",
          "Who is the performer of {}?", role="performer"),
    _form("founder", rf"\bfounded (?:in [12]\d{{3}} )?by {_NAME}", "Who founded {}?",
          "Who is the founder of {}?", role="founder"),
    _form("star", rf"\bstarr(?:ing|ed|s) {_NAME}", "Who starred in {}?", role="star"),
    _form("spouse", rf"\b(?:married|wife of|husband of|(?:wife|husband),?) (?:to )?{_NAME}",
          "Who is the spouse of {}?", "Who married {}?", role="spouse"),
    _form("father", rf"\b(?:son|daughter) of (?:[A-Z]?[a-z]+ )?{_NAME}", "Who is the father of {}?",
          "Who is {}'s father?", role="father"),
    _form("mother", r"\b(?:son|daughter) of [\w ,.'’-]{4,80}? and (?:(?:his|her) )?(?:(?:first |"
          rf"second |third )?wife,? )?(?:the )?{_NAME}", "Who is the mother of {}?",
          "Who is {}'s mother?", role="mother"),
    _form("born", rf"\((?:[^()]*?; )?born {_DATE}\)", *_BORN),
    _form("born", rf"\((?:[^()]*?; )?{_DATE} ?[–-]", *_BORN),
    _form("died", rf"\([^()]*?[12]\d{{3}} ?[–-] ?{_DATE}\)", "When did {} die?",
          "What is the date of death of {}?"),
    _form("birthplace", rf"\bborn (?:on [\w ,]{1,40}? )?(?:in|at) {_NAME}", "Where was {} born?",
          "What is the place of birth of {}?"),
    _form("death place", rf"\bdied (?:on [\w ,]{1,40}? )?(?:in|at) {_NAME}", "Where did {} die?",
          "What is the place of death of {}?", "Where was the place of death of {}?"),
    _form("school", rf"\b(?:educated at|studied at|graduated from|attended) (?:the )?{_NAME}",
          "Where did {} study?", "Which school did {} attend?"),
    _form("released", rf"\breleased (?:on|in) {_DATE}", "When was {} released?",
          "When did {} come out?"),
    _form("founded", rf"\b(?:founded|established|formed) (?:on|in) {_DATE}",
          "When was {} founded?"),
    _form("owner", rf"\bowned by (?:the )?{_NAME}", "Who owns {}?", role="owner"),
    _form("publisher", rf"\bpublished by (?:the )?{_NAME}", "Who published {}?", role="publisher"),
    _form("place", rf"\b(?:located|situated) (?:in|on|at) (?:the )?{_NAME}",
          "Where is {} located?"),
    _form("nationality", r"\b(?:is|was) an? (?:former |retired )?(?P<answer>[A-Z][a-z]+"
          r"(?:ish|an|ese|ch|ek|i|sh|ss)) (?=[a-z])", "What is the nationality of {}?",
          "What country is {} from?", "Which country is {} from?"),
    _form("kind", r"\b(?:is|was) an? (?:[A-Z]?[\w-]+ ){0,4}?(?P<answer>[a-z]{4,})(?= (?:of|in|from|"
          r"who|that|which|by|based|directed|located|and|for|on|at|with|written)\b|[,.;(])"),
    _form("country", rf"^[^.]*, {_NAME}[.]"),
)  # fmt: skip
PEOPLE = frozenset(
    {"born", "died", "birthplace", "death place", "school", "nationality", "spouse", "father",
     "mother"}
)  # fmt: skip
"""Relations of which people are the subjects."""
_OF_THE_START = PEOPLE | {"kind", "country"}


def stated(store: MemoryStore) -> list[Statement]:
    """What the titled passages of a memory say of their subjects, as far as it has a form."""
    ids = store.passage_ids().tolist()
    return [
        statement
        for start in range(0, len(ids), 1000)
        for slot in store.fetch(ids[start : start + 1000])
        if slot.title
        for statement in _of_slot(slot)
    ]


def _of_slot(slot: Slot) -> Iterator[Statement]:
    for form in _FORMS:
        text = slot.text[:_AFTER_SUBJECT] if form.relation in _OF_THE_START else slot.text
        found = form.pattern.search(text)
        if found is not None:
            answer = found["answer"]
            if len(answer) > 2 and answer not in slot.title:
                yield Statement(slot, form, answer)
