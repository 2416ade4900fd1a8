"""Questions for yes or no, made from the sentences of passages, and ones whose premise is denied.

A statement with an auxiliary, or a verb of ``_VERBS``, becomes a question by inversion: "The key is
kept in the hall." gives "Is the key kept in the hall?". The answer is "yes"; "no" where the
sentence is negated, or where one word of the question is replaced by its opposite, or by another
number or name of the passage. "When ...", "Why ..." and the like of a negated statement have no
answer.

Source: Demszky et al. 2018, "Transforming question answering datasets into natural language
inference datasets" (the other way round); Rajpurkar et al. 2018, table 1 (negation, antonyms,
entity swap).
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.reader_data.files import Example
from memnet.text.english import units

_AUXILIARY = "is|are|was|were|can|could|has|have|had|will|must|should|may"
_SUBJECT = r"(?P<subject>[A-Z][\w'’./-]*(?: [\w'’./-]+){0,6}?)"
_STATED = re.compile(
    rf"{_SUBJECT} (?P<verb>{_AUXILIARY})(?P<not> not| never| no longer)? "
    r"(?P<rest>[\w'’\"“(][^;:?!\n]{8,140})\."
)
_NOT_DONE = re.compile(
    rf"{_SUBJECT} (?P<verb>does not|do not|did not|doesn't|don't|didn't) "
    r"(?P<rest>[a-z][^;:?!\n]{8,140})\."
)
_VERBS = (
    "support", "require", "use", "include", "contain", "allow", "provide", "need", "work", "run",
    "store", "create", "come", "cost", "take", "make", "give", "help", "let", "show", "start",
    "open", "close", "save", "send", "keep", "expire", "apply", "depend", "mean", "change", "add",
    "remove", "follow", "live", "grow", "cause", "form", "produce", "hold", "cover", "offer",
    "accept", "return", "read", "write", "last", "begin", "end", "stay", "belong",
)  # fmt: skip
_BASE_FORM = {f"{verb}s": verb for verb in _VERBS}
_DONE = re.compile(
    rf"{_SUBJECT} (?P<verb>{'|'.join(_BASE_FORM)}) (?P<rest>[\w'’\"“(][^;:?!\n]{{6,140}})\."
)
_NO_SUBJECT = re.compile(
    r"(?:It|This|These|That|Those|They|He|She|There|However|If|When|In|For|As|But|And|Or|So|Then"
    r"|Also|Although|While|Because|After|Before|By|To|With|What|Which|Who|How|Each of|Note|See"
    r"|Unless|Until|Since|Where|Once|Why|Here|His|Her|Its|Their|At|On|From|During|Under|Over)\b"
)
"""Starts of sentences that can't be asked by themselves: pronouns, conjunctions, prepositions."""
_COMPLEX = re.compile(r"\b(?:which|that|who|and|or|is|are|was|were|not|can|will)\b")
"""Words in a subject that show it to be more than that."""
_LOWERED = frozenset(
    "The A An You Your All Any Every Each Some Most Many Both Users People Only No".split()
)
_ANTONYMS = (
    ("first", "last"), ("largest", "smallest"), ("most", "least"), ("highest", "lowest"),
    ("north", "south"), ("before", "after"), ("more", "fewer"), ("larger", "smaller"),
    ("higher", "lower"), ("increase", "decrease"), ("automatically", "manually"),
    ("enabled", "disabled"), ("optional", "required"), ("free", "paid"), ("always", "never"),
    ("open", "closed"), ("public", "private"), ("online", "offline"), ("allowed", "forbidden"),
    ("possible", "impossible"), ("hot", "cold"), ("long", "short"), ("local", "remote"),
    ("old", "new"), ("large", "small"), ("early", "late"), ("left", "right"),
    ("same", "different"), ("safe", "dangerous"), ("all", "none"), ("able", "unable"),
    ("easy", "hard"), ("included", "excluded"),
)  # fmt: skip
_OPPOSITE = {one: other for pair in _ANTONYMS for one, other in (pair, pair[::-1])}
_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = re.compile(rf"\b(?:\d[\d,.]*\d|\d|{'|'.join(_NUMBERS)})\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-zA-Z]+(?: [A-Z][a-zA-Z]+)*")
_LONG, _WHOLE = 80, 45
"""A question beyond ``_LONG`` characters is cut at the next pause after ``_WHOLE``."""
_PAUSE = re.compile(
    r",? (?:and|but|because|so that|when|which|while|although|as|with|from|by|after|before) |, |— "
)
_MARK = re.compile(r"(?:[-*•]|\d+[.)]) ")
_SECOND_PERSON = (("you", "I"), ("your", "my"))
_MAX_PASSAGE = 1000
"""Characters."""
_OF_A_PASSAGE = 2
"""Questions of each answer."""


class _Asked(NamedTuple):
    question: str
    answer: str
    """"yes", "no"; empty: none."""
    quote: str


def polar_examples(passages: Iterable[Mapping[str, str]], seed: int) -> Iterator[Example]:
    """Examples of distinct passages: at most two answered yes, no and not at all of each.

    Args:
        passages: with "title" and "text".
        seed: of what is drawn.
    """
    distinct = {one["text"]: one for one in passages if len(one["text"]) <= _MAX_PASSAGE}
    for text, one in distinct.items():
        chance = random.Random(f"{seed}:{text}")
        asked = list(_questions(text, chance))
        chance.shuffle(asked)
        denied = sum(each.answer == "no" for each in asked)
        counts = {"yes": max(1, min(denied, _OF_A_PASSAGE)), "no": _OF_A_PASSAGE, "": 1}
        for each in asked:
            counts[each.answer] -= 1
            if counts[each.answer] >= 0:
                yield {
                    "question": as_typed(each.question, chance),
                    "answers": [each.answer] if each.answer else [],
                    "quotes": [each.quote] if each.answer else [],
                    "passages": [dict(one)],
                    "set": "polar",
                }


def _questions(text: str, chance: random.Random) -> Iterator[_Asked]:
    for unit in units(text):
        quote = text[unit.start : unit.end]
        sentence = _MARK.sub("", quote.replace("\n", " "), count=1)
        found = polar_question(sentence)
        if found is None:
            continue
        question, answer = found
        yield _Asked(question, answer, quote)
        if answer == "yes":
            changed = _changed(question, text, chance)
            if changed is not None:
                yield _Asked(changed, "no", quote)
        else:
            word = chance.choice(("When", "Where", "Why", "How"))
            yield _Asked(f"{word} {question[0].lower()}{question[1:]}", "", quote)


def polar_question(sentence: str) -> tuple[str, str] | None:
    """The question that a sentence answers with "yes" or "no"; None where no pattern fits."""
    if _NO_SUBJECT.match(sentence):
        return None
    if match := _NOT_DONE.fullmatch(sentence):
        return _question(match["verb"][:-3].strip().capitalize(), match), "no"
    match = _STATED.fullmatch(sentence)
    if match and not _COMPLEX.search(match["subject"]):
        participle = re.match(r"(?:been|become|had|\w+ed|\w+en)\b", match["rest"])
        if match["verb"] not in ("has", "have", "had") or participle:
            return _question(match["verb"].capitalize(), match), "no" if match["not"] else "yes"
    match = _DONE.fullmatch(sentence)
    if match and not _COMPLEX.search(match["subject"]):
        base = f"{_BASE_FORM[match['verb']]} {match['rest']}"
        return _question("Does", match, base), "yes"
    return None


def _question(verb: str, match: re.Match[str], rest: str = "") -> str:
    subject = match["subject"]
    if subject.split()[0] in _LOWERED:
        subject = subject[0].lower() + subject[1:]
    asked = f"{verb} {subject} {rest or match['rest']}"
    pause = _PAUSE.search(asked, _WHOLE) if len(asked) > _LONG else None
    return f"{asked[: pause.start()] if pause else asked}?"


def _changed(question: str, text: str, chance: random.Random) -> str | None:
    """A question of which the passage says otherwise: one word, number or name is another."""
    options: list[str] = []

    def replace(match: re.Match[str], others: Sequence[str]) -> None:
        if others:
            options.append(
                f"{question[: match.start()]}{chance.choice(others)}{question[match.end() :]}"
            )

    for match in re.finditer(r"\w+", question):
        replace(match, [_OPPOSITE[match[0]]] if match[0] in _OPPOSITE else [])
    for match in _NUMBER.finditer(question):
        replace(match, _other_numbers(match[0], question, text))
    for match in _NAME.finditer(question):
        names = [one[0] for one in _NAME.finditer(text)]
        width = len(match[0].split())
        replace(match, [one for one in names if one not in question and len(one.split()) == width])
    return chance.choice(options) if options else None


def _other_numbers(number: str, question: str, text: str) -> list[str]:
    if not number[0].isdigit():
        return [one for one in _NUMBERS if one != number]
    others = [
        one[0]
        for one in _NUMBER.finditer(text)
        if one[0][0].isdigit() and len(one[0]) == len(number) and one[0] not in question
    ]
    return others or ([str(2 * int(number) + 1)] if number.isdigit() else [])


def as_typed(question: str, chance: random.Random) -> str:
    """A question as people type them: in the first person, without marks or capitals."""
    if chance.random() < 1 / 2:
        for word, own in _SECOND_PERSON:
            question = re.sub(rf"\b{word}\b", own, question, flags=re.IGNORECASE)
    if chance.random() < 0.3:
        question = question.rstrip("?")
    if chance.random() < 0.25:
        question = question[0].lower() + question[1:]
    return question
