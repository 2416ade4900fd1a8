"""``memnet worker``."""

import click

from memnet.cli.options import device_option, open_engine, store_option
from memnet.storage.place import StorePlace


@click.command()
@click.option(
    "--run",
    type=click.IntRange(min=1),
    metavar="NUMBER",
    help="Work for this ingest only, and end with it, as those do that an ingest starts.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processor cores to use.  [default: all]",
)
@device_option
@store_option
def worker(
    run: int | None, threads: int | None, device: str | None, store: StorePlace | None
) -> None:
    """Encode and store what 'memnet ingest --workers' reads, on this machine or another.

    The store is on PostgreSQL. Any number may work, and may come and go at any time; Ctrl+C ends
    one. Once all is stored, they replace quick vectors by full ones.

    \b
    Example:
      memnet worker --store "postgresql://ann@db.example/memory?schema=notes"
    """
    # A new store has no encoder that a worker could know of.
    with open_engine(store, device=device, threads=threads) as engine:
        engine.work(run)
