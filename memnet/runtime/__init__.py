"""Public names that are imported at their first use."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from memnet.errors import DependencyError, needs_torch


def lazy_names(
    package: str, homes: Mapping[str, str], *more: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package, so that importing it loads no module of it.

    ``more`` are public names that it has itself.
    """

    def named(name: str) -> Any:
        if name in homes:
            try:
                return getattr(importlib.import_module(homes[name]), name)
            except ModuleNotFoundError as error:
                if error.name != "torch":
                    raise
                what = "training" if package == "memnet.training" else f"{package}.{name}"
                raise DependencyError(needs_torch(what)) from error
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return named, lambda: [*homes, *more]
