"""A memory as a server of the Model Context Protocol (extra ``mcp``), over stdio and HTTP."""

from memnet.mcp.server import http_app, serve_stdio

__all__ = ["http_app", "serve_stdio"]
