"""Words of texts, split and stemmed by SQLite's FTS5, so that every store has the same."""

import hashlib
import sqlite3
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence

_MAX_BYTES = 200
"""Of a word in the index. PostgreSQL's indexes take up to 2,700."""


class Tokenizer:
    """FTS5 in memory, for one thread at a time."""

    def __init__(self) -> None:
        """Make an empty full-text index, whose entries are the words of what is put there."""
        self._fts5 = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._fts5.close)
        self._fts5.text_factory = _word
        self._fts5.executescript(
            """
            CREATE VIRTUAL TABLE given USING fts5 (
                title, text, content='', tokenize='porter unicode61 remove_diacritics 2'
            );
            CREATE VIRTUAL TABLE token USING fts5vocab (given, instance);
            """
        )

    def counts(self, slots: Iterable[tuple[int, str, str]]) -> dict[int, dict[str, int]]:
        """How often each word is in title and text together, by slot.

        Args:
            slots: ids, titles and texts; those without any word are left out of the result.
        """
        self._put(slots)
        found: dict[int, dict[str, int]] = {}
        for (slot, word), count in Counter(
            self._fts5.execute("SELECT doc, term FROM token")
        ).items():
            found.setdefault(slot, {})[word] = count
        return found

    def words(self, term: str) -> list[str]:
        """The words of a term, in their order."""
        self._put([(0, "", term)])
        rows = self._fts5.execute('SELECT term FROM token ORDER BY "offset"')
        return [word for (word,) in rows]

    def phrase_counts(
        self, slots: Sequence[tuple[int, str, str]], term: str, phrase: Sequence[str]
    ) -> dict[int, int]:
        """How often words follow one another within a title or a text, by slot.

        Args:
            slots: ids, titles and texts; those without the phrase are left out of the result.
            term: that is split into the words.
            phrase: the words.
        """
        quoted = term.replace('"', '""')
        self._put(slots)
        having = {
            slot
            for (slot,) in self._fts5.execute(
                "SELECT rowid FROM given WHERE given MATCH ?", [f'"{quoted}"']
            )
        }
        # FTS5 does not say how often.
        self._put(slot for slot in slots if slot[0] in having)
        places: dict[tuple[int, str], dict[str, set[int]]] = {}
        for slot, column, word, place in self._fts5.execute(
            'SELECT doc, col, term, "offset" FROM token'
        ):
            if word in phrase:
                places.setdefault((slot, column), {}).setdefault(word, set()).add(place)
        found = Counter[int]()
        for (slot, _), by_word in places.items():
            starts = by_word.get(phrase[0], set())
            for distance, word in enumerate(phrase[1:], 1):
                starts = starts & {place - distance for place in by_word.get(word, ())}
            found[slot] += len(starts)
        return dict(found)

    def _put(self, slots: Iterable[tuple[int, str, str]]) -> None:
        """Replace what the full-text index holds."""
        self._fts5.execute("INSERT INTO given (given) VALUES ('delete-all')")
        self._fts5.execute("BEGIN")
        self._fts5.executemany("INSERT INTO given (rowid, title, text) VALUES (?, ?, ?)", slots)
        self._fts5.execute("COMMIT")


def _word(token: bytes) -> str:
    """A word as the index has it. No word has a number sign, so none is taken for a digest.

    FTS5 cuts very long ones off between any two bytes.
    """
    if len(token) <= _MAX_BYTES:
        return token.decode()
    return f"#{hashlib.blake2b(token, digest_size=16).hexdigest()}"
