"""Changed files of each format through the process of the loaders: nothing hangs or breaks it."""

import tempfile
import time
import warnings
from pathlib import Path
from random import Random

from benchmarks.hostile_files import hostile_file
from memnet.errors import InputError, Problem
from memnet.loaders.formats import find_format
from memnet.loaders.process import LoaderProcess
from memnet.loaders.reading import FileToLoad, LoadLimits
from tests.unit.loaders.pdf_reading import book
from tests.unit.loaders.pdf_writer import write_pdf

_LIMITS = LoadLimits(64 << 20, 25_000_000, 1000, memory=2 << 30, seconds=10)
_BROKEN = ("crashes its parser", "made the system end", "ends the process", "invalid data")
_EXAMPLES = Path(__file__).parents[1] / "examples"
_TEXTS = {
    "note.mdx": "---\ntags: [a]\n---\n# T\n\n> [!note] Mind\n> *b*\n\n- [ ] [[c|d]]\n\n"
    "e[^1] $f$\n\n[^1]: g\n\nterm\n: h\n\n<Tabs a='i'>\n\n| j | k |\n|---|---|\n| l | m |\n",
    "talk.srt": "1\n00:00:01,000 --> 00:00:03,000\n<i>The lamp</i>\n\n2\n00:00:04,000 --> "
    "00:00:05,000\nBEN: Not I.\n",
    "days.ics": "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;TZID=Europe/Rome:20260503T140000\n"
    "RRULE:FREQ=WEEKLY;BYDAY=MO\nSUMMARY:Tide\\, high\nDESCRIPTION:a\n b\nEND:VEVENT\n"
    "END:VCALENDAR\n",
    "ann.vcf": 'BEGIN:VCARD\nFN:Ann\nTEL;TYPE="cell,work":1\nADR:;;1 Quay;Orre;;;\nEND:VCARD\n',
    "mail.eml": "From: Ann <a@b.c>\nSubject: =?utf-8?q?L=C3=A9a?=\nMIME-Version: 1.0\n"
    "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nHi.\n\n"
    "On 1/3/24 Ben wrote:\n> See you.\n\n-- \nAnn\n--b\nContent-Type: text/csv; name=a.csv\n\na,b\n"
    "1,2\n--b--\n",
    "slack.json": '[{"type": "message", "ts": "1709300000.1", "user": "U1", "text": "<@U1> hi"}]',
    "chat.txt": "12/03/2024, 14:05 - Ann: See you at 5\n12/03/2024, 14:06 - Ben: Fine\n" * 3,
    "code.rs": "/// Lamps.\nfn light() {\n\n}\n",
    "lamps.xml": "<a><title>b</title><c d='1'><e>f</e></c><c d='2'><e>g</e></c>"
    "<p>h <i>j</i></p></a>",
    "lamps.toml": "# All.\n[red]\noil = 3\n",
}


def samples() -> dict[str, dict[str, bytes]]:
    """Contents of files by their names, by format."""
    paths = [path for path in _EXAMPLES.rglob("*") if path.is_file()]
    # But for pictures, each of which takes seconds.
    files = {str(path): path.read_bytes() for path in paths if path.parent.name != "scans"}
    files |= {name: text.encode() for name, text in _TEXTS.items()}
    files["book.pdf"] = write_pdf(book(3), outline=[("The Tides", 0, 0)])
    found: dict[str, dict[str, bytes]] = {}
    for name, data in sorted(files.items()):
        known = find_format(name, data[:4096])
        if known is not None and len(data) < 200_000:
            found.setdefault(known.name, {})[name] = data
    return found


def assert_survives(format_name: str, files: dict[str, bytes], count: int) -> None:
    """Read so many changed files of a format; each ends in time, with documents or problems."""
    contents = list(files.values())
    with LoaderProcess(_LIMITS) as loaders, tempfile.TemporaryDirectory() as folder:
        for seed in range(count):
            random = Random(seed)
            path = Path(folder, f"input{Path(random.choice(list(files))).suffix}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of duplicate names in packages
                path.write_bytes(hostile_file(random, contents))
            started = time.perf_counter()
            try:
                items = list(loaders.load(FileToLoad(str(path), "input", format_name)))
            except InputError as error:
                raise AssertionError(f"seed {seed}: an error, not a problem") from error
            assert time.perf_counter() - started < 2 * _LIMITS.seconds + 5, f"seed {seed}"
            for item in items:
                if isinstance(item, Problem):
                    assert "\n" not in str(item), f"seed {seed}"
                    assert not any(mark in item.what for mark in _BROKEN), f"seed {seed}: {item}"
