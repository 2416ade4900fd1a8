import random
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet import Config, Document, Engine, MemoryStore
from memnet.documents.training.calibration import fit_calibration
from memnet.documents.training.generate import templated_examples
from memnet.encoders.weights import load_tokenizer
from memnet.errors import InputError, ModelError
from memnet.learning.evaluation import Question, calibration_error, normalised_answer, reliability
from memnet.reader.answers import Prediction
from memnet.reader.checkpoint import load_calibration
from memnet.reader.confidence import FEATURES, Signals
from memnet.reader.spans import KINDS, NONE, QUOTED, Packer
from memnet.reader.training.examples import (
    ReaderExample,
    ReaderPassage,
    find_quote,
    packed_example,
    read_reader_examples,
    retrieve_distractors,
    unanswerable_question,
)
from memnet.training import reader_examples, train_reader
from memnet.types import Answer, Candidate, Evidence
from tests.toy import ToyEncoder, toy_store

PEOPLE = {"Amsel": "Ada", "Brock": "Bo", "Cardew": "Cy"}


def _examples() -> list[ReaderExample]:
    """Who raised a light is told; when it burned is not."""
    examples: list[ReaderExample] = []
    for place, name in PEOPLE.items():
        passage = ReaderPassage(
            title=place, text=f"{place} is far away. Its light was raised by {name} long ago."
        )
        asked = f"Who raised the light of {place}?"
        examples.append(ReaderExample(question=asked, answers=(name,), passages=(passage,)))
        asked = f"When did {place} burn?"
        examples.append(ReaderExample(question=asked, passages=(passage,)))
    return examples


@pytest.fixture(scope="module")
def packer() -> Packer:
    return Packer(load_tokenizer(), 96)


@pytest.mark.parametrize("seed", range(12))
def test_right_tokens_say_the_answer(packer: Packer, seed: int) -> None:
    chance = random.Random(seed)
    others = tuple(ReaderPassage(title="Other", text="Rank came by, said Ada.") for _ in range(3))
    passages = (
        ReaderPassage(title="One", text="far " * 120 + "In 1912 it was raised by Ann-Marie Orre."),
        ReaderPassage(title="Two", text="Ann-Marie Orre (née Dell) was born in Pellgate."),
    )
    example = ReaderExample(
        question="Who raised it?", answers=("Ann-Marie Orre",), passages=passages, others=others
    )
    packed = packed_example(example, packer, chance)
    assert packed is not None
    if packed.right.kinds[NONE]:
        assert not packed.right.spans
        assert not any(wanted for _, _, wanted in packed.right.units)
        return
    places = packed.pack.offsets
    texts = {len(one.text): one.text for one in (*passages, *others)}
    for first, last in packed.right.spans:
        one, other = places[first], places[last]
        assert one is not None
        assert other is not None
        assert one[0] == other[0]
        said = {text[one[1] : other[2]] for text in texts.values()}
        assert "Ann-Marie Orre" in said


def test_quotations_mark_their_units_and_kind(packer: Packer) -> None:
    text = "Amsel is old.\n- Fill the *lamp*.\n- Trim the wick.\nRest, said Ada. Then go on."
    quotes = ("Fill the lamp", "- Trim   the wick.")
    example = ReaderExample(
        question="How do I light it?", quotes=quotes, kind="steps",
        passages=(ReaderPassage(title="One", text=text),),
    )  # fmt: skip
    for seed in range(5):
        packed = packed_example(example, packer, random.Random(seed))
        assert packed is not None
        assert [wanted for _, _, wanted in packed.right.units] == [False, True, True, False, False]
        assert [k for k, so in zip(KINDS, packed.right.kinds, strict=True) if so] == ["steps"]
        assert packed.right.spans == []
    value = example.model_copy(update={"answers": ("Ada",), "quotes": (), "kind": None})
    packed = packed_example(value, packer, random.Random(1))
    assert packed is not None
    assert [wanted for _, _, wanted in packed.right.units] == [False, False, False, True, False]
    assert sum(packed.right.kinds) == len(QUOTED)
    assert packed_example(
        example.model_copy(update={"quotes": ("Sing",)}), packer, random.Random(0)
    ) is None  # fmt: skip


@given(st.text("aß İ*_\n-é.", max_size=30), st.integers(0, 30), st.integers(1, 30))
def test_quotations_are_found_whatever_marks_are_between(text: str, start: int, size: int) -> None:
    quote = text[start : start + size]
    found = find_quote(text, " ".join(quote.replace("*", "").split()))
    if any(char.isalnum() for char in quote):
        [(first, end)] = found
        letters = [char.casefold() for char in text[first:end] if char.isalnum()]
        assert letters == [char.casefold() for char in quote if char.isalnum()]
    else:
        assert found == []


def test_some_questions_lose_their_answer(packer: Packer) -> None:
    passage = ReaderPassage(title="Amsel", text="Amsel lies north of Brock. Ada lit it first.")
    found = tuple(ReaderPassage(title="Found", text=f"Number {n} is dark.") for n in range(3))
    example = ReaderExample(
        question="Who lit Amsel first?", answers=("Ada",), passages=(passage,), others=found
    )
    chance, tokenizer = random.Random(0), load_tokenizer()
    drawn = [packed_example(example, packer, chance) for _ in range(400)]
    texts: dict[tuple[bool, bool], int] = {}
    for one in drawn:
        assert one is not None
        tokens = tokenizer.decode(one.pack.token_ids)
        kind = ("lit amsel first?" in tokens, "ada lit it" in tokens)
        assert one.right.kinds[NONE] != all(kind) == bool(one.right.spans)
        assert any(wanted for _, _, wanted in one.right.units) == all(kind)
        texts[kind] = texts.get(kind, 0) + 1
    assert texts[True, True] > 300
    assert 10 < texts[True, False] < 60
    assert 10 < texts[False, True] < 60


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who lit Amsel first?", {"Who lit Brock first?", "Who lit Amsel last?"}),
        ("Who lit it in 1912?", {"Who lit it in 1950?"}),
        ("Was it larger or smaller?", set()),
        ("Who slept?", set()),
    ],
)
def test_changed_questions_ask_for_what_is_not_said(question: str, expected: set[str]) -> None:
    text = "Amsel lies north of Brock, where Ada lit it first in 1912, and Cy in 1950."
    changed = {
        unanswerable_question(question, text, ["Ada", "Cy"], random.Random(seed))
        for seed in range(40)
    }
    assert changed - {None} == expected


def test_examples_are_read_among_what_is_found() -> None:
    def found(place: int, text: str) -> Evidence:
        return Evidence(
            id=place, kind="passage", source="s", title="", start=0, end=len(text), text=text,
            score=0.0, hop=1,
        )  # fmt: skip

    texts = ["Ada  lit it.", "Bo saw ADA there.", "Cy slept.", "No light."]
    evidence = [found(place, text) for place, text in enumerate(texts)]
    right, before = ReaderPassage(text="Ada lit it."), ReaderPassage(text="Before.")
    one = ReaderExample(question="Who?", answers=("Ada",), passages=(right,), others=(before,))
    word = one.model_copy(update={"answers": ("no",)})
    [spans, words] = retrieve_distractors(_Found(evidence), [one, word])
    assert [passage.text for passage in spans.others] == ["Cy slept.", "No light."]
    assert [passage.text for passage in words.others] == texts[1:]
    [alone] = retrieve_distractors(_Found([]), [one])
    assert alone.others == (before,)


class _Found:
    """A memory that finds the same evidence for every question."""

    def __init__(self, evidence: list[Evidence]) -> None:
        self._evidence = tuple(evidence)

    def ask(self, question: str, **_: object) -> Answer:
        return Answer(
            question=question, answer=None, confidence=None, abstained=True, candidates=(),
            evidence=self._evidence, hops=(), model="found", elapsed_ms=0.0,
        )  # fmt: skip


def test_an_answer_that_stands_nowhere_is_left_out(packer: Packer) -> None:
    passage = ReaderPassage(text="The adage of Adam.")
    example = ReaderExample(question="Who?", answers=("Ada",), passages=(passage,))
    assert packed_example(example, packer, random.Random(0)) is None
    with pytest.raises(InputError, match="no answer stands in the passages"):
        train_reader([example], [example], Path("never"))
    assert not Path("never").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"question": "Who?"}', "line 2: passages: Field required; expected"),
        ('{"question": "Who?", "passages": []}', "line 2: passages: Tuple should have at"),
        ('{"question": "", "passages": [{"text": "x"}]}', "line 2: question: String should have"),
        ("{", "line 2: line: Invalid JSON"),
    ],
)
def test_bad_examples_are_one_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "examples.jsonl"
    path.write_text(f'{{"question": "Who?", "passages": [{{"text": "x"}}]}}\n{line}\n')
    with pytest.raises(InputError) as caught:
        read_reader_examples(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    path.write_text("\n")
    with pytest.raises(InputError, match="holds no examples"):
        read_reader_examples(path)
    with pytest.raises(InputError, match="can't be read"):
        read_reader_examples(tmp_path / "nothing.jsonl")


def test_cloze_questions_have_their_answer_in_their_passage(tmp_path: Path) -> None:
    store = toy_store(tmp_path / "store")
    with Engine(store, ToyEncoder(), Config(), "untrained", "sentences") as engine:
        engine.ingest(
            Document(
                id=place,
                title=place,
                text=f"{place} is a village that {name} Orre knew in 1912. Few people ever went "
                f"there. They say that {name} Orre had raised its light by then, in 1912.",
            )
            for place, name in PEOPLE.items()
        )
        examples = reader_examples(engine, 5, seed=2)
        assert len(examples) == 5
        assert examples == reader_examples(engine, 5, seed=2) != reader_examples(engine, 5, seed=3)
    for example in examples:
        [answer], [passage] = example.answers, example.passages
        assert answer in passage.text
        assert answer not in example.question
        assert example.question.endswith("?")
        words = {"when"} if answer == "1912" else {"what", "who", "which"}
        assert words & set(re.findall(r"\w+", example.question))


FILMS = {"Grey Tide": "Ada Orre", "Far Light": "Ada Orre", "Low Water": "Bo Rank"}
DIRECTORS = {"Ada Orre": ("Danish", 1901), "Bo Rank": ("Polish", 1950), "Cy Dell": ("Danish", 1970)}


def test_templated_questions_follow_what_is_said() -> None:
    with _memory(
        {
            **{film: f"{film} is a film directed by {name}." for film, name in FILMS.items()},
            **{
                name: f"{name} (born 2 May {year}) is a {nation} director."
                for name, (nation, year) in DIRECTORS.items()
            },
        }
    ) as store:
        examples = templated_examples(store, 60, seed=4)
        assert examples == templated_examples(store, 60, seed=4)
    kinds = dict.fromkeys(("alone", "led", "nations", "directors", "kinds", "older"), 0)
    for example in examples:
        titles = [passage.title for passage in example.passages]
        said = [DIRECTORS[FILMS.get(title, title)] for title in titles if title not in FILMS]
        [answer] = example.answers
        if answer in ("yes", "no"):
            if len(titles) == 4:
                kinds["directors"] += 1
                assert titles[1::2] == [FILMS[film] for film in titles[::2]]
                alike = said[0][0] == said[1][0]
            elif "same" in example.question:
                kinds["nations"] += 1
                alike = said[0][0] == said[1][0]
            else:
                kinds["kinds"] += 1
                alike = len({title in FILMS for title in titles}) == 1
            assert answer == ("yes" if alike else "no")
        elif " or " in example.question:
            kinds["older"] += 1
            assert answer == min(titles, key=lambda name: DIRECTORS[name][1])
        elif len(titles) == 2:
            kinds["led"] += 1
            assert titles[1] == FILMS[titles[0]]
            assert titles[0] in example.question
            assert titles[1] not in example.question
            assert answer in (said[0][0], f"2 May {said[0][1]}")
        else:
            kinds["alone"] += 1
            assert titles[0] in example.question
            assert answer in example.passages[0].text
    assert all(kinds.values()), kinds


def test_a_place_of_birth_may_follow_a_date() -> None:
    text = "Ada Orre was born on 2 May 1901 in Kestle and died on 3 June, 1950 in Marrack."
    with _memory({"Ada Orre": text}) as store:
        examples = templated_examples(store, 6, seed=0)
    answers = {example.answers[0] for example in examples}
    assert {"Kestle", "Marrack"} <= answers


@contextmanager
def _memory(texts: dict[str, str]) -> Iterator[MemoryStore]:
    """A store of one passage for each title."""
    encoder = ToyEncoder()
    with TemporaryDirectory() as folder:
        store = toy_store(Path(folder))
        with Engine(store, encoder, Config(), "untrained", "sentences") as engine:
            engine.ingest(
                Document(id=title, title=title, text=text) for title, text in texts.items()
            )
            yield store


def _signals(answer: float, answerable: float = 0.5) -> Signals:
    return Signals(answer, 0.1, answerable, 0.5, 0.5, False, 0)


def _judge(shares: dict[str, float]) -> Callable[[str], Prediction]:
    return lambda asked: Prediction(
        (Candidate(text=asked.split()[0], score=1),), signals=_signals(shares[asked])
    )


def test_confidence_becomes_the_share_that_is_right() -> None:
    """A reader that is right with the square of the probability that it gives."""
    chance = random.Random(5)
    shares = {f"a{number} {number}?": chance.random() for number in range(3000)}
    questions = [
        Question(question=asked, answers=(asked.split()[0] if chance.random() < p * p else "no",))
        for asked, p in shares.items()
    ]
    calibration, report = fit_calibration(questions, _judge(shares))
    assert report.questions == 3000
    assert report.right == pytest.approx(1 / 3, abs=0.03)
    assert report.calibration_error < 0.04
    assert report.answerable_auroc is None
    for share in (0.2, 0.5, 0.8):
        assert calibration.confidence(_signals(share)) == pytest.approx(share**2, abs=0.1)
    assert len(calibration.weights) == FEATURES == len(_signals(0.5).features())


def test_what_leaves_yes_or_no_open_is_right_by_the_sentence_that_it_shows() -> None:
    """Half show the sentence that answers; where none is known, nothing is learned from it."""

    def read(asked: str) -> Prediction:
        text = "Boats may land." if int(asked.split()[0]) % 2 else "Fees apply."
        signals = _signals(0.5)._replace(left_open=True)
        return Prediction((Candidate(text=text, score=1),), signals=signals, promised=False)

    texts = [f"{number} May boats land?" for number in range(40)]
    told = [
        Question(question=one, answers=("Yes",), quotes=("**Boats may land.**",)) for one in texts
    ]
    calibration, report = fit_calibration(told, read)
    assert (report.questions, report.right) == (40, 0.5)
    assert calibration.confidence(read(texts[0]).signals or _signals(0)) == pytest.approx(0.5)
    with pytest.raises(InputError, match="0 of 0 questions"):
        fit_calibration([Question(question=one, answers=("Yes",)) for one in texts], read)


def test_confidence_needs_right_and_wrong_answers() -> None:
    shares = {f"a{number} ?": 0.5 for number in range(20)}
    questions = [Question(question=asked, answers=("nobody",)) for asked in shares]
    with pytest.raises(InputError, match="0 of 20 questions"):
        fit_calibration(questions, _judge(shares))
    with pytest.raises(InputError, match="0 of 0 questions"):
        fit_calibration(questions, lambda _: Prediction())


def test_calibration_error_against_loops() -> None:
    chance = random.Random(1)
    scores = [round(chance.random(), 1) for _ in range(60)]
    positive = [chance.random() < 0.5 for _ in scores]
    error = 0.0
    for number in range(10):
        chosen = [i for i, score in enumerate(scores) if min(int(score * 10), 9) == number]
        if chosen:
            sure = sum(scores[i] for i in chosen) / len(chosen)
            right = sum(positive[i] for i in chosen) / len(chosen)
            error += abs(sure - right) * len(chosen) / 60
    assert calibration_error(scores, [float(so) for so in positive]) == pytest.approx(error)
    assert sum(one.size for one in reliability(scores, [float(so) for so in positive])) == 60
    assert calibration_error([], []) is None
    assert normalised_answer("The  Orre, Light!") == "orre light"


def test_a_calibration_of_another_size_is_refused(tmp_path: Path) -> None:
    from memnet.checkpoints import save_checkpoint

    assert load_calibration(tmp_path) is None
    save_checkpoint(tmp_path, "confidence", {"weights": np.zeros(3)}, {})
    with pytest.raises(ModelError, match="shapes"):
        load_calibration(tmp_path)
