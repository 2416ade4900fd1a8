from benchmarks.chats import StanceExample, chats, stance_examples, stance_sets


def test_what_is_written_about_chats_stands_in_them() -> None:
    for chat in chats():
        said = [one.text.casefold() for one in chat.messages]
        for asked in chat.answered:
            assert any(asked.answer.casefold() in text for text in said), asked
        for both in chat.contradicted:
            denied, affirmed = chat.messages[both.denied], chat.messages[both.affirmed]
            assert denied.speaker == affirmed.speaker
            assert denied != affirmed
    assert len({one.question for one in stance_sets()}) == len(stance_sets())


def test_what_is_held_out_is_not_learned_from() -> None:
    examples: list[StanceExample] = list(stance_examples())
    learned = {one.text for one in examples if not one.held_out}
    assert learned.isdisjoint(one.text for one in examples if one.held_out)
