"""Readers: from evidence to an answer."""

from memnet.readers.facts import read_facts
from memnet.readers.ranked import Ranked
from memnet.readers.sentence import read_sentences

__all__ = ["Ranked", "read_facts", "read_sentences"]
