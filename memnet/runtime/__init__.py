"""Public names that are imported at their first use."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from memnet.errors import DependencyError, needs_torch


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``, so that importing it loads none of its modules."""

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

    return named
