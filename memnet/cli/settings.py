"""Options from the environment and from the settings file, beside those of the command line.

An option of the command line comes before its environment variable, that before the settings file,
that before its default: click's own order, with the file as its ``default_map``.
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import click

from memnet.errors import InputError, one_line
from memnet.storage.place import place_name

PREFIX = "MEMNET"
SHARED = ("store", "namespace", "device", "index")
"""Options that one variable, or one line at the head of the settings file, sets for every command
that has them."""
_FILE = "config.toml"
_META = "memnet.settings"
"""Where the contexts of click keep what the settings file says to all commands."""


class Setting(NamedTuple):
    """An option that has another value than its default, before the command line is looked at."""

    command: str
    """As typed after "memnet"; empty for options of the group, or of all commands."""
    option: str
    value: str
    origin: str
    """"$MEMNET_STORE", or the path of the settings file."""


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
    found: dict[str, click.Option] = {}
    for option in command.params:
        if isinstance(option, click.Option) and option.expose_value:
            long = [name for name in option.opts if name.startswith("--")]
            found[long[0].removeprefix("--")] = option
    return found


def add_variables(group: click.Group) -> None:
    """Give every option its environment variable: MEMNET_ASK_TOP_K for --top-k of ask.

    Click's own names would be those of the functions' parameters, such as AS_JSON. What the option
    has already, or shares with other commands, comes after it.
    """
    for path, command in commands(group):
        for name, option in options_of(command).items():
            own = "_".join((PREFIX, *path, name)).upper().replace("-", "_")
            given = [option.envvar] if isinstance(option.envvar, str) else option.envvar or []
            shared = [f"{PREFIX}_{name.upper()}"] if path and name in SHARED else []
            option.envvar = list(dict.fromkeys([own, *given, *shared]))


def load_settings(context: click.Context, _option: click.Option, given: Path | None) -> Path:
    """Make a settings file the defaults of all commands; a callback of click.

    Args:
        context: of the group.
        given: the file; None for the user's, which need not be there.

    Returns:
        Its path.

    Raises:
        InputError: as ``read_settings``.
    """
    path = settings_path() if given is None else given
    group = context.command
    if isinstance(group, click.Group) and (given is not None or path.is_file()):
        context.default_map, context.meta[_META] = read_settings(path, group)
    return path


def shared_value(name: str) -> str | None:
    """What the environment, else the settings file, says to all commands; one of ``SHARED``.

    It holds for commands that do not have the option, too.
    """
    if value := os.environ.get(f"{PREFIX}_{name.upper()}"):
        return value
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(_META, {}).get(name)


def settings_path() -> Path:
    """The settings file of the user, which need not be there."""
    from platformdirs import user_config_path

    return user_config_path("memnet") / _FILE


def read_settings(path: Path, group: click.Group) -> tuple[dict[str, Any], dict[str, str]]:
    """A settings file as the defaults of a group's commands (click's ``default_map``).

    With it what the file says to all commands, by the names of ``SHARED``.

    Raises:
        InputError: it can't be read, or holds an unknown key or a value that the option refuses.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"the settings file {path} can't be read ({error.strerror or error}); give another "
            "with --config"
        ) from error
    except (ValueError, RecursionError) as error:  # those of TOML and of UTF-8, too
        raise InputError(f"the settings file {path} is not valid TOML: {error}") from error
    shared = {name: str(table[name]) for name in SHARED if name in table}
    return _defaults(path, table, group, ()), shared


def _defaults(
    file: Path, table: Mapping[str, Any], command: click.Command, path: tuple[str, ...]
) -> dict[str, Any]:
    options = options_of(command)
    below = command.commands if isinstance(command, click.Group) else {}
    known = [*options, *below, *(() if path else SHARED)]
    if not path:
        known.remove("config")
    found: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("_", "-")
        where = ".".join((*path, key))
        if name not in known:
            raise InputError(f"{file}: {_unknown_key(where, name, known, below)}")
        if isinstance(value, dict) != (name in below):
            expected = f"a table, [{where}]" if name in below else "a value"
            raise InputError(f"{file}: {where} is {_kind(value)}; expected {expected}")
        if name in below:
            found[name] = _defaults(file, value, below[name], (*path, name))
        elif name in options:
            found[_parameter(options[name])] = _checked(file, where, options[name], value, command)
        else:
            shared[name] = value
    for name, value in shared.items():
        _share(file, name, value, command, found)
    return found


def _unknown_key(
    where: str, name: str, known: Sequence[str], below: Mapping[str, click.Command]
) -> str:
    """What is wrong with a key: where it would be known, or what it is near to."""
    owners = [one for one, command in below.items() if name in options_of(command)]
    if owners:
        tables = " or ".join(f"[{one}]" for one in owners)
        return f"{where!r} is an option of single commands; put it below {tables}"
    near = difflib.get_close_matches(name, known, 1)
    advice = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    return f"unknown key {where!r}; {advice}"


def _share(
    file: Path, name: str, value: Any, command: click.Command, found: dict[str, Any]
) -> None:
    """Set an option for all commands below one that have it and do not set it themselves."""
    for path, below in commands(command):
        option = options_of(below).get(name)
        if option is not None:
            place = found
            for part in path:
                place = place.setdefault(part, {})
            place.setdefault(_parameter(option), _checked(file, name, option, value, below))


def _parameter(option: click.Option) -> str:
    assert option.name is not None, "an option that gives its value has a name"  # noqa: S101
    return option.name


def _checked(
    file: Path, where: str, option: click.Option, value: Any, command: click.Command
) -> Any:
    """A value of the file as click takes it for an option: as from the environment, as text.

    Click's types take texts; a path takes a number for that of an open file.

    Raises:
        InputError: the option refuses it.
    """
    values = value if isinstance(value, list) and option.multiple else [value]
    if not all(isinstance(one, str | int | float | date) for one in values) or (
        isinstance(value, bool) and not option.is_flag
    ):
        raise InputError(f"{file}: {where} is {_kind(value)}; that is no value of {option.opts[0]}")
    values = [one if isinstance(one, bool) else str(one) for one in values]
    given = values if option.multiple else values[0]
    try:
        option.process_value(click.Context(command), given)
    except click.BadParameter as error:
        raise InputError(f"{file}: {where}: {error.message}") from error
    return given


def _kind(value: object) -> str:
    names = {dict: "a table", list: "a list", bool: "true or false", str: "a text"}
    return names.get(type(value), f"a value of type {type(value).__name__}")


def list_settings(
    group: click.Group, default_map: Mapping[str, Any], file: Path
) -> Iterator[Setting]:
    """What the environment and the settings file say, the stronger of the two for each option."""
    named: set[str] = set()
    for path, command in commands(group):
        defaults: Any = default_map
        for part in path:
            defaults = defaults.get(part, {})
        for name, option in options_of(command).items():
            variables = [one for one in option.envvar or [] if os.environ.get(one)]
            if variables:
                # One that several commands share is listed once.
                shared = variables[0] == f"{PREFIX}_{name.upper()}"
                if variables[0] not in named:
                    named.add(variables[0])
                    value = _shown(os.environ[variables[0]])
                    yield Setting("" if shared else " ".join(path), name, value, f"${variables[0]}")
            elif option.name in defaults:
                value = _shown(str(defaults[option.name]))
                yield Setting(" ".join(path), name, value, str(file))


def _shown(value: str) -> str:
    """A value in one line, without the password of a store's address."""
    return one_line(place_name(value))


def unknown_variables(group: click.Group) -> list[str]:
    """Environment variables that begin as those of memnet do and set no option."""
    known = {
        variable
        for _, command in commands(group)
        for option in options_of(command).values()
        for variable in option.envvar or []
    }
    return sorted(
        name for name in os.environ if name.startswith(f"{PREFIX}_") and name not in known
    )
