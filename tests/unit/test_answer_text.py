"""Answers as one text with citations."""

from memnet import Answer, Candidate, Engine, Evidence, Fact, Quote
from memnet.text.citations import NO_ANSWER, answer_text, source_url


def evidence(number: int, text: str, **fields: object) -> Evidence:
    values: dict[str, object] = {
        "id": number, "kind": "passage", "source": f"s{number}", "title": f"Title {number}",
        "start": 0, "end": len(text), "text": text, "score": 1.0, "hop": 1,
    }  # fmt: skip
    return Evidence.model_validate(values | fields)


def quote(item: Evidence, text: str) -> Quote:
    start = item.text.index(text)
    return Quote(
        evidence=item.id, source=item.source, start=start, end=start + len(text), text=text,
        weight=1.0,
    )  # fmt: skip


def answer(text: str | None, **fields: object) -> Answer:
    values: dict[str, object] = {
        "question": "q", "answer": text, "confidence": 0.5, "abstained": text is None,
        "candidates": (), "evidence": (), "hops": (), "model": "m", "elapsed_ms": 1.0,
    }  # fmt: skip
    return Answer.model_validate(values | fields)


def test_each_quotation_is_followed_by_its_number() -> None:
    one, two = evidence(1, "Red. Blue."), evidence(2, "Blue. Green.", place="p. 8")
    cited = answer_text(
        answer(
            "Blue.\nGreen.\nRed.\nBlue.",
            evidence=(one, two),
            quotes=(
                quote(two, "Blue."),
                quote(two, "Green."),
                quote(one, "Red."),
                quote(one, "Blue."),
            ),
        )
    )
    assert cited.text == (
        "Blue. [1]\nGreen. [1]\nRed. [2]\nBlue. [2]\n\n(confidence 0.50, perhaps)\n\n"
        "[1] Title 2, p. 8 (s2)\n[2] Title 1 (s1)"
    )
    pieces = [(cited.text[item.start : item.end], item.evidence.id) for item in cited.citations]
    assert pieces == [("Blue.", 2), ("Green.", 2), ("Red.", 1), ("Blue.", 1)]


def test_an_answer_without_quotations_names_its_best_evidence() -> None:
    cited = answer_text(answer("Yes", kind="yes", evidence=(evidence(1, "Red."),)))
    assert cited.text == "Yes\n\n(confidence 0.50, perhaps)\n\n[1] Title 1 (s1)"
    assert not cited.citations


def test_values_of_facts_are_cited_with_the_fact_once() -> None:
    facts = [
        evidence(number, text, kind="fact", source="t", title="x")
        for number, text in enumerate(("A\tis\tB", "A\tis\tB", "A|is|C", "D\tis\tE"))
    ]
    candidates = (Candidate(text="B", score=1), Candidate(text="C", score=1))
    cited = answer_text(answer("B", kind="facts", candidates=candidates, evidence=tuple(facts)))
    assert cited.text == (
        "B [1], C [2]\n\n(confidence 0.50, perhaps)\n\n"
        "[1] A is B (t)\n[2] A|is|C (t)\n[3] D is E (t)"
    )
    assert [cited.text[item.start : item.end] for item in cited.citations] == ["B", "C"]


def test_what_is_not_held_comes_with_what_is_near() -> None:
    near = (evidence(1, "x", title="A > B", place="A > B"), evidence(2, "y", title="s2"))
    cited = answer_text(answer(None, evidence=near))
    assert cited.text.split("\n") == [
        NO_ANSWER,
        "Nearest to the question: A > B (s1); s2",
    ]
    assert not cited.citations


def test_a_source_has_an_address() -> None:
    assert source_url("a b/ü?#.md", {}) == "memnet://source/a%20b/%C3%BC%3F%23.md"
    assert source_url("a", {"url": "https://x.org/1"}) == "https://x.org/1"
    assert source_url("a", {"url": "javascript:alert(1)"}) == "memnet://source/a"
    assert source_url("a", {"url": 3}) == "memnet://source/a"


def test_answers_of_facts_are_cited(toy_engine: Engine) -> None:
    toy_engine.ingest(
        Fact(subject="Mole", relation="lies on", object="Brannock"),
        Fact(subject="Mole", relation="lies on", object="Fenna"),
    )
    cited = answer_text(toy_engine.ask("What island lies Mole on?"))
    pieces = {cited.text[item.start : item.end] for item in cited.citations}
    assert pieces == {"Brannock", "Fenna"}
