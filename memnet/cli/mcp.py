"""``memnet mcp``."""

import os
from pathlib import Path
from typing import Any

import click

from memnet.cli.options import (
    device_option,
    index_option,
    namespace_option,
    open_engine,
    reader_option,
    store_option,
    store_path,
)
from memnet.errors import DependencyError
from memnet.storage.place import StorePlace
from memnet.storage.postgres.address import is_address


@click.command()
@click.option("--read-only", is_flag=True, help="Leave out tools that write.")
@reader_option
@index_option
@device_option
@namespace_option("Read and write only here.")
@store_option
def mcp(
    read_only: bool,
    namespace: str | None,
    store: StorePlace | None,
    **opening: Any,
) -> None:
    """Serve the memory to a program that speaks the Model Context Protocol.

    Such a program, an assistant or an editor, starts this command itself and talks to it over
    standard input and output. Needs the extra: pip install "memnet[mcp]".
    'memnet ingest memory.jsonl' imports a memory file of the protocol's reference server.

    \b
    Example:
      memnet mcp --store notes --read-only

    \b
    In a client's configuration:
      {"mcpServers": {"memory": {"command": "memnet", "args": ["mcp", "--store", "DIR"]}}}
    """
    try:
        from memnet.mcp import serve_stdio
    except ModuleNotFoundError as error:
        raise DependencyError(
            f"{error.name} is not installed; 'memnet mcp' needs it: pip install \"memnet[mcp]\""
        ) from error

    place = store_path(store)
    if not is_address(place):
        # Relative paths are of the folder that the client started this in.
        place = Path(os.path.abspath(place))
    serve_stdio(
        lambda: open_engine(place, create=not read_only, **opening),
        read_only=read_only,
        namespace=namespace,
    )
