"""Limits of a process that reads what strangers made; how far they hold depends on the system."""

try:
    import resource
except ImportError:  # Windows has no such limits: there only the time that is waited for is one
    resource = None  # type: ignore[assignment]


def limit_process(memory: int, seconds: float) -> None:
    """Limit this process.

    Args:
        memory: bytes of address space, which macOS does not enforce.
        seconds: of processor time from now on.
    """
    if resource is None:
        return
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_AS, memory)
    limit_time(seconds)


def limit_time(seconds: float) -> None:
    """Let the process end itself after so many more seconds of processor time."""
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 1)


def _lower(which: int, limit: int) -> None:
    """Set a limit that the process could raise again, if the system allows as much."""
    if resource is None:
        return
    _, most = resource.getrlimit(which)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(which, (limit, most))
