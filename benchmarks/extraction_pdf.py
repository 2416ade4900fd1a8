"""Words and places that the PDF loader gives, against those of pdftotext (poppler-utils).

    python -m benchmarks.extraction_pdf FOLDER --limit 200 --worst 20

Words are compared as multisets, in lower case and without hyphens, as both readers join words at
the ends of lines by rules of their own. Lines that pdftotext gives at the top or the bottom of
three pages or more count for nothing: the loader leaves running headers out. Letters of scripts
without spaces count as words.

The place of a block is right if pdftotext finds its words on the pages that the place names.
"""

import argparse
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from memnet.errors import InputError
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import SourceFile
from memnet.loaders.pdf import load

PDFTOTEXT = shutil.which("pdftotext") or "pdftotext"
LEAST = 100
"""Words of a file that is compared."""
MOST_PAGES = 400
EDGE = 3
"""Lines at the top and the bottom of a page that may be a running header."""
FOUND = 0.9
"""Share of a block's words that must stand on its pages."""
_HYPHEN = re.compile("[-\u00ad\u2010\u2011]\\s*")
_NO_SPACES = re.compile("[\u0e00-\u0eff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\W*(?:\d+|[ivxlc]+)\W*")
_DIGITS = re.compile(r"\d+")
_PLACE = re.compile(r"pp?\. (?P<labels>.*?)(?: \((?P<numbers>[\d-]+)\))?")


def words(text: str) -> Counter[str]:
    """The words of a text, with their numbers."""
    text = _HYPHEN.sub("", unicodedata.normalize("NFKC", text).casefold())
    return Counter(_WORD.findall(_NO_SPACES.sub(lambda found: f" {found[0]} ", text)))


def reference_pages(path: Path) -> list[str]:
    """The text of each page by pdftotext."""
    ran = subprocess.run(
        [PDFTOTEXT, "-enc", "UTF-8", str(path), "-"],
        capture_output=True,
        check=False,
        timeout=120,
    )
    return ran.stdout.decode("utf-8", "replace").split("\f")[:-1]


def without_running_headers(pages: Sequence[str]) -> str:
    """The text of pages without the lines that many begin or end with."""
    split = [[line.strip() for line in page.split("\n") if line.strip()] for page in pages]
    seen = Counter(
        key for lines in split for key in {_masked(line) for line in lines[:EDGE] + lines[-EDGE:]}
    )
    kept: list[str] = []
    for lines in split:
        for number, line in enumerate(lines):
            outer = min(number, len(lines) - 1 - number)
            repeated = outer < EDGE and seen[_masked(line)] >= 3
            if not repeated and not (outer == 0 and _NUMBER.fullmatch(line)):
                kept.append(line)
    return "\n".join(kept)


def _masked(line: str) -> str:
    return _DIGITS.sub("#", line)


def word_f1(found: Counter[str], expected: Counter[str]) -> float:
    """F1 of two multisets of words."""
    return 2 * (found & expected).total() / max(1, found.total() + expected.total())


def read(path: Path) -> ParsedDocument | None:
    """What the loader gives of a file; None if it refuses it."""
    try:
        for found in load(SourceFile(str(path), path.read_bytes())):
            if isinstance(found, ParsedDocument):
                return found
    except InputError:
        pass
    return None


def wrong_places(
    document: ParsedDocument, pages: Sequence[str], drawn: int
) -> tuple[int, list[str]]:
    """How many blocks were drawn at random, and those that do not stand where they say."""
    blocks = [block for block in document.blocks if block.end - block.start > 60]
    sample = random.Random(0).sample(blocks, min(drawn, len(blocks)))
    wrong = []
    for block in sample:
        place = _PLACE.fullmatch(block.place)
        numbers = (place["numbers"] or place["labels"]).split("-") if place else []
        text = document.text[block.start : block.end]
        own = words(text)
        on = [words(pages[number - 1]) for number in range(int(numbers[0]), int(numbers[-1]) + 1)]
        found = (own & sum(on, Counter[str]())).total() / max(1, own.total())
        if found < FOUND or not all((own & page).total() for page in (on[0], on[-1])):
            wrong.append(f"{block.place}, {found:.2f} of its words: {text[:60]!r}")
    return len(sample), wrong


def main() -> None:
    """Compare the files of a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--limit", type=int, default=200, help="files, drawn at random")
    parser.add_argument("--places", type=int, default=2, help="blocks of each file")
    parser.add_argument("--worst", type=int, default=10, help="files to name")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    files = sorted(path for folder in arguments.folders for path in folder.rglob("*.pdf"))
    random.Random(arguments.seed).shuffle(files)
    scores: list[tuple[float, float, Path]] = []
    refused = drawn = characters = 0
    seconds = 0.0
    wrong: list[str] = []
    for path in files:
        if len(scores) == arguments.limit:
            break
        try:
            pages = reference_pages(path)
        except subprocess.TimeoutExpired:
            continue
        all_words = words("\n".join(pages))
        if all_words.total() < LEAST or len(pages) > MOST_PAGES:
            continue
        start = time.perf_counter()
        document = read(path)
        seconds += time.perf_counter() - start
        if document is None:
            refused += 1
            scores.append((0.0, 0.0, path))
            continue
        characters += document.size()
        own = words(document.text)
        f1 = word_f1(own, words(without_running_headers(pages)))
        scores.append((f1, word_f1(own, all_words), path))
        number, misplaced = wrong_places(document, pages, arguments.places)
        drawn += number
        wrong += [f"{path}: {block}" for block in misplaced]
    if not scores:
        sys.exit("no file has enough words")
    values = [score for score, _, _ in scores]
    print(f"files {len(values)}, refused {refused}")
    print(f"word F1: mean {statistics.fmean(values):.4f}, median {statistics.median(values):.4f}")
    print(f"with running headers: mean {statistics.fmean(score for _, score, _ in scores):.4f}")
    print(f"at least 0.99: {sum(value >= 0.99 for value in values) / len(values):.1%}")
    print(f"places: {drawn} blocks, {len(wrong)} where not all words were found")
    print(f"{1e6 * seconds / max(1, characters):.2f} ms for 1,000 characters")
    print(*wrong, sep="\n")
    for score, _, path in sorted(scores)[: arguments.worst]:
        print(f"{score:.3f} {path}")


if __name__ == "__main__":
    main()
