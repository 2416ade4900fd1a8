"""Options: those that several commands share, and their values from the environment and a file.

The command line comes first, then an option's environment variables (``envvar``), then the settings
file (``default_map``), then the default. Completion imports neither torch nor FAISS.
"""

import difflib
import json
import logging
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from click.shell_completion import CompletionItem

from memnet.errors import InputError, MemnetError
from memnet.storage.place import StorePlace, place_name, store_place

if TYPE_CHECKING:
    from memnet.engine import Engine

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


_INDEX_KINDS: "tuple[Literal['auto', 'flat', 'pq'], ...]" = ("auto", "flat", "pq")
_log = logging.getLogger("memnet")
_MAX_NUMBER = 1e300  # larger numbers are taken as text
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _conditions(given: Sequence[str]) -> dict[str, Any]:
    """Parse the values of ``--where``."""
    conditions: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"invalid condition {text!r}; expected KEY=VALUE")
        if key in conditions:
            raise click.BadParameter(f"duplicate condition on {key!r}; KEY=a,b matches any value")
        conditions[key] = _condition(value)
    return conditions


def _condition(value: str) -> Any:
    if value.startswith(('"', "[", "{")):
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise click.BadParameter(f"invalid JSON {value!r}: {error}") from error
    start, dots, end = value.partition("..")
    if dots:
        ends = {name: one for name, one in (("from", start), ("to", end)) if one}
        numbers = {name: _literal(one) for name, one in ends.items()}
        return numbers if all(type(one) in (int, float) for one in numbers.values()) else ends
    # The metadata may hold 1990 or "1990".
    return [form for one in value.split(",") for form in dict.fromkeys((one, _literal(one)))]


def _literal(text: str) -> Any:
    """A number, true, false or null if the text is one; else the text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, int | float):
        return value if abs(value) < _MAX_NUMBER else text  # NaN is below nothing
    return text if isinstance(value, str | list | dict) else value


class _StorePlaceType(click.Path):
    """A folder, or an address on PostgreSQL: click's paths would lose one of its two slashes."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> StorePlace:
        try:
            return store_place(value)
        except InputError as error:
            self.fail(str(error), param, ctx)


def _complete_namespaces(
    context: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    from memnet.storage.overview import list_namespaces

    found = _stored(context, list_namespaces)
    return [CompletionItem(one) for one in found if one.startswith(incomplete)]


def complete_sources(
    context: click.Context, _argument: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Ids of stored sources; files where none fits."""
    from memnet.storage.overview import list_sources

    taken = context.params.get("source_ids") or ()
    namespace = context.params.get("namespace") or ""
    found = _stored(context, lambda store: list_sources(store, incomplete, namespace))
    return [CompletionItem(one) for one in found if one not in taken]


def _stored(context: click.Context, find: Callable[[StorePlace], list[str]]) -> list[str]:
    """What can be typed of what is found in the store that a command line names."""
    given = context.params.get("store")
    try:
        found = find(store_path(None if given is None else store_place(given)))
    except MemnetError:
        return []  # a completion has nowhere to report errors
    return [one for one in found if one.isprintable()]


def _complete_models(
    _context: click.Context, _option: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of shipped models; folders where none fits."""
    from memnet.checkpoints import shipped_models

    found = [name for name in shipped_models() if name.startswith(incomplete)]
    return [CompletionItem(name) for name in found] or [CompletionItem(incomplete, type="dir")]


place = _StorePlaceType(file_okay=False)
new_file = click.Path(path_type=Path, dir_okay=False)
store = click.option(
    "--store",
    type=place,
    metavar="DIR|URL",
    help="Folder of the memory, or postgresql://HOST/DATABASE.  "
    "[default: $MEMNET_STORE, else the user's data folder]",
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
hops = click.option("--hops", type=click.IntRange(1, 10), help="Maximum reads of the memory.")
top_k = click.option("--top-k", type=click.IntRange(min=1), help="Pieces of evidence.")
where = click.option(
    "--where",
    multiple=True,
    metavar="KEY=VALUE",
    callback=lambda _context, _option, given: _conditions(given),
    help="Search only documents whose metadata has this value; KEY=a,b for any of several, "
    "KEY=FROM..TO for a range of numbers or dates, open at either end. A JSON value is taken "
    "literally. May be repeated.",
)
as_of = click.option(
    "--as-of",
    metavar="DATE",
    help="Use the statements and versions of documents that held then: 2026-01-12, "
    "2026-01-12T10:30, 2024, yesterday.",
)
_MODEL = "Model that answers: text, babi (both shipped), or a folder that 'memnet train' made."
expert = click.option(
    "--model",
    shell_complete=_complete_models,
    help=f"{_MODEL}  [default: a gate chooses by question and store]",
)
model = click.option(
    "--model", default="text", show_default=True, shell_complete=_complete_models, help=_MODEL
)
reader = click.option(
    "--reader",
    default="spans",
    show_default=True,
    help="Reader of documents: spans for short answers, sentences, a folder that "
    "'memnet train reader' made, an extractive Hugging Face model by its folder or name in the "
    "hub's cache, hub:ORG/NAME to fetch one, or openai:URL#MODEL for a model on a server, which "
    "may only quote (key: $MEMNET_READER_KEY).",
)
device = click.option(
    "--device",
    metavar="DEVICE",
    help="Device to compute on: cpu, cuda, cuda:N, or auto for a GPU if there is one.  "
    "[default: $MEMNET_DEVICE, else auto]",
)
index = click.option(
    "--index",
    type=click.Choice(_INDEX_KINDS),
    help="Vector index: exhaustive (flat), product quantisation with exact reranking (pq), or "
    "chosen by size and device (auto).  [default: $MEMNET_INDEX, else auto]",
)
# These want a ``help``.
encoder = partial(click.option, "--encoder", metavar="NAME")
plot = partial(click.option, "--plot", type=new_file, metavar="FILE")
namespace = partial(click.option, "--namespace", metavar="N", shell_complete=_complete_namespaces)
out_file = partial(click.option, "--out", type=new_file, required=True)


def words(name: str, *, required: bool = False) -> Callable[[_Command], _Command]:
    """A text as an optional argument; unquoted words are joined by spaces."""
    return click.argument(
        name,
        nargs=-1,
        required=required,
        metavar=name.upper() if required else f"[{name.upper()}]",
        callback=lambda _context, _argument, given: " ".join(given) if given else None,
    )


def capacity(what: str, variable: str) -> Callable[[_Command], _Command]:
    """``--capacity N``, also set by an environment variable."""
    return click.option(
        "--capacity",
        type=click.IntRange(min=1),
        envvar=variable,
        metavar="N",
        help=f"Keep at most N {what}; the least used ones are evicted.  "
        f"[default: ${variable}, else no limit]",
    )


def open_engine(
    store: StorePlace | None,
    *,
    create: bool = False,
    model: str | None = None,
    reader: str = "spans",
    encoder: str | None = None,
    device: str | None = None,
    index: str | None = None,
    **settings: Any,
) -> "Engine":
    """Open the memory that ``--store`` or its defaults name, with some settings of ``Config``."""
    kind = _index_kind(index)
    # A waiting OpenMP thread that spins makes a short query 30 times slower on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy's products are small
    from memnet.config import Config, IndexConfig, StoreConfig
    from memnet.engine import Engine

    store_config = StoreConfig(index=IndexConfig(kind=kind))
    config = Config(device=device_name(device), store=store_config, **settings)
    where = store_path(store)
    engine = Engine.open(
        where, create=create, config=config, answerer=model, reader=reader, encoder=encoder
    )
    _log.info("store %s, encoder %s", place_name(where), engine.encoder.fingerprint)
    return engine


def device_name(given: str | None) -> str:
    """The device that ``--device`` or its defaults name, which may be missing."""
    return given or shared_value("device") or "auto"


def _index_kind(given: str | None) -> "Literal['auto', 'flat', 'pq']":
    """The kind of index that ``--index`` or its defaults name."""
    kind = given or shared_value("index") or "auto"
    if kind not in _INDEX_KINDS:
        raise click.UsageError(f"invalid MEMNET_INDEX {kind!r}; expected {', '.join(_INDEX_KINDS)}")
    return kind
