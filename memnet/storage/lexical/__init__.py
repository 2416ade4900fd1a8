"""Lexical search: BM25."""
