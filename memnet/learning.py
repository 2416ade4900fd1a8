"""What an engine learns from its own memory: models of facts and of text, readers, confidence."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memnet.config import Config
from memnet.encoders import Encoder
from memnet.errors import InputError
from memnet.evaluation.questions import Question
from memnet.protocols import Answerer
from memnet.reader.checkpoint import copy_reader, save_calibration
from memnet.reader.loading import LazyReader
from memnet.storage import EVERYWHERE, MemoryStore
from memnet.training.progress import OnProgress, no_progress
from memnet.types import Evidence

if TYPE_CHECKING:
    from memnet.documents.training.confidence import ConfidenceReport
    from memnet.documents.training.train import TextReport
    from memnet.facts.training import FactReport
    from memnet.reader.training.examples import ReaderExample
    from memnet.training.loop import EpochReport


class Learning:
    """The part of an engine that learns. Training itself is loaded when it is asked for."""

    config: Config
    store: MemoryStore
    encoder: Encoder
    reader: LazyReader
    answerer: Answerer

    def train_facts(
        self,
        train: Sequence[Question],
        dev: Sequence[Question],
        out: str | os.PathLike[str],
        *,
        seed: int = 0,
        epochs: int | None = None,
        on_epoch: "Callable[[EpochReport], None]" = lambda _: None,
        on_progress: OnProgress = no_progress,
    ) -> "FactReport":
        """Learn to answer questions about the facts of this memory by hops over them.

        Args:
            train: questions with their answers; no facts are given that lead to them.
            dev: others, to choose the best weights by.
            out: folder of the model, to be given to ``Engine.open``; a run that was stopped goes
                on from it.
            seed: of all that is random.
            epochs: passes over the questions; None chooses by how many there are.
            on_epoch: called after each.
            on_progress: called after each batch, and for each question that is made ready.

        Raises:
            InputError: the memory holds no facts, or no question can be learned from.
            ModelError: ``out`` can't be written, or holds another unfinished run.
        """
        from memnet.facts.training import FactData, train_facts

        return train_facts(
            self.store,
            self.encoder,
            FactData(train, dev),
            Path(out),
            seed=seed,
            epochs=epochs,
            on_epoch=on_epoch,
            threads=self.config.threads or None,
            on_progress=on_progress,
        )

    def train_text(
        self,
        groups: Sequence[Sequence[Question]],
        out: str | os.PathLike[str],
        *,
        seed: int = 0,
        on_stage: Callable[[str], None] = lambda _: None,
        on_progress: OnProgress = no_progress,
    ) -> "TextReport":
        """Learn what each way of addressing is worth for the documents of this memory.

        Args:
            groups: questions with the source ids of the documents that hold their answers, in
                groups that count alike; none at all makes questions from the documents.
            out: folder of the model, to be given to ``Engine.open``.
            seed: of all that is random.
            on_stage: called with what is being done.
            on_progress: called after each question and each update.

        Raises:
            InputError: there is nothing to learn from.
            ModelError: ``out`` can't be written.
        """
        from memnet.documents.training.train import train_text

        return train_text(
            self.store,
            self.encoder.encode,
            groups,
            Path(out),
            self.config.hop,
            seed,
            on_stage,
            on_progress,
        )

    def reader_examples(
        self, most: int, *, seed: int = 0, on_progress: OnProgress = no_progress
    ) -> "list[ReaderExample]":
        """Questions for a reader to learn from, made from the documents of this memory.

        Up to half are templated, the others cloze questions.

        Args:
            most: questions to make.
            seed: of the choice.
            on_progress: called after each passage that cloze questions are looked for in.
        """
        from memnet.documents.training.cloze import cloze_examples
        from memnet.documents.training.templates import templated_examples

        templated = templated_examples(self.store, most // 2, seed)
        return templated + cloze_examples(self.store, most - len(templated), seed, on_progress)

    def among_found(self, examples: "Iterable[ReaderExample]") -> "Iterator[ReaderExample]":
        """Examples for a reader with what this memory finds for their questions beside them.

        Args:
            examples: questions with the passages that hold their answers.
        """
        from memnet.reader.training.found_passages import among_found

        hop = self.config.hop

        def find(question: str) -> Sequence[Evidence]:
            return self.answerer.ask(question, hop.hops, hop.evidence, EVERYWHERE).evidence

        return among_found(examples, find)

    def train_confidence(
        self,
        questions: Sequence[Question],
        out: str | os.PathLike[str],
        *,
        on_progress: OnProgress = no_progress,
    ) -> "ConfidenceReport":
        """Learn how often the reader is right about the documents of this memory.

        Args:
            questions: that the reader was not trained on, with their right answers; none for those
                whose answer the memory does not hold.
            out: folder of a reader like this engine's, calibrated; to be given to ``Engine.open``.
            on_progress: called after each question.

        Raises:
            InputError: there is nothing to learn from, or this engine has no reader of spans.
            ModelError: ``out`` can't be written.
        """
        from memnet.documents.training.confidence import calibrate

        judge, folder = getattr(self.answerer, "judged", None), self.reader.folder
        if judge is None or folder is None:
            raise InputError(
                "only answers that a reader of spans gives can be calibrated; open the memory "
                "with the model 'text' and such a reader"
            )
        calibration, report = calibrate(questions, judge, on_progress)
        copy_reader(folder, Path(out))
        save_calibration(Path(out), calibration, report._asdict())
        return report
