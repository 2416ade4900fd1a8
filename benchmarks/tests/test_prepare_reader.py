import gzip
import json
import tarfile
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from benchmarks import prepare_reader
from benchmarks.prepare_everyday import mixture
from benchmarks.reader_data import conversations, documents, files, held_out
from benchmarks.reader_data.contrast import written
from benchmarks.reader_data.held_out import part_of, without_held_out
from benchmarks.reader_data.passages import OWN_FOLDERS, SETS
from benchmarks.reader_data.polar import polar_examples, polar_question
from memnet.errors import InputError
from memnet.training import read_reader_examples

PLACES = ("Amsel", "Brock", "Cardew", "Dell", "Erin", "Fenn", "Gorse", "Hale", "Irth", "Jarrow")


def _row(place: str, number: int) -> dict[str, Any]:
    text = f"{place} {number} is very far away. Its light was raised by Ada long ago."
    return {
        "id": f"{place}-{number}",
        "question": f"Who raised the light of {place} {number}?",
        "answers": ["Ada", " "],
        "title": f"The_{place}",
        "text": text,
        "answer_start": text.index("Ada"),
    }


def _rows(name: str, number: int) -> list[dict[str, Any]]:
    """Of each place, with numbers that no other set has."""
    rows = [_row(place, 1000 * number + index) for index in range(15) for place in PLACES]
    if name == "unanswerable_mined":
        for row in rows:
            row |= {"answers": [], "answer_start": None, "source": "squadshifts_wiki-1"}
            row["question"] += " When?"
    if name == "squad_train_parts":
        for row in rows[::2]:
            row["part"] = "sentence-nqg"
    return rows


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def _document_question(collection: str, number: int, **changes: Any) -> dict[str, Any]:
    passage = (
        "# Lamps\n\nThe lamp of the [light](lamp.md) burns `<oil>` of seals.\n\n"
        f"It has {number}.\n\n"
        f"# Keepers\n\nKeeper {number} lights it:\n\n- climb the stairs\n- strike a match"
    )
    return {
        "id": f"{collection}-{number}",
        "collection": collection,
        "source": "a/lamp.md",
        "question": f"What does lamp {number} burn?",
        "type": "value",
        "answers": ["`<oil>` of seals"],
        "evidence": [{"source": "a/lamp.md", "quote": "lamp of the [light](lamp.md) burns"}],
        "best": ["The lamp of the [light](lamp.md) burns `<oil>` of seals."],
        "passage": passage,
        **changes,
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all sets, small."""
    folder = tmp_path_factory.mktemp("data")
    for number, one in enumerate(SETS):
        _write(folder / "reader_more" / f"{one.name}.jsonl.gz", _rows(one.name, number))
    for number, one in enumerate(OWN_FOLDERS, start=100):
        _write(folder / one.name / "train.jsonl", _rows(one.name, number))
    paragraphs = _rows("squad", 200)
    _write(folder / "squad" / "corpus.jsonl", paragraphs)
    asked = [{"gold": [row["id"]], "answerable": True, **row} for row in paragraphs]
    asked = [{name: row[name] for name in row if name != "text"} for row in asked]
    _write(folder / "squad" / "train.jsonl", [*asked, {**asked[0], "answerable": False}])
    rows = [
        {
            **row,
            "supporting": ["Led"],
            "passages": [
                {"title": "Led", "text": row["text"]},
                {"title": "Far", "text": "Nobody was there."},
                {"title": "Near", "text": "Ada was there."},
            ],
        }
        for row in _rows("multihop", 300)
    ]
    for number, name in enumerate(("hotpot", "musique", "2wiki")):
        _write(folder / "multihop_train" / f"{name}.jsonl", rows[number::4])
    hidden = [{**row, "supporting": []} for row in rows[3::4]]
    _write(folder / "reader_more" / "multihop2.jsonl.gz", hidden)
    docs = [
        _document_question("svelte", 1),
        _document_question("notes", 2),
        _document_question("notes", 3, type="unanswerable", answers=[], best=[], evidence=[]),
    ]
    _write(folder / "docs_train" / "svelte.jsonl", docs[:1])
    _write(folder / "docs_train" / "notes.jsonl", docs[1:])
    return folder


@pytest.fixture(scope="module")
def out(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("out")
    steps = ["- climb the stairs", "- strike a match"]
    how = {"type": "how", "answers": ["climb the stairs"], "best": steps, "question": "Light it?"}
    with ZipFile(out / "everyday.zip", "w") as archive:
        archive.writestr("train/shed/files/tools.md", "The saw hangs behind the door.")
        quote = {"source": "tools.md", "quote": "The saw hangs behind the door."}
        asked = {"question": "Where is the saw?", "type": "value", "answers": ["behind the door"]}
        archive.writestr("train/shed/files/boats.csv", "Boat,Built,Berth\nHeron,1981,north\n")
        row = {"source": "boats.csv", "quote": "Heron,1981,north"}
        built = {"question": "How old is the Heron?", "type": "value", "answers": ["1981"]}
        by = {"question": "Who built the Heron?", "type": "unanswerable", "answers": []}
        questions = [
            {**asked, "evidence": [quote]}, {**built, "evidence": [row]}, {**by, "evidence": [row]},
        ]  # fmt: skip
        archive.writestr("train/shed/questions.jsonl", "\n".join(map(json.dumps, questions)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.questions.EVERYDAY", out / "everyday.zip")
        patch.setattr(conversations, "CONVERSATIONS", _write_conversations(out))
        patch.setattr(documents, "read_questions", lambda: [_document_question("cairn", 4, **how)])
        for name in ("one", "two"):
            arguments = ["", "--data", str(data), "--out", str(out / name)]
            patch.setattr("sys.argv", [*arguments, "--pack", str(out / f"{name}.tar")])
            prepare_reader.main()
    return out


def _write_conversations(folder: Path) -> Path:
    """Two conversations, one of which is held out."""
    said = [("Ann", "Who brings the ladder?"), ("Bo", "I can"), ("Ann", "The gate is open from 7")]
    messages = [
        {"speaker": speaker, "time": f"2026-03-01T10:0{number}", "text": text}
        for number, (speaker, text) in enumerate(said)
    ]
    asked = [
        {"question": "Whose ladder is it?", "type": "unanswerable", "answers": [], "evidence": []},
        {"question": "Who has the ladder?", "type": "who", "answers": ["Bo"], "evidence": [0, 1]},
        {"question": "Is Bo late?", "type": "yesno", "answers": ["no"], "evidence": [0, 2]},
    ]
    rows = [
        {"title": title, "kind": "chat", "part": part, "messages": messages, "questions": asked}
        for title, part in (("Shed", "train"), ("Barn", "held_out"))
    ]
    path = folder / "conversations.jsonl"
    files.write_lines(path, rows)
    return path


def _read(path: Path) -> list[dict[str, Any]]:
    return list(files.lines(path))


def test_everyday_files_teach_too(out: Path) -> None:
    found = [one for one in _read(out / "one" / "train.jsonl") if one["set"] == "everyday"]
    saw = [tuple(one["answers"]) for one in found if one["question"] == "Where is the saw?"]
    assert set(saw) == {("behind the door",), ()}
    assert saw.count(("behind the door",)) == documents.TIMES


def test_excerpts_of_conversations_hold_what_answers(out: Path) -> None:
    own = _read(out / "one" / "conversations.jsonl")
    assert {one["set"] for one in own} == {"conversations"}
    assert [one["answers"] for one in own] == [[], ["Bo"], ["no"]]
    for one in own:
        [passage] = one["passages"]
        assert (
            passage["text"]
            == "Ann: Who brings the ladder?\nBo: I can\nAnn: The gate is open from 7"
        )
    assert own[1]["quotes"] == ["Who brings the ladder?", "I can"]


def test_everyday_examples_are_mixed_once_and_without_what_is_held_out(out: Path) -> None:
    about, chats, general = (
        _read(out / "one" / f"{name}.jsonl") for name in ("train", "conversations", "general")
    )
    mixed = mixture(about, chats, general, 0)
    assert mixed == mixture(about, chats, general, 0)
    asked = [one for one in mixed.drawn if one["question"] == "Where is the saw?"]
    assert len([one for one in asked if one["answers"]]) == 1
    parts = [one["part"] for one in mixed.drawn if "part" in one]
    assert {*parts} == {"train"}
    assert 0 < len(parts) < sum(one.get("part") == "train" for one in written())


def test_each_pass_has_the_last_collections_and_the_conversations() -> None:
    def example(name: str, collection: str) -> dict[str, Any]:
        passages = [{"title": "Shed", "text": f"The {name} hangs in the {collection} shed."}]
        return {
            "question": f"Where is the {name} of {collection}?", "passages": passages, "others": [],
            "answers": [f"the {collection} shed"], "quotes": [passages[0]["text"]],
            "collection": collection, "set": "documents" if collection == "valkey" else "everyday",
        }  # fmt: skip

    prepared = [
        example("saw", name) for name in ("a01", "u01", "v02", "valkey", "w03", "x04", "y05", "z06")
    ]
    chats = [{**example("rope", "chat"), "set": "conversations"}]
    mixed = mixture([*prepared, *prepared], chats, [], 0)
    asked = [one["question"] for one in mixed.each if one["answers"] and len(one["passages"]) == 1]
    assert {one.split()[-1] for one in asked} == {"y05?", "z06?", "chat?"}
    whole = [one["collection"] for one in mixed.each if one.get("collection") and one["answers"]]
    assert max(map(whole.count, whole)) <= 2  # once whole, and perhaps its quotation alone
    others = [one["collection"] for one in mixed.drawn if one["set"] in ("documents", "everyday")]
    assert sorted(others) == ["a01", "u01", "v02", *(5 * ["valkey"]), "w03", "x04"]


def test_rows_of_tables_are_read_alone_with_their_headers(out: Path) -> None:
    found = [one for one in _read(out / "one" / "train.jsonl") if one["set"] == "everyday"]
    row = {"title": "boats", "text": "Boat: Heron; Built: 1981; Berth: north"}
    alone = {(one["question"], *one["answers"]) for one in found if [row] == one["passages"]}
    assert {("How old is the Heron?", "1981"), ("Who built the Heron?",)} <= alone
    assert all(one["passages"] for one in found)


def test_the_same_data_give_the_same_files(out: Path) -> None:
    for file in sorted((out / "one").iterdir()):
        assert file.read_bytes() == (out / "two" / file.name).read_bytes()
    assert (out / "one.tar").read_bytes() == (out / "two.tar").read_bytes()


def test_nothing_is_in_train_and_kept(out: Path) -> None:
    names = ("general", "train", "dev", "held_out")
    parts = {name: _read(out / "one" / f"{name}.jsonl") for name in names}
    kept = [*parts["dev"], *parts["held_out"]]
    for field in ("question", "passages"):
        learned = [*parts["general"], *parts["train"]]
        train = {json.dumps(one[field]) for one in learned if one["set"] != "documents"}
        assert train.isdisjoint(json.dumps(one[field]) for one in kept)
    sets = {name: {one["set"] for one in examples} for name, examples in parts.items()}
    assert sets["dev"] == {"squadshifts_wiki", "unanswerable_mined", "documents"}
    assert {"squad", "nq_oracle", "hotpot", "multihop2", "squad_train_parts"} <= sets["held_out"]
    assert "qamr" not in sets["held_out"] | sets["dev"]
    assert {one.name for one in SETS} | {"polar"} <= sets["general"]
    contrasts = {"written", "unanswering", "other-subject"}
    contrasts |= {f"{one}-alone" for one in ("documents", "everyday", "polar")}
    assert sets["general"] | {"documents", "everyday"} | contrasts == sets["train"]
    collections = {
        name: {one["collection"] for one in parts[name] if one["set"] == "documents"}
        for name in names[1:]
    }
    assert collections == {"train": {"notes"}, "dev": {"svelte"}, "held_out": {"cairn"}}


def test_examples_quote_what_answers(out: Path) -> None:
    train = _read(out / "one" / "train.jsonl")
    qamr = next(one for one in train if one["set"] == "qamr")
    assert qamr["answers"] == ["Ada"]
    assert qamr["quotes"] == ["Its light was raised by Ada long ago."]
    assert qamr["passages"][0]["title"] in {f"The {place}" for place in PLACES}
    led = next(one for one in train if one["set"] == "hotpot")
    assert [one["title"] for one in led["passages"]] == ["Led"]
    assert [one["title"] for one in led["others"]] == ["Far"]
    told = [one for one in train if one["set"] == "documents"]
    asked = [one for one in told if one["answers"]]
    assert len(asked) == documents.TIMES
    assert asked[0]["kind"] == "value"
    assert asked[0]["quotes"] == ["The lamp of the [light  burns `<oil>` of seals."]
    assert "burns <oil> of seals" in asked[0]["passages"][0]["text"]
    [held] = [one for one in _read(out / "one" / "held_out.jsonl") if one["set"] == "documents"]
    assert held["kind"] == "steps"
    assert held["answers"] == ["climb the stairs"]
    stored = {one["text"] for one in _read(out / "one" / "documents.jsonl")}
    assert {one["text"] for one in held["passages"]} <= stored


def test_a_pack_is_read_compressed(out: Path, tmp_path: Path) -> None:
    with tarfile.open(out / "one.tar") as pack:
        pack.extractall(tmp_path, filter="data")
    for name in ("general", "train", "dev", "held_out"):
        packed = tmp_path / f"{name}.jsonl.gz"
        assert read_reader_examples(packed) == read_reader_examples(out / "one" / f"{name}.jsonl")
    damaged = tmp_path / "damaged.jsonl.gz"
    for data in (packed.read_bytes()[:-20], b"{}\n", packed.read_bytes()[:40] + b"\xff" * 40):
        damaged.write_bytes(data)
        with pytest.raises(InputError, match=r"damaged.jsonl.gz can't be read"):
            read_reader_examples(damaged)


def test_a_pack_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("a")
    monkeypatch.setattr(files, "MAX_PACK", 100)
    with pytest.raises(SystemExit, match="more than 100"):
        files.write_pack(tmp_path / "pack", [tmp_path / "a"])


def test_sentences_of_what_is_kept_are_left_out() -> None:
    def example(question: str, text: str, **more: Any) -> files.Example:
        return {"question": question, "passages": [{"title": "", "text": text}], **more}

    kept = [example("Who?", "It is dark. It is late, and far.")]
    train = [
        example("Who ?", "Another."),
        example("Why?", "It is dark: it is late, and far."),
        example("When?", "It is late, and far .", sentence=True),
        example("Where?", "It is late, and far .", others=kept[0]["passages"]),
    ]
    assert list(without_held_out(train, kept)) == [example("Where?", "It is late, and far .")]


def test_parts_have_their_shares() -> None:
    texts = [f"passage {number}" for number in range(6000)]
    for name, dev, kept in (
        ("squadshifts_wiki", 0.06, 1 / 12),
        ("qamr", 0.0, 0.0),
        ("qed_nq", 0.0, 1 / 12),
        ("hotpot", 0.0, 1 / 8),
    ):
        parts = [part_of(name, text) for text in texts]
        assert parts.count("dev") / 6000 == pytest.approx(dev, abs=0.01)
        assert parts.count("held_out") / 6000 == pytest.approx(kept, abs=0.015)
    assert not held_out.DEV_COLLECTIONS & held_out.HELD_OUT_COLLECTIONS


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("The key is kept in the hall.", "Is the key kept in the hall?", "yes"),
        ("Ada has never seen the sea.", "Has Ada seen the sea?", "no"),
        ("You cannot open it.", None, None),
        ("The lamp doesn't burn any oil.", "Does the lamp burn any oil?", "no"),
        ("Keepers did not sleep there.", "Did Keepers sleep there?", "no"),
        ("The store keeps all old tickets.", "Does the store keep all old tickets?", "yes"),
        ("It is kept in the hall.", None, None),
        ("The boat that came is red and green.", None, None),
        ("Ada has two red boats.", None, None),
        ("Ada sings.", None, None),
    ],
)
def test_sentences_become_questions_for_yes_or_no(
    sentence: str, question: str | None, answer: str | None
) -> None:
    assert polar_question(sentence) == (None if question is None else (question, answer))


def test_polar_examples_quote_the_sentence_that_answers() -> None:
    text = (
        "The tower is the oldest in Dell. The tower of Erin was not built by the keepers of Fenn. "
        "Tickets cost 12 crowns in summer. Children pay 10 crowns."
    )
    passage = {"title": "Tower", "text": text}
    made = [one for seed in range(9) for one in polar_examples([passage, passage], seed)]
    assert {one["passages"][0]["text"] for one in made} == {text}
    for one in made:
        assert all(quote in text for quote in one["quotes"])
        assert bool(one["quotes"]) == bool(one["answers"])
    answers = {one["question"].casefold().rstrip("?"): one["answers"] for one in made}
    built = "the tower of erin built by the keepers of fenn"
    assert answers[f"was {built}"] == ["no"]
    assert answers["is the tower the oldest in dell"] == ["yes"]
    assert [] in answers.values()
    for asked, answer in answers.items():
        if not answer:
            assert asked.split(maxsplit=1)[0] in ("when", "where", "why", "how")
    assert len(list(polar_examples([passage, passage], 0))) <= 5
    assert list(polar_examples([{"title": "", "text": f"{text} {'x' * 1000}"}], 0)) == []
