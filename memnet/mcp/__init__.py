"""A memory as a server of the Model Context Protocol, over standard streams and HTTP."""

from typing import TYPE_CHECKING

from memnet.runtime import lazy_names

if TYPE_CHECKING:
    from memnet.mcp.http import http_app
    from memnet.mcp.stdio import serve_stdio

__all__ = ["http_app", "serve_stdio"]

# ``serve_stdio`` answers a client before the library of the protocol is loaded.
__getattr__ = lazy_names(
    __name__, {"http_app": "memnet.mcp.http", "serve_stdio": "memnet.mcp.stdio"}
)
