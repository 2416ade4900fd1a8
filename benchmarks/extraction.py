"""Words that loaders give, against those that another reader of the same format gives.

    python -m benchmarks.extraction docx FOLDER --limit 200 --worst 20

The readers for comparison (python-docx, python-pptx, openpyxl, odfpy, ...) go into an environment
of their own together with what the loader needs. A file that one of both refuses is counted.
"""

import argparse
import random
import re
import signal
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path

from memnet.errors import InputError
from memnet.loaders.document import ParsedDocument
from memnet.loaders.formats import FORMATS, Format, SourceFile

PATIENCE = 10
"""Seconds that the other reader may take for a file."""
WORD = re.compile(r"\w+")


def word_f1(found: str, expected: str) -> float:
    """F1 of the words of two texts, as multisets."""
    ours, theirs = Counter(WORD.findall(found)), Counter(WORD.findall(expected))
    if not ours and not theirs:
        return 1.0
    return 2 * (ours & theirs).total() / (ours.total() + theirs.total())


def word_recall(found: str, expected: str) -> float:
    """Share of the expected words that were found."""
    ours, theirs = Counter(WORD.findall(found)), Counter(WORD.findall(expected))
    return (ours & theirs).total() / max(theirs.total(), 1)


def _texts(document: ParsedDocument) -> Iterator[str]:
    """Texts of all blocks; the names of columns, which each row repeats, once."""
    names: dict[str, None] = {}
    for block in document.blocks:
        labels = [
            cell.header
            for cell in block.cells
            if cell.header and document.text[block.start : cell.start].endswith(f"{cell.header}: ")
        ]
        if labels:
            names.update(dict.fromkeys(labels))
            yield from (document.text[cell.start : cell.end] for cell in block.cells)
        else:
            yield document.text[block.start : block.end]
    yield from names


def read(file_format: Format, path: Path) -> tuple[str, int]:
    """All text that the loader gives of a file, and the number of problems."""
    texts: list[str] = []
    problems = 0
    for item in file_format.loader()(SourceFile(str(path), path.read_bytes())):
        if isinstance(item, ParsedDocument):
            texts += _texts(item)
        else:
            problems += 1
    return "\n".join(texts), problems


REFERENCES: Mapping[str, tuple[str, str]] = {
    "docx": ("benchmarks.extraction_office", "docx"),
    "pptx": ("benchmarks.extraction_office", "pptx"),
    "sheets": ("benchmarks.extraction_office", "sheets"),
    "opendocument": ("benchmarks.extraction_office", "opendocument"),
}
"""Module and function that gives the text of a file, by the name of its format."""


def out_of_patience(*_: object) -> None:
    """End what the other reader does."""
    raise TimeoutError


def main() -> None:
    """Compare the files of a folder, and print the mean and the worst."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("format", choices=sorted(REFERENCES))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=200, help="files, drawn at random")
    parser.add_argument("--worst", type=int, default=10, help="files to name")
    parser.add_argument("--shortest", type=int, default=20, help="words of the reference")
    arguments = parser.parse_args()
    file_format = next(known for known in FORMATS if known.name == arguments.format)
    module, function = REFERENCES[arguments.format]
    reference: Callable[[Path], str] = getattr(import_module(module), function)
    files = sorted(
        path
        for path in arguments.folder.rglob("*")
        if path.suffix.lower() in file_format.suffixes and path.is_file()
    )
    random.Random(0).shuffle(files)
    signal.signal(signal.SIGALRM, out_of_patience)
    scores: list[tuple[float, Path]] = []
    recalls: list[float] = []
    refused: Counter[str] = Counter()
    ours = theirs = 0.0
    for path in files:
        if len(scores) == arguments.limit:
            break
        start = time.perf_counter()
        try:
            signal.alarm(PATIENCE)
            expected = reference(path)
            signal.alarm(0)
        except Exception:  # of whatever kind: it is another's library
            refused["the other reader"] += 1
            continue
        middle = time.perf_counter()
        if len(WORD.findall(expected)) < arguments.shortest:
            refused["fewer words"] += 1
            continue
        try:
            text, _ = read(file_format, path)
        except InputError as error:
            refused[f"the loader: {error}"] += 1
            text = ""
        theirs += middle - start
        ours += time.perf_counter() - middle
        recalls.append(word_recall(text, expected))
        scores.append((word_f1(text, expected), path))
    values = sorted(score for score, _ in scores)
    if not values:
        parser.error("no file could be compared")
    print(
        f"files {len(values)}  mean F1 {statistics.fmean(values):.4f}  "
        f"median {statistics.median(values):.4f}"
    )
    print(f"mean share of its words {statistics.fmean(recalls):.4f}")
    print(f"at least 0.99: {sum(value >= 0.99 for value in values) / len(values):.1%}")
    print(f"seconds: loader {ours:.2f}, other reader {theirs:.2f}")
    for reason, count in refused.most_common(12):
        print(f"not compared or empty: {count} x {reason[:150]}")
    for score, path in sorted(scores)[: arguments.worst]:
        print(f"{score:.3f} {path}")


if __name__ == "__main__":
    main()
