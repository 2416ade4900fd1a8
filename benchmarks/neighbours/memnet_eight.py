"""memnet with its encoder in eight bits."""

from benchmarks.neighbours import memnet


class Memory(memnet.Memory):
    """As ``adapter.Memory``."""

    eight_bits = True
