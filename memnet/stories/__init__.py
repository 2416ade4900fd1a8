"""Questions about stories: a memory network over their sentences."""
