"""Benchmarks: runners, their results, and the tables made from them."""
