"""The learned parser and judge: what a new statement says and changes, by the statement network."""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memnet.attention.arrays import cosines
from memnet.statements.judge import RuleJudge, reading, same_subjects
from memnet.statements.loading import LazyStatementReader
from memnet.statements.parsing import RuleParser, aliases_of, is_pronoun, predicate_without_negation
from memnet.statements.protocol import Judgement, Label, ParsedStatement
from memnet.statements.reading import StatementReader, TaggedText
from memnet.statements.times import dated_passage
from memnet.storage import Told
from memnet.text.names import normalise, subject_symbol

_READ = 8
"""Earlier statements that are read at most."""
_RECENT = 2
"""Statements told last that are always read: "no, 5:30" corrects one of them."""
_SAME_SUBJECT = 1.0
"""What sharing a subject adds to the cosine of two relations, where not all can be read."""
_FLOOR = 0.5
"""Probability of all changes together from which a statement is changed."""
_SURE = 0.8
"""Probability from which another wording is taken for the same statement: a wrong merge loses what
is new in it, a missed one costs a slot."""
_JOINS = re.compile(r"(?:,|,? (?:and|&|or|und)|/|\+)? ?", re.IGNORECASE)
"""What may stand between two subjects of one sentence."""


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
        return [_tagged(one, network) for one in parsed]


def _tagged(parsed: ParsedStatement, network: StatementReader) -> ParsedStatement:
    """A sentence that rules have parsed, with what the network has found instead."""
    text = parsed.text
    if parsed.act == "forget" or text.rstrip().endswith("?"):
        return parsed
    tagged = network.write(text, ()).tagged
    span = _subject(text, tagged)
    written = text[span[0] : span[1]] if span else ""
    subject = parsed.subject if not span or is_pronoun(written) else written
    values = tuple(dict.fromkeys(text[start:end] for start, end in tagged.values))
    if subject_symbol(subject) != subject_symbol(parsed.subject):
        rest = f"{text[: span[0]]} {text[span[1] :]}" if span else text
        predicate, negative = predicate_without_negation(rest)
    else:
        predicate = " ".join((parsed.relation, *parsed.values)).strip()
        negative = not parsed.polarity
    relation, values = _without_values(predicate, values)
    return replace(
        parsed,
        subject=subject,
        relation=relation,
        values=values,
        aliases=aliases_of(subject),
        polarity=not (negative or tagged.negative),
        certainty=tagged.certainty,
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


def _without_values(predicate: str, values: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The words of a predicate that are no value, and the values that stand there."""
    found: list[str] = []
    rest = predicate
    for value in values:
        start = rest.find(value)
        if start >= 0:
            found.append(value)
            rest = f"{rest[:start]}\0{rest[start + len(value) :]}"
    return " ".join(rest.replace("\0", " ").split()).strip(" ,.;:!-"), tuple(found)


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
        network = self._reader.load() if earlier and new.act != "forget" else None
        if network is None:
            return by_rules
        chosen = sorted(_by_relevance(new, earlier)[:_READ])
        passages = [dated_passage(earlier[index], new.valid_from) for index in chosen]
        read = network.write(new.text, passages)
        labels, partly = by_rules.labels.copy(), by_rules.partly.copy()
        for row, index in enumerate(chosen):
            if labels[index].argmax() != Label.NONE:
                continue  # the rules see less, but are right more often
            own = read.changes[row].copy()
            if own[Label.MERGE] < _SURE or not _says_nothing_new(new, earlier[index]):
                own[Label.MERGE] = 0
            own /= own.sum()
            if own[Label.NONE] > 1 - _FLOOR:
                own[:] = np.eye(len(Label))[Label.NONE]
            else:
                own[Label.NONE] = 0
            labels[index], partly[index] = own, read.partly[row] > 1 / 2
        return Judgement(labels, partly)


def _by_relevance(new: Told, earlier: Sequence[Told]) -> list[int]:
    """Indices of earlier statements, those first that the new one may change."""
    relations = np.array([one.relation_vector for one in earlier], np.float32)
    scores: NDArray[np.float32] = cosines(new.relation_vector, relations)
    scores = scores + _SAME_SUBJECT * same_subjects(reading(new), [reading(o) for o in earlier])
    last = sorted(range(len(earlier)), key=lambda index: -earlier[index].id)[:_RECENT]
    rest = [index for index in np.argsort(-scores, kind="stable").tolist() if index not in last]
    return [*last, *rest]


def _says_nothing_new(new: Told, earlier: Told) -> bool:
    """Whether all values of a statement, or its words, stand in an earlier one."""
    text = f" {normalise(earlier.text)} "
    values = [normalise(value) for value in new.values] or [normalise(new.text)]
    return all(f" {value} " in text for value in values)
