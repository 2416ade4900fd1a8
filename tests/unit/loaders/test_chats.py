from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memnet.errors import InputError
from memnet.ingest.selection import ReadOptions, choose_format
from memnet.loaders.chats.transcripts import is_transcript, is_whatsapp, read_chat, read_whatsapp
from memnet.loaders.formats import SourceFile
from tests.unit.loaders.parsed import only, placed, problems, read, texts

_ANDROID = """\
12/03/2024, 14:05 - Messages and calls are end-to-end encrypted. Tap to learn more.
12/03/2024, 14:05 - Ann Lee: See you at 5
and bring:

cake
13/03/2024, 9:15 - Ben: <Media omitted>
13/03/2024, 9:16 - Ben: IMG-20240313-WA0001.jpg (file attached)
Our table
13/03/2024, 9:17 - Ann Lee added Cy
13/03/2024, 9:18 - +49 170 1234567: Note: bring 5 chairs <This message was edited>
13/03/2024, 9:19 - Ben: This message was deleted
"""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('{"speaker": "Ann", "text": "Hi"}\n', "conversation"),
        ('{"text": "Hi", "time": "2024-03-01", "speaker" : "Ann"}\n', "conversation"),
        ('{"id": "a", "text": "Say \\"speaker\\": twice."}\n{"speaker": "Ann"}\n', "jsonl"),
        ("", "jsonl"),
    ],
)
def test_lines_with_a_speaker_are_messages(line: str, name: str) -> None:
    assert choose_format(Path("a.jsonl"), ReadOptions(), line.encode()).name == name


def test_android_export() -> None:
    chat = only(read("WhatsApp Chat with Ann Lee.txt", _ANDROID))
    assert placed(chat) == [
        ("2024-03-12 Ann Lee", "Ann Lee: See you at 5\nand bring:\n\ncake"),
        ("2024-03-13 Ben", "Ben: Our table"),
        ("2024-03-13 +49 170 1234567", "+49 170 1234567: Note: bring 5 chairs"),
    ]
    assert chat.title == "WhatsApp Chat with Ann Lee"
    assert chat.metadata == {
        "participants": ["Ann Lee", "Ben", "+49 170 1234567"],
        "first": "2024-03-12",
        "last": "2024-03-13",
    }
    assert {block.kind for block in chat.blocks} == {"message"}


@pytest.mark.parametrize(
    "line",
    [
        'Ann created group "Garden: spring"',
        "Ann created group Garden: spring",
        'Ann changed the subject from "Garden" to "Harvest: autumn"',
        "Ann hat die Gruppe „Garten: Frühling“ erstellt",
        "Ann a créé le groupe « Jardin : printemps : suite »",
        "Ann changed the group description to: bring seeds",
        "+49 170 1234567 joined using this group's invite link: https://chat.example.org/x",
        "Messages are end-to-end encrypted: no one else can read them.",
        "Cy added Ben",
    ],
)
def test_lines_of_the_app_are_nobodys_words(line: str) -> None:
    said = ["Ann: The seeds are here", line, 'Jo "Bo" Lee: Good: I come', "Ann: He said: “yes”"]
    found = read_whatsapp("".join(f"12/03/2024, 14:05 - {one}\n" for one in said))
    assert [f"{message.speaker}: {message.text}" for message in found] == [said[0], *said[2:]]


def test_ios_export() -> None:
    text = (
        "\ufeff[12.03.24, 14:05:33] Ann: \u200eMessages and calls are end-to-end encrypted.\r\n"
        "[12.03.24, 14:06:01] Ann: Hi @\u2068Ben\u2069\r\n"
        "\u200e[13.03.24, 09:00:00] Ben: \u200eimage omitted\r\n"
        "[13.03.24, 09:01:00] Ben: Nice\r\n"
    )
    chat = only(read("WhatsApp Chat - Ann.zip/_chat.txt", text))
    assert placed(chat) == [("2024-03-12 Ann", "Ann: Hi @Ben"), ("2024-03-13 Ben", "Ben: Nice")]
    assert chat.title == "WhatsApp Chat - Ann"
    assert only(read("_chat.txt", text)).title == "Ann and Ben"


@pytest.mark.parametrize(
    "stamp",
    [
        "12/03/2024, 14:05 - ",
        "3/12/24, 2:05\u202fPM - ",
        "12/3/24 14:05 - ",
        "12.03.24, 14:05 - ",
        "12.3.2024 klo 14.05 - ",
        "12-03-2024 14:05 - ",
        "2024-03-12, 14:05 - ",
        "2024/03/12 14:05 - ",
        "12/03/2024 à 14:05 - ",
        "12/3/2024, 2:05 p. m. - ",
        "12/03/2024, 2:05 pm - ",
        "12/03/2567 14:05 - ",
        "2024. 3. 12. 오후 2:05 - ",
        "2024年3月12日 14:05 - ",
        "١٢/٠٣/٢٠٢٤، ١٤:٠٥ - ",
        "[12.03.24, 14:05:33] ",
        "[3/12/24, 2:05:33\u202fPM] ",
        "[2024/03/12 下午2:05:33] ",
        "[2024-03-12, 14:05:33] ",
    ],
)
def test_times_of_many_languages(stamp: str) -> None:
    text = f"{stamp}Ann: Hello\n{stamp}Ben: Good: day\nto you"
    assert is_whatsapp(text)
    assert [(said.speaker, said.text) for said in read_whatsapp(text)] == [
        ("Ann", "Hello"),
        ("Ben", "Good: day\nto you"),
    ]
    assert {message.day for message in read_whatsapp(text)} == {"2024-03-12"}


@given(
    st.dates(date(2015, 1, 1), date(2026, 1, 1)),
    st.lists(st.integers(0, 9), min_size=25, max_size=60),
    st.sampled_from(["{1:02}/{2:02}/{0}, 14:05 - ", "{2:02}/{1:02}/{0}, 14:05 - "]),
)
def test_day_and_month_are_told_apart(first: date, gaps: list[int], form: str) -> None:
    """Chats over some weeks have the days that they were written with, in both orders."""
    days = [first + timedelta(sum(gaps[:at])) for at in range(len(gaps))]
    if days[-1] - days[0] < timedelta(45):
        return
    text = "\n".join(form.format(day.year, day.month, day.day) + "Ann: Hello" for day in days)
    assert [said.day for said in read_whatsapp(text)] == [day.isoformat() for day in days]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "An interview\n\nANN: How are you?\nBEN: Fine: thanks.\nANN: Good.\nBEN: And you, Ann?",
            [
                ("line 1", "An interview"),
                ("line 3", "ANN: How are you?"),
                ("line 4", "BEN: Fine: thanks."),
                ("line 5", "ANN: Good."),
                ("line 6", "BEN: And you, Ann?"),
            ],
        ),
        (
            "[00:00:12] Ann: How are you?\n[00:00:15] Ben Smith: Fine, and\nyou?\n"
            "[00:01:20] Ann: Very well.\n[00:01:22] Ben Smith: Good then.",
            [
                ("00:00:12 Ann", "Ann: How are you?"),
                ("00:00:15 Ben Smith", "Ben Smith: Fine, and\nyou?"),
                ("00:01:20 Ann", "Ann: Very well."),
                ("00:01:22 Ben Smith", "Ben Smith: Good then."),
            ],
        ),
        (
            "12:03:10\t From Ann Lee to Everyone : Can you hear me?\n"
            "12:03:15\t From Ben to Everyone : Yes, we can.\n"
            "12:03:20\t From Ann Lee to Everyone : Good then.\n"
            "12:03:25\t From Ben to Everyone : Hello Ann.",
            [
                ("12:03:10 Ann Lee", "Ann Lee: Can you hear me?"),
                ("12:03:15 Ben", "Ben: Yes, we can."),
                ("12:03:20 Ann Lee", "Ann Lee: Good then."),
                ("12:03:25 Ben", "Ben: Hello Ann."),
            ],
        ),
        (
            "Interview\nDate: January 15, 2026\nDuration: 45 minutes\n\n"
            "Interviewer: Tell me of it.\n\n"
            "Participant: Sure: it burns.\n\nIt is red.\n\nInterviewer: And then?\n\n"
            "Participant: It is blue.",
            [
                ("line 1", "Interview\nDate: January 15, 2026\nDuration: 45 minutes"),
                ("line 5", "Interviewer: Tell me of it."),
                ("line 7", "Participant: Sure: it burns.\n\nIt is red."),
                ("line 11", "Interviewer: And then?"),
                ("line 13", "Participant: It is blue."),
            ],
        ),
        (
            "**[00:05] Speaker 0:** hello to you\n**[00:09] Speaker 1:** hi to you\n"
            "**[00:15] Speaker 0:** bye to you\n**[00:19] Speaker 1:** see you then",
            [
                ("00:05 Speaker 0", "Speaker 0: hello to you"),
                ("00:09 Speaker 1", "Speaker 1: hi to you"),
                ("00:15 Speaker 0", "Speaker 0: bye to you"),
                ("00:19 Speaker 1", "Speaker 1: see you then"),
            ],
        ),
        (
            "2024-03-01 12:03:10 <ann> hi all\n2024-03-01 12:03:12 <ben_> hello ann\n"
            "2024-03-02 12:03:10 <ann> still here?\n2024-03-02 12:03:11 <ben_> no, sorry",
            [
                ("2024-03-01 ann", "ann: hi all"),
                ("2024-03-01 ben_", "ben_: hello ann"),
                ("2024-03-02 ann", "ann: still here?"),
                ("2024-03-02 ben_", "ben_: no, sorry"),
            ],
        ),
    ],
)
def test_transcripts(text: str, expected: list[tuple[str, str]]) -> None:
    assert placed(only(read("t.txt", text))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Apple: a round fruit\nBread: made of flour\nCheese: made of milk\nDates: sweet fruit",
        "Name: Ann Lee\nAge: 33 years\nCity: Saltmere by sea\n\n" * 8,
        "Q: What is it?\nA: It is a lamp.\n\n" * 8,
        "INFO: server has started\nERROR: file was lost\n" * 8,
        "2024-03-12 14:05:33 - INFO: started up\n2024-03-12 14:05:34 - ERROR: went down\n" * 8,
        "width: 3 pixels wide\nheight: 4 pixels high\n" * 8,
        "The train leaves at 12:30: be there.\nIt is late: Ann said so.\n" * 8,
        "From: Ann Lee\nTo: Ben Smith\nSubject: the cake\nDate: 1 March\n\nHello Ben.",
        "",
        ": \n: \n: \n: \n",
    ],
)
def test_what_is_no_chat_stays_text(text: str) -> None:
    assert read_chat(SourceFile("a.txt", b""), text) is None


def test_forced_format_reads_what_is_not_evident() -> None:
    text = "Ann: See you.\nBen: Yes."
    assert not is_transcript(text)
    assert texts(only(read("notes.md", text, "chat"))) == ["Ann: See you.", "Ben: Yes."]
    with pytest.raises(InputError, match="holds no chat"):
        read("a.txt", "Nothing said here.", "chat")


@given(st.text(alphabet=st.sampled_from("1/.:,-[]<>() \nAb:\u200e*\u00e9"), max_size=200))
def test_any_text_is_read(text: str) -> None:
    read_whatsapp(text)
    read_chat(SourceFile("a.txt", b""), text)


def test_sessions_of_json_lines() -> None:
    lines = """\
{"id": "1", "session": "s1", "speaker": "Ann", "time": "2024-03-01T14:05:00", "text": "Hi"}
{"session": "s2", "speaker": "Cy", "time": "2024-03-02", "text": "Alone"}

{"session": "s1", "speaker": "Ben", "time": "2024-03-03T00:05:00+09:00", "text": "Hi Ann"}
{"session": "s1", "speaker": "Ben", "text": 3}
{"session": "s1", "text": "Who said it?"}
{"session": [], "speaker": "Ben", "text": "x"}
{"session": "s1", "speaker": "Ben", "time": "soon", "text": "x"}
nothing
"""
    items = read("talk.jsonl", lines, "conversation")
    first, second = items[-2:]
    assert placed(only([first])) == [
        ("2024-03-01 Ann", "Ann: Hi"),
        ("2024-03-03 Ben", "Ben: Hi Ann"),
    ]
    assert only([first]).name == "talk.jsonl#s1"
    assert placed(only([second])) == [("2024-03-02 Cy", "Cy: Alone")]
    found = list(problems(items))
    assert [line.partition(": ")[0] for line in found] == [
        f"talk.jsonl, line {number}" for number in range(5, 10)
    ]
    assert "text" in found[0]
    assert "speaker" in found[1]
    assert "session" in found[2]
    assert "soon" in found[3]
