"""Bundles: a store as one file."""
