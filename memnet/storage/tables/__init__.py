"""Tables of the SQLite database."""
