"""Question sets as examples for a reader; ``benchmarks.prepare_reader`` writes them.

An example is a dictionary of the fields of ``memnet.training.ReaderExample`` and of "set", the
name of the set that it comes from.
"""
