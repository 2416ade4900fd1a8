"""Options from the environment and from the settings file, by click's own means.

The command line comes first, then an option's environment variables (``envvar``), then the settings
file (``default_map``), then the default.
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from memnet.errors import InputError
from memnet.storage.place import StorePlace, store_place

PREFIX = "MEMNET"
# Options that one variable, or one line at the head of the settings file, sets for all commands.
SHARED = ("store", "namespace", "device", "index")
# Where click's contexts keep the shared values of the settings file.
_META = "memnet.settings"


def commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all commands below it, each with the words that are typed for it."""
    yield path, command
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from commands(below, (*path, name))


def options_of(command: click.Command) -> dict[str, click.Option]:
    """The options of a command by their names as typed, without dashes: "top-k"."""
    return {
        next(name for name in option.opts if name.startswith("--")).removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option) and option.expose_value
    }


def add_variables(group: click.Group) -> None:
    """Give each option its environment variable: MEMNET_ASK_TOP_K for --top-k of ask.

    Click's ``auto_envvar_prefix`` would use the names of parameters, such as AS_JSON. Variables
    that the option has already, or shares with other commands, come after it.
    """
    for path, command in commands(group):
        for name, option in options_of(command).items():
            own = "_".join((PREFIX, *path, name)).upper().replace("-", "_")
            given = [option.envvar] if isinstance(option.envvar, str) else option.envvar or []
            shared = [f"{PREFIX}_{name.upper()}"] if path and name in SHARED else []
            option.envvar = list(dict.fromkeys([own, *given, *shared]))


def load_settings(context: click.Context, _option: click.Option, given: Path | None) -> Path:
    """Make a settings file the defaults of all commands; a callback of click.

    Without a file it is the user's, which may be missing. Returns the path.
    """
    from platformdirs import user_config_path

    path = given or user_config_path("memnet") / "config.toml"
    if given is None and not path.is_file():
        return path
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"the settings file {path} can't be read ({error.strerror or error}); give another "
            "with --config"
        ) from error
    except (ValueError, RecursionError) as error:  # of TOML or of UTF-8
        raise InputError(f"the settings file {path} is not valid TOML: {error}") from error
    shared = {name: table.pop(name) for name in SHARED if name in table}
    context.meta[_META] = {name: str(value) for name, value in shared.items()}
    context.default_map = _defaults(path, "", table, shared, context.command)
    return path


def _defaults(
    file: Path, prefix: str, table: dict[str, Any], shared: dict[str, Any], command: click.Command
) -> dict[str, Any]:
    """A table of the file as click's ``default_map``, by the names of parameters."""
    options = options_of(command)
    below = command.commands if isinstance(command, click.Group) else {}
    given = {key.replace("_", "-"): value for key, value in table.items()}
    for name, value in given.items():
        if name == "config" or name not in (below if isinstance(value, dict) else options):
            raise InputError(f"{file}: {_bad_key(prefix + name, name, options, below)}")
    found = {
        str(option.name): _value(option, {**shared, **given}[name])
        for name, option in options.items()
        if name in given or name in shared
    }
    for name, inner in below.items():
        found[name] = _defaults(file, f"{prefix}{name}.", given.get(name, {}), shared, inner)
    return found


def _bad_key(
    where: str, name: str, options: Mapping[str, click.Option], below: Mapping[str, click.Command]
) -> str:
    if name in below:
        return f"invalid value of {where!r}; expected a table, [{where}]"
    if name in options and name != "config":
        return f"invalid value of {where!r}: a table; expected a value"
    if owners := [f"[{one}]" for one, inner in below.items() if name in options_of(inner)]:
        return f"unknown key {where!r}; put it below {' or '.join(owners)}"
    known = [*options, *below, *SHARED]
    near = difflib.get_close_matches(name, known, 1)
    advice = f"did you mean {near[0]!r}?" if near else f"expected {', '.join(known)}"
    return f"unknown key {where!r}; {advice}"


def _value(option: click.Option, value: Any) -> Any:
    """A value of the file as click takes it from the environment: as text, unless it is a flag."""
    if isinstance(value, bool) and option.is_flag:
        return value
    if option.multiple:
        return [str(one) for one in (value if isinstance(value, list) else [value])]
    return str(value)


def shared_value(name: str) -> str | None:
    """What the environment, else the settings file, says to all commands; one of ``SHARED``.

    It holds for commands that do not have the option, too.
    """
    if value := os.environ.get(f"{PREFIX}_{name.upper()}"):
        return value
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(_META, {}).get(name)


def store_path(given: StorePlace | None) -> StorePlace:
    """The place that ``--store`` or its defaults name; ``InputError`` if it can't be used."""
    if given is not None:
        return given
    if shared := shared_value("store"):
        return store_place(shared)
    from platformdirs import user_data_path

    return user_data_path("memnet") / "store"
