"""Evaluation: how well a memory answers a file of questions."""

from memnet.evaluation.run import evaluate
from memnet.ingest.questions import Question, read_questions

__all__ = ["Question", "evaluate", "read_questions"]
