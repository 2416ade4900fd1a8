"""The routes, by subject; each module's ``router`` makes those of one memory."""
