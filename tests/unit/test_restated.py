"""What says again what a question asks, or its opposite."""

import pytest

from memnet.text.restated import Restated, differences, names_other_times, restates


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
        ("Are kites forbidden?", "Kites are forbidden everywhere.", True),
        ("May I fly a kite on the dyke?", "Kites may be flown anywhere on the dyke.", True),
        ("Were all seats taken?", "Not all seats were taken.", False),
        ("Can you wash the cover?", "The cover is washable.", True),
        ("Can I eat the plums?", "The plums are inedible.", False),
        ("Is the cover washable?", "The cover can not be washed.", False),
        ("May nurses open the safe?", "Only nurses may open the safe.", True),
        ("Does Oda row?", "Oda used to row.", False),
        ("Was the gate mended?", "Oda mended the gate in May.", True),
        ("Do I have to pay for the audio guide?", "The audio guide is free of charge.", False),
        ("Do I have to pay for lockers?", "Lockers cost two euros a day.", True),
        ("Do I like quinces?", "I can't stand quinces.", False),
        ("Do I smoke?", "I don't smoke any more.", False),
        ("Is the soup harmless?", "The soup is harmful.", False),
        ("May I feed the geese?", "Please don't feed the geese.", False),
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
        ("May pilots use the sauna?", "Only pilots may use the bar."),
        ("May pilots use the bar?", "Only retired pilots may use the bar."),
        ("Are kites allowed?", "Kites are not allowed everywhere."),
        ("Is the ladder stable?", "The ladder is portable."),
        ("Does the oven dry fruit?", "The oven is used to dry fruit."),
        ("Was Oda driven to Lund?", "Oda drove to Lund."),
        ("Was Oda beaten?", "Ivo never beat Oda."),
        ("Do I have to pay for lunch?", "The audio guide is free of charge."),
        ("Do infants have to pay for lunch?", "Lunch costs two euros."),
        ("Does Oda like the roof?", "Oda can't stand on the roof."),
        ("Is the terrace heated?", "Is the terrace heated?"),
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
    ("question", "text", "expected"),
    [
        ("May divers use the jetty?", "Divers may use the jetty until 21:00.", (True, False)),
        ("Is the sauna closed?", "The sauna is closed until May.", (True, False)),
        ("Is the sauna open?", "The sauna is not open before 9.", (False, False)),
        ("Is the sauna open after 22:00?", "The sauna is open until 21:00.", None),
        ("Did Oda sail before May?", "Oda sailed before May.", (True, True)),
        ("Does the mill sell bread?", "The mill does not sell bread, only flour.", (False, True)),
        ("Does the mill sell flour?", "The mill does not sell bread, only flour.", None),
        ("Does it rain?", "It does not rain, only when the wind turns.", None),
        ("May divers swim?", "Divers may not swim, only under supervision.", None),
        ("Are cheques accepted?", "Cheques are not accepted, only above 20 euros.", None),
        ("Does the mill run on Sundays?", "It does not run on Sundays, only rarely.", None),
        ("Is Oda at home?", "Oda is at home before Ivo comes.", None),
    ],
)
def test_limits_of_time_and_what_is_had_instead(
    question: str, text: str, expected: tuple[bool, bool] | None
) -> None:
    assert restates(question, text) == expected


def test_only_some_may_what_others_may_not() -> None:
    assert restates("May guests open the safe?", "Only nurses may open the safe.") == (False, False)


@pytest.mark.parametrize(
    ("heading", "question", "answer", "yes"),
    [
        ("Do I need a ticket?", "Do I need a ticket?", "No, just come in.", False),
        ("3.1 Do I have to book?", "Do I need to book?", "There is no need.", False),
        ("**Q: May I bring a dog?**", "Can I bring a dog?", "Do so, on a lead.", True),
        ("Is there a fee?", "Is there a fee?", "Sadly, yes: two francs.", True),
        ("Are dogs allowed?", "Are dogs forbidden?", "A: Of course!", False),
        ("Is the tower open?", "Is the tower closed?", "Not at the moment.", True),
        ("May I film here?", "May I film here?", "Please don't.", False),
        ("May I film here?", "May I film here?", "No one minds.", None),
        ("Are eggs sold?", "Are eggs sold?", "Not only eggs.", None),
        ("Is milk sold?", "Are eggs sold?", "No, only on Sundays.", None),
        ("Did Oda beat Ivo?", "Did Ivo beat Oda?", "Yes.", None),
        ("Do I have to book?", "Can I book?", "No.", None),
    ],
)
def test_the_answer_below_a_question_begins_with_a_verdict(
    heading: str, question: str, answer: str, yes: bool | None
) -> None:
    expected = None if yes is None else Restated(yes, sure=True)
    assert restates(question, answer, before=f"{heading}\n\n") == expected
    assert restates(question, f"{heading}\n\n{answer}") == expected
    assert restates(question, answer, title=f"Questions > {heading}") == expected


@pytest.mark.parametrize(
    ("text", "is_opposed"),
    [("Oda sold her harp.", True), ("Oda used to sell harps.", False), ("Oda plays.", False)],
)
def test_a_clause_has_an_opposite(text: str, is_opposed: bool) -> None:
    found = differences("Does Oda buy a harp?", text)
    assert any(one.opposed for one in found) is is_opposed


@pytest.mark.parametrize(
    ("question", "text", "missing", "instead"),
    [
        ("Is a key needed?", "No key is needed.", set(), set()),
        ("Is a key needed?", "No lock is needed.", {"key"}, {"lock"}),
        ("Can I nap in the loft?", "Tea is hot. Tea may be had in the loft.", {"nap"}, None),
        ("Is it open?", "", {"open"}, set()),
    ],
)
def test_the_nearest_clause_lacks_words(
    question: str, text: str, missing: set[str], instead: set[str] | None
) -> None:
    nearest = differences(question, text)[0]
    assert nearest.missing == missing
    assert instead is None or nearest.instead == instead


@pytest.mark.parametrize(
    ("question", "text", "is_of_other"),
    [
        ("Has Oda flown a glider?", "Oda has never flown a kite.", True),
        ("Does Oda own a kite?", "Oda has no kite.", False),
        ("Did Oda win the regatta?", "Oda did not lose the regatta.", False),
        ("Has Oda flown a glider?", "Oda is ill and flies no more.", False),
    ],
)
def test_a_clause_has_another_word_in_place(question: str, text: str, is_of_other: bool) -> None:
    assert differences(question, text)[0].is_of_other is is_of_other


def test_other_days_say_nothing_about_one() -> None:
    assert names_other_times("Is it open on Fridays?", "Closed on Mondays.")
    assert not names_other_times("Is it open on Fridays?", "Closed on Mondays and Fridays.")
    assert not names_other_times("Is it open on Fridays?", "Open daily.")


@pytest.mark.parametrize(
    ("question", "text", "yes"),
    [
        ("May the lodger keep a goat?", "The lodger shall not keep goats.", False),
        ("May I wear boots in the chapel?", "Boots must be taken off in the chapel.", False),
        ("Can I sing in the chapel?", "Boots must be taken off in the chapel.", None),
        ("Is it allowed to light a candle here?", "No candle may be lit here.", False),
        ("Is towing included?", "Towing: none", False),
        ("Is towing included?", "Tyres: none", None),
        ("Are tents allowed?", "Tents: permitted", True),
        (
            "Is the mill open on Tuesdays?",
            "The mill: Monday closed, Tue to Thu 9:00 to 12:00.",
            True,
        ),
        (
            "Is the mill open on Mondays?",
            "The mill: Monday closed, Tue to Thu 9:00 to 12:00.",
            False,
        ),
        (
            "Is the mill open on Sundays?",
            "The mill: Monday closed, Tue to Thu 9:00 to 12:00.",
            None,
        ),
        ("Is the mill open on Mondays?", "Saturday to Monday: closed", False),
    ],
)
def test_entries_hours_and_duties_say_what_may_be(
    question: str, text: str, yes: bool | None
) -> None:
    said = restates(question, text, "The mill")
    assert said == (None if yes is None else Restated(yes, sure=True))


def test_a_firm_is_asked_as_you_in_its_own_questions() -> None:
    asked = "Do you dye wool?"
    assert restates("Does the dyer dye wool?", "Yes, any colour.", "Answers", asked) == (
        Restated(yes=True, sure=False)
    )
    assert restates("Does the dyer dye silk?", "Yes, any colour.", "Answers", asked) is None
