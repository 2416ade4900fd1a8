"""``memnet serve``."""

from pathlib import Path
from typing import Any

import click

from memnet.cli.options import (
    device_option,
    expert_option,
    index_option,
    open_engine,
    reader_option,
    store_option,
)
from memnet.errors import DependencyError

_LOCK_SECONDS = 30.0
"""How long a write waits for other processes: a client would only have to try again."""


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
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Ask for the token that --new-token made this file for. Needed where other machines can "
    "reach the server.",
)
@click.option(
    "--new-token",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Make a token, print it once, keep its SHA-256 in a new FILE, and end.",
)
@click.option(
    "--allowed-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A name by which clients reach the server, such as that of a proxy. May be repeated.",
)
@click.option("--read-only", is_flag=True, help="Refuse all that would change the memory.")
@expert_option
@reader_option
@index_option
@device_option
@store_option
def serve(
    host: str,
    port: int,
    token_file: Path | None,
    new_token: Path | None,
    allowed_hosts: tuple[str, ...],
    read_only: bool,
    **opening: Any,
) -> None:
    """Serve the memory over HTTP, with a page to ask it on.

    Several processes may serve, and others ingest into, the same store. Ctrl+C or SIGTERM ends it,
    once the requests in flight are answered.

    \b
    Example:
      memnet serve
      memnet serve --new-token token.sha256
      memnet serve --host 0.0.0.0 --token-file token.sha256 --read-only
    """
    from memnet.server.tokens import make_token, read_token_file

    if new_token is not None:
        click.echo(make_token(new_token))
        return
    from memnet.server.settings import ServerSettings

    settings = ServerSettings(
        host=host,
        port=port,
        token_digest=None if token_file is None else read_token_file(token_file),
        allowed_hosts=allowed_hosts,
        read_only=read_only,
    )
    try:
        from memnet.server.running import serve as serve_memory
    except ModuleNotFoundError as error:
        raise DependencyError(
            f"{error.name} is not installed; the server needs it: pip install 'memnet[server]'"
        ) from error
    with open_engine(create=not read_only, lock_seconds=_LOCK_SECONDS, **opening) as engine:
        serve_memory(engine, settings, lambda url: click.echo(f"Listening on {url}", err=True))
