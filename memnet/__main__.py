"""``python -m memnet`` is the command line."""

from memnet.cli.main import main

main()
