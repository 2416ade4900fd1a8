"""The learned parser and judge: what a new statement says and changes, by the statement network."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import cosines
from memnet.statements.judge import RuleJudge, reading, same_subjects
from memnet.statements.loading import LazyStatementReader
from memnet.statements.parsing import (
    RuleParser,
    aliases_of,
    has_known_verb,
    is_pronoun,
    predicate_without_negation,
)
from memnet.statements.protocol import Judgement, Label, ParsedStatement
from memnet.statements.reading import StatementReader, TaggedText
from memnet.statements.times import dated_passage
from memnet.storage import Told
from memnet.text.dates import Days, local_time
from memnet.text.english import query_terms
from memnet.text.names import normalise, subject_symbol
from memnet.text.relative import times_in

_READ = 8  # Earlier statements that are read at most
_READ_PLAIN = 3  # And of those with the same subject where rules know both verbs and see no change
_RECENT = 2  # Statements told last that are always read: "no, 5:30" corrects one of them
# What sharing a subject adds to the cosine of two relations, where not all can be read.
_SAME_SUBJECT = 1.0
# Probability of any change from which one is made where rules know the verbs of both statements and
# see none; elsewhere a half. What they see to be about another subject is not changed at all.
_PLAIN_THRESHOLD = 0.95
# Probability from which another wording is taken for the same statement: a wrong merge loses what
# is new in it, a missed one costs a slot.
_MERGE_THRESHOLD = 0.8
# What may stand between two subjects of one sentence.
_JOINS = re.compile(r"(?:,|,? (?:and|&|or)|/|\+)? ?", re.IGNORECASE)


class LearnedParser:
    """Tags subject and values with the network; a ``StatementParser``.

    Rules cut the text into sentences, find what is asked for ("forget that ...") and whom "she"
    stands for; where the network is not installed, they do everything.
    """

    def __init__(self, reader: LazyStatementReader, rules: RuleParser) -> None:
        """Join the network and the rules."""
        self._reader = reader
        self._rules = rules

    def parse(self, text: str, at: float, earlier: Sequence[Told]) -> list[ParsedStatement]:
        """As ``StatementParser.parse``.

        Raises:
            InputError: it asks to forget everything.
        """
        parsed = self._rules.parse(text, at, earlier)
        network = self._reader.load()
        if network is None:
            return parsed
        return [_with_tags(one, network, at) for one in parsed]


def _with_tags(parsed: ParsedStatement, network: StatementReader, at: float) -> ParsedStatement:
    """A sentence that rules have parsed; where the network finds another subject, by its tags."""
    text = parsed.text
    if parsed.act == "forget" or text.rstrip().endswith("?"):
        return parsed
    if has_known_verb(parsed):
        # By a verb that they know, rules are right; what they find is all of it, in its order. Only
        # "move on 1 July" may be a plan that no word tells from a fact.
        if parsed.certainty != "is" or not times_in(text, local_time(at).date()):
            return parsed
        return replace(parsed, certainty=network.write(text, ()).tagged.certainty)
    tagged = network.write(text, ()).tagged
    span = _subject(text, tagged)
    subject = text[span[0] : span[1]] if span else ""
    if not subject or is_pronoun(subject) or _same_name(subject, parsed.subject):
        subject = parsed.subject
    taken = [span] if span else []
    values = [one for one in tagged.values if all(one[1] <= a or b <= one[0] for a, b in taken)]
    relation, denied = predicate_without_negation(_without(text, [*values, *taken]))
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
    return start, end


def _same_name(one: str, other: str) -> bool:
    return subject_symbol(one) == subject_symbol(other)


def _without(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The words of a text outside of some spans."""
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text


class LearnedJudge:
    """Reads a new statement with earlier ones; a ``StatementJudge``.

    What is to be forgotten, and everything where the network is not installed, is judged by rules.
    """

    def __init__(self, reader: LazyStatementReader, rules: RuleJudge) -> None:
        """Join the network and the rules."""
        self._reader = reader
        self._rules = rules

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        """As ``StatementJudge.judge``."""
        by_rules = self._rules.judge(new, earlier)
        is_read = earlier and new.act != "forget" and not new.text.rstrip().endswith("?")
        network = self._reader.load() if is_read else None
        if network is None:
            return by_rules
        same_subject = same_subjects(reading(new), [reading(one) for one in earlier])
        is_plain = has_known_verb(new)
        plain = [is_plain and has_known_verb(one) for one in earlier]
        undecided = by_rules.labels.argmax(axis=1) == Label.NONE
        order = _by_relevance(new, earlier, same_subject)[:_READ]
        if is_plain:
            # What the rules decide is not read, and little of what they know and see no change of.
            order = [index for index in order if undecided[index]]
            others = [index for index in order if not plain[index]]
            own = [index for index in order if plain[index] and same_subject[index]]
            order = [*others, *own[:_READ_PLAIN]]
        if not order:
            return by_rules
        passages = {index: dated_passage(earlier[index], new.valid_from) for index in order}
        chosen = sorted(order[: network.fitting(new.text, [passages[index] for index in order])])
        read = network.write(new.text, [passages[index] for index in chosen])
        labels, partly = by_rules.labels.copy(), by_rules.partly.copy()
        for row, index in enumerate(chosen):
            if not undecided[index]:
                continue  # the rules see less, but are right more often
            if not same_subject[index] and _happened_apart(new, earlier[index]):
                continue
            threshold = _PLAIN_THRESHOLD if plain[index] else 1 / 2
            label, probability = _change(read.changes[row], new, earlier[index], threshold)
            labels[index] = 0
            labels[index, label] = probability
            labels[index, Label.NONE] = 1 - probability
            partly[index] = read.partly[row] > 1 / 2
        return Judgement(labels, partly)


def _happened_apart(new: Told, earlier: Told) -> bool:
    """Whether two statements tell of different days, both past when they were told.

    That Bo came on Tuesday changes nothing about Una, who came on Monday.
    """
    own, other = _past_days(new), _past_days(earlier)
    return bool(own and other) and not any(
        one.first <= two.last and two.first <= one.last for one in own for two in other
    )


def _past_days(told: Told) -> list[Days]:
    said_on = local_time(told.told).date()
    return [
        place.days.meant
        for place in times_in(told.text, said_on)
        if place.role == "at" and not place.weekday and place.days.meant.last <= said_on
    ]


def _change(
    probabilities: NDArray[np.float32], new: Told, earlier: Told, threshold: float
) -> tuple[Label, float]:
    """What happens to an earlier statement, by the network's probabilities [6] float32.

    Returns:
        The likeliest change and the probability of any; 0 where it is below the threshold.
    """
    label = Label(int(probabilities[1:].argmax()) + 1)
    if label == Label.MERGE:
        probability = float(probabilities[label])
        same = probability >= _MERGE_THRESHOLD and _says_nothing_new(new, earlier)
        return label, probability if same else 0.0
    probability = float(1 - probabilities[Label.NONE] - probabilities[Label.MERGE])
    return label, probability if probability > threshold else 0.0


def _by_relevance(new: Told, earlier: Sequence[Told], same_subject: NDArray[np.bool_]) -> list[int]:
    """Indices of earlier statements, those first that the new one may change."""
    relations = np.array([one.relation_vector for one in earlier], np.float32)
    shared = np.where(same_subject, _SAME_SUBJECT, 0)
    scores = cosines(new.relation_vector, relations) + shared
    last = sorted(range(len(earlier)), key=lambda index: -earlier[index].id)[:_RECENT]
    rest = [index for index in np.argsort(-scores, kind="stable").tolist() if index not in last]
    return [*last, *rest]


def _says_nothing_new(new: Told, earlier: Told) -> bool:
    """Whether all content words and values of a statement stand in an earlier one."""
    words = set(normalise(earlier.text).split())
    own = {word for value in new.values for word in normalise(value).split()}
    return words.issuperset(own | set(query_terms(new.text)))
