"""Loaders: files of many formats become documents of plain text, with the place of each block."""
