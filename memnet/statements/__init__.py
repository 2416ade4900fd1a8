"""Statements: sentences parsed, compared with earlier ones and written."""
