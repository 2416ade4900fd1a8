"""Tables of the database, of any backend."""
