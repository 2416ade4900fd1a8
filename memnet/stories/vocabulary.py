"""The vocabulary of a trained model: words and their numbers."""

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"\w+(?:['’-]\w+)*")

PADDING, UNKNOWN, END = 0, 1, 2
"""Numbers of no word, of a word that training never saw, and of the end of an answer."""

_SPECIAL = ("<padding>", "<unknown>", "<end>")


def split_words(text: str) -> list[str]:
    """The words of a text in their order, case-folded, without punctuation."""
    return _WORD.findall(text.casefold())


class Vocabulary:
    """Words with their numbers."""

    def __init__(self, words: Sequence[str]) -> None:
        """Number ``words`` in their order, after the special ones."""
        self.words = tuple(words)
        self._all = (*_SPECIAL, *self.words)
        self._numbers = {word: number for number, word in enumerate(self._all)}

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> "Vocabulary":
        """The vocabulary of some texts, each a list of words; it depends on no order."""
        return cls(sorted({word for text in texts for word in text}))

    def __len__(self) -> int:
        return len(self._all)

    def numbers(self, words: Iterable[str]) -> list[int]:
        """The number of each word; ``UNKNOWN`` for those that are not in the vocabulary."""
        return [self._numbers.get(word, UNKNOWN) for word in words]

    def unknown(self, words: Iterable[str]) -> list[str]:
        """Those of the words that are not in the vocabulary, each once, in their order."""
        return list(dict.fromkeys(word for word in words if word not in self._numbers))

    def spelled(self, numbers: Iterable[int]) -> list[str]:
        """The words of some numbers, up to the end of the answer."""
        words: list[str] = []
        for number in numbers:
            if number in (END, PADDING):
                break
            words.append(self._all[number])
        return words
