"""Questions for all of something over five mixed stores, and questions that look alike.

    python -m benchmarks.exact_questions

``questions.jsonl`` has 120 of the first kind with their exact answers (a list, a count or a
name), and 80 of the second (null), which passages answer. Half of each, "first" and "third", was
looked at while the rules were written. A list is right if it is the whole one and nothing else.
"""

import json
import re
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.environment import environment
from memnet import Answer, Engine

_HERE = Path(__file__).parent
_RESULT = _HERE.parent / "results" / "exact_questions.json"
_COUNTED = re.compile(r"\d+ of \d+ ")  # What an answer from all rows begins with


def main() -> None:
    """Ask all questions, print those that went wrong, and write the counts."""
    lines = (_HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    counts = {part: Counter[str]() for part in ("first", "second", "third", "fourth")}
    for store in sorted({one["store"] for one in questions}):
        with (
            tempfile.TemporaryDirectory() as scratch,
            Engine.open(scratch, create=True) as memory,
        ):
            memory.ingest(_HERE / "stores" / store)
            for asked in (one for one in questions if one["store"] == store):
                answer = memory.ask(asked["question"])
                kind = _kind(asked["exact"], answer)
                counts[asked["part"]][kind] += 1
                if kind in ("wrong", "taken"):
                    print(f"{kind}: {asked['question']} {answer.short}")
    results = {"environment": environment(["onnxruntime"]), "parts": counts}
    _RESULT.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def _kind(exact: list[str] | str | int | None, answer: Answer) -> str:
    if exact is None:
        return "taken" if _COUNTED.match(answer.answer or "") else "left"
    if isinstance(exact, list):
        names = [one.text for one in answer.candidates], (answer.short or "").split(", ")
        right = sorted(exact) in map(sorted, names)
    else:
        right = answer.short == str(exact)
    return "right" if right and answer.shown == "answer" else "wrong"


if __name__ == "__main__":
    main()
