"""Differentiable memories and attention for users of the library; the engine needs none of them."""
