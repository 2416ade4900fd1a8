"""The vector index: FAISS over the key vectors."""
