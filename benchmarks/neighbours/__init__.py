"""memnet beside tools for the same work: same passages, same weights, same machine, in turn."""
