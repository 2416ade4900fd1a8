"""Evaluation: questions with their answers, and what scores them."""
