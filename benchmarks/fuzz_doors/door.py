"""What a door is."""

from collections.abc import Callable
from random import Random

Door = Callable[[Random], None]
"""Tries one input, made from a source of randomness."""
