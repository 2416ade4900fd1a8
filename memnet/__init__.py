"""memnet: question answering over an external memory, read by attention in several hops."""
