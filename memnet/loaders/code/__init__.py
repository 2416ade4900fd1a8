"""Source code, notebooks and settings."""
