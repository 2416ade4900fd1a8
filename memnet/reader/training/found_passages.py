"""Examples to be read among what a memory finds for their questions, as readers do in use."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from memnet.reader.training.examples import WORDS, ReaderExample, ReaderPassage
from memnet.text.names import normalise
from memnet.types import Evidence


def among_found(
    examples: Iterable[ReaderExample], find: Callable[[str], Sequence[Evidence]]
) -> Iterator[ReaderExample]:
    """Examples with what is found for their questions as the passages that don't help.

    What holds an answer or stands among the right passages is left out. An example for which
    nothing else is found keeps the passages it came with.

    Source: Karpukhin et al. 2020, section 3.2 (passages found that hold no answer).

    Args:
        examples: to read.
        find: passages for a question, best first.
    """
    for example in examples:
        right = {_text(one.text) for one in example.passages}
        others = tuple(
            ReaderPassage(title=found.title, text=found.text)
            for found in find(example.question)
            if _text(found.text) not in right and not _helps(found, example.answers)
        )
        yield example.model_copy(update={"others": others or example.others})


def _helps(found: Evidence, answers: Sequence[str]) -> bool:
    held = f" {normalise(found.text)} "
    return any(f" {normalise(one)} " in held for one in answers if one.casefold() not in WORDS)


def _text(text: str) -> str:
    return " ".join(text.split())
