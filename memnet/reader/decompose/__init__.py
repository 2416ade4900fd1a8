"""Rules of English for questions of several parts."""
