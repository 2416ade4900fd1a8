"""Sets whose questions come with the passage that answers."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.reader_data.files import Example, lines
from benchmarks.reader_data.held_out import Part, part_of
from memnet.text.english import units

MAX_ANSWERS = 6
"""Wordings of one answer that are kept."""
_SENTENCE_SHARE = 0.5
"""Of what was drawn from SQuAD, of the parts whose passages are single sentences."""


class ReadingSet(NamedTuple):
    """A set of questions with passages."""

    name: str
    share: float
    """Of its questions that are used, 0..1."""
    why: str
    """Why it is used, and so much of it."""


SETS = (
    ReadingSet("squad_train_parts", 1, "careful questions of all kinds about Wikipedia"),
    ReadingSet("squadshifts_wiki", 1, "the same about newer pages; a part chooses the weights"),
    ReadingSet("squadshifts_reddit", 0.3, "informal text, often with vague references"),
    ReadingSet("squadshifts_amazon", 0.3, "informal text, often with vague references"),
    ReadingSet("quoref_ni", 1, "answers by coreference"),
    ReadingSet("contrast_sets", 0.7, "near-copies with another answer; many from few passages"),
    ReadingSet("qed_nq", 1, "questions that people typed into a search engine"),
    ReadingSet("fairytaleqa", 1, "stories; reasons, feelings and outcomes"),
    ReadingSet("narrativeqa_sum", 1, "plots, in words other than the question's"),
    ReadingSet("timeqa", 1, "what held at a time"),
    ReadingSet("covidqa", 1, "long answers from research papers"),
    ReadingSet("bioasq", 1, "questions of specialists"),
    ReadingSet("tatqa", 1, "reports of companies"),
    ReadingSet("sleepqa", 1, "health pages, long answers"),
    ReadingSet("friendsqa", 0.5, "dialogue; its questions are clumsy"),
    ReadingSet("molweni", 0.5, "chats; its questions are clumsy, some without an answer"),
    ReadingSet("tweetqa", 0.3, "short informal texts, lower case"),
    ReadingSet("qamr", 0.1, "single sentences, 33 questions on each"),
    ReadingSet("qadiscourse", 0.15, "reasons, conditions and results; from templates"),
    ReadingSet("qasrl_gs", 0.05, "templates about single sentences"),
    ReadingSet("qasrl_bank", 0.05, "templates about single sentences"),
    ReadingSet("relations_redocred", 0.3, "relations of names; from templates"),
    ReadingSet("unanswerable_mined", 0.75, "passages that are like the right one and don't answer"),
)
"""Files of ``reader_more``."""
OWN_FOLDERS = (
    ReadingSet("nq_oracle", 1, "questions that people typed into a search engine"),
    ReadingSet("drop_spans", 1, "descriptions of games and of censuses with many numbers"),
    ReadingSet("popqa", 1, "relations of names"),
)
"""Each a folder with a file ``train.jsonl``."""


def passage_examples(data: Path, seed: int) -> Iterator[tuple[Part, Example]]:
    """Examples of all sets, each with the part that it belongs to.

    Args:
        data: folder with ``reader_more``, ``squad``, and those of ``OWN_FOLDERS``.
        seed: of what is drawn from a set.
    """
    for one in SETS:
        for row in _drawn(data / "reader_more" / f"{one.name}.jsonl.gz", one, seed):
            sentence = row.get("part", "").startswith("sentence")
            source = row["source"].split("-")[0] if one.name == "unanswerable_mined" else one.name
            example = _example(row, one.name)
            if sentence:  # of paragraphs that other parts may hold
                yield "train", {**example, "sentence": True}
            else:
                yield part_of(source, row["text"]), example
    yield from _squad(data / "squad")
    for one in OWN_FOLDERS:
        for row in _drawn(data / one.name / "train.jsonl", one, seed):
            yield part_of(one.name, row["question"]), _example(row, one.name)


def passage(row: dict[str, Any]) -> dict[str, str]:
    """Title and text, the title in words."""
    return {"title": (row.get("title") or "").replace("_", " "), "text": row["text"]}


def _drawn(path: Path, one: ReadingSet, seed: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(f"{seed}:{one.name}")
    for row in lines(path):
        sentence = row.get("part", "").startswith("sentence")
        share = one.share * (_SENTENCE_SHARE if sentence else 1)
        if chance.random() < share:
            yield row


def _squad(folder: Path) -> Iterator[tuple[Part, Example]]:
    paragraphs = {one["id"]: one for one in lines(folder / "corpus.jsonl")}
    for row in lines(folder / "train.jsonl"):
        paragraph = row["gold"][0]
        asked = {**paragraphs[paragraph], **row}
        if not row["answerable"]:
            asked["answers"] = []
        yield part_of("squad", paragraph), _example(asked, "squad")


def _example(row: dict[str, Any], name: str) -> Example:
    answers = [one for one in row["answers"] if one.strip()][:MAX_ANSWERS]
    example = {"question": row["question"], "answers": answers, "passages": [passage(row)]}
    start = row.get("answer_start")
    if answers and start is not None:
        example["quotes"] = _unit_at(row["text"], start)
    return {**example, "set": name}


def _unit_at(text: str, start: int) -> list[str]:
    """The unit of a text that holds a character."""
    return [text[one.start : one.end] for one in units(text) if one.start <= start < one.end]
