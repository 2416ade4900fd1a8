"""Training of the statement network from scenarios."""
