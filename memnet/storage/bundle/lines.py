"""The lines of a bundle: what each must be to be believed."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_MOST = 2**53
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
_Place = Annotated[int, Field(ge=0, lt=_MOST)]
_Number = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1e11)]
_Symbols = tuple[Annotated[str, Field(min_length=1)], ...]


class BundleLine(BaseModel):
    """A line of a bundle: nothing is converted, and nothing unknown is let through."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class BundleHead(BundleLine):
    """What a bundle says of itself."""

    format: Literal[1]
    encoder: Annotated[str, Field(min_length=1, max_length=4096)]
    """Fingerprint of the encoder that made the vectors."""
    dimension: Annotated[int, Field(ge=1, le=100_000)]
    vectors: _Place
    sources: _Place
    slots: _Place
    last_source: _Place
    last_slot: _Place
    """The highest ids ever given, so that none is given again."""
    told: _Place
    """How many names of told sources were given."""


class BundledSource(BundleLine):
    """A source; its place is that of its line."""

    namespace: str
    name: Annotated[str, Field(min_length=1)]
    kind: Literal["document", "facts", "told"]
    origin: str
    title: str
    metadata: dict[str, Any]
    digest: _Digest


class BundledSlot(BundleLine):
    """A slot with its symbols."""

    id: Annotated[int, Field(ge=1, lt=_MOST)]
    source: _Place
    kind: Literal["passage", "fact", "reverse"]
    title: str
    text: str
    start: _Place
    end: _Place
    relation: str
    value: str
    vector: _Place
    relation_vector: _Place | None
    digest: _Digest
    valid_from: _Number | None
    valid_until: _Number | None
    usage: _Number
    used: _Number
    keys: _Symbols
    mentions: _Symbols

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.end - self.start != len(self.text):
            raise ValueError("its text is not as long as its span")
        if (self.valid_from is None) != (self.relation_vector is None):
            raise ValueError("a told slot has a time and a relation vector, others have neither")
        if self.valid_until is not None and (
            self.valid_from is None or self.valid_until < self.valid_from
        ):
            raise ValueError("it ended before it began")
        fact = self.keys and self.mentions and self.valid_from is None
        if self.kind != "passage" and not fact:
            raise ValueError("a fact leads from a name to another and has no time")
        return self
