"""The process that reads files with their loaders, within limits; ``process`` starts it.

Requests come as messages on standard input, and go on until it ends. An answer is a message for
each document, each problem and the start of each file in an archive, and one for the end.
"""

import os
import signal
from typing import BinaryIO

from memnet.errors import Problem
from memnet.loaders.limits import limit_process, limit_time
from memnet.loaders.messages import (
    TooLargeError,
    item_message,
    parse_message,
    read_message,
    write_message,
)
from memnet.loaders.reading import FileToLoad, LoadLimits, load_documents
from memnet.runtime.process import collect_seldom, own_streams


def main() -> None:
    """Answer requests until there are no more."""
    collect_seldom()  # documents are many small parts without cycles
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    requests, answers = own_streams()
    while (data := read_message(requests)) is not None:
        (path, *names), limits, skipped = parse_message(data)
        file = FileToLoad(os.fsdecode(path.encode("latin-1")), *names)
        if not _answer(file, LoadLimits(*limits), skipped, answers):
            return  # after a want of memory nothing is sure to work


def _answer(file: FileToLoad, limits: LoadLimits, skipped: int, answers: BinaryIO) -> bool:
    """Read a file without the first so many within it; False where it took too much memory."""
    within = 0

    def begin(name: str) -> bool:
        nonlocal within
        within += 1
        if within <= skipped:
            return False
        write_message(answers, ["begin", name])
        limit_time(limits.seconds)
        return True

    limit_process(limits.memory, limits.seconds)
    try:
        for item in load_documents(file, limits, begin):
            try:
                write_message(answers, item_message(item))
            except TooLargeError:
                what = "holds a document with too many parts; split it"
                write_message(answers, item_message(Problem(file.name, what)))
            limit_time(limits.seconds)
    except MemoryError:
        write_message(answers, ["memory"])
        return False
    write_message(answers, ["end"])
    return True
