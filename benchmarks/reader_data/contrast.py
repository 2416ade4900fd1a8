"""Examples that differ in little and have other answers, for what is read one quotation at a time.

- ``alone``: the quotation of an answered question by itself, with its answer, verdicts too.
- ``unanswering``: of passages that do not answer, the unit most like the question.
- ``other_subjects``: a question for yes or no about another subject than the sentence's.
- ``written``: questions about short everyday texts in groups that share a passage or nearly so, and
  pairs of a text and a question for yes or no (``benchmarks/questions``).

Source: Gardner et al. 2020, "Evaluating models' local decision boundaries via contrast sets".
"""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.reader_data.files import Example, lines
from benchmarks.reader_data.polar import as_typed, polar_question
from memnet.text.english import units

_MAX_QUOTED = 700  # Characters of a quotation that is read alone
_MIN_UNIT = 25  # Characters of a unit that could answer
_MAX_SUBJECT = 5  # Words
_TRIES = 8  # Other subjects that are drawn for a question
_MARK = re.compile(r"(?:[-*•]|\d+[.)]) ")
_QUESTIONS = Path(__file__).parents[1] / "questions"


def written() -> list[Example]:
    """Examples that were written in groups for this, without those that are held out."""
    groups = (lines(_QUESTIONS / f"{name}.jsonl.gz") for name in ("contrast", "verdicts"))
    return [one for group in groups for one in group if one.get("part") in (None, "train")]


def alone(examples: Iterable[Example]) -> Iterator[Example]:
    """The quotations of answered examples by themselves."""
    for one in examples:
        quoted = "\n".join(one.get("quotes", ()))
        if 0 < len(quoted) < _MAX_QUOTED:
            passage = {"title": one["passages"][0]["title"], "text": quoted}
            yield {**one, "passages": [passage], "others": [], "set": f"{one['set']}-alone"}


def unanswering(examples: Iterable[Example]) -> Iterator[Example]:
    """The unit most like the question, of two passages of each example that do not answer it."""
    for one in examples:
        answered = one["answers"] or one.get("quotes")
        for passage in (one.get("others", []) if answered else one["passages"])[:2]:
            text = passage["text"]
            asked = _words(one["question"])
            unit = max(
                units(text), key=lambda u: len(asked & _words(text[u.start : u.end])), default=None
            )
            if unit is not None and unit.end - unit.start >= _MIN_UNIT:
                kept = {"title": passage["title"], "text": text[unit.start : unit.end]}
                asked_of = {"question": one["question"], "answers": [], "passages": [kept]}
                yield {**asked_of, "set": "unanswering"}


def other_subjects(examples: Iterable[Example], seed: int) -> Iterator[Example]:
    """Questions for yes or no of sentences that affirm, with the subject of another sentence."""
    chance = random.Random(seed)
    stated = [found for one in examples if (found := _stated(one)) is not None]
    subjects = [subject for _, _, subject, _ in stated]
    for one, verb, subject, rest in stated:
        text = one["passages"][0]["text"]
        for other in chance.choices(subjects, k=_TRIES):
            if other.casefold() not in text.casefold() and _words(other) - _words(subject):
                passage = one["quotes"][0] if chance.random() < 0.7 else text
                yield {
                    "question": as_typed(f"{verb} {other} {rest}?", chance),
                    "answers": [],
                    "passages": [{"title": one["passages"][0]["title"], "text": passage}],
                    "set": "other-subject",
                }
                break


def _stated(one: Example) -> tuple[Example, str, str, str] | None:
    """An affirmed example, and verb, subject and rest of the question of its sentence."""
    if one["answers"] != ["yes"] or not one.get("quotes"):
        return None
    sentence = _MARK.sub("", one["quotes"][0].replace("\n", " "), count=1)
    found = polar_question(sentence)
    if found is None:
        return None
    verb, *words = found[0].rstrip("?").split()
    count = _same_start(words, sentence.split())
    subject, rest = " ".join(words[:count]), " ".join(words[count:])
    return (one, verb, subject, rest) if 0 < count <= _MAX_SUBJECT and " " in rest else None


def _same_start(words: Sequence[str], others: Sequence[str]) -> int:
    """How many words both begin with."""
    count = 0
    while count < min(len(words), len(others)) and words[count].lower() == others[count].lower():
        count += 1
    return count


def _words(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"[a-z0-9]{3,}", text.casefold())}
