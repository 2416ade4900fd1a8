"""Two thousand changed files of each format."""

import pytest

from tests.loader_mutations import assert_survives, samples

_SAMPLES = samples()


@pytest.mark.parametrize("name", sorted(_SAMPLES))
def test_changed_files_are_read_or_named(name: str) -> None:
    assert_survives(name, _SAMPLES[name], 2000)
