"""Documents and presentations of office programs."""
