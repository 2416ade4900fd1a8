"""Pairs of a question for yes or no and a text, with what the text says of it where that is known.

- ``judged``: pairs that were written, contrasts, and questions about collections with what is
  quoted as their answers.
- ``plain``: pairs and answers that were written as people ask, not to be hard.
- ``made``: questions for a value, asked with that value, which is so, or with another one, which is
  not ("When does it open?" gives "Does it open at 9:00?"), and sentences as questions.
- ``checked``: questions for a value with an answer, which the text gives or not.
- ``beside``: questions with other texts of the same collection or subject, nothing known.

Source: Demszky et al. 2018, "Transforming question answering datasets into natural language
inference datasets"; Rajpurkar et al. 2018, table 1 (entity swap).
"""

import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from benchmarks.questions import FOLDER, read_questions, unpack_everyday
from benchmarks.reader_data.files import Example, lines
from benchmarks.reader_data.held_out import part_of_collection
from benchmarks.reader_data.polar import as_typed, polar_examples
from memnet.reader.answers import asks_whether
from memnet.reader.spans import answered_by
from memnet.text.english import units

Verdict = Literal["yes", "no", "open", "answers"]
_MOST = 900  # Characters of a text
_LEAST_UNIT, _MOST_UNIT = 20, 300  # Characters of a unit that is read beside a question
_WORDS_OF_VALUE, _WORDS_OF_PREDICATE = 8, 6
_BESIDE, _OF_SUBJECT = 14, 9  # Texts beside each question, the likeliest first
_VALUES = frozenset({"value", "definition", "compare", "list"})
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DAY = re.compile(rf"(?:{_MONTH}|\w+day|\d{{1,2}} (?:{_MONTH}))\b")
_YEAR = re.compile(rf"(?:(?:{_MONTH}) )?[12]\d{{3}}|{_MONTH}")
_TIME = re.compile(r"\d{1,2}[:.]\d\d|\d{1,2} ?[ap]\.?m")
_PLACED = re.compile(
    r"(?:in|on|at|from|after|before|until|by|since|every|each|between|within|during|around|about|"
    r"under|behind|beside|next|near|to|above|below|inside|outside|over|with|opposite)\b",
    re.IGNORECASE,
)
_VERB = "(is|are|was|were|does|do|did|will|can|should|must|has|have|had|may)"
# A question for a value, and the one with the value {0}; groups of the pattern are {1}, {2}, ...
_FORMS = [
    (re.compile(pattern, re.IGNORECASE), form)
    for pattern, form in (
        (r"what(?:['’]s| (is)) (.+)", "Is {2} {0}?"),
        (r"what (are|was|were) (.+)", "{1} {2} {0}?"),
        (rf"what {_VERB} ((?:\S+ ?){{1,{_WORDS_OF_PREDICATE}}})", "{1} {2} {0}?"),
        (rf"how (?!many)\w+ {_VERB} (.+)", "{1} {2} {0}?"),
        (r"how many ((?:\S+ ){1,3}?)(are|were|is|was) there(.*)", "{2} there {0} {1} {3}?"),
        (rf"how many ((?:\S+ ){{1,3}}?){_VERB} (.+)", "{2} {3} {0} {1}?"),
        (rf"(?:when|(?:at |on |in )?(?:what|which) (?:time|day|date|year)) {_VERB} (.+)",
         "{1} {2} {when}?"),
        (rf"where {_VERB} (.+)", "{1} {2} {where}?"),
        (r"who (is|was|are|were) (.+)", "{1} {0} {2}?"),
        (r"who (.+)", "Was it {0} who {1}?"),
    )
]  # fmt: skip
_NUMBER = re.compile(r"\d+")
_NAMES = re.compile(r"\b[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*|\b\d[\d,.]*\d\b|\b\d+\b")
_WORD = re.compile(r"\w{3,}")


class Pair(NamedTuple):
    """A question for yes or no, or one with an answer, and a text to read it in."""

    question: str
    title: str
    text: str
    verdict: Verdict | None  # None where nothing is known
    origin: Literal["judged", "plain", "made", "beside", "answered"] = "judged"


def whether(question: str, value: str) -> str | None:
    """A question for a value as one for yes or no, with the value; None where no form fits."""
    asked, value = question.strip().rstrip("? "), value.strip().rstrip(".")
    if not value or len(value.split()) > _WORDS_OF_VALUE:
        return None
    for pattern, form in _FORMS:
        if match := pattern.fullmatch(asked):
            parts = ["", *((one or "").strip() for one in match.groups())]
            found = form.format(value, *parts[1:], when=_when(value), where=_where(value))
            words = " ".join(found.split()).replace(" ?", "?")
            return words[0].upper() + words[1:]
    return None


def _when(value: str) -> str:
    if _PLACED.match(value):
        return value
    if _YEAR.fullmatch(value):
        return f"in {value}"
    return f"at {value}" if _TIME.match(value) else f"on {value}" if _DAY.match(value) else value


def _where(value: str) -> str:
    return value if _PLACED.match(value) else f"in {value}"


def other_value(value: str, others: Sequence[str], chance: random.Random) -> str | None:
    """Another value of the same shape: other digits, or one of the ``others``; None if none is."""
    numbers = list(_NUMBER.finditer(value))
    if numbers and chance.random() < 0.6:
        one = chance.choice(numbers)
        first = "123456789" if len(one[0]) > 1 else "0123456789"
        changed = "".join(
            chance.choice("0123456789" if place else first) if chance.random() < 0.6 else digit
            for place, digit in enumerate(one[0])
        )
        if changed != one[0]:
            return value[: one.start()] + changed + value[one.end() :]
    alike = [one for one in others if _alike(one, value) and bool(numbers) == _has_number(one)]
    return chance.choice(alike) if alike else None


def _has_number(value: str) -> bool:
    return _NUMBER.search(value) is not None


def _alike(one: str, other: str) -> bool:
    one_folded, other_folded = one.casefold(), other.casefold()
    return (
        one_folded not in other_folded
        and other_folded not in one_folded
        and abs(len(one.split()) - len(other.split())) <= 1
        and one[:1].isupper() == other[:1].isupper()
    )


def judged(part: Literal["train", "fit", "held_out"]) -> Iterator[Pair]:
    """Pairs of which it is known what the text says."""
    for one in lines(FOLDER / "verdicts.jsonl.gz"):
        if one["part"] == part:
            [passage] = one["passages"]
            verdict, origin = _verdict(one["answers"]), _origin(one)
            yield Pair(one["question"], passage["title"], passage["text"], verdict, origin)
    if part != "train":
        return
    for one in lines(FOLDER / "contrast.jsonl.gz"):
        if asks_whether(one["question"]) and one["answers"] in ([], ["yes"], ["no"]):
            yield from _contrast(one)
    for asked in _collections():
        for one in asked:
            text = "\n".join(piece["quote"] for piece in one["evidence"])
            judges = one["type"] in ("yesno", "unanswerable") and asks_whether(one["question"])
            if text and judges:
                title = Path(one["evidence"][0]["source"]).stem
                yield Pair(one["question"], title, text, _verdict(one["answers"]))


def checked() -> Iterator[Pair]:
    """Questions for a value with an answer that was written beside them, right or wrong."""
    for one in lines(FOLDER / "values.jsonl.gz"):
        if one.get("part") == "held_out":
            continue
        asked = answered_by(one["question"], one["short"])
        verdict: Verdict = "answers" if one["right"] else "open"
        yield Pair(asked, one["title"], one["text"], verdict, _origin(one))


def _origin(one: Example) -> Literal["judged", "plain"]:
    return "plain" if one.get("plain") else "judged"


def _verdict(answers: Sequence[str]) -> Verdict:
    return "yes" if answers == ["yes"] else "no" if answers == ["no"] else "open"


def _contrast(one: Example) -> Iterator[Pair]:
    verdict, [first, *more] = _verdict(one["answers"]), one["passages"]
    if one.get("quotes"):
        yield Pair(one["question"], "", " ".join(one["quotes"]), verdict)
    if not more:
        yield Pair(one["question"], first["title"], first["text"], verdict)


def made(examples: Iterable[Example], seed: int = 0) -> Iterator[Pair]:
    """Questions for yes or no made of those of collections, of examples and of their passages.

    ``examples`` have "question", "answers" and "passages", as ``benchmarks.prepare_reader`` writes
    them.
    """
    chance = random.Random(seed)
    for asked in _collections():
        values = defaultdict(list)
        for one in asked:
            if one["type"] in _VALUES and isinstance(one["answers"][0], str):
                values[one["question"].split()[0].casefold()].append(one["answers"][0])
        for one in asked:
            if one["type"] in _VALUES and one["evidence"] and isinstance(one["answers"][0], str):
                piece, others = one["evidence"][0], values[one["question"].split()[0].casefold()]
                title = Path(piece["source"]).stem
                if one["answers"][0] in piece["quote"]:
                    yield from _both(one, title, piece["quote"], others, chance)
    passages: dict[str, dict[str, str]] = {}
    for one in examples:
        passages |= {passage["text"]: passage for passage in one["passages"]}
        if one["answers"] and len(one["passages"]) == 1:
            [passage] = one["passages"]
            place = passage["text"].find(one["answers"][0])
            for unit in units(passage["text"]):
                if unit.start <= place < unit.end:
                    text = passage["text"][unit.start : unit.end]
                    others = [name[0] for name in _NAMES.finditer(passage["text"])]
                    outside = [other for other in others if other not in text]
                    yield from _both(one, passage["title"], text, outside, chance)
    for one in polar_examples(passages.values(), seed):
        if one["answers"] and asks_whether(one["question"]):
            title, text = one["passages"][0]["title"], " ".join(one["quotes"])
            yield Pair(one["question"], title, text, _verdict(one["answers"]), "made")


def _both(
    asked: Any, title: str, text: str, others: Sequence[str], chance: random.Random
) -> Iterator[Pair]:
    """A question with its value and with another one."""
    value = asked["answers"][0]
    question = whether(asked["question"], value)
    if question is None or len(text) > _MOST:
        return
    yield Pair(as_typed(question, chance), title, text, "yes", "made")
    other = other_value(value, others, chance)
    if other is not None and (question := whether(asked["question"], other)) is not None:
        yield Pair(as_typed(question, chance), title, text, "no", "made")


def beside() -> Iterator[Pair]:
    """Questions with the texts of their collection or subject that share most words with them."""
    for asked in _collections():
        texts = {
            piece["quote"]: Path(piece["source"]).stem
            for one in asked
            for piece in (*one["evidence"], *_pieces(one))
        }
        questions = [one["question"] for one in asked if asks_whether(one["question"])]
        yield from _likeliest(questions, texts, _BESIDE)
    subjects: dict[str, list[Example]] = defaultdict(list)
    for one in lines(FOLDER / "verdicts.jsonl.gz"):
        if one["part"] == "train":
            subjects[one["subject"]].append(one)
    for some in subjects.values():
        texts = {one["passages"][0]["text"]: one["passages"][0]["title"] for one in some}
        yield from _likeliest(sorted({one["question"] for one in some}), texts, _OF_SUBJECT)


def _pieces(one: Any) -> Iterator[dict[str, str]]:
    """The units of the passage of a question."""
    text = one.get("passage") or ""
    for unit in units(text):
        if _LEAST_UNIT < unit.end - unit.start < _MOST_UNIT:
            yield {"quote": text[unit.start : unit.end], "source": one["source"]}


def _likeliest(questions: Sequence[str], texts: dict[str, str], count: int) -> Iterator[Pair]:
    words = {text: _words(f"{text} {title}") for text, title in texts.items()}
    for question in questions:
        asked = _words(question)
        best = sorted(texts, key=lambda text: -len(asked & words[text]) / (len(words[text]) + 6))
        for text in best[:count]:
            yield Pair(question, texts[text], text, None, "beside")


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}


def _collections() -> Iterator[list[Any]]:
    """The questions of each collection that is learned from."""
    with tempfile.TemporaryDirectory() as folder:
        yield from (asked for _, asked in unpack_everyday("train", Path(folder)))
    documents = defaultdict(list)
    for one in read_questions():
        if part_of_collection(one["collection"]) == "train":
            documents[one["collection"]].append(one)
    yield from documents.values()
