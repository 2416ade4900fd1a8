"""Questions for all of something, over four mixed stores."""
