"""What a new statement does to earlier ones, by rules and by the statement network."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import cosines, softmax
from memnet.config import TellConfig
from memnet.statements.loading import LazyStatementReader
from memnet.statements.parsing import REMINDS, has_known_verb, is_over, stems
from memnet.statements.protocol import (
    ENDING,
    Judgement,
    Label,
    ParsedStatement,
    StatementJudge,
    predicate_of,
)
from memnet.statements.relations import Relation, relation_of
from memnet.statements.things import (
    about_other_things,
    changes_now,
    on_other_days,
    parts_with,
    stems_of,
)
from memnet.statements.times import dated_passage, overlap, times_at
from memnet.storage import Told
from memnet.text.dates import DateRange, local_time
from memnet.text.english import query_terms
from memnet.text.names import normalise, subject_symbol

# Verbs of which one and another exclude each other, where both are about the same.
_LIKING = re.compile(
    r"(?:(?:likes?|loves?|enjoys?|adores?|(?:is|are|am) fond of)|"
    r"(?P<dislikes>hates?|dislikes?|detests?|loathes?|can not (?:stand|bear)))\b"
    r"(?: (?:to )?(?:drink|eat)(?:ing)?\b)? ?",
    re.IGNORECASE,
)

# After what was denied or said again: "after all, the test was wrong"
_CLAUSE_END = re.compile(r",?\s(?:after all|at all|any ?more|any longer)\b", re.IGNORECASE)


class Columns(NamedTuple):
    """What the rules see in the columns of a statement."""

    about: str  # The subject, normalised; without one, all of the sentence
    aliases: frozenset[str]  # Other names of the subject, normalised
    relation: Relation
    words: tuple[str, ...]  # Stems of what it says of its subject: equal if the same word for word
    joined: tuple[str, ...]  # Whom it is said of as well: "Ann and Bo moved to Rome"
    clause: tuple[str, ...]  # Those before "after all" and the like, if it stands there
    liked: tuple[str, ...]  # Stems of what its subject likes or dislikes; empty for anything else
    negative: bool


@dataclass(frozen=True)
class RuleJudge:
    """Attends to earlier statements about the subject of a new one, by relation.

    An empty slot with a fixed score is attended to as well: a statement that gets less attention
    than it has another relation. So "none of them" is an outcome of the attention.

    Source: addressing of a write by content, Graves et al. 2016, Methods, "Content-based
    addressing"; the empty slot, and the rules on what it leaves, are this project's own.
    """

    config: TellConfig

    def attention(
        self,
        relation: NDArray[np.float32],
        relations: NDArray[np.float32],
        same_verb: NDArray[np.bool_],
        permitted: NDArray[np.bool_],
    ) -> NDArray[np.float32]:
        """Attention weights [K + 1] float32 of the statements and, last, of the empty slot.

        ``relation`` [D] and ``relations`` [K, D] float32 are vectors of the new statement and the
        earlier ones, which may be affected where they are ``permitted`` [K] bool; ``same_verb`` [K]
        bool is True where a rule about verbs says that the relation is the same.
        """
        scores = cosines(relation, relations) + self.config.same_verb_weight * same_verb
        with np.errstate(all="ignore"):  # a temperature close to 0 overflows
            scores = np.append(scores, self.config.same_relation_floor) / self.config.temperature
            return softmax(scores.astype(np.float32), np.append(permitted, True))

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        """As ``StatementJudge.judge``.

        The probability of a label is the attention to the statement beside that to the empty slot;
        it is 1 where both say the same word for word, which needs no likeness.
        """
        own, others = columns_of(new), [columns_of(one) for one in earlier]

        def mask(compare: Callable[[Columns], bool]) -> NDArray[np.bool_]:
            return np.array([compare(one) for one in others], np.bool_)

        same_subject = same_subjects(own, others)
        same_verb = mask(lambda one: own.relation.shares_aspect(one.relation, named=True))
        exclusive = mask(lambda one: own.relation.shares_aspect(one.relation))
        same_value = mask(lambda one: own.relation.same_value(one.relation))
        same_words = same_subject & mask(lambda one: own.words == one.words)
        same_liked = same_subject & mask(lambda one: bool(one.liked) and own.liked == one.liked)
        same_aspects = mask(lambda one: own.relation.aspects == one.relation.aspects)
        opposite = mask(lambda one: own.negative != one.negative)
        if new.act == "forget":  # in the words of its telling, whatever it was taken to be about
            said = normalise(f"{new.subject} {predicate_of(new.relation, new.values)}")
            told = np.array([normalise(one.text) == said for one in earlier], np.bool_)
            same_words |= told
            opposite &= ~told
        relations = np.array([one.relation_vector for one in earlier], np.float32)
        relations = relations.reshape(len(earlier), len(new.relation_vector))
        weights = self.attention(new.relation_vector, relations, same_verb, same_subject)

        excluded = exclusive & (weights[:-1] > weights[-1])
        same = same_words | (excluded & same_value)
        other_days = _on_other_days(new, earlier, same)
        same_clause = same_subject & mask(lambda one: own.clause == one.clause)
        repeated = same & ~opposite
        contradicted = (same | same_liked | same_clause) & opposite
        if new.act != "forget":
            repeated &= ~other_days
        replaced = excluded & (~same_value | other_days) & ~opposite & (not own.negative)
        replaced &= ~np.array([on_other_days(new, one) for one in earlier], np.bool_)
        if new.act == "forget":
            label, affected = Label.MERGE, repeated
        elif new.act == "end" and contradicted.any():
            label, affected = Label.END, contradicted
        elif (contradicted | replaced).any():
            label, affected = Label.SUPERSEDE, contradicted | replaced | repeated
        else:
            repeats_words = (repeated & same_words).any()
            label = Label.MERGE
            says_more = np.array([_says_more(new, one) for one in earlier], np.bool_)
            affected = repeated & (same_words if repeats_words else same_aspects & ~says_more)
        with np.errstate(all="ignore"):
            beside_empty = weights[:-1] / (weights[:-1] + weights[-1])
        certainty = np.where(same_words | same_liked | same_clause, 1.0, beside_empty)
        probabilities = np.zeros((len(earlier), len(Label)), np.float32)
        probabilities[affected, label] = certainty[affected]
        probabilities[:, Label.NONE] = 1 - probabilities.sum(axis=1)
        return Judgement(probabilities, np.zeros(len(earlier), np.bool_))


def columns_of(told: Told | ParsedStatement) -> Columns:
    """What the rules see in the columns of a statement."""
    return _columns(
        told.subject, told.aliases, predicate_of(told.relation, told.values), told.polarity
    )


def _on_other_days(
    new: Told, earlier: Sequence[Told], same: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """[K] bool: which of those that say the same mean other days: "tomorrow" is one each day."""
    own = _relative_days(new) if same.any() else ()
    found = [
        bool(own and is_same and (days := _relative_days(one)) and days != own)
        for one, is_same in zip(earlier, same, strict=True)
    ]
    return np.array(found, np.bool_)


def _says_more(new: Told, earlier: Told) -> bool:
    """Whether a statement says more than an earlier one, its verb left out: "in Rome with Bo"."""
    said = stems_of(" ".join((new.subject, *new.values)))
    return not said <= stems_of(" ".join((earlier.text, earlier.subject, *earlier.aliases)))


def _relative_days(told: Told) -> tuple[DateRange, ...]:
    return tuple(one.days for one in times_at(told.text, told.told) if one.relative)


@lru_cache(maxsize=10_000)
def _columns(subject: str, aliases: tuple[str, ...], predicate: str, polarity: bool) -> Columns:
    relation = relation_of(predicate, subject) if subject else Relation(f"X {predicate}")
    each = relation.aspects & {"home", "work"}  # "We are in the final" says not where I am.
    joined = re.split(r",? and |, ", subject) if each else []
    joined = ["I"] if subject.casefold() == "we" and each else joined if len(joined) > 1 else []
    if relation.ends and not polarity:  # Whoever has not left a firm may live anywhere.
        relation = relation._replace(aspects=frozenset())
    liking = _LIKING.match(predicate)
    dislikes = liking is not None and liking["dislikes"] is not None
    return Columns(
        about=subject_symbol(subject) or normalise(predicate),
        aliases=frozenset(map(subject_symbol, aliases)),
        relation=relation,
        words=stems(predicate),
        clause=stems(_CLAUSE_END.split(predicate, maxsplit=1)[0]),
        liked=stems(predicate[liking.end() :]) if liking else (),
        joined=tuple(map(subject_symbol, joined)),
        negative=polarity == (relation.ends or dislikes),
    )


def same_subjects(own: Columns, others: Sequence[Columns]) -> NDArray[np.bool_]:
    """[K] bool: which statements are about the subject of another, by its name or an alias.

    An alias that several subjects have, such as "my sister", stands for none of them.
    """
    bearers: defaultdict[str, set[str]] = defaultdict(set)
    for one in (own, *others):
        for alias in one.aliases:
            bearers[alias].add(one.about)
    return np.array(
        [
            own.about == one.about
            or (own.about in one.aliases and len(bearers[own.about]) == 1)
            or one.about in own.joined
            or (one.about in own.aliases and len(bearers[one.about]) == 1)
            for one in others
        ],
        np.bool_,
    )


_READ = 8  # Earlier statements that are read at most
_READ_PLAIN = 3  # Max. of the same subject where rules know both verbs and see no change
_RECENT = 2  # Statements told last that are always read: "no, 5:30" corrects one of them
# Added to the cosine of two relations if they share a subject, to choose what is read.
_SAME_SUBJECT = 1.0
# Probability of any change from which one is made where rules know the verbs of both statements and
# see none; elsewhere a half. What they see to be about another subject is not changed at all.
_PLAIN_THRESHOLD = 0.95
# Probability from which another wording is taken for the same statement: a wrong merge loses what
# is new in it, a missed one costs a slot.
_MERGE_THRESHOLD = 0.8


@dataclass(frozen=True)
class LearnedJudge:
    """Reads a new statement with earlier ones; a ``StatementJudge``.

    What is to be forgotten, and everything where the network is not installed, is judged by rules.
    """

    reader: LazyStatementReader
    rules: StatementJudge

    def judge(self, new: Told, earlier: Sequence[Told]) -> Judgement:
        """As ``StatementJudge.judge``."""
        by_rules = self.rules.judge(new, earlier)
        return _of_closest(new, earlier, self._judged(new, earlier, by_rules), by_rules)

    def _judged(self, new: Told, earlier: Sequence[Told], by_rules: Judgement) -> Judgement:
        is_read = earlier and new.act != "forget" and not new.text.rstrip().endswith("?")
        is_read = is_read and not is_over(new) and not REMINDS.match(new.text)
        network = self.reader.load() if is_read else None
        if network is None:
            return by_rules
        same_subject = same_subjects(columns_of(new), [columns_of(one) for one in earlier])
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
        newest = max(one.id for one in earlier)
        for row, index in enumerate(chosen):
            if not undecided[index]:
                continue  # the rules see less, but are right more often
            if not same_subject[index] and _happened_apart(new, earlier[index]):
                continue
            if same_subject[index] and changes_now(new, earlier[index]):
                label, probability = Label.SUPERSEDE, 1.0
            elif about_other_things(new, earlier[index]):
                continue
            elif parts_with(new, earlier[index], earlier[index].id == newest):
                label, probability = Label.END, 1.0
            else:
                threshold = _PLAIN_THRESHOLD if plain[index] else 1 / 2
                label, probability = _change(read.changes[row], new, earlier[index], threshold)
                partly[index] = read.partly[row] > 1 / 2
            labels[index] = 0
            labels[index, label] = probability
            labels[index, Label.NONE] = 1 - probability
        return Judgement(labels, partly)


def _of_closest(
    new: Told, earlier: Sequence[Told], judgement: Judgement, by_rules: Judgement
) -> Judgement:
    """A judgement without changes to what has less of a new statement than another that it changes.

    Both held beside each other, so that each is of something of its own: "On weekdays the shop
    closes at 6:30" is not said of "On Saturdays the shop closes at 1". What rules say to be of one
    aspect stays: "from Paris to Rome" ends both where one lives and where one is.
    """
    own, told = stems_of(new.text), [stems_of(one.text) for one in earlier]
    labels = judgement.labels.argmax(axis=1)
    changed: list[int] = np.flatnonzero(np.isin(labels, ENDING)).tolist()
    others = [
        one
        for one in changed
        if on_other_days(new, earlier[one])
        or (
            by_rules.labels[one].argmax() == Label.NONE
            and len(own & told[one]) > 1
            and any(own & told[one] < own & told[two] and told[one] - told[two] for two in changed)
        )
    ]
    if not others:
        return judgement
    probabilities = judgement.labels.copy()
    probabilities[others] = np.eye(len(Label), dtype=np.float32)[Label.NONE]
    return judgement._replace(labels=probabilities)


def _happened_apart(new: Told, earlier: Told) -> bool:
    """Whether two statements tell of different days, both past when they were told.

    That Bo came on Tuesday changes nothing about Una, who came on Monday.
    """
    own, other = _past_days(new), _past_days(earlier)
    return bool(own and other) and not any(overlap(one, two) for one in own for two in other)


def _past_days(told: Told) -> list[DateRange]:
    said_on = local_time(told.told).date()
    return [
        place.days.meant
        for place in times_at(told.text, told.told)
        if place.role == "at" and not place.weekday and place.days.meant.last <= said_on
    ]


def _change(
    probabilities: NDArray[np.float32], new: Told, earlier: Told, threshold: float
) -> tuple[Label, float]:
    """The likeliest change to an earlier statement, by the network's probabilities [6] float32.

    And the probability of any change; 0 where it is below the threshold.
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
