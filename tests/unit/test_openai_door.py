"""The HTTP interface of OpenAI, through its own client."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import fastapi
import numpy as np
import openai
import pytest
import uvicorn

from memnet import Document, Engine, Fact
from memnet.server.openai import router, task_answer
from memnet.server.work import Work

TEXT = "The Orre Light was built by Una Thale.\n\nIt stands on granite."


@pytest.fixture
def client(toy_engine: Engine) -> Iterator[Any]:
    """OpenAI's client of a server with a memory."""
    toy_engine.ingest(
        Document(id="light", title="Orre Light", text=TEXT),
        Document(
            id="k", title="Kestle", text="Kestle is a town.", metadata={"url": "https://x.org/k"}
        ),
        *(Fact(subject="Mole", relation="lies on", object=one) for one in ("Brannock", "Fenna")),
    )
    app = fastapi.FastAPI()
    work = Work(2)
    app.include_router(router(toy_engine, work))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
        port = server.servers[0].sockets[0].getsockname()[1]
        address = f"http://127.0.0.1:{port}/v1"
        with openai.OpenAI(base_url=address, api_key="none", max_retries=0) as one:
            yield one
    finally:
        server.should_exit = True
        thread.join()
        work.close()


def ask(client: Any, *messages: Any, **options: Any) -> Any:
    return client.chat.completions.create(
        model="memnet",
        messages=[one if isinstance(one, dict) else user(one) for one in messages],
        **options,
    )


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def test_models_are_listed(client: Any) -> None:
    assert [one.id for one in client.models.list()] == ["memnet"]
    assert client.models.retrieve("memnet").owned_by == "memnet"
    with pytest.raises(openai.NotFoundError) as error:
        client.models.retrieve("gpt/4")
    assert error.value.code == "model_not_found"


def test_the_last_question_is_answered_with_citations(client: Any) -> None:
    answer = ask(
        client,
        {"role": "system", "content": "Be brief."},
        "What is Kestle?",
        {"role": "assistant", "content": "A town."},
        user([{"type": "text", "text": "Who built the Orre Light?"}]),
    )
    (choice,) = answer.choices
    assert choice.finish_reason == "stop"
    content = choice.message.content
    assert content == "The Orre Light was built by Una Thale. [1]\n\n[1] Orre Light (light)"
    (note,) = choice.message.annotations
    cited = note.url_citation
    assert content[cited.start_index : cited.end_index] in TEXT
    assert (cited.title, cited.url) == ("Orre Light (light)", "memnet://source/light")
    usage = answer.usage
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens
    assert usage.prompt_tokens == 3 + 4 + 3 + 6


def test_a_citation_has_the_address_of_the_metadata(client: Any) -> None:
    (note,) = ask(client, "What is Kestle?").choices[0].message.annotations
    assert note.url_citation.url == "https://x.org/k"


def test_all_values_of_facts_are_cited(client: Any) -> None:
    message = ask(client, "What island lies Mole on?").choices[0].message
    pieces = {
        message.content[one.url_citation.start_index : one.url_citation.end_index]
        for one in message.annotations
    }
    assert pieces == {"Brannock", "Fenna"}


def test_place_and_confidence_are_told(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = Engine.ask

    def sure(engine: Engine, question: str) -> Any:
        answer = answered(engine, question)
        placed = [one.model_copy(update={"place": "p. 8"}) for one in answer.evidence]
        return answer.model_copy(update={"confidence": 0.75, "evidence": tuple(placed)})

    monkeypatch.setattr(Engine, "ask", sure)
    question = "Who built the Orre Light?"
    message = ask(client, question).choices[0].message
    assert message.confidence == 0.75
    assert message.content.endswith("(confidence 0.75, likely)\n\n[1] Orre Light, p. 8 (light)")
    assert message.annotations[0].url_citation.title == "Orre Light, p. 8 (light)"
    deltas = [one.choices[0].delta for one in ask(client, question, stream=True)]
    assert [one.confidence for one in deltas if hasattr(one, "confidence")] == [0.75]


@pytest.mark.parametrize("text", ["Hello!", "What's up?", "hi, can you help me?", "Thank you!"])
def test_a_greeting_gets_no_answer_from_the_memory(client: Any, text: str) -> None:
    message = ask(client, text).choices[0].message
    assert "Ask about what is stored" in message.content
    assert (message.annotations, message.confidence) == ([], None)


def test_what_is_not_there_is_said(client: Any) -> None:
    message = ask(client, "Zirconium price?").choices[0].message
    assert message.content.startswith("The memory does not hold the answer.")
    assert not message.annotations


def test_a_stream_gives_the_same(client: Any) -> None:
    whole = ask(client, "Who built the Orre Light?")
    usage = {"include_usage": True}
    chunks = list(ask(client, "Who built the Orre Light?", stream=True, stream_options=usage))
    content = ""
    notes: list[Any] = []
    for chunk in chunks:
        assert chunk.id == chunks[0].id
        for choice in chunk.choices:
            content += choice.delta.content or ""
            notes += getattr(choice.delta, "annotations", None) or []
    assert content == whole.choices[0].message.content
    assert notes == [one.model_dump() for one in whole.choices[0].message.annotations]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [one.choices[0].finish_reason for one in chunks[:-1]].count("stop") == 1
    assert chunks[-1].usage == whole.usage
    plain = list(ask(client, "Who built the Orre Light?", stream=True))
    assert all(chunk.usage is None for chunk in plain)


def test_errors_are_those_of_openai(client: Any) -> None:
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="gpt-4", messages=[user("Hello?")])
    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
    for messages in ([], [{"role": "system", "content": "x"}], [user(" ")], [user(None)]):
        with pytest.raises(openai.BadRequestError) as bad:
            client.chat.completions.create(model="memnet", messages=messages)
        assert bad.value.type == "invalid_request_error"
        body: Any = bad.value.body
        assert "\n" not in body["message"]
    with pytest.raises(openai.BadRequestError) as bad:
        client.chat.completions.create(model="memnet", messages="Hello?")
    assert bad.value.param == "messages"
    with pytest.raises(openai.BadRequestError):
        ask(client, "a" * 3000)
    with pytest.raises(openai.BadRequestError):
        client.post("/chat/completions", cast_to=object, body=None)


def test_embeddings_are_those_of_the_encoder(client: Any, toy_engine: Engine) -> None:
    texts = ["The Orre Light", "Kestle"]
    expected = toy_engine.encoder.encode(texts)
    for options in ({}, {"encoding_format": "float"}, {"dimensions": 64}):
        result = client.embeddings.create(model="memnet", input=texts, **options)
        found = np.array([one.embedding for one in result.data], np.float32)
        np.testing.assert_array_equal(found, expected)
        assert [one.index for one in result.data] == [0, 1]
        assert result.usage.total_tokens == 4
    raw = client.embeddings.with_raw_response.create(
        model="memnet", input="Kestle", encoding_format="base64"
    )
    assert isinstance(json.loads(raw.text)["data"][0]["embedding"], str)


def test_bad_embeddings_are_refused(client: Any) -> None:
    for texts in ([], ["a", " "], ["a"] * 3000, "a" * 200_000, [[1, 2]]):
        with pytest.raises(openai.BadRequestError):
            client.embeddings.create(model="memnet", input=texts)
    for options in ({"dimensions": 3}, {"encoding_format": "hex"}):
        with pytest.raises(openai.BadRequestError):
            client.embeddings.create(model="memnet", input="a", **options)


HISTORY = """
### Chat History:
<chat_history>
USER: Who built the "tags" of the Orre Light, and when?
ASSISTANT: Una Thale.
</chat_history>"""


def test_prompts_of_chat_pages_are_answered_without_the_memory(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Engine, "ask")
    for task, answer in (
        ('Generate a title. { "title": "..." }', {"title": 'Who built the "tags" of the'}),
        ('Generate 1-3 tags. { "tags": ["a"] }', {"tags": ["General"]}),
        ('Suggest follow-ups. { "follow_ups": ["a"] }', {"follow_ups": []}),
        ('Generate queries. { "queries": ["a"] }', {"queries": []}),
    ):  # fmt: skip
        content = ask(client, f"### Task:\n{task}\n{HISTORY}").choices[0].message.content
        assert json.loads(content) == answer


def test_a_question_is_no_task() -> None:
    assert task_answer("What does '### Task:' mean?") is None
    assert task_answer(f"### Task:\nWrite a title of this chat.{HISTORY}") == (
        'Who built the "tags" of the'
    )
    assert task_answer("### Task:\nSomething else") == ""
