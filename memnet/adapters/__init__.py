"""Memories as parts of other frameworks; each module needs the framework that it is named after."""

from memnet.errors import DependencyError, install


def missing_framework(module: str, needed: str, extra: str) -> DependencyError:
    """The error to raise where a package is missing that an extra of memnet installs."""
    return DependencyError(
        f"{module} needs {needed}, which is not installed; run: {install(extra)}"
    )
