"""Evaluation: how well a memory answers a file of questions."""

from memnet.ingest.questions import Question, read_questions
from memnet.evaluation.run import evaluate

__all__ = ["Question", "evaluate", "read_questions"]
