"""Make the questions that a training of the search is measured on where the user has none.

    python -m benchmarks.questions.make_shipped

Of collections in the public domain: each passage is a document, with the questions that it answers.
"""

import gzip
import json
from collections import defaultdict

from benchmarks.questions import collapsed, read_questions
from memnet.documents.training.train import FILE

COLLECTIONS = ("clef-handbook", "plainlanguage", "va-benefits")


def main() -> None:
    """Write the file."""
    asked = [one for one in read_questions() if one["collection"] in COLLECTIONS]
    documents = dict.fromkeys(one["passage"] for one in asked)
    ids = {text: f"{number}" for number, text in enumerate(documents)}
    texts = {text: collapsed(text) for text in documents}
    questions = defaultdict(list)
    for one in asked:
        quotes = [collapsed(piece["quote"]) for piece in one["evidence"]]
        if one["type"] not in ("unanswerable", "multi") and len(quotes) == 1:
            gold = [ids[text] for text, plain in texts.items() if quotes[0] in plain]
            questions[one["passage"]].append({"question": one["question"], "gold": gold})
    FILE.parent.mkdir(exist_ok=True)
    lines = [
        json.dumps({"id": ids[text], "text": text, "questions": questions[text]})
        for text in documents
    ]
    FILE.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    print(len(lines), "documents,", sum(map(len, questions.values())), "questions")


if __name__ == "__main__":
    main()
