"""Make the golden vectors: 200 varied texts encoded by sentence-transformers, or compare with them.

python -m tests.golden.make            compare this project's encoder with sentence-transformers
python -m tests.golden.make --write    and write what sentence-transformers gives
"""

import argparse
import json
import random
from pathlib import Path

import numpy as np

from memnet.encoders.minilm import MiniLMEncoder
from memnet.encoders.weights import model_folder

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parents[1] / "examples" / "saltmere"


def texts() -> list[str]:
    """200 texts: sentences, questions, passages, short words, numbers, code, scripts, oddities."""
    documents = [
        json.loads(line)
        for line in (EXAMPLES / "memory" / "documents.jsonl").read_text().splitlines()
    ]
    questions = [
        json.loads(line) for line in (EXAMPLES / "questions.jsonl").read_text().splitlines()
    ]
    odd = [
        "", " ", "a", "?", "...", "42", "3.14159", "1,000,000", "hello", "HELLO", "Hello, World!",
        "naïve café Zürich Ærø", "Straße", "東京は日本の首都です。", "Москва — столица России.",
        "القاهرة", "हिन्दी", "한국어 문장입니다.", "ไทย", "😀 🚀", "https://example.org/a?b=c#d",
        "def f(x): return x ** 2", "SELECT * FROM slot;", "<b>bold</b>", '{"a": [1, 2]}',
        "tab\tand\nnew line", "x" * 200, "word " * 120, "antidisestablishmentarianism",
        "a\u0301 combining", "\u200bzero width", "C3H8 + 5 O2 -> 3 CO2 + 4 H2O",
        "don't won't can't",
        "Mr. O'Neill-Smith Jr.", "1998-07-12T10:00:00Z", "$5.99 (15% off)", "[CLS] [SEP] [MASK]",
        "the", "of the and to", "No.",
    ]  # fmt: skip
    generator = random.Random(7)
    words = " ".join(document["text"] for document in documents).split()
    shuffled = [
        " ".join(generator.choices(words, k=generator.randint(1, 150)))
        for _ in range(200 - len(odd) - len(documents) - len(questions) // 2)
    ]
    return [
        *odd,
        *(f"{document['title']}\n{document['text']}" for document in documents),
        *(question["question"] for question in questions[::2]),
        *shuffled,
    ]


def main() -> None:
    """Compare, and write if asked."""
    from sentence_transformers import SentenceTransformer

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    inputs = texts()
    model = SentenceTransformer(str(model_folder()), device="cpu")
    longest = max(len(ids) for ids in model.tokenizer(inputs, truncation=False)["input_ids"])
    expected = model.encode(inputs, normalize_embeddings=True)
    cosine = (MiniLMEncoder(threads=2).encode(inputs) * expected).sum(axis=1)
    print(f"{len(inputs)} texts of up to {longest} tokens, lowest cosine {cosine.min():.8f}")  # noqa: T201
    if write:
        np.save(FOLDER / "vectors.npy", expected.astype(np.float32))
        (FOLDER / "texts.json").write_text(json.dumps(inputs, ensure_ascii=False, indent=0))


if __name__ == "__main__":
    main()
