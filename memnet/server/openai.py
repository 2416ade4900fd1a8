"""A memory behind the HTTP interface of OpenAI: chat completions, embeddings and models."""

import base64
import json
import re
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from memnet.engine import Engine
from memnet.errors import InputError, MemnetError, one_line
from memnet.server.errors import NotFoundError, describe
from memnet.server.work import Work
from memnet.text.checks import FIRST_ERROR, check_text
from memnet.text.citations import CitedText, answer_text, heading, source_url


class OpenAIErrorDetail(BaseModel):
    """What went wrong."""

    message: str
    type: str
    param: str | None  # the field of the request that is wrong
    code: str | None


class OpenAIErrorBody(BaseModel):
    """The body of a response that is an error."""

    error: OpenAIErrorDetail


# For the schema of routes
ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {"model": OpenAIErrorBody, "description": "An error"}
}


class OpenAIRoute(APIRoute):
    """A route whose errors are responses in OpenAI's form."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler of the route, with its errors answered."""
        handle = super().get_route_handler()

        async def handle_errors(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                first = error.errors()[0]
                # The body as a whole has no name.
                where = ".".join(str(part) for part in first["loc"][1:])
                return _error(400, f"{where or 'body'}: {first['msg']}", where or None)
            except HTTPException as error:
                return _error(error.status_code, str(error.detail))
            except MemnetError as error:
                status, message = describe(error)
                if status == 404:
                    return _error(status, message, "model", "model_not_found")
                return _error(503 if status == 409 else status, message)

        return handle_errors


def _error(
    status: int, message: str, param: str | None = None, code: str | None = None
) -> Response:
    kind = "invalid_request_error" if status < 500 else "server_error"
    detail = OpenAIErrorDetail(message=one_line(message), type=kind, param=param, code=code)
    return Response(
        OpenAIErrorBody(error=detail).model_dump_json(), status, media_type="application/json"
    )


MODEL = "memnet"  # the name of the memory as a model, of chats and of embeddings.
_CARD = {"id": MODEL, "object": "model", "created": 0, "owned_by": "memnet"}


def check_model(name: str) -> None:
    """Refuse requests for other models with ``NotFoundError``."""
    if name != MODEL:
        raise NotFoundError(f"unknown model {name!r}; expected {MODEL!r}")


# Characters: what chat pages ask on their own holds the whole chat.
_MAX_MESSAGE = 1_000_000


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
    """The body of a request. Settings of language models, such as a temperature, are ignored."""

    model: str
    messages: Annotated[list[ChatMessage], FIRST_ERROR]
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = 1


class EmbeddingsRequest(BaseModel):
    """The body of a request."""

    model: str
    input: str | Annotated[list[str], FIRST_ERROR]
    encoding_format: Literal["float", "base64"] | None = "float"
    dimensions: int | None = None


def router(engine: Engine, work: Work) -> APIRouter:
    """The routes below ``/v1``. Their errors have OpenAI's form."""
    routes = APIRouter(
        prefix="/v1", route_class=OpenAIRoute, tags=["openai"], responses=ERROR_RESPONSES
    )

    @routes.get("/models")
    def models() -> dict[str, Any]:
        """The models that are served."""
        return {"object": "list", "data": [_CARD]}

    @routes.get("/models/{name:path}")
    def model(name: str) -> dict[str, Any]:
        """One of them."""
        check_model(name)
        return _CARD

    def answer(question: str, messages: list[ChatMessage]) -> tuple[CitedText, dict[str, int]]:
        task = task_answer(question)
        cited = CitedText(task, ()) if task is not None else answer_text(engine.ask(question))
        read, said = sum(count_tokens(one.text()) for one in messages), count_tokens(cited.text)
        usage = {"prompt_tokens": read, "completion_tokens": said, "total_tokens": read + said}
        return cited, usage

    @routes.post("/chat/completions")
    async def chat(body: ChatRequest) -> Response:
        """Answer the last message of the user; earlier ones are ignored."""
        check_model(body.model)
        question = _question(body.messages)
        cited, usage = await work.answer(answer, question, body.messages)
        head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": MODEL}
        if body.stream:
            with_usage = body.stream_options is not None and body.stream_options.include_usage
            chunks = _chunks(head, cited, usage if with_usage else None)
            return StreamingResponse(chunks, media_type="text/event-stream")
        message = {
            "role": "assistant", "content": cited.text, "refusal": None,
            "annotations": _annotations(cited), "confidence": cited.confidence,
        }  # fmt: skip
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return JSONResponse(
            {**head, "object": "chat.completion", "choices": [choice], "usage": usage}
        )

    @routes.post("/embeddings")
    async def embeddings(body: EmbeddingsRequest) -> dict[str, Any]:
        """A vector of length one for each text."""
        check_model(body.model)
        texts = _checked_texts(body.input)
        width = engine.encoder.dimension
        if body.dimensions not in (None, width):
            raise InputError(
                f"invalid dimensions {body.dimensions}; the encoder has {width}: omit it"
            )
        vectors = await work.answer(engine.encoder.encode, texts)
        shown: list[Any] = vectors.tolist()
        if body.encoding_format == "base64":  # of [D] float32
            shown = [base64.b64encode(one.tobytes()).decode() for one in vectors.astype("<f4")]
        tokens = sum(map(count_tokens, texts))
        return {
            "object": "list",
            "model": MODEL,
            "data": [
                {"object": "embedding", "index": index, "embedding": vector}
                for index, vector in enumerate(shown)
            ],
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }

    return routes


def _question(messages: list[ChatMessage]) -> str:
    """The text of the last message of the user."""
    question = next((one.text() for one in reversed(messages) if one.role == "user"), "")
    if not question.strip():
        raise InputError("no message of the role 'user' has text; the last one is answered")
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
                "title": heading(one.evidence),
                "url": source_url(one.evidence.source, one.evidence.metadata),
            },
        }
        for one in cited.citations
    ]


def _chunks(head: dict[str, Any], cited: CitedText, usage: dict[str, int] | None) -> Iterator[str]:
    """The events of a stream: the role, the lines of the answer, its citations, the end."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": line} for line in cited.text.splitlines(keepends=True)]
    if cited.citations or cited.confidence is not None:
        deltas.append({"annotations": _annotations(cited), "confidence": cited.confidence})
    deltas.append({})  # the end
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}]}
        for delta in deltas
    ]
    if usage is not None:
        chunks.append({"choices": [], "usage": usage})
    for chunk in chunks:
        shown = {**head, "object": "chat.completion.chunk", **chunk}
        yield f"data: {json.dumps(shown, ensure_ascii=False)}\n\n"
    yield "data: [DONE]\n\n"


_TASK = "### Task:"
_TITLE_WORDS = 6
_FIRST_QUESTION = re.compile(r"^[^\S\n]*+USER:[^\S\n]*+(\S.*)$", re.MULTILINE | re.IGNORECASE)


def task_answer(prompt: str) -> str | None:
    """The answer to such a prompt, as JSON where it asks for that; None for a user's question."""
    if not prompt.lstrip().startswith(_TASK):
        return None
    # Each names the JSON that it expects; the history below may hold any words.
    task = prompt.split("### Chat History", 1)[0].casefold()
    known = {"follow_ups": [], "queries": [], "tags": ["General"], "title": _title(prompt)}
    for key, value in known.items():
        if f'"{key}"' in task:
            return json.dumps({key: value}, ensure_ascii=False)
    return _title(prompt) if "title" in task else ""


def _title(prompt: str) -> str:
    """The first words of the chat's first question."""
    found = _FIRST_QUESTION.search(prompt)
    words = found[1].split() if found else []
    return " ".join(words[:_TITLE_WORDS]).rstrip("?.,:;!") or "Chat"


_TOKEN = re.compile(r"\w+|[^\w\s]")


def count_tokens(text: str) -> int:
    """Words and punctuation marks of a text, as counts of usage."""
    return len(_TOKEN.findall(text))


_MAX_TEXTS = 2048  # of a request, as with OpenAI
_MAX_CHARACTERS = 100_000  # of a text: about 4 s of encoding on a processor
# Characters of a request: as many as OpenAI's 300,000 tokens have.
_MAX_TOTAL = 1_200_000


def _checked_texts(given: str | list[str]) -> list[str]:
    """The texts of a request; ``InputError`` if they can't be used."""
    texts = [given] if isinstance(given, str) else given
    if not 1 <= len(texts) <= _MAX_TEXTS:
        raise InputError(f"input has {len(texts):,} texts; expected 1 to {_MAX_TEXTS:,}")
    for number, text in enumerate(texts):
        check_text(text, f"text {number} of the input", _MAX_CHARACTERS)
        if not text.strip():
            raise InputError(f"text {number} of the input is blank; omit it")
    total = sum(map(len, texts))
    if total > _MAX_TOTAL:
        raise InputError(
            f"input has {total:,} characters, the limit is {_MAX_TOTAL:,}; split the request"
        )
    return texts
