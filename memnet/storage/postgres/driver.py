"""The library that speaks to PostgreSQL, which only those who have a server need."""

from memnet.errors import DependencyError


def check_driver() -> None:
    """Check that asyncpg is there, before a module that imports it is imported.

    Raises:
        DependencyError: it is not installed.
    """
    try:
        import asyncpg  # noqa: F401
    except ImportError as error:
        raise DependencyError(
            "asyncpg is not installed; a store on PostgreSQL needs it: "
            'pip install "memnet[postgres]"'
        ) from error
