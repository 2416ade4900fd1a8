"""``memnet serve`` and ``memnet mcp``: the memory for other programs."""

import os
from pathlib import Path
from typing import Any

import click

from memnet.cli import options
from memnet.cli.output import show_note
from memnet.errors import DependencyError, install
from memnet.storage.place import StorePlace, is_address

# How long a write waits for other processes: a client would only have to try again.
_LOCK_SECONDS = 30.0


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8321,
    show_default=True,
    help="Port to listen on; 0 for any free one.",
)
@click.option(
    "--token-file",
    type=options.new_file,
    metavar="FILE",
    help="Require the token that --new-token wrote this file for. Needed if other machines can "
    "reach the server.",
)
@click.option(
    "--new-token",
    type=options.new_file,
    metavar="FILE",
    help="Make a token, print it once, write its SHA-256 to a new FILE, and exit.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A further host name of the server, such as that of a proxy. May be repeated.",
)
@click.option("--read-only", is_flag=True, help="Refuse everything that would change the memory.")
@options.expert
@options.reader
@options.index
@options.device
@options.store
def serve(
    host: str,
    port: int,
    token_file: Path | None,
    new_token: Path | None,
    allowed_hosts: tuple[str, ...],
    read_only: bool,
    **opening: Any,
) -> None:
    """Serve the memory over HTTP, with a web page.

    Several processes may serve the same store while others ingest into it. Ctrl+C or SIGTERM stops
    it after the requests in flight.

    \b
    Example:
      memnet serve
      memnet serve --new-token token.sha256
      memnet serve --host 0.0.0.0 --token-file token.sha256 --read-only
    """
    from memnet.server.settings import ServerSettings, make_token, read_token_file

    if new_token is not None:
        click.echo(make_token(new_token))
        return
    settings = ServerSettings(
        host=host,
        port=port,
        token_digest=None if token_file is None else read_token_file(token_file),
        allowed_hosts=allowed_hosts,
        read_only=read_only,
    )
    try:
        from memnet.server.app import serve as serve_memory
    except ModuleNotFoundError as error:
        raise DependencyError(
            f"{error.name} is not installed; the server needs it; run: {install('server')}"
        ) from error
    with options.open_engine(create=not read_only, lock_seconds=_LOCK_SECONDS, **opening) as engine:
        if not len(engine):
            show_note(f"The memory at {engine.store.place} is empty.")
        serve_memory(engine, settings, lambda url: click.echo(f"Listening on {url}", err=True))


@click.command()
@click.option("--read-only", is_flag=True, help="Leave out tools that write.")
@options.reader
@options.index
@options.device
@options.namespace(help="Read and write only here.")
@options.store
def mcp(read_only: bool, namespace: str | None, store: StorePlace | None, **opening: Any) -> None:
    """Serve the memory over the Model Context Protocol.

    An assistant or editor starts this command itself and talks to it over standard input and
    output, as 'memnet connect' tells it to. Needs the extra: pip install "memnet-qa[mcp]".
    'memnet ingest memory.jsonl' imports a memory file of the protocol's reference server.

    \b
    Example:
      memnet mcp --store notes --read-only
    """
    try:
        from memnet.mcp import serve_stdio
    except ModuleNotFoundError as error:
        raise DependencyError(f"'memnet mcp' needs mcp; run: {install('mcp')}") from error

    place = options.store_path(store)
    if not is_address(place):
        # The client may have started this in any folder.
        place = Path(os.path.abspath(place))
    serve_stdio(
        lambda: options.open_engine(place, create=not read_only, **opening),
        read_only=read_only,
        namespace=namespace,
    )
