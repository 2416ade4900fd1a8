"""Questions that need several readings: bridges and comparisons."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from memnet.documents.answers import rank_evidence
from memnet.reader.decompose import Resolved
from memnet.reader.decompose.english import compare
from memnet.reader.decompose.forms import expanded_kin, phrase_of
from memnet.reader.passages import RankedSlot
from memnet.reader.spans import Passage, Reading, Span
from tests.reading import Answering, nothing, predict, ranked, resolve
from tests.toy import rows_of

READ = {
    "When was Ann Orre born?": "4 May 1921",
    "When was Bo Rank born?": "1921",
    "When was Cy Dell born?": "March 3, 1890",
    "When did Ann Orre die?": "12 June 2001",
    "When did Cy Dell die?": "1999",
    "When was Di Falk born?": "1900",
    "When did Di Falk die?": "June 1980",
    "When was Petrel released?": "1950",
    "When was Gannet released?": "1949",
    "When was Gannet founded?": "1948",
    "When was Petrel founded?": "1950",
    "Who directed Petrel?": "Cy Dell",
    "Who directed Gannet?": "Ann Orre",
}
PASSAGES = {
    "Ann Orre": "Ann Orre (4 May 1921 - 12 June 2001) was a director.",
    "Cy Dell (director)": "Cy Dell was born on March 3, 1890 and died in 1999.",
    "Bo Rank": "Bo Rank, born in May 1921, was a builder.",
    "Petrel (film)": "Petrel is a 1950 film that Cy Dell made.",
    "Gannet (film)": "Gannet is a 1949 film that Ann Orre made, though begun in 1948.",
    "Eve": "Eve is a builder of whom no more is known.",
    "Di Falk": "Di Falk was born in 1900, and died in June 1980.",
}


@pytest.mark.parametrize(("question", "answer"), rows_of("questions/compared_by_date.tsv"))
def test_comparisons_are_answered_by_dates(question: str, answer: str) -> None:
    found = compare(question, ranked(PASSAGES), cast(Any, Answering(dict(READ))), nothing)
    assert (found.answer if found else "") == answer
    if found is not None:
        assert found.subject is not None
        titled = list(PASSAGES)[found.subject]
        assert titled.startswith(found.answer)


@pytest.mark.parametrize("born", ["1921", "May 1921"])
def test_a_year_alone_may_be_before_or_after_a_day_of_it(born: str) -> None:
    reader: Any = Answering(READ | {"When was Bo Rank born?": born})
    asked = "Who was born first, Ann Orre or Bo Rank?"
    assert compare(asked, ranked(PASSAGES), reader, nothing) is None


READ |= {
    "Who is the wife of Cy Dell?": "Eve",
    "When did Cy Dell die?": "1999",
    "What is the rank of Ann Orre?": "director",
}
CY = ["Cy Dell (director)", "Petrel (film)"]
"""What is about him, and what mentions him."""
EVE = ["Eve", "Cy Dell (director)"]
WIFE = {"Cy Dell (director)": "Cy Dell, born March 3, 1890, died in 1999, was married to Eve."}


@pytest.mark.parametrize(
    ("question", "rewritten", "read"),
    [
        ("When did the director of Petrel die?", "When did Cy Dell die?", CY),
        ("When did the director of film PETREL (Film) die?", "When did Cy Dell die?", CY),
        ("Where was Petrel's director born?", "Where was Cy Dell born?", CY),
        ("Where was the director of Petrel?", None, []),
        ("Who saw the wife of the director of Petrel?", "Who saw Eve?", EVE),
        ("Who saw Petrel's director's wife?", "Who saw Eve?", EVE),
        ("What is the date of birth of Ann Orre?", None, []),
        ("What is the rank of Ann Orre?", None, []),
        ("Who is the wife of the director of Nothing?", None, []),
        ("Who directed Petrel?", None, []),
        ("?", None, []),
    ],
)
def test_roles_are_filled(question: str, rewritten: str | None, read: list[str]) -> None:
    passages = ranked(PASSAGES | WIFE)
    steps = resolve(question, passages, Answering(dict(READ)))
    assert (steps[-1].question if steps else None) == rewritten
    if steps:
        found = steps[-1]
        assert [item.slot.title for item in found.passages] == read
        assert found.probability == pytest.approx(0.9 ** (1 + ("wife" in question)))


class Reads:
    """Reads what a table says wherever it stands, several answers to a question."""

    def __init__(self, answers: dict[str, dict[str, float]]) -> None:
        self.answers = answers

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        found = [
            Span(number, start, start + len(answer), probability)
            for answer, probability in self.answers.get(question, {}).items()
            for number, passage in enumerate(passages)
            if (start := passage.text.find(answer)) >= 0
        ]
        return Reading(tuple(sorted(found, key=lambda span: -span.probability)), 0.0, 0.0, 1.0)


def _of_one_document(item: RankedSlot, other: RankedSlot) -> RankedSlot:
    return replace(item, slot=replace(item.slot, source=other.slot.source))


def test_every_window_of_what_a_bridge_leads_to_is_read() -> None:
    [first, second, film] = ranked(
        {
            "Cy Dell": "Cy Dell was a director.",
            "Cy Dell (window)": "He died in Holm.",
            "Petrel": "Petrel is a film by a director. It was made by Cy Dell.",
        }
    )
    second = _of_one_document(second, first)
    second = replace(second, slot=replace(second.slot, title="Cy Dell"))
    asked = "Where did the director of Petrel die?"
    read = {"Who directed Petrel?": {"Cy Dell": 0.9}, "Where did Cy Dell die?": {"Holm": 0.8}}
    passages = [film, first, second]
    [best, *_] = predict(asked, passages, Reads(read)).candidates
    assert (best.text, best.evidence) == ("Holm", second.slot.id)
    assert best.score == pytest.approx(0.9 * 0.8)


def test_what_stands_in_for_a_phrase_is_a_name_and_not_the_answer() -> None:
    passages = ranked(
        {
            "Petrel": "Petrel is a film by a master, Cy Dell, who married Eve.",
            "Cy Dell": "Cy Dell, a master, was the husband of Eve Orre.",
        }
    )
    asked = "Who is the wife of the director of Petrel?"
    read = {
        asked: {"Cy Dell": 0.9, "Eve": 0.3},
        "Who directed Petrel?": {"a master": 0.6, "Cy Dell": 0.4},
        "Who is the wife of Cy Dell?": {"Cy Dell": 0.8, "Eve Orre": 0.2},
    }
    answers = predict(asked, passages, Reads(read))
    [part] = answers.resolved
    assert (part.name, part.probability) == ("Cy Dell", 0.4)
    scores = {one.text: one.score for one in answers.candidates}
    # What is read right away counts as far as the bridge may be wrong; the name itself a tenth.
    assert scores["Eve Orre"] == pytest.approx(0.4 * 0.2)
    # Words of the question may move probability between names of one sentence.
    assert (1 - 0.4) * (0.3 * 1 + 0.3 * 1) <= scores["Eve"] < 1 - 0.4
    assert 0.1 * (0.6 * 0.9 + 0.4 * 0.8 * 2) < scores["Cy Dell"] <= 0.1 * (0.6 * 2 + 0.4 * 0.8 * 2)
    assert answers.candidates[0].text == "Eve"


def test_a_bridge_in_a_circle_ends() -> None:
    passages = {"Ann Orre": "Ann Orre is the sister of Bo Rank.", "Bo Rank": "He knew Ann Orre."}
    read = {
        "Who is the sister of Ann Orre?": "Bo Rank",
        "Who is the sister of Bo Rank?": "Ann Orre",
    }
    steps = resolve(
        "the sister of the sister of the sister of the sister of Ann Orre",
        ranked(passages),
        Answering(read),
    )
    assert [step.name for step in steps] == ["Bo Rank", "Ann Orre", "Bo Rank"]
    assert steps[-1].question == "the sister of Bo Rank"


@pytest.mark.parametrize(
    ("question", "written_out"),
    [
        ("Who is Ann's maternal grandfather?", "Who is Ann's mother's father?"),
        ("the paternal grandmother of Ann", "the mother of the father of Ann"),
        ("Who is Ann's Father-in-law?", "Who is Ann's spouse's father?"),
        ("Who is the grandfather of Ann?", "Who is the grandfather of Ann?"),
        ("Who is a stepchild?", "Who is a stepchild?"),
    ],
)
def test_relatives_are_written_out(question: str, written_out: str) -> None:
    assert expanded_kin(question) == written_out


@pytest.mark.parametrize(("question", "phrase", "asks"), rows_of("questions/clauses.tsv"))
def test_what_a_clause_describes_is_asked_for(question: str, phrase: str, asks: str) -> None:
    found = phrase_of(question, [], [])
    shown = ("", "") if found is None else (question[found.start : found.end], found.question)
    assert shown == (phrase, asks)


def test_a_bridge_leads_to_what_only_the_memory_holds() -> None:
    further = ranked({"Holm": "Holm is led by Eve."})
    asked: list[str] = []

    def find(question: str) -> list[RankedSlot]:
        asked.append(question)
        return further

    read = {"What is the country where Orre Head is located?": "Holm", "Who leads Holm?": "Eve"}
    passages = ranked({"Orre Head": "Orre Head is a rock in Holm."})
    question = "Who leads the country where Orre Head is located?"
    answers = predict(question, passages, Answering(read), find)
    assert asked == ["Who leads Holm?"]
    best = answers.candidates[0]
    assert (best.text, best.start) == ("Eve", 100 + len("Holm is led by "))
    assert best.score == pytest.approx(0.9 * 0.9)


def test_what_was_hardly_read_is_not_looked_for() -> None:
    class Unsure(Answering):
        def read(self, question: str, passages: Sequence[Passage]) -> Reading:
            read = super().read(question, passages)
            return read._replace(spans=tuple(one._replace(probability=0.2) for one in read.spans))

    read = {"What is the country where Orre Head is located?": "Holm"}
    passages = ranked({"Orre Head": "Orre Head is a rock in Holm."})
    question = "Who leads the country where Orre Head is located?"
    assert resolve(question, passages, Unsure(read), _never) == []


def _never(question: str) -> list[RankedSlot]:
    raise AssertionError(question)


COUNTRIES = {
    "What is the nationality of Ann Orre?": "Dutch",
    "What is the nationality of Bo Rank?": "the Netherlands",
    "What is the nationality of Cy Dell?": "Indian",
    "Which country is Ann Orre located in?": "Dutch",
    "Which country is Bo Rank located in?": "Netherlands",
    "Which country is Cy Dell located in?": "Indian",
    "Who directed Petrel?": "Cy Dell",
    "Who directed Gannet?": "Ann Orre",
}


@pytest.mark.parametrize(("question", "answer"), rows_of("questions/compared_by_country.tsv"))
def test_countries_are_compared(question: str, answer: str) -> None:
    passages = ranked(
        {
            "Ann Orre": "A Dutch director.",
            "Bo Rank": "A builder of the Netherlands.".replace("the N", "N"),
            "Cy Dell": "An Indian director.",
            "Petrel (film)": "By Cy Dell.",
            "Gannet (film)": "By Ann Orre.",
            "Eve": "Eve of nowhere.",
        }
    )
    read = {asked: said.removeprefix("the ") for asked, said in COUNTRIES.items()}
    found = compare(question, passages, cast(Any, Answering(read)), nothing)
    assert (found.answer if found else "") == answer


SAID = {
    "Ann Orre": "Ann Orre was a Dutch poet of the 17th century, and a sailor.",
    "Bo Rank (poet)": "Bo Rank is a poet who sailed from Holm to 3 islands.",
    "Cy Dell": "Cy Dell, a painter, wrote poems.",
    "Bo": "Bo is a town.",
    "Fay Hall": "Fay Hall never was a poet, though she loved one. She is no longer Dutch.",
}


@pytest.mark.parametrize(("question", "answer"), rows_of("questions/said_of_both.tsv"))
def test_what_is_said_of_both_or_one(question: str, answer: str) -> None:
    reader: Any = Answering({})
    found = compare(question, ranked(SAID), reader, nothing)
    assert (found.answer if found else "") == answer


def test_what_is_said_may_stand_in_any_window() -> None:
    [ann, bo, more] = ranked({"Ann": "Ann is a poet.", "Bo": "Bo is tall.", "Bo ": "A poet too."})
    question = "Are Ann and Bo both poets?"
    reader: Any = Answering({})
    apart = compare(question, [ann, bo, more], reader, nothing)
    joined = compare(question, [ann, bo, _of_one_document(more, bo)], reader, nothing)
    assert apart is None
    assert joined is not None
    assert joined.answer == "yes"


def test_who_is_compared_may_be_found_in_the_memory() -> None:
    passages = ranked({name: text for name, text in PASSAGES.items() if name != "Ann Orre"})
    question = "Which film whose director was born later, Petrel or Gannet?"
    reader: Any = Answering(dict(READ))
    assert compare(question, passages, reader, nothing) is None
    found = compare(question, passages, reader, lambda _: ranked(PASSAGES)[:1])
    assert found is not None
    assert found.answer == "Gannet"


@pytest.mark.parametrize(
    ("question", "whether"),
    [
        ("Did both hold it?", True),
        ("Did the one who held it die?", True),
        ("Ann and Bo, are they poets?", True),
        ("What did both hold?", False),
        ("Ann and Bo are both what?", False),
        ("Who led, the Petrel or the Gannet?", False),
        ("Which papers, if any, are left?", False),
    ],
)
def test_yes_and_no_answer_what_asks_whether(question: str, whether: bool) -> None:
    class Both:
        def read(self, question: str, passages: Sequence[Passage]) -> Reading:
            return Reading((Span(0, 0, 8, 0.3),), 0.6, 0.4, 0.9)

    passages = ranked({"a": "Ann Orre in 1921."})
    found = predict(question, passages, Both()).candidates
    best = ["yes", "no", "Ann Orre"] if whether else ["Ann Orre", "yes", "no"]
    assert [one.text for one in found] == best


def test_a_comparison_counts_by_its_own_probability() -> None:
    """A surer reader wins; where both say the same, that is one candidate and surer than each."""

    class Sure(Answering):
        def __init__(self, said: str, probability: float) -> None:
            super().__init__(dict(READ))
            self.said, self.probability = said, probability

        def read(self, question: str, passages: Sequence[Passage]) -> Reading:
            if question != asked:
                return super().read(question, passages)
            for number, passage in enumerate(passages):
                start = passage.text.find(self.said)
                if start >= 0:
                    span = Span(number, start, start + len(self.said), self.probability)
                    return Reading((span,), 0.0, 0.0, 1.0)
            raise AssertionError(self.said)

    asked = "Who was born first, Ann Orre or Cy Dell?"
    orders = {
        (said, probability): predict(asked, ranked(PASSAGES), Sure(said, probability)).candidates
        for said, probability in (("Ann Orre", 0.99), ("Ann Orre", 0.5), ("Cy Dell", 0.5))
    }
    for found in orders.values():
        scores = [one.score for one in found]
        assert scores == sorted(scores, reverse=True)
        assert len({one.text for one in found}) == len(found)
        assert max(scores) <= 1
    assert orders["Ann Orre", 0.99][0].text == "Ann Orre"
    assert orders["Ann Orre", 0.5][0].text == "Cy Dell"
    alone = orders["Ann Orre", 0.5][0].score
    assert orders["Cy Dell", 0.5][0].score == pytest.approx(1 - (1 - alone) * 0.5)


@pytest.mark.parametrize(
    ("found", "attention", "order", "hop"),
    [
        # 0.9 of its attention is less than the 0.2 of the others, more, and far more.
        ("Holm", 0.1, [*PASSAGES, "Holm"], 3),
        ("Holm", 0.3, ["Holm", *PASSAGES], 3),
        ("Eve", 0.3, ["Eve", *(title for title in PASSAGES if title != "Eve")], 1),
        ("Eve", 0.1, list(PASSAGES), 1),
    ],
)
def test_evidence_ranks_by_the_most_attention_of_a_hop(
    found: str, attention: float, order: list[str], hop: int
) -> None:
    memory = ranked(PASSAGES | {"Holm": "Holm is led by Eve."})
    evidence = memory[:-1]
    [further] = [item for item in memory if item.slot.title == found]
    part = Resolved("?", found, (replace(further, attention=attention, hop=3),), None, 0.9)
    shown = rank_evidence(evidence, [part], ())
    assert [item.slot.title for item in shown] == order
    assert next(item.hop for item in shown if item.slot.title == found) == hop
    assert rank_evidence(evidence, [], ()) == evidence


def test_evidence_ranks_by_what_is_read_too() -> None:
    memory = ranked(PASSAGES | {"Holm": "Holm is led by Eve."})
    evidence, computed = memory[:-1], memory[-1]
    *others, last = evidence
    read = {item.slot.id: -8.0 for item in others} | {last.slot.id: 8.0}
    by_units = rank_evidence(evidence, [], (), read)
    # Its attention is within a factor e^4 of the most.
    assert [item.slot.id for item in by_units] == [item.slot.id for item in (last, *others)]
    # What was not read is no more relevant than the least relevant of what was.
    assert rank_evidence(evidence, [], (), {others[0].slot.id: -8.0}) == evidence
    # What was found by no hop stands first, what was found keeps its place.
    assert rank_evidence(evidence, [], (computed, others[-1]), read) == [computed, *by_units]
