"""The error where the framework of an adapter is not installed."""

from memnet.errors import DependencyError


def missing_framework(module: str, needed: str, extra: str) -> DependencyError:
    """What to raise where a framework can't be imported.

    Args:
        module: that needs it.
        needed: the package that is missing, as it is called on PyPI.
        extra: of memnet, which installs it.
    """
    return DependencyError(
        f"{module} needs {needed}, which is not installed; install it with: "
        f"pip install 'memnet[{extra}]'"
    )
