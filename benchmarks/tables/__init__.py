"""The tables of benchmarks/README.md, made from the result files."""
