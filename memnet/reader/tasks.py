"""Lists of tasks: the box before an item says whether it is done."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from memnet.reader import rows
from memnet.reader.answers import Prediction, asks_whether
from memnet.reader.passages import PassagesOf, RankedSlot, slot_candidate
from memnet.reader.quotes import Quotation
from memnet.reader.spans import Passage, Reader
from memnet.reader.values import HOW_MANY
from memnet.text.names import stems
from memnet.types import AnswerKind, Candidate

# A box of Markdown, Org or a word processor, or a keyword of Org, and what is to be done.
_TASK = re.compile(
    r"[ \t]*(?P<task>(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)?"
    r"(?:\[(?P<box>[ xX~/-])\]|(?P<sign>[☐☑☒✅✓✔])|(?P<word>TODO|DONE))[ \t]+(?P<what>\S[^\n]*))"
)
_DONE, _BEGUN = frozenset("x X ☑ ☒ ✅ ✓ ✔ DONE".split()), frozenset("~/")
_STATE = re.compile(
    r"(?:(?P<open>\b(?:open|undone|unfinished|incomplete|pending|outstanding|missing|left|"
    r"remain(?:s|ing)?|to[ -]?dos?|to be done|yet to|still)|"
    r"(?:\bnot|n['’]t)(?: yet)?(?: been)? (?:done|finished|completed?|closed))|"
    r"\b(?:done|finished|completed?|closed|ticked|checked))\b",
    re.IGNORECASE,
)
_NOUNS = (
    "task tasks todo todos item items job jobs chore chores thing things point points action "
    "actions work anything everything something"
)
_NOUN = re.compile(rf"\b(?:{'|'.join(_NOUNS.split())})\b", re.IGNORECASE)
# Words of a question about a list as such, beside those that say what the list is about.
_OF_LISTS = stems(
    f"{_NOUNS} list lists all any every already far show tell me many much still yet do done been "
    "so have has need get got over off not open undone unfinished incomplete pending outstanding "
    "missing left remain finished complete closed ticked checked"
)
# Of what has been begun and not done
_IN_PROGRESS = re.compile(
    r"(?:\bstill )?\b(?:under ?way|in progress|being (?:done|worked on))\b(?: (?:right )?now)?",
    re.IGNORECASE,
)
# Asks for a list of tasks, wherever one is: "What still has to be done?"
_TO_DO = re.compile(
    r"(?:what|which)\b.{0,60}\b(?:still\b.{0,30}\bto (?:be done|do)|(?:left|yet) to (?:be done|do)|"
    r"to[ -]?do[ -]list)\b",
    re.IGNORECASE,
)
# Until when, and by whom: "before we leave", "Clara still has"
_CIRCUMSTANCE = re.compile(
    r"\b(?i:before|until|by the time)\b.*|\b[A-Z]\w+(?= (?:still )?(?:has|have|needs?)\b)"
)
_NOT = re.compile(r"n['’]t\b", re.IGNORECASE)
_ALL = re.compile(r"\b(?:all|every\w*)\b", re.IGNORECASE)
_ANY = re.compile(r"\b(?:any\w*|some\w*|one)\b", re.IGNORECASE)
_DENIES = re.compile(r"\b(?:not|still|yet to)\b|n['’]t\b", re.IGNORECASE)
# Probability of yes, by the reader, once the task is done: from it, the task is asked about. It was
# above for 11 of 13 written questions about a task, and below for 13 about something else in one
# ("Is the fence high?").
_MIN_ABOUT = 0.3
_OF_TIME = rows.stems("yet already now ever")  # Words that say of no task which it is
_MOST_SLOTS = 1_000  # Of a source that has tasks


class Task(NamedTuple):
    """An item of a list of tasks."""

    quotation: Quotation  # With its box
    what: str  # Without it
    done: bool
    begun: bool  # And not done
    caption: str  # What stands above its list


def tasks_of(item: RankedSlot) -> Iterator[Task]:
    """The tasks of a passage, in their order."""
    offset, caption, in_list = 0, "", False
    for line in item.slot.text.split("\n"):
        found = _TASK.fullmatch(line.rstrip())
        if found is not None:
            state = found["box"] or found["sign"] or found["word"]
            start, end = found.span("task")
            quotation = Quotation(item, offset + start, offset + end, item.attention)
            yield Task(quotation, found["what"], state in _DONE, state in _BEGUN, caption)
        elif line.strip():
            caption = line if in_list else f"{caption}\n{line}"
        in_list = found is not None or (in_list and not line.strip())
        offset += len(line) + 1


def read_tasks(
    question: str,
    passages: Sequence[RankedSlot],
    read: Prediction,
    reader: Reader,
    passages_of: PassagesOf,
) -> Prediction:
    """The answer that the states of tasks give; nothing where a question asks for none.

    Either it asks for the open or the done ones of a list, or how many they are; or whether one
    task is done. Of the ``passages``, those of the source are looked at that was attended to most
    when they were ``read``, or that has tasks where what is to be done is asked for; where a list
    is, all of it (``passages_of`` gives as many as wanted of a source and namespace).
    """
    first = read.attended[0].item if read.attended else None
    own = [one for one in passages if first is not None and one.slot.source == first.slot.source]
    begun = _IN_PROGRESS.search(question)
    state = begun or _STATE.search(question)
    if state is not None and _TO_DO.match(question) and not any(map(_has_tasks, own)):
        own = [one for one in passages if _has_tasks(one)][:1]
        first = own[0] if own else None
    if first is not None and state is not None and any(map(_has_tasks, own)):
        ranked = {one.slot.id: one for one in own}
        slots = passages_of(*first.source, _MOST_SLOTS)
        own = [ranked.get(slot.id) or replace(first, slot=slot) for slot in slots]
    tasks = [
        task for item in sorted(own, key=lambda one: one.slot.start) for task in tasks_of(item)
    ]
    text = _IN_PROGRESS.sub("", question)
    asked = _of_list(text, tasks) if tasks and state is not None else []
    if begun is not None and (not asked or _DENIES.search(text)):
        return Prediction()
    if asked and state is not None:
        left_open = begun is None and state["open"] is not None
        chosen = [one for one in asked if (one.begun if begun else one.done != left_open)]
        if asks_whether(question):
            others = [task for task in asked if task not in chosen]
            # "Are the tasks done?" asks for all of them, "Are any open?" for one.
            every = _ALL.search(question) or not (left_open or _ANY.search(question))
            holds = not others if every else bool(chosen)
            return _predicted("yes" if holds else "no", 1.0, chosen if holds else others)
        if HOW_MANY.search(question):
            number = str(len(chosen))
            return _predicted("value", 1.0, chosen, number)._replace(added=f"{number}:\n")
        return _predicted("list", 1.0, chosen, ", ".join(task.what for task in chosen))
    whether = tasks and asks_whether(question)
    return _whether(question, tasks, read, reader) if whether else Prediction()


def _has_tasks(item: RankedSlot) -> bool:
    return any(tasks_of(item))


def _of_list(question: str, tasks: Sequence[Task]) -> list[Task]:
    """The tasks of the list that a question asks about; none where it is about something else.

    "Before the season" may be what it is about, or only say until when.
    """
    title = stems(tasks[0].quotation.item.slot.title)
    for text in (question, _CIRCUMSTANCE.sub("", question)):
        asked = stems(_NOT.sub(" not", text)) - _OF_LISTS - title
        known = [asked & stems(task.caption) for task in tasks]
        most = max(map(len, known))
        own = [task for task, words in zip(tasks, known, strict=True) if len(words) == most]
        asked -= frozenset[str]().union(*known)
        found = [task for task in own if asked <= stems(task.what)]
        if found and (not asked or _NOUN.search(question)):
            return found
    return []


def _whether(question: str, tasks: Sequence[Task], read: Prediction, reader: Reader) -> Prediction:
    """Whether the task is done that shares most words with a question, or was attended to most.

    Nothing where the question is about something else: words of it are not those of the task
    ("Is the fence high?"), and the reader does not take it to ask for that.
    """
    asked = rows.stems(question) - _OF_TIME

    def nearness(task: Task) -> tuple[int, float]:
        shared = len(asked & rows.stems(task.what))
        own = (unit.weight for unit in read.attended if task.quotation.overlaps(unit))
        return shared, max(own, default=0.0)

    task = max(tasks, key=nearness)
    if not any(nearness(task)):
        return Prediction()
    probability = 1.0
    if not asked <= rows.stems(task.what):
        probability = reader.read(question, [Passage("Tasks", f"It is done: {task.what}")]).yes
    if probability < _MIN_ABOUT:
        return Prediction()
    denies = _DENIES.search(question) is not None
    return _predicted("yes" if task.done != denies else "no", probability, [task])


def _predicted(
    kind: AnswerKind, score: float, shown: Sequence[Task], short: str | None = None
) -> Prediction:
    """An answer that some tasks give: a list of them, or else a number or a verdict."""
    quotes = tuple(task.quotation for task in shown)
    support = tuple({one.item.slot.id: one.item for one in quotes}.values())
    text = kind if short is None else short
    candidates = [Candidate(text=text, score=score)]
    if kind == "list":
        candidates = [slot_candidate(one.item.slot, one.start, one.end, 1.0) for one in quotes]
    return Prediction(tuple(candidates), support, kind, quotes=quotes, short=text)
