"""What says again what a question asks, or its opposite."""

import pytest

from memnet.text.restated import restates


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("Is the terrace heated?", "The terrace is heated in winter.", True),
        ("Does Oda collect stamps?", "Oda collects stamps, but she sells none.", True),
        ("Are all lockers numbered?", "All lockers are numbered.", True),
        ("Are lockers numbered?", "All lockers are numbered.", True),
        ("May divers use the jetty?", "Divers may use the jetty until nine.", None),
        ("Is the terrace heated?", "The terrace is not heated.", False),
        ("Isn't the ferry running?", "The ferry is running.", False),
        ("Is the vault open?", "The vault is closed.", False),
        ("Is the vault open?", "The vault isn't closed.", True),
        ("Is the plank stable?", "The plank is unstable.", False),
        ("Did Oda win the race?", "Oda lost it.", None),
        ("Is the terrace heated?", "The terrace is large, and the hall is heated.", None),
        ("Is the terrace heated?", "The terrace is heated only for guests.", None),
        ("Are all lockers numbered?", "Lockers are numbered.", None),
        ("Is Oda the treasurer?", "Oda was the treasurer until May.", None),
        ("Is the east door locked?", "The west door is locked.", None),
        ("Is it so?", "", None),
        ("?", "Yes.", None),
    ],
)
def test_a_clause_affirms_or_denies_in_the_words_of_the_question(
    question: str, text: str, said: bool | None
) -> None:
    assert restates(question, text) is said
