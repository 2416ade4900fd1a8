"""Readers: from evidence to an answer."""

from memnet.readers.confidence import Signals
from memnet.readers.facts import read_facts
from memnet.readers.ranked import Ranked
from memnet.readers.sentence import read_sentences
from memnet.readers.span_answers import read_spans

__all__ = ["Ranked", "Signals", "read_facts", "read_sentences", "read_spans"]
