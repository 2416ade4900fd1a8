"""``memnet train``: a command for each preset."""

import click

from memnet.cli.train.documents import confidence, questions, reader, text
from memnet.cli.train.facts_stories import babi, facts


@click.group()
def train() -> None:
    """Train a model: one that belongs to the store, or a folder to be used with --model.

    \b
    Example:
      memnet train babi --data stories/ --out my-model
    """


for preset in (babi, facts, text, reader, questions, confidence):
    train.add_command(preset)
