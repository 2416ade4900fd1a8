"""Times in what is told, remembered and asked: what they limit, find and answer."""

import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from memnet import Config, Engine, Scope
from memnet.config import AnswerConfig, TellConfig
from memnet.documents.messages import MessageAddressing
from memnet.documents.question import Question
from memnet.statements.times import limits_of, weights_in_time
from tests.toy import rows_of

_TOLD = "2026-03-04T12:00"  # a Wednesday


def _at(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def _day(seconds: float | None) -> str | None:
    day = None if seconds is None else str(datetime.fromtimestamp(seconds))
    return day and day.removesuffix(" 00:00:00")


@pytest.mark.parametrize(("sentence", "begin", "end"), rows_of("limits.tsv"))
def test_a_sentence_says_when_it_holds(sentence: str, begin: str, end: str) -> None:
    limits = limits_of(sentence, _at(_TOLD))
    assert tuple(map(_day, limits)) == (begin or None, end or None)


def test_what_is_told_holds_when_it_says(toy_engine: Engine) -> None:
    toy_engine.tell("The dose is 3 mg.", at="2026-03-01")
    toy_engine.tell("The dose is 5 mg from tomorrow.", at=_TOLD)
    toy_engine.tell("Bob covers for Ann until the 27th.", at=_TOLD)
    old, cover, new = toy_engine.history()
    assert (_day(old.valid_from), _day(old.valid_until)) == ("2026-03-01", "2026-03-05")
    assert (old.change, old.changed_by_text) == ("supersede", new.text)
    assert (_day(new.valid_from), new.valid_until) == ("2026-03-05", None)
    assert new.told == cover.told == cover.valid_from == _at(_TOLD)
    assert _day(cover.valid_until) == "2026-03-28"
    assert toy_engine.verify().problems == ()


def test_a_plan_and_what_is_told_of_now_leave_each_other(toy_engine: Engine) -> None:
    toy_engine.tell("Ann is in Rome from Monday.", at="2026-03-04")
    toy_engine.tell("Ann is in Oslo.", at="2026-03-05")
    assert [one.valid_until for one in toy_engine.history("Ann")] == [None, None]
    report = toy_engine.tell("Ann is in Paris.", at="2026-03-20")
    assert sorted(one.other_text or "" for one in report.decisions) == [
        "Ann is in Oslo.", "Ann is in Rome from Monday.",
    ]  # fmt: skip


def test_the_same_words_of_another_day_say_something_else(toy_engine: Engine) -> None:
    said = "The dentist comes tomorrow."
    actions = [
        decision.action
        for day in ("2026-03-04", "2026-03-04", "2026-03-18")
        for decision in toy_engine.tell(said, at=day).decisions
    ]
    assert actions == ["add", "merge", "add"]
    toy_engine.tell(f"Forget that {said}")
    assert toy_engine.history() == ()


def test_a_time_ahead_is_not_that_of_what_is_told_next(
    toy_engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    midnight = _at("2026-03-05")
    monkeypatch.setattr(time, "time", lambda: midnight - 60)
    toy_engine.tell("The dose is 5 mg from tomorrow.")
    toy_engine.tell("Bob is ill.")
    assert {one.told for one in toy_engine.history()} == {midnight - 60}


def test_what_ends_later_is_not_evicted_first(tmp_path: Path) -> None:
    config = Config(tell=TellConfig(capacity=2))
    with Engine.open(tmp_path / "store", create=True, config=config) as engine:
        engine.tell("Ann likes tea.")
        engine.tell("Bob covers for Cy for three weeks.")
        engine.tell("Bob covers for Cy for three weeks.")
        engine.tell("Dan likes salt.")
        left = {one.text for one in engine.history()}
        assert left == {"Bob covers for Cy for three weeks.", "Dan likes salt."}


@pytest.fixture(scope="module")
def diary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """What was told over time; for reading only."""
    with Engine.open(tmp_path_factory.mktemp("diary") / "store", create=True) as engine:
        for day, text in (
            ("2023-05-01", "Ann lives in Oslo."),
            ("2024-02-01", "Ann moved to Paris."),
            ("2025-06-01", "Ann moved to Rome."),
            ("2026-03-01", "The dose is 3 mg."),
            ("2026-03-02", "I ate rice."),
            ("2026-03-03", "I ate fish."),
            ("2026-03-03", "Clara came by."),
            ("2026-03-04", "I ate eggs."),
            ("2026-03-04", "The dose is 5 mg from tomorrow."),
            ("2026-03-04", "Una visited the dentist yesterday."),
            ("2026-03-04", "My piano exam is on Friday."),
            ("2026-03-04", "Bob covers for Cy until the 27th."),
        ):
            engine.tell(text, at=f"{day}T08:00")
        yield engine


@pytest.mark.parametrize(
    ("question", "asked", "short"),
    [
        ("Where did Ann live two years ago?", "2026-03-04", "Paris"),
        ("Where did Ann live two years ago?", "2025-06-04", "Oslo"),
        ("What did I eat yesterday?", "2026-03-04T20:00", "fish"),
        ("What did I eat yesterday?", "2026-03-03T20:00", "rice"),
        ("What did I eat last Tuesday?", "2026-03-06", "fish"),
        ("Who came by last Tuesday?", "2026-03-06", "Clara"),
        ("What is the dose?", "2026-03-04T20:00", "3 mg"),
        ("What is the dose?", "2026-03-06", "5 mg"),
        ("When does the 5 mg dose start?", "2026-03-04T20:00", "5 March 2026"),
        ("When did Una visit the dentist?", "2026-03-20", "3 March 2026"),
        ("When is my piano exam?", "2026-03-04T20:00", "Friday, 6 March 2026"),
        ("Who covers for Cy?", "2026-03-27T20:00", "Bob"),
        ("Who covers for Cy?", "2026-03-28T20:00", None),
        ("Until when does Bob cover for Cy?", "2026-03-20", "27 March 2026"),
    ],
)
def test_questions_and_answers_are_of_their_day(
    diary: Engine, question: str, asked: str, short: str | None
) -> None:
    answer = diary.ask(question, as_of=asked)
    assert answer.short == short
    assert answer.question == question


def test_an_answer_begins_with_the_day_and_quotes_the_sentence(diary: Engine) -> None:
    answer = diary.ask("When did Una visit the dentist?")
    assert answer.answer == "3 March 2026. Una visited the dentist yesterday."
    assert [quote.text for quote in answer.quotes] == ["Una visited the dentist yesterday."]
    assert answer.candidates[0].text == "yesterday"


def test_the_clock_is_the_reference_of_a_question_without_a_time(
    diary: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: _at("2026-03-04T20:00"))
    assert diary.ask("What did I eat yesterday?").short == "fish"


def test_statements_weigh_by_the_days_of_a_question(diary: Engine) -> None:
    told = list(diary.store.statements.told(diary.store.statements.ids().tolist()))

    def best(question: str) -> set[str]:
        weights = weights_in_time(question, told, _at("2026-03-04T20:00"))
        return {one.text for one, weight in zip(told, weights, strict=True) if weight == 1}

    assert best("What did I eat two days ago?") == {"I ate rice."}
    assert best("What happens this Friday?") == {"My piano exam is on Friday."}
    assert best("Who visited me yesterday?") == {
        "I ate fish.", "Clara came by.", "Una visited the dentist yesterday.",
    }  # fmt: skip
    assert len(best("When does it start?")) == len(told)


_TALK = (
    ("Emi", "2024-01-05 10:00", "I went to the harbour to paint boats this morning."),
    ("Bella", "2024-01-05 10:01", "Nice! Did you sell one of the boats?"),
    ("Bella", "2024-01-08 09:00", "I baked rye bread with caraway seeds yesterday."),
    ("Emi", "2024-01-09 09:30", "I was at the dentist last Friday, it hurt a lot."),
    ("Emi", "2024-01-10 09:31", "We bought a small red car last week."),
    ("Bella", "2024-01-10 09:40", "My exam is tomorrow 9:30."),
    ("Bella", "2024-01-10 09:41", "We moved here last year and had no car for two weeks."),
    ("Emi", "", "I was there yesterday."),
)


_SHOWN = Config(answer=AnswerConfig(answer_threshold=0.3))  # Days are tested, not confidence


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A conversation; for reading only."""
    store = tmp_path_factory.mktemp("chat") / "store"
    with Engine.open(store, create=True, config=_SHOWN) as engine:
        engine.remember(
            {"id": f"s:{number}", "session": "s", "speaker": speaker, "time": day, "text": text}
            for number, (speaker, day, text) in enumerate(_TALK, 1)
        )
        yield engine


def test_messages_are_of_the_days_that_they_name(chat: Engine) -> None:
    slots = chat.store.fetch(range(1, 9))
    symbols = chat.store.symbols([slot.id for slot in slots])
    days = {
        slot.source: {name for name in symbols[slot.id].keys if name.startswith("/day 2")}
        for slot in slots
    }
    assert days["s:1"] == {"/day 2024-01-05"}
    assert days["s:3"] == {"/day 2024-01-08", "/day 2024-01-07"}
    assert days["s:5"] == {f"/day 2024-01-{day:02}" for day in (*range(1, 8), 10)}
    assert days["s:6"] == {"/day 2024-01-10", "/day 2024-01-11"}
    assert days["s:7"] == {"/day 2024-01-10"}
    assert days["s:8"] == set()


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("When did Bella bake rye bread?", "7 January 2024"),
        ("When was Emi at the dentist?", "5 January 2024"),
        ("When did they buy a small red car?", "1 to 7 January 2024"),
        ("When is Bella's exam?", "11 January 2024, 9:30"),
    ],
)
def test_answers_from_messages_name_the_day(chat: Engine, question: str, short: str) -> None:
    answer = chat.ask(question)
    assert answer.short == short
    assert answer.answer == f"{short}. {answer.quotes[0].text}"


def test_relative_days_of_a_question_find_messages(chat: Engine) -> None:
    def sources(text: str, asked: str) -> set[str]:
        scope = Scope(as_of=_at(asked))
        with chat.store.reading():
            question = Question(text, chat.store, chat.encoder.encode, scope)
            found = MessageAddressing(question).of_days()
            return {slot.source for slot in chat.store.fetch(found)}

    # Those of the day and of the days beside it.
    assert sources("What did Bella do yesterday?", "2024-01-13") == {"s:6"}
    assert "s:1" in sources("What did Emi paint last Friday?", "2024-01-12")
    assert sources("What was on last month?", "2024-02-20") == {f"s:{n}" for n in range(1, 8)}
    assert sources("What was on last year?", "2025-02-20") == set()


_HOUSE = (
    ("Lena", "2022-03-04 18:20", "Evening all! I planted the two pear trees. Anyone for soup?"),
    ("Otto", "2022-03-06 08:00", "The new gate code is 5519"),
    ("Lena", "2022-05-01 12:00", "I rented the trailer for 40 euros"),
    ("Otto", "2022-05-09 12:00", "I returned the trailer yesterday"),
    ("Otto", "2022-06-02 12:00", "Swapped the old boiler today!"),
    ("Lena", "2022-07-07 12:00", "I will paint the shutters"),
    ("Otto", "2022-07-08 12:00", "Got a letter from Vera, she sends greetings"),
    ("Lena", "2022-08-01 12:00", "I sold the anvil for 190"),
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Messages that tell what has just happened; for reading only."""
    store = tmp_path_factory.mktemp("house") / "store"
    with Engine.open(store, create=True, config=_SHOWN) as engine:
        engine.remember(
            {"id": f"{number}", "speaker": speaker, "time": day, "text": text}
            for number, (speaker, day, text) in enumerate(_HOUSE, 1)
        )
        yield engine


@pytest.mark.parametrize(
    ("question", "short", "quoted"),
    [
        ("When did Lena plant the pear trees?", "4 March 2022", "I planted the two pear trees."),
        ("When were the pear trees planted?", "4 March 2022", "I planted the two pear trees."),
        ("On what day did Lena rent the trailer?", "1 May 2022", _HOUSE[2][2]),
        ("When did Otto return the trailer?", "8 May 2022", _HOUSE[3][2]),
        ("When did Otto swap the boiler?", "2 June 2022", _HOUSE[4][2]),
        ("When did Otto tell us the gate code?", "6 March 2022", _HOUSE[1][2]),
        ("When did Otto post the gate code?", "6 March 2022", _HOUSE[1][2]),
        ("When did Lena sell the anvil?", "1 August 2022", _HOUSE[7][2]),
        ("Who sold the anvil?", "Lena", _HOUSE[7][2]),
    ],
)
def test_a_message_tells_of_its_own_day(
    house: Engine, question: str, short: str, quoted: str
) -> None:
    answer = house.ask(question)
    told = f"{short}{':' if question.startswith('Who') else '.'} "
    assert (answer.short, answer.answer) == (short, f"{told}{quoted}")
    [quote] = answer.quotes
    document = house.get(quote.source)
    assert document is not None
    assert document.text[quote.start : quote.end] == quote.text == quoted


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How much did Lena pay for the trailer?", "40 euros"),
        ("What is the gate code?", "5519"),
        ("When did Lena paint the shutters?", None),
        ("When did Vera marry?", None),
        ("When did Lena send the gate code?", None),
    ],
)
def test_what_is_no_day_of_a_message(house: Engine, question: str, short: str | None) -> None:
    assert house.ask(question).short == short
