"""The store on PostgreSQL, with pgvector: the same rows as in SQLite, for several machines."""
