"""A language model behind OpenAI's HTTP interface as a reader; off unless it is named.

The model points at answers by copying words of numbered passages. What it can't cite word for word
is dropped, so that nothing it makes up becomes an answer.
"""

import os
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from memnet.errors import DependencyError, InputError, ModelError, first_line, install
from memnet.reader.spans import Passage, Reading, Span

# What the name of such a reader begins with: "openai:http://127.0.0.1:11434/v1#llama3".
PREFIX = "openai:"
# Environment variable of the key that the server asks for, if it does.
KEY_VARIABLE = "MEMNET_READER_KEY"
_SECONDS = 60.0  # To wait for the connection, and for each part of an answer
_MAX_SPANS = 5
_MAX_ANSWER_TOKENS = 300
_NOTHING = Reading(spans=(), yes=0.0, no=0.0, answerable=0.0)
_INSTRUCTIONS = (
    "Answer the question with words copied exactly from the numbered passages, as short as "
    "possible. Write each answer on a line of its own, followed by the number of its passage in "
    "brackets, the best answer first, for example:\nUna Thale [2]\n"
    "Add nothing else. If the passages do not hold the answer, write NONE."
)
_BULLET = re.compile(r"(?:[-*]|\d{1,6}[.)])\s++")
_CITATION = re.compile(r"\[(\d{1,6})\]$")
_MARKS = "\"'`*“”‘’«» "  # What models put around a quotation


def is_remote(name: object) -> bool:
    """Whether a reader's name is that of a model on a server."""
    return isinstance(name, str) and name.startswith(PREFIX)


class RemoteReader:
    """A model on a server as a ``Reader``. Passages and questions are sent to that server."""

    def __init__(self, name: str) -> None:
        """Find the server; it is asked at the first question. InputError for another name."""
        url, _, model = name.removeprefix(PREFIX).partition("#")
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc or not model:
            raise InputError(
                f"the reader is {name!r}; expected openai:URL#MODEL, such as "
                "openai:http://127.0.0.1:11434/v1#llama3"
            )
        try:
            import httpx
        except ImportError as error:
            raise DependencyError(
                f"a reader on a server needs the library httpx; run: {install('remote')}"
            ) from error
        key = os.environ.get(KEY_VARIABLE)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx.Client(timeout=_SECONDS, headers=headers)
        self._failures = (httpx.HTTPError, httpx.InvalidURL, ValueError)
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._model = model

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """As ``Reader.read``; ModelError where the server can't be reached or gives no answer."""
        if not passages:
            return _NOTHING
        spans = cited_spans(self._answer(_prompt(question, passages)), passages)
        return Reading(spans=spans, yes=0.0, no=0.0, answerable=1.0) if spans else _NOTHING

    def _answer(self, prompt: str) -> str:
        body = {
            "model": self._model,
            "temperature": 0,
            "max_tokens": _MAX_ANSWER_TOKENS,
            "messages": [
                {"role": "system", "content": _INSTRUCTIONS},
                {"role": "user", "content": prompt},
            ],
        }
        try:
            response = self._client.post(self._url, json=body)
            if response.is_error:
                raise ModelError(
                    f"the reader's server {self._url} answers {response.status_code} to a request "
                    f"for the model {self._model!r}: {response.text[:200]}"
                )
            found: Any = response.json()
        except self._failures as error:
            reason = first_line(error)
            raise ModelError(
                f"the reader's server {self._url} gives no usable answer ({reason}); check that it "
                "runs, or leave --reader out"
            ) from error
        try:
            content = found["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            content = None
        if not isinstance(content, str):
            raise ModelError(
                f"the reader's server {self._url} answers without a message; expected OpenAI's form"
            )
        return content


def cited_spans(answer: str, passages: Sequence[Passage]) -> tuple[Span, ...]:
    """The lines of an answer ("Una Thale [2]") that stand word for word in the passage each cites.

    They are numbered from 1, and best first. White space may differ.
    """
    spans: dict[tuple[int, int, int], Span] = {}
    for line in map(str.strip, answer.splitlines()):
        cited = line.rstrip(" .\t")
        citation = _CITATION.search(cited)
        if citation is None:
            continue
        index = int(citation[1]) - 1
        bullet = _BULLET.match(cited)
        quoted = cited[bullet.end() if bullet else 0 : -len(citation[0])]
        words = quoted.strip(_MARKS).split()
        if not words or not 0 <= index < len(passages):
            continue
        pattern = r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)"
        found = re.search(pattern, passages[index].text)
        if found is not None and len(spans) < _MAX_SPANS:
            # Half of what the ones before have left: an order, no probability.
            place = (index, found.start(), found.end())
            spans.setdefault(place, Span(*place, probability=0.5 ** (len(spans) + 1)))
    return tuple(spans.values())


def _prompt(question: str, passages: Sequence[Passage]) -> str:
    parts = [
        f"[{number}] {passage.title}\n{passage.text}" for number, passage in enumerate(passages, 1)
    ]
    return "\n\n".join([*parts, f"Question: {question}"])
