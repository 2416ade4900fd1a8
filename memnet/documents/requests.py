"""Requests that ask no single thing: greetings, "Tell me about it", all of something."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import compress, islice, zip_longest
from pathlib import PurePath
from typing import Any, NamedTuple

from memnet.documents.question import ASKS_MEANING, Question, explanations
from memnet.reader.answers import Prediction
from memnet.reader.passages import RankedSlot, slot_candidate
from memnet.reader.quotes import MAIL_HEAD, Quotation, quote_around
from memnet.reader.sequences import is_heading
from memnet.reader.values import MEASURED, unit_of, value_of
from memnet.storage import Slot
from memnet.storage.values import SourceFilter
from memnet.text.dates import MONTH, day_name, days_in, month_name, month_of
from memnet.text.english import STOP_WORDS, listed, uninflected, units
from memnet.text.follow_ups import Asked, answer_after
from memnet.text.names import MESSAGE, normalise, stems
from memnet.types import Answer, Candidate, Source

_THANKS = "thanks(?: a lot| so much| again)?|(?:many thanks|thank you)(?: very much| so much)?|thx"
_PHRASES = re.compile(
    rf"(?:(?:{_THANKS}|(?:hello|hallo|hi|hey)(?: there| all| everyone| memnet| world)?|test|bye"
    r"|good (?:day|morning|afternoon|evening|night)|how (?:are you|(?:is|s) it going)(?: today)?"
    r"|how are you doing(?: today)?|what s up|who are you|what are you|what s your name|ok|help"
    r"|nice to meet you|are you there|can you (?:help|hear) me|for your help|tell me a joke|okay"
    r"|goodbye|see you|what can (?:you do|you answer|i ask(?: you)?)|what do you know"
    # Requests for nothing in particular
    r"|(?:describe|explain|summari[sz]e|list|find|search|(?:tell|show|give)(?: (?:me|us))?)"
    r"(?: please)?)(?: |$)){1,4}"
)
_NAMED = 3  # Sources that are named


def greeted(question: str, sources: Iterable[Source]) -> Answer | None:
    """What is said to a greeting, "Explain", or signs without a word; None for anything else.

    Of the sources the first are named.
    """
    said = normalise(question)
    if said and _PHRASES.fullmatch(said) is None:
        return None
    titles = [f'"{one.title or one.id}"' for one in islice(sources, _NAMED)]
    about = " and ".join(filter(None, (", ".join(titles[:-1]), *titles[-1:])))
    line = f"Ask about what is stored: {about}." if titles else "Nothing is stored yet."
    thanked = "You're welcome. " if "thank" in said or "thx" in said else ""
    return Answer(
        question=question, answer=f"{thanked}{line}", confidence=None, abstained=True,
        candidates=(), evidence=(), hops=(), model="none", elapsed_ms=0.0,
    )  # fmt: skip


_POLITE = re.compile(
    r"\W{0,9}(?:(?:hi|hello|hey|excuse me|sorry|so|and|well|okay|ok)\b[,!.]? ?){0,3}"
    r"(?:(?:please|pls|plz),? )?"
    r"(?:(?:could|can|would|will) (?:you|anyone|anybody|someone|somebody) (?:please |kindly )?"
    r"(?:(?:(?P<shows>show|list)|name|tell|give|remind|send|explain to) (?:me|us)"
    r"|let (?:me|us) know|(?:check|explain|find out|say|see)"
    r"(?= (?:if|whether|who|what|when|where|which|why|how)\b))"
    r"|(?:tell|remind|give) (?:me|us)|let (?:me|us) know"
    r"|do (?:you|we) (?:happen to )?know|does (?:anyone|anybody|somebody|someone) know"
    r"|i(?: would|['’]d) (?:like|love|want) to know|i (?:want|need) to know|i(?:['’]m| am| was) "
    r"wondering|any idea"
    r"|(?:may|can) i ask(?: you)?(?= (?:if|whether|who|what|when|where|which|why|how)\b)"
    r"),? (?:please,? )?(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
# In small letters: "Who sang Thank You?"
_AT_THE_END = re.compile(r",? (?:please|pls|plz|thanks|thank you)(?=[?!. ]{0,5}$)")
_IF = re.compile(
    r"(?:if|whether)(?: or not)? (?P<who>.{1,60}?) (?P<verb>is|are|was|were|can|could|may|might|"
    r"must|should|will|would|has|have|had|does|do|did)\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_ASKS_BY = re.compile(
    r"(?:(?:in|on|at|by|to|from|for|until|since) )?"
    r"(?:who|whom|whose|what|when|where|which|why|how)\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"(?:(?!of\b|in\b|for\b)[^\s?]+ ){0,4}?[^\s?'’]*[^s\W]s(?: (?:of|in|for|on|at)\b|\W*$)", re.I
)
_NOT_NAMED = re.compile(
    r"(?:about|of|to|not|more|something|anything|everything|a joke|that|this|it|the (?:way|reason)|"
    r"if|whether|because)\b",
    re.IGNORECASE,
)


def as_direct_question(question: str) -> str:
    """A polite request as the question that it is: "Could you tell me Ann's number, please?".

    It is "What is Ann's number?"; "Do you know whether the pool is open?" asks "Is the pool open?".
    """
    asked = _AT_THE_END.sub("", question)
    polite = _POLITE.match(asked)
    if polite is None:
        return asked
    rest = polite["rest"].rstrip(" .!")
    if (named := _IF.match(rest)) is not None:
        return f"{named['verb'].capitalize()} {named['who']}{named['rest']}"
    if polite["shows"]:
        return f"{polite['shows'].capitalize()} {rest}"
    if _ASKS_BY.match(rest):
        return rest[0].upper() + rest[1:]
    if _NOT_NAMED.match(rest):
        return question
    return f"What {'are' if _SEVERAL.match(rest) else 'is'} {rest}"


# "When does it open, and who has the key?"
_TWO = re.compile(
    r"(?P<first>\W{0,9}(?:and |so )?(?:who|what|when|where|which|why|how|is|are|was|were|do|does|"
    r"did|can|may|must|has|have|will|in which|on which|at what)(?:['’]s)? (?:[^\s?]+ ){2,40}?"
    r"[^\s?]+?)"
    r"(?:[?,;]? and |\? )(?P<second>(?:who|what|when|where|which|why|how)(?:['’](?:s|re))? "
    r"(?:[^\s?]+ ?){2,40})\?*\s*",
    re.IGNORECASE,
)
_ASKS_FOR = "(?:when|where|(?:at )?what time)"
_OF_EVENT = "(?= (?:is|are|was|were|do|does|did|will|can) .)"
_WHEN_AND_WHERE = re.compile(rf"({_ASKS_FOR}) and ({_ASKS_FOR}){_OF_EVENT}", re.IGNORECASE)
_EVENT = re.compile(rf"{_ASKS_FOR}{_OF_EVENT}", re.IGNORECASE)
_CLAUSE = re.compile(
    r"\b(?:who|what|when|where|which|why|how|that|whether|between)\b", re.IGNORECASE
)


def both_of(question: str) -> tuple[str, str] | None:
    """The two questions that somebody asks at once; None of anything else.

    "Who built the mill that Ann owns and who sold it?" may be one about a mill.
    """
    said = question.rstrip(" ?!.")
    head, _, tail = said.rpartition(" and ")
    if both := _WHEN_AND_WHERE.match(said):  # "When and where does it start?"
        return f"{both[1]}{said[both.end() :]}?", f"{both[2].capitalize()}{said[both.end() :]}?"
    if (event := _EVENT.match(head)) and re.fullmatch(_ASKS_FOR, tail, re.IGNORECASE):
        head = head.rstrip(" ?,")
        return f"{head}?", f"{tail.capitalize()}{head[event.end() :]}?"
    found = _TWO.fullmatch(question)
    if found is None or len(_CLAUSE.findall(found["first"])) > 1:
        return None
    second = found["second"].rstrip(" ?")
    return f"{found['first'].strip(' ,')}?", f"{second[0].upper()}{second[1:]}?"


def ask_both(question: str, top_k: int, ask: Callable[[str], Answer]) -> Answer:
    """The answer to a question, of two at once that to each of them.

    They are shown as the less certain one of them may be. Where one of the two has no answer, the
    question is asked as it is.
    """
    parts = both_of(question)
    if parts is None:
        return ask(question)
    first = ask(parts[0])
    second, _ = answer_after(parts[1], Asked(question=parts[0], short=first.short), ask)
    both = first, second
    same = first.answer == second.answer
    if first.answer is None or second.answer is None or (same and first.short == second.short):
        return ask(question)
    promised = all(one.shown == "answer" for one in both)
    shorts = [one.short for one in both if one.short is not None]
    evidence = {
        one.id: one for pair in zip_longest(*(one.evidence for one in both)) for one in pair if one
    }
    known = [one.confidence for one in both if one.confidence is not None]
    return first.model_copy(
        update={
            "question": question,
            "answer": first.answer if same else f"{first.answer}\n{second.answer}",
            "short": "; ".join(shorts) if promised and len(shorts) == len(both) else None,
            "quotes": first.quotes if same else (*first.quotes, *second.quotes),
            "units": (*first.units, *second.units),
            "confidence": min(known, default=None),
            "shown": "answer" if promised else "passage",
            "contradiction": first.contradiction or second.contradiction,
            "candidates": (*first.candidates, *second.candidates),
            "evidence": tuple(evidence.values())[: max(top_k, len(both))],
            "hops": (*first.hops, *second.hops),
            "elapsed_ms": first.elapsed_ms + second.elapsed_ms,
        }
    )


_REQUEST = re.compile(
    r"(?:please |can you |could you ){0,2}(?:tell (?:me|us) (?:more |something )?(?:about|of)"
    r"|show (?:me|us)?"
    r"|what do (?:you|we) know (?:about|of)|what is there (?:about|on)|summari[sz]e|describe"
    r"|what d(?:id|oes) (?P<who>\S{1,40}(?: \S{1,40})?) (?:say|write|tell (?:me|us)) (?:about|of))"
    r" (?P<thing>\S.{1,200})",
    re.IGNORECASE,
)
_READ = 5  # Slots that are looked at, best first
_STATED = 0.95  # Confidence of what words stand for that begin with the letters; not calibrated
_MAX_CHARACTERS = 700


def requested(text: str, ranked: Sequence[RankedSlot], prediction: Prediction) -> Prediction:
    """What is said of the thing that a request names, where it has no answer otherwise.

    The sentences of the best passage with all content words of the name, from the first with one of
    them on, or the fact; they are a passage and no answer.
    """
    request = _REQUEST.match(" ".join(text.split()))
    if request is None:
        return prediction
    thing, who = (stems(request[name] or "") for name in ("thing", "who"))
    quoted = stems(" ".join(one.text for one in prediction.quotes))
    enough = prediction.promised or (who and not thing.isdisjoint(quoted))
    if enough and prediction.candidates and not prediction.abstained:
        return prediction
    for item in ranked[:_READ] if thing else ():
        slot, quote = item.slot, Quotation(item, *_place(item, thing), 1.0)
        if thing | who <= stems(f"{slot.title} {slot.source} {slot.text}"):
            best = slot_candidate(slot, quote.start, quote.end, item.score)
            shown = Prediction((best,), (item,), "statement", promised=False, quotes=(quote,))
            return shown._replace(signals=prediction.signals)
    return prediction


def _place(item: RankedSlot, wanted: frozenset[str]) -> tuple[int, int]:
    """Where the quotation stands: whole sentences and rows as long as they fit."""
    if item.slot.kind != "passage":
        return 0, len(item.slot.text)
    text = item.slot.text
    head = MAIL_HEAD.match(text)
    own = [one for one in units(text) if head is None or one.start >= head.end()]
    titled = wanted <= stems(item.slot.title.rpartition(" > ")[2])
    told = (one for one in own if titled or wanted & stems(text[one.start : one.end]))
    start, end, _ = next(told, own[0] if own else (0, len(text), ""))
    for one in own:
        if one.start > start and (is_heading(text, one) or one.end - start > _MAX_CHARACTERS):
            break
        end = max(end, one.end)
    return start, min(end, start + _MAX_CHARACTERS)


_MOST, _CITED, _SHOWN = 10_000_000, 100, 20  # Records; cited; shown by name
_FORM = re.compile(
    r"(?:(?:which|what|(?:list|show|name)(?: me)?|(?P<count>(?:in )?how many|count))(?: all)?"
    r"|who (?:wrote|sent)(?: the)? (?P<degree>most|fewest))(?P<before>(?: [\w&-]{1,30}){0,3}?)"
    r" (?P<noun>(?!(?:is|was|does|has|this)\b)[\w-]{2,30}(?<![su])s)(?P<rest>(?: .{1,300})?)",
    re.IGNORECASE,
)
_MENTIONS = re.compile(
    r" (?:that |which )?(?:mention|contain|use|discuss|(?:talk|are) about)s? (?:the )?(.+)"
    r"| (?:is|are) (?:the )?(.{1,80}) mentioned$"
)
_DAY = rf"(?:(?:\d{{1,2}}(?:st|nd|rd|th)? )?{MONTH.replace('?P<month>', '?:')} (?:\d{{1,2}}, )?)?"
_VALUE = rf"{_DAY}[$€£]?\d(?:[\d.,-]{{0,20}}\d)?"
_LIMIT = re.compile(
    r" (?:(?P<low>since|after|(?:later|newer) than|(?P<least>at least|over|above|more than))"
    r"|(?P<high>until|till|before|(?:earlier|older) than"
    r"|(?P<most>at most|up to|under|below|(?:less|fewer) than))|(?:between|from)(?! \S+$))"
    rf" (?P<one>{_VALUE})(?: (?:and|to|until) (?P<two>{_VALUE}))?(?![\w-])(?P<unit> [^\W\d_]+)?",
    re.IGNORECASE,
)
_INCLUDED = ("since", "at least", "until", "till", "at most", "up to")
_MONTH_OR_YEAR = re.compile(rf"(?:{MONTH} )?(?P<year>(?:1[5-9]|20)\d\d)", re.IGNORECASE)
_STOPS = STOP_WORDS.difference("how not when where why".split()) | listed("of records")
_PEOPLE = {**dict.fromkeys(("from", "author", "creator", "sender"), "by"), "cc": "to"}
_CLASSES = ("type", "kind", "category", "folder", "format", "tags")
# "How many hens do we have?" counts no notes that have "hens" as a tag.
_OWNED = re.compile(r" (?:do|does|did) \w{1,20} (?:have|own|keep|need|get)", re.IGNORECASE)
_AMOUNTS = listed("amounts")
_MAIL, _NOTES = ("email", "mail", "message"), ("", "md", "markdown", "txt", "rst", "org")
_MESSAGES = uninflected("message")
_ANY = frozenset(map(uninflected, (*_MAIL, "document", "source", "file", "note")))


class _Record(NamedTuple):
    name: str  # As people know it
    values: Mapping[str, tuple[str, ...]]  # By their normalised names
    at: int | tuple[str, str]  # Slot of a message; id and namespace of a source


def list_all(question: Question) -> Prediction | None:
    """The answer to a question for all of something; None of another, or one not understood."""
    asked = _FORM.fullmatch(" ".join(question.text.split()).rstrip(" ?!."))
    if asked is None or question.scope.where:
        return None
    noun, owned = "".join(_words(asked["noun"].replace("-", ""))), _OWNED.match(asked["rest"])
    found = every = [*_records(question, noun, _CLASSES[:-1] if owned else _CLASSES)]
    store, rest, where, saying = question.store, f"{asked['before']}{asked['rest']}", "", {}
    if found and (said := _MENTIONS.search(rest)):
        rest, phrase = rest[: said.start()], said[1] or said[2]
        saying = _saying(question, phrase)
        found, where = [one for one in every if one.at in saying], f' that say "{phrase}"'
    found, rest, limits = _within(found, rest)
    found, more = _fitting(every, found, rest)
    names = [one.name for one in found]
    shown = f"{len(found)} of {len(every)} {asked['noun']}{where}{limits}{more}"
    if asked["degree"]:
        tally = Counter(who for one in found for who in one.values.get("by", ())).most_common()
        tally = tally[:: -1 if asked["degree"].casefold() == "fewest" else 1]
        names = [who for who, number in tally if number == tally[0][1]]
        found = [one for one in found if {*names} & {*one.values.get("by", ())}]
        shown += f" ({', '.join(f'{who}: {number}' for who, number in tally)})"
    slots: list[Slot] = []
    for at in (saying.get(one.at, one.at) for one in found[:_CITED]):
        slots += store.fetch([at]) if isinstance(at, int) else store.passages_of(*at, 1)
    few = [*names[:_SHOWN], *[f"and {len(names) - _SHOWN} more"][: len(names) > _SHOWN]]
    short = f"{len(names)}" if asked["count"] else ", ".join(few)
    answers = tuple(
        Candidate(text=one, score=1.0) for one in ([short] if asked["count"] else names)
    )
    support = tuple(RankedSlot(slot, 1.0, 1.0, 1.0, 1) for slot in slots)
    shown = "\n".join([f"{shown}:", *few])
    return Prediction(answers, support, "list", short=short, added=shown) if names else None


def in_full(question: Question) -> Prediction | None:
    """What an abbreviation stands for, where that is asked and a slot says it; else None.

    Nothing, where what the meaning of is asked stands nowhere.
    """
    asked = ASKS_MEANING.match(question.text)
    if asked is None:
        return None
    short = asked["short"].casefold()
    ids = question.store.search_terms([short], _MOST)[short]
    if not len(ids):
        return Prediction(abstained=True)
    for slot, (start, end) in explanations(short, ids, question.fetched, question.scope):
        item = RankedSlot(slot, 1.0, 1.0, 1.0, 1)
        found = slot_candidate(slot, start, end, 1.0)
        quotes = quote_around(item, start, end)
        return Prediction((found,), (item,), "value", _STATED, quotes=quotes, short=found.text)
    return None


def _records(question: Question, noun: str, kinds_of: Sequence[str]) -> Iterator[_Record]:
    """All messages or else documents that a noun means, by some keys of their metadata."""
    store, messages = question.store, noun == _MESSAGES and question.has_messages
    ids = store.search_symbolic([MESSAGE], _MOST, question.scope)[MESSAGE] if messages else []
    for slot in store.fetch(ids):
        spoken = _texts(slot.metadata.get("participants", []))
        who = (slot.text if spoken else slot.title).partition(": " if spoken else ", ")[0]
        dates = _dates(" ".join([slot.title, *(place for _, place in slot.places)]))
        if who in spoken if spoken else not slot.start:  # else one goes on
            yield _Record(slot.text, {"by": (who,), "date": dates}, slot.id)
    word = "" if noun in _ANY else noun.removesuffix("i")
    wanted = SourceFilter(question.scope.namespace, "document", word=word)
    for _, one in () if messages else store.sources.page(0, _MOST, wanted):
        path, given = PurePath(one.id), one.metadata
        values = {_PEOPLE.get(key, normalise(key)): _texts(value) for key, value in given.items()}
        values |= {"folder": path.parts[-4:-1], "date": _dates(str(given.get("date", "")))}
        own, chat = path.suffix[1:].casefold(), "participants" in values
        kinds = _MAIL if "to" in values else ("note",) if own in _NOTES and not chat else ()
        values["format"] = (own, "document", "source", "file", *kinds)
        classes = {_words(value) for name in kinds_of for value in values.get(name, ())}
        if (noun,) in classes and "speaker" not in values:
            yield _Record(one.title or path.name, values, (one.id, one.namespace))


def _texts(given: Any) -> tuple[str, ...]:
    several = given if isinstance(given, list) else [given]
    return tuple(str(one).partition(" <")[0] for one in several)  # "Ann Berg <ann@berg.example>"


def _dates(text: str) -> tuple[str, ...]:
    """The first day of a text, its month and its year, as questions write them."""
    day = next((one.full() for one in days_in(text)), None)
    month = month_name(day) if day else ""
    return (str(day), day_name(day), month, *month.split()) if day else ()


def _saying(question: Question, phrase: str) -> dict[int | tuple[str, str], int]:
    """The slots that say a phrase, in the singular or plural, as messages and by their sources."""
    wanted, found = f" {' '.join(_words(phrase))} ", dict[int | tuple[str, str], int]()
    ids = question.store.search_terms([phrase], _MOST).get(phrase, ())
    for slot in question.store.fetch([int(one) for one in ids]):
        text, source = slot.text.partition(": ")[2] or slot.text, (slot.source, slot.namespace)
        for at, said in ((slot.id, text), (source, f"{slot.title} {slot.text}")):
            if wanted in f" {' '.join(_words(said))} ":
                found.setdefault(at, slot.id)
    return found


def _within(found: list[_Record], rest: str) -> tuple[list[_Record], str, str]:
    """Those within the limits of a question, what is left of it, and the limits.

    None where it is not clear what is limited: what it names, the date or amount, the only number.
    """
    where, columns = "", {name: _words(name) for one in found for name in one.values}
    while found and (said := _LIMIT.search(rest)) and (said["two"] or said["low"] or said["high"]):
        unit = (said["unit"] or "").casefold()
        quantity = "" if unit[1:] in STOP_WORDS else MEASURED.get(unit_of(unit[1:]), "")
        kind, low, high = _range(said, not (quantity or said["least"] or said["most"]))
        end = said.end() - len("" if quantity else unit)
        where, rest = where + rest[said.start() : end], rest[: said.start()] + rest[end:]
        known = [name for name in columns if name != "date" or kind == "day"]
        values = {
            name: [_amounts(one.values.get(name, ()), kind) for one in found] for name in known
        }
        given = [name for name in known if any(values[name])]
        usual = [name for name in given if name in ("date", *_AMOUNTS)]
        chosen = [name for name in given if {*_words(rest + unit)}.intersection(columns[name])]
        chosen = chosen or (usual if quantity in ("", "money") else [])
        if len(chosen := chosen or ([] if quantity else given)) != 1:
            return [], rest, ""
        fits = [any(low <= at <= high for at in amounts) for amounts in values[chosen[0]]]
        found, where = [*compress(found, fits)], f"{where} ({chosen[0]})"
        gone = {*columns[chosen[0]], *(_AMOUNTS if chosen[0] in _AMOUNTS else ())}
        left = [one for one in normalise(rest).split() if not gone.issuperset(_words(one))]
        rest = " ".join(["", *left])
    return found, rest, where


def _range(said: re.Match[str], dated: bool) -> tuple[str, Decimal, Decimal]:
    """The kind of value that a limit is of, and the least and the greatest."""
    kind, low, end = _extent(said["one"], dated)
    other, start, high = _extent(said["two"] or said["one"], dated)
    apart = (said["low"] or said["high"] or "").casefold() not in _INCLUDED
    if said["low"]:
        low, high = end.next_plus() if apart else low, Decimal("Infinity")
    elif said["high"]:
        low, high = Decimal("-Infinity"), start.next_minus() if apart else high
    return kind if kind == other else "", low, high


def _extent(text: str, dated: bool) -> tuple[str, Decimal, Decimal]:
    """The kind of a written value, and its first and last amount: years and months have several."""
    if said := _MONTH_OR_YEAR.fullmatch(text) if dated else None:
        text = f"{said['year']}-{month_of(said['month'] or 'Jan'):02}-01"
    days = 0 if said is None else 30 if said["month"] else 371  # as ``value_of`` counts
    value = value_of(text.lstrip("$€£"))
    return (value.kind, value.amount, value.amount + days) if value else ("", Decimal(), Decimal())


def _amounts(values: Iterable[str], kind: str) -> list[Decimal]:
    """What can be compared of some values."""
    found = [one for one in map(value_of, values) if one and one.kind == kind]
    return [one.amount for one in found if kind == "number" or one.unit]


def _fitting(every: list[_Record], found: list[_Record], rest: str) -> tuple[list[_Record], str]:
    """Those that fulfil what the rest of a question says; none where nothing decides a word."""
    columns = {(name, v) for one in every for name, values in one.values.items() for v in values}
    left = {*_words(" ".join(one for one in normalise(rest).split() if one not in _STOPS))}
    where, people = "", "to" if re.search(r" to | receive", rest) else "by"
    while left and found:
        fitting: dict[tuple[int, bool, str, frozenset[str]], set[str]] = {}
        for name, value in columns:
            words = frozenset(_words(value))
            if (own := words & left) and (words <= left or name == people):
                fitting.setdefault((len(own), name == people, name, own), set()).add(value)
        best = [one for one in fitting if one[:2] == max(other[:2] for other in fitting)]
        if not best or any(one[3] & best[0][3] for one in best[1:]):
            return [], ""
        (*_, name, words), values = best[0], fitting[best[0]]
        found = [one for one in found if values & {*one.values.get(name, ())}]
        where += f" with {name} = {' or '.join(sorted(values))}"
        left -= words | {*_words(name)}
    return ([] if left else found), where


@lru_cache(10_000)
def _words(text: str) -> tuple[str, ...]:
    """The words of a text in their order, without their endings."""
    return tuple(map(uninflected, normalise(text).split()))
