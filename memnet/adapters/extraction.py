# pyright: reportMissingImports=false
"""Entity recognisers of other libraries as extractors of names, for ``Engine.open(extractor=)``.

They need the extra "spacy" or "gliner".
"""

import hashlib
import importlib.metadata
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memnet.adapters import missing_framework
from memnet.errors import ModelError, first_line

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = ["GlinerExtractor", "SpacyExtractor"]

# Labels of OntoNotes, which spaCy's English models have, for anything but a name.
_NO_NAMES = frozenset({"CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"})


class SpacyExtractor:
    """Names by the entity recogniser of a spaCy pipeline.

    ::

        Engine.open("memory", create=True, extractor=SpacyExtractor("en_core_web_sm"))
    """

    def __init__(self, pipeline: "str | Language", labels: Iterable[str] | None = None) -> None:
        """Take a pipeline.

        Args:
            pipeline: itself, or the name or folder of one that is installed.
            labels: of the entities that count; None for all except dates, times and numbers.

        Raises:
            DependencyError: spaCy is not installed.
            ModelError: there is no pipeline of that name.
        """
        self._pipeline = _spacy_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
        self._labels = None if labels is None else frozenset(labels)
        # Its vocabulary is left out: it grows with the texts that are read.
        digest = hashlib.blake2b(self._pipeline.to_bytes(exclude=["vocab"]), digest_size=8)
        chosen = "" if self._labels is None else ",".join(sorted(self._labels))
        self.fingerprint = f"spacy/{digest.hexdigest()}/{chosen}"

    def extract(self, text: str) -> list[str]:
        """The entities of a text, each spelling once."""
        found, labels = self._pipeline(text).ents, self._labels
        if labels is None:
            names = [one.text for one in found if one.label_ not in _NO_NAMES]
        else:
            names = [one.text for one in found if one.label_ in labels]
        return list(dict.fromkeys(names))


class GlinerExtractor:
    """Names by a GLiNER model, whose labels are words: "person", "ship", "disease".

    ::

        GlinerExtractor("urchade/gliner_small-v2.1", ["person", "place", "ship"])

    Source: Zaratiana et al. 2024.
    """

    def __init__(
        self,
        model: str,
        labels: Sequence[str] = ("person", "organization", "place", "work", "event"),
        threshold: float = 0.5,
        *,
        fetch: bool = True,
    ) -> None:
        """Load a model.

        Args:
            model: its name on the Hugging Face hub, or its folder; part of the fingerprint, so that
                other weights under the same name go unnoticed.
            labels: kinds of names to find.
            threshold: probability, 0..1, from which an entity counts.
            fetch: whether the library may download the model.

        Raises:
            DependencyError: GLiNER is not installed.
            ModelError: there is no such model.
        """
        try:
            from gliner import GLiNER
        except ImportError as error:
            raise missing_framework("GlinerExtractor", "gliner", "gliner") from error
        try:
            self._model: Any = GLiNER.from_pretrained(model, local_files_only=not fetch)
        except Exception as error:  # the library raises all kinds of them
            raise ModelError(
                f"can't load the GLiNER model {model!r} ({first_line(error)}); expected its "
                "name on the Hugging Face hub, or its folder"
            ) from error
        self._labels = list(labels)
        self._threshold = threshold
        version = importlib.metadata.version("gliner")
        self.fingerprint = f"gliner-{version}/{model}/{threshold}/{','.join(self._labels)}"

    def extract(self, text: str) -> list[str]:
        """The entities of a text, each spelling once."""
        found = self._model.predict_entities(text, self._labels, threshold=self._threshold)
        return list(dict.fromkeys(entity["text"] for entity in found))


def _spacy_pipeline(name: str) -> "Language":
    try:
        import spacy
    except ImportError as error:
        raise missing_framework("SpacyExtractor", "spacy", "spacy") from error
    try:
        return spacy.load(name)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"can't load the spaCy pipeline {name!r} ({first_line(error)}); install it with: "
            "python -m spacy download NAME"
        ) from error
