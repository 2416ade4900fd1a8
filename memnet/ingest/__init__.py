"""Ingest: files, documents and facts become slots."""

from memnet.ingest.inputs import Input
from memnet.ingest.pipeline import Ingest, Progress
from memnet.ingest.reading import Problem

__all__ = ["Ingest", "Input", "Problem", "Progress"]
