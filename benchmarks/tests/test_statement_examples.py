"""Scenarios as examples for the statement network."""

import random
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from benchmarks.statements import problems, scenarios
from benchmarks.statements.examples import (
    answer_examples,
    packed_answer,
    packed_write,
    told_until,
    with_distractors,
    with_earlier_distractors,
    without_ends,
    write_examples,
)
from benchmarks.statements.format import Scenario
from benchmarks.statements.templates import plain_scenarios
from memnet.encoders.weights import load_tokenizer
from memnet.reader.spans import Packer
from memnet.statements.protocol import Label
from memnet.statements.reading import FORMS, TAGS
from memnet.statements.times import period


def _scenario(**changes: Any) -> Scenario:
    return Scenario.model_validate(
        {
            "id": "one",
            "tells": [
                {
                    "text": "My sister Clara works at Siemens, Bo at the mill",
                    "at": "2025-08-11",
                    "statements": [
                        {
                            "text": "My sister Clara works at Siemens",
                            "subject": "My sister Clara",
                            "relation": "works at",
                            "values": ["Siemens"],
                        },
                        {
                            "text": "Bo at the mill",
                            "subject": "Bo",
                            "relation": "works at",
                            "values": ["the mill"],
                        },
                    ],
                },
                {
                    "text": "Clara left Siemens",
                    "at": "2026-01-20",
                    "statements": [
                        {
                            "text": "Clara left Siemens",
                            "subject": "Clara",
                            "relation": "works at",
                            "values": ["Siemens"],
                            "polarity": "no",
                            "changes": [{"tell": 0, "statement": 0, "action": "end"}],
                        }
                    ],
                },
            ],
            "questions": [
                {
                    "question": "Where does Bo work?",
                    "type": "current",
                    "answers": ["the mill"],
                    "evidence": [0],
                    "spans": [[0, "the mill"]],
                },
                {"question": "Where does Clara work?", "type": "negated", "evidence": [1]},
                {
                    "question": "Where did Clara work?",
                    "type": "as_of",
                    "as_of": "2025-12-01",
                    "answers": ["Siemens"],
                    "evidence": [0],
                    "spans": [[0, "Siemens"]],
                },
            ],
            **changes,
        }
    )


@pytest.fixture(scope="module")
def packer() -> Packer:
    return Packer(load_tokenizer(), 384)


def test_what_ended_is_told_with_the_time_of_its_end() -> None:
    first, second = told_until(_scenario(), 2)
    assert first.title == "11 August 2025 partly until 20 January 2026"
    assert second.title == "20 January 2026"
    assert [one.title for one in told_until(_scenario(), 1)] == ["11 August 2025"]
    start, end = datetime(2026, 3, 4, tzinfo=UTC), datetime(2026, 5, 1, tzinfo=UTC)
    assert period(start, end) == "4 March 2026 until 1 May 2026"


def test_questions_become_examples_of_their_form() -> None:
    value, none, as_of = answer_examples(_scenario())
    assert (value.form, none.form, as_of.form) == ("value", "none", "value")
    assert [len(one.tells) for one in (value, none, as_of)] == [2, 2, 1]
    assert as_of.tells[0].title == "11 August 2025"
    assert none.spans == ()
    assert none.evidence == frozenset()
    [(tell, start, end)] = value.spans
    assert value.tells[tell].text[start:end] == "the mill"


def test_distractors_keep_what_is_right(packer: Packer) -> None:
    learned, held_out = scenarios()
    rng = random.Random(0)
    mixed_in = 0
    for scenario in held_out[:20]:
        for example in answer_examples(scenario):
            mixed = with_distractors(example, learned, rng)
            mixed_in += len(mixed.tells) > len(example.tells)
            kept = [one for one in mixed.tells if one in example.tells]
            assert [one.text for one in example.tells] == [
                one.text for one in kept if one.text in {own.text for own in example.tells}
            ]
            for (tell, start, end), (own, first, last) in zip(
                mixed.spans, example.spans, strict=True
            ):
                assert mixed.tells[tell].text[start:end] == example.tells[own].text[first:last]
            assert {mixed.tells[one].text for one in mixed.evidence} == {
                example.tells[one].text for one in example.evidence
            }
    assert mixed_in > 30


def test_new_texts_become_examples_of_what_they_change() -> None:
    first, second = write_examples(_scenario())
    assert (first.earlier, first.changes) == ((), ())
    assert [first.text[start:end] for start, end in first.subjects] == ["My sister Clara", "Bo"]
    assert [first.text[start:end] for start, end in first.values] == ["Siemens", "the mill"]
    assert (second.changes, second.partly) == ((Label.END,), (True,))
    assert second.negative
    assert not first.negative


def test_what_has_ended_is_not_judged_again() -> None:
    scenario = _scenario()
    tells = [one.model_dump() for one in scenario.tells]
    tells[0]["statements"] = tells[0]["statements"][:1]
    third = {**tells[1], "text": "Clara left Siemens for good"}
    third["statements"] = [{**tells[1]["statements"][0], "changes": []}]
    (*_, last) = write_examples(_scenario(tells=[*tells, third]))
    assert [one.text for one in last.earlier] == ["Clara left Siemens"]


def test_distractors_among_earlier_texts_change_nothing() -> None:
    learned, held_out = scenarios()
    rng = random.Random(0)
    for scenario in held_out[:20]:
        for example in write_examples(scenario):
            mixed = with_earlier_distractors(example, learned, rng)
            assert len(mixed.changes) == len(mixed.partly) == len(mixed.earlier)
            changed = {
                (one.text, label) for one, label in zip(mixed.earlier, mixed.changes, strict=True)
                if label
            }  # fmt: skip
            assert changed == {
                (one.text, label)
                for one, label in zip(example.earlier, example.changes, strict=True)
                if label
            }


def test_packed_texts_mark_subjects_and_values(packer: Packer) -> None:
    tokenizer = load_tokenizer()
    first, second = (packed_write(one, packer) for one in write_examples(_scenario()))
    for name, wanted in (("subject", "my sister clara bo"), ("value", "siemens the mill")):
        ids = [
            token
            for token, tag in zip(first.pack.token_ids[1:], first.right.tags, strict=False)
            if TAGS[tag].endswith(name)
        ]
        assert tokenizer.decode(ids) == wanted
    [(start, end, label, partly)] = second.right.statements
    assert (label, partly) == (Label.END, True)
    earlier = tokenizer.decode(second.pack.token_ids[start : end + 1])
    assert earlier.endswith("my sister clara works at siemens, bo at the mill")


def test_pairs_from_templates_say_what_they_change() -> None:
    pairs = plain_scenarios(300)
    assert plain_scenarios(300) == pairs
    assert [problem for one in pairs for problem in problems(one)] == []
    changes = Counter(
        change.action
        for one in pairs
        for tell in one.tells
        for change in tell.statements[0].changes
    )
    assert all(changes[action] > 5 for action in ("supersede", "correct", "end", "merge"))


def test_packed_examples_mark_the_tokens_of_what_is_right(packer: Packer) -> None:
    tokenizer = load_tokenizer()
    for example in answer_examples(_scenario()):
        packed = packed_answer(example, packer)
        assert packed is not None
        assert FORMS[packed.right.form] == example.form
        decoded = [
            tokenizer.decode(packed.pack.token_ids[first : last + 1])
            for first, last in packed.right.spans
        ]
        assert decoded == [
            example.tells[tell].text[start:end].lower() for tell, start, end in example.spans
        ]


def test_what_ended_is_told_without_its_end_in_some_examples() -> None:
    [value, *_] = answer_examples(_scenario())
    rng = random.Random(0)
    titles = {without_ends(value, rng).tells[0].title for _ in range(50)}
    assert titles == {"11 August 2025", "11 August 2025 partly until 20 January 2026"}
