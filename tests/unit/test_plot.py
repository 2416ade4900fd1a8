from html import escape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from memnet.cli.plot import check_plot, draw, draw_reliability
from memnet.errors import DependencyError, InputError
from memnet.types import Alignment, Answer, Evaluation, Evidence, Hop, ReliabilityBin, SlotWeight


def _weights(*shares: float) -> tuple[SlotWeight, ...]:
    return tuple(
        SlotWeight(id=place, source=f"s{place}", weight=share, title=f"Sentence <{place}> & more")
        for place, share in enumerate(shares)
    )


ANSWER = Answer(
    question="What does Ann carry?", answer="cup,hat", confidence=None, abstained=False,
    candidates=(), evidence=(), model="babi", elapsed_ms=1,
    hops=(Hop(hop=1, weights=_weights(0.9, 0.1)), Hop(hop=2, weights=_weights(0.2, 0.5, 0.3))),
    alignments=(
        Alignment(word="cup", weights=_weights(1.0)),
        Alignment(word="hat", weights=_weights(0.0, 1.0)),
    ),
)  # fmt: skip
LABELS = {
    "hop 1", "hop 2", "cup", "hat", "Sentence <0> & more", "Sentence <1> & more",
    "Sentence <2> & more",
}  # fmt: skip


def test_a_picture_has_rows_for_slots_and_columns_for_hops_and_words(tmp_path: Path) -> None:
    draw(ANSWER, tmp_path / "plot.svg")
    text = (tmp_path / "plot.svg").read_text()
    ElementTree.fromstring(text)  # noqa: S314
    # Letters are drawn as shapes; their text stands in comments.
    assert all(f"<!-- {escape(label)} -->" in text for label in LABELS)


def _evidence(slot: int, text: str) -> Evidence:
    return Evidence(
        id=slot, kind="passage", source="s", title="", start=0, end=len(text), text=text,
        score=0.0, hop=1,
    )  # fmt: skip


def test_rows_of_one_name_can_be_told_apart(tmp_path: Path) -> None:
    long = "The lighthouse keeper's log of the Orre Light, "
    named = {1: "Orre Light", 2: "Orre Light", 3: "Orre Light", 4: "Orre Light", 5: "Kestle",
             6: f"{long} 1911", 7: f"{long} 1912"}  # fmt: skip
    weights = tuple(
        SlotWeight(id=slot, source=f"s{slot}", weight=0.1, title=name)
        for slot, name in named.items()
    )
    evidence = (
        _evidence(1, "Built by\n Tobias Wrennick in 1842."),
        _evidence(2, "Orre Light stands on Orre Head, at the western tip of the isle."),
        _evidence(5, "A town."),
    )
    answer = ANSWER.model_copy(
        update={"hops": (Hop(hop=1, weights=weights),), "evidence": evidence, "alignments": ()}
    )
    draw(answer, tmp_path / "plot.svg")
    text = (tmp_path / "plot.svg").read_text()
    for label in (
        "Orre Light: Built by Tobias Wrennick in 1842.",
        "Orre Light stands on Orre Head, at the western …",
        "Orre Light (slot 3)",
        "Orre Light (slot 4)",
        "Kestle",
        "The lighthouse keeper's log of the Orr… (slot 6)",
        "The lighthouse keeper's log of the Orr… (slot 7)",
    ):
        assert text.count(f"<!-- {label} -->") == 1, label


def test_a_page_holds_the_picture(tmp_path: Path) -> None:
    draw(ANSWER, tmp_path / "plot.html")
    text = (tmp_path / "plot.html").read_text()
    assert text.startswith("<!doctype html>")
    ElementTree.fromstring(text[text.index("<svg") :])  # noqa: S314


def test_a_png_is_whole(tmp_path: Path) -> None:
    draw(ANSWER, tmp_path / "plot.png")
    with Image.open(tmp_path / "plot.png") as image:
        assert image.format == "PNG"
        assert len(set(image.convert("L").tobytes())) > 20  # blues of attention, black letters


def test_nothing_attended_is_still_a_picture(tmp_path: Path) -> None:
    draw(ANSWER.model_copy(update={"hops": (), "alignments": ()}), tmp_path / "plot.svg")
    assert (tmp_path / "plot.svg").read_text().rstrip().endswith("</svg>")


def test_what_can_not_be_drawn_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"\.gif; expected one of \.png, \.svg, \.html"):
        check_plot(tmp_path / "plot.gif")
    with pytest.raises(InputError, match="no folder"):
        check_plot(tmp_path / "nowhere" / "plot.png")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(DependencyError, match=r"pip install 'memnet-qa\[plot\]'"):
        check_plot(tmp_path / "plot.png")


def test_a_reliability_diagram_shows_every_bin(tmp_path: Path) -> None:
    bins = (
        ReliabilityBin(size=7, confidence=0.2, right=0.1),
        ReliabilityBin(size=13, confidence=0.8, right=0.9),
    )
    scores = dict.fromkeys(
        ("recall_at_1", "recall_at_2", "recall_at_5", "recall_at_10", "hits_at_1", "em", "f1")
    )
    evaluation = Evaluation(
        **scores, n=20, answerable_auroc=None, ece=0.1, latency_ms={}, reliability=bins
    )
    draw_reliability(evaluation, tmp_path / "plot.svg")
    text = (tmp_path / "plot.svg").read_text()
    for label in ("7", "13", "Confidence", "20 questions, calibration error 0.100"):
        assert f"<!-- {label} -->" in text
    nothing = evaluation.model_copy(update={"reliability": ()})
    with pytest.raises(InputError, match="nothing to plot: no answer had a calibrated confidence"):
        draw_reliability(nothing, tmp_path / "nothing.svg")
    assert not (tmp_path / "nothing.svg").exists()
