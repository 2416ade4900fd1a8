import mailbox
import time
from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP
from functools import partial
from pathlib import Path

import pytest

from memnet.errors import InputError
from memnet.loaders import mail
from memnet.loaders.chats import transcripts
from memnet.loaders.document import ParsedDocument
from tests.cost import steps
from tests.unit.loaders.parsed import kinds, only, placed, problems, read, texts

_HEAD = "From: Ann Lee <ann@example.org>\nTo: ben@example.org\nDate: Fri, 1 Mar 2024 23:30 -0500\n"


_YES = ("paragraph", "Yes.")


def _message(body: str = "Hello.\n", **headers: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = headers.pop("From", "Ann Lee <ann@example.org>")
    for key, value in headers.items():
        message[key.replace("_", "-")] = value
    message.set_content(body)
    return message


def test_a_message() -> None:
    message = _message(
        "Hi Ben,\n\nsee you at 5.\n\n-- \nAnn\n",
        From='"Léa, Ann" <ann@example.org>',
        To="Ben <ben@example.org>, cy@example.org",
        Subject="Grüße aus Saltmere",
        Date="Fri, 1 Mar 2024 23:30:00 -0500",
        Message_ID="<m1@example.org>",
        In_Reply_To="<m0@example.org>",
    )
    found = only(read("a.eml", message.as_bytes(policy=SMTP)))
    assert found.title == "Grüße aus Saltmere"
    assert found.name == "a.eml"
    assert found.metadata == {
        "from": "Léa, Ann <ann@example.org>",
        "to": ["Ben <ben@example.org>", "cy@example.org"],
        "date": "2024-03-01T23:30:00-05:00",
        "message_id": "m1@example.org",
        "in_reply_to": "m0@example.org",
    }
    assert texts(found) == [
        "From: Léa, Ann; To: Ben, cy; Date: 2024-03-01",
        "Hi Ben,",
        "see you at 5.",
        "Ann",
    ]
    assert {place for place, _ in placed(found)} == {"2024-03-01 Léa, Ann"}


@pytest.mark.parametrize("subtype", ["plain", "html"])
def test_what_a_message_quotes_is_not_said_by_its_sender(subtype: str) -> None:
    message = _message(
        "Yes.\n\nBen wrote:\n> When?\n\nBye."
        if subtype == "plain"
        else "<p>Yes.</p><blockquote><p>When?</p></blockquote><p>Bye.</p>",
        From="Ann <ann@example.org>",
        Date="Fri, 1 Mar 2024 23:30:00 +0000",
    )
    message.set_type(f"text/{subtype}")
    places = {
        text.split("\n")[-1]: place for place, text in placed(only(read("a.eml", bytes(message))))
    }
    assert places["When?"] == "quoted by Ann, 2024-03-01"
    assert places["Yes."] == places["Bye."] == "2024-03-01 Ann"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "Yes.\n\nOn Thu, 29 Feb 2024 at 12:00, Ben <ben@example.org>\nwrote:\n"
            "> When?\n>\n> > Or where?\n\nBye.",
            [
                _YES,
                ("quote", "On Thu, 29 Feb 2024 at 12:00, Ben <ben@example.org>\nwrote:\nWhen?"),
                ("quote", "Or where?"),
                ("paragraph", "Bye."),
            ],
        ),
        (
            'Yes.\n02.04.2012 14:20 пользователь "Ben" <b@x.org> написал:\n> When?',
            [
                _YES,
                ("quote", '02.04.2012 14:20 пользователь "Ben" <b@x.org> написал:\nWhen?'),
            ],
        ),
        (
            "Yes.\n\n________________________________\nFrom: Ben\nSent: Monday\nTo: Ann\n\nWhen?",
            [_YES, ("quote", "From: Ben\nSent: Monday\nTo: Ann"), ("quote", "When?")],
        ),
        (
            "Yes.\n\n-----Original Message-----\nFrom: Ben\n\nWhen?",
            [_YES, ("quote", "-----Original Message-----\nFrom: Ben"), ("quote", "When?")],
        ),
        (
            "We need:\n- a cake, and\n  candles\n- tea\n\n1. First this.\n2. Then that.",
            [
                ("paragraph", "We need:"),
                ("item", "- a cake, and\n  candles"),
                ("item", "- tea"),
                ("item", "1. First this."),
                ("item", "2. Then that."),
            ],
        ),
        ("He said:\n\nx > 5 is true", [("paragraph", "He said:"), ("paragraph", "x > 5 is true")]),
    ],
)
def test_quotations_are_apart(body: str, expected: list[tuple[str, str]]) -> None:
    assert kinds(only(read("a.eml", f"{_HEAD}\n{body}")))[1:] == expected


def test_messages_of_a_thread_share_a_name() -> None:
    for subject in ("Re: Plans", "RE: Fwd: Plans", "Aw: Re[2]: Plans"):
        assert only(read("a.eml", f"{_HEAD}Subject: {subject}\n\nHi")).names == ("Plans",)
    assert only(read("a.eml", f"{_HEAD}Subject: Plans: Re: it\n\nHi")).names == ()


def test_flowed_text() -> None:
    head = f"{_HEAD}Content-Type: text/plain; format=flowed\n\n"
    body = "> A long \n> quotation.\nThis is \none line.\n From here.\n-- \nAnn"
    assert kinds(only(read("a.eml", head + body)))[1:] == [
        ("quote", "A long quotation."),
        ("paragraph", "This is one line.\nFrom here."),
        ("paragraph", "Ann"),
    ]


def test_html_where_the_plain_text_says_less() -> None:
    message = _message("Please view this as HTML.\n", Subject="News")
    page = (
        "<p>The <b>boat</b> leaves at nine.</p><ul><li>Tea<li>Cake</ul>" + "<p>More words.</p>" * 9
    )
    message.add_alternative(page, subtype="html")
    found = texts(only(read("a.eml", message.as_bytes())))
    assert found[1:4] == ["The boat leaves at nine.", "- Tea", "- Cake"]
    message = _message("The boat leaves at nine.\n", Subject="News")
    message.add_alternative("<p>The <b>boat</b> leaves at nine.</p>", subtype="html")
    assert texts(only(read("a.eml", message.as_bytes())))[1:] == ["The boat leaves at nine."]


def test_attachments_are_documents() -> None:
    message = _message(Subject="Files")
    message.add_attachment("The plan of the pier.", filename="pier plan.txt")
    message.add_attachment("Another.", filename="pier plan.txt")
    message.add_attachment("# The lamp\n\nIt is lit.", subtype="markdown", filename="lamp.md")
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="../../x.png")
    message.add_attachment(_message("Inner text.", Subject="Inner"))
    items = read("a.eml", message.as_bytes())
    found = {item.name: item for item in items if isinstance(item, ParsedDocument)}
    assert list(found) == [
        "a.eml",
        "a.eml#pier plan.txt",
        "a.eml#2-pier plan.txt",
        "a.eml#lamp.md",
        "a.eml#message-1",
    ]
    attached = found["a.eml"].metadata["attachments"]
    assert attached == ["pier plan.txt", "pier plan.txt", "lamp.md", "x.png"]
    assert found["a.eml#pier plan.txt"].title == "pier plan"
    assert "The plan of the pier." in found["a.eml#pier plan.txt"].text
    assert found["a.eml#lamp.md"].title == "The lamp"
    assert found["a.eml#message-1"].title == "Inner"
    assert "Inner text." in found["a.eml#message-1"].text
    assert "Inner text." not in found["a.eml"].text


def test_a_parser_that_breaks_costs_only_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    message = _message(Subject="Files", Message_ID="<1@x>")
    message.add_attachment("The plan.", filename="plan.txt")
    line = b"From a@b 2024\n"
    data = line + message.as_bytes() + b"\n\n" + line + _HEAD.encode() + b"\nHi\n"

    def broken(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(transcripts, "load", broken)
    items = read("a.mbox", data)
    assert list(problems(items)) == [
        "a.mbox#1@x#plan.txt: can't be read as one of text files (KeyError: 'x'); it may be damaged"
    ]
    assert len(items) == 3
    monkeypatch.setattr(mail, "getaddresses", broken)
    assert list(problems(read("a.mbox", data))) == [
        f"a.mbox#{n}: is a damaged e-mail (KeyError); export it again" for n in (1, 2)
    ]


@pytest.mark.parametrize(
    ("charset", "data", "expected"),
    [
        ("iso-8859-1", "Café".encode("latin-1"), "Café"),
        ("iso-8859-1", "\u201cCafé\u201d".encode("cp1252"), "\u201cCafé\u201d"),
        ("us-ascii", "Café".encode(), "Café"),
        ("no-such-thing", "Café".encode(), "Café"),
        ("utf-8", "Café".encode("cp1252"), "Café"),
        ("koi8-r", "Привет".encode("koi8-r"), "Привет"),
        ("iso-2022-jp", "こんにちは".encode("iso-2022-jp"), "こんにちは"),
        ("utf-7", b"Hi", "Hi"),
        ("base64", b"Hi", "Hi"),
        ("unicode_escape", b"\\u0041", "\\u0041"),
        ("GB2312", "陶喆和朱镕基".encode("gbk"), "陶喆和朱镕基"),
        ("gb2312", "联通".encode("gb2312"), "联通"),  # goes as UTF-8 by chance
        ("ks_c_5601-1987", "뷁 숖 똑똑".encode("cp949"), "뷁 숖 똑똑"),
        ("x-sjis", "№３ ㈱髙島".encode("cp932"), "№３ ㈱髙島"),
        ("iso-2022-jp", "㈱髙島".encode("cp932"), "㈱髙島"),
        ("iso-2022-jp", b"\x1b$B-!-j9b\x1b(B 2\x1b$B0!\x1b(J.", "①㈱高 2亜."),
        ("windows-1251", "Привет".encode(), "Привет"),
        ("gb2312", "价格".encode("gbk") + b"\xff", "价格\ufffd"),
    ],
)
def test_charsets(charset: str, data: bytes, expected: str) -> None:
    head = f"{_HEAD}Content-Type: text/plain; charset={charset}\n\n"
    assert texts(only(read("a.eml", head.encode() + data)))[1] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Où êtes-vous ?".encode(), "Où êtes-vous ?"),
        ("Où êtes-vous ?".encode("cp1252"), "Où êtes-vous ?"),
        ("Où =?gb2312?B?6HM=?= é \\users".encode(), "Où 鑣 é \\users"),
        ("Привет, друзья".encode("cp1251"), "\ufffd" * 6 + ", " + "\ufffd" * 6),
    ],
)
def test_headers_with_bytes_beyond_ascii(value: bytes, expected: str) -> None:
    data = b"From: " + value.replace(b",", b"") + b" <a@x>\nSubject: " + value + b"\n\nHi.\n"
    found = only(read("a.eml", data))
    assert found.title == expected
    assert found.metadata["from"] == f"{expected.replace(',', '')} <a@x>"


def test_mailbox_as_the_standard_library_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "box.mbox"
    box = mailbox.mbox(path)
    bodies = [f"Message {number}.\n\nFrom here on\n>From there\n" for number in range(20)]
    for number, body in enumerate(bodies):
        box.add(_message(body, Subject=f"No {number}", Message_ID=f"<{number}@x>"))
    box.add(_message("Same id.", Message_ID="<3@x>"))
    box.close()
    items = read("box.mbox", path.read_bytes())
    found = [item for item in items if isinstance(item, ParsedDocument)]
    assert len(items) == len(found) == 21
    assert [item.name for item in found] == [f"box.mbox#{n}@x" for n in range(20)] + ["box.mbox#21"]
    assert texts(found[3])[1:] == ["Message 3.", "From here on\nFrom there"]


def test_a_line_that_begins_with_from_separates_nothing() -> None:
    data = f"From a@b Fri Mar  1 2024\n{_HEAD}\nHello.\n\nFrom Ann we heard nothing.\n\nBye.\n"
    found = only(read("a.mbox", data))
    assert texts(found)[1:] == ["Hello.", "From Ann we heard nothing.", "Bye."]


def test_a_large_mailbox_takes_linear_time() -> None:
    one = (
        f"From a@b Fri Mar  1 2024\n{_HEAD}Subject: Plans\n\n" + "Some words to read.\n" * 20 + "\n"
    )
    small, large = (steps(partial(read, "a.mbox", one * count)) for count in (100, 400))
    assert large < 5 * small
    assert len(read("a.mbox", one * 100)) == 100


@pytest.mark.parametrize("data", [b"", b"Hello, this is a text.\n", b"\x00\x01\x02"])
def test_what_is_no_mail(data: bytes) -> None:
    with pytest.raises(InputError, match="no e-mail"):
        read("a.eml", data)


def test_a_message_without_anything() -> None:
    assert list(problems(read("a.eml", "X-Mailer: x\n\n"))) == [
        "a.eml: is an e-mail without a sender and a text; leave it out"
    ]


@pytest.mark.parametrize(
    "data",
    [
        "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(3000)),
        "Content-Type: message/rfc822\n\n" * 3000,
        "Content-Type: multipart/mixed; boundary=b\n\n" + "--b\n\nx\n" * 5000,
        f"{_HEAD}Subject: {'=?utf-8?q?a?= ' * 20000}\n\nHi",
        f"From: {'(' * 5000}a\n\nHi",
        f"From: {'a@b, ' * 20000}\n\nHi",
        f"{_HEAD}\n" + "> " * 20000 + "x\n" + ">" * 20000,
        f"{_HEAD}\n" + "On a wrote\n" * 5000 + "\n" + "a" * 100_000 + ":\n> x",
        f"{_HEAD}Content-Type: text/plain; format=flowed\n\n" + "a \n" * 20000,
        "From a 2024\nA: b\n\n" * 2000,
        "Subject: x\nContent-Disposition: attachment; filename*=utf-8''%ff%fe%00.txt\n\nHi",
        "From: a\nDate: Fri, 99 Foo 99999 99:99:99 +9999\n\nHi",
        "From: =?utf-16?b?AAAA?= <a@b>\nSubject: =?x?b?!!!?=\n\nHi",
    ],
)
def test_hostile_mail_takes_little_time(data: str) -> None:
    started = time.process_time()
    with suppress(InputError):
        read("a.eml", data)
    assert time.process_time() - started < 20


@pytest.mark.parametrize("charset", ["charset*=utf-8''latin1", 'charset="a\0b"', "charset*0*=''x"])
def test_a_charset_of_any_shape_leaves_the_text(charset: str) -> None:
    mail_text = f"{_HEAD}Content-Type: text/plain; {charset}\n\nSee you in the caf\xe9.\n"
    assert "See you in the caf" in only(read("a.eml", mail_text.encode("latin-1"))).text
