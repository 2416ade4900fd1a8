"""Questions about documents and facts: hops over passages, then a reader."""
