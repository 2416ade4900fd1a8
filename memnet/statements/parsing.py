"""Sentences as statements, by rules for English: subject, predicate, value and negation.

A sentence that the rules can't parse is a statement about itself: it is stored, and only its own
repetition is compared with it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from memnet.errors import InputError
from memnet.statements.loading import LazyStatementReader
from memnet.statements.protocol import ParsedStatement, StatementParser, predicate_of
from memnet.statements.reading import StatementReader, TaggedText
from memnet.statements.relations import (
    OPEN_ASPECTS,
    Relation,
    is_plain_name,
    relation_of,
    split_predicate,
    starts_relation,
)
from memnet.statements.things import HAS
from memnet.statements.times import day_of_change, limits_of, times_at
from memnet.storage import Told
from memnet.text.english import listed, sentences, without_spans
from memnet.text.names import normalise, subject_symbol
from memnet.types import Certainty

_SENTENCE_ENDS = " \t\r\n.!;,\"'”"
_FORGET = re.compile(r"(?:please )?forget that\s+", re.IGNORECASE)
_FORGET_ALL = re.compile(r"(?:please )?forget (?:everything|all|it all)\b", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"(?:then|and|but|so|please|yesterday|remember(?: that)?|note that|sadly|"
    r"luckily|thankfully|(?:un)?fortunately|apparently|however|by the way)\b[,:]?\s+",
    re.IGNORECASE,
)
_DOUBT_OR_FUTURE = re.compile(
    r"(maybe|perhaps|probably|possibly|tomorrow|tonight),? ", re.IGNORECASE
)
_LEADING_TIME = re.compile(
    r"^((?:in|since) \d{4}|from (?:today|tomorrow|now)(?: on)?|"
    r"(?:in|on|since|from|as of|last|this) [^,]{1,30}(?=,)),?\s+(\S.*)",
    re.IGNORECASE,
)
_FILLERS = re.compile(
    r"\b(?:(?<!from )(?:now|today)|currently|just|recently|finally|still|already|also|again|"
    r"actually|really|these days|nowadays|lately|at (?:the|this) moment|at present)\b\s*|"
    # "My new doctor" is who my doctor is.
    r"\b(?:(?<=my )|(?<=our )|(?<=his )|(?<=her )|(?<=their )|(?<=['’]s ))"
    r"(?:(?:current|present)\s+(?=\w)|new\s+(?=\w+ (?:is|are)\b|favou?rite))",
    re.IGNORECASE,
)
_CONTRACTIONS = (
    (re.compile(r"\bcan['’]t\b|\bcannot\b", re.IGNORECASE), "can not"),
    (re.compile(r"n['’]t\b", re.IGNORECASE), " not"),
    (re.compile(r"\bI['’]m\b", re.IGNORECASE), "I am"),
    # "Bo's left hand" is not said of Bo.
    (re.compile(r"(?<=\w)['’]s (?=(?:been|moved|resigned) |left (?:the|my|[A-Z]))"), " has "),
    (
        re.compile(
            r"(?<=\w)['’]s (?=(?:in|at|on|an?|not|no longer|(?:living|working) (?:in|at|for|as)) )"
        ),
        " is ",
    ),
    (re.compile(r"\b(he|she|it)['’]s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(we|you|they)['’]re\b", re.IGNORECASE), r"\1 are"),
    (re.compile(r"\b(I|we|you|they)['’]ve\b", re.IGNORECASE), r"\1 have"),
)
# How a predicate is negated, and whether that says that it was true before.
_NEGATIONS = (
    (re.compile(r"(?:(is|are|am) )?no longer\s+(\S.*)", re.IGNORECASE), True),
    (re.compile(r"()used to\s+(\S.*)", re.IGNORECASE), True),
    (re.compile(r"()(?:has |have )?(?:stopped|ceased)\s+(\w+ing\b.*)", re.IGNORECASE), True),
    (re.compile(r"(?:(is|are|am)|does|do|did|has|have) not\s+(\S.*)", re.IGNORECASE), False),
    (re.compile(r"(?:(has|have) )?never\s+(\S.*)", re.IGNORECASE), False),
)
_CERTAINTIES: tuple[tuple[Certainty, re.Pattern[str]], ...] = (
    ("maybe", re.compile(r"(?:may|might|could|maybe|perhaps|probably|possibly)\b", re.IGNORECASE)),
    ("planned", re.compile(r"(?:will|shall|(?:is|are|am) going to|plans? to)\b", re.IGNORECASE)),
    ("was", re.compile(r"(?:was|were|used to|had been)\b", re.IGNORECASE)),
)
# Something else is said after what "used to be".
_GOES_ON = re.compile(r"\b(?:and|but|now|today|until|so)\b", re.IGNORECASE)
_POSSESSIVES = frozenset("my our your his her their".split())
_ANY_MORE = re.compile(r"(?<!\s)\s++any(?: ?more| longer)$", re.IGNORECASE)
# A sentence that asks somebody to do something, and so changes nothing told before
REMINDS = re.compile(
    r"(?:please,? )?(?:(?:don['’]t|do not) forget|remember|(?:make|be) sure) to\b", re.IGNORECASE
)
_PRONOUN = re.compile(r"(?:he|she|it|they)$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?:his|her|its|their)\b", re.IGNORECASE)
_DESCRIPTION = re.compile(
    r"^(?:the|a|an|my|our|your|his|her|its|their|this|that) |^.+['’]s ", re.IGNORECASE
)
_NO_SUBJECT = listed("no subject")
# Words that begin a question: one that begins otherwise may tell something ("The vet says 6.6,
# who's right?").
_ASKS = re.compile(
    r"(?:(?:and|but|so|then|or)\b,? )?(?:who|whom|whose|which|what|when|where|why|how|"
    r"(?:is|are|am|was|were|do|does|did|has|have|had|will|would|shall|should|can|could|may|might|"
    r"must)(?:n['’]t)?)\b",
    re.IGNORECASE,
)
_MAX_SUBJECT_WORDS = 8
# Conjunctions of two clauses.
_JOINT = re.compile(
    r"(?<!\s)(?:\s*+;\s++|,?\s++(?:and|but)\s++|,\s++(?=\w+ used to\b))", re.IGNORECASE
)
_PERSON = re.compile(r"(?:I|we|you|he|she|it|they)(?=[ '’])", re.IGNORECASE)
_MAX_CLAUSES = 8
_MAX_CUT = 400  # Characters of a sentence from which it is left whole: time grows with the square
_SUFFIXES = re.compile(r"(?<=\w\w)(?:s|es|ing|e)$")
_NUMBER_OF = re.compile(r" \d+(?= [a-z])")  # Tells one thing from others of its kind
# Separator of two subjects of one sentence.
_JOINS = re.compile(r"(?:,|,? (?:and|&|or)|/|\+)? ?", re.IGNORECASE)


class RuleParser:
    """Takes sentences apart by rules.

    Each text stands for itself: earlier statements don't say who "she" is at its start.
    """

    def parse(self, text: str, at: float, earlier: Sequence[Told]) -> list[ParsedStatement]:  # noqa: ARG002
        """As ``StatementParser.parse``; a pronoun stands for the subject before it."""
        parsed: list[ParsedStatement] = []
        topic = ""
        for start, end in sentences(text):
            if _FORGET_ALL.match(text[start:end]):
                raise InputError(
                    f"{text[start:end]!r} would erase more than one statement, so nothing was "
                    "done; say 'Forget that ...' of each, or name sources to 'memnet forget'"
                )
            for first, last, subject in _clauses(text[start:end]):
                clause = text[start + first : start + last]
                # "Ann has a dog. It is old."
                of_thing = clause.startswith("It ") and topic and HAS.search(parsed[-1].text)
                known = "" if of_thing and is_plain_name(topic) else topic
                statement = parse_sentence(clause, start + first, known, subject)
                # What "used to be" is over by the time of the telling.
                begin, until = (None, at) if is_over(statement) else limits_of(clause, at)
                if begin is None and until is None and has_one_value(statement):
                    begin = day_of_change(clause, at)
                parsed.append(replace(statement, valid_from=begin, valid_until=until))
                if parsed[-1].subject and not parsed[-1].subject.startswith(f"{topic}'s "):
                    topic = parsed[-1].subject
        return parsed


def parse_sentence(
    sentence: str, start: int = 0, topic: str = "", subject: str = ""
) -> ParsedStatement:
    """Parse one sentence, which starts at ``start`` of its text.

    ``topic`` is what "she" stands for, ``subject`` the subject where it is known; else empty.
    """
    body = _plain(sentence)
    forget = _FORGET.match(body)
    offset = 0
    while lead_in := (_FORGET.match(body, offset) or _LEAD_IN.match(body, offset)):
        offset = lead_in.end()
    if said_first := _DOUBT_OR_FUTURE.match(body, offset):
        offset = said_first.end()
    body = _LEADING_TIME.sub(r"\2 \1", body[offset:])
    is_question = sentence.rstrip().endswith("?")
    written_subject, predicate = ("", body) if is_question else _split(body)
    doubt = said_first[1] if said_first else ""
    certainties: list[Certainty] = [
        name for name, one in _CERTAINTIES if one.match(doubt) or one.match(predicate)
    ]
    predicate, negative, over = _without_negation(predicate)
    predicate = f"{doubt} {predicate}".lstrip()
    subject = subject or _resolved(written_subject, topic)
    relation = relation_of(predicate, subject) if subject else Relation(f"X {predicate}")
    verb, values = split_predicate(predicate) if subject else ("", (body,))
    return ParsedStatement(
        text=sentence,
        start=start,
        end=start + len(sentence),
        subject=subject,
        relation=verb,
        values=values if any(values) else (),
        aliases=aliases_of(subject),
        polarity=not negative,
        certainty=certainties[0] if certainties else "is",
        act="forget" if forget else "end" if over or (relation.ends and not negative) else "tell",
        template=relation.words,
    )


def _clauses(sentence: str) -> list[tuple[int, int, str]]:
    """Clauses that are statements of their own: spans, and the subject shared with the one before.

    "I live in Porto and I work at Telrex" says two things, and either may change without the other.
    A sentence is cut only where rules know the verbs on both sides, or both begin with the same
    pronoun.
    """
    found: list[tuple[int, int, str]] = []
    start, shared = 0, ""
    is_cut = len(sentence) <= _MAX_CUT and not sentence.rstrip().endswith("?")
    joints = islice(_JOINT.finditer(sentence), _MAX_CLAUSES - 1) if is_cut else ()
    for joint in joints:
        before = parse_sentence(sentence[start : joint.start()], subject=shared)
        subject = _subject_after(before, sentence[joint.end() :])
        if subject is not None:
            found.append((start, joint.start(), shared))
            start, shared = joint.end(), subject
    return [*found, (start, len(sentence), shared)]


def _subject_after(before: ParsedStatement, rest: str) -> str | None:
    """The subject shared with the clause before; empty for its own, None if it is not a clause."""
    if not before.subject or before.act == "forget":
        return None
    if has_known_verb(before) and starts_relation(rest, 0):
        return before.subject if before.polarity else None
    after = parse_sentence(rest, topic=before.subject)
    # "Ida sings bass and Bo sings tenor" says of each what may change without the other.
    alike = before.relation == after.relation and is_plain_name(before.subject)
    known = has_known_verb(before) and (has_known_verb(after) or is_over(after))
    if known or (alike and is_plain_name(after.subject)):
        return ""
    person, again = _PERSON.match(before.text), _PERSON.match(rest)
    # "He told me that she and I are friends" is one clause.
    joined = _PERSON.match(f"{before.text.rsplit(' ', 1)[-1]} ")
    if person and again and person.group().casefold() == again.group().casefold() and not joined:
        return ""
    return None


def has_known_verb(parsed: ParsedStatement | Told) -> bool:
    """Whether rules have found a subject and a verb that they know."""
    return bool(parsed.subject) and starts_relation(predicate_of(parsed.relation, parsed.values), 0)


def is_over(parsed: ParsedStatement | Told) -> bool:
    """Whether a statement says only what its subject used to be or do."""
    over = parsed.act == "end" and parsed.certainty == "was"
    return over and bool(parsed.subject) and _GOES_ON.search(parsed.text) is None


def has_one_value(parsed: ParsedStatement) -> bool:
    """Whether rules know that its subject has one such value at a time: a home, a spouse."""
    relation = relation_of(predicate_of(parsed.relation, parsed.values), parsed.subject)
    return parsed.polarity and not relation.ends and bool(relation.aspects - OPEN_ASPECTS)


def aliases_of(subject: str) -> tuple[str, ...]:
    """The two names in "my sister Clara"; none in any other subject."""
    words = subject.split(" ")
    capitals = [number for number, word in enumerate(words) if number and word[:1].isupper()]
    count = capitals[0] if capitals else 0
    role, name = words[:count], words[count:]
    possessive = role[:1] and (role[0].casefold() in _POSSESSIVES or role[0].endswith(("'s", "’s")))
    if len(role) < 2 or not possessive or len(capitals) < len(name):
        return ()
    return " ".join(role), " ".join(name)


def _plain(text: str) -> str:
    """A sentence without contractions and fillers."""
    text = text.strip(_SENTENCE_ENDS)
    for pattern, words in _CONTRACTIONS:
        text = pattern.sub(words, text)
    return _FILLERS.sub("", " ".join(text.split()))


def _split(body: str) -> tuple[str, str]:
    """Subject and predicate; the subject is empty where none is found."""
    for space in islice(re.finditer(" ", body), _MAX_SUBJECT_WORDS):
        subject, position = body[: space.start()], space.end()
        is_predicate = starts_relation(body, position) or any(
            negation.match(body, position) for negation, _ in _NEGATIONS
        )
        if is_predicate and _may_be_subject(subject):
            return subject, body[position:]
    words = body.split(" ")
    for count in range(min(len(words) - 1, _MAX_SUBJECT_WORDS), 0, -1):
        subject = " ".join(words[:count])
        if is_plain_name(subject) and _may_be_subject(subject):
            return subject, " ".join(words[count:])
    return "", body


def _may_be_subject(text: str) -> bool:
    words = text.split(" ")
    if text.endswith(("'s", "’s")) or any(word.casefold() in _NO_SUBJECT for word in words):
        return False
    joined = all(map(is_plain_name, text.split(" and ")))
    return len(words) <= 2 or joined or bool(_DESCRIPTION.match(text))


def is_question(sentence: str) -> bool:
    """Whether a sentence only asks: it begins as a question and ends as one."""
    asked = sentence.strip(" \t\r\n\"'“”‘’()")
    return asked.endswith("?") and _ASKS.match(asked) is not None


def _resolved(subject: str, topic: str) -> str:
    """A subject with its pronoun resolved; empty where it is not known what it stands for."""
    if topic.casefold() in ("i", "we", "you"):  # "I have a sister. She lives in Oslo."
        topic = ""
    if _PRONOUN.match(subject):
        return topic
    if possessive := _POSSESSIVE.match(subject):
        return f"{topic}'s{subject[possessive.end() :]}" if topic else ""
    return subject


def _without_negation(predicate: str) -> tuple[str, bool, bool]:
    """A predicate without negation, whether it was negated, and whether it was true before."""
    for negation, over in _NEGATIONS:
        if match := negation.fullmatch(predicate):
            positive = " ".join(filter(None, match.groups()))
            without_any_more = _ANY_MORE.sub("", positive)
            return without_any_more, True, over or without_any_more != positive
    return predicate, False, False


def stems(text: str) -> tuple[str, ...]:
    """Stems of the words of a text, articles left out."""
    words = (word for word in normalise(text).split() if word not in ("the", "a", "an"))
    return tuple(_SUFFIXES.sub("", _SUFFIXES.sub("", word)) for word in words)


@dataclass(frozen=True)
class LearnedParser:
    """Tags subject and values with the network; a ``StatementParser``.

    Rules cut the text into sentences, find what is asked for ("forget that ...") and whom "she"
    stands for; where the network is not installed, they do everything.
    """

    reader: LazyStatementReader
    rules: StatementParser

    def parse(self, text: str, at: float, earlier: Sequence[Told]) -> list[ParsedStatement]:
        """As ``StatementParser.parse``."""
        parsed = self.rules.parse(text, at, earlier)
        network = self.reader.load()
        if network is None:
            return parsed
        return [_with_tags(one, network, at) for one in parsed]


def _with_tags(parsed: ParsedStatement, network: StatementReader, at: float) -> ParsedStatement:
    """A sentence that rules have parsed; where the network finds another subject, by its tags."""
    text = parsed.text
    if parsed.act == "forget" or text.rstrip().endswith("?") or is_over(parsed):
        return parsed
    if has_known_verb(parsed):
        # By a verb that they know, rules are right; what they find is all of it, in its order. Only
        # "move on 1 July" may be a plan that no word tells from a fact.
        if parsed.certainty != "is" or not times_at(text, at):
            return parsed
        tagged = network.write(text, ()).tagged
        is_done = tagged.certainty == "planned" and day_of_change(text, at) is not None
        return replace(parsed, certainty="is" if is_done else tagged.certainty)
    tagged = network.write(text, ()).tagged
    span = _subject(text, tagged)
    subject = text[span[0] : span[1]] if span else ""
    same = subject_symbol(subject) == subject_symbol(parsed.subject)
    if same or not subject or _PRONOUN.match(subject) or _POSSESSIVE.match(subject):
        subject = parsed.subject
    taken = [span] if span else []
    values = [one for one in tagged.values if all(one[1] <= a or b <= one[0] for a, b in taken)]
    relation, denied, _ = _without_negation(_plain(without_spans(text, [*values, *taken])))
    return replace(
        parsed,
        subject=subject,
        relation=relation,
        values=tuple(text[start:end] for start, end in values),
        aliases=aliases_of(subject),
        polarity=not (tagged.negative or denied),
        certainty=tagged.certainty,
        template="",
    )


def _subject(text: str, tagged: TaggedText) -> tuple[int, int] | None:
    """Where the first subject stands, with those that it is joined with: "Bo and Ann"."""
    if not tagged.subjects:
        return None
    start, end = tagged.subjects[0]
    for other_start, other_end in tagged.subjects[1:]:
        if _JOINS.fullmatch(text[end:other_start]):
            end = other_end
    number = _NUMBER_OF.match(text, end)
    # "Crate 12 leaks" is about crate 12, "rye loaf 4 euros" is not about loaf 4.
    if number and not any(a <= number.end() + 1 < b for a, b in tagged.values):
        end = number.end()
    return start, end
