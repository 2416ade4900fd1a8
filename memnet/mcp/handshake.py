"""The first answer to a client, given before the library of the protocol is loaded.

Loading that library takes a second of processor time, mostly for classes of messages. A client
waits for the answer to ``initialize``, and what it asks next comes later.
"""

import json
from typing import Any

from memnet.mcp.identity import CAPABILITIES, HANDSHAKE_VERSIONS, NAME, TITLE, VERSION


def early_answer(line: str, instructions: str) -> str | None:
    """The answer to a client's first message, if it is a valid ``initialize``.

    Args:
        line: the message.
        instructions: how to use the server, for the client's model.

    Returns:
        One line of JSON, the same values as the library of the protocol gives; None where the
        library has to decide.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("method") != "initialize":
        return None
    identifier = message.get("id")
    if message.get("jsonrpc") != "2.0" or type(identifier) not in (int, str):
        return None
    version = _requested_version(message.get("params"))
    if version is None:
        return None
    result = {
        "protocolVersion": version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": NAME, "title": TITLE, "version": VERSION},
        "instructions": instructions,
    }
    return json.dumps({"jsonrpc": "2.0", "id": identifier, "result": result}) + "\n"


def is_answer_to(line: str, first: str) -> bool:
    """Whether a message of the server answers the client's message ``first``, which is valid."""
    answer = json.loads(line)
    return "method" not in answer and answer.get("id") == json.loads(first)["id"]


def _requested_version(params: Any) -> str | None:
    """The version that a client asks for; None where its parameters are not as they should be."""
    if not isinstance(params, dict) or not isinstance(params.get("capabilities"), dict):
        return None
    client = params.get("clientInfo")
    if not isinstance(client, dict):
        return None
    texts = (params.get("protocolVersion"), client.get("name"), client.get("version"))
    return texts[0] if all(isinstance(text, str) for text in texts) else None
