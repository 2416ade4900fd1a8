"""Question sets as the examples that ``memnet train reader`` learns from.

    python -m benchmarks.prepare_reader --data DIR --out OUT
    memnet train reader --train OUT/train.jsonl --dev OUT/dev.jsonl --made 10000 --store STORE
        --bfloat16 --out READER
    memnet train confidence --train OUT/held_out.jsonl --store STORE --reader READER --out READER

DIR holds ``squad`` (corpus, train), ``nq_oracle``, ``drop_spans``, ``popqa`` and
``multihop_train``. About a twelfth of the questions, and all questions about a tenth of SQuAD's
paragraphs, are held out for confidence; the latter also choose the best weights. Multi-hop
questions are few and are seen three times as often as others; of DROP's, most of which count, 1,000
are used. What a knowledge triple says about a multi-hop question's passage becomes a question of
its own.
"""

import argparse
import json
import random
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_ONE_IN = {"squad": 10, "nq_oracle": 12, "popqa": 12, "hotpot": 8, "musique": 8, "2wiki": 8}
"""Of so many questions one is held out."""
_MULTI_HOP = ("hotpot", "musique", "2wiki")
_SEEN = 3
_DROP = 1000
_SINGLE = {"squad": 170, "nq_oracle": 150, "popqa": 80}
"""Questions that teach a controller of hops when one passage is enough."""
_TEMPLATES = {
    "director": "Who directed {}?",
    "performer": "Who performed {}?",
    "composer": "Who composed the music of {}?",
    "date of birth": "When was {} born?",
    "date of death": "When did {} die?",
    "place of birth": "Where was {} born?",
    "place of death": "Where did {} die?",
    "cause of death": "Why did {} die?",
    "place of burial": "Where was {} buried?",
    "country of citizenship": "What is the nationality of {}?",
    "country of origin": "What country is {} from?",
    "country": "Which country is {} located in?",
    "publication date": "When was {} released?",
    "inception": "When was {} founded?",
    "spouse": "Who is the spouse of {}?",
    "father": "Who is the father of {}?",
    "mother": "Who is the mother of {}?",
    "award received": "What award did {} receive?",
    "educated at": "Where did {} study?",
    "occupation": "What is the occupation of {}?",
    "employer": "Where does {} work?",
}


def main() -> None:
    """Write examples and held-out questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chance = random.Random(0)
    held_out: list[dict[str, Any]] = []
    dev: list[dict[str, Any]] = []
    train = [
        *_squad(options.data / "squad", held_out, dev, chance),
        *_with_passage(options.data, held_out, chance),
        *(
            example
            for example in _multi_hop(options.data, held_out)
            for _ in range(1 if example.pop("once", False) else _SEEN)
        ),
    ]
    _write(options.out / "train.jsonl", train)
    documents, single = _single(options.data, held_out)
    _write(options.out / "documents.jsonl", documents)
    _write(options.out / "single.jsonl", single)
    _write(options.out / "dev.jsonl", dev)
    _write(options.out / "held_out.jsonl", held_out)


def _held_out(name: str, key: str) -> bool:
    return name in _ONE_IN and zlib.crc32(f"{name}:{key}".encode()) % _ONE_IN[name] == 0


def _squad(
    folder: Path,
    held_out: list[dict[str, Any]],
    dev: list[dict[str, Any]],
    chance: random.Random,
) -> Iterator[dict[str, Any]]:
    paragraphs = {one["id"]: one for one in _lines(folder / "corpus.jsonl")}
    for asked in _lines(folder / "train.jsonl"):
        answers = asked["answers"] if asked["answerable"] else []
        paragraph = paragraphs[asked["gold"][0]]
        others = [
            _passage(one)
            for one in paragraphs.values()
            if one["title"] == paragraph["title"] and one["id"] != paragraph["id"]
        ]
        example = {
            "question": asked["question"],
            "answers": answers,
            "passages": [_passage(paragraph)],
            "others": chance.sample(others, min(3, len(others))),
        }
        if _held_out("squad", asked["gold"][0]):
            held_out.append({"question": asked["question"], "answers": answers})
            dev.append(example)
        else:
            yield example


def _with_passage(
    data: Path, held_out: list[dict[str, Any]], chance: random.Random
) -> Iterator[dict[str, Any]]:
    """Sets whose questions come with the passage that holds the answer."""
    for name in ("nq_oracle", "drop_spans", "popqa"):
        asked = list(_lines(data / name / "train.jsonl"))
        if name == "drop_spans":
            asked = chance.sample(asked, _DROP)
        for one in asked:
            if _held_out(name, one["question"]):
                held_out.append({"question": one["question"], "answers": one["answers"]})
                continue
            others = [] if name == "drop_spans" else chance.sample(asked, 2)
            yield {
                "question": one["question"],
                "answers": one["answers"],
                "passages": [_passage(one)],
                "others": [_passage(other) for other in others],
            }


def _single(
    data: Path, held_out: list[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Passages as documents, and some questions with the id of the one that answers each."""
    chance = random.Random(0)
    left_out = {one["question"] for one in held_out}
    ids: dict[tuple[str, str], str] = {}
    chosen: list[dict[str, Any]] = []
    paragraphs = {one["id"]: one for one in _lines(data / "squad" / "corpus.jsonl")}
    for name, number in _SINGLE.items():
        asked = [one for one in _lines(data / name / "train.jsonl") if one.get("answerable", True)]
        usable = [one for one in asked if one["question"] not in left_out]
        taken = {one["question"] for one in chance.sample(usable, number)}
        for one in asked:
            passage = _passage(paragraphs[one["gold"][0]] if name == "squad" else one)
            place = (passage["title"], passage["text"])
            source = ids.setdefault(place, f"{name}-{len(ids)}")
            if one["question"] in taken:
                chosen.append({**one, "gold": [source]})
    documents = [
        {"id": source, "title": title, "text": text} for (title, text), source in ids.items()
    ]
    return documents, chosen


def _multi_hop(data: Path, held_out: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for name in _MULTI_HOP:
        for asked in _lines(data / "multihop_train" / f"{name}.jsonl"):
            if _held_out(name, asked["question"]):
                held_out.append({"question": asked["question"], "answers": asked["answers"]})
                continue
            right = [
                one
                for one in asked["passages"]
                if one.get("supporting", one["title"] in asked["supporting"])
            ]
            others = [one for one in asked["passages"] if one not in right]
            yield {
                "question": asked["question"],
                "answers": asked["answers"],
                "passages": [_passage(one) for one in right],
                "others": [
                    _passage(one) for one in others if not _holds(one["text"], asked["answers"])
                ],
            }
            yield from _of_triples(asked.get("triples") or [], right)


def _of_triples(
    triples: Iterable[list[str]], right: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    for subject, relation, value in triples:
        for passage in right:
            about = subject.lower() in passage["title"].lower()
            if about and relation in _TEMPLATES and _holds(passage["text"], [value]):
                yield {
                    "question": _TEMPLATES[relation].format(subject),
                    "answers": [value],
                    "passages": [_passage(passage)],
                    "once": True,
                }
                break


def _holds(text: str, answers: Iterable[str]) -> bool:
    return any(
        re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) for answer in answers
    )


def _passage(one: dict[str, Any]) -> dict[str, str]:
    return {"title": one.get("title", "").replace("_", " "), "text": one["text"]}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def _write(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
