"""Fit the confidence of a reader to questions that it was not trained on.

    python -m benchmarks.prepare_reader --data DIR [--documents DOCUMENTS] --out EXAMPLES
    python -m benchmarks.fit_confidence --data DIR --examples EXAMPLES [--reader READER]
        --out READER

Questions about the collections of documents that are held out, or that only chose the weights, are
asked of one memory, which holds the passages of all questions about documents and those of other
sets: as much to choose from as in a folder of thousands of files. Those about the
everyday collections that are kept for this (``benchmarks/questions``) are asked of a memory of each
collection's few files. Reader and controller have learned from none of the questions. What was
fitted before plays no part. The same data, reader and arithmetic give the same weights.
"""

import argparse
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.questions import phrases, quotes
from benchmarks.reader_data.documents import collections, everyday_memories, write_passages
from benchmarks.reader_data.files import lines
from benchmarks.reader_data.held_out import part_of_collection
from memnet import Document, Engine
from memnet.documents import answers as text_answers
from memnet.documents.training.calibration import Predictor, fit_calibration
from memnet.learning.evaluation import Question
from memnet.reader.answers import Prediction
from memnet.reader.checkpoint import copy_reader, save_calibration
from memnet.reader.loading import SPANS, LazyReader


def main() -> None:
    """Ask, fit, and say how well it fits."""
    shipped = LazyReader(SPANS).folder
    if shipped is None:
        raise SystemExit("the weights of the shipped reader are not installed")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--reader", type=Path, default=shipped)
    parser.add_argument("--out", type=Path, default=shipped)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch, "reader")
        copy_reader(options.reader, plain)
        predictions: dict[str, Prediction] = {}
        questions: list[Question] = []

        def ask(
            memory: Engine, name: str, question: str, answers: list[str], shown: Sequence[str] = ()
        ) -> None:
            if not isinstance(memory.answerer, Predictor):
                raise SystemExit(f"{name}: the memory has no reader")
            key = f"{name}: {question}"
            # What excerpts of conversations give has a probability of its own.
            with patch.object(text_answers, "read_excerpts", lambda *asked: asked[-1]):
                predictions[key] = memory.answerer.predict(question)
            questions.append(Question(question=key, answers=tuple(answers), quotes=tuple(shown)))

        with Engine.open(
            Path(scratch, "store"), create=True, answerer="text", reader=str(plain)
        ) as memory:
            for name, asked in collections(options.data).items():
                folder = Path(scratch, "files", name)
                write_passages(folder, asked)
                memory.ingest(folder)
            memory.ingest(_passages(_others(options.examples / "held_out.jsonl")))
            for name, asked in collections(options.data).items():
                for one in asked if part_of_collection(name) != "train" else ():
                    ask(memory, name, one["question"], phrases(one), quotes(one))
        for name, asked, memory in everyday_memories("fit", "text", str(plain)):
            for one in asked:
                ask(memory, name, one["question"], phrases(one), quotes(one))
    calibration, report = fit_calibration(questions, predictions.__getitem__)
    if options.out != options.reader:
        shutil.rmtree(options.out, ignore_errors=True)
        copy_reader(options.reader, options.out)
    save_calibration(options.out, calibration, report._asdict())
    print(report, *(round(weight, 3) for weight in calibration.weights))


def _others(path: Path) -> Iterator[dict[str, Any]]:
    return (one for one in lines(path) if one["set"] != "documents")


def _passages(examples: Iterable[dict[str, Any]]) -> Iterator[Document]:
    """Distinct passages of examples, distractors too."""
    distinct = {
        (passage["title"], passage["text"])
        for one in examples
        for passage in (*one["passages"], *one.get("others", ()))
    }
    for number, (title, text) in enumerate(sorted(distinct)):
        yield Document(id=str(number), title=title, text=text)


if __name__ == "__main__":
    main()
