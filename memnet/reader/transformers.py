"""Any Hugging Face model for extractive question answering as the reader."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from memnet.encoders.hub import hub_name, local_model
from memnet.errors import DependencyError, ModelError, first_line, install
from memnet.reader.spans import Passage, Reading, Span, best_spans

# Tokens of a window, and those that two windows of a passage share.
_WINDOW_TOKENS, _STRIDE = 384, 128
_MAX_SPAN_TOKENS = 30
_MAX_SPANS = 20
_EXPECTED = (
    "expected 'spans', 'sentences', a folder that 'memnet train reader' made, an extractive model "
    "by its folder or name in the hub's cache, or hub:ORG/NAME to fetch one"
)


class NamedReader:
    """A question-answering model, by its name or folder, reading each passage by itself.

    Source: Devlin et al. 2019, sections 4.2 and 4.3: the score of a span is the sum of those of
    its ends, that of no answer the sum of those of the first token. All spans of all passages, and
    the least likely "no answer" among these, share one softmax.
    """

    def __init__(self, name: str | os.PathLike[str], device: str = "cpu") -> None:
        """Load the model; DependencyError without transformers, ModelError without such a model."""
        shown = os.fspath(name)
        fetched = hub_name(name)
        source = fetched or local_model(name)
        if source is None:
            raise ModelError(f"the reader {shown!r} is not on this machine; {_EXPECTED}")
        try:
            from transformers import AutoModelForQuestionAnswering, AutoTokenizer
        except ImportError as error:
            raise DependencyError(
                f"the reader {shown!r} needs transformers; run: {install('models')}"
            ) from error
        try:
            only_local = {"local_files_only": fetched is None}
            self._tokenizer: Any = AutoTokenizer.from_pretrained(
                source, use_fast=True, **only_local
            )
            made = AutoModelForQuestionAnswering.from_pretrained(source, **only_local)
            self._model: Any = made.eval()
            self._model.to(device)
        except Exception as error:  # the library raises all kinds of them
            raise ModelError(
                f"there is no reader {shown!r} ({first_line(error)}); {_EXPECTED}"
            ) from error

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Read passages; arguments and result as for ``Reader.read``."""
        scored: list[tuple[Span, float]] = []
        no_answer = float("inf")
        for index, passage in enumerate(passages):
            if passage.text.strip():
                of_passage, null = self._scored_spans(question, index, passage.text)
                scored += of_passage
                no_answer = min(no_answer, null)
        if not scored:
            return Reading((), 0.0, 0.0, 0.0)
        logits = torch.tensor([no_answer, *(score for _, score in scored)])
        probabilities = torch.softmax(logits, dim=0).tolist()
        spans = [
            span._replace(probability=probability)
            for (span, _), probability in zip(scored, probabilities[1:], strict=True)
        ]
        spans.sort(key=lambda span: -span.probability)
        return Reading(tuple(spans), 0.0, 0.0, 1 - probabilities[0])

    def _scored_spans(
        self, question: str, index: int, text: str
    ) -> tuple[list[tuple[Span, float]], float]:
        """Spans of a passage with their scores, and the score of no answer."""
        windows = self._tokenizer(
            question, text, truncation="only_second", max_length=_WINDOW_TOKENS, stride=_STRIDE,
            return_overflowing_tokens=True, return_offsets_mapping=True, return_tensors="pt",
            padding=True,
        )  # fmt: skip
        offsets = windows.pop("offset_mapping").tolist()
        windows.pop("overflow_to_sample_mapping")
        with torch.inference_mode():
            output = self._model(**windows.to(self._model.device))
        spans: list[tuple[Span, float]] = []
        no_answer = float("inf")
        for row, window in enumerate(offsets):
            mask = np.array([sequence == 1 for sequence in windows.sequence_ids(row)])
            start, end = (
                logits[row].float().cpu().numpy()
                for logits in (output.start_logits, output.end_logits)
            )
            no_answer = min(no_answer, float(start[0] + end[0]))
            spans += [
                (Span(index, window[first][0], window[last][1], 0.0), score)
                for first, last, score in best_spans(start, end, mask, _MAX_SPAN_TOKENS, _MAX_SPANS)
            ]
        return spans, no_answer
