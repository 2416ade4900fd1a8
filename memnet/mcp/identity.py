"""What a client is told first: who the server is, and how to use it.

Imports nothing heavy: it is sent before anything else is loaded.
"""

from typing import Any, Final

from memnet import __version__

NAME: Final = "memnet"
TITLE: Final = "memnet memory"
VERSION: Final = __version__
INSTRUCTIONS: Final = (
    "A memory of documents, facts and statements on this machine. 'ask' answers a question with "
    "verbatim quotations and says so when the memory does not hold the answer; 'search' finds "
    "passages and 'fetch' reads a source whole. 'remember' keeps what the user tells, one plain "
    "sentence for each thing; a later sentence takes the place of what it makes out of date, and "
    "'history' shows both."
)
GRAPH_INSTRUCTIONS: Final = (
    "A memory of entities, observations about them and relations between them, on this machine. "
    "'search_nodes' finds entities by words, 'open_nodes' by name."
)

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Versions of the protocol that begin with ``initialize``, oldest first. The last one is offered to
a client that asks for another."""
CAPABILITIES: Final[dict[str, Any]] = {
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}
