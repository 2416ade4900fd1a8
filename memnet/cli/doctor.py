"""``memnet doctor``: what this installation is made of, and what is missing."""

import json
import platform
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from memnet import __version__
from memnet.cli.options import device_name, json_option, store_option, store_path
from memnet.cli.settings import list_settings, unknown_variables
from memnet.storage.place import StorePlace, files_folder, place_name
from memnet.storage.postgres.address import is_address

_LABEL = 13
"""Characters of the first column."""


@click.command()
@store_option
@json_option
@click.pass_context
def doctor(context: click.Context, store: StorePlace | None, as_json: bool) -> int:
    """Show processor, libraries, settings, store and models; exits with 1 if something is missing.

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
            click.echo(f"{label:<{_LABEL}} {text}".rstrip())
    return 0 if report["ok"] else 1


def examine(root: click.Context, store: StorePlace) -> dict[str, Any]:
    """What was found, as JSON values; "problems" has a line for each thing that is missing."""
    from memnet.cli.processor import processor
    from memnet.storage.sqlite.library import has_text_search, sqlite_version

    problems: list[str] = []
    report: dict[str, Any] = {
        "ok": True,
        "problems": problems,
        "memnet": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": processor()._asdict(),
        "sqlite": sqlite_version(),
        "fts5": has_text_search(),
    }
    if not report["fts5"]:
        problems.append(
            "SQLite is built without FTS5, which every store needs; use a Python whose sqlite3 has "
            "it, such as that of python.org or conda"
        )
    report |= _libraries(problems)
    report |= _calculation(problems)
    report["settings"] = _settings(root)
    report["store"] = _store(store, problems)
    report["models"] = [*_shipped_models(problems), *_own_models(files_folder(store))]
    report["ok"] = not problems
    return report


def _libraries(problems: list[str]) -> dict[str, Any]:
    from memnet.cli.libraries import extras, faiss, library, missing_requirements

    found = [library("numpy"), library("torch"), faiss(), library("onnxruntime"), library("onnx")]
    problems += [
        f"{name} is not installed; run: pip install {name}" for name in missing_requirements()
    ]
    problems += [
        f"{one.name} {one.version} does not work ({one.problem}); install it again"
        for one in found
        if one.problem
    ]
    if any(one.name == "faiss" and one.version is None for one in found):
        problems.append(
            'FAISS is not installed; run: pip install "memnet[cpu]" (or, for an NVIDIA GPU, '
            '"memnet[gpu]"; never both)'
        )
    return {
        "libraries": {one.name: one.version for one in found},
        "extras": [one._asdict() for one in extras()],
    }


def _calculation(problems: list[str]) -> dict[str, Any]:
    """The device, GPUs, and the arithmetic of encoder and reader."""
    from memnet.encoders.onnx_model import onnx_precision
    from memnet.errors import DeviceError
    from memnet.runtime.device import find_device

    wanted = device_name(None)
    try:
        device = find_device(wanted)
    except DeviceError as error:
        problems.append(str(error))
        return {"device": None, "gpus": [], "arithmetic": None}
    except ImportError:  # torch, of which the libraries say so already
        return {"device": None, "gpus": [], "arithmetic": None}
    precision = onnx_precision(None, device)
    how = f"float32 by torch on {device}" if precision is None else f"{precision} by ONNX Runtime"
    return {"device": device, "gpus": _gpus(), "arithmetic": how}


def _gpus() -> list[str]:
    try:
        import torch
    except (ImportError, OSError):
        return []
    return [torch.cuda.get_device_name(one) for one in range(torch.cuda.device_count())]


def _settings(root: click.Context) -> dict[str, Any]:
    group = root.command
    assert isinstance(group, click.Group), "memnet is a group"  # noqa: S101
    file: Path = root.params["config"]
    found = list_settings(group, root.default_map or {}, file)
    return {
        "file": str(file),
        "exists": file.is_file(),
        "set": [one._asdict() for one in found],
        "unknown": unknown_variables(group),
    }


def _store(place: StorePlace, problems: list[str]) -> dict[str, Any]:
    from memnet.encoders.hub import stored_encoder_name
    from memnet.encoders.minilm import MiniLMEncoder
    from memnet.encoders.static import STATIC_PREFIX
    from memnet.errors import MemnetError
    from memnet.storage.overview import overview, writer

    name, files = place_name(place), files_folder(place)
    found: dict[str, Any] = {"path": name, "exists": False, "free_bytes": _free(files)}
    if is_address(place):
        found["files"] = str(files)
    try:
        seen = overview(place)
        if seen is None:
            return found
        counts = None if seen.counts is None else seen.counts._asdict()
        found |= {
            "exists": True,
            "schema": seen.schema_version,
            "encoder": seen.encoder or None,
            "counts": counts,
            "writer": writer(place),
        }
    except MemnetError as error:
        problems.append(str(error))
        return found | {"exists": True}
    if seen.encoder not in ("", MiniLMEncoder.fingerprint) and not (
        seen.encoder.startswith(STATIC_PREFIX) or stored_encoder_name(seen.encoder)
    ):
        problems.append(
            f"the store {name} was made with the encoder {seen.encoder!r}, which the command "
            "line does not have; open it with Engine.open(..., encoder=...)"
        )
    return found


def _free(folder: Path) -> int:
    """Bytes that are free where the files of a store are, or would be made."""
    there = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    return shutil.disk_usage(there).free


def _shipped_models(problems: list[str]) -> Iterator[dict[str, Any]]:
    """The encoder and the checkpoints that ship, each read and compared with its checksum."""
    from memnet.checkpoints import SHIPPED
    from memnet.encoders.weights import WEIGHTS_SHA256, checked_folder
    from memnet.errors import EncoderError

    try:
        folder = checked_folder()
        yield _model("all-MiniLM-L6-v2", WEIGHTS_SHA256, folder)
    except EncoderError as error:
        problems.append(str(error))
    for path in sorted(SHIPPED.glob("*/*.json")):
        model = _checkpoint(path.parent.name, path)
        if model["problem"]:
            problems.append(model["problem"])
        yield model


def _own_models(store: Path) -> Iterator[dict[str, Any]]:
    """The models in the folder of a store; a damaged one is not used, and is no problem."""
    from memnet.checkpoints import MODEL
    from memnet.storage.models import ModelFolders

    folders = ModelFolders(store)
    for name in folders.names():
        yield _checkpoint(f"models/{name}", folders.folder(name) / f"{MODEL}.json")


def _checkpoint(name: str, description: Path) -> dict[str, Any]:
    from memnet.checkpoints import load_checkpoint
    from memnet.errors import ModelError

    label = name if description.stem in ("model", name) else f"{name}/{description.stem}"
    try:
        _, described = load_checkpoint(description.parent, description.stem)
    except ModelError as error:
        return _model(label, "", description.parent, str(error))
    return _model(label, str(described["sha256"]), description.parent)


def _model(name: str, sha256: str, folder: Path, problem: str | None = None) -> dict[str, Any]:
    fingerprint = sha256[:12] or None
    return {"name": name, "fingerprint": fingerprint, "path": str(folder), "problem": problem}


def _lines(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The report for people: a label, or nothing under one that goes on, and a text."""
    processor, settings, store = report["processor"], report["settings"], report["store"]
    yield "memnet", f"{report['memnet']}, Python {report['python']}, {report['system']}"
    having = ", ".join(processor["instructions"]) or "none of AVX2, VNNI, AMX, NEON"
    yield "processor", f"{processor['name']}, {processor['cores']} cores: {having}"
    yield "GPU", ", ".join(report["gpus"]) or "none"
    yield "arithmetic", report["arithmetic"] or "none, see below"
    found = [f"{name} {has or '-'}" for name, has in report["libraries"].items()]
    yield "libraries", ", ".join([*found, f"SQLite {report['sqlite']}"])
    for label, extra in _labelled("extras", report["extras"]):
        missing = f"lacks {', '.join(extra['missing'])}; {extra['command']}"
        yield label, f"{extra['name']:<8} {missing if extra['missing'] else 'installed'}"
    there = "" if settings["exists"] else " (not there)"
    yield "settings", f"{settings['file']}{there}"
    for one in settings["set"]:
        command = f"{one['command']} " if one["command"] else ""
        yield "", f"{command}--{one['option']} = {one['value']}  from {one['origin']}"
    for name in settings["unknown"]:
        yield "", f"{name} sets no option; see 'memnet --help' for how variables are called"
    yield "store", f"{store['path']}{'' if store['exists'] else ' (not there)'}"
    if store.get("counts"):
        counts = store["counts"]
        yield "", f"schema {store['schema']}, encoder {store['encoder']}"
        yield "", f"{counts['sources']:,} sources, {counts['slots']:,} slots"
    elif "schema" in store:
        yield "", f"schema {store['schema']}, which the next command brings up to date"
    if store.get("writer"):
        yield "", f"{store['writer']} is writing to it"
    if "files" in store:
        yield "", f"index, models and uploads in {store['files']}"
    yield "", f"{store['free_bytes'] / 1e9:.1f} GB free"
    for label, model in _labelled("models", report["models"]):
        yield label, f"{model['name']:<17} {model['problem'] or model['fingerprint']}"
    for label, problem in _labelled("problems", report["problems"]):
        yield label, problem
    if report["ok"]:
        yield "", "All that is needed is there."


def _labelled(label: str, items: list[Any]) -> Iterator[tuple[str, Any]]:
    """Items of which the first has the label."""
    for number, item in enumerate(items):
        yield "" if number else label, item
