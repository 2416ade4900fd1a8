"""Messages as memory: what is recognised as one, and how questions find them."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memnet import Document, Engine, Fact, InputError, Message
from memnet.config import HopConfig
from memnet.documents.candidates import Candidates, LinkFeature, Links, MessageFeatures, SlotFeature
from memnet.documents.controller import TextController
from memnet.documents.messages import MessageAddressing
from memnet.documents.question import Question
from memnet.ingest.formats import parse_document
from memnet.ingest.messages import message_document, recognise_turns
from memnet.storage import Scope, Slot, Symbols
from memnet.text.dates import WrittenDay, days_in
from memnet.text.names import MESSAGE, SPEAKER, called_symbols, speaker_symbols
from tests import oracle
from tests.toy import ToyEncoder, toy_memory

_TALK = (
    ("Emi", "2024-01-05 10:00", "Hello Bella! I went to the harbour to paint boats this morning."),
    ("Bella", "2024-01-05 10:01", "Nice, Kate! Did you sell one of the boats?"),
    ("Emi", "2024-01-05 10:02", "Yes, two."),
    (
        "Bella",
        "2024-01-06 09:00",
        "Hi Kate! I baked rye bread with caraway seeds yesterday evening.",
    ),
    ("Emi", "2024-01-07 09:30", "Hey Bella, I have been to the dentist, it hurt a lot."),
    ("Bella", "2024-01-07 09:31", "Oh no, Kate! I am sorry that it hurt."),
)


def _messages(session: str = "s1", first: int = 1) -> list[dict[str, object]]:
    return [
        {"id": f"{session}:{number}", "session": session, "speaker": speaker, "time": time,
         "text": text}
        for number, (speaker, time, text) in enumerate(_TALK, first)
    ]  # fmt: skip


def _documents(rows: Sequence[tuple[str, str, str]] = _TALK, name: str = "D1:{}") -> list[Document]:
    return [
        Document(id=name.format(number), title=f"{speaker}, {time}", text=text)
        for number, (speaker, time, text) in enumerate(rows, 1)
    ]


def _say(
    memory: Engine, rows: Sequence[tuple[str, ...]], session: str = "s", name: str = ""
) -> None:
    """Remember rows of speaker and text, or of speaker, time and text."""
    memory.remember(
        {"id": f"{name or session}{number}", "session": session, "speaker": row[0],
         "time": row[1] if len(row) > 2 else "", "text": row[-1]}
        for number, row in enumerate(rows)
    )  # fmt: skip


def _question(memory: Engine, text: str) -> Question:
    return Question(text, memory.store, memory.encoder.encode)


def _features(memory: Engine, text: str, count: int = 6) -> MessageFeatures:
    """What is known of the first slots for a question."""
    asked = MessageAddressing(_question(memory, text))
    found = asked.features(memory.store.existing_keys(range(1, count + 1)), {})
    assert found is not None
    return found


def _found(memory: Engine, query: str) -> list[str]:
    return [one.source for one in memory.search(query)]


def _passages(memory: Engine) -> list[Slot]:
    """Without the statements that messages made."""
    return [slot for slot in memory.store.fetch(range(1, 100)) if slot.valid_from is None]


def _keys(memory: Engine) -> dict[str, Symbols]:
    stored = _passages(memory)
    symbols = memory.store.symbols([slot.id for slot in stored])
    return {slot.source: symbols.get(slot.id, Symbols([], [])) for slot in stored}


def _are_messages(memory: Engine) -> set[str]:
    return {source for source, symbols in _keys(memory).items() if MESSAGE in symbols.keys}


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("29.12.2023, 22:42:04", [(2023, 12, 29)]),
        ("March-15-2024", [(2024, 3, 15)]),
        ("1:56 pm on 8 May, 2023", [(2023, 5, 8)]),
        ("2023/05/20 (Sat) 02:21", [(2023, 5, 20)]),
        ("2024-01-05T23:59:59+14:00", [(2024, 1, 5)]),
        ("on the 10th of February 2024 or January 6 2024", [(2024, 2, 10), (2024, 1, 6)]),
        ("Jan 5th, and 3 June", [(None, 6, 3), (None, 1, 5)]),
        ("05/01/2024", []),
        ("31.02.2024 and 2024-13-01 and version 1.2.2024x9", [(2024, 2, 1)]),
        ("in May 2023 at 5", []),
        ("maybe 5 days", []),
    ],
)
def test_days_are_read_as_people_write_them(
    text: str, days: Sequence[tuple[int | None, int, int]]
) -> None:
    assert days_in(text) == tuple(WrittenDay(*day) for day in days)


@given(st.dates())
def test_every_day_is_found_in_what_writes_it(day: date) -> None:
    [found] = days_in(f"at 10:00 on {day} (Mon)")
    assert found.names()[0] == str(day)
    if date.min < day < date.max:
        beside = [str(day - timedelta(days=1)), str(day + timedelta(days=1))]
        assert [one.names()[0] for one in found.next_to()] == beside
    else:
        assert found.next_to() == ()


def test_days_beside_the_ends_of_months() -> None:
    assert WrittenDay(2024, 2, 29).next_to() == ((2024, 2, 28), (2024, 3, 1))
    assert WrittenDay(None, 12, 31).next_to() == ((None, 12, 30), (None, 1, 1))


def test_parts_of_a_name_are_symbols_of_a_speaker() -> None:
    def may_mean(word: str, speaker: str) -> bool:
        return SPEAKER + word in speaker_symbols(speaker)

    assert may_mean("khan", "Fahim Khan")
    assert may_mean("fahim", "Fahim Khan")
    assert not may_mean("marvin", "Martin")
    assert not may_mean("elena", "Eline")
    assert may_mean("李雷", "李雷")


def test_names_that_others_call_somebody() -> None:
    text = "Hi Kate! Thank you, the bread was great, Kate. Paris, France is far. Good morning Rex,"
    assert called_symbols(text, "Emi") == ("/calls kate /emi", "/calls rex /emi")
    assert called_symbols(text, "") == ()


def test_titles_with_speaker_and_time_are_messages(toy_engine: Engine) -> None:
    toy_engine.ingest(_documents())
    keys = _keys(toy_engine)
    assert _are_messages(toy_engine) == {f"D1:{number}" for number in range(1, 7)}
    assert {"/speaker emi", "/day 2024-01-05", "/day 01-05"} <= set(keys["D1:1"].keys)
    assert "/calls kate /emi" in keys["D1:2"].values
    [slot] = [one for one in toy_engine.store.fetch(range(1, 9)) if one.source == "D1:3"]
    assert slot.places == ((0, "Emi, 2024-01-05 10:02"),)
    assert toy_engine.ingest(_documents()).unchanged == 6


@pytest.mark.parametrize(
    "documents",
    [
        _documents()[:3],  # too few
        _documents(name="doc-{}-of-six"),  # no numbers at the end
        [one.model_copy(update={"title": f"{one.id}, 1999"}) for one in _documents()],  # no day
        [one.model_copy(update={"title": f"N{one.id}, 2024-01-05"}) for one in _documents()],
        [one.model_copy(update={"title": "Ann, 2024-01-05"}) for one in _documents()],  # a diary
        [one.model_copy(update={"title": f"Fair of {one.title}, Kiel"}) for one in _documents()],
        _documents()[::-1],
        [one.model_copy(update={"title": f"{one.title} meeting notes"}) for one in _documents()],
    ],
)
def test_ordinary_documents_are_no_messages(
    toy_engine: Engine, documents: Sequence[Document]
) -> None:
    toy_engine.ingest(documents)
    assert not _are_messages(toy_engine)
    assert not _question(toy_engine, "What did Emi paint?").has_messages


def test_a_document_between_messages_is_none(toy_engine: Engine) -> None:
    boats = Document(
        id="boats", title="Boats, 2nd edition", text="How to paint boats in a harbour."
    )
    toy_engine.ingest([*_documents()[:4], boats, Fact(subject="a", relation="b", object="c")])
    assert _are_messages(toy_engine) == {"D1:1", "D1:2", "D1:3", "D1:4"}


def test_keys_of_short_replies_hold_what_they_reply_to(toy_engine: Engine) -> None:
    toy_engine.remember(_messages())
    encode = toy_engine.encoder.encode
    slots = {one.source: one.id for one in _passages(toy_engine)}
    stored = toy_engine.store.existing_keys([slots["s1:3"], slots["s1:4"]]).vectors
    reply = "Bella: Nice, Kate! Did you sell one of the boats?\nEmi: Yes, two."
    long = f"Bella: {_TALK[3][2]}"
    np.testing.assert_allclose(stored, encode([reply, long]), atol=1e-5)


def test_turn_by_turn_is_as_all_at_once(toy_engine: Engine, tmp_path: Path) -> None:
    toy_engine.remember(_messages(), learn=True)
    with toy_memory(tmp_path / "other") as by_turns:
        for message in _messages():
            assert by_turns.remember([message], learn=True).added == 1
        assert _keys(by_turns) == _keys(toy_engine)
        vectors = [
            one.store.existing_keys([slot.id for slot in _passages(one)]).vectors
            for one in (by_turns, toy_engine)
        ]
        learned = [[one.text for one in memory.history()] for memory in (by_turns, toy_engine)]
        assert learned[0] == learned[1] != []
        np.testing.assert_array_equal(vectors[0], vectors[1])


def test_messages_are_unchanged_replaced_or_skipped(toy_engine: Engine) -> None:
    messages = _messages()
    assert toy_engine.remember(messages).added == 6
    assert toy_engine.remember([Message.model_validate(one) for one in messages]).unchanged == 6
    blank = {"id": "s1:7", "session": "s1", "speaker": "Emi", "time": "", "text": " \n"}
    report = toy_engine.remember([messages[1] | {"text": "Great!"}, blank])
    assert (report.updated, report.added, report.skipped) == (1, 0, 1)
    assert report.skipped_by_reason == {"empty": 1}
    document = toy_engine.get("s1:2")
    assert document is not None
    assert document.text == "Great!"
    # Its key holds the message before it, not the last one of its session.
    [slot] = [one for one in _passages(toy_engine) if one.source == "s1:2"]
    expected = toy_engine.encoder.encode([f"Emi: {_TALK[0][2]}\nBella: Great!"])
    np.testing.assert_allclose(toy_engine.store.existing_keys([slot.id]).vectors, expected, 1e-5)
    assert toy_engine.remember([blank]).skipped == 1
    assert toy_engine.remember([]).added == 0
    assert len(toy_engine.remember(_messages("s2"), namespace="b").kinds) == 0
    assert toy_engine.forget("s1:2") == 1


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([{"id": "1", "speaker": "Ann"}], "message 1 has no usable 'text'"),
        ([{"id": "1", "speaker": "", "text": "a"}], "message 1 has no usable 'speaker'"),
        ([{"id": "1", "speaker": "A", "text": "a", "to": "B"}], "message 1 has no usable 'to'"),
        ([{"id": "1", "speaker": "A", "text": "a"}, "b"], "message 2 is of type str"),
        ({"id": "1", "speaker": "A", "text": "a"}, "the messages are of type dict"),
        ("hello", "the messages are of type str"),
        (7, "the messages are of type int"),
    ],
)
def test_what_is_no_message_is_refused(
    toy_engine: Engine, messages: Sequence[Mapping[str, object]], error: str
) -> None:
    with pytest.raises(InputError, match=error) as raised:
        toy_engine.remember(messages)
    assert "\n" not in str(raised.value)
    assert len(toy_engine) == 0


def test_times_are_kept_as_they_are(toy_engine: Engine) -> None:
    times = ["2024-03-02T10:00:00+14:00", "01.03.2024, 23:59", "once upon a time", "", "7"]
    toy_engine.remember(
        {"id": number, "session": 1, "speaker": "Ann", "time": time, "text": f"oar {number}"}
        for number, time in enumerate(times)
    )
    evidence = {one.source: one for one in toy_engine.search("oar")}
    places = [evidence[str(number)].place for number in range(5)]
    assert places == [f"Ann, {time}" if time else "Ann" for time in times]
    assert evidence["0"].metadata == {"session": "1", "speaker": "Ann", "time": times[0]}
    assert "/day 2024-03-02" in _keys(toy_engine)["0"].keys


def test_a_very_long_message_is_one_source(toy_engine: Engine) -> None:
    text = "a" * 200_000 + " The oar broke. " + "b " * 50_000
    toy_engine.remember([{"id": "long", "speaker": "Ann", "text": text}])
    found = toy_engine.search("Where is the oar that broke?", top_k=50)
    assert {one.source for one in found} == {"long"}
    assert all(text[one.start : one.end] == one.text for one in found)
    assert len(toy_engine) > 200


def test_thousands_of_speakers(toy_engine: Engine) -> None:
    _say(toy_engine, [(f"Guest{n}", "I ate the soup.") for n in range(300)])
    assert _found(toy_engine, "What did Guest277 eat?")[0] == "s277"


def test_a_speaker_is_found_by_his_names(toy_engine: Engine) -> None:
    toy_engine.remember(_messages())
    for name in ("Emi", "Kate"):
        text = f"What did {name}'s hand paint?"
        asked = MessageAddressing(_question(toy_engine, text))
        assert asked.question.text == "What did hand paint?"
        assert _features(toy_engine, text).speaker.tolist() == [1, 0, 1, 0, 1, 0]
    # Others call nobody Rex, and one who is greeted once is not known by it.
    rex = _question(toy_engine, "What did Rex paint?")
    assert MessageAddressing(rex).question is rex


def test_the_asker_is_the_user(toy_engine: Engine) -> None:
    rows = [("user", "My ferry leaves at noon."), ("assistant", "Your ferry leaves at noon?")] * 2
    _say(toy_engine, rows)
    for text, expected in (
        ("When does my ferry leave?", [1, 0, 1, 0]),
        ("When did you say a ferry leaves?", [0, 1, 0, 1]),
        ("When does a ferry leave?", [0, 0, 0, 0]),
    ):
        assert _features(toy_engine, text, 4).speaker.tolist() == expected


def test_days_of_a_question_find_their_messages(toy_engine: Engine) -> None:
    toy_engine.remember(_messages())
    text = "What happened on 6 January 2024?"
    assert _features(toy_engine, text).day.tolist() == [0.5, 0.5, 0.5, 1, 0.5, 0.5]
    asked = MessageAddressing(_question(toy_engine, text))
    assert set(asked.of_days()) == set(range(1, 7))
    assert _found(toy_engine, text)[0] == "s1:4"


def test_what_is_said_beside_an_answer_counts(toy_engine: Engine) -> None:
    rows = [("Ann", "Did the kiln crack?"), ("Bo", "Sadly so."), ("Ann", "Lunch is early today.")]
    later = [("Ann", "Rain again."), ("Bo", "Sadly so."), ("Ann", "Tea is early today.")]
    _say(toy_engine, rows, "a")
    _say(toy_engine, later, "b")
    beside = _features(toy_engine, "Did the kiln crack?").beside
    assert beside.T.tolist() == [[0, 1], [1, 2], [3, 4], [4, 5]]
    found = _found(toy_engine, "Did the kiln crack?")
    assert found.index("a1") < found.index("b1")
    assert found.index("a2") < found.index("b2")


@given(st.data())
def test_scores_of_messages_are_those_of_the_oracle(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))

    def column(values: st.SearchStrategy[Any], kind: Any) -> NDArray[Any]:
        return np.array(data.draw(st.lists(values, min_size=count, max_size=count)), kind)

    share = st.floats(-1, 1, width=32)
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, count - 1)] * 2), max_size=10))
    is_message = column(st.booleans(), np.bool_)
    is_message[data.draw(st.integers(0, count - 1))] = True
    follow = [pair for pair in pairs if is_message[list(pair)].all()]
    messages = MessageFeatures(
        is_message,
        dense=column(share, np.float32),
        lexical=column(share, np.float32),
        speaker=column(share, np.float32),
        day=column(share, np.float32),
        beside=np.array(follow, np.int64).reshape(-1, 2).T,
        session=column(st.integers(0, count - 1), np.int64),
        asks=column(st.booleans(), np.bool_),
        characters=column(st.integers(0, 1000), np.float32),
    )
    config = HopConfig(exchange_weight=0.3, reply_weight=0.5, session_weight=0.7)
    none = np.zeros(0, np.int64)
    candidates = Candidates(
        ids=tuple(range(count)),
        features=np.zeros((count, len(SlotFeature)), np.float32),
        named=(None,) * count,
        is_fact=np.zeros(count, np.bool_),
        links=Links(none, none, none, np.zeros((0, len(LinkFeature)), np.float32), ()),
        messages=messages,
    )
    total = TextController(config).score(candidates, 0).total()
    found = config.dense_weight * messages.dense + config.lexical_weight * messages.lexical
    for place in np.flatnonzero(is_message).tolist():
        around = oracle.message_context(config, messages, found.tolist(), place)
        by_symbols = config.speaker_weight * messages.speaker + config.day_weight * messages.day
        assert total[place] == pytest.approx(found[place] + by_symbols[place] + around, abs=1e-5)
    assert not total[~is_message].any()


def test_the_reply_to_what_is_asked_is_found(toy_engine: Engine) -> None:
    # Long enough for keys that do not hold what was said before.
    reply = "Gouda since I was a small child, and on Sundays something from the goat."
    for session, mark in (("told", "."), ("asked", "?")):
        rows = [("Bo", f"Which cheese do you like best{mark}"), ("Ann", reply), ("Bo", "I see.")]
        _say(toy_engine, rows, session)
    scores = {one.source: one.score for one in toy_engine.search("Which cheese is best?")}
    assert scores["asked0"] == pytest.approx(scores["told0"], abs=1e-4)
    assert scores["asked1"] > scores["told1"] + 0.01


def test_sessions_questions_and_lengths_of_messages(toy_engine: Engine) -> None:
    rows = [
        ("s", "2024-01-05 23:00", "Any news? "),
        ("s", "2024-01-05 23:01", "Yes, from yesterday."),
        ("s", "2024-01-06 00:10", "いつ？"),
        ("t", "2024-01-06 00:10", "Good night"),
        ("s", "2024-01-06 00:11", "No idea. Why?!"),
    ]
    toy_engine.remember(
        Message(id=f"{session}{number}", session=session, speaker="Ann", time=time, text=text)
        for number, (session, time, text) in enumerate(rows)
    )
    toy_engine.ingest(Document(id="d", title="Harbour", text="Is this a question?"))
    features = _features(toy_engine, "Why?")
    assert features.is_message.tolist() == [True] * 5 + [False]
    assert features.session.tolist() == [0, 0, 1, 2, 1, 0]
    assert features.asks.tolist() == [True, False, True, False, False, False]
    assert features.characters.tolist() == [9, 20, 3, 10, 14, 0]


def test_what_was_said_on_the_day_of_the_best_message_comes_first(toy_engine: Engine) -> None:
    mole = "The mole was closed all week, and nobody knew when it would be open again."
    rows = [
        ("Ann", "2024-01-05", mole),
        ("Ann", "2024-01-06", "The kiln of the pottery cracked in the frost, they have no other."),
        ("Ann", "2024-01-06", "Somebody was at the door in the evening, but it was too late."),
        ("Ann", "2024-01-06", mole),
    ]
    _say(toy_engine, rows, name="m")
    found = _found(toy_engine, "What happened to the kiln of the pottery?")
    assert found[0] == "m1"
    assert found.index("m3") < found.index("m0")


def test_exports_have_a_slot_for_each_message(toy_engine: Engine, tmp_path: Path) -> None:
    lines = [f"{speaker}: {text}" for speaker, _, text in _TALK]
    path = tmp_path / "talk.txt"
    path.write_text("\n".join(lines))
    toy_engine.ingest(path)
    slots = toy_engine.store.fetch(range(1, 20))
    assert [slot.text for slot in slots] == lines
    assert all(MESSAGE in one.keys for one in toy_engine.store.symbols(range(1, 7)).values())
    document = toy_engine.get(str(path))
    assert document is not None
    assert all(document.text[slot.start : slot.end] == slot.text for slot in slots)
    features = _features(toy_engine, "What did Kate paint?")
    assert features.speaker.tolist() == [1, 0, 1, 0, 1, 0]
    assert features.beside.T.tolist() == [[n, n + 1] for n in range(5)]


def test_speakers_of_another_namespace_are_nobody(toy_engine: Engine) -> None:
    toy_engine.remember(_messages(), namespace="one")
    toy_engine.ingest(Document(id="d", text="Emi paints boats."), namespace="two")
    assert [one.source for one in toy_engine.search("Who is Emi?", namespace="two")] == ["d"]
    assert not toy_engine.store.messages.known([MESSAGE], Scope("two"))


def test_messages_and_documents_are_ranked_together(toy_engine: Engine) -> None:
    toy_engine.remember(_messages())
    toy_engine.ingest(Document(id="glue", title="Glue", text="Glue for oars sets in an hour."))
    assert _found(toy_engine, "Which glue for oars sets in an hour?")[0] == "glue"
    assert _found(toy_engine, "Who baked rye bread with caraway seeds?")[0] == "s1:4"


def test_questions_without_words_of_content(toy_engine: Engine) -> None:
    toy_engine.remember(_messages())
    for text in ("Emi", "Emi?", "?", "Will Emi", "Kate Bella Emi", "may", "5 January"):
        assert len(_found(toy_engine, text)) <= 10


def test_a_bundle_keeps_what_is_known_of_messages(toy_engine: Engine, tmp_path: Path) -> None:
    toy_engine.remember(_messages())
    toy_engine.export_bundle(tmp_path / "bundle")
    encoder = ToyEncoder()
    Engine.import_bundle(tmp_path / "bundle", tmp_path / "copy", encoder)
    with Engine.open(tmp_path / "copy", encoder=encoder, reader="sentences") as copy:
        assert _keys(copy) == _keys(toy_engine)
        assert copy.verify().problems == ()


def test_one_title_is_not_enough_but_one_message_is() -> None:
    message = Message(id="1", speaker="Ann", text="Hello")
    [document] = recognise_turns([message_document(message)])
    assert document.turn is not None
    assert document.title == "Ann"
    plain = parse_document(Document(id="1", title="Ann, 2024-01-05", text="Hello"))
    assert recognise_turns([plain]) == [plain]
