"""Readers: from evidence to an answer."""

from memnet.readers.bridging import Bridged
from memnet.readers.comparison import asks_for_order
from memnet.readers.confidence import Signals
from memnet.readers.facts import read_facts
from memnet.readers.ranked import Ranked
from memnet.readers.sentence import read_sentences
from memnet.readers.span_answers import read_spans

__all__ = [
    "Bridged",
    "Ranked",
    "Signals",
    "asks_for_order",
    "read_facts",
    "read_sentences",
    "read_spans",
]
