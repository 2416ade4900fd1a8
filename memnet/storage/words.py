"""The words of the text index: where one begins and ends, in texts and questions alike.

Chinese, Japanese, Thai, Lao, Burmese and Khmer are written without spaces, and Korean joins
particles to its words. Of their letters each two neighbours are a word of the index (Manning,
Raghavan and Schütze 2008, "Introduction to Information Retrieval", section 2.2.1).
"""

import re
import unicodedata
from functools import cache

# The option ``tokenize`` of FTS5. A vowel of Hindi or Thai may be a mark (Mn, Mc), which ends no
# word; U+FE0F is one too, but belongs to the emoji before it.
TOKENIZER = (
    "\"porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc' separators '\ufe0f'\""
)
# Of all scripts, without those that only symbols and phonetic letters bear.
_MARKS = "".join(
    character
    for start, end in ((0x300, 0x1D00), (0xA800, 0xAC00))
    for character in map(chr, range(start, end))
    if unicodedata.category(character) in ("Mn", "Mc")
)
WORD = re.compile(rf"[\w{_MARKS}]+")
"""Letters with their marks, digits and underscores of any script."""


def spaced(text: str) -> str:
    """A text as it is indexed: letters of scripts without spaces as pairs of neighbours.

    The last one of a run stands alone, so that a word begins with each.
    """
    return text if text.isascii() else _unspaced_letter().sub(_pair, text)


def words_of(text: str) -> list[str]:
    """The words of a question in their order, as the index has them."""
    found: list[str] = []
    for word in WORD.findall(spaced(text)):
        # The last letter of a run is in the pair before it.
        if not (found and found[-1].endswith(word) and is_beginning(word)):
            found.append(word)
    return found


def is_beginning(word: str) -> bool:
    """Whether a word of a question is a single letter, with which words of the index begin."""
    return not word.isascii() and _unspaced_letter().fullmatch(word) is not None


@cache  # made when it is first wanted: the set of letters takes 12 ms
def _unspaced_letter() -> re.Pattern[str]:
    """A letter or digit of a script without spaces, with its marks."""
    return re.compile(
        r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3"
        rf"\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff](?<=\w)[{_MARKS}]*"
    )


def _pair(letter: re.Match[str]) -> str:
    following = _unspaced_letter().match(letter.string, letter.end())
    return f" {letter[0]}{following[0] if following else ''} "
