"""Sources as they are listed and read back."""

from memnet.storage.tables.connection import Connection
from memnet.storage.tables.row_values import damaged, stored_metadata, stored_rows
from memnet.types import Source, SourceKind

_KINDS: dict[str, SourceKind] = {"document": "document", "facts": "facts", "told": "statement"}
_MAX_CHARACTERS = 2**28
"""Of a source: a row of a foreign store could ask for any amount of memory."""


class SourceReads(Connection):
    """Reads of whole sources."""

    def sources(
        self, after: int, limit: int, namespace: str | None, name: str | None = None
    ) -> list[tuple[int, Source]]:
        """Up to ``limit`` sources with row ids above ``after``, in the order of these."""
        rows = self._rows(
            "SELECT id, name, namespace, kind, title, origin, metadata, "
            "(SELECT count(*) FROM slot WHERE slot.source = source.id) FROM source "
            "WHERE id > ?1 AND (?3 IS NULL OR namespace = ?3) AND (?4 IS NULL OR name = ?4) "
            "ORDER BY id LIMIT ?2",
            after,
            limit,
            namespace,
            name,
        )
        stored_rows(rows, "a source", int, str, str, str, str, str, str, int)
        return [(row[0], _source(*row[1:])) for row in rows]

    def source_text(self, row_id: int) -> str:
        """The text of a source, as far as its slots hold it; line breaks where they do not."""
        rows = self._rows(
            "SELECT start, text FROM slot WHERE source = ? AND kind <> 'reverse' ORDER BY start",
            row_id,
        )
        parts: list[str] = []
        end = 0
        for start, text in stored_rows(rows, "a slot", int, str):
            if not 0 <= start <= _MAX_CHARACTERS:
                raise damaged(f"a text of source {row_id}")
            parts += ["\n" * (start - end), text[max(0, end - start) :]]
            end = max(end, start + len(text))
        return "".join(parts)


def _source(
    name: str, namespace: str, kind: str, title: str, origin: str, metadata: str, slots: int
) -> Source:
    if kind not in _KINDS:
        raise damaged(f"a source of kind {kind!r}")
    return Source(
        id=name,
        kind=_KINDS[kind],
        title=title,
        namespace=namespace,
        slots=slots,
        metadata=stored_metadata(metadata),
        origin=origin or None,
    )
