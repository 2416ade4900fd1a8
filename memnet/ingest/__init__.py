"""Ingest: files, documents and facts become slots."""
