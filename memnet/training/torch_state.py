"""Torch's settings for the whole process, changed for as long as a training needs them."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """While inside, torch's global generators start from a seed; after it they are as before.

    Dropout and the first weights of a module draw from the global generators and from no other.
    """
    initialised: bool = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    devices = range(torch.cuda.device_count()) if initialised else ()
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


@contextmanager
def using_threads(number: int | None) -> Iterator[None]:
    """While inside, torch uses so many processor cores; None leaves its setting."""
    before = torch.get_num_threads()
    if number is not None:
        torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
