"""Encoders: texts to vectors."""
