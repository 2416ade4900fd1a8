"""The statement network: its examples, and what is read from its scores on two runtimes."""

import random
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.statements import problems, scenarios
from benchmarks.statements.templates import plain_scenarios
from memnet.checkpoints import SHIPPED
from memnet.encoders.onnx_model import onnx_precision
from memnet.encoders.weights import checked_folder, load_tokenizer
from memnet.reader.spans import Pack, Packer, Passage
from memnet.statements.heads import FORMS, HEADS, TAGS, StatementScores, split_scores
from memnet.statements.loading import LazyStatementReader, load_statement_reader
from memnet.statements.protocol import Label
from memnet.statements.reading import StatementReader
from memnet.statements.times import period
from memnet.statements.training.examples import (
    answer_examples,
    packed_answer,
    packed_write,
    told_until,
    with_distractors,
    with_earlier_distractors,
    without_ends,
    write_examples,
)
from memnet.statements.training.scenarios import Scenario


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
    return Packer(load_tokenizer(checked_folder()), 384)


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
    tokenizer = load_tokenizer(checked_folder())
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
    tokenizer = load_tokenizer(checked_folder())
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


def test_scores_are_split_by_their_meaning() -> None:
    tokens = np.arange(HEADS["pointers"], dtype=np.float32)[None, None].repeat(3, 1)
    text = np.arange(HEADS["kinds"], dtype=np.float32)[None]
    scores = split_scores(tokens, text)
    assert scores.ends[0, 2].tolist() == [0, 1]
    assert scores.relevance[0].tolist() == [2, 2, 2]
    assert scores.items[0, 1].tolist() == [3, 4, 5]
    assert scores.tags[0, 0].tolist() == list(range(6, 11))
    assert scores.changes[0, 0].tolist() == list(range(11, 17))
    assert scores.partly[0].tolist() == [17, 17, 17]
    assert scores.form[0].tolist() == list(range(7))
    assert scores.number[0].tolist() == list(range(7, 20))
    assert scores.negative.tolist() == [20]
    assert scores.certainty[0].tolist() == list(range(21, 25))


def test_what_ended_is_told_without_its_end_in_some_examples() -> None:
    [value, *_] = answer_examples(_scenario())
    rng = random.Random(0)
    titles = {without_ends(value, rng).tells[0].title for _ in range(50)}
    assert titles == {"11 August 2025", "11 August 2025 partly until 20 January 2026"}


@pytest.mark.skipif(onnx_precision(None, "cpu") is None, reason="ONNX Runtime is not installed")
def test_both_runtimes_read_alike() -> None:
    folder = SHIPPED / "statements"
    readers = [
        load_statement_reader(folder, precision=precision)
        for precision in (None, onnx_precision(None, "cpu"))
    ]
    same = total = 0
    for scenario in scenarios()[1][:6]:
        for example in answer_examples(scenario):
            exact, eight_bits = (one.answer(example.question, example.tells) for one in readers)
            assert exact is not None
            assert eight_bits is not None
            assert sum(exact.forms.values()) == pytest.approx(1, abs=1e-3)
            total += 1
            same += exact.form == eight_bits.form and (
                [one[:3] for one in exact.pieces[:1]] == [one[:3] for one in eight_bits.pieces[:1]]
            )
    assert same / total > 0.85


def test_a_question_without_statements_is_not_read(packer: Packer) -> None:
    reader = LazyStatementReader().load()
    assert reader is not None
    assert reader.answer("Where does Ann live?", []) is None
    passages = [Passage("4 March 2026", "one " * 500), Passage("5 March 2026", "two")]
    assert reader.fitting("Where?", passages) == 1
    assert reader.fitting("Where?", passages[1:] * 3) == 3


def _pack(packer: Packer) -> Pack:
    (pack,) = packer.packs("Who?", [Passage("", "Ann and Bo"), Passage("", "Cy came")])
    return pack


def _scores(pack: Pack, **given: NDArray[np.float32]) -> StatementScores:
    length = len(pack.token_ids)
    zeros = split_scores(
        np.zeros((1, length, HEADS["pointers"]), np.float32),
        np.zeros((1, HEADS["kinds"]), np.float32),
    )
    return zeros._replace(**given)


def test_spans_and_items_are_read_from_their_tokens(packer: Packer) -> None:
    pack = _pack(packer)
    place = {one: token for token, one in enumerate(pack.offsets) if one is not None}
    ann, bo, cy = (place[one] for one in ((0, 0, 3), (0, 8, 10), (1, 0, 2)))
    ends, items = np.zeros((1, len(pack.token_ids), 2)), np.zeros((1, len(pack.token_ids), 3))
    ends[0, bo] = 9
    ends[0, 0] = 99  # no token of a statement
    items[0, :, 0] = 1
    items[0, [ann, bo, cy], 1] = 5
    scores = _scores(pack, ends=ends.astype(np.float32), items=items.astype(np.float32))
    reading = StatementReader(lambda _: scores, packer).answer(
        "Who?", [Passage("", "Ann and Bo"), Passage("", "Cy came")]
    )
    assert reading is not None
    assert reading.pieces[0][:3] == (0, 8, 10)
    assert [one[:3] for one in reading.items] == [(0, 0, 3), (0, 8, 10), (1, 0, 2)]
    assert reading.relevance == (0.5, 0.5)


def test_separators_belong_to_no_item(packer: Packer) -> None:
    text = "milk, eggs, bread"
    (pack,) = packer.packs("What?", [Passage("", text)])
    tags = np.zeros((1, len(pack.token_ids), 3))
    tags[0, :, 0] = 1
    for token, place in enumerate(pack.offsets):
        if place is not None:
            word = text[place[1] : place[2]]
            tags[0, token, 2 if word == "," else 1] = 5
    scores = _scores(pack, items=tags.astype(np.float32))
    reading = StatementReader(lambda _: scores, packer).answer("What?", [Passage("", text)])
    assert reading is not None
    assert [text[one.start : one.end] for one in reading.items] == ["milk", "eggs", "bread"]


def test_relevance_is_the_mean_over_a_statement(packer: Packer) -> None:
    pack = _pack(packer)
    relevance = np.array(
        [[0 if one is None else (4 if one[0] else -4) for one in pack.offsets]], np.float32
    )
    form = np.array([[0, 0, 0, 9, 0, 0, 0]], np.float32)
    number = np.zeros((1, 13), np.float32)
    number[0, 7] = 1
    scores = _scores(pack, relevance=relevance, form=form, number=number)
    reading = StatementReader(lambda _: scores, packer).answer(
        "Who?", [Passage("", "Ann and Bo"), Passage("", "Cy came")]
    )
    assert reading is not None
    low, high = 1 / (1 + np.exp(4)), 1 / (1 + np.exp(-4))
    assert reading.relevance == pytest.approx((low, high))
    assert (reading.form, reading.number) == ("count", 7)


def test_a_new_text_is_read_from_its_tokens(packer: Packer) -> None:
    text = "My sister Clara no longer works at Siemens"
    earlier = [Passage("1 May 2025", "Clara works at Siemens"), Passage("", "Bo sings")]
    (pack,) = packer.packs(text, earlier)
    length = len(pack.token_ids)
    tags, changes = np.zeros((1, length, len(TAGS))), np.zeros((1, length, len(Label)))
    tags[0, :, 0] = 1
    words = [text[start:end] for start, end in packer.offsets(text)]
    for word, tag in (("My", 1), ("sister", 2), ("Clara", 2), ("Siemens", 3)):
        tags[0, 1 + words.index(word), tag] = 5
    first = [token for token, place in enumerate(pack.offsets) if place and place[0] == 0]
    changes[0, first, Label.END] = 20
    changes[0, [token for token in range(length) if token not in first], Label.NONE] = 20
    scores = _scores(
        pack,
        tags=tags.astype(np.float32),
        changes=changes.astype(np.float32),
        partly=np.full((1, length), -20, np.float32),
        negative=np.array([3], np.float32),
        certainty=np.array([[0, 0, 9, 0]], np.float32),
    )
    reading = StatementReader(lambda _: scores, packer).write(text, earlier)
    tagged = reading.tagged
    assert [text[start:end] for start, end in tagged.subjects] == ["My sister Clara"]
    assert [text[start:end] for start, end in tagged.values] == ["Siemens"]
    assert (tagged.negative, tagged.certainty) == (True, "planned")
    np.testing.assert_allclose(reading.changes, np.eye(6)[[Label.END, Label.NONE]], atol=1e-6)
    np.testing.assert_allclose(reading.partly, 0, atol=1e-6)


def test_a_tag_inside_of_a_word_is_of_the_whole_word(packer: Packer) -> None:
    text = "a tester, 5:30"
    (pack,) = packer.packs(text, [Passage("", "-")])
    tags = np.zeros((1, len(pack.token_ids), len(TAGS)), np.float32)
    offsets = packer.offsets(text)
    last = max(index for index, (_, end) in enumerate(offsets) if end <= len("a tester"))
    tags[0, 1 + last, TAGS.index("B-value")] = 5
    scores = _scores(pack, tags=tags)
    tagged = StatementReader(lambda _: scores, packer).write(text, ()).tagged
    assert [text[start:end] for start, end in tagged.values] == ["tester"]
