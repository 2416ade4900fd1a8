"""``memnet encoder``."""

from pathlib import Path

import click


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
