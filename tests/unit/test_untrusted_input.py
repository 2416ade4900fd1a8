"""Bad inputs at every door: a result or one of memnet's own errors, in one line."""

import io
import json
import os
import shutil
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from benchmarks.fuzz_doors import DOORS
from benchmarks.hostile_inputs import changed_json, hostile_value
from memnet import Config, Document, Engine, MemnetError
from memnet.checkpoints import load_checkpoint
from memnet.cli.show import explain, show_answer
from memnet.config import HopConfig
from memnet.errors import InputError, ModelError, Problem, one_line
from memnet.experts.registry import load_model, model_folder
from memnet.facts.model import link
from memnet.text.english import query_terms
from tests.toy import ToyEncoder

_ANY_TEXT = st.text(st.characters(), max_size=200)


@pytest.mark.parametrize("name", sorted(DOORS.keys() - {"real"}))
def test_no_door_crashes(tmp_path: Path, name: str) -> None:
    door = DOORS[name][0](tmp_path)
    for seed in range(10_000_000, 10_000_025):
        try:
            door(Random(seed))
        except (MemnetError, ValidationError) as error:
            assert "\n" not in str(error) or isinstance(error, ValidationError), seed  # noqa: PT017


@given(question=_ANY_TEXT)
def test_any_text_is_a_safe_question_and_a_safe_query(toy_engine: Engine, question: str) -> None:
    if not toy_engine.info().slots:
        toy_engine.ingest(Document(id="a", title="Orre", text="The Orre Light is old."))
    toy_engine.store.search_lexical(query_terms(question), 5)
    try:
        answer = toy_engine.ask(question)
    except InputError as error:
        assert not question.strip() or "broken character" in str(error)  # noqa: PT017
    else:
        assert json.loads(answer.model_dump_json())["question"] == question


@given(data=st.binary(max_size=300), facts=st.booleans())
def test_any_bytes_are_a_safe_input(toy_engine: Engine, data: bytes, facts: bool) -> None:
    try:
        toy_engine.ingest(io.BytesIO(data), facts=facts)
    except InputError as error:
        assert str(error).startswith(("standard input", "nothing was ingested"))  # noqa: PT017
    assert toy_engine.verify().problems == ()


@pytest.mark.parametrize("text", ["\ud800", "a\udcffb"])
def test_broken_characters_are_refused_everywhere(toy_engine: Engine, text: str) -> None:
    for call in (
        lambda: toy_engine.ask(text),
        lambda: toy_engine.ask("who?", namespace=text),
        lambda: toy_engine.tell(text),
        lambda: toy_engine.tell("Ann left.", namespace=text),
        lambda: toy_engine.history(text),
        lambda: toy_engine.ingest(Document(id="a", text=text)),
        lambda: toy_engine.ingest(Document(id="a", text="x", metadata={"a": [text]})),
        lambda: toy_engine.ingest(Document(id="a", text="x"), namespace=text),
    ):
        with pytest.raises(InputError, match="holds a broken character at offset"):
            call()
    with pytest.raises(InputError, match="no source"):
        toy_engine.forget(text)
    assert toy_engine.info().slots == 0


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"id": "i" * 5000}, "the source id has 5,000 characters, the limit is 4,096; cut it"),
        ({"title": "t" * 1001}, "the title has 1,001 characters, the limit is 1,000; cut it"),
        ({"metadata": {"a": "m" * 100_000}}, "the metadata has 100,009 characters"),
        ({"metadata": {"a": json.loads("[" * 60 + "]" * 60)}}, "nested more than 50 deep"),
        ({"id": {"a": 1}}, "has an unusable 'id': a JSON dict"),
    ],
)
def test_what_is_too_large_is_refused(
    toy_engine: Engine, tmp_path: Path, fields: dict[str, object], complaint: str
) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(json.dumps({"id": "a", "text": "A text.", **fields}))
    with pytest.raises(InputError, match=complaint):
        toy_engine.ingest(path)


def test_large_columns_questions_texts_and_numbers_are_refused(
    toy_engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "f.tsv").write_text(f"a\tb\t{'c' * 10_001}")
    with pytest.raises(InputError, match="line 1: has a column of more than 10,000 characters"):
        toy_engine.ingest(tmp_path / "f.tsv")
    with pytest.raises(InputError, match="question has 2,001 characters, the limit is 2,000"):
        toy_engine.ask("w" * 2_001)
    with pytest.raises(InputError, match="the text has 100,001 characters"):
        toy_engine.tell("w" * 100_001)
    with pytest.raises(InputError, match="from 1 to 10,000"):
        toy_engine.ask("who?", top_k=10**6)
    small = Config.model_validate({"limit": {"document": 100}})
    engine = Engine(toy_engine.store, ToyEncoder(), small, "untrained", "sentences")
    with pytest.raises(InputError, match="standard input: is longer than 100 characters"):
        engine.ingest(io.BytesIO(b"a short line\n" * 9))


def test_a_long_paragraph_above_dashes_is_no_heading(toy_engine: Engine, tmp_path: Path) -> None:
    text = f"# Log\n\n{'A sentence of it. ' * 80}\n---\nThe end.\n"
    (tmp_path / "log.md").write_text(text)
    toy_engine.ingest(tmp_path / "log.md")
    slots = toy_engine.store.fetch(range(1, 20))
    assert {slot.title for slot in slots} == {"Log"}
    assert slots[0].text.startswith("A sentence of it.")


def test_special_files_and_links_out_of_a_folder_are_skipped(
    toy_engine: Engine, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("Inside.")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.txt").write_text("Outside.")
    os.mkfifo(folder / "pipe.txt")
    (folder / "inside.txt").symlink_to("a.txt")
    (folder / "deep" / "loop").symlink_to(folder)
    (folder / "deep" / "out").symlink_to(tmp_path / "out")
    (folder / "out.txt").symlink_to("../out/secret.txt")
    (folder / "gone.txt").symlink_to("nowhere")
    (folder / "self.txt").symlink_to("self.txt")
    (folder / "zero.txt").symlink_to("/dev/zero")
    found: list[Problem] = []
    report = toy_engine.ingest(folder, on_problem=found.append)
    assert (report.added, report.skipped) == (2, 6)
    assert {Path(one.where).name: one.what.split(";")[0].split(",")[0] for one in found} == {
        "gone.txt": "is a link that leads nowhere",
        "self.txt": "is a link that leads nowhere",
        "out.txt": "is a link out of the folder",
        "zero.txt": "is a link out of the folder",
        "pipe.txt": "is a pipe",
        "out": "is a link out of the folder",
    }
    # What the user names himself is followed.
    (tmp_path / "link").symlink_to(tmp_path / "out")
    assert toy_engine.ingest(tmp_path / "link").added == 1
    assert toy_engine.ingest(folder / "out.txt").added == 1
    with pytest.raises(InputError, match="is a device, expected a file"):
        toy_engine.ingest("/dev/zero")
    with pytest.raises(InputError, match="is a pipe, expected a file"):
        toy_engine.ingest(folder / "pipe.txt")


def test_paths_that_no_file_can_have(toy_engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="File name too long"):
        toy_engine.ingest(tmp_path / ("n" * 300))
    with pytest.raises(InputError, match="no such file"):
        toy_engine.ingest("a\0b")
    name = os.fsencode(tmp_path) + b"/\xff\n.txt"
    Path(os.fsdecode(name)).write_text("A text.")
    with pytest.raises(InputError, match=r"\\udcff\\n\.txt: the path holds a broken character"):
        toy_engine.ingest(tmp_path)


def test_messages_are_one_line_without_control_characters() -> None:
    message = str(InputError("a\nb\x1b[31m\u202e\ud800" + "é" * 2000))
    assert message.startswith("a\\nb\\x1b[31m\\u202e\\ud800é")
    assert len(message) < 1100
    assert one_line("e\u0301 \u200d ü 東", None) == "e\u0301 \u200d ü 東"


def test_what_is_remembered_is_no_markup_for_the_terminal(
    toy_engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    toy_engine.ingest(
        Document(id="[/bold]\x1b[31m", title="[/x] :smile:", text="The \x1b]0;Orre\x07 is [b]old.")
    )
    answer = toy_engine.ask("What is Orre?")
    show_answer(answer)
    explain(answer)
    shown = capsys.readouterr().out
    assert "\x1b]" not in shown
    assert "[/x] :smile:" in shown
    assert "[b]old." in shown


def test_long_words_are_not_spelled_in_every_way() -> None:
    asked: list[int] = []

    def known(names: object) -> list[str]:
        assert isinstance(names, (set, dict))
        asked.append(len(names))
        return []

    link(f"x{'ab' * 5000} y{'cd' * 5000} {'word ' * 300}", known)
    assert max(asked[1:]) < 6000
    assert len(asked) <= 201


@pytest.mark.parametrize("name", ["../model.json", "/dev/zero", "model-0.safetensors", "a\0b", ""])
def test_a_description_may_only_name_its_own_tensors(tmp_path: Path, name: str) -> None:
    shutil.copytree(model_folder("text"), tmp_path / "m")
    described = tmp_path / "m" / "model.json"
    described.write_text(json.dumps({**json.loads(described.read_text()), "tensors": name}))
    with pytest.raises(ModelError, match="names the tensors"):
        load_checkpoint(tmp_path / "m", "model")


def test_a_description_may_not_ask_for_more_memory_than_its_tensors(tmp_path: Path) -> None:
    shutil.copytree(model_folder("babi"), tmp_path / "m")
    described = tmp_path / "m" / "model.json"
    description = json.loads(described.read_text())
    description["config"] |= {"width": 4096, "inner": 16384, "blocks": 100}
    described.write_text(json.dumps(description))
    with pytest.raises(ModelError, match="does not fit its description"):
        load_model(tmp_path / "m", HopConfig())
    description["config"]["width"] = 10**9
    described.write_text(json.dumps(description))
    with pytest.raises(ModelError, match="does not describe a model"):
        load_model(tmp_path / "m", HopConfig())


def test_changed_values_are_values(tmp_path: Path) -> None:
    """The generators of bad inputs make what JSON can hold."""
    for seed in range(200):
        json.dumps(changed_json(Random(seed), {"a": [1, {"b": hostile_value(Random(seed))}]}))


def test_settings_can_not_ask_for_more_candidates_than_fit_in_memory() -> None:
    with pytest.raises(ValidationError, match="less than or equal to 100000"):
        HopConfig(candidates=2**62)
