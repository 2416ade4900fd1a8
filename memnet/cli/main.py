"""The command line's entry: one group of commands, and how a run ends."""

import io
import os
import shlex
import sys
from pathlib import Path

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
)

from memnet import __version__
from memnet.cli import train_documents  # noqa: F401  # it adds its commands
from memnet.cli.ask import ask, evaluate, search
from memnet.cli.connect import connect
from memnet.cli.doctor import doctor
from memnet.cli.ingest import encoder, ingest
from memnet.cli.options import add_variables, load_settings
from memnet.cli.output import set_verbosity
from memnet.cli.serve import mcp, serve
from memnet.cli.store import copy, export_store, forget, import_store, info, models, sources, verify
from memnet.cli.tell import history, tell, undo
from memnet.cli.train import train
from memnet.errors import MemnetError, needs_torch
from memnet.storage.place import hide_passwords

_INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="memnet")
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    is_eager=True,
    callback=load_settings,
    help="Settings file.  [default: $MEMNET_CONFIG, else config.toml in the user's config folder]",
)
@click.option(
    "-v",
    "--verbose",
    count=True,
    help="Print more on standard error: progress without a terminal, all skipped files, store and "
    "model; -vv for details.",
)
@click.option("-q", "--quiet", count=True, help="Print no warnings, notes or progress.")
def memnet(config: Path | None, verbose: int, quiet: int) -> None:  # noqa: ARG001 - its callback
    """Ask questions of a memory made from your documents and facts, offline.

    \b
    Example:
      memnet ingest notes/ facts.tsv
      memnet ask "Who built the lighthouse?" --explain

    Every option can also be set in the environment (--top-k of ask as MEMNET_ASK_TOP_K) or in
    config.toml; the command line takes precedence, then the environment. MEMNET_STORE,
    MEMNET_NAMESPACE, MEMNET_DEVICE and MEMNET_INDEX apply to all commands.

    \b
    config.toml:
      store = "/home/ann/memory"   # for all commands
      [ask]
      top-k = 3
    """
    set_verbosity(verbose - quiet)


@add_completion_class
class _QuotingBash(BashComplete):
    """Bash takes completions as they are typed: a source id with spaces needs quotation marks."""

    def format_completion(self, item: CompletionItem) -> str:
        """A completion as a line for the script."""
        quoted = item.value if item.type != "plain" else shlex.quote(str(item.value))
        return f"{item.type},{quoted}"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes commands in a shell.

    \b
    Example:
      memnet completion bash > ~/.local/share/bash-completion/completions/memnet
      memnet completion zsh > ~/.zfunc/_memnet     # a folder of $fpath
      memnet completion fish > ~/.config/fish/completions/memnet.fish
    """
    found = get_completion_class(shell)
    assert found is not None, "click knows these shells"  # noqa: S101
    click.echo(found(context.find_root().command, {}, "memnet", "_MEMNET_COMPLETE").source())


for command in (
    ingest, tell, undo, history, ask, search, sources, forget, info, verify, export_store,
    import_store, copy, encoder, evaluate, train, models, serve, mcp, connect, completion, doctor,
):  # fmt: skip
    memnet.add_command(command)
add_variables(memnet)


def run(arguments: list[str]) -> int:
    """Run the command line; returns its exit code. A bug keeps its traceback."""
    try:
        result = memnet.main(arguments, prog_name="memnet", standalone_mode=False)
    except click.ClickException as error:
        _name_origin(error)
        shown = io.StringIO()
        error.show(shown)
        # An address with a password may be in any argument.
        click.echo(hide_passwords(shown.getvalue()), err=True, nl=False)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted; what is already stored is kept.", err=True)
        return _INTERRUPTED
    except MemnetError as error:
        click.echo(f"Error: {hide_passwords(str(error))}", err=True)
        return 1
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        click.echo(f"Error: {needs_torch('training')}", err=True)
        return 1
    return result if isinstance(result, int) else 0


def _name_origin(error: click.ClickException) -> None:
    """Let the error about an option's value say which variable or file has set it, if any."""
    if not isinstance(error, click.BadParameter) or error.ctx is None or error.param is None:
        return
    source = error.ctx.get_parameter_source(error.param.name or "")
    if source == click.core.ParameterSource.ENVIRONMENT:
        origin = "$" + next(one for one in error.param.envvar or () if os.environ.get(one))
    elif source == click.core.ParameterSource.DEFAULT_MAP:
        origin = str(error.ctx.find_root().params["config"])
    else:
        return
    error.param_hint = f"{error.param.get_error_hint(error.ctx)} (from {origin})"


def main() -> None:
    """Run the command line as a process."""
    for stream in (sys.stdout, sys.stderr):
        # The code page of a Windows console, or LC_ALL=C, lacks most characters of most texts.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):  # a line that is not UTF-8 is reported as such
        sys.stdin.reconfigure(errors="surrogateescape")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        os._exit(1)
    # All files are closed; tearing down torch would take another second.
    os._exit(code)
