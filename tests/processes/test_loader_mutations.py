"""A few changed files of each format; the nightly tests try fifty times as many."""

import pytest
from hypothesis import settings

from tests.loader_mutations import assert_survives, samples

_SAMPLES = samples()


@pytest.mark.parametrize("name", sorted(_SAMPLES))
def test_changed_files_are_read_or_named(name: str) -> None:
    assert_survives(name, _SAMPLES[name], 5 * settings().max_examples)
