"""What has ended is no answer to a question about what holds.

The statement network reads what ended something beside what holds, and quotes it: "Who is Tom
married to?" is not answered by "Tom and Jane divorced". The write controller has noted what ended.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from memnet.statements.heads import FORMS, AnswerForm
from memnet.statements.lists import says
from memnet.statements.reading import Piece, StatementReading
from memnet.storage import Told

_LEFT = 0.5  # Probability from which what is left is the answer; below it there is none.


class Ended(NamedTuple):
    """A statement of which another has ended all or a part."""

    told: Told
    by: Told


def without_ended(
    reading: StatementReading, told: Sequence[Told], ended: Sequence[Ended]
) -> StatementReading:
    """A reading without the pieces that name what holds no longer.

    Args:
        reading: of a question about what holds.
        told: the statements that were read.
        ended: of which a part has ended, or which the question is about and what ended them.
    """

    def holds(piece: Piece) -> bool:
        one = told[piece.statement]
        text = one.text[piece.start : piece.end]
        return not any(
            (one.id == pair.by.id and says(pair.told, text))
            or (one.id == pair.told.id and says(pair.by, text))
            for pair in ended
        )

    items, pieces = tuple(filter(holds, reading.items)), tuple(filter(holds, reading.pieces))
    if reading.form == "value" and pieces[:1] != reading.pieces[:1]:
        if pieces and pieces[0].probability >= _LEFT:
            return reading._replace(pieces=pieces)
        forms = _without_value(reading.forms)
        if not items or forms["list"] < _LEFT:
            none = {**dict.fromkeys(forms, 0.0), "none": 1.0}
            return reading._replace(forms=none, pieces=pieces)
        # What was taken for a value was one item of a list.
        reading = reading._replace(forms=forms)
    elif reading.form != "list" or items == reading.items:
        return reading
    # Of a list of which one item is left, that one is the value.
    return reading._replace(items=items, pieces=items if len(items) == 1 else pieces)


def _without_value(forms: Mapping[AnswerForm, float]) -> dict[AnswerForm, float]:
    """Probabilities of the forms of an answer, conditional on any form but "value"."""
    total = sum(forms[form] for form in FORMS if form != "value")
    return {form: forms[form] / total if total and form != "value" else 0.0 for form in FORMS}
