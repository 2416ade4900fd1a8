"""Light markup: Markdown, reStructuredText, AsciiDoc and Org."""
