"""``memnet connect``: the memory as a server in the settings of an assistant or editor."""

import functools
import importlib.util
import json
import os
import re
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import click

from memnet.cli import options
from memnet.errors import DependencyError, InputError, first_line, install
from memnet.io import read_file, replace_file
from memnet.storage.place import StorePlace, hide_passwords, is_address

_PROGRAMS = tomllib.loads(Path(__file__).with_name("programs.toml").read_text(encoding="utf-8"))
_NAME = "memnet"  # of the entry
_MAX_BYTES = 100_000_000  # of settings; some hold the histories of projects
_TRIED = 1000  # places for an entry: of several projects in one file each may have servers
_WRONG = (ValueError, RecursionError, AttributeError, TypeError)  # of settings of another form


@click.command()
@click.argument("program", metavar="PROGRAM", type=click.Choice(list(_PROGRAMS)))
@click.option("--remove", is_flag=True, help="Take the entry back: the file is as it was before.")
@click.option("--yes", is_flag=True, help="Write without asking.")
@options.store
def connect(program: str, remove: bool, yes: bool, store: StorePlace | None) -> int:
    """Give the memory to an assistant or editor.

    Adds 'memnet mcp' to the settings of claude, claude-desktop, codex, cursor, openclaw or vscode,
    after showing what is written. All else in the file stays as it is.

    \b
    Example:
      memnet connect claude --store notes
      memnet connect vscode --yes
      memnet connect claude --remove
    """
    if needed := [one for one in ("mcp", "json5") if importlib.util.find_spec(one) is None]:
        raise DependencyError(f"'memnet connect' needs {needed[0]}; run: {install('mcp')}")
    known = _PROGRAMS[program]
    file, keys = _settings_file(known), (*known["servers"], _NAME)
    entry = None if remove else _entry(known, store)
    text = (found := _read(file)) or ""
    try:
        split = functools.partial(_split, _parser(text, file), keys)
        old, others = split(text)
    except _WRONG as error:
        form = f"{file.suffix[1:].upper()} with a table {'.'.join(keys[:-1])!r}"
        why = f"{file} is not {form} ({first_line(error)}); mend it; nothing is written"
        raise InputError(why) from error
    if old == entry:
        click.echo(f"{file} has {'no entry of memnet' if remove else 'this entry already'}.")
        return 0
    records_file, records = _records()
    before, after = records.pop(str(file), ("", ""))
    ours = bool(after) and text.count(after) == 1
    base = text.replace(after, before or "") if ours else text
    is_new = before is None if ours else found is None

    def fits(changed: str) -> bool:
        with suppress(*_WRONG):
            now, rest = split(changed)
            return rest == others and (now == entry or (ours and remove))
        return False

    undone = [base] if ours and remove else _changed(base, keys, entry, file.suffix == ".toml")
    new = next(filter(fits, undone), None)
    if new is None:
        raise InputError(f"{file} can't be changed without touching more; edit it by hand")
    click.echo(f"{file}:")
    for sign, shown in (("-", old), ("+", split(new)[0])):
        if shown is not None:
            click.echo(hide_passwords(f"{sign} {'.'.join(keys)}: {json.dumps(shown)}"))
    if not (yes or sys.stdin.isatty()):
        raise click.UsageError("standard input is not a terminal; give --yes to write this")
    if not (yes or click.confirm(f"Write this to {file}?")):
        return 1
    if _read(file) != found:
        raise InputError(f"{file} was changed by another program just now; try again")
    if not remove:
        replaced, written = _difference(base, new)
        records[str(file)] = (None if is_new else replaced, written)
    try:
        for path, content in ((records_file, json.dumps(records)), (file, new)):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace_file(path.resolve(), content.encode())  # a link stays one
        if remove and is_new and not new:
            file.unlink()
    except OSError as error:
        raise InputError(f"{error.filename} can't be written ({error.strerror})") from error
    done = "written" if file.exists() else "removed"
    click.echo(f"{file} is {done}; restart {known['title']} for it to take effect.")
    return 0


def _settings_file(program: dict[str, Any]) -> Path:
    import platformdirs

    config = platformdirs.user_config_path(roaming=True)
    usual = Path(program["file"].format(config=config)).expanduser()
    for given in filter(None, map(os.environ.get, program.get("variables", ()))):
        path = Path(given).expanduser()
        return path if path.suffix == usual.suffix else path / usual.name
    return usual


def _entry(program: dict[str, Any], store: StorePlace | None) -> dict[str, Any]:
    """The command that starts the server, from any folder and without a search path."""
    place = options.store_path(store)
    script = shutil.which("memnet", path=sysconfig.get_path("scripts"))
    command = [script] if script else [sys.executable, "-m", "memnet"]
    where = str(place) if is_address(place) else os.path.abspath(place)
    kind = {"type": program["type"]} if "type" in program else {}
    return {**kind, "command": command[0], "args": [*command[1:], "mcp", "--store", where]}


def _read(file: Path) -> str | None:
    """The text with its own line ends; None if there is no file."""
    try:
        return read_file(file, _MAX_BYTES).decode() if file.exists() else None
    except (InputError, UnicodeError) as error:
        raise InputError(f"{file}: {first_line(error)}; nothing is written") from error


def _records() -> tuple[Path, dict[str, tuple[str | None, str]]]:
    """A file and what it keeps by settings file: what was replaced (None: no file), by what."""
    from platformdirs import user_state_path

    path = user_state_path("memnet") / "connections.json"
    with suppress(OSError, *_WRONG):
        return path, {
            name: (old, new) for name, (old, new) in json.loads(path.read_bytes()).items()
        }
    return path, {}


def _difference(old: str, new: str) -> tuple[str, str]:
    """What two texts have between their common start and their common end."""
    common = os.path.commonprefix
    start = len(common([old, new]))
    end = len(common([old[start:][::-1], new[start:][::-1]]))
    return old[start : len(old) - end], new[start : len(new) - end]


def _parser(text: str, file: Path) -> Callable[[str], Any]:
    """What reads such settings: TOML, JSON, or JSON with comments and trailing commas."""
    if file.suffix == ".toml":
        return tomllib.loads
    with suppress(ValueError):
        json.loads(text.removeprefix("\ufeff") or "{}")
        return json.loads
    import json5  # takes a hundred times as long

    return json5.loads


def _split(parse: Callable[[str], Any], keys: tuple[str, ...], text: str) -> tuple[Any, Any]:
    """The entry in settings (None: there is none), and all others as data."""
    given = text.removeprefix("\ufeff")
    tables = [parse(given) if given.strip() else {}]
    for key in keys[:-1]:
        tables.append(tables[-1].get(key, {}))
    entry = tables[-1].pop(keys[-1], None)
    for table, key in zip(tables[-2::-1], keys[-2::-1], strict=True):
        if not table.get(key):
            table.pop(key, None)
    return entry, tables[0]


def _changed(text: str, keys: tuple[str, ...], entry: Any, toml: bool) -> Iterator[str]:
    """What settings may be with an entry (None: without one) instead of theirs.

    Which places are in a string or a comment, or of another table, only the parsed result tells.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    if toml:
        table = re.compile(rf"(?ms)^\[{re.escape('.'.join(keys))}[.\]].*?(?=^\s*[\[#]|\Z)")
        bare = [table.sub("", text, number) for number in range(1, len(table.findall(text)) + 1)]
    else:
        bare = [*_cut(text, keys[-1])]
    for one in (text, *bare):
        if entry is None:
            yield one
        elif toml:
            gap = end * (not one.endswith("\n")) + end if one else ""
            values = "".join(f"{key} = {json.dumps(entry[key])}{end}" for key in entry)
            yield f"{one}{gap}[{'.'.join(keys)}]{end}{values}"
        else:
            yield from _with_entry(one, keys, entry, end)


def _cut(text: str, name: str) -> Iterator[str]:
    """JSON without a member of that name, and the comma after or before it."""
    for found in re.finditer(rf"[\"']?{name}[\"']?\s*:\s*", text):
        with suppress(ValueError):
            stop = json.JSONDecoder().raw_decode(text, found.end())[1]
            before, rest = text[: found.start()], text[stop:]
            after = rest.lstrip().removeprefix(",")
            if len(after) < len(rest.lstrip()):
                yield before + after.lstrip()
            else:
                yield before.rstrip().removesuffix(",") + rest


def _with_entry(text: str, keys: tuple[str, ...], entry: Any, end: str) -> Iterator[str]:
    """JSON with one entry more, at each of the places where it may belong."""
    indented = re.search(r"\n([ \t]+)\S", text)
    indent = (
        indented[1] if indented else None if text.strip() and "\n" not in text.strip() else "  "
    )
    for depth in range(len(keys) - 1, -1, -1):
        added = functools.reduce(lambda value, key: {key: value}, reversed(keys[depth:]), entry)
        block = json.dumps(added, indent=indent, ensure_ascii=False)
        if not text.strip("\ufeff \t\r\n"):
            yield text + block.replace("\n", end) + end
            continue
        block = block[1:-1].replace("\n", end + (indent or "") * depth)
        opening = rf"[\"']?{keys[depth - 1]}[\"']?\s*:\s*\{{" if depth else r"\{"
        for found in islice(re.finditer(opening, text), _TRIED):
            before, rest = text[: found.end()], text[found.end() :]
            if rest.lstrip().startswith("}"):
                yield before + block + rest.lstrip()
            else:
                yield before + block.rstrip() + ("," if indent else ", ") + rest
