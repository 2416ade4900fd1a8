"""Passages in any number, made from some real ones, with a vocabulary that grows as theirs does.

python -m benchmarks.made_passages COUNT FILE --source CORPUS.jsonl

The first passages are the real ones. Each later pass over them changes names and numbers: a name
that is in few passages becomes another one, the same throughout the pass, so that what one passage
says of another still leads there; names that many passages have, and words in lower case, stay.
Which one follows a Chinese restaurant process for each name: an earlier form is chosen in
proportion to its uses less a discount, else the name gets a form that never was. So the number of
forms grows as a power of the number of passes, with the discount for its exponent, as in Heaps'
law. Source: Pitman and Yor 1997, "The two-parameter Poisson-Dirichlet distribution"; for words,
Goldwater, Griffiths and Johnson 2006.
"""

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+")
_DISCOUNT = 0.55
"""Exponent by which the 17,691 real passages of the benchmarks get new words, from half of them to
all."""
_COMMON_SHARE = 0.003
"""Of the passages: a name in more of them stays as it is, such as "American" and "July"."""
_ALPHABETS = ("aeiou", "bcdfghjklmnprstvwz")


class Passages:
    """Makes passes over real passages; equal seeds give equal texts."""

    def __init__(self, real: Sequence[dict[str, str]], seed: int = 0) -> None:
        """Take real passages, each with ``title`` and ``text``."""
        self._real = real
        self._random = random.Random(seed)
        texts = [f"{one['title']}\n{one['text']}" for one in real]
        spread = Counter(word for text in texts for word in set(_WORD.findall(text)))
        most = _COMMON_SHARE * len(real)
        self._uses: dict[str, list[int]] = {
            word: [1]
            for word, count in sorted(spread.items())
            if word[0].isupper() and len(word) > 2 and max(count, spread[word.lower()]) <= most
        }
        """How many passes used each form of a name; the first form is the name itself."""

    def make(self, count: int) -> Iterator[dict[str, str]]:
        """The first ``count`` passages, each with ``id``, ``title`` and ``text``."""
        forms: dict[str, str] = {}
        for number in range(count):
            turn, place = divmod(number, len(self._real))
            if number and not place:
                forms = {name: self._form(name, uses) for name, uses in self._uses.items()}
            one = self._real[place]
            if turn:
                text = _WORD.sub(partial(_form_of, forms), f"{one['title']}\n{one['text']}")
                title, _, text = _NUMBER.sub(self._other_number, text).partition("\n")
                one = {"title": title, "text": text}
            yield {"id": f"p{number}", "title": one["title"], "text": one["text"]}

    def _form(self, name: str, uses: list[int]) -> str:
        """The form of a name in the next pass."""
        place = self._random.random() * (sum(uses) + 1 - _DISCOUNT)
        for number, times in enumerate(uses):
            place -= times - _DISCOUNT
            if place < 0:
                uses[number] += 1
                return _other_name(name, number)
        uses.append(1)
        return _other_name(name, len(uses) - 1)

    def _other_number(self, found: re.Match[str]) -> str:
        """A number as long as one that was found; of years the century stays, or is the next."""
        first, rest = found[0][:1], found[0][1:]
        if len(found[0]) == 4 and first in "12":
            return f"{self._random.randint(1700, 2024)}"
        return first + "".join(self._random.choice("0123456789") for _ in rest)


def _form_of(forms: Mapping[str, str], found: re.Match[str]) -> str:
    return forms.get(found[0], found[0])


def _other_name(name: str, number: int) -> str:
    """Form ``number`` of a name: as long, vowels for vowels, and with its last letter."""
    if not number:
        return name
    rng = random.Random(f"{name}/{number}")
    letters = [_other_letter(letter, rng) for letter in name[:-1]]
    return "".join(letters) + name[-1]


def _other_letter(letter: str, rng: random.Random) -> str:
    lower = letter.lower()
    alphabet = next((one for one in _ALPHABETS if lower in one), lower)
    other = rng.choice(alphabet)
    return other.upper() if letter.isupper() else other


def read_source(paths: Sequence[Path]) -> list[dict[str, str]]:
    """The passages of JSON lines with ``title`` and ``text``."""
    lines = (line for path in paths for line in path.read_text(encoding="utf-8").splitlines())
    return [json.loads(line) for line in lines]


def main() -> None:
    """Write passages to a file, a line of JSON each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("file", type=Path)
    parser.add_argument("--source", type=Path, nargs="+", required=True)
    arguments = parser.parse_args()
    made = Passages(read_source(arguments.source)).make(arguments.count)
    with arguments.file.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in made)


if __name__ == "__main__":
    main()
