"""memnet with a single read of the memory, as the others do it."""

from benchmarks.neighbours import memnet


class Memory(memnet.Memory):
    """As ``adapter.Memory``."""

    hops = 1
