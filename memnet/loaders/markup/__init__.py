"""Light markup, and XML: Markdown, reStructuredText, and what pandoc reads."""
