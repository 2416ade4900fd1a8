"""Questions about facts: a trained model that hops over the graph."""
