"""A store's encoder is changed: all vectors become those of an ingest with the new one."""

import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memnet import Document, Engine, Fact, Message
from memnet.encoders.protocol import UnitVectors
from memnet.errors import EncoderMismatchError, InputError, StoreBusyError, StoreError
from tests.toy import ToyEncoder, toy_memory

_CHAT = "\n".join([
    "12/03/2024, 09:15 - Mara: Shall we paint the boat on Friday?", "12/03/2024, 09:17 - Jon: Yes!",
    "12/03/2024, 09:18 - Jon: Blue", "13/03/2024, 20:01 - Mara: The brush is in the shed.",
])  # fmt: skip


class _Wide(ToyEncoder):
    """Twice as wide as the toy encoder; passages are not encoded as questions are."""

    fingerprint = "wide/128"
    dimension = 128

    def __init__(self, pages: int | None = None) -> None:
        self.texts: list[str] = []
        self._pages = pages  # after which it is interrupted

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        narrow = super().encode(texts)
        wide = np.concatenate([narrow, narrow[:, ::-1]], axis=1) / np.sqrt(2)
        rounded: NDArray[np.float32] = wide.astype(np.float16).astype(np.float32)
        return rounded

    def unit_projection(self) -> NDArray[np.float32]:
        return np.eye(128, dtype=np.float32)

    def encode_units(
        self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]
    ) -> UnitVectors:
        if self._pages is not None:
            if not self._pages:
                raise KeyboardInterrupt
            self._pages -= 1
        self.texts += texts
        units = [
            self.encode([text[a:b] for a, b in some])
            for text, some in zip(texts, spans, strict=True)
        ]
        return UnitVectors(self.encode([f"passage {text}" for text in texts]), units)


def _fill(engine: Engine, folder: Path) -> None:
    (folder / "chat.txt").write_text(_CHAT)
    (folder / "note.md").write_text("# Tides\n\nHigh at noon.\n\n## Neap\n\n" + "Low water. " * 200)
    engine.ingest(
        folder / "chat.txt",
        folder / "note.md",
        Document(id="d", title="Orre", text="Orre has a light. It is red."),
        Fact(subject="Orre", relation="lies_in", object="Brannock"),
    )
    engine.remember([
        Message(id="s:1", session="s", speaker="Ann", time="2024-03-01", text="Do you sail?"),
        Message(id="s:2", session="s", speaker="Bo", time="2024-03-01", text="Never."),
        Message(id="m1", speaker="Bo", text="Is there a sail?"),
        Message(id="m2", speaker="Cy", text="No."),
    ])  # fmt: skip
    engine.tell("Ann lives in Kestle. She works as a baker.")


def _vectors(engine: Engine) -> dict[bytes, tuple[bytes, bytes | None]]:
    rows = engine.store.connection.rows(
        "SELECT digest, data, keys FROM vector LEFT JOIN unit_key ON unit_key.vector = vector.id"
    )
    return {row[0]: (row[1], row[2]) for row in rows}


def test_all_vectors_are_those_of_an_ingest_with_the_new_encoder(tmp_path: Path) -> None:
    with toy_memory(tmp_path / "old") as engine:
        _fill(engine, tmp_path)
        before = engine.ask("Where does Ann live?")
    with toy_memory(tmp_path / "new", encoder=_Wide()) as engine:
        _fill(engine, tmp_path)
        expected = _vectors(engine)
    steps: list[tuple[int, int]] = []
    count = Engine.encode_anew(
        tmp_path / "old", _Wide(), on_progress=lambda done, of: steps.append((done, of))
    )
    assert count == len(expected) == steps[-1][0] == steps[-1][1]
    with pytest.raises(EncoderMismatchError):
        toy_memory(tmp_path / "old", create=False)
    with toy_memory(tmp_path / "old", encoder=_Wide(), create=False) as engine:
        assert _vectors(engine) == expected
        assert any(keys for _, keys in expected.values())
        assert not engine.verify().problems
        assert engine.ask("Where does Ann live?").short == before.short
        engine.ingest(Document(id="e", text="Kestle has a harbour."))
        assert "e" in [item.source for item in engine.search("Has Kestle a harbour?", 3)]
    assert not (tmp_path / "old" / "encoder.part").exists()
    assert Engine.encode_anew(tmp_path / "old", _Wide()) == 0


def test_an_interrupted_run_goes_on_and_the_old_vectors_answer_meanwhile(tmp_path: Path) -> None:
    texts = [f"Boat {number} is moored at berth {number * 7}." for number in range(1300)]
    with toy_memory(tmp_path / "store") as engine:
        engine.ingest(Document(id=str(n), text=text) for n, text in enumerate(texts))
        first, second = _Wide(pages=2), _Wide()
        with pytest.raises(KeyboardInterrupt):
            Engine.encode_anew(tmp_path / "store", first)
        assert not engine.verify().problems
        assert engine.search("Which boat is moored at berth 7?", 1)[0].source == "1"
    kept = sorted((tmp_path / "store" / "encoder.part").rglob("*.safetensors"))
    kept[0].write_bytes(kept[0].read_bytes()[:-100])  # as after a loss of power
    Engine.encode_anew(tmp_path / "store", second)
    assert sorted({*first.texts, *second.texts}) == sorted(texts)
    assert 0 < len(second.texts) < len(texts)
    with toy_memory(tmp_path / "store", encoder=_Wide(), create=False) as engine:
        assert engine.search("Which boat is moored at berth 7?", 1)[0].source == "1"


def test_what_is_written_meanwhile_is_kept_and_who_has_it_open_is_told(tmp_path: Path) -> None:
    with closing(toy_memory(tmp_path / "store")) as engine:
        engine.ingest(Document(id="a", text="The boat is blue."))

        def write(_done: int, _of: int) -> None:
            if "b" not in engine:
                thread = threading.Thread(
                    target=engine.ingest, args=(Document(id="b", text="The mast is red."),)
                )
                thread.start()
                thread.join()

        assert Engine.encode_anew(tmp_path / "store", _Wide(), on_progress=write) == 2
        with pytest.raises(EncoderMismatchError, match="open it again"):
            engine.search("Which colour has the mast?")
        with pytest.raises(EncoderMismatchError):
            engine.ingest(Document(id="c", text="The sail is white."))
    with toy_memory(tmp_path / "store", encoder=_Wide(), create=False) as engine:
        assert engine.search("Which colour has the mast?", 1)[0].source == "b"
        assert sorted(source.id for source in engine.sources()) == ["a", "b"]


def test_only_one_process_at_a_time_encodes_and_what_is_left_behind_goes(tmp_path: Path) -> None:
    with closing(toy_memory(tmp_path / "store")) as engine:
        engine.ingest(Document(id="a", text="The boat is blue."))
    left = tmp_path / "store" / "encoder.part"
    busy: list[bool] = []

    def again(_done: int, _of: int) -> None:
        with pytest.raises(StoreBusyError, match="another process"):
            Engine.encode_anew(tmp_path / "store", ToyEncoder2())
        busy.append(left.is_dir())

    Engine.encode_anew(tmp_path / "store", _Wide(), on_progress=again)
    assert busy == [True]
    (left / "x").mkdir(parents=True)
    (left / ".DS_Store").write_text("")
    assert Engine.encode_anew(tmp_path / "store", _Wide()) == 0
    assert not left.exists()
    left.write_text("")
    with pytest.raises(StoreError, match="the store is as it was"):
        Engine.encode_anew(tmp_path / "store", ToyEncoder2())


class ToyEncoder2(ToyEncoder):
    fingerprint = "toy/2"


def test_a_store_that_is_missing_or_on_a_server_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no memnet store"):
        Engine.encode_anew(tmp_path / "store", _Wide())
    with pytest.raises(InputError, match="is on a server"):
        Engine.encode_anew("postgresql://ann@db.example/memory", _Wide())
