"""Stores in a database file of SQLite."""
