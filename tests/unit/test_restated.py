"""What says again what a question asks, or its opposite."""

import pytest

from memnet.text.restated import Restated, is_opposed, names_all, names_other_times, restates


@pytest.mark.parametrize(
    ("question", "text", "yes"),
    [
        ("Does Oda collect stamps?", "Oda collects stamps, but she sells none.", True),
        ("Are lockers numbered?", "All lockers are numbered.", True),
        ("Is the terrace heated?", "The terrace is not heated.", False),
        ("Is the vault open?", "The vault is closed.", False),
        ("Is the plank stable?", "The plank is unstable.", False),
        ("Is the radio on?", "The radio is switched off.", False),
        ("Is Ivo Pia's brother?", "Pia's brother is Ivo.", True),
        ("Did Oda win the regatta?", "Oda lost the regatta.", False),
        ("Did Oda win the regatta?", "Oda has won prizes. Oda won the regatta in 1990.", True),
        ("Has Oda ever been to Malta?", "Oda has never been to Malta.", False),
        ("Was the old boiler ever cleaned?", "The old boiler has never been cleaned.", False),
        ("Does Ivo teach fencing?", "Ivo teaches not only fencing but also judo.", True),
        (
            "Does Zed run on Amiga?",
            "Zed runs on Atari and Linux, but not on Amiga.",
            False,
        ),
        (
            "Does Zed run on Linux?",
            "Zed runs on Atari and Linux, but not on Amiga.",
            True,
        ),
        ("May I use brass cutters?", "Steel cutters are welcome, brass cutters are banned.", False),
        ("May I use brass cutters?", "Steel cutters are allowed, brass cutters are not.", False),
        ("Is it allowed to fish at the weir?", "Fishing at the weir is prohibited.", False),
        ("Are guests allowed to feed the geese?", "Never feed the geese.", False),
        ("Can you hire skates there?", "Skates and sledges can be hired at the hut.", True),
        ("Can toddlers swim without a float?", "Toddlers swim only with a float.", False),
        ("Do I need a ticket?", "A ticket is not required.", False),
        ("Is parking at the weir free?", "Parking at the weir costs 3 euros an hour.", False),
        ("Does the soup cost anything?", "Soup is served free of charge.", False),
        ("Is there a harp in the hall?", "The hall has no harp.", False),
        ("Is lunch included in the fee?", "The fee includes lunch.", True),
    ],
)
def test_a_clause_affirms_or_denies_in_the_words_of_the_question(
    question: str, text: str, yes: bool
) -> None:
    assert restates(question, text) == Restated(yes, sure=True)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("May divers use the jetty?", "Divers may use the jetty until nine."),
        ("Is the terrace heated?", "The terrace is large, and the hall is heated."),
        ("Is the terrace heated?", "The terrace is heated only for guests."),
        ("Is the terrace heated?", "The terrace is heated. The terrace is not heated."),
        ("Are all lockers numbered?", "Lockers are numbered."),
        ("Is Oda the treasurer?", "Oda was the treasurer until May."),
        ("Does Oda paint?", "Oda painted."),
        ("Is the east door locked?", "The west door is locked."),
        ("Is the shop open on Fridays?", "The shop is closed on Mondays."),
        ("Did Oda buy a harp?", "Oda sold a harp."),
        ("Did Oda lock the gate?", "Oda unlocked the gate."),
        ("Did Oda beat Ivo?", "Ivo beat Oda."),
        ("Is the tent open at night?", "The tent is open at day."),
        ("Is the lid covered?", "The lid is discovered."),
        ("Is the gate open?", "The gate is open if it is dry."),
        ("Is it so?", ""),
        ("?", "Yes."),
    ],
)
def test_others_are_left_open(question: str, text: str) -> None:
    said = restates(question, text)
    assert said is None or not said.sure


@pytest.mark.parametrize(
    ("question", "text", "title", "yes"),
    [
        ("Is the vase on loan?", "The object is on loan in Lund.", "The vase", True),
        ("Is the vase on loan?", "It is not on loan.", "The vase", False),
        ("Is the vase red?", "The lid is new. It is red.", "The vase", None),
        ("Is the lid red?", "The lid is new. It is red.", "The vase", True),
        ("Does it run on Atari?", "Zed 3 runs on Atari.", "Zed 3", True),
        ("Are dogs allowed in the mill?", "Dogs are forbidden.", "Rules of the mill", False),
    ],
)
def test_a_pronoun_stands_for_the_subject_before_or_the_heading(
    question: str, text: str, title: str, yes: bool | None
) -> None:
    said = restates(question, text, title)
    assert (said.yes if said is not None and said.sure else None) is yes


def test_what_has_more_words_is_not_sure() -> None:
    assert restates("Is the gate locked?", "The back gate is unlocked.") == (False, False)


@pytest.mark.parametrize(
    ("text", "is_no_ground"),
    [("Oda sold her harp.", True), ("Oda used to sell harps.", False), ("Oda plays.", False)],
)
def test_opposites_are_no_ground_for_yes(text: str, is_no_ground: bool) -> None:
    assert is_opposed("Does Oda buy a harp?", text) is is_no_ground


def test_other_days_say_nothing_about_one() -> None:
    assert names_other_times("Is it open on Fridays?", "Closed on Mondays.")
    assert not names_other_times("Is it open on Fridays?", "Closed on Mondays and Fridays.")
    assert not names_other_times("Is it open on Fridays?", "Open daily.")


def test_words_may_stand_in_the_title() -> None:
    assert names_all("Does Zed need a key?", "No key is needed.", "Zed 3")
    assert not names_all("Does Zed need a key?", "No lock is needed.", "Zed 3")
