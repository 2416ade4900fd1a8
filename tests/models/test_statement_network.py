"""The statement network: what is read from its scores, on two runtimes."""

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.statements import scenarios
from benchmarks.statements.examples import answer_examples
from benchmarks.statements.network import load_statement_network, score_statements
from memnet.checkpoints import SHIPPED
from memnet.encoders.weights import load_tokenizer
from memnet.reader.spans import Pack, Packer, Passage
from memnet.statements.loading import MAX_TOKENS, LazyStatementReader, load_statement_reader
from memnet.statements.protocol import Label
from memnet.statements.reading import (
    HEADS,
    TAGS,
    StatementReader,
    StatementReading,
    StatementScores,
    split_scores,
)


@pytest.fixture(scope="module")
def packer() -> Packer:
    return Packer(load_tokenizer(), 384)


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


def test_a_question_without_statements_is_not_read(packer: Packer) -> None:
    reader = LazyStatementReader().load()
    assert reader is not None
    assert reader.answer("Where does Ann live?", []) is None
    passages = [Passage("4 March 2026", "one " * 500), Passage("5 March 2026", "two")]
    assert reader.fitting("Where?", passages) == 1
    assert reader.fitting("Where?", passages[1:] * 3) == 3


def _pack(packer: Packer, *texts: str) -> Pack:
    (pack,) = packer.packs("Who?", [Passage("", one) for one in texts])
    return pack


def _reading(packer: Packer, scores: StatementScores, *texts: str) -> StatementReading:
    statements = [Passage("", one) for one in texts]
    reading = StatementReader(lambda _: scores, packer).answer("Who?", statements)
    assert reading is not None
    return reading


def _scores(pack: Pack, **given: NDArray[np.float32]) -> StatementScores:
    length = len(pack.token_ids)
    zeros = split_scores(
        np.zeros((1, length, HEADS["pointers"]), np.float32),
        np.zeros((1, HEADS["kinds"]), np.float32),
    )
    return zeros._replace(**given)


def test_spans_and_items_are_read_from_their_tokens(packer: Packer) -> None:
    pack = _pack(packer, "Ann and Bo", "Cy came")
    place = {one: token for token, one in enumerate(pack.offsets) if one is not None}
    ann, bo, cy = (place[one] for one in ((0, 0, 3), (0, 8, 10), (1, 0, 2)))
    ends, items = np.zeros((1, len(pack.token_ids), 2)), np.zeros((1, len(pack.token_ids), 3))
    ends[0, bo] = 9
    ends[0, 0] = 99  # no token of a statement
    items[0, :, 0] = 1
    items[0, [ann, bo, cy], 1] = 5
    scores = _scores(pack, ends=ends.astype(np.float32), items=items.astype(np.float32))
    reading = _reading(packer, scores, "Ann and Bo", "Cy came")
    assert reading.pieces[0][:3] == (0, 8, 10)
    assert [one[:3] for one in reading.items] == [(0, 0, 3), (0, 8, 10), (1, 0, 2)]
    assert reading.relevance == (0.5, 0.5)


def test_separators_belong_to_no_item(packer: Packer) -> None:
    text = "milk, eggs, bread"
    pack = _pack(packer, text)
    tags = np.zeros((1, len(pack.token_ids), 3))
    tags[0, :, 0] = 1
    for token, place in enumerate(pack.offsets):
        if place is not None:
            word = text[place[1] : place[2]]
            tags[0, token, 2 if word == "," else 1] = 5
    scores = _scores(pack, items=tags.astype(np.float32))
    reading = _reading(packer, scores, text)
    assert [text[one.start : one.end] for one in reading.items] == ["milk", "eggs", "bread"]


def test_relevance_is_the_mean_over_a_statement(packer: Packer) -> None:
    pack = _pack(packer, "Ann and Bo", "Cy came")
    relevance = np.array(
        [[0 if one is None else (4 if one[0] else -4) for one in pack.offsets]], np.float32
    )
    form = np.array([[0, 0, 0, 9, 0, 0, 0]], np.float32)
    number = np.zeros((1, 13), np.float32)
    number[0, 7] = 1
    scores = _scores(pack, relevance=relevance, form=form, number=number)
    reading = _reading(packer, scores, "Ann and Bo", "Cy came")
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


def test_both_runtimes_read_alike() -> None:
    folder = SHIPPED / "statements"
    network = load_statement_network(folder).eval()
    packer = Packer(load_tokenizer(), MAX_TOKENS)
    readers = [
        StatementReader(lambda pack: score_statements(network, pack), packer),
        load_statement_reader(folder),
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
