"""``memnet completion``, and completion of values; imports neither torch nor FAISS."""

import shlex
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
)

from memnet.cli.settings import store_path

if TYPE_CHECKING:
    from memnet.storage.place import StorePlace

# What the script sets when it asks for completions; click reads it.
_VARIABLE = "_MEMNET_COMPLETE"


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
    """Print the script that completes commands, options and their values in a shell.

    \b
    Example:
      memnet completion bash > ~/.local/share/bash-completion/completions/memnet
      memnet completion zsh > ~/.zfunc/_memnet     # a folder of $fpath
      memnet completion fish > ~/.config/fish/completions/memnet.fish
    """
    found = get_completion_class(shell)
    assert found is not None, "click knows these shells"  # noqa: S101
    click.echo(found(context.find_root().command, {}, "memnet", _VARIABLE).source())


def complete_sources(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Ids of stored sources; files where none fits."""
    from memnet.errors import MemnetError
    from memnet.storage.overview import list_sources

    taken = context.params.get("source_ids") or ()
    try:
        found = list_sources(_store(context), incomplete, context.params.get("namespace") or "")
    except MemnetError:
        found = []  # a completion has nowhere to report errors
    return [CompletionItem(one) for one in found if one not in taken and one.isprintable()]


def complete_namespaces(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of the store's namespaces."""
    from memnet.errors import MemnetError
    from memnet.storage.overview import list_namespaces

    try:
        found = list_namespaces(_store(context))
    except MemnetError:
        found = []
    return [
        CompletionItem(one) for one in found if one.startswith(incomplete) and one.isprintable()
    ]


def complete_models(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of shipped models; folders where none fits."""
    from memnet.checkpoints import shipped_models

    found = [name for name in shipped_models() if name.startswith(incomplete)]
    return [CompletionItem(name) for name in found] or [CompletionItem(incomplete, type="dir")]


def _store(context: click.Context) -> "StorePlace":
    from memnet.storage.place import store_place

    given: Any = context.params.get("store")
    return store_path(None if given is None else store_place(given))
