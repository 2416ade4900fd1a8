"""What a user may bring of his own: objects with these methods, given to ``Engine.open``.

All of them may be called from several threads at once.
"""

import os
from typing import Protocol, runtime_checkable

from memnet.encoders.protocol import (
    Encoder,
    QuickEncoder,
    TokenEncoder,
    TokenStates,
    TwoSidedEncoder,
    UnitEncoder,
    UnitVectors,
)
from memnet.ingest.slots import Extractor
from memnet.reader.spans import Passage, Reader, Reading, Span
from memnet.statements.protocol import (
    Judgement,
    Label,
    ParsedStatement,
    StatementJudge,
    StatementParser,
)
from memnet.storage import Scope, Told
from memnet.types import Answer, Evidence

__all__ = [
    "Answerer",
    "Encoder",
    "Extractor",
    "Judgement",
    "Label",
    "ParsedStatement",
    "Passage",
    "QuickEncoder",
    "Reader",
    "Reading",
    "Scope",
    "Searcher",
    "Span",
    "StatementJudge",
    "StatementParser",
    "TokenEncoder",
    "TokenStates",
    "Told",
    "TwoSidedEncoder",
    "UnitEncoder",
    "UnitVectors",
]


Name = str | os.PathLike[str]
"""Name of a model that ships with memnet or that a library knows, or the path of its folder."""


class Answerer(Protocol):
    """What answers questions about a memory."""

    def ask(self, question: str, hops: int | None, top_k: int, scope: Scope) -> Answer:
        """Answer a question.

        Args:
            question: not blank.
            hops: most reads of the memory; None for as many as the answerer likes.
            top_k: most pieces of evidence.
            scope: the sources to look in.
        """
        ...


@runtime_checkable
class Searcher(Protocol):
    """An answerer that ``Engine.search`` can use as well."""

    def search(
        self, query: str, hops: int | None, top_k: int, scope: Scope
    ) -> tuple[Evidence, ...]:
        """Evidence for a query, best first; arguments as for ``Answerer.ask``."""
        ...
