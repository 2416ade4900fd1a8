"""Who may send what: token, Host, Origin and size of every request, before any route sees it."""

import asyncio
import hashlib
import hmac
import re
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memnet.server.errors import error_response
from memnet.server.settings import ServerSettings

# What needs no token: it tells nothing of the memory, and the page asks for the token.
_PUBLIC = frozenset({"/", "/healthz"})
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# A name or address, and a port (RFC 9110, 7.2)
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:@/\s]+)(?::[0-9]*)?")
_BODY_SECONDS = 30.0  # between two parts of a body
# For which the rest of a refused body is read and dropped: a connection that is closed while its
# client sends resets, and the client never sees why.
_DISCARDED_SECONDS = 2.0


class Security:
    """ASGI middleware that refuses requests that the settings do not allow."""

    def __init__(self, app: ASGIApp, settings: ServerSettings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no WebSockets here
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        is_upload = scope["path"] == "/upload"
        limit = self._settings.max_upload if is_upload else self._settings.max_body
        body = _Body(receive, limit)
        try:
            self._check(Headers(scope=scope), scope["path"])
            body.check_announced(Headers(scope=scope))
        except HTTPException as refused:
            response = error_response(refused.status_code, refused.detail, headers=refused.headers)
            await response(scope, receive, send_secured)
        else:
            # A body that turns out too large is an error of the route that reads it.
            await self._app(scope, body.receive, send_secured)
        await body.discard()

    def _check(self, headers: Headers, path: str) -> None:
        """Check token, Host and Origin; ``HTTPException`` if one is not allowed."""
        hosts = headers.getlist("host")
        name = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if name is None or not self._settings.answers_to(name[1]):
            raise HTTPException(
                400,
                f"the Host header names {', '.join(hosts) or 'no host'!r}, which is not a name of "
                "this server; use its address, or allow the name with --allowed-host",
            )
        if not _is_of_own_page(headers, hosts[0]):
            raise HTTPException(403, "cross-site requests are not allowed")
        if path in _PUBLIC or path.startswith("/page/"):
            return
        digest = self._settings.token_digest
        if digest is not None and not _has_token(headers, digest):
            raise HTTPException(
                401,
                "missing or wrong token: send the header 'Authorization: Bearer TOKEN'",
                {"WWW-Authenticate": "Bearer"},
            )


class _Body:
    """The body of a request, as far as it may be read."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._limit = limit
        self._read = 0
        self._ended = False
        self._is_too_large = False

    def check_announced(self, headers: Headers) -> None:
        """Check the length that the request says it has."""
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self._limit:
            raise self._too_large()

    async def receive(self) -> Message:
        """The next part; ``HTTPException`` if there is more than there may be."""
        message = await self._next()
        if self._read > self._limit:
            raise self._too_large()
        return message

    async def discard(self) -> None:
        """Read and drop the rest of a refused body, for a while."""
        if not self._is_too_large:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_DISCARDED_SECONDS):
                while not self._ended:
                    await self._next()

    async def _next(self) -> Message:
        if self._ended:  # what comes next is the end of the connection, at any time
            return await self._receive()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(
                408, f"no data for {_BODY_SECONDS:g} seconds while reading the body; send it again"
            ) from None
        self._read += len(message.get("body", b""))
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    def _too_large(self) -> HTTPException:
        self._is_too_large = True
        return HTTPException(
            413, f"the request exceeds the limit of {self._limit >> 20:,} MB; split it"
        )


def _is_of_own_page(headers: Headers, host: str) -> bool:
    """Whether no page sends a request, or one of this server, or a link leads here.

    Requests for pictures and scripts have no Origin; browsers say of these where they come from
    (Fetch Metadata), and whether their result is shown as a page of its own.
    """
    own = (f"http://{host.lower()}", f"https://{host.lower()}")
    if any(origin.lower() not in own for origin in headers.getlist("origin")):
        return False
    return (
        headers.get("sec-fetch-site", "none") in ("none", "same-origin")
        or headers.get("sec-fetch-mode") == "navigate"
    )


def _has_token(headers: Headers, digest: str) -> bool:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    given = hashlib.sha256(token.strip().encode("latin-1")).hexdigest()
    return scheme.lower() == "bearer" and hmac.compare_digest(given, digest)
