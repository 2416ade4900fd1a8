"""``/v1/chat/completions``: the last message of the user is the question."""

import json
import time
import uuid
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response, StreamingResponse
from pydantic import BaseModel

from memnet.engine import Engine
from memnet.errors import InputError
from memnet.server.openai.models import MODEL, check_model
from memnet.server.openai.tasks import task_answer
from memnet.server.openai.tokens import count_tokens
from memnet.server.work import Work
from memnet.text.checks import FIRST_ERROR, check_text
from memnet.text.citations import CitedText, answer_text, source_url

_MAX_MESSAGE = 1_000_000
"""Characters: what chat pages ask on their own holds the whole chat."""


class Part(BaseModel):
    """A part of a message; only texts are read."""

    type: str
    text: str | None = None


class ChatMessage(BaseModel):
    """A message of a chat."""

    role: str
    content: str | Annotated[list[Part], FIRST_ERROR] | None = None

    def text(self) -> str:
        """Its text, whose parts are paragraphs."""
        if isinstance(self.content, list):
            return "\n\n".join(part.text for part in self.content if part.text)
        return self.content or ""


class StreamOptions(BaseModel):
    """What a stream holds besides the answer."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """The body of a request. What steers a language model, such as a temperature, is ignored."""

    model: str
    messages: Annotated[list[ChatMessage], FIRST_ERROR]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = 1


def add_routes(routes: APIRouter, engine: Engine, work: Work) -> None:
    """Add the route of chats."""

    def answer(question: str, messages: list[ChatMessage]) -> tuple[CitedText, dict[str, int]]:
        task = task_answer(question)
        cited = CitedText(task, ()) if task is not None else answer_text(engine.ask(question))
        return cited, _usage(messages, cited.text)

    @routes.post("/chat/completions")
    async def chat(body: ChatRequest) -> Response:
        """Answer the last message of the user; earlier ones are not looked at."""
        check_model(body.model)
        question = _question(body.messages)
        cited, usage = await work.answer(answer, question, body.messages)
        head = {
            "id": f"chatcmpl-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": MODEL,
        }
        if body.stream:
            with_usage = body.stream_options is not None and body.stream_options.include_usage
            chunks = _chunks(head, cited, usage if with_usage else None)
            return StreamingResponse(chunks, media_type="text/event-stream")
        message = {
            "role": "assistant",
            "content": cited.text,
            "refusal": None,
            "annotations": _annotations(cited),
        }
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return JSONResponse(
            {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        )


def _question(messages: list[ChatMessage]) -> str:
    """The text of the last message of the user.

    Raises:
        InputError: there is none, or it holds no text, or one that is too long or broken.
    """
    question = next((one.text() for one in reversed(messages) if one.role == "user"), "")
    if not question.strip():
        raise InputError("the messages hold no text of the role 'user'; the last one is answered")
    check_text(question, "the last message of the user", _MAX_MESSAGE)
    return question.strip()


def _annotations(cited: CitedText) -> list[dict[str, Any]]:
    """The quotations of an answer, with the addresses of their sources."""
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": one.start,
                "end_index": one.end,
                "title": one.evidence.title or one.evidence.source,
                "url": source_url(one.evidence.source, one.evidence.metadata),
            },
        }
        for one in cited.citations
    ]


def _usage(messages: list[ChatMessage], answer: str) -> dict[str, int]:
    asked = sum(count_tokens(one.text()) for one in messages)
    answered = count_tokens(answer)
    return {
        "prompt_tokens": asked,
        "completion_tokens": answered,
        "total_tokens": asked + answered,
    }


def _chunks(head: dict[str, Any], cited: CitedText, usage: dict[str, int] | None) -> Iterator[str]:
    """The events of a stream: the role, the lines of the answer, its citations, the end."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": line} for line in cited.text.splitlines(keepends=True)]
    if cited.citations:
        deltas.append({"annotations": _annotations(cited)})
    for delta in deltas:
        yield _event(head, [{"index": 0, "delta": delta, "finish_reason": None}])
    yield _event(head, [{"index": 0, "delta": {}, "finish_reason": "stop"}])
    if usage is not None:
        yield _event(head, [], usage)
    yield "data: [DONE]\n\n"


def _event(
    head: dict[str, Any], choices: list[dict[str, Any]], usage: dict[str, int] | None = None
) -> str:
    chunk = {**head, "object": "chat.completion.chunk", "choices": choices}
    if usage is not None:
        chunk["usage"] = usage
    return f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"
