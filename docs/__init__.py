"""Documentation, and the script that makes part of it."""
