"""``memnet doctor``: what this installation consists of, and what is missing."""

import importlib
import json
import os
import platform
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from memnet import __version__
from memnet.cli import options
from memnet.cli.options import PREFIX, commands, options_of, store_path
from memnet.errors import (
    DISTRIBUTION,
    DeviceError,
    EncoderError,
    MemnetError,
    ModelError,
    first_line,
    install,
    one_line,
)
from memnet.storage.place import StorePlace, files_folder, place_name

_LIBRARIES = ("numpy", "faiss", "onnxruntime", "torch")
# Both bring the module "faiss"; they must not be installed together.
_FAISS = ("faiss-cpu", "faiss-gpu")
_PURPOSES = {
    "gliner": "names and facts by GLiNER", "gpu": "answers on an NVIDIA GPU",
    "haystack": "memnet.adapters.haystack", "langchain": "memnet.adapters.langchain",
    "llamaindex": "memnet.adapters.llamaindex", "mcp": "memnet mcp",
    "models": "encoders and readers by name", "multilingual": "search in other languages",
    "ocr": "scans and pictures of text", "pandoc": "LaTeX, AsciiDoc, Org and more formats",
    "plot": "--plot", "postgres": "stores on PostgreSQL", "remote": "readers on a server",
    "server": "memnet serve", "spacy": "names by spaCy", "train": "memnet train",
}  # fmt: skip
_REQUIREMENT = re.compile(r"""([\w.-]+)(?![\w.-]).*?(?:\bextra\s*==\s*["']([\w-]+)["']|$)""")


@click.command()
@options.store
@options.as_json
@click.pass_context
def doctor(context: click.Context, store: StorePlace | None, as_json: bool) -> int:
    """Show libraries, settings, store and models. Exits with 1 if something is missing.

    \b
    Example:
      memnet doctor
      memnet doctor --json
    """
    report = examine(context.find_root(), store_path(store))
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False))
    else:
        for label, text in _lines(report):
            click.echo(f"{label:<13} {text}".rstrip())
    return 0 if report["ok"] else 1


def examine(root: click.Context, store: StorePlace) -> dict[str, Any]:
    """What was found, as JSON values; "problems" has a line for each thing that is missing."""
    from memnet.config import available_cores
    from memnet.storage.sqlite.connection import has_text_search, sqlite_version

    problems: list[str] = []
    if not has_text_search():
        problems.append(
            "SQLite is built without FTS5, which every store needs; use a Python whose sqlite3 has "
            "it, such as that of python.org or conda"
        )
    report: dict[str, Any] = {
        "memnet": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": {
            "name": platform.processor() or platform.machine(),
            "cores": available_cores(),
        },
        "sqlite": sqlite_version(),
        "fts5": has_text_search(),
        "libraries": {name: _library(name, problems) for name in _LIBRARIES},
        "extras": _extras(problems),
        **_calculation(problems),
        "settings": _settings(root),
        "store": _store(store, problems),
        "models": list(_models(files_folder(store), problems)),
    }
    return {"ok": not problems, "problems": problems, **report}


def installed_version(distribution: str) -> str | None:
    """The version of an installed distribution; None if it is missing."""
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(distribution)
    return None


def _library(name: str, problems: list[str]) -> str | None:
    """The version of a library, imported to see whether it works."""
    there = [one for one in (_FAISS if name == "faiss" else (name,)) if installed_version(one)]
    if not there:
        return None
    problem = f"{' and '.join(there)} overwrite each other" if len(there) > 1 else ""
    try:
        importlib.import_module(name)
    except Exception as error:  # a broken library may raise anything
        problem = problem or first_line(error)
    version = installed_version(there[0])
    if problem:
        problems.append(f"{name} {version} does not work ({problem}); reinstall it")
    return f"{version} ({there[0]})" if name == "faiss" else version


def _extras(problems: list[str]) -> list[dict[str, Any]]:
    """The extras of memnet with what is missing of each; missing requirements are problems."""
    wanted: dict[str, list[str]] = {}
    with suppress(metadata.PackageNotFoundError):  # run from a folder, without being installed
        for line in metadata.requires(DISTRIBUTION) or ():
            if found := _REQUIREMENT.match(line):
                wanted.setdefault(found[2] or "", []).append(found[1])
    problems += [
        f"{name} is not installed; run: pip install {name}"
        for name in wanted.pop("", [])
        if not installed_version(name)
    ]
    for own in ("docs", "test"):  # of this project's own work
        wanted.pop(own, None)
    return [
        {
            "name": extra,
            "for": _PURPOSES.get(extra, ""),
            "missing": [name for name in names if not installed_version(name)],
            "command": install(extra),
        }
        for extra, names in wanted.items()
    ]


def _calculation(problems: list[str]) -> dict[str, Any]:
    """The device, GPUs, and the arithmetic of encoder and reader."""
    from memnet.runtime.device import CPU, find_device

    found: dict[str, Any] = {"device": None, "gpus": [], "arithmetic": None}
    with suppress(ImportError, OSError):
        import torch

        found["gpus"] = [torch.cuda.get_device_name(n) for n in range(torch.cuda.device_count())]
    try:
        device = find_device(options.device_name(None))
    except DeviceError as error:
        problems.append(str(error))
        return found
    how = "int8 by ONNX Runtime" if device == CPU else f"float32 by torch on {device}"
    return found | {"device": device, "arithmetic": how}


def _settings(root: click.Context) -> dict[str, Any]:
    group, file = root.command, root.params["config"]
    known = {
        variable
        for _, command in commands(group)
        for option in options_of(command).values()
        for variable in option.envvar or ()
    }
    return {
        "file": str(file),
        "exists": file.is_file(),
        "set": list_settings(group, root.default_map or {}, file),
        "unknown": sorted(
            one for one in os.environ if one.startswith(f"{PREFIX}_") and one not in known
        ),
    }


def list_settings(
    group: click.Command, default_map: Mapping[str, Any], file: Path
) -> list[dict[str, str]]:
    """What the environment and the settings file set, the stronger of the two for each option.

    Each has the command as typed after "memnet" (empty for all), the option, value and origin.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for path, command in commands(group):
        defaults: Any = default_map
        for part in path:
            defaults = defaults.get(part, {})
        for name, option in options_of(command).items():
            words, origin = " ".join(path), str(file)
            variable = next((one for one in option.envvar or () if os.environ.get(one)), None)
            if variable is not None:
                words = "" if variable == f"{PREFIX}_{name.upper()}" else words
                value, origin = os.environ[variable], f"${variable}"
            elif option.name in defaults:
                value = str(defaults[option.name])
            else:
                continue
            value = one_line(place_name(value))  # without the password of a store's address
            entry = {"command": words, "option": name, "value": value, "origin": origin}
            found.setdefault((words, name), entry)
    return list(found.values())


def _store(place: StorePlace, problems: list[str]) -> dict[str, Any]:
    from memnet.encoders.hub import stored_encoder_name
    from memnet.encoders.minilm import STATIC_PREFIX, MiniLMEncoder
    from memnet.encoders.multilingual import MultilingualEncoder
    from memnet.storage.overview import overview, writer

    name, files = place_name(place), files_folder(place)
    there = next(one for one in (files.absolute(), *files.absolute().parents) if one.exists())
    found: dict[str, Any] = {
        "path": name, "exists": False, "free_bytes": shutil.disk_usage(there).free,
        "files": str(files),
    }  # fmt: skip
    try:
        seen = overview(place)
        if seen is None:
            return found
        found |= {
            "exists": True,
            "schema": seen.schema_version,
            "encoder": seen.encoder or None,
            "counts": None if seen.counts is None else seen.counts._asdict(),
            "writer": writer(place),
        }
    except MemnetError as error:
        problems.append(str(error))
        return found | {"exists": True}
    shipped = ("", MiniLMEncoder.fingerprint, MultilingualEncoder.fingerprint)
    if seen.encoder not in shipped and not (
        seen.encoder.startswith(STATIC_PREFIX) or stored_encoder_name(seen.encoder)
    ):
        problems.append(
            f"the store {name} was made with the encoder {seen.encoder!r}, which the command "
            "line does not have; open it with Engine.open(..., encoder=...)"
        )
    return found


def _models(store: Path, problems: list[str]) -> Iterator[dict[str, Any]]:
    """The encoder, the shipped checkpoints and those of the store, compared with their checksums.

    A damaged checkpoint of the store is not used, so it is not a problem.
    """
    from memnet.checkpoints import MODEL, SHIPPED, load_checkpoint
    from memnet.encoders.weights import load_tokenizer
    from memnet.storage.files import ModelFolders

    try:
        load_tokenizer()
    except EncoderError as error:
        problems.append(str(error))
    own = ModelFolders(store)
    found = [(path.parent.name, path) for path in sorted(SHIPPED.glob("*/[!t]*.json"))]
    found += [(f"models/{name}", own.folder(name) / f"{MODEL}.json") for name in own.names()]
    for name, path in found:
        label = name if path.stem in (MODEL, name) else f"{name}/{path.stem}"
        fingerprint = problem = None
        try:
            fingerprint = str(load_checkpoint(path.parent, path.stem)[1]["sha256"])[:12]
        except ModelError as error:
            problem = str(error)
            problems += [problem] if path.is_relative_to(SHIPPED) else []
        yield {
            "name": label, "fingerprint": fingerprint, "path": str(path.parent), "problem": problem,
        }  # fmt: skip


def _lines(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The report for people: a label, or nothing under one that goes on, and a text."""
    processor, settings, store = report["processor"], report["settings"], report["store"]
    yield "memnet", f"{report['memnet']}, Python {report['python']}, {report['system']}"
    yield "processor", f"{processor['name']}, {processor['cores']} cores"
    yield "GPU", ", ".join(report["gpus"]) or "none"
    yield "arithmetic", report["arithmetic"] or "none, see below"
    found = [f"{name} {has or '-'}" for name, has in report["libraries"].items()]
    yield "libraries", ", ".join([*found, f"SQLite {report['sqlite']}"])
    for number, extra in enumerate(report["extras"]):
        missing = f"lacks {', '.join(extra['missing'])}; {extra['command']}"
        purpose = f"for {extra['for']}: " if extra["for"] else ""
        text = f"{extra['name']:<12} {purpose}{missing if extra['missing'] else 'installed'}"
        yield "" if number else "extras", text
    yield "settings", f"{settings['file']}{'' if settings['exists'] else ' (missing)'}"
    for one in settings["set"]:
        words = f"{one['command']} --{one['option']}".strip()
        yield "", f"{words} = {one['value']}  from {one['origin']}"
    for name in settings["unknown"]:
        yield "", f"{name} sets no option; 'memnet --help' says how variables are named"
    yield "store", f"{store['path']}{'' if store['exists'] else ' (missing)'}"
    if counts := store.get("counts"):
        yield "", f"schema {store['schema']}, encoder {store['encoder']}"
        yield "", f"{counts['sources']:,} sources, {counts['slots']:,} slots"
    if store.get("writer"):
        yield "", f"{store['writer']} is writing to it"
    if store["files"] != store["path"]:
        yield "", f"index, models and uploads in {store['files']}"
    yield "", f"{store['free_bytes'] / 1e9:.1f} GB free"
    for number, model in enumerate(report["models"]):
        text = f"{model['name']:<18} {model['problem'] or model['fingerprint']}"
        yield "" if number else "models", text
    for number, problem in enumerate(report["problems"]):
        yield "" if number else "problems", problem
    if report["ok"]:
        yield "", "Everything needed is there."
