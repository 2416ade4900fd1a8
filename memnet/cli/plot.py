"""Attention as a heat map in a file."""

import io
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memnet.cli.output import write_file
from memnet.errors import DependencyError, InputError, install, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from memnet.types import Answer, Evaluation, Evidence, SlotWeight

_SUFFIXES = (".png", ".svg", ".html")
_MAX_SLOTS = 30
_MAX_LABEL = 48
# Characters of a name before the text that tells its slot from others of that name.
_MAX_NAME = 20


def check_plot(path: Path) -> None:
    """Check before the work that a plot can be drawn to a path."""
    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"can't plot to {path}; expected one of {', '.join(_SUFFIXES)}")
    if not path.parent.is_dir():
        raise InputError(f"no folder {path.parent}; make it first")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise DependencyError(f"--plot needs matplotlib; run: {install('plot')}") from error


def draw_reliability(evaluation: "Evaluation", path: Path) -> None:
    """Draw a reliability diagram; ``InputError`` if no answer had a calibrated confidence."""
    from matplotlib.figure import Figure

    if not evaluation.reliability:
        raise InputError(
            "nothing to plot: no answer had a calibrated confidence; ask about documents "
            "with a reader that 'memnet train confidence' calibrated"
        )
    figure = Figure(figsize=(5, 5), layout="constrained")
    axis = figure.subplots()
    bins = evaluation.reliability
    largest = max(one.size for one in bins)
    axis.plot([0, 1], [0, 1], color="grey", linestyle="dotted")
    confidences, rights = [one.confidence for one in bins], [one.right for one in bins]
    axis.plot(confidences, rights, color="tab:blue")
    axis.scatter(confidences, rights, s=[20 + 180 * one.size / largest for one in bins])
    for one in bins:
        axis.annotate(str(one.size), (one.confidence, one.right), fontsize="small")
    axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="Confidence", ylabel="Share that is right")
    axis.set_title(f"{evaluation.n} questions, calibration error {evaluation.ece:.3f}")
    _save(figure, path)


def draw(answer: "Answer", path: Path) -> None:
    """Draw attention of hops to slots and, for generated answers, of words to slots."""
    from matplotlib.figure import Figure

    panels = [
        ("Hops", [f"hop {hop.hop}" for hop in answer.hops], [hop.weights for hop in answer.hops])
    ]
    if words := answer.alignments:
        panels.append(
            ("Words of the answer", [one.word for one in words], [one.weights for one in words])
        )
    slots = _slots(weight for _, _, rows in panels for row in rows for weight in row)
    labels = _labels(slots, answer.evidence)
    columns = sum(len(rows) for _, rows, _ in panels)
    figure = Figure(figsize=(4 + 0.7 * columns, 1.6 + 0.28 * len(slots)), layout="constrained")
    figure.suptitle(f"{answer.question}  {answer.answer or 'not known'}", wrap=True)
    axes = figure.subplots(
        1, len(panels), sharey=True, squeeze=False, width_ratios=[len(p[1]) or 1 for p in panels]
    )[0]
    for axis, (title, names, rows) in zip(axes, panels, strict=True):
        shares = [{_slot(weight): weight.weight for weight in row} for row in rows]
        grid = [[share.get(slot, 0.0) for share in shares] for slot in slots]
        axis.imshow(grid or [[0.0]], aspect="auto", cmap="Blues", vmin=0, vmax=1)
        axis.set_title(title, fontsize="small")
        axis.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize="small")
        axis.set_yticks(range(len(slots)), labels, fontsize="small")
    _save(figure, path)


def _save(figure: "Figure", path: Path) -> None:
    suffix = path.suffix.lower()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png" if suffix == ".png" else "svg", dpi=150)
    image = buffer.getvalue()
    if suffix == ".html":
        svg = image.decode()
        image = f"<!doctype html>\n<title>memnet</title>\n{svg[svg.index('<svg') :]}".encode()
    write_file(path, image)


def _slot(weight: "SlotWeight") -> tuple[int, str]:
    """What tells a slot, or a sentence of one, from others: its id and its name."""
    return weight.id, weight.title or weight.source


def _slots(weights: "Iterable[SlotWeight]") -> list[tuple[int, str]]:
    """The slots that were attended to most, in the order of their ids."""
    best: dict[tuple[int, str], float] = {}
    for weight in weights:
        best[_slot(weight)] = max(weight.weight, best.get(_slot(weight), 0.0))
    return sorted(sorted(best, key=lambda slot: -best[slot])[:_MAX_SLOTS])


def _labels(slots: "Sequence[tuple[int, str]]", evidence: "Sequence[Evidence]") -> list[str]:
    """A label for each slot, no two alike.

    Slots of one name show how their text begins, where the answer came with it; those that are
    alike even so show their ids.
    """
    texts = {item.id: " ".join(item.text.split()) for item in evidence}

    def with_text(label: str, slot: int, name: str) -> str:
        text = texts.get(slot, name)
        if name.startswith(text):
            return label
        begun = text if text.startswith(name) else f"{shorten(name, _MAX_NAME)}: {text}"
        return shorten(begun, _MAX_LABEL)

    def with_id(label: str, slot: int, _name: str) -> str:
        number = f" (slot {slot})"
        return f"{shorten(label, _MAX_LABEL - len(number))}{number}"

    labels = [shorten(name, _MAX_LABEL) for _, name in slots]
    for longer in (with_text, with_id):
        counts = Counter(labels)
        pairs = zip(labels, slots, strict=True)
        labels = [longer(one, *slot) if counts[one] > 1 else one for one, slot in pairs]
    return labels
