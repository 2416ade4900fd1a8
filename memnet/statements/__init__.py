"""Statements that are told: parsed, compared with earlier ones and written."""
