"""Source code and notebooks."""
