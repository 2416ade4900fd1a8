"""``memnet export``, ``import`` and ``encoder``: files for other machines and programs."""

from pathlib import Path

import click

from memnet.cli.options import open_engine, store_option, store_path


@click.command("export")
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
@store_option
def export_store(bundle: Path, store: Path | None) -> None:
    """Write the memory as one file, to keep it or to take it to another machine.

    The bundle is a zip file of JSON lines and vectors; a file that is there is replaced.

    \b
    Example:
      memnet export memory.zip
    """
    with open_engine(store) as engine:
        slots = engine.export_bundle(bundle)
    click.echo(f"{slots} slots exported to {bundle}.")


@click.command("import")
@click.argument("bundle", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--encoder",
    metavar="NAME",
    help="The sentence-transformers model it was made with.  [default: all-MiniLM-L6-v2]",
)
@store_option
def import_store(bundle: Path, encoder: str | None, store: Path | None) -> None:
    """Make a new memory from a bundle that 'memnet export' wrote, here or elsewhere.

    All of it is checked, and it appears whole or not at all. The store's folder must be new or
    empty.

    \b
    Example:
      memnet import memory.zip --store notes
    """
    from memnet.engine import Engine

    folder = store_path(store)
    Engine.import_bundle(bundle, folder, encoder)
    click.echo(f"{bundle} imported into {folder}.")


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="Where to write it, such as encoder.onnx.",
)
def encoder(out: Path) -> None:
    """Write the default encoder in eight bits, as an ONNX file (needs 'memnet[onnx]').

    memnet itself needs no such file: where ONNX Runtime is installed, it makes its own at the first
    use and keeps it in the user's cache folder.

    \b
    Example:
      memnet encoder --out encoder.onnx
    """
    from memnet.encoders.onnx_model import encoder_model
    from memnet.encoders.weights import checked_folder
    from memnet.errors import InputError

    model = encoder_model(checked_folder() / "model.safetensors", "int8")
    try:
        out.write_bytes(model)
    except OSError as error:
        raise InputError(
            f"{out} can't be written ({error.strerror or error}); choose another --out"
        ) from error
    click.echo(f"{out}: {len(model):,} bytes; ids [B, T] int64 -> vectors [B, 384] float32")
